"""A fork-join pool of threads for compiled loops.

Compiled code calls ``txc_parallel(pool, fn, ctx, n, threads)`` (:attr:`Pool.parallel_address`), which runs
``fn(ctx, chunk, worker)`` once for each chunk in ``[0, n)`` and returns when all have run.  Python creates the
threads; each then lives in native code (``ir.py``, which explains the protocol) without the GIL.

The pool grows when a region asks for more threads than there are: native code calls back into Python,
whether or not its thread holds the GIL.  So the ABI needs no preparation, and neither does a forked child,
which starts without workers.

A chunk function may call ``txc_parallel`` again (that region runs serially); it must not fork.
"""

import atexit
import ctypes
import os
import threading
import warnings
from typing import NamedTuple

from ..signals.signals import signal_symbols
from .code import native_half
from .futex import has_futex
from .layout import COUNT_BITS, MAX_WORKERS, SLICE_LIMIT, SPINS, State

_GROW = ctypes.CFUNCTYPE(None, ctypes.c_int64)
_WORKER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
_STOP = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class PoolStats(NamedTuple):
    """A glance at a pool: its worker threads, how many of them sleep, and the regions it ran in parallel.

    ``regions`` counts modulo 2^22, and each slice of a very large region; serial regions do not count.
    """

    workers: int
    sleeping: int
    regions: int


class Pool:
    """A pool of worker threads; :func:`get_pool` gives the one that compiled code shares.

    ``futex=False`` sleeps as on platforms without futexes; ``spins`` is how often a thread polls before it sleeps;
    ``slice_limit`` is the most chunks that one claim word counts.  Only tests have a reason to pass them.
    """

    def __init__(self, *, futex: bool | None = None, spins: int = SPINS, slice_limit: int = SLICE_LIMIT) -> None:
        self._futex = has_futex() if futex is None else futex
        self._spins = spins
        self._slice_limit = slice_limit
        self._stopped = False
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._grow = _GROW(self._grow_from_native)
        # Threads may be in native code when the interpreter tears down its objects: neither the code and the pool's
        # memory (see native_half) nor the callback is ever freed.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._grow))
        symbols = native_half(self._futex)
        self._worker = _WORKER(symbols["txc_worker"])
        self._stop = _STOP(symbols["txc_pool_stop"])
        self.address: int = symbols["txc_pool"]
        """The pool's memory: the first argument of ``txc_parallel``."""
        self.parallel_address: int = symbols["txc_parallel"]
        """``void txc_parallel(ptr pool, ptr fn, ptr ctx, i64 n, i64 threads)``."""
        self.state = State.from_address(self.address)
        self._initialise()
        _pools.append(self)

    def ensure(self, threads: int) -> int:
        """Starts workers until *threads* threads, the caller included, can take part in a region.

        Answers how many can: fewer where the pool has its greatest size, the system refuses another thread (a
        ``RuntimeWarning``), or the interpreter is exiting.
        """
        with self._lock:
            if not self._stopped:
                self.state.capacity = MAX_WORKERS
                self._start_workers(threads)
            return len(self._threads) + 1

    def stop(self) -> None:
        """Wakes the workers and waits for them to end; from then on every region is serial."""
        with self._lock:
            self._stopped = True
            self._stop(self.address)
            for thread in self._threads:
                thread.join()
            self._threads.clear()

    def stats(self) -> PoolStats:
        """What the pool looks like now."""
        workers = self.state.workers
        sleeping = sum(self.state.slots[index].parker.word for index in range(1, workers + 1))
        return PoolStats(workers, sleeping, self.state.claim >> 2 * COUNT_BITS)

    def _initialise(self) -> None:
        """Makes the memory that of a pool without workers."""
        ctypes.memset(self.address, 0, ctypes.sizeof(State))
        self.state.spins = self._spins
        self.state.slice_limit = self._slice_limit
        self.state.grow = ctypes.cast(self._grow, ctypes.c_void_p).value
        self.state.look = signal_symbols().get("txc_signals_wait")
        self.state.capacity = 0 if self._stopped else MAX_WORKERS
        self._give_lock(0)

    def _give_lock(self, index: int) -> None:
        """Gives participant *index* the lock it sleeps on, if this pool has no futex; held, as no signal is due."""
        if not self._futex:
            lock = _allocate_lock()
            _acquire_lock(lock, 1)
            self.state.slots[index].parker.lock = lock

    def _grow_from_native(self, threads: int) -> None:
        # Not blocking: this thread may be in `ensure` already (a finaliser ran a region), and where another one is
        # at work, the region goes on with the workers there are.
        if self._lock.acquire(blocking=False):
            try:
                self._start_workers(threads)
            finally:
                self._lock.release()

    def _start_workers(self, threads: int) -> None:
        while len(self._threads) < min(threads - 1, self.state.capacity):
            index = len(self._threads) + 1
            self._give_lock(index)
            thread = threading.Thread(
                target=self._worker, args=(self.address, index), name=f"txc-worker-{index}", daemon=True
            )
            try:
                thread.start()
            except RuntimeError as error:
                self.state.capacity = len(self._threads)  # no further attempt with every region
                warnings.warn(f"only {index} of {threads} threads will run: {error}", RuntimeWarning, stacklevel=2)
                return
            self._threads.append(thread)
            # One aligned 64-bit store.  A region that sees it early publishes work that the new thread finds.
            self.state.workers = index

    def _after_fork_in_child(self) -> None:
        """The parent's threads do not exist here, and its lock and its memory may be in any state."""
        self._lock = threading.Lock()
        self._threads.clear()
        self._initialise()


_allocate_lock = ctypes.pythonapi.PyThread_allocate_lock
_allocate_lock.restype = ctypes.c_void_p
_acquire_lock = ctypes.pythonapi.PyThread_acquire_lock
_acquire_lock.argtypes = [ctypes.c_void_p, ctypes.c_int]

_pools: list[Pool] = []
_shared: Pool | None = None
_shared_lock = threading.Lock()


def get_pool() -> Pool:
    """The pool of this process, made at the first call."""
    global _shared
    with _shared_lock:
        if _shared is None:
            _shared = Pool()
        return _shared


def _after_fork_in_child() -> None:
    global _shared_lock
    _shared_lock = threading.Lock()
    for pool in _pools:
        pool._after_fork_in_child()


def _stop_all() -> None:
    for pool in _pools:
        pool.stop()


atexit.register(_stop_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
