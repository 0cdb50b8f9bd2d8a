"""Which contractions the matrix units of a GPU take: their order says so, so that every stage shows it."""

from __future__ import annotations

from xdsl.dialects import arith, func
from xdsl.ir import SSAValue

from ..dialects import kernel
from ..dialects.attributes import order_attr, scalar_dtype
from ..dialects.order import UNIT
from .contraction import factors_of

__all__ = ["narrow_factors", "use_matrix_units"]

#: The element types of factors that units multiply.
NARROW = ("f16", "bf16")


def use_matrix_units(function: func.FuncOp) -> None:
    """Give contractions of narrow factors in f32 the order ``unit``, in place."""
    for nest in [op for op in function.walk() if isinstance(op, kernel.GenericOp)]:
        if narrow_factors(nest) is not None:
            nest.attributes["order"] = order_attr(UNIT)


def narrow_factors(nest: kernel.GenericOp) -> tuple[SSAValue, SSAValue] | None:
    """The factors of a contraction before they are widened, both f16 or both bf16; None for other nests."""
    factors = factors_of(nest)
    if factors is None or nest.order is None or not nest.order.data.product:
        return None
    owners = [v.owner for v in factors.values]
    narrow = [o.operands[0] for o in owners if isinstance(o, arith.ExtFOp)]
    if len(narrow) < 2 or scalar_dtype(factors.values[0].type).name != "f32":
        return None
    names = {scalar_dtype(v.type).name for v in narrow}
    return (narrow[0], narrow[1]) if len(names) == 1 and names <= set(NARROW) else None
