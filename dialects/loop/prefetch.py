"""What is wanted soon: `loop.prefetch`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, attr_def, irdl_op_definition, operand_def, opt_attr_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..assembly import (
    dims_in_brackets,
    flags,
    guards_of,
    known_operand,
    number_after,
    print_guards,
    print_rest,
    read_rest,
)
from ..attributes import BufferType, DimAttr, DimsAttr, dim_attr, dims_attr, integer_attr, write_dims
from ..dims.dims import Dim

__all__ = ["PrefetchOp"]


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """An element of a buffer is read or written soon: its line may come to the first or second `cache` meanwhile.

    It changes no value, and the element need not exist.  ``where``: only where an expression is positive.
    """

    name = "loop.prefetch"
    buffer = operand_def(BufferType)
    index = attr_def(DimsAttr)
    cache = attr_def(IntegerAttr)
    where = opt_attr_def(DimAttr)
    writes = opt_attr_def(UnitAttr)

    def __init__(
        self, buffer: SSAValue, index: Sequence[Dim], cache: int = 1, *, where: Dim | None = None, writes: bool = False
    ):
        attributes: dict[str, Attribute] = {"index": dims_attr(tuple(index)), "cache": integer_attr(cache)}
        if where is not None:
            attributes["where"] = dim_attr(where)
        if writes:
            attributes["writes"] = UnitAttr()
        Operation.__init__(self, operands=[buffer], attributes=attributes)

    def print(self, printer: Printer) -> None:
        """``loop.prefetch %x[i0, i1 + 512] cache 2 writes where (-4*m*n + 8388608 > 0)``"""
        printer.print_string(" ")
        printer.print_operand(self.buffer)
        printer.print_string(f"[{write_dims(self.index.data)}]")
        if self.cache.value.data != 1:
            printer.print_string(f" cache {self.cache.value.data}")
        if self.writes is not None:
            printer.print_string(" writes")
        print_guards(printer, () if self.where is None else (self.where.data,), "> 0")
        print_rest(printer, self, ("index", "cache", "writes", "where"))

    @classmethod
    def parse(cls, parser: Parser) -> PrefetchOp:
        buffer = known_operand(parser)
        attributes: dict[str, Attribute] = {"index": dims_attr(dims_in_brackets(parser))}
        attributes["cache"] = integer_attr(number_after(parser, "cache", 1))
        attributes |= flags(parser, "writes")
        if where := guards_of(parser, "> 0"):
            attributes["where"] = dim_attr(where[0])
        return cls.create(operands=[buffer], attributes=attributes | read_rest(parser))

    def verify_(self) -> None:
        assert isinstance(self.buffer.type, BufferType)
        rank = self.buffer.type.data.rank
        if len(self.index.data) != rank:
            raise VerifyException(f"{len(self.index.data)} indices for a buffer of rank {rank}")
        if self.cache.value.data not in (1, 2):
            raise VerifyException(f"'cache' is 1 or 2, not {self.cache.value.data}")
