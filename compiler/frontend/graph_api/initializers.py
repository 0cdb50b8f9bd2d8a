"""Initialisers: ``initializer(shape, dtype)`` makes the symbolic tensor that a variable starts from.

The source of the semantics is the TensorFlow notes (``init_ops``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .graph import Tensor, constant, filled, host_array
from .host_tensor import data_type_of, numpy_type_of

__all__ = ["Constant", "Ones", "Zeros"]


class Zeros:
    """Zeros of the dtype."""

    def __call__(self, shape: Any, dtype: Any = np.float32) -> Tensor:
        return constant(np.zeros(shape, numpy_type_of(data_type_of(dtype))))


class Ones:
    """Ones of the dtype."""

    def __call__(self, shape: Any, dtype: Any = np.float32) -> Tensor:
        return constant(np.ones(shape, numpy_type_of(data_type_of(dtype))))


class Constant:
    """The elements of `value` in row-major order, the last one filling up what is left of the shape.

    ValueError for more elements than the shape has; TypeError for any other shape where `verify_shape` is set.
    """

    def __init__(self, value: Any = 0, verify_shape: bool = False):
        self._value, self._verify = value, verify_shape

    def __call__(self, shape: Any, dtype: Any = np.float32) -> Tensor:
        return constant(filled(host_array(self._value, dtype), shape, self._verify))
