"""`loop.threads`: how many threads a parallel loop can be shared by."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, result_def, traits_def
from xdsl.traits import Pure

__all__ = ["ThreadsOp"]


@irdl_op_definition
class ThreadsOp(IRDLOperation):
    """How many threads share the parallel loops of this call; which of them does what may follow from it, no result."""

    name = "loop.threads"
    result = result_def(i64)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self) -> None:
        Operation.__init__(self, result_types=[i64])
