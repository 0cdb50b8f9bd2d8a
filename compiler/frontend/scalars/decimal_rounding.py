"""``round(x, n)`` of a Python float: the float that is nearest to `x` as a decimal of `n` digits, as Python has it.

The product with a power of ten is exact as the sum of two floats (Dekker's), so it is known on which side of a half it
is; and an integer below 2**53 divided by an exact power of ten is the nearest float by the rule of division.
"""

from __future__ import annotations

from typing import Any

from ..tensor.apply import apply
from ..tensor.tensor import Tensor

__all__ = ["MOST_DIGITS", "rounded"]

#: The powers of ten up to this one are floats.
MOST_DIGITS = 22
#: By which a float is split into two halves of 26 bits.
_SPLIT = 134217729.0


def rounded(x: Tensor, digits: int) -> Tensor:
    """A float rounded to some digits behind the point, of which there are from 0 to `MOST_DIGITS`."""
    x = Tensor(x.value)
    scale = 10.0**digits
    product = x * scale
    rest = _rest(x, scale, product)
    nearest = apply("rint", product)
    beyond = product - nearest  # exactly, at most a half
    up = (beyond == 0.5) & (rest > 0)
    down = (beyond == -0.5) & (rest < 0)
    # Of a product without bits behind the point the rest may be the half, and the even one is nearest.
    odd = product - 2.0 * apply("floor", product * 0.5)
    whole = (beyond == 0.0) & (odd == 1.0)
    up, down = up | (whole & (rest == 0.5)), down | (whole & (rest == -0.5))
    nearest = apply("select", up, nearest + 1.0, apply("select", down, nearest - 1.0, nearest))
    # Beyond, x has no bits that are worth less than the last digit; NaN is no less than anything.
    few = apply("abs", product) < 2.0**53
    made = apply("select", few, apply("copysign", nearest / scale, x), x)
    return Tensor(made.value, weak="float")


def _rest(x: Tensor, scale: float, product: Tensor) -> Tensor:
    """What a product lacks of the exact one."""
    high, low = _halves(x)
    top, bottom = _halves(scale)
    return ((high * top - product) + high * bottom + low * top) + low * bottom


def _halves(x: Any) -> tuple[Any, Any]:
    """A float as the sum of two, of half as many bits each."""
    wide = _SPLIT * x
    high = wide - (wide - x)
    return high, x - high
