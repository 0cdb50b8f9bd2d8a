"""Searching, picking and comparing; functions whose result's size is computed first."""

from __future__ import annotations

from typing import Any

from ....diagnostics import located
from ...numpy.functions import elementwise
from ...numpy.functions.searching import data_dependent
from ...numpy.functions.shaping import indexing
from ...numpy.functions.statistics import differences, reductions
from ...tensor.apply import apply, as_tensor
from ...tensor.methods import reducing
from ...tensor.promotion import cast
from ...tensor.tensor import Tensor

__all__ = ["argmax", "argmin", "count_nonzero", "diff", "isin", "nonzero", "take", "take_along_axis", "where"]


def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    with located():
        return reducing.reduce("argmax", x, axis, keepdims=keepdims)


def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    with located():
        return reducing.reduce("argmin", x, axis, keepdims=keepdims)


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    with located():
        return reductions.count_nonzero(x, axis, keepdims=keepdims)


def nonzero(x: Any, /) -> tuple[Tensor, ...]:
    """The indices of what is not zero, one tensor a dim.

    In two phases: their number is computed at once, the indices when they are needed.  TxcError inside a compiled
    function, which cannot know the number.
    """
    with located():
        return data_dependent.nonzero(x)


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Tensor:
    with located():
        return indexing.take(x, indices, axis)


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Tensor:
    with located():
        return indexing.take_along_axis(x, indices, axis)


def where(condition: Any, x1: Any, x2: Any, /) -> Tensor:
    return apply("select", condition, x1, x2)


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Tensor:
    with located():
        return elementwise.isin(x1, x2, invert=invert)


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> Tensor:
    with located():
        x = as_tensor(x)
        ends = (v if v is None else cast(as_tensor(v), x.element) for v in (prepend, append))
        return differences.diff(x, n, axis, *ends)
