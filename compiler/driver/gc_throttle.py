"""Python's collector of cyclic garbage while something is compiled: it looks less often.

IR is cyclic and lives until a later stage replaces it, so most of what the collector would look at after every 700 new
objects is alive, and it would look at all that the process holds besides.  Looking every 20,000 objects instead costs a
few megabytes and a sixth of the time.

The first compilation of a process imports the compiler: a hundred thousand objects that live as long as the process.
They become old without being looked at.
"""

from __future__ import annotations

import gc
from _thread import allocate_lock  # `threading.Lock`, without the rest of that module

__all__ = ["gc_throttled"]

#: New objects between two collections of the youngest.
_YOUNG = 20_000
#: The same while the compiler is imported, of whose objects almost none are garbage.
_IMPORTED = 300_000


class _SeldomCollected:
    """A context, entered by any number of threads; the last one that leaves restores what was there."""

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._inside = 0
        self._before = gc.get_threshold()
        self._most = _IMPORTED

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._before = gc.get_threshold()
                if 0 < self._before[0] < self._most:  # 0: never
                    gc.set_threshold(self._most, *self._before[1:])
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                gc.set_threshold(*self._before)
                if self._most == _IMPORTED:
                    self._most = _YOUNG
                    _make_old()


def _make_old() -> None:
    """All objects of the process become old, which takes no time; the next full collection looks at them.

    Nothing happens where the process has frozen objects of its own, which would be thawed.
    """
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()


gc_throttled = _SeldomCollected()
