"""`diagonal`: a view added by this one file (see docs/inside/adding-an-op.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...dims.dims import iterator, maximum, minimum
from ...dims.index_map import IndexMap
from ...registry import OpError, Param, View, int_param, op
from ...types import TensorType


@op
class Diagonal(View):
    """The diagonal of the first two dims, `offset` above the main one, as the last dim (NumPy's `diagonal`)."""

    numpy = np.diagonal
    params: ClassVar[dict[str, Param]] = {"offset": int_param(0)}

    @classmethod
    def mirror(cls, attrs: dict[str, Any], rank: int) -> dict[str, Any]:
        raise OpError("diagonal has no form for column-major tensors", "use .swap_layout() first", "TX0212")

    @classmethod
    def view(cls, operand: TensorType, attrs: dict[str, Any]) -> IndexMap:
        if operand.rank < 2:
            raise OpError(f"diagonal needs at least two dims, got {operand}", code="TX0120")
        offset: int = attrs["offset"]
        down, right = max(0, -offset), max(0, offset)
        rows, columns, *rest = operand.dims
        extent = maximum(0, minimum(rows - down, columns - right))
        k = iterator(len(rest))
        return IndexMap((*rest, extent), (k + down, k + right, *[iterator(i) for i in range(len(rest))]))

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        return (np.diagonal(arrays[0], attrs["offset"], 0, 1),)
