"""Elements in two groups, an op of the `loop` dialect."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, IntegerType, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl import attr_def, irdl_op_definition, operand_def, region_def, result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..assembly import RANGE, dim_after, known_operand, number_after, print_range, range_attributes, read_range
from ..attributes import BufferType, DimAttr, dim_attr, integer_attr
from ..dims.dims import Dim
from ..region_assembly import print_region, print_rest, read_rest
from .base import Ranged, body_of, expect_yield

__all__ = ["PartitionOp"]


@irdl_op_definition
class PartitionOp(Ranged):
    """What iterations yield, in two groups: ``value, is_first`` (an element of `target` and an i1) each (step 1).

    `target` is a buffer of rank 1.  Values of the first group go to ``target[low]``, ``target[low + 1]``, … in their
    order.  The others go before ``target[high]``: of each `vector` iterations from the first on those that are not of
    the first group stand in their order, right before what earlier ones put there.  The result is how many values are
    of the first group.  The region does not read what is written.
    """

    name = "loop.partition"
    target = operand_def()
    low = attr_def(DimAttr)
    high = attr_def(DimAttr)
    vector = attr_def(IntegerAttr)
    count = result_def(i64)
    body = region_def("single_block")

    def __init__(
        self, iv: str, lower: Dim | int, upper: Dim | int, block: Block, target: SSAValue, low: Dim, high: Dim, *,
        vector: int,
    ):  # fmt: skip
        attributes = range_attributes(iv, lower, upper, 1) | {"low": dim_attr(low), "high": dim_attr(high)}
        attributes |= {"vector": integer_attr(vector)}
        Operation.__init__(self, operands=[target], result_types=[i64], attributes=attributes, regions=[Region(block)])

    def print(self, printer: Printer) -> None:
        """``loop.partition i = 0 to n into %y low 0 high n vector 4 { … }``"""
        print_range(printer, self)
        printer.print_string(" into ")
        printer.print_operand(self.target)
        printer.print_string(f" low {self.low.data} high {self.high.data}")
        if self.vector.value.data != 1:
            printer.print_string(f" vector {self.vector.value.data}")
        print_rest(printer, self, (*RANGE, "low", "high", "vector"), header=True)
        print_region(printer, self.body)

    @classmethod
    def parse(cls, parser: Parser) -> PartitionOp:
        attributes = read_range(parser)
        parser.parse_keyword("into")
        target = known_operand(parser)
        for name in ("low", "high"):
            attributes[name] = dim_attr(dim_after(parser, name))
        attributes["vector"] = integer_attr(number_after(parser, "vector", 1))
        attributes |= read_rest(parser, header=True)
        return cls.create(operands=[target], result_types=[i64], attributes=attributes, regions=[body_of(parser)])

    def verify_(self) -> None:
        self.verify_range()
        info = self.target.type.data if isinstance(self.target.type, BufferType) else None
        if info is None or info.rank != 1 or info.dtype.is_complex or info.dtype.kind == "bool":
            raise VerifyException("the target is a buffer of rank 1, of numbers that are not complex")
        if self.step.data.const != 1:
            raise VerifyException("a partition has step 1")
        width = self.vector.value.data
        if width < 1 or width & (width - 1):
            raise VerifyException("'vector' is a power of two")
        value = self.block.last_op.operands[0].type if self.block.last_op and self.block.last_op.operands else i64
        expect_yield(self, 0, (value, IntegerType(1)))
