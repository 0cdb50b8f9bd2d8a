"""The fold of a GPU's matrix units, an op of the `loop` dialect."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl import attr_def, irdl_op_definition, operand_def, opt_attr_def, region_def
from xdsl.utils.exceptions import VerifyException

from .attributes import BufferType, DimAttr, dim_attr
from .dims import Dim
from .loop_base import Ranged, expect_yield, integer, parallel_around, range_attributes

__all__ = ["MatrixFoldOp"]


@irdl_op_definition
class MatrixFoldOp(Ranged):
    """Sums of products by the matrix units of a gpu_block's warps, in the order ``unit<16, fma>``.

    In each iteration the region fills a piece of both operands and ends in a barrier: f16 or bf16 in block memory,
    number `half` of two, ``left[half, rows, step]`` and ``right[half, columns, step]``, or, where they are `turned`,
    ``[half, step, rows]`` and ``[half, step, columns]``.  Their products along `step`, a multiple of 16, are added to
    sums that begin at zero.  In the end these are in `sums`, ``f32[rows, columns]`` of block memory, which may be that
    of the pieces; barriers stand before and after.  A warp has 32 rows and columns.
    """

    name = "loop.matrix_fold"
    left = operand_def()
    right = operand_def()
    sums = operand_def()
    half = attr_def(DimAttr)
    rows = attr_def(IntegerAttr)
    columns = attr_def(IntegerAttr)
    left_turned = opt_attr_def(UnitAttr)
    right_turned = opt_attr_def(UnitAttr)
    body = region_def("single_block")

    #: Rows and columns of a warp, and products that a unit adds at once.
    TILE: ClassVar = 32
    DEPTH: ClassVar = 16

    def __init__(
        self, iv: str, lower: Dim | int, upper: Dim | int, step: int, block: Block,
        operands: tuple[SSAValue, SSAValue, SSAValue], half: Dim, shape: tuple[int, int], turned: tuple[bool, bool],
    ):  # fmt: skip
        attributes = range_attributes(iv, lower, upper, step) | {"half": dim_attr(half)}
        attributes |= {"rows": integer(shape[0]), "columns": integer(shape[1])}
        attributes |= {n: UnitAttr() for n, t in zip(("left_turned", "right_turned"), turned) if t}
        Operation.__init__(self, operands=list(operands), attributes=attributes, regions=[Region(block)])

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.value.data, self.columns.value.data

    def verify_(self) -> None:
        self.verify_range()
        if parallel_around(self) != "gpu_block":
            raise VerifyException("a matrix fold stands in a gpu_block, all of whose threads share it")
        if (
            any(size % self.TILE for size in self.shape)
            or not self.step.data.const
            or self.step.data.const % self.DEPTH
        ):
            raise VerifyException(f"rows and columns are multiples of {self.TILE}, the step of {self.DEPTH}")
        dtypes = [v.type.data.dtype.name if isinstance(v.type, BufferType) else "" for v in self.operands]
        if dtypes[0] != dtypes[1] or dtypes[0] not in ("f16", "bf16") or dtypes[2] != "f32":
            raise VerifyException(f"pieces are both of f16 or both of bf16, sums of f32, not {', '.join(dtypes)}")
        expect_yield(self, 0, ())
