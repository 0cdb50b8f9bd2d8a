"""Spence's function, the dilogarithm of ``1 - x`` (DLMF 25.12).

From 1/2 to 2 it is a series in ``u = -log(x)`` with Bernoulli numbers, ``u - u**2/4 + u * sum(B(2k) * u**(2k) /
(2k+1)!)``; what is below goes there by reflection (DLMF 25.12.6), what is above by inversion (DLMF 25.12.4) before.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from ...registry import op
from ...scalar.gamma import F64, InDouble, bernoulli
from ...scalar.language import ScalarBuilder, Value

#: Terms that are good to the last bit for ``|u| <= log(2)``.
TERMS = 9


@cache
def coefficients() -> tuple[float, ...]:
    """``B(2k)/(2k+1)!``, the last first."""
    return tuple(float(n / math.factorial(2 * k + 1)) for k, n in enumerate(bernoulli()[:TERMS], 1))[::-1]


def series(b: ScalarBuilder, u: Value) -> Value:
    """The dilogarithm of ``1 - exp(-u)`` for ``|u| <= log(2)``."""
    z = u * u
    return b.fma(u, z * b.polynomial(z, coefficients()) - 0.25 * u, u)


@op
class Spence(InDouble):
    """The integral of ``log(t)/(1 - t)`` from 1 to x; NaN below 0 and at infinity.

    |error| <= 4 ulp of x and result.
    """

    also = ("scipy.special.spence",)
    ulp = 4.0
    cost = 100.0
    domain = (0.0, 10.0)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        large = x > 2.0
        y = b.select(large, 1.0 / x, x)
        log, other = b.op("log", y), b.op("log1p", -b.select(y < 0.5, y, 0.0))
        reflected = math.pi**2 / 6 - log * other - series(b, -other)
        value = b.select(large, -0.5 * log * log - reflected, b.select(y < 0.5, reflected, series(b, -log)))
        value = b.select(x.equals(0.0), math.pi**2 / 6, value)
        return b.select((x >= 0.0) & (x < np.inf), value, b.constant(np.nan, F64))
