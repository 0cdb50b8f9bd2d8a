"""Positions of the elements of rows, parted by one; `kernel.custom` with a loop generator of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...registry import OpError, Structural, op
from ...types import DTYPES, TensorType


@op
class PartitionPositions(Structural):
    """The positions (i64) of elements before a pivot in the order of `sort`, then of its equals, then of the others:
    ``x[…, n], pivot[…, 1] -> […, n]``.  Each part keeps its order, so there is one result."""

    foreign = "partition_positions"
    arity = 2

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        x, pivot = operands
        if x.dtype.is_complex or x.dtype is not pivot.dtype:
            raise OpError(f"{cls.name} takes numbers and pivots of one type, not {x} and {pivot}", code="TX0112")
        if not x.rank or x.dims[:-1] != pivot.dims[:-1] or pivot.dims[-1].const != 1:
            raise OpError(f"{cls.name} needs one pivot for each row, not {pivot} for {x}", code="TX0103")
        return (x.with_dtype(DTYPES["i64"]),)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        x, pivot = arrays
        nan, pivot_nan = x != x, pivot != pivot
        before = (x < pivot) | (pivot_nan & ~nan)
        behind = (x > pivot) | (nan & ~pivot_nan)
        return (np.argsort(1 + behind.astype("i1") - before, axis=-1, kind="stable"),)
