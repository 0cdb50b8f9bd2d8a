"""Sorting along one dim: values, the positions they come from, or both; `kernel.custom` with one loop generator.

The order is NumPy's: numbers ascending, -0.0 equal to 0.0, NaN behind all others; complex numbers by real part, then by
imaginary part, those with a NaN behind in the order ``R + nan*j, nan + R*j, nan + nan*j``; False before True.  Equal
elements keep their order, so there is one result, whatever algorithm and however many threads find it.  Descending is
the exact opposite (NaN first), in which equal elements keep their order too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...registry import OpError, Param, Structural, axis, bool_param, op
from ...types import DTYPES, TensorType


def _positions(x: np.ndarray, at: int, descending: bool) -> np.ndarray:
    """NumPy's stable `argsort`; descending: of the reversed array, counted from the other end."""
    if not descending:
        return np.argsort(x, axis=at, kind="stable")
    return x.shape[at] - 1 - np.flip(np.argsort(np.flip(x, at), axis=at, kind="stable"), at)


class _Sorting(Structural):
    params: ClassVar[dict[str, Param]] = {"axis": axis(-1), "descending": bool_param(False)}

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        (x,) = operands
        if not x.rank:
            raise OpError(f"{cls.name} of {x}: it has no dim to sort along", "reshape it to (1,)", "TX0103")
        return cls.given(x)

    @classmethod
    def given(cls, x: TensorType) -> tuple[TensorType, ...]:
        raise NotImplementedError


@op
class Sort(_Sorting):
    """The elements along `axis` in order (see `dialects.ops.sort`): NumPy's, equal ones as they stood."""

    numpy = np.sort
    foreign = "sort"

    @classmethod
    def given(cls, x: TensorType) -> tuple[TensorType, ...]:
        return (x,)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        return SortWithPositions.evaluate(arrays, attrs)[:1]


@op
class Argsort(_Sorting):
    """The positions (i64) along `axis` of the elements that `sort` gives there."""

    numpy = np.argsort
    foreign = "argsort"

    @classmethod
    def given(cls, x: TensorType) -> tuple[TensorType, ...]:
        return (x.with_dtype(DTYPES["i64"]),)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        return SortWithPositions.evaluate(arrays, attrs)[1:]


@op
class SortWithPositions(_Sorting):
    """What `sort` gives, and what `argsort` gives, found at once."""

    foreign = "sort_with_positions"
    results = 2

    @classmethod
    def given(cls, x: TensorType) -> tuple[TensorType, ...]:
        return (x, x.with_dtype(DTYPES["i64"]))

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        (x,), at = arrays, attrs["axis"]
        found = _positions(x, at, attrs["descending"])
        return np.take_along_axis(x, found, at), found
