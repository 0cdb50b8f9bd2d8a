"""The gamma function's pieces, for the bodies of what is built on it: all in f64, whatever the type of the op.

Around 2 the logarithm is a fitted polynomial (`benchmarks/special_fits.py`: ``lgamma``), everything up to 8 is brought
there by products, and beyond 8 Stirling's series holds, whose coefficients are Bernoulli numbers.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ..registry import Map
from ..types import DTYPES
from .language import ScalarBuilder, Value

if TYPE_CHECKING:
    from fractions import Fraction

__all__ = ["F64", "InDouble", "bernoulli", "cos_pi", "gamma_factors", "gamma_star", "log1p_minus", "log_gamma",
           "log_gamma_1p", "sin_pi", "stirling"]  # fmt: skip

F64 = DTYPES["f64"]

#: ``lgamma(2 + u) / u`` over ``t = 2*u`` in [-1, 1].
AROUND_TWO = (
    2.2712470883249301e-12, -8.8593809692755704e-12, 2.7463121802160651e-11, -1.2053407529390089e-10,
    5.3631791062363489e-10, -2.3086126202640965e-09, 1.0011496635749168e-08, -4.3870871376044239e-08,
    1.9425379690690869e-07, -8.7169911021137094e-07, 3.9817929306842604e-06, -1.8636779708328975e-05,
    9.0328447870030186e-05, -0.00046159693930781565, 0.0025726010534707472, -0.016838075263298943, 0.16123351671205666,
    0.42278433509846713,
)  # fmt: skip


@cache
def bernoulli() -> tuple[Fraction, ...]:
    """``B(2), B(4), …, B(24)``, by their recurrence."""
    from fractions import Fraction  # which loads `decimal`

    found = [Fraction(1)]
    for m in range(1, 25):
        found.append(-sum((math.comb(m + 1, k) * found[k] for k in range(m)), Fraction(0)) / (m + 1))
    return tuple(found[2::2])


@cache
def _stirling_series() -> tuple[float, ...]:
    """Of ``lgamma(x) - ((x - 1/2)*log(x) - x + log(2*pi)/2) = 1/x * p(1/x**2)``, the highest power first."""
    return tuple(float(b / (2 * k * (2 * k - 1))) for k, b in enumerate(bernoulli()[:10], 1))[::-1]


#: ``sin(pi*r)/r`` in powers of ``r*r``: its Taylor series, good to the last bit up to 1/2.
SIN_PI = tuple((-1) ** k * math.pi ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(12))[::-1]
#: ``(2*atanh(s) - 2*s) / s**3`` in powers of ``s*s``, good to the last bit up to ``s = 1/3``.
ATANH = tuple(2 / (2 * k + 3) for k in range(17))[::-1]


class InDouble(Map):
    """A map whose body `double` is in f64; the result is rounded once to the operands' type.

    Its error is stated in ulp of the result plus what one ulp of each operand changes in it: these functions have
    zeros that no float is, and grow so fast that the last bit of an operand is many bits of the result.
    """

    promotes = "float"
    conditioned = True
    cost = 200.0

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        raise NotImplementedError

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        if xs[0].dtype is F64:
            return cls.double(b, *xs)
        return b.cast(b.op(cls.name, *(b.cast(x, F64) for x in xs)), xs[0].dtype)


def is_odd(b: ScalarBuilder, n: Value) -> Value:
    """Whether a whole number is odd; false for those so large that they are even."""
    return (0.5 * n).differs(b.rint(0.5 * n))


def sin_pi(b: ScalarBuilder, r: Value) -> Value:
    """``sin(pi*r)`` for ``|r| <= 1/2``."""
    return r * b.polynomial(r * r, SIN_PI)


def cos_pi(b: ScalarBuilder, r: Value) -> Value:
    """``cos(pi*r)`` for ``|r| <= 1/2``."""
    return sin_pi(b, 0.5 - abs(r))


def stirling(b: ScalarBuilder, x: Value) -> Value:
    """What Stirling's formula adds to the logarithm of the gamma function, for ``x >= 8``."""
    inverse = 1.0 / x
    return inverse * b.polynomial(inverse * inverse, _stirling_series())


