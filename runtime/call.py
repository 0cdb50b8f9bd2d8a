"""Calling compiled code: its argument arrays, the runtime structure, and scratch memory that calls reuse.

A compiled function is ``i32 f(ptr args, ptr symbols, ptr runtime)``: data pointers, the values of its symbols (i64),
and the structure below.  Scratch belongs to the calling thread, so concurrent callers never share it.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence

import numpy as np

from .pool import get_pool
from .threads import default_threads

__all__ = ["NativeFunction", "memory_overlaps"]

ALIGNMENT = 64
#: Scratch beyond this is given back after the call.
KEEP_BYTES = 256 << 20


class _Runtime(ctypes.Structure):
    """What compiled code knows of the process it runs in."""

    _fields_ = (
        ("parallel", ctypes.c_void_p),
        ("pool", ctypes.c_void_p),
        ("threads", ctypes.c_int64),
        ("arena", ctypes.c_void_p),
        ("thread_arena", ctypes.c_void_p),
        ("thread_arena_stride", ctypes.c_int64),
    )


_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_scratch = threading.local()


def _reserve(name: str, size: int) -> int:
    """The address of at least `size` bytes of this thread's scratch, aligned to a cache line."""
    held: np.ndarray | None = getattr(_scratch, name, None)
    if held is None or held.nbytes < size + ALIGNMENT:
        held = np.empty(max(4096, size + ALIGNMENT), np.uint8)
        setattr(_scratch, name, held)
    return (held.ctypes.data + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def _trim(name: str) -> None:
    held: np.ndarray | None = getattr(_scratch, name, None)
    if held is not None and held.nbytes > KEEP_BYTES:
        delattr(_scratch, name)


class NativeFunction:
    """A compiled function at an address; whoever makes one keeps its code alive."""

    def __init__(self, address: int):
        self._call = _PROTOTYPE(address)

    def __call__(
        self, pointers: Sequence[int], symbols: Sequence[int], arena: int, thread_arena: int, threads: int = 0
    ) -> None:
        """Run with at most `threads` threads (0: as many as the process may use).  MemoryError where scratch is not to be had."""
        pool = get_pool()
        threads = threads or default_threads()
        stride = (thread_arena + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        runtime = _Runtime(
            pool.parallel_address,
            pool.address,
            threads,
            _reserve("arena", arena),
            _reserve("thread_arena", stride * threads),
            stride,
        )
        args = (ctypes.c_void_p * max(1, len(pointers)))(*pointers)
        values = (ctypes.c_int64 * max(1, len(symbols)))(*symbols)
        status = self._call(args, values, ctypes.byref(runtime))
        _trim("arena")
        _trim("thread_arena")
        if status != 0:
            raise RuntimeError(f"compiled code returned status {status}")


def memory_overlaps(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays may share bytes, by their bounds: a false yes costs a copy, there is no false no."""
    return bool(np.may_share_memory(a, b))
