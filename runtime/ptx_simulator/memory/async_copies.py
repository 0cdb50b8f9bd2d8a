"""Copies that are on their way, by thread and group ("Data Movement and Conversion: Asynchronous copy").

What is copied is read at once and arrives when its thread waits for it, so who reads it without waiting finds what was
there before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..execution.divergence import Path
from ..ptx.types import Array
from .byte_memory import Fault

__all__ = ["AsyncCopies"]


@dataclass
class _Copy:
    """On its way: to each thread's address.  `group` is the thread's commit that it belongs to, -1 before that."""

    threads: Array
    space: str
    addresses: Array
    values: list[Array]
    group: Array


class AsyncCopies:
    """All copies of a batch that have not arrived."""

    def __init__(self, threads: int):
        self.pending: list[_Copy] = []
        self.commits = np.zeros(threads, np.int64)
        self._mine = np.zeros(threads, bool)

    def add(self, p: Path, space: str, addresses: Array, values: list[Array]) -> None:
        self.pending.append(_Copy(p.threads, space, addresses, values, np.full(len(p), -1)))

    def commit(self, p: Path) -> None:
        """What the threads have begun since their last commit is one group."""
        self._mine[p.threads] = True
        for copy in self.pending:
            lanes = self._mine[copy.threads] & (copy.group < 0)
            copy.group[lanes] = self.commits[copy.threads[lanes]]
        self._mine[p.threads] = False
        self.commits[p.threads] += 1

    def wait(self, p: Path, newest: int | None) -> None:
        """Let arrive all but the `newest` groups of each thread; None: all, committed or not."""
        self._mine[p.threads] = True
        left = []
        for copy in self.pending:
            lanes = self._mine[copy.threads]
            if newest is not None:
                lanes = lanes & (copy.group >= 0) & (copy.group < self.commits[copy.threads] - newest)
            if lanes.any():
                self._arrive(p, copy, np.flatnonzero(lanes))
            if not lanes.all():
                left.append(_narrowed(copy, np.flatnonzero(~lanes)))
        self.pending = left
        self._mine[p.threads] = False

    def _arrive(self, p: Path, copy: _Copy, lanes: Array) -> None:
        arriving = _narrowed(copy, lanes)
        places = np.searchsorted(p.threads, arriving.threads)
        try:
            p.batch.store(p.part(places, ()), copy.space, arriving.addresses, arriving.values)
        except Fault as fault:
            raise Fault(fault.what, int(places[fault.lane])) from None


def _narrowed(copy: _Copy, lanes: Array) -> _Copy:
    if len(lanes) == len(copy.threads):
        return copy
    values = [v[lanes] for v in copy.values]
    return _Copy(copy.threads[lanes], copy.space, copy.addresses[lanes], values, copy.group[lanes])
