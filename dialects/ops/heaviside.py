"""The step function."""

from __future__ import annotations

import numpy as np

from ..registry import Map, op
from ..scalar import ScalarBuilder, Value


@op
class Heaviside(Map):
    """0 below zero, 1 above, the second operand at zero; NaN stays."""

    numpy = np.heaviside
    arity = 2
    promotes = "float"

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, at_zero = xs
        beside = b.select(x < 0.0, b.constant(0.0, x.dtype), b.constant(1.0, x.dtype))
        return b.select(x.differs(x), x, b.select(x.equals(0.0), at_zero, beside))
