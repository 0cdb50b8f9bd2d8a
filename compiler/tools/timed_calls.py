"""What calls that are timed again and again have in common."""

from __future__ import annotations

import numpy as np

__all__ = ["checked_repeats", "copy_with_strides"]


def checked_repeats(repeats: int) -> int:
    """The number of calls; ValueError where it is none."""
    if not isinstance(repeats, int) or repeats < 1:
        raise ValueError(f"profile(repeats={repeats!r}): it takes a positive number of calls, e.g. repeats=20")
    return repeats


def copy_with_strides(array: np.ndarray) -> np.ndarray:
    """A copy with the same strides."""
    low, high = np.lib.array_utils.byte_bounds(array)
    memory = np.empty(high - low, np.uint8)
    offset = array.ctypes.data - low
    made = np.ndarray(array.shape, array.dtype, memory, offset, array.strides)
    made[...] = array
    return made
