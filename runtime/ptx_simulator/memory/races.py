"""Races in shared memory: two threads touch a byte, one of them writing, with nothing between that orders them.

Time is a number that grows with every synchronisation.  `known[w, v]` is the time up to which warp w knows what warp v
of its block did: a barrier teaches it to all who meet there, a warp's own synchronisation to that warp.  An access of
one thread is ordered before one of another where its time is known there (vector clocks, with a warp as the unit; see
Flanagan and Freund, "FastTrack", 2009, which this follows in keeping the last write and the reads since).

Threads that write one place in one instruction may do so with one value; with different ones it is a race.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..execution.divergence import Path
from ..execution.special_registers import WARP
from ..ptx.types import Array
from .byte_memory import Fault

if TYPE_CHECKING:
    from ..execution.resident_blocks import Batch

__all__ = ["Races"]

#: Several threads have read since the last write.
MANY = -1


class Races:
    """What happened to each `grain` bytes of a batch's shared memory; 0 for memory that no instruction touches."""

    def __init__(self, batch: Batch, grain: int):
        self.batch, self.grain = batch, grain
        self.warps = batch.slots // WARP
        self.now = 1
        places = len(batch.shared.bytes) // grain if grain else 0
        #: Numbers of threads, plus one; 0 is nobody.
        self.writer, self.reader = np.zeros(places, np.int32), np.zeros(places, np.int32)
        self.written, self.read = np.zeros(places, np.int32), np.zeros(places, np.int32)
        self.atomic = np.zeros(places, np.int32)
        #: The warps, as bits, that have read since the last write.
        self.readers = np.zeros(places, np.uint32)
        self.known = np.zeros((batch.count * self.warps, self.warps), np.int32)
        self._arrived: dict[tuple[int, int], Array] = {}

    # Synchronisation

    def meet(self, paths: Sequence[Path], number: int, done: Array) -> None:
        """The threads of these paths, and those that arrived before, met at barrier `number` in the blocks `done`."""
        if not self.grain:
            return
        now, warps = self.now, self.warps
        known = self.known.reshape(-1, warps, warps)
        threads = np.concatenate([p.threads for p in paths]) if paths else np.zeros(0, np.int64)
        here = np.zeros((len(known), warps), bool)
        here.reshape(-1)[threads // WARP] = True
        whole = here.all(axis=1) & done
        known[whole] = now
        for block in np.flatnonzero(done & ~whole):
            arrived = self._arrived.pop((int(block), number), np.zeros(warps, np.int32))
            learned = np.maximum(known[block][here[block]].max(axis=0, initial=0), arrived)
            learned[here[block] | (arrived > 0)] = now
            known[block][here[block]] = np.maximum(known[block][here[block]], learned)
        self.now += 1

    def arrive(self, path: Path, number: int) -> None:
        """Threads arrived at a barrier without waiting there: who meets there will know what they did."""
        if not self.grain:
            return
        known = self.known.reshape(-1, self.warps, self.warps)
        for block in np.unique(path.blocks).tolist():
            warps = np.unique(path.threads[path.blocks == block] // WARP - block * self.warps)
            found = self._arrived.setdefault((block, number), np.zeros(self.warps, np.int32))
            np.maximum(found, known[block][warps].max(axis=0), out=found)
            found[warps] = self.now
        self.now += 1

    def synchronise_warps(self, path: Path) -> None:
        """Each warp's threads know of each other."""
        if not self.grain:
            return
        warps = np.unique(path.threads // WARP)
        self.known[warps, warps % self.warps] = self.now
        self.now += 1

    def learn(self, threads: Array, knowledge: Array) -> None:
        """The warps of these threads, of one block, learn what is known up to these times of each warp."""
        warps = np.unique(threads // WARP)
        self.known[warps] = np.maximum(self.known[warps], knowledge)

    def knowledge(self, threads: Array) -> Array:
        """What the warps of these threads, of one block, know together, themselves included; a synchronisation."""
        warps = np.unique(threads // WARP)
        found = self.known[warps].max(axis=0)
        found[warps % self.warps] = self.now
        self.now += 1
        return found

    # Accesses

    def loaded(self, p: Path, places: Array, width: int) -> None:
        """Threads read `width` bytes at places of the batch's shared memory."""
        mine, warps, places = self._accesses(p, places)
        for k in range(width // self.grain):
            at = places + k
            writer = self.writer[at]
            other = (writer != 0) & (writer != mine)
            if other.any():
                self._against_writes(p, other, writer, at, warps, "read")
            before = self.reader[at]
            bits = np.uint32(1) << (warps % self.warps).astype(np.uint32)
            alone = (before == 0) | (before == mine)
            if alone.all():
                self.reader[at], self.readers[at] = mine, bits
            else:
                lanes = np.flatnonzero(~alone)
                alone[lanes] = ~self._unknown_reads(before[lanes], at[lanes], warps[lanes])
                self.reader[at[alone]], self.readers[at[alone]] = mine[alone], bits[alone]
                beside = ~alone
                np.bitwise_or.at(self.readers, at[beside], bits[beside])
                self.reader[at[beside]] = MANY
            doubled = (self.reader[at] != mine) & alone
            if doubled.any():
                np.bitwise_or.at(self.readers, at[doubled], bits[doubled])
                self.reader[at[doubled]] = MANY
            self.read[at] = self.now

    def stored(self, p: Path, places: Array, width: int, atomic: bool = False) -> Array | None:
        """Threads are about to write; the lanes that write where another one does, in the same instruction."""
        mine, warps, places = self._accesses(p, places)
        clash = None
        for k in range(width // self.grain):
            at = places + k
            writer = self.writer[at]
            other = (writer != 0) & (writer != mine)
            if atomic:
                other &= self.atomic[at] != self.written[at]
            if other.any():
                self._against_writes(p, other, writer, at, warps, "write")
            reader = self.reader[at]
            other = (reader != 0) & (reader != mine)
            if other.any():
                self._against_reads(p, other, reader, at, warps)
            self.writer[at], self.written[at] = mine, self.now
            self.reader[at], self.readers[at] = 0, 0
            if atomic:
                self.atomic[at] = self.now
            else:
                doubled = self.writer[at] != mine
                if doubled.any():
                    clash = doubled if clash is None else clash | doubled
        return clash

    def _accesses(self, p: Path, places: Array) -> tuple[Array, Array, Array]:
        threads = p.threads
        places = np.broadcast_to(places.view(np.int64) // self.grain, (len(threads),))
        return (threads + 1).astype(np.int32), threads // WARP, places

    def _against_writes(self, p: Path, other: Array, writer: Array, at: Array, warps: Array, what: str) -> None:
        lanes = np.flatnonzero(other)
        theirs = (writer[lanes] - 1) // WARP % self.warps
        unknown = self.written[at[lanes]] > self.known[warps[lanes], theirs]
        if unknown.any():
            lane = int(lanes[np.argmax(unknown)])
            self._race(lane, what, "wrote", int(writer[lane]) - 1, int(at[lane]))

    def _against_reads(self, p: Path, other: Array, reader: Array, at: Array, warps: Array) -> None:
        lanes = np.flatnonzero(other)
        unknown = self._unknown_reads(reader[lanes], at[lanes], warps[lanes])
        if unknown.any():
            lane = int(lanes[np.argmax(unknown)])
            self._race(lane, "write", "read", int(reader[lane]) - 1, int(at[lane]))

    def _unknown_reads(self, reader: Array, at: Array, warps: Array) -> Array:
        """Whether some read of each place is not ordered before what a thread of these warps does now."""
        times = self.read[at]
        single = reader != MANY
        theirs = (reader - 1) // WARP % self.warps
        unknown = single & (times > self.known[warps, np.where(single, theirs, 0)])
        if not single.all():
            masks = self.readers[at]
            for warp in range(self.warps):
                reads = (masks >> np.uint32(warp)) & np.uint32(1) != 0
                # Of its own warp it cannot be said whether it was this thread alone.
                unknown |= ~single & reads & (warps % self.warps != warp) & (times > self.known[warps, warp])
        return unknown

    def _race(self, lane: int, what: str, before: str, thread: int, place: int) -> None:
        address = place * self.grain % self.batch.shared.stride
        who = f"thread {self.batch.thread_in_block(thread)}" if thread >= 0 else "several threads"
        raise Fault(
            f"shared-memory race: {what} of shared address {address:#x}, which {who} {before} with no barrier between",
            lane,
        )

    def clash(self, lane: int, place: int) -> Fault:
        """Two threads stored different values to one place at once."""
        return Fault(
            f"shared-memory race: threads write different values to shared address {place:#x} in one instruction", lane
        )
