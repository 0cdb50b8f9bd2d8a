"""Arrays as leaves of lazy expressions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....dialects.registry import OpError
from ....dialects.types import TensorType, dtype, tensor_type
from ..trace.graph import SingleResultNode, Value

__all__ = ["element_of", "leaf"]


def element_of(array: Any) -> Any:
    """The `DType` of an array; OpError where txc has none."""
    try:
        return dtype(array.dtype)
    except TypeError as error:
        raise OpError(str(error), code="TX0205") from error


def leaf(array: np.ndarray, known: TensorType | None = None, *, fixed: bool = False) -> Value:
    """The value of an array, whose type may be known, in a lazy expression: a reference, not a copy.

    `fixed`: its sizes are facts.
    """
    kind = known or tensor_type(element_of(array), array.shape)
    return SingleResultNode.of_array(array, kind, fixed)
