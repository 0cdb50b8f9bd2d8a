"""Runs a batch of blocks: which path goes next, where paths part and meet, and waiting that never ends.

Of the paths that can run, the one furthest back in the program's order does, so that paths meet as early as they can.
A path that goes round a loop in which it looks at memory that others may change lets all others run first: who waits
for a flag or an mbarrier does not keep away who sets it ("Independent Thread Scheduling" promises as much).
"""

from __future__ import annotations

from collections import Counter
from typing import NoReturn

import numpy as np

from ...gpu.gpu_device import DeviceError
from ..memory.byte_memory import Fault
from ..ptx.syntax import Instruction
from .barriers import Barriers, Divergent
from .divergence import Path, bits_of, meet
from .program import BasicBlock, Ending, Program
from .resident_blocks import Batch
from .special_registers import WARP

__all__ = ["Scheduler"]

#: Rounds in which nothing changes but registers that threads may wait.
MOST_ROUNDS = 1 << 20


class Scheduler:
    """The paths of a batch, by the basic block where each stands."""

    def __init__(self, program: Program, batch: Batch, counts: Counter[int]):
        self.program, self.batch, self.counts = program, batch, counts
        self.barriers = Barriers(batch)
        threads = np.flatnonzero(batch.alive)
        self.waiting: dict[int, list[Path]] = {0: [Path(batch, threads, batch.blank())]}
        #: Paths that wait for other threads of their warps.
        self.gathering: dict[int, list[Path]] = {}
        #: Paths that look at memory again and again, until the others have had their turn.
        self.looking: dict[int, list[Path]] = {}
        self._state: tuple[object, ...] = ()
        self._rounds, self._seen = 0, b""

    def run(self) -> None:
        """Until every thread has ended.  DeviceError for what a thread does wrong."""
        blocks = self.program.blocks
        while True:
            while self.waiting:
                at = min(self.waiting)
                paths = self.waiting.pop(at) + self.gathering.pop(at, [])
                path: Path | None = meet(paths, blocks[at].live)
                while path is not None:
                    at, path = self.step(at, blocks[at], path)
            if not self.looking:
                break
            self.check_progress()
            self.waiting, self.looking = self.looking, {}
        if self.batch.running:
            self.stuck()

    def step(self, at: int, block: BasicBlock, path: Path) -> tuple[int, Path | None]:
        """Run a block; where its path goes on at once, if one does."""
        if block.gathers >= 0:
            gathered = self.gather(at, block, path)
            if gathered is None:
                return at, None
            path = gathered
        if path.left:
            for register in block.reads:
                if register in path.left:
                    path.take(register)
        registers, i = path.registers, 0
        try:
            for i, run in enumerate(block.code):  # noqa: B007
                run(registers, path)
        except Fault as fault:
            self.fail(block.instructions[i], path, fault)
        self.counts[at] += len(path)
        self.batch.clock += len(block.code)
        ending = block.ending
        assert ending is not None
        if ending.kind == "goto":
            return self.go(at, ending.next, path)
        if ending.kind == "branch":
            return self.branch(at, ending, path)
        if ending.kind == "barrier":
            return self.meet_at_barrier(at, ending, path)
        if ending.kind == "table":
            return self.jump(at, ending, path)
        self.batch.alive[path.threads] = False
        self.batch.running -= len(path)
        return at, None

    # Ways on

    def go(self, at: int, to: int, path: Path) -> tuple[int, Path | None]:
        """On, unless a path further back runs first, one waits there, or it is time to let others run."""
        if path.polled and to <= at:
            path.polled = False
            self.looking.setdefault(to, []).append(path)
            return to, None
        if to in self.gathering or (self.waiting and min(self.waiting) <= to):
            self.waiting.setdefault(to, []).append(path)
            return to, None
        return to, path

    def branch(self, at: int, ending: Ending, path: Path) -> tuple[int, Path | None]:
        taken = path.registers[ending.predicate]
        if ending.negated:
            taken = ~taken
        count = np.count_nonzero(taken)
        if count == len(taken):
            return self.go(at, ending.target, path)
        if count == 0:
            return self.go(at, ending.next, path)
        self.split(at, path, [(ending.target, taken), (ending.next, ~taken)])
        return at, None

    def jump(self, at: int, ending: Ending, path: Path) -> tuple[int, Path | None]:
        """Through a table; an index beyond it is an error, where the manual leaves it undefined."""
        index = path.registers[ending.index]
        if int(index.max()) >= len(ending.table):
            end = self.program.blocks[at].end
            assert end is not None
            fault = Fault(f"jump to entry {int(index.max())} of a table of {len(ending.table)}", int(index.argmax()))
            self.fail(end, path, fault)
        if len(index) == 1:
            return self.go(at, ending.table[int(index[0])], path)
        self.split(at, path, [(ending.table[i], index == i) for i in np.unique(index).tolist()])
        return at, None

    def split(self, at: int, path: Path, ways: list[tuple[int, np.ndarray]]) -> None:
        for to, lanes in ways:
            part = path.part(np.flatnonzero(lanes), self.program.blocks[to].live)
            part.polled = path.polled
            found, going = self.go(at, to, part)
            if going is not None:
                self.waiting.setdefault(found, []).append(going)

    # Meeting others

    def gather(self, at: int, block: BasicBlock, path: Path) -> Path | None:
        """The threads whose warps' members are all here; the others wait."""
        batch = self.batch
        if len(path) == batch.running:
            return path
        if block.gathers in path.left:
            path.take(block.gathers)
        masks = path.registers[block.gathers]
        warps, row = np.unique(path.threads // WARP, return_inverse=True)
        here = np.zeros((len(warps), WARP), bool)
        here[row, path.threads % WARP] = True
        present = np.packbits(here, axis=1, bitorder="little").view(np.uint32).reshape(-1)[row]
        existing = np.packbits(batch.exists[warps], axis=1, bitorder="little").view(np.uint32).reshape(-1)[row]
        lacking = masks.view(np.uint32) & existing & ~present
        ready = lacking == 0
        if ready.all():
            return path
        live = block.live
        self.gathering.setdefault(at, []).append(path.part(np.flatnonzero(~ready), live))
        return path.part(np.flatnonzero(ready), live) if ready.any() else None

    def meet_at_barrier(self, at: int, ending: Ending, path: Path) -> tuple[int, Path | None]:
        blocks = self.program.blocks
        end = blocks[at].end
        assert ending.meeting is not None and end is not None
        try:
            going = self.barriers.arrive(path, ending.meeting, ending.next, lambda to: blocks[to].live)
        except Fault as fault:
            self.fail(end, path, fault)
        except Divergent as found:
            raise self.error(found.parked.meeting.instruction, found.what) from None
        if len(going) == 1:
            return self.go(at, *going[0])
        for to, found in going:
            self.waiting.setdefault(to, []).append(found)
        return at, None

    # Errors

    def fail(self, instruction: Instruction, path: Path, fault: Fault) -> NoReturn:
        where = self.batch.where(int(path.threads[fault.lane]))
        raise self.error(instruction, f"{fault.what}; {where}, `{instruction.text}`") from None

    def error(self, instruction: Instruction, what: str) -> DeviceError:
        name = self.program.function.name
        return DeviceError(what, kernel=name, ptx_line=instruction.line, place=instruction.place)

    def check_progress(self) -> None:
        """Only threads that look at memory are left: an error when they see what they saw before."""
        batch = self.batch
        state = (batch.version, batch.running, int(self.barriers.arrived.sum()), *sorted(self.looking))
        if state != self._state:
            self._state, self._rounds, self._seen = state, 0, b""
            return
        self._rounds += 1
        if self._rounds < 3:
            return
        seen = b"".join(
            bits_of(values).tobytes()
            for at in sorted(self.looking)
            for path in self.looking[at]
            for register in self.program.blocks[at].live
            if (values := path.registers[register]) is not None
        )
        if seen == self._seen or self._rounds > MOST_ROUNDS:
            at = min(self.looking)
            self.never(self.looking[at][0], self.first_instruction(at), "waits in a loop")
        self._seen = seen

    def stuck(self) -> NoReturn:
        """No thread can go on."""
        for parked in self.barriers.parked:
            self.divergent_barrier(parked.path, parked.meeting.instruction, parked.number)
        at, paths = next(iter(self.gathering.items()))
        instruction = self.program.blocks[at].instructions[0]
        self.never(paths[0], instruction, "waits for threads of its warp that never come")

    def divergent_barrier(self, path: Path, instruction: Instruction, number: int) -> NoReturn:
        batch = self.batch
        block = int(path.blocks[0])
        here = np.concatenate([
            q.path.threads[q.path.blocks == block] for q in self.barriers.parked if q.number == number
        ])  # fmt: skip
        inside = np.arange(block * batch.slots, block * batch.slots + batch.launch.threads)
        missing = int(np.setdiff1d(inside, here)[0])
        what = "has ended" if not batch.alive[missing] else f"waits {self.place_of(missing)}"
        raise self.error(
            instruction,
            f"divergent barrier: {len(here)} of {batch.launch.threads} threads of block "
            f"{batch.block_at(block)} wait in `{instruction.text}`, and thread "
            f"{batch.thread_in_block(missing)} {what}",
        )

    def place_of(self, thread: int) -> str:
        for parked in self.barriers.parked:
            if thread in parked.path.threads:
                return f"in `{parked.meeting.instruction.text}` at PTX line {parked.meeting.instruction.line}"
        for at, paths in self.gathering.items():
            if any(thread in path.threads for path in paths):
                instruction = self.program.blocks[at].instructions[0]
                return f"for its warp in `{instruction.text}` at PTX line {instruction.line}"
        return "elsewhere"

    def never(self, path: Path, instruction: Instruction, what: str) -> NoReturn:
        where = self.batch.where(int(path.threads[0]))
        raise self.error(instruction, f"deadlock: no thread can go on; {where} {what}, `{instruction.text}`")

    def first_instruction(self, at: int) -> Instruction:
        block = self.program.blocks[at]
        found = block.instructions[0] if block.instructions else block.end
        assert found is not None
        return found
