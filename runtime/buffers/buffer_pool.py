"""Memory of large results, used again: an allocation handler for NumPy (NEP 49) with lists of free blocks.

A fresh 40 MB result costs more in page faults than in arithmetic.  An array made by `empty` gives its memory back to
the lists when NumPy frees it, so when neither it nor a view of it is left; the next result of about that size gets it.
The handler is NumPy's current one only while `empty` allocates: no other array of the program is concerned.
"""

from __future__ import annotations

import ctypes
import functools
import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ..environment import variable
from ..loader.code_cache import RuntimeCode
from ..loader.loader import can_load, library_symbols
from .buffer_pool_ir import SMALLEST, STATE_BYTES, source

__all__ = [
    "DEFAULT_MB", "HUGE_PAGES_VARIABLE", "SIZE_VARIABLE", "BufferHandler", "code",
    "current_handler", "empties", "empty", "huge_pages_wanted", "kept_bytes", "limit", "use_setting",
]  # fmt: skip

SIZE_VARIABLE, DEFAULT_MB = "TXC_BUFFER_CACHE_MB", 256
HUGE_PAGES_VARIABLE = "TXC_HUGE_PAGES"
_FUNCTIONS = ("malloc", "calloc", "realloc", "free")
#: The capsule that NumPy takes, or 0: native entries read it.
_current = ctypes.c_void_p()
_size_text, _huge_pages_text = variable(SIZE_VARIABLE), variable(HUGE_PAGES_VARIABLE)
#: What the environment said last, and the handler adjusted to it.
_adjusted: tuple[Any, Any, BufferHandler | None] | None = None
#: Places in NumPy's table of C functions.
_SET_HANDLER = 304


def limit() -> int:
    """``TXC_BUFFER_CACHE_MB`` in bytes; 0: nothing is kept.  ValueError for a text that is no integer from 0 on."""
    text = os.environ.get(SIZE_VARIABLE, "").strip()
    if not text:
        return DEFAULT_MB << 20
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"{SIZE_VARIABLE} must be an integer from 0 on, not {text!r}")
    return int(text) << 20


def huge_pages_wanted() -> bool:
    """``TXC_HUGE_PAGES``, which is on unless set.  ValueError for a text that is neither 0, 1, false nor true."""
    text = os.environ.get(HUGE_PAGES_VARIABLE, "").strip().lower() or "1"
    if text not in ("0", "1", "false", "true"):
        raise ValueError(f"{HUGE_PAGES_VARIABLE} must be 0, 1, false or true, not {text!r}")
    return text in ("1", "true")


class _Allocator(ctypes.Structure):
    _fields_ = [("context", ctypes.c_void_p), *((name, ctypes.c_void_p) for name in _FUNCTIONS)]


class _Handler(ctypes.Structure):
    """NumPy's ``PyDataMem_Handler``, version 1."""

    _fields_ = [("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("allocator", _Allocator)]


@functools.cache
def code() -> RuntimeCode:
    """The handler's functions."""
    return RuntimeCode("txc_buffers", source)


class BufferHandler:
    """The handler: `address` of NumPy's struct, `capsule` that NumPy takes.  It lives as long as the process."""

    def __init__(self) -> None:
        names = (*(f"txc_buffer_{name}" for name in _FUNCTIONS), "txc_buffers")
        needed = library_symbols(("aligned_alloc", "free", "madvise", "memcpy", "memset"))
        addresses = code().load(names, needed)
        self._state = addresses["txc_buffers"]
        functions = [addresses[name] for name in names[:-1]]
        self._struct = _Handler(b"txc", 1, _Allocator(self._state, *functions))
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._struct))
        self.address = ctypes.addressof(self._struct)
        new_capsule = ctypes.pythonapi.PyCapsule_New
        new_capsule.restype, new_capsule.argtypes = (
            ctypes.py_object,
            [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
        )
        self._name = b"mem_handler"
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._name))
        self.capsule: Any = new_capsule(self.address, self._name, None)
        self.set = _numpy_function(_SET_HANDLER)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork_in_child)

    def adjust(self, size: int, huge_pages: bool) -> None:
        """How many bytes of free blocks are kept, and whether new large blocks ask for huge pages, from now on."""
        ctypes.c_int64.from_address(self._state + 8).value = size
        ctypes.c_int64.from_address(self._state + 32).value = int(not huge_pages)

    def kept(self) -> int:
        """Bytes of the free blocks."""
        return ctypes.c_int64.from_address(self._state + 16).value

    def _after_fork_in_child(self) -> None:
        """Another thread may have held the lock: the child begins with empty lists (its copies of them are lost)."""
        global _adjusted
        ctypes.memset(self._state, 0, STATE_BYTES)
        _adjusted = None


def _numpy_function(index: int) -> Any:
    """A function ``object f(object)`` of NumPy's C API."""
    from numpy._core import _multiarray_umath  # pyright: ignore[reportAttributeAccessIssue]

    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = pointer_of(_multiarray_umath._ARRAY_API, None)
    address = ctypes.c_size_t.from_address(table + index * ctypes.sizeof(ctypes.c_void_p)).value
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(address)


@functools.lru_cache(maxsize=1)
def _handler() -> BufferHandler | None:
    """None where machine code is loaded by LLVM: results are NumPy's own allocations there."""
    return BufferHandler() if can_load(b"\x7fELF") else None


def kept_bytes() -> int:
    """How many bytes wait to be used again."""
    handler = _handler()
    return 0 if handler is None else handler.kept()


def current_handler() -> int:
    """Where native code finds the handler's capsule, or null while nothing is recycled."""
    return ctypes.addressof(_current)


def use_setting() -> BufferHandler | None:
    """The handler with the settings that the environment says now, also for native calls; None where nothing is kept.

    Native calls do not look at the environment: they go by what this said last, which is when a version was made or
    a call went through Python.
    """
    global _adjusted
    texts = _size_text(), _huge_pages_text()
    if _adjusted is not None and _adjusted[:2] == texts:
        return _adjusted[2]
    most = limit()
    handler = _handler() if most else None
    if handler is not None:
        handler.adjust(most, huge_pages_wanted())
    _current.value = None if handler is None else id(handler.capsule)
    _adjusted = (*texts, handler)
    return handler


def empties(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Callable[[], np.ndarray]:
    """What makes arrays as `empty` does, one after the other."""
    small = dtype.itemsize * math.prod(shape) < SMALLEST
    return functools.partial(np.empty if small else empty, shape, dtype)


def empty(shape: tuple[int, ...] | list[int], dtype: np.dtype[Any]) -> np.ndarray:
    """`np.empty` in row-major order; memory of large arrays is recycled."""
    size = dtype.itemsize
    for n in shape:
        size *= n
    if size < SMALLEST:
        return np.empty(shape, dtype)
    handler = use_setting()
    if handler is None:
        return np.empty(shape, dtype)
    before = handler.set(handler.capsule)
    try:
        return np.empty(shape, dtype)
    finally:
        handler.set(before)
