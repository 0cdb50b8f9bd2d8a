"""Which contractions matrix units take: their order says so, so that every later stage shows it."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ...dialects import kernel
from ...dialects.attributes import order_attr, scalar_dtype
from ...dialects.dims.index_map import product
from ...dialects.matrix_units import UNITS, MatrixUnit, unit_of
from ...dialects.order import Order
from ..schedule.matmul.match import match_matmul

__all__ = ["FEW", "NarrowOperands", "SelectMmaPass", "narrow_operands"]

#: No more rows or columns than this: packing an operand for tiles costs more than they save.
FEW = 8


@dataclass(frozen=True)
class NarrowOperands:
    """The factors of a contraction as a unit takes them, before they are widened, and their types."""

    values: tuple[SSAValue, SSAValue]
    types: tuple[str, str]

    def unit(self, order: Order) -> MatrixUnit | None:
        return unit_of(self.types, order)


@dataclass(frozen=True)
class SelectMmaPass(ModulePass):
    """Give contractions that one of the `units` takes (names of `dialects.matrix_units`) its order of arithmetic."""

    name = "tx-select-mma"
    units: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.units:
            return
        for nest in [nest for nest in op.walk() if isinstance(nest, kernel.GenericOp)]:
            held = narrow_operands(nest)
            units = [u for u in UNITS if u.name in self.units and held is not None and u.factors == held.types]
            if units and not (units[-1].feature and _has_few(nest)):
                nest.attributes["order"] = order_attr(units[-1].order)


def _has_few(nest: kernel.GenericOp) -> bool:
    """Whether the rows or the columns of a contraction are known to be few."""
    factors, extents = match_matmul(nest), nest.extents.data
    assert factors is not None
    sizes = [product([extents[i] for i in own]).const for own in (factors.left, factors.right)]
    return any(size is not None and size <= FEW for size in sizes)


def narrow_operands(nest: kernel.GenericOp) -> NarrowOperands | None:
    """The factors of a contraction with sums as some unit has them; None for other nests."""
    factors = match_matmul(nest)
    if factors is None:
        return None
    sums = scalar_dtype(nest.combiner.block.args[0].type).name
    for held in ([_held(v) for v in factors.values], [(v, scalar_dtype(v.type).name) for v in factors.values]):
        (a, of_a), (b, of_b) = held
        if any(u.factors == (of_a, of_b) and u.sums == sums for u in UNITS):
            return NarrowOperands((a, b), (of_a, of_b))
    return None


def _held(value: SSAValue) -> tuple[SSAValue, str]:
    """A factor without the conversion that widens it to what it is multiplied in, where that is all it does."""
    owner = value.owner
    if isinstance(owner, arith.ExtFOp) and scalar_dtype(value.type).name == "f32":
        return owner.operands[0], scalar_dtype(owner.operands[0].type).name
    if isinstance(owner, arith.ExtSIOp | arith.ExtUIOp) and scalar_dtype(owner.operands[0].type).name == "i8":
        return owner.operands[0], "i8" if isinstance(owner, arith.ExtSIOp) else "u8"
    return value, scalar_dtype(value.type).name
