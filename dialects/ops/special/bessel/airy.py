"""Airy functions and their derivatives.

Up to 1 they are their power series (DLMF 9.4); beyond, Bessel functions of orders 1/3 and 2/3 of ``2/3 * |x|**(3/2)``
(DLMF 9.6): K and I of positive, J and Y of negative x.
"""

from __future__ import annotations

import math

import numpy as np

from ....registry import op
from ....scalar.gamma import F64, InDouble
from ....scalar.language import ScalarBuilder, Value
from .real_order import released, scaled, waves

#: Ai and -Ai' at 0 (DLMF 9.2.3, 9.2.4).
VALUE, SLOPE = 0.35502805388781723926, 0.25881940379280679840
TERMS = 12
ROOT = math.sqrt(3.0)


def series(first: int, step: tuple[int, int], terms: int) -> tuple[float, ...]:
    """The coefficients over ``x**3`` of a solution of ``y'' = x*y``, from the constant `first`, the last first.

    Each is the one before over ``(3k + step[0]) * (3k + step[1])``.
    """
    found = [float(first)]
    for k in range(terms - 1):
        found.append(found[-1] / ((3 * k + step[0]) * (3 * k + step[1])))
    return tuple(found[::-1])


#: The solutions that begin with 1 and with x, which that one is over; and their derivatives, the first's over x*x/2.
EVEN, ODD = series(1, (2, 3), TERMS), series(1, (3, 4), TERMS)
EVEN_SLOPE, ODD_SLOPE = series(1, (3, 5), TERMS), series(1, (1, 3), TERMS)


def near(b: ScalarBuilder, x: Value, second: bool, slope: bool) -> Value:
    """Ai, or where `second` Bi, or where `slope` its derivative, for x from -1 to 1."""
    cube = x * x * x
    if slope:
        first, other = 0.5 * x * x * b.polynomial(cube, EVEN_SLOPE), b.polynomial(cube, ODD_SLOPE)
    else:
        first, other = b.polynomial(cube, EVEN), x * b.polynomial(cube, ODD)
    if second:
        return (VALUE * ROOT) * first + (SLOPE * ROOT) * other
    return VALUE * first - SLOPE * other


def above(b: ScalarBuilder, active: Value, a: Value, second: bool, slope: bool) -> Value:
    """The same for ``a > 1``."""
    root = b.sqrt(a)
    power = a * root * (2.0 / 3.0)
    i, k = scaled(b, active, b.constant(2.0 / 3.0 if slope else 1.0 / 3.0, F64), power)
    front = a * (1.0 / ROOT) if slope else root * (1.0 / ROOT)
    k = k * released(b, power)
    if second:
        # In two steps: the exponential overflows before the result does.
        half = b.op("exp", 0.5 * power)
        return (2.0 * front * i * half) * half + (ROOT / math.pi) * front * k
    return ((-1.0 if slope else 1.0) / math.pi) * front * k


def below(b: ScalarBuilder, active: Value, a: Value, second: bool, slope: bool) -> Value:
    """The same at ``-a`` for ``a > 1``."""
    root = b.sqrt(a)
    power = a * root * (2.0 / 3.0)
    j, y = waves(b, active, b.constant(2.0 / 3.0 if slope else 1.0 / 3.0, F64), power)
    front = 0.5 * (a if slope else root)
    if second:
        return front * (j * (1.0 / ROOT) - y) if slope else -front * (j * (1.0 / ROOT) + y)
    return front * (j + y * (1.0 / ROOT)) if slope else front * (j - y * (1.0 / ROOT))


class _Airy(InDouble):
    ulp = 8.0
    cost = 2500.0
    domain = (-12.0, 8.0)
    #: Whether it is Bi, and whether its derivative.
    second: bool
    slope: bool

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        positive, negative = (x > 1.0) & (x < 1e6), (x < -1.0) & (x > -1e10)
        upper = above(b, positive, b.select(positive, x, 2.0), cls.second, cls.slope)
        lower = below(b, negative, b.select(negative, -x, 2.0), cls.second, cls.slope)
        inner = near(b, b.select(abs(x) <= 1.0, x, 0.0), cls.second, cls.slope)
        value = b.select(positive, upper, b.select(negative, lower, inner))
        end = b.constant(np.inf if cls.second else -0.0 if cls.slope else 0.0, F64)
        return b.select(x >= 1e6, end, b.select(x > -1e10, value, np.nan))


@op
class AiryAi(_Airy):
    """The Airy function Ai, which falls; NaN below -1e10.  |error| <= 8 ulp of x and result."""

    second, slope = False, False


@op
class AiryAip(_Airy):
    """The derivative of `airy_ai`; NaN below -1e10.  |error| <= 8 ulp of x and result."""

    second, slope = False, True


@op
class AiryBi(_Airy):
    """The Airy function Bi, which grows; NaN below -1e10.  |error| <= 8 ulp of x and result."""

    second, slope = True, False


@op
class AiryBip(_Airy):
    """The derivative of `airy_bi`; NaN below -1e10.  |error| <= 8 ulp of x and result."""

    second, slope = True, True
