"""Elements in two groups, an op of the `loop` dialect."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, IntegerType, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl import attr_def, irdl_op_definition, operand_def, region_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..attributes import BufferType, DimAttr, dim_attr, integer_attr
from ..dims.dims import Dim
from .base import Ranged, expect_yield, range_attributes

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
