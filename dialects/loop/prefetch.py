"""What is wanted soon: `loop.prefetch`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, attr_def, irdl_op_definition, operand_def, opt_attr_def
from xdsl.utils.exceptions import VerifyException

from ..attributes import BufferType, DimAttr, DimsAttr, dim_attr, dims_attr, integer_attr
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
    assembly_format = "$buffer attr-dict `:` type($buffer)"

    def __init__(
        self, buffer: SSAValue, index: Sequence[Dim], cache: int = 1, *, where: Dim | None = None, writes: bool = False
    ):
        attributes: dict[str, Attribute] = {"index": dims_attr(tuple(index)), "cache": integer_attr(cache)}
        if where is not None:
            attributes["where"] = dim_attr(where)
        if writes:
            attributes["writes"] = UnitAttr()
        Operation.__init__(self, operands=[buffer], attributes=attributes)

    def verify_(self) -> None:
        assert isinstance(self.buffer.type, BufferType)
        rank = self.buffer.type.data.rank
        if len(self.index.data) != rank:
            raise VerifyException(f"{len(self.index.data)} indices for a buffer of rank {rank}")
        if self.cache.value.data not in (1, 2):
            raise VerifyException(f"'cache' is 1 or 2, not {self.cache.value.data}")
