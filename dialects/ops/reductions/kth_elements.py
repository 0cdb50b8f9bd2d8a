"""Elements of rows by their number in order, `kernel.custom` with one loop generator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...registry import OpError, Structural, op
from ...types import TensorType


@op
class KthElements(Structural):
    """What `sort` of the last dim has at some places of each row: ``x[…, n], places[…, q] -> […, q]``.

    Places (i64) beyond an end are that end; rows have elements, which are real numbers.
    """

    foreign = "kth_elements"
    arity = 2

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        x, places = operands
        if x.dtype.is_complex or x.dtype.kind == "bool" or places.dtype.name != "i64":
            raise OpError(f"kth_elements takes numbers and places in i64, not {x} and {places}", code="TX0112")
        if not x.rank or x.dims[:-1] != places.dims[:-1]:
            raise OpError(f"kth_elements needs places for each row, not {places} for {x}", code="TX0103")
        return (places.with_dtype(x.dtype),)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        x, places = arrays
        ordered = np.take_along_axis(x, np.argsort(x, axis=-1, kind="stable"), -1)
        return (np.take_along_axis(ordered, np.clip(places, 0, x.shape[-1] - 1), -1),)
