"""Threads in the `loop` dialect: how many a call has, and where those of a GPU's block wait for each other."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from ..region_assembly import print_rest, read_rest

__all__ = ["BarrierOp", "ThreadsOp"]


@irdl_op_definition
class ThreadsOp(IRDLOperation):
    """How many threads share the parallel loops of this call; which of them does what may follow from it, no result."""

    name = "loop.threads"
    result = result_def(i64)
    traits = traits_def(Pure())

    def __init__(self) -> None:
        Operation.__init__(self, result_types=[i64])

    def print(self, printer: Printer) -> None:
        print_rest(printer, self, ())

    @classmethod
    def parse(cls, parser: Parser) -> ThreadsOp:
        return cls.create(result_types=[i64], attributes=read_rest(parser))


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """All threads of the gpu_block, or of the gpu_warp, around it wait for each other and see each other's stores."""

    name = "loop.barrier"
    assembly_format = "attr-dict"
