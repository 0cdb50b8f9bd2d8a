"""Sorting and sets."""

from __future__ import annotations

from typing import Any

from ....diagnostics import located
from ...numpy.functions.searching import sets
from ...numpy.functions.searching import sorting as found
from ...tensor.apply import apply, as_tensor
from ...tensor.tensor import Tensor

__all__ = [
    "argsort", "searchsorted", "sort", "unique_all", "unique_counts", "unique_inverse", "unique_values",
]  # fmt: skip


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    with located():
        return apply("sort", as_tensor(x), axis=axis, descending=descending)


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    with located():
        return apply("argsort", as_tensor(x), axis=axis, descending=descending)


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Tensor:
    with located():
        return found.searchsorted(x1, x2, side, sorter)


def unique_all(x: Any, /) -> sets.UniqueAll:
    with located():
        return sets.unique_all(x)


def unique_counts(x: Any, /) -> sets.UniqueCounts:
    with located():
        return sets.unique_counts(x)


def unique_inverse(x: Any, /) -> sets.UniqueInverse:
    with located():
        return sets.unique_inverse(x)


def unique_values(x: Any, /) -> Tensor:
    with located():
        return sets.unique_values(x)
