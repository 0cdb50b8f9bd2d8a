"""The memory of the thread pool: one structure that Python fills in and the code of ``ir.py`` works on."""

import ctypes

# Padding: two 64-byte lines, since x86 prefetches lines in pairs, and Apple's lines are 128 bytes.
LINE = 128
MAX_WORKERS = 1023
# Bits of each of the two counts in the claim word, which is what a region's slice may have chunks.
COUNT_BITS = 21
SLICE_LIMIT = 2**COUNT_BITS - 1
# Polls before a thread sleeps.
SPINS = 2000


def _line(*fields: tuple[str, type]) -> list[tuple[str, type]]:
    """*fields* and the padding that makes them fill whole cache lines."""
    used = ctypes.sizeof(type("_Used", (ctypes.Structure,), {"_fields_": fields}))
    return [*fields, (f"_after_{fields[-1][0]}", ctypes.c_char * (-used % LINE))]


class Parker(ctypes.Structure):
    """Where one thread sleeps: ``word`` is 1 while it does or is about to; ``lock`` is unused with futexes."""

    _fields_ = [("word", ctypes.c_int32), ("lock", ctypes.c_void_p)]


class Slot(ctypes.Structure):
    """One participant.  Callers read ``parker`` for every region, workers write ``inside``: separate lines.

    ``thread`` is a worker's number in the system, ``avoids`` one more than the CPU that it is kept away from (0: none),
    and ``left`` tells whether the CPUs that were left to it still are those.
    """

    _fields_ = _line(
        ("parker", Parker), ("thread", ctypes.c_int32), ("avoids", ctypes.c_int32), ("left", ctypes.c_int64)
    ) + _line(("inside", ctypes.c_int64))


class State(ctypes.Structure):
    """The pool's memory, which native code reaches through the address ``pool``.  All zero is a valid start."""

    _fields_ = [
        # Set by Python, seldom changed.  `capacity`: workers that may be started; `grow(threads)` starts them.
        # `look()` is called by a caller that waits for others, now and then (`signals/ir.py`).
        *_line(
            ("workers", ctypes.c_int64),
            ("capacity", ctypes.c_int64),
            ("grow", ctypes.c_void_p),
            ("stop", ctypes.c_int64),
            ("spins", ctypes.c_int64),
            ("slice_limit", ctypes.c_int64),
            ("look", ctypes.c_void_p),
        ),
        *_line(("busy", ctypes.c_int32)),  # 1 while a caller owns the pool
        *_line(("claim", ctypes.c_uint64)),  # epoch << 42 | chunks claimed in front << 21 | unclaimed chunks
        # The region (one slice of it), valid while `claim` is not exhausted.
        *_line(
            ("fn", ctypes.c_void_p),
            ("ctx", ctypes.c_void_p),
            ("base", ctypes.c_int64),
            ("size", ctypes.c_int64),
            ("participants", ctypes.c_int64),
        ),
        *_line(("done", ctypes.c_int64)),  # chunks run and reported
        ("slots", Slot * (MAX_WORKERS + 1)),  # by participant; slot 0 is the caller's, for its join
    ]
