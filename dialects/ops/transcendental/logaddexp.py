"""log(e**x + e**y), as a map and as the reduction that it combines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...registry import Map, Reduction, op
from ...scalar.language import ScalarBuilder, Value
from ...types import DType


@op
class Logaddexp(Map):
    """log(e**x + e**y) without overflow.  |error| <= 3 ulp of the larger operand or of the result."""

    numpy = np.logaddexp
    arity = 2
    promotes = "float"
    ulp = 3.0
    cost = 50.0
    commutative = True
    # Where the result nears zero it is a small difference of its parts, as NumPy's is.
    domain = (0.0, 10.0)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        # Equal operands, two infinities among them, have no difference worth taking.
        gap = b.select(x.equals(y), b.constant(0.0, x.dtype), -abs(x - y))
        larger = b.op("cwise_max_propagate", x, y)
        return larger + b.op("log1p", b.op("exp", gap))


@op
class Logsumexp(Reduction):
    """log of the sum of e**x along `dims`, without overflow."""

    numpy = np.logaddexp.reduce
    also = ("scipy.special.logsumexp",)
    dtypes = frozenset({"float"})
    promotes = "float"

    @classmethod
    def identity(cls, element: DType) -> tuple[float | int | bool, ...]:
        return (-np.inf,)

    @classmethod
    def combine(cls, b: ScalarBuilder, older: tuple[Value, ...], newer: tuple[Value, ...]) -> tuple[Value, ...]:
        return (Logaddexp.scalar(b, older[0], newer[0]),)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        (x,) = arrays
        wide = x.astype(np.float64) if x.dtype.itemsize == 2 else x
        with np.errstate(all="ignore"):
            return (np.asarray(np.logaddexp.reduce(wide, axis=attrs["dims"])).astype(x.dtype, copy=False),)
