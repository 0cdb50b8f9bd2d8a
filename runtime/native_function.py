"""Calling machine code: the runtime struct of the native ABI, the temporaries' memory, threads.

``i32 @f(ptr args, ptr symbols, ptr runtime)``: data pointers of the buffers in order, the symbols as i64, and a
`RuntimeStruct`.  The GIL is released during the call; the caller keeps the arrays alive.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from _thread import _local  # `threading.local`, without the rest of that module
from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import numpy as np

from .pool.threads import default_threads
from .signals.layout import LONG, NEVER, UNKNOWN_WORK
from .signals.signals import guard
from .stub.cpython_layout import ARRAY_DATA, problem
from .stub.fast_call import light_call
from .stub.layout import LIGHT, BoundsStruct, RuntimeStruct

__all__ = ["NativeFunction", "failure", "should_parallelize", "usual_threads"]

#: Units of work that take as long as making the pool of threads: some milliseconds.
_POOL_WORK = 1 << 24

#: Arenas start at, and worker arenas lie apart by, two cache lines: prefetchers fetch pairs.
_LINE = 128
#: What a thread keeps of its last arena; a larger one is given back after the call.
_KEPT_BYTES = 64 << 20


@functools.lru_cache(maxsize=1)
def address_of() -> Callable[[np.ndarray], int]:
    """What gives the address of an array's elements: NumPy's own way takes longer than a small kernel."""
    if problem():
        return lambda array: array.ctypes.data
    pointer_at = ctypes.c_size_t.from_address
    return lambda array: pointer_at(id(array) + ARRAY_DATA).value


class _Memory(_local):
    """One thread's recycled temporaries: concurrent callers never share an arena."""

    buffer: np.ndarray | None = None

    def take(self, size: int) -> tuple[np.ndarray, int]:
        """Memory of at least `size` bytes and its aligned address.  It is this call's until `give`."""
        buffer, self.buffer = self.buffer, None
        if buffer is None or buffer.size < size + _LINE:
            buffer = np.empty(size + _LINE, np.uint8)
        return buffer, -(-buffer.ctypes.data // _LINE) * _LINE

    def give(self, buffer: np.ndarray) -> None:
        if buffer.size <= _KEPT_BYTES:
            self.buffer = buffer


_memory = _Memory()
_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


@functools.lru_cache(maxsize=8)
def usual_threads(setting: str | None) -> int:
    """`default_threads`, asked once a process for each value of the environment variable: it reads files."""
    return default_threads()


if hasattr(os, "register_at_fork"):  # the child may be a worker
    os.register_at_fork(after_in_child=usual_threads.cache_clear)


#: What code gets that runs on one thread and needs no memory.
_ALONE = RuntimeStruct(None, None, 1, None, None, 0, None, ctypes.addressof(NEVER))


class NativeFunction:
    """Machine code at an address; `keep` must live as long as the code may run.

    `entry` is the address of its entry for calls from Python (0: it has none), or what links that: it then gives the
    address and what has to be kept.  Code that is `checked` notes an index that is outside.
    """

    def __init__(
        self,
        address: int,
        buffers: int,
        symbols: int,
        keep: Any = None,
        entry: int | Callable[[], tuple[int, Any]] = 0,
        checked: bool = False,
    ):
        self._entry = entry
        self._address, self._function = address, _PROTOTYPE(address)
        self._pointers = ctypes.c_void_p * max(1, buffers)
        self._symbols = ctypes.c_int64 * max(1, symbols)
        self._keep = keep
        self._checked = checked

    @property
    def entry(self) -> int:
        """The address of the entry, linked now at the latest; 0: there is none."""
        if not isinstance(self._entry, int):
            self._entry, entry_keep = self._entry()
            self._keep = self._keep, entry_keep
        return self._entry

    @property
    def linked(self) -> bool:
        """Whether `entry` is there without more work."""
        return isinstance(self._entry, int)

    def run(self, arrays: Sequence[np.ndarray], inputs: int, prepared: Any, threads: int) -> None:
        """Run it on arrays; `prepared` has `symbols`, `arena` and `thread_arena`.  Errors as of `__call__`.

        Machine code makes no difference between the first `inputs` of them, which are arguments, and the others.
        """
        pointers = [*map(address_of(), arrays)]
        self(pointers, prepared.symbols, prepared.arena, prepared.thread_arena, threads, prepared.work)

    def alone(self, prepared: Any) -> Callable[..., int] | None:
        """A function of arrays that runs it for what was prepared: its status, of which `failure` makes an error.

        None where that is more than a little work for one thread, where it needs temporaries, and where there is no
        such call.
        """
        if prepared.work > LIGHT or prepared.arena or prepared.thread_arena or self._checked:
            return None
        symbols = self._symbols(*prepared.symbols)
        return light_call(self._address, ctypes.addressof(symbols), ctypes.addressof(_ALONE), (self, symbols))

    def __call__(
        self,
        pointers: Sequence[int],
        symbols: Sequence[int],
        arena: int,
        thread_arena: int,
        threads: int = 0,
        work: float = inf,
    ) -> None:
        """Run it.  `arena` and `thread_arena` are bytes; `threads` 0 means as many as the process may use.

        With one thread code does not call the pool, and none is made for it.
        Raises RuntimeError where the code reports a failure, MemoryError where there is no memory for temporaries, and
        what the handler of a signal raises that comes while long code runs on the main thread.
        """
        threads = threads or usual_threads(os.environ.get("TXC_NUM_THREADS"))
        parallel, pool = (None, None) if threads == 1 else _pool()
        stride = -(-thread_arena // _LINE) * _LINE
        arena = -(-arena // _LINE) * _LINE
        size = arena + stride * threads
        bounds = BoundsStruct() if self._checked else None
        if threads == 1 and not size and bounds is None and work <= LONG:
            status = self._function(self._pointers(*pointers), self._symbols(*symbols), ctypes.byref(_ALONE))
        else:
            memory, address = _memory.take(size) if size else (None, 0)
            noted = None if bounds is None else ctypes.addressof(bounds)
            guarded = _guard() if work > LONG else None
            signals = ctypes.addressof(NEVER)
            if guarded is not None:
                signals = guarded.begin(UNKNOWN_WORK if work == inf else LONG + 1)
            runtime = RuntimeStruct(parallel, pool, threads, address, address + arena, stride, noted, signals)
            try:
                status = self._function(self._pointers(*pointers), self._symbols(*symbols), ctypes.byref(runtime))
            finally:
                if guarded is not None:
                    guarded.end(signals)
            if memory is not None:
                _memory.give(memory)
        if bounds is not None and bounds.text:
            raise RuntimeError(bounds.message())
        if status:
            raise failure(status)


def failure(status: int) -> RuntimeError:
    """The error of a status that is not 0."""
    return RuntimeError(f"compiled code failed with status {status}")


_work_without_pool = 0.0


def should_parallelize(work: float) -> bool:
    """Whether a call of so many units of work goes to the pool of threads; infinity stands for work without bound.

    A process makes the pool once it has done as much work without it as making it takes.  So a short process does
    without, and a long one has lost no more than that time.
    """
    global _work_without_pool
    if work <= LIGHT:
        return False
    if f"{__package__}.pool.pool" in sys.modules:
        return True
    _work_without_pool += work
    return _work_without_pool > _POOL_WORK


def _guard() -> Any:
    """What long calls do about signals (`signals.Guard`), if anything."""
    return guard()


def _pool() -> tuple[int, int]:
    """The function that compiled code calls for a parallel loop, and the pool that it passes."""
    from .pool.pool import get_pool

    pool = get_pool()
    return pool.parallel_address, pool.address
