"""Runs a batch of blocks: which path goes next, where paths part and meet, barriers, and waiting that never ends."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ..gpu_device import DeviceError
from .batch import Batch
from .memory import Fault
from .paths import Path, meet
from .program import BasicBlock, Ending, Program
from .syntax import Instruction
from .types import Array

__all__ = ["Scheduler"]


class Scheduler:
    """The paths of a batch.  The one furthest back in the program's order runs, until it parts, waits or ends."""

    def __init__(self, program: Program, batch: Batch, counts: Counter[str]):
        self.program, self.batch, self.counts = program, batch, counts
        threads = np.flatnonzero(batch.alive)
        self.waiting: dict[int, list[Path]] = {0: [Path(batch, threads, batch.blank())]}

    def run(self) -> None:
        """Until every thread has ended.  DeviceError for what a thread does wrong."""
        blocks, waiting = self.program.blocks, self.waiting
        while waiting:
            at = min(waiting)
            block = blocks[at]
            path = meet(waiting.pop(at), block.live)
            while path is not None:
                at, path = self.step(at, blocks[at], path)

    def step(self, at: int, block: BasicBlock, path: Path) -> tuple[int, Path | None]:
        """Run a block; the path that goes on at once and where, or None."""
        if path.left:
            for register in block.reads:
                if register in path.left:
                    path.take(register)
        registers = path.registers
        i = 0
        try:
            for i, run in enumerate(block.code):  # noqa: B007
                run(registers, path)
        except Fault as fault:
            raise self.error(block.instructions[i], path, fault) from None
        self.counts[str(at)] += len(path)
        self.batch.clock += len(block.code)
        ending = block.ending
        assert ending is not None
        if ending.kind == "goto":
            return self.go(at, ending.next, path)
        if ending.kind == "branch":
            return self.branch(at, ending, path)
        self.batch.alive[path.threads] = False
        self.batch.running -= len(path)
        return at, None

    def go(self, at: int, to: int, path: Path) -> tuple[int, Path | None]:
        """On, unless a path further back runs first or one waits there."""
        waiting = self.waiting
        if waiting and min(waiting) <= to:
            waiting.setdefault(to, []).append(path)
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
        for to, lanes in ((ending.target, taken), (ending.next, ~taken)):
            part = path.part(np.flatnonzero(lanes), self.program.blocks[to].live)
            part.polled = path.polled
            self.waiting.setdefault(to, []).append(part)
        return at, None

    def error(self, instruction: Instruction, path: Path, fault: Fault) -> DeviceError:
        thread = int(path.threads[fault.lane])
        return DeviceError(
            f"{fault.what}, by {self.batch.where(thread)}, in `{instruction.text}`",
            kernel=self.program.function.name, ptx_line=instruction.line, place=instruction.place,
        )  # fmt: skip


def lanes_of(values: Array, n: int) -> Array:
    return values if len(values) == n else np.broadcast_to(values, (n,))
