"""Files that are there when they are whole: who is interrupted, or finds the disk full, leaves no part of one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

__all__ = ["whole_file"]


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which takes its name when all is written; devices and pipes are written at once.

    OSError where it cannot be written.
    """
    place = path.resolve()  # what a link leads to is replaced, not the link
    if place.exists() and not place.is_file():
        with place.open("wb") as file:
            yield file
        return
    beside = place.with_name(f".txc-{os.getpid()}{place.suffix}")
    try:
        with beside.open("wb") as file:
            yield file
        beside.replace(place)
    except BaseException as error:
        with suppress(OSError):
            beside.unlink()
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise
