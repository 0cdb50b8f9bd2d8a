"""Unix signals, Ctrl-C first, while compiled code runs: `ir.py` says how.

Where there is no `sigaction` nothing interrupts a call: what a signal means happens after it.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from _thread import get_ident
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..loader.code_cache import RuntimeCode, source_of_signals
from ..loader.loader import library_symbols
from .layout import EXPORTED, NEEDED, NEVER, UNKNOWN_WORK

__all__ = ["CODE", "UNKNOWN_WORK", "Guard", "guard", "signal_symbols"]


class Guard(NamedTuple):
    """What a call through `ctypes` does about signals; both functions may raise what a signal's handler raises.

    `begin(work)` gives the address of what compiled code polls, `end` takes it after the code has run.
    """

    begin: Callable[[int], int]
    end: Callable[[int], int]


@functools.lru_cache(maxsize=1)
def signal_symbols() -> Mapping[str, int]:
    """Addresses of the functions of `ir.py`; empty where the system has no such signals."""
    if os.name != "posix":
        return {}
    python, system = NEEDED
    needed = {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in python}
    needed |= library_symbols() | library_symbols(system) | {"txc_never": ctypes.addressof(NEVER)}
    found = CODE.load(EXPORTED, needed)
    forked: Any = ctypes.CFUNCTYPE(None, ctypes.c_int64)(found["txc_signals_forked"])
    forked(_main_thread())
    os.register_at_fork(after_in_child=lambda: forked(get_ident()))
    return found


def _main_thread() -> int:
    """The thread to which Python brings signals: before `threading` is loaded there is no other one."""
    threading = sys.modules.get("threading")
    return get_ident() if threading is None else threading.main_thread().ident


CODE = RuntimeCode("txc_signals", source_of_signals)


@functools.lru_cache(maxsize=1)
def guard() -> Guard | None:
    """For calls through `ctypes`; None where nothing interrupts them."""
    symbols = signal_symbols()
    if not symbols:
        return None
    begin: Any = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_int64)
    end: Any = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
    return Guard(begin(symbols["txc_signals_begin"]), end(symbols["txc_signals_end"]))
