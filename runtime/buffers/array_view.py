"""NumPy arrays in the memory of others, wherever these lie: what Python makes of a result that is a view."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..stub import cpython_layout
from ..stub.native_call import numpy_functions

__all__ = ["array_view"]


def array_view(
    base: np.ndarray, dtype: np.dtype[Any], shape: Sequence[int], strides: Sequence[int], offset: int, read_only: bool
) -> np.ndarray:
    """An array that begins `offset` bytes behind the first element of `base`, which it keeps alive.

    Strides are in bytes.
    """
    data, locked = base.__array_interface__["data"]
    if cpython_layout.problem():
        return np.asarray(_Memory(base, dtype, shape, strides, (data + offset, locked or read_only)))
    make, tie, refer = _functions()
    rank = len(shape)
    sizes, steps = (ctypes.c_ssize_t * max(1, rank))(*shape), (ctypes.c_ssize_t * max(1, rank))(*strides)
    refer(dtype)  # which NumPy takes over
    flags = 0 if locked or read_only else cpython_layout.WRITEABLE
    made = make(np.ndarray, dtype, rank, sizes, steps, data + offset, flags, None)
    refer(base)
    tie(made, base)
    return made


class _Memory:
    """The elements of a view, for NumPy."""

    def __init__(self, base: np.ndarray, dtype: np.dtype[Any], shape: Any, strides: Any, data: tuple[int, bool]):
        self.base = base
        form = {"typestr": dtype.str, "shape": tuple(shape), "strides": tuple(strides), "data": data, "version": 3}
        self.__array_interface__ = form


@lru_cache(maxsize=1)
def _functions() -> tuple[Any, Any, Any]:
    """``PyArray_NewFromDescr``, ``PyArray_SetBaseObject`` and ``Py_IncRef``."""
    addresses, obj, pointer = numpy_functions(), ctypes.py_object, ctypes.c_void_p
    make = ctypes.PYFUNCTYPE(obj, obj, obj, ctypes.c_int, pointer, pointer, pointer, ctypes.c_int, pointer)
    tie = ctypes.PYFUNCTYPE(ctypes.c_int, obj, obj)
    refer = ctypes.pythonapi.Py_IncRef
    refer.restype, refer.argtypes = None, [obj]
    return make(addresses["PyArray_NewFromDescr"]), tie(addresses["PyArray_SetBaseObject"]), refer
