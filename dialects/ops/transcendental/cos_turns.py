"""The cosine of an angle in turns: what transforms of random numbers need, without the reduction of any radian."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...registry import Map, op
from ...scalar.language import ScalarBuilder, Value

#: Terms of the series of sin(2πs)/s for |s| <= 1/4, by the bits of the type.
TERMS = {32: 7, 64: 12}


def _cos_turns(x: Any) -> Any:
    """In NumPy, as exact near the zeros as the type of `x` allows."""
    return np.sin((x.dtype.type(0.25) - np.abs(x - np.rint(x))) * (8 * np.arctan(x.dtype.type(1))))


@op
class CosTurns(Map):
    """cos(2πx).  |error| <= 4 ulp for |x| < 2**20."""

    numpy = staticmethod(_cos_turns)
    ulp = 4.0
    cost = 20.0
    domain = (-8.0, 8.0)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        # The sine of a quarter less the distance to the nearest whole turn, which is exact.
        s = 0.25 - abs(x - b.rint(x))
        terms = TERMS[x.dtype.bits]
        series = [(-1) ** k * (2 * math.pi) ** (2 * k + 1) / math.factorial(2 * k + 1) for k in reversed(range(terms))]
        return s * b.polynomial(s * s, series)
