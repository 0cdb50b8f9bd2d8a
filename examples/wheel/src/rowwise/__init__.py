"""Functions of the rows of arrays, compiled when the wheel was built: all they need is NumPy."""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["centred", "softmax"]

_LIBRARY = ctypes.CDLL(str(Path(__file__).with_name("kernels.so")))
_POINTER, _SIZE = ctypes.c_void_p, ctypes.c_int64


def softmax(x: Any, beta: float = 1.0) -> np.ndarray:
    """Each row of `x`, float32 of two dims, as probabilities.  ValueError for another number of dims."""
    return _call("softmax", x, ctypes.c_float(beta))


def centred(x: Any) -> np.ndarray:
    """Each row of `x`, float32 of two dims, less its mean.  ValueError for another number of dims."""
    return _call("centred", x)


def _call(name: str, x: Any, *numbers: ctypes.c_float) -> np.ndarray:
    """Call a function of `kernels.h` that has one array, numbers, and a result like the array."""
    x = np.ascontiguousarray(x, np.float32)
    if x.ndim != 2:
        raise ValueError(f"{name} takes arrays of two dims, not of {x.ndim}")
    sizes = [_SIZE(n) for n in x.shape]
    workspace_bytes = getattr(_LIBRARY, f"{name}_workspace")
    workspace_bytes.restype = ctypes.c_size_t
    workspace = np.empty(workspace_bytes(*sizes, None), np.uint8)
    out = np.empty(x.shape, np.float32)
    status = getattr(_LIBRARY, name)(_address(x), *numbers, _address(out), *sizes, _address(workspace), None)
    if status != 0:
        raise RuntimeError(f"{name} returned {status}: kernels.h says what that means")
    return out


def _address(array: np.ndarray) -> ctypes.c_void_p:
    return _POINTER(array.ctypes.data)
