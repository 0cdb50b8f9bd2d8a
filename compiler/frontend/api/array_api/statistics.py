"""Reductions and running totals."""

# The standard's names are those of builtins.
from __future__ import annotations

from typing import Any

from ....diagnostics import located
from ...numpy.functions.statistics import scans
from ...tensor.apply import as_tensor
from ...tensor.methods import reducing
from ...tensor.tensor import Tensor

__all__ = [
    "all", "any", "cumulative_prod", "cumulative_sum", "max", "mean", "min", "prod", "std", "sum", "var",
]  # fmt: skip


def sum(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    with located():
        return reducing.reduce("sum", x, axis, dtype, keepdims=keepdims)


def prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    with located():
        return reducing.reduce("prod", x, axis, dtype, keepdims=keepdims)


def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    with located():
        return reducing.reduce("mean", x, axis, keepdims=keepdims)


def max(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    with located():
        return reducing.reduce("maximum", x, axis, keepdims=keepdims)


def min(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    with located():
        return reducing.reduce("minimum", x, axis, keepdims=keepdims)


def all(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    with located():
        return reducing.reduce("all", x, axis, keepdims=keepdims)


def any(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    with located():
        return reducing.reduce("any", x, axis, keepdims=keepdims)


def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    with located():
        return reducing.variance(as_tensor(x), axis, ddof=correction, keepdims=keepdims)


def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    with located():
        return reducing.deviation(as_tensor(x), axis, ddof=correction, keepdims=keepdims)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:  # fmt: skip
    with located():
        return scans.cumulative_sum(x, axis=axis, dtype=dtype, include_initial=include_initial)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:  # fmt: skip
    with located():
        return scans.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial)
