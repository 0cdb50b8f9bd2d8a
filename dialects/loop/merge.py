"""The merge of ascending runs, an op of the `loop` dialect."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl import attr_def, irdl_op_definition, operand_def, region_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..assembly import RANGE, dim_after, known_operand, number_after, print_range, range_attributes, read_range
from ..attributes import BufferType, DimAttr, dim_attr, integer_attr
from ..dims.dims import Dim
from ..region_assembly import print_region, print_rest, read_rest
from .base import Ranged, body_of, expect_yield

__all__ = ["MergeOp"]


@irdl_op_definition
class MergeOp(Ranged):
    """In each iteration the `length` least elements of two ascending runs, in ascending order (step 1).

    The region yields ``first, first_end, second, second_end, place`` (i64): the runs are elements ``first`` up to
    ``first_end`` and ``second`` up to ``second_end`` of `source`, a buffer of signed integers of rank 1; what is found
    goes to ``target[place : place + length]``.  Behind the end of every run lie at least `vector` elements of the
    largest value that there is, which are what is found where the runs have fewer than `length`.  `length` is a
    multiple of `vector`.  Iterations are independent: `vector` elements of each, and `unroll` iterations side by side,
    are how it runs, never a change of result.
    """

    name = "loop.merge"
    source = operand_def()
    target = operand_def()
    length = attr_def(DimAttr)
    vector = attr_def(IntegerAttr)
    unroll = attr_def(IntegerAttr)
    body = region_def("single_block")

    def __init__(
        self, iv: str, lower: Dim | int, upper: Dim | int, block: Block, operands: tuple[SSAValue, SSAValue],
        length: Dim, *, vector: int, unroll: int,
    ):  # fmt: skip
        attributes = range_attributes(iv, lower, upper, 1) | {"length": dim_attr(length)}
        attributes |= {"vector": integer_attr(vector), "unroll": integer_attr(unroll)}
        Operation.__init__(self, operands=list(operands), attributes=attributes, regions=[Region(block)])

    def print(self, printer: Printer) -> None:
        """``loop.merge i = 0 to n from %x into %y length 8 vector 4 unroll 2 { … }``"""
        print_range(printer, self)
        printer.print_string(" from ")
        printer.print_operand(self.source)
        printer.print_string(" into ")
        printer.print_operand(self.target)
        printer.print_string(f" length {self.length.data}")
        for name, number in (("vector", self.vector.value.data), ("unroll", self.unroll.value.data)):
            if number != 1:
                printer.print_string(f" {name} {number}")
        print_rest(printer, self, (*RANGE, "length", "vector", "unroll"), header=True)
        print_region(printer, self.body)

    @classmethod
    def parse(cls, parser: Parser) -> MergeOp:
        attributes = read_range(parser)
        parser.parse_keyword("from")
        source = known_operand(parser)
        parser.parse_keyword("into")
        target = known_operand(parser)
        attributes["length"] = dim_attr(dim_after(parser, "length"))
        for name in ("vector", "unroll"):
            attributes[name] = integer_attr(number_after(parser, name, 1))
        attributes |= read_rest(parser, header=True)
        return cls.create(operands=[source, target], attributes=attributes, regions=[body_of(parser)])

    def verify_(self) -> None:
        self.verify_range()
        buffers = [v.type.data for v in self.operands if isinstance(v.type, BufferType)]
        kinds = {(info.dtype.name, info.rank) for info in buffers}
        if len(buffers) != 2 or len(kinds) != 1 or buffers[0].dtype.kind != "int" or buffers[0].rank != 1:
            raise VerifyException("source and target are buffers of one type of signed integers, of rank 1")
        width = self.vector.value.data
        if width < 1 or width & (width - 1) or self.unroll.value.data < 1:
            raise VerifyException("'vector' is a power of two, and 'unroll' at least 1")
        if self.length.data.const is not None and self.length.data.const % width:
            raise VerifyException(f"'length' is a multiple of 'vector': {self.length.data} of {width}")
        expect_yield(self, 0, (i64,) * 5)