def around_two(b: ScalarBuilder, u: Value) -> Value:
    """``lgamma(2 + u)`` for ``|u| <= 1/2``, relatively accurate where it vanishes."""
    return u * b.polynomial(u + u, AROUND_TWO)


def log_gamma_1p(b: ScalarBuilder, u: Value) -> Value:
    """``lgamma(1 + u)`` for ``|u| <= 1/2``, relatively accurate where it vanishes."""
    return around_two(b, u) - b.op("log1p", u)


def _brought_near(b: ScalarBuilder, x: Value) -> tuple[Value, Value, Value]:
    """``(u, factor, below)``: gamma(x) is gamma(2 + u) times `factor`, or where `below` over it; ``0 < x < 8.5``."""
    n = b.floor(x + 0.5)
    u = x - n
    factor = b.select(n < 1.0, x * (x + 1.0), x)
    below = n < 2.0
    above = b.constant(1.0, F64)
    for k in range(2, 8):
        above = b.select(n > float(k), above * (u + float(k)), above)
    return u, b.select(below, factor, above), below


def log_gamma(b: ScalarBuilder, x: Value) -> Value:
    """``lgamma(x)`` for ``x > 0``."""
    u, factor, below = _brought_near(b, b.minimum(b.constant(8.0, F64), x))
    log = b.op("log", factor)
    near = around_two(b, u) + b.select(below, -log, log)

    def far() -> Value:
        # log(x) - 1 first: no two large numbers cancel.
        return (x - 0.5) * (b.op("log", x) - 1.0) + (stirling(b, x) + (0.5 * math.log(2 * math.pi) - 0.5))

    return b.rare(x >= 8.0, lambda: b.select(x.equals(np.inf), np.inf, far()), near)


def gamma_factors(b: ScalarBuilder, x: Value) -> tuple[Value, Value]:
    """Two factors of gamma(x), for ``x > 0``, neither of which overflows below 300."""
    u, factor, below = _brought_near(b, b.minimum(b.constant(8.0, F64), x))
    core = b.op("exp", around_two(b, u))
    near = b.select(below, core / factor, core * factor)
    large = x >= 8.0
    bounded = b.select(large, b.minimum(b.constant(300.0, F64), x), 8.0)
    half = b.op("pow", bounded, 0.5 * bounded - 0.25)
    rest = half * b.op("exp", stirling(b, bounded) - bounded) * math.sqrt(2 * math.pi)
    return b.select(large, half, 1.0), b.select(large, rest, near)


def gamma_star(b: ScalarBuilder, x: Value) -> Value:
    """``gamma(x) / (sqrt(2*pi/x) * (x/e)**x)`` for ``x > 0``: near 1 from 8 on, ``sqrt(x/(2*pi))/x`` near 0."""
    u, factor, below = _brought_near(b, b.minimum(b.constant(8.0, F64), x))
    bounded = b.minimum(b.constant(8.0, F64), x)
    log = b.op("log", bounded)
    core = b.op("exp", around_two(b, u) - bounded * (log - 1.0)) * b.sqrt(bounded * (0.5 / math.pi))
    near = b.select(below, core / factor, core * factor)
    return b.select(x >= 8.0, b.op("exp", stirling(b, b.maximum(b.constant(8.0, F64), x))), near)


def log1p_minus(b: ScalarBuilder, x: Value, log: Value) -> Value:
    """``log(1 + x) - x`` for ``x > -1``, relatively accurate near 0; `log` is its first part, for elsewhere."""
    s = x / (x + 2.0)
    z = s * s
    near = s * (z * b.polynomial(z, ATANH) - x)
    return b.select((x > -0.5) & (x < 1.0), near, log - x)
