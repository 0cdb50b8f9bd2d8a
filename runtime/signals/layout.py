"""What calls of compiled code, and `ir.py`, say to each other about signals."""

from __future__ import annotations

import ctypes

__all__ = ["EXPORTED", "LONG", "NEEDED", "NEVER", "UNKNOWN_WORK", "SignalsStruct"]


class SignalsStruct(ctypes.Structure):
    """What compiled code polls: 0, or `resolve` is to be asked, with the struct's address, whether to leave."""

    _fields_ = [("word", ctypes.c_int64), ("resolve", ctypes.c_void_p)]


#: What a call polls that nothing interrupts.
NEVER = SignalsStruct(0, None)
#: Units of work (`stub.layout.LIGHT`) from which on a call is long: about a millisecond.
LONG = 1 << 22
#: The work of a call that nobody knows.
UNKNOWN_WORK = -1

EXPORTED = ("txc_signals_begin", "txc_signals_end", "txc_signals_wait", "txc_signals_forked")
#: Functions of CPython and of the C library that the code calls.
NEEDED = (
    (
        "PyThread_get_thread_ident", "PyGILState_Ensure", "PyGILState_Release", "PyErr_CheckSignals", "PyErr_Fetch",
        "PyErr_Restore",
    ),
    ("sigaction", "clock_gettime"),
)  # fmt: skip
