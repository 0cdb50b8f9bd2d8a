"""DLPack's capsules: memory of a GPU given to other libraries and taken from them, without a copy.

The layouts and the protocol are those of dlpack.h 1.0 and "DLPack: Python Specification".  Capsules here are of the
unversioned kind, which all libraries that know DLPack take, and give to who does not ask for another.
"""

from __future__ import annotations

import ctypes
import weakref
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Taken", "give", "take"]

_BFLOAT = 4
#: `DLDataTypeCode` by NumPy's kinds.
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p), ("device_type", c_int32), ("device", c_int32), ("ndim", c_int32),
        ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16),
        ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("offset", c_uint64),
    ]  # fmt: skip


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, POINTER(_Managed))
_Managed._fields_ = [("tensor", _Tensor), ("context", c_void_p), ("deleter", _Deleter)]
_Destructor = ctypes.CFUNCTYPE(None, c_void_p)


def _python(name: str, result: Any, *parameters: Any) -> Any:
    """A function of Python's, typed as here: the one that `ctypes.pythonapi` has may be typed by others."""
    return ctypes.PYFUNCTYPE(result, *parameters)((name, ctypes.pythonapi))


_new = _python("PyCapsule_New", ctypes.py_object, c_void_p, c_char_p, c_void_p)
# By address: a destructor is given a capsule to which there is no reference any more.
_is_valid = _python("PyCapsule_IsValid", c_int, c_void_p, c_char_p)
_pointer = _python("PyCapsule_GetPointer", c_void_p, c_void_p, c_char_p)
_rename = _python("PyCapsule_SetName", c_int, c_void_p, c_char_p)

_NAME, _USED = b"dltensor", b"used_dltensor"  # alive as long as capsules, which do not copy them
#: What was given away, by the address of its description, until its taker lets go of it.
_given: dict[int, Any] = {}


class Taken(NamedTuple):
    """An array of another library: its first element's device address, and what NumPy says of it, strides in bytes.

    `keep` gives it back with its last reference.  Unversioned capsules are of memory that may be written to.
    """

    address: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    keep: object
    writeable: bool = True


def give(owner: Any, address: int, form: Any, device: tuple[int, int]) -> Any:
    """A capsule of memory on a device (its type and number), laid out as `form` (shape, strides, dtype) says.

    Whoever takes it keeps `owner` alive.  BufferError for strides that are no multiples of the element.
    """
    dtype: np.dtype[Any] = form.dtype
    if any(s % dtype.itemsize for s in form.strides):
        raise BufferError(f"DLPack counts strides in elements, and {form.strides} bytes are no such ones of {dtype}")
    ndim = len(form.shape)
    shape = (c_int64 * ndim)(*form.shape)
    strides = (c_int64 * ndim)(*(s // dtype.itemsize for s in form.strides))
    made = _Managed()
    made.tensor = _Tensor(
        address, *device, ndim, _BFLOAT if dtype.name == "bfloat16" else _CODES[dtype.kind], 8 * dtype.itemsize, 1,
        shape, strides, 0,
    )  # fmt: skip
    made.deleter = _release
    _given[ctypes.addressof(made)] = made, shape, strides, owner
    return _new(ctypes.addressof(made), _NAME, ctypes.cast(_drop, c_void_p))


@_Deleter
def _release(managed: Any) -> None:
    _given.pop(ctypes.addressof(managed.contents))


@_Destructor
def _drop(capsule: int) -> None:
    """Nobody took what is in the capsule."""
    if _is_valid(capsule, _NAME):
        _given.pop(_pointer(capsule, _NAME))


def take(capsule: Any) -> Taken:
    """What is in a capsule, which is used up.  BufferError for an element type that there is not here."""
    managed = _Managed.from_address(_pointer(id(capsule), _NAME))
    _rename(id(capsule), _USED)
    keep = _Keep(managed)
    tensor = managed.tensor
    dtype, ndim = _dtype(tensor), tensor.ndim
    shape = tuple(tensor.shape[:ndim])
    if tensor.strides:
        strides = tuple(s * dtype.itemsize for s in tensor.strides[:ndim])
    else:
        strides = np.empty((0, *shape[1:]), dtype).strides if ndim else ()
    return Taken((tensor.data or 0) + tensor.offset, dtype, shape, strides, keep)


class _Keep:
    def __init__(self, managed: _Managed):
        # Not at the interpreter's end: their library may be gone before.
        if managed.deleter:
            weakref.finalize(self, managed.deleter, ctypes.pointer(managed)).atexit = False


def _dtype(tensor: _Tensor) -> np.dtype[Any]:
    if tensor.lanes == 1 and (tensor.code, tensor.bits) == (_BFLOAT, 16):
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    kind = next((k for k, code in _CODES.items() if code == tensor.code), None)
    try:
        if tensor.lanes != 1 or kind is None:
            raise TypeError
        return np.dtype(f"{kind}{tensor.bits // 8}")
    except TypeError:
        raise BufferError(
            f"an array of DLPack's type {tensor.code} with {tensor.bits} bits and {tensor.lanes} lanes is not known"
        ) from None
