"""Places in sorted tensors: binary search, `kernel.custom` with a loop generator of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...registry import OpError, Param, Structural, choice, op
from ...types import DTYPES, TensorType


@op
class Searchsorted(Structural):
    """Of each element of the second operand the place (i64) where it belongs in the first, which is sorted, of rank 1.

    ``left``: before elements equal to it, ``right``: behind them.  The order is that of `sort`.
    """

    numpy = np.searchsorted
    foreign = "searchsorted"
    arity = 2
    params: ClassVar[dict[str, Param]] = {"side": choice("left", "right", default="left")}

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        sorted_, values = operands
        if sorted_.rank != 1:
            raise OpError(f"searchsorted looks in a tensor of rank 1, not in {sorted_}", code="TX0103")
        if sorted_.dtype is not values.dtype:
            raise OpError(f"searchsorted needs operands of one dtype, got {sorted_} and {values}", "cast", "TX0111")
        return (values.with_dtype(DTYPES["i64"]),)

    @classmethod
    def expanded(cls, tensors: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Of one value: its loops go through a vector."""
        sorted_, value = tensors
        if value.ndim:
            return None
        return value.apply(cls, sorted_, value.reshape((1,)), **attrs).reshape(())

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        sorted_, values = arrays
        return (np.asarray(np.searchsorted(sorted_, values, side=attrs["side"])),)
