"""Barriers of a block ("Parallel Synchronization: barrier"): who has arrived, who waits, and what a divergent one is.

`bar.sync` and the `.aligned` forms are for whole warps: it is an error where threads of one warp meet at different
instructions.  A barrier without a count is for all threads of the block; ended threads never arrive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..instructions.decode import Decoding
from ..memory.byte_memory import Fault
from ..ptx.syntax import Instruction
from ..ptx.types import TYPES, Array
from .divergence import Path
from .resident_blocks import Batch
from .special_registers import WARP

__all__ = ["Barriers", "Meeting", "Waiting", "decode_barrier"]

#: Barriers that a block has.
BARRIERS = 16


@dataclass(frozen=True)
class Meeting:
    """A barrier instruction: where its operands are read.  `action` is sync, arrive, popc, and, or."""

    instruction: Instruction
    action: str
    number: int
    count: int = -1
    predicate: int = -1
    negated: bool = False
    target: int = -1
    aligned: bool = True

    @property
    def sources(self) -> tuple[int, ...]:
        return tuple(i for i in (self.number, self.count, self.predicate) if i >= 0)


def decode_barrier(d: Decoding) -> Meeting:
    """bar and barrier.cta in all their forms but those of one warp and of clusters."""
    u32 = TYPES["u32"]
    d.flag("cta")
    aligned = d.flag("aligned") or d.instruction.opcode == "bar"
    action = d.choice("sync", "arrive", "red")
    operands = list(d.operands)
    predicate, negated, target = -1, False, -1
    if action == "red":
        result = d.type("u32 pred")
        action = d.choice("popc") if result.name == "u32" else d.choice("and", "or")
        found = d.target(operands.pop(0))
        target = found.number if found is not None else -1
        predicate, negated = d.predicate(operands.pop())
    d.done()
    number = d.source(operands[0], u32)
    count = d.source(operands[1], u32) if len(operands) > 1 else -1
    if action == "arrive" and count < 0:
        d.fail("an arrival needs the number of threads")
    return Meeting(d.instruction, action, number, count, predicate, negated, target, aligned)


@dataclass
class Waiting:
    """A path that waits in a barrier, and the block of the program where it goes on."""

    path: Path
    next: int
    meeting: Meeting
    number: int


class Barriers:
    """All barriers of a batch."""

    def __init__(self, batch: Batch):
        self.batch = batch
        self.arrived = np.zeros((BARRIERS, batch.count), np.int64)
        self.votes = np.zeros((BARRIERS, batch.count), np.int64)
        self.parked: list[Waiting] = []
        #: Blocks of which some thread has arrived and does not wait.
        self.arrivals = 0

    def arrive(
        self, path: Path, meeting: Meeting, next_: int, live: Callable[[int], Sequence[int]]
    ) -> list[tuple[int, Path]]:
        """Let a path arrive; the paths that go on now, and where."""
        numbers = path.registers[meeting.number]
        if len(numbers) > 1 and not (numbers == numbers[0]).all():
            found = []
            for number in np.unique(numbers):
                part = path.part(np.flatnonzero(numbers == number), [*live(next_), *meeting.sources])
                for register in tuple(part.left):
                    part.take(register)
                found += self._arrive_at(int(number), part, meeting, next_, live)
            return found
        return self._arrive_at(int(numbers[0]), path, meeting, next_, live)

    def _arrive_at(
        self, number: int, path: Path, meeting: Meeting, next_: int, live: Callable[[int], Sequence[int]]
    ) -> list[tuple[int, Path]]:
        if number >= BARRIERS:
            raise Fault(f"barrier {number}; a block has {BARRIERS}")
        batch = self.batch
        here = np.bincount(path.blocks, minlength=batch.count)
        expected = self._expected(path, meeting)
        self.arrived[number] += here
        if meeting.predicate >= 0:
            holds = path.registers[meeting.predicate] ^ meeting.negated
            holds = np.broadcast_to(holds, (len(path),))
            self.votes[number] += np.bincount(path.blocks[holds], minlength=batch.count)
        over = np.flatnonzero((here > 0) & (self.arrived[number] > expected))
        if len(over):
            raise Fault(
                f"divergent barrier: {int(self.arrived[number, over[0]])} threads arrive at barrier {number}, "
                f"which waits for {expected}",
                int(np.flatnonzero(path.blocks == over[0])[0]),
            )
        done = (here > 0) & (self.arrived[number] == expected)
        released: list[tuple[int, Path]] = []
        if meeting.action == "arrive":
            batch.races.arrive(path, number)
            released.append((next_, path))
        else:
            self.parked.append(Waiting(path, next_, meeting, number))
        if done.any():
            released += self._release(number, done, expected, live)
        return released

    def _expected(self, path: Path, meeting: Meeting) -> int:
        if meeting.count < 0:
            return self.batch.launch.threads
        counts = path.registers[meeting.count]
        count = int(counts[0])
        if len(counts) > 1 and not (counts == count).all():
            raise Fault("divergent barrier: threads that arrive together say different counts")
        if count % WARP:
            raise Fault(f"a barrier of {count} threads: the count is a multiple of {WARP}")
        return count

    def _release(
        self, number: int, done: Array, expected: int, live: Callable[[int], Sequence[int]]
    ) -> list[tuple[int, Path]]:
        """Let go who waits at a barrier in the blocks that are done."""
        going: list[Waiting] = []
        staying: list[Waiting] = []
        for parked in self.parked:
            if parked.number != number:
                staying.append(parked)
                continue
            lanes = done[parked.path.blocks]
            if lanes.all():
                going.append(parked)
            elif not lanes.any():
                staying.append(parked)
            else:
                kept = (*live(parked.next), *parked.meeting.sources)
                for part, where in ((going, lanes), (staying, ~lanes)):
                    path = parked.path.part(np.flatnonzero(where), kept)
                    part.append(Waiting(path, parked.next, parked.meeting, number))
        self.parked = staying
        self._check_warps(going)
        self.batch.races.meet([parked.path for parked in going], number, done)
        for parked in going:
            if parked.meeting.target >= 0:
                self._give_votes(parked, expected)
        self.arrived[number, done] = 0
        self.votes[number, done] = 0
        return [(parked.next, parked.path) for parked in going]

    def _give_votes(self, parked: Waiting, expected: int) -> None:
        votes = self.votes[parked.number][parked.path.blocks]
        action = parked.meeting.action
        result = votes.astype(np.uint32) if action == "popc" else votes == expected if action == "and" else votes > 0
        parked.path.registers[parked.meeting.target] = result

    def _check_warps(self, going: Sequence[Waiting]) -> None:
        """Warps that meet at one instruction, or an error."""
        seen: dict[int, Waiting] = {}
        for parked in going if len(going) > 1 else ():
            if not parked.meeting.aligned:
                continue
            for warp in np.unique(parked.path.threads // WARP).tolist():
                other = seen.setdefault(warp, parked)
                if other.meeting.instruction is not parked.meeting.instruction:
                    first = int(parked.path.threads[0])
                    raise Divergent(
                        parked,
                        f"divergent barrier: threads of one warp wait in different barriers, at PTX lines "
                        f"{other.meeting.instruction.line} and {parked.meeting.instruction.line}, "
                        f"{self.batch.where(first)}",
                    )


class Divergent(Exception):
    """A barrier that threads of a warp reach on different ways."""

    def __init__(self, parked: Waiting, what: str):
        super().__init__(what)
        self.parked, self.what = parked, what
