"""Positions of the true elements of a mask, `kernel.custom` with a loop generator of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...dims.dims import dim
from ...registry import OpError, Param, Structural, op
from ...types import DTYPES, TensorType, tensor_type


@op
class Flatnonzero(Structural):
    """The positions (i64) of the true elements of a mask of rank 1, in order: `extent` is how many there are."""

    foreign = "flatnonzero"
    params: ClassVar[dict[str, Param]] = {"extent": Param("dim", lambda v, _: dim(v))}

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        (mask,) = operands
        if mask.rank != 1 or mask.dtype.kind != "bool":
            raise OpError(f"flatnonzero takes bools of rank 1, not {mask}", code="TX0103")
        return (tensor_type(DTYPES["i64"], (attrs["extent"],)),)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        (mask,) = arrays
        return (np.resize(np.flatnonzero(mask), int(attrs["extent"].evaluate({}))),)
