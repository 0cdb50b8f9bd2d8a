"""Perf map files: Linux's `perf` names functions that lie in no file by the lines of ``/tmp/perf-<pid>.map``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["PERF_MAP_VARIABLE", "Function", "perf_map_path", "perf_map_wanted", "write_perf_map"]

PERF_MAP_VARIABLE = "TXC_PERF_MAP"


class Function(NamedTuple):
    """Machine code in memory; `size` in bytes."""

    address: int
    size: int
    name: str


def perf_map_wanted() -> bool:
    """What ``TXC_PERF_MAP`` says now.  ValueError for a text that is neither of its values."""
    text = os.environ.get(PERF_MAP_VARIABLE, "").strip()
    if text.lower() not in ("", "0", "1", "false", "true"):
        raise ValueError(f"{PERF_MAP_VARIABLE} must be 0, 1, false or true, not {text!r}")
    return text.lower() in ("1", "true")


def perf_map_path() -> str:
    """The file of this process; `perf` looks nowhere else."""
    return f"/tmp/perf-{os.getpid()}.map"


def write_perf_map(functions: Iterable[Function]) -> None:
    """Append functions, a line each: address and size in hexadecimal, ``txc:`` and the name.

    OSError where the file cannot be written, or is not one of this user's own: `perf` would not read it either.
    """
    lines = "".join(f"{f.address:x} {f.size:x} txc:{f.name}\n" for f in functions)
    # One write, so that threads do not mix their lines; and no link that someone else put there is followed.
    file = os.open(perf_map_path(), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    try:
        if os.fstat(file).st_uid != os.geteuid():
            raise PermissionError(f"{perf_map_path()} belongs to another user")
        os.write(file, lines.encode())
    finally:
        os.close(file)
