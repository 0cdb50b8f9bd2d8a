"""The larger and the smaller of two, under three policies for NaN, and clipping between bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...registry import Map, op
from ...scalar.language import ScalarBuilder, Value
from ...types import Interval

NUMBERS = frozenset({"int", "uint", "float", "bool"})


class _Extreme(Map):
    arity = 2
    dtypes = NUMBERS
    algebra = ("idempotent pair",)


class _Larger(_Extreme):
    @classmethod
    def bounds(cls, attrs: dict[str, Any], *operands: Interval) -> Interval | None:
        (a, b), (c, d) = operands
        return max(a, c), max(b, d)


class _Smaller(_Extreme):
    @classmethod
    def bounds(cls, attrs: dict[str, Any], *operands: Interval) -> Interval | None:
        (a, b), (c, d) = operands
        return min(a, c), min(b, d)


@op
class CwiseMax(_Larger):
    """``x > y ? x : y``, one instruction: `y` where either is NaN."""

    seeds = 'Eigen cwiseMax (nan="fast")'
    variants: ClassVar[dict[str, dict[str, str]]] = {
        "nan": {
            "fast": "cwise_max", "propagate": "cwise_max_propagate", "numbers": "cwise_max_numbers"
        }
    }  # fmt: skip

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        return x | y if x.dtype.kind == "bool" else b.maximum(x, y)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        x, y = arrays
        return (np.asarray(np.where(x > y, x, y)),)


@op
class CwiseMin(_Smaller):
    """``x < y ? x : y``, one instruction: `y` where either is NaN."""

    seeds = 'Eigen cwiseMin (nan="fast")'
    variants: ClassVar[dict[str, dict[str, str]]] = {
        "nan": {
            "fast": "cwise_min", "propagate": "cwise_min_propagate", "numbers": "cwise_min_numbers"
        }
    }  # fmt: skip

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        return x & y if x.dtype.kind == "bool" else b.minimum(x, y)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        x, y = arrays
        return (np.asarray(np.where(x < y, x, y)),)


@op
class CwiseMaxPropagate(_Larger):
    """The larger; NaN where either is."""

    numpy = np.maximum
    seeds = 'Eigen cwiseMax (nan="propagate")'
    cost = 2.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        if not x.dtype.is_float:
            return CwiseMax.scalar(b, x, y)
        return b.select(x.differs(x), x, b.maximum(x, y))


@op
class CwiseMinPropagate(_Smaller):
    """The smaller; NaN where either is."""

    numpy = np.minimum
    seeds = 'Eigen cwiseMin (nan="propagate")'
    cost = 2.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        if not x.dtype.is_float:
            return CwiseMin.scalar(b, x, y)
        return b.select(x.differs(x), x, b.minimum(x, y))


@op
class CwiseMaxNumbers(_Larger):
    """The larger; the other one where one is NaN."""

    numpy = np.fmax
    seeds = 'Eigen cwiseMax (nan="numbers")'
    cost = 2.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        if not x.dtype.is_float:
            return CwiseMax.scalar(b, x, y)
        return b.select(y.differs(y), x, b.maximum(x, y))


@op
class CwiseMinNumbers(_Smaller):
    """The smaller; the other one where one is NaN."""

    numpy = np.fmin
    seeds = 'Eigen cwiseMin (nan="numbers")'
    cost = 2.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        if not x.dtype.is_float:
            return CwiseMin.scalar(b, x, y)
        return b.select(y.differs(y), x, b.minimum(x, y))


@op
class Clip(Map):
    """``min(max(x, lo), hi)``; NaN where any of the three is."""

    numpy = np.clip
    seeds = "Eigen clip(lo, hi)"
    arity = 3
    dtypes = frozenset({"int", "uint", "float"})
    cost = 4.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, lo, hi = xs
        return CwiseMinPropagate.scalar(b, CwiseMaxPropagate.scalar(b, x, lo), hi)
