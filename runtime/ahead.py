"""The runtime's machine code, made before it is used: in a thread, while the process compiles its first function.

A function's second call needs it.  LLVM works without Python's lock, and most of compiling is Python's work, so on a
second processor this takes nobody's time.
"""

from __future__ import annotations

import os
import threading
from importlib import import_module

from .loader.loader import can_load
from .native_function import usual_threads

__all__ = ["begin"]


def begin() -> None:
    """Make the code of calls, the thread pool, signals and buffers, once in a process that may use two processors."""
    global _thread
    if _thread is not None or not can_load(b"\x7fELF") or usual_threads(os.environ.get("TXC_NUM_THREADS")) < 2:
        return
    _thread = threading.Thread(target=_make, name="txc-runtime")
    try:
        _thread.start()
    except RuntimeError:  # no more threads, or the interpreter ends: each use makes what it needs
        pass


def _make() -> None:
    from .buffers import buffer_pool
    from .pool.code import code_of
    from .pool.futex import has_futex
    from .signals.signals import CODE as SIGNALS
    from .stub.code import CODE as CALLS

    for code in (CALLS, code_of(has_futex()), SIGNALS, buffer_pool.code()):
        code.machine_code()
    for links in ("..pool.pool", "..stub.native_call"):
        import_module(links, __name__)


def _wait() -> None:
    if _thread is not None and _thread.is_alive():
        _thread.join()


_thread: threading.Thread | None = None
if hasattr(os, "register_at_fork"):  # a child has the locks of LLVM and of `RuntimeCode` as they are at that moment
    os.register_at_fork(before=_wait)
