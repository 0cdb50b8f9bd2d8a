"""Barriers that are objects in shared memory, and bulk copies that arrive there ("Parallel Synchronization: mbarrier").

A phase ends when as many arrivals as were announced have come and all bytes that are expected have been copied.  A bulk
copy arrives when threads have waited at its barrier in vain and come again, so who does not wait, or does not look at
what waiting said, finds what was there before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..execution.divergence import Path
from ..execution.special_registers import WARP
from ..ptx.types import Array
from .byte_memory import Fault

if TYPE_CHECKING:
    from ..execution.resident_blocks import Batch

__all__ = ["Mbarriers"]


@dataclass
class _BulkCopy:
    """From global to shared memory, begun by a thread: a word to each address of the block that begins at `start`."""

    thread: int
    to: Array
    start: int
    words: Array


@dataclass
class _Mbarrier:
    """`waited_for`: somebody waits, and nothing has arrived since.

    `known` is what those who waited for the last phase know of the warps' work; `gathered` and `arrived` (whether a
    warp did) are what the next one tells.
    """

    expected: int
    pending: int
    known: Array
    gathered: Array
    arrived: Array
    phase: int = 0
    bytes: int = 0
    waited_for: bool = False
    copies: list[_BulkCopy] = field(default_factory=list)

    def over(self, phases: Array, parity: bool) -> Array:
        """Whether phases, or the latest of that parity, are over."""
        if parity:
            return phases & np.uint64(1) != self.phase & 1
        return phases != self.phase


class Mbarriers:
    """Those of a batch, by their places in its shared memory."""

    def __init__(self, batch: Batch):
        self.batch = batch
        self.objects: dict[int, _Mbarrier] = {}

    def initialise(self, p: Path, places: Array, counts: Array) -> None:
        warps = self.batch.races.warps
        for place, count in zip(places.tolist(), counts.tolist(), strict=True):
            if not 1 <= count < 1 << 20:
                raise Fault(f"an mbarrier for {count} arrivals")
            if place in self.objects:
                raise Fault("an mbarrier lies there already: it has to be invalidated first")
            known, gathered = np.zeros((2, warps), np.int32)
            self.objects[place] = _Mbarrier(count, count, known, gathered, np.zeros(warps, bool))

    def invalidate(self, places: Array) -> None:
        for place in places.tolist():
            self.objects.pop(place, None)

    def arrive(self, p: Path, places: Array, counts: Array, expected: Array) -> Array:
        """Threads arrive, announcing bytes; the phases that they arrive in."""
        phases = np.zeros(len(places), np.uint64)
        for place in np.unique(places).tolist():
            lanes = np.flatnonzero(places == place)
            barrier = self.found(place, lanes)
            phases[lanes] = barrier.phase
            barrier.bytes += int(expected[lanes].sum())
            barrier.pending -= int(counts[lanes].sum())
            if barrier.pending < 0:
                raise Fault(f"{-barrier.pending} arrivals more than the mbarrier waits for", int(lanes[0]))
            self.tell(barrier, p.threads[lanes])
            self.advance(barrier)
        return phases

    def expect(self, places: Array, expected: Array) -> None:
        for lane, place in enumerate(places.tolist()):
            self.found(place, np.array([lane])).bytes += int(expected[lane])

    def waited(self, p: Path, places: Array, phases: Array, parity: bool) -> Array:
        """Whether each thread's phase is over; those of which it is know what was done before it ended."""
        over = np.zeros(len(places), bool)
        for place in np.unique(places).tolist():
            lanes = np.flatnonzero(places == place)
            barrier = self.found(place, lanes)
            over[lanes] = barrier.over(phases[lanes], parity)
            if not over[lanes].all():
                if barrier.waited_for:
                    self.deliver(barrier, int(lanes[0]))
                    over[lanes] = barrier.over(phases[lanes], parity)
                barrier.waited_for = not barrier.waited_for
            done = lanes[over[lanes]]
            if len(done):
                self.batch.races.learn(p.threads[done], barrier.known)
        return over

    def copy(self, thread: int, place: int, to: Array, start: int, words: Array) -> None:
        """A bulk copy begins, which may write from now on."""
        self.batch.products.check(to + np.uint64(start))
        self.found(place, np.zeros(1, np.int64)).copies.append(_BulkCopy(thread, to, start, words))

    def deliver(self, barrier: _Mbarrier, lane: int) -> None:
        """Let arrive what counts at a barrier that somebody, at this lane, looks at."""
        copies, barrier.copies = barrier.copies, []
        for copy in copies:
            starts = np.full(len(copy.to), copy.start, np.uint64)
            writer = Path(self.batch, np.full(len(copy.to), copy.thread), [])
            try:
                self.batch.shared.store(copy.to, starts, [copy.words])
                self.batch.races.stored(writer, copy.to + starts, 8)
            except Fault as fault:
                who = self.batch.thread_in_block(copy.thread)
                raise Fault(f"{fault.what} (a bulk copy that thread {who} asked for)", lane) from None
            self.tell(barrier, np.array([copy.thread]))
            barrier.bytes -= 8 * len(copy.words)
            self.batch.version += 1
        if copies:
            self.advance(barrier)

    def tell(self, barrier: _Mbarrier, threads: Array) -> None:
        races = self.batch.races
        barrier.gathered = np.maximum(barrier.gathered, races.knowledge(threads))
        barrier.arrived[np.unique(threads // WARP) % races.warps] = True

    def advance(self, barrier: _Mbarrier) -> None:
        """End the phase if it is over.  Who arrived then counts as having arrived now: see `races.py`."""
        if barrier.pending or barrier.bytes:
            return
        barrier.known = np.where(barrier.arrived, self.batch.races.now, barrier.gathered).astype(np.int32)
        barrier.gathered = np.zeros_like(barrier.gathered)
        barrier.arrived[:] = False
        barrier.phase += 1
        barrier.pending = barrier.expected
        self.batch.races.now += 1
        self.batch.version += 1

    def found(self, place: int, lanes: Array) -> _Mbarrier:
        barrier = self.objects.get(place)
        if barrier is None:
            raise Fault("no mbarrier lies there: none was initialised", int(lanes[0]))
        return barrier
