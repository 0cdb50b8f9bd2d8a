"""Where CPython and NumPy keep what a native entry reads, and a probe that it is so in this process.

The offsets are those of 64-bit CPython 3.11 to 3.14 and of NumPy 2's stable ABI.  Native code reads memory by them, so
none is trusted: `problem` compares each with what Python says of real objects before any native entry is used.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from types import CellType
from typing import Any

import numpy as np

__all__ = [
    "ALIGNED", "ARRAY_DATA", "ARRAY_DESCR", "ARRAY_DIMS", "ARRAY_FLAGS", "ARRAY_RANK", "ARRAY_STRIDES", "CELL_CONTENT",
    "C_CONTIGUOUS", "DESCR_BYTE_ORDER", "DESCR_TYPE_NUMBER", "F_CONTIGUOUS", "LIST_ITEMS", "OBJECT_TYPE",
    "SCALAR_VALUE", "TUPLE_ITEMS", "TUPLE_SIZE", "TYPE_FLAGS", "TYPE_VECTORCALL_OFFSET", "WRITEABLE", "problem",
]  # fmt: skip

OBJECT_TYPE = 8
#: `float`, and NumPy's scalars: the value follows the header.
SCALAR_VALUE = 16
CELL_CONTENT = 16
TUPLE_SIZE = 16
#: 3.14 keeps a hash before the items.
TUPLE_ITEMS = tuple.__basicsize__
#: A list's size is where a tuple's is; a pointer to its items follows.
LIST_ITEMS = 24
TYPE_VECTORCALL_OFFSET, TYPE_FLAGS = 56, 168

ARRAY_DATA, ARRAY_RANK, ARRAY_DIMS, ARRAY_STRIDES, ARRAY_DESCR, ARRAY_FLAGS = 16, 24, 32, 40, 56, 64
DESCR_BYTE_ORDER, DESCR_TYPE_NUMBER = 26, 28
C_CONTIGUOUS, F_CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x2, 0x100, 0x400


@functools.lru_cache(maxsize=1)
def problem() -> str:
    """Why native entries cannot be used in this process; empty where they can."""
    if sys.implementation.name != "cpython":
        return f"the interpreter is {sys.implementation.name}, not CPython"
    if os.name != "posix" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return "it needs a 64-bit POSIX system"
    if not (3, 11) <= sys.version_info[:2] <= (3, 14):
        return f"CPython {sys.version_info[0]}.{sys.version_info[1]} is not among the known ones, 3.11 to 3.14"
    gil = getattr(sys, "_is_gil_enabled", None)
    if (gil is not None and not gil()) or "free-threading" in sys.version:
        return "this is a free-threaded build of CPython"
    if hasattr(sys, "gettotalrefcount"):
        return "this is a debug build of CPython"
    if int(np.__version__.split(".")[0]) != 2:
        return f"NumPy {np.__version__} is not NumPy 2"
    for check in (_objects, _arrays, _scalars):
        found = check()
        if found:
            return f"{found} lies elsewhere than in known builds"
    return ""


def _read(address: int, kind: Any) -> Any:
    return kind.from_address(address).value


def _objects() -> str:
    """What of CPython's objects lies elsewhere; empty where all is as it should be."""
    cell = CellType(marker := object())
    pair, listed = (marker, cell), [cell, marker, cell]
    list_items = _read(id(listed) + LIST_ITEMS, ctypes.c_void_p)
    checks = {
        "an object's type": object.__basicsize__ == 16 and _read(id(pair) + OBJECT_TYPE, ctypes.c_void_p) == id(tuple),
        "a cell's content": _read(id(cell) + CELL_CONTENT, ctypes.c_void_p) == id(marker),
        "a tuple's size": _read(id(pair) + TUPLE_SIZE, ctypes.c_ssize_t) == 2,
        "a tuple's items": [_read(id(pair) + TUPLE_ITEMS + 8 * i, ctypes.c_void_p) for i in (0, 1)]
        == [id(marker), id(cell)],
        "a list's size": _read(id(listed) + TUPLE_SIZE, ctypes.c_ssize_t) == 3,
        "a list's items": [_read(list_items + 8 * i, ctypes.c_void_p) for i in range(3)] == [id(o) for o in listed],
        "a type's flags": all(_read(id(t) + TYPE_FLAGS, ctypes.c_ulong) == t.__flags__ for t in (int, dict, _Sample)),
        "a type's vectorcall offset": _vectorcall_offsets(),
    }
    return next((what for what, holds in checks.items() if not holds), "")


