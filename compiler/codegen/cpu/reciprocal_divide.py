"""Quotients of vectors by one number that do not ask the divider: by its inverse, with the same bits.

With ``inverse`` the float nearest to ``1/d`` and ``rest`` what is left of it, ``q = x*inverse + x*rest`` is less than a
unit of its last place from the quotient.  The remainder ``x - q*d`` of such a number is a float, and ``q`` and the
remainder's product with ``inverse``, rounded once, are the correctly rounded quotient (Markstein, "Computation of
elementary functions on the IBM RISC System/6000 processor", 1990).  Where something on the way might overflow or
underflow, for zeros, and for what is not finite, the divider is asked as always.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.ir import Block, Operation

from ....dialects.scalar.float_bits import format_of
from ....dialects.scalar.hints import RECIPROCAL
from ....dialects.scalar.language import ScalarBuilder, Value
from ..emit.values.registers import Values, VectorValue

if TYPE_CHECKING:
    from ..emit.values.scalar import ScalarBodies

__all__ = ["Inverse", "divide_by_reciprocal", "inverse_of", "inverses_before"]

#: Divisors and dividends between two to the power of minus this and of this leave room for quotients and remainders.
_DIVISOR, _DIVIDEND = 100, 800


@dataclass(frozen=True)
class Inverse:
    """What quotients by a number share: the float nearest to its inverse, the rest, and whether it is of no use."""

    divisor: Value
    inverse: Value
    rest: Value
    apart: Value

    def quotient(self, b: ScalarBuilder, x: Value) -> Value:
        """The quotient of a number of ordinary magnitude."""
        near = b.fma(x, self.inverse, x * self.rest)
        return b.fma(b.fma(-near, self.divisor, x), self.inverse, near)


def inverse_of(b: ScalarBuilder, divisor: Value) -> Inverse:
    """The inverse of a number."""
    inverse = 1.0 / divisor
    rest = b.fma(-divisor, inverse, 1.0) * inverse
    return Inverse(divisor, inverse, rest, _is_apart(b, divisor, _DIVISOR))


def inverses_before(scalars: ScalarBodies, values: Values, block: Block) -> dict[str, Inverse]:
    """The inverses that the body of a loop needs of numbers that are known before it, by their registers."""
    found: dict[str, Inverse] = {}
    for op in block.ops:
        if RECIPROCAL not in op.attributes:
            continue
        owner = op.operands[1].owner
        if isinstance(owner, Operation) and owner.parent is not block:
            divisor = values[op.operands[1]]
            if _has_inverse(scalars, divisor):
                found[divisor.regs[0]] = inverse_of(scalars.builder, Value(scalars.builder, divisor, divisor.dtype))
    return found


def divide_by_reciprocal(scalars: ScalarBodies, x: VectorValue, divisor: VectorValue) -> VectorValue | None:
    """The quotients of a vector of f64s by a number; None of others, or where the target has no fused product."""
    if x.width == 1 or not _has_inverse(scalars, divisor):
        return None
    b, dividend = scalars.builder, Value(scalars.builder, x, x.dtype)
    known = scalars.inverses.get(divisor.regs[0]) or inverse_of(b, Value(b, divisor, divisor.dtype))
    apart = _inside(scalars, _is_apart(b, dividend, _DIVIDEND) | known.apart)
    return b.rare(apart, lambda: dividend / known.divisor, known.quotient(b, dividend)).ref


def _has_inverse(scalars: ScalarBodies, divisor: VectorValue) -> bool:
    """Whether a divisor is one number, of a type and on a target that have this way."""
    return not divisor.lanes and divisor.dtype.bits == 64 and scalars.text.target.has_fma


def _is_apart(b: ScalarBuilder, x: Value, most: int) -> Value:
    """Of too small or too large a magnitude, or NaN."""
    form = format_of(x)
    low, high = ((exponent + form.bias) << form.digits for exponent in (-most, most))
    return b.bitcast(abs(x), form.unsigned) - low >= high - low


def _inside(scalars: ScalarBodies, condition: Value) -> Value:
    """A condition in the lanes of an incomplete vector that count; the others may have zeros."""
    reg = condition.ref
    inside = scalars.lanes.inside_of(reg.width)
    if inside is None:
        return condition
    regs = [scalars.text.ins(f"and {reg.type} {r}, {inside}") for r in reg.regs]
    return Value(condition.b, VectorValue(reg.lanes, regs, reg.dtype), condition.dtype)
