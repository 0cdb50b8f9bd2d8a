"""What a long compilation does: said after a second, and once a second from then on.

In Python it goes to the logger ``txc``, as information; the command shows it beside its spinner.
"""

from __future__ import annotations

import threading
import time
from _thread import _local
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

__all__ = ["AFTER", "Progress", "doing", "reported", "to_the_log"]

#: Seconds before a compilation is said to be long, and between two words about it.
AFTER = 1.0


class _Current(_local):
    progress: Progress | None = None


_current = _Current()


class Progress:
    """One compilation of `name`; `say` is given a sentence."""

    def __init__(self, name: str, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic):
        self.name, self.doing = name, "reading the function"
        self._say, self._clock, self._start = say, clock, clock()

    def watch(self, over: Callable[[float], bool | None]) -> None:
        """Say what is done until it is; `over` waits so many seconds or until then, and says which it was."""
        while not over(AFTER):
            self._say(f"compiling {self.name} for {self._clock() - self._start:.0f} s, now {self.doing}")


def to_the_log(text: str) -> None:
    """Say it to whoever listens to the logger of txc."""
    import logging  # which takes longer to import than most compilations need to know

    logging.getLogger("txc").info(text)


def doing(stage: str, name: str) -> None:
    """What this thread's compilation does now."""
    progress = _current.progress
    if progress is not None:
        progress.doing = f"at stage {stage} ({name})"


@contextmanager
def reported(name: str, say: Callable[[str], None] = to_the_log) -> Iterator[None]:
    """A compilation that is spoken of if it is long; one inside another is a part of it."""
    if _current.progress is not None:
        yield
        return
    progress = _current.progress = Progress(name, say)
    over = threading.Event()
    watching = threading.Thread(target=progress.watch, args=(over.wait,), name="txc-progress", daemon=True)
    with suppress(RuntimeError):  # there are no threads here, or no more of them: nobody is told
        watching.start()
    try:
        yield
    finally:
        _current.progress = None
        over.set()