class _Sample:
    """A class of Python's, to compare flags with."""


def _vectorcall_offsets() -> bool:
    """A builtin function has a slot for vectorcall inside its object; a list has none."""
    builtin: Any = type(len)
    offset = _read(id(builtin) + TYPE_VECTORCALL_OFFSET, ctypes.c_ssize_t)
    return 0 < offset < builtin.__basicsize__ and _read(id(list) + TYPE_VECTORCALL_OFFSET, ctypes.c_ssize_t) == 0


def _arrays() -> str:
    base = np.arange(2.0 * 3 * 4).reshape(2, 3, 4)
    read_only = np.zeros(3, np.int8)
    read_only.flags.writeable = False
    swapped = np.zeros((2, 2), np.dtype(np.int32).newbyteorder())
    misaligned = np.zeros(41, np.uint8)[1:].view(np.float64)
    samples = [
        base, base.T, base[:, ::-1, 1:3], np.asfortranarray(base[0]), read_only, swapped, misaligned,
        np.array(1.5, np.float32), np.zeros((0, 3), np.bool_),
    ]  # fmt: skip
    for array in samples:
        found = _array_differs(array)
        if found:
            return found
    return ""


def _array_differs(array: np.ndarray) -> str:
    at, rank = id(array), array.ndim
    flags, descr = array.flags, id(array.dtype)

    def row(offset: int) -> list[int]:
        start = _read(at + offset, ctypes.c_void_p)
        return [_read(start + 8 * i, ctypes.c_ssize_t) for i in range(rank)]

    expected = [
        (C_CONTIGUOUS, flags.c_contiguous), (F_CONTIGUOUS, flags.f_contiguous), (ALIGNED, flags.aligned),
        (WRITEABLE, flags.writeable),
    ]  # fmt: skip
    stored = _read(at + ARRAY_FLAGS, ctypes.c_int)
    checks = {
        "an array's data": _read(at + ARRAY_DATA, ctypes.c_void_p) == array.ctypes.data,
        "an array's rank": _read(at + ARRAY_RANK, ctypes.c_int) == rank,
        "an array's dims": row(ARRAY_DIMS) == list(array.shape),
        "an array's strides": row(ARRAY_STRIDES) == list(array.strides),
        "an array's flags": all(bool(stored & bit) == value for bit, value in expected),
        "an array's dtype": _read(at + ARRAY_DESCR, ctypes.c_void_p) == descr,
        "a dtype's byte order": _read(descr + DESCR_BYTE_ORDER, ctypes.c_char).decode() == array.dtype.byteorder,
        "a dtype's number": _read(descr + DESCR_TYPE_NUMBER, ctypes.c_int) == array.dtype.num,
    }
    return next((what for what, holds in checks.items() if not holds), "")


def _scalars() -> str:
    value = 2.5
    if _read(id(value) + SCALAR_VALUE, ctypes.c_double) != value:
        return "the value of a float"
    turn = 2.5 - 1j
    if [_read(id(turn) + SCALAR_VALUE + 8 * i, ctypes.c_double) for i in (0, 1)] != [turn.real, turn.imag]:
        return "the value of a complex number"
    for code in "?bBhHiIlLqQefdFD":
        scalar = np.dtype(code).type(1)
        stored = ctypes.string_at(id(scalar) + SCALAR_VALUE, scalar.itemsize)
        if stored != scalar.tobytes():
            return f"the value of a {type(scalar).__name__}"
    return ""
