"""A kernel that is ready to run: basic blocks of closures, in the order in which paths meet again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..gpu_device import DeviceError
from . import compare_ops, float_ops, integer_ops, memory_ops  # noqa: F401  # each enters its decoders into the table
from .control_flow import live_registers, weak_topological_order
from .decode import TABLE, Decoding, Pool, Run
from .memory import Fault
from .paths import Path, bits_of
from .syntax import Function, Instruction, Symbol
from .types import Array, unsigned

__all__ = ["ENDS", "BasicBlock", "Program", "make_program"]

#: Opcodes that end a basic block: `program.py` and `scheduler.py` run them, not closures.
ENDS = ("bra", "ret", "exit", "trap", "bar", "barrier", "brx")


@dataclass
class BasicBlock:
    """Straight-line code.  `end` is the instruction that says how it goes on, if one does."""

    instructions: list[Instruction]
    end: Instruction | None
    code: list[Run] = field(default_factory=list)
    ending: Ending | None = None
    reads: tuple[int, ...] = ()
    live: tuple[int, ...] = ()
    classes: Counter[str] = field(default_factory=Counter)


@dataclass
class Ending:
    """How a block ends.  `kind`: goto, branch (to `target` where the predicate holds, else to `next`), stop."""

    kind: str
    next: int = -1
    target: int = -1
    predicate: int = -1
    negated: bool = False
    table: tuple[int, ...] = ()
    sources: tuple[int, ...] = ()


@dataclass
class Program:
    """A kernel's code and what a launch of it needs."""

    function: Function
    blocks: list[BasicBlock]
    blank: list[Array | None]
    parameter_bytes: int
    shared_bytes: int
    local_bytes: int


class _Maker:
    def __init__(self, function: Function, variables: Mapping[str, tuple[str, int]], shared: int):
        self.function = function
        self.pool = Pool(function.registers)
        self.addresses = dict(variables)
        self.parameter_bytes = self.lay_out("param", function.parameters, 0)
        inner = list(function.variables.values())
        self.shared_bytes = self.lay_out("shared", [v for v in inner if v.space == "shared"], shared)
        self.local_bytes = self.lay_out("local", [v for v in inner if v.space == "local"], 0)

    def lay_out(self, space: str, variables: list, start: int) -> int:
        """Give variables their addresses, one after the other; where the last one ends."""
        for variable in variables:
            start = -(-start // variable.align) * variable.align
            self.addresses[variable.name] = space, start
            start += variable.size
        return start

    def make(self) -> Program:
        starts = self.starts()
        raw = self.raw_blocks(starts)
        successors = [self.successors(ending) for _, ending in raw]
        order = weak_topological_order(successors)
        place = {old: new for new, old in enumerate(order)}
        blocks = [raw[old][0] for old in order]
        reads, writes = [], []
        for block, old in zip(blocks, order, strict=True):
            ending = raw[old][1]
            block.ending = Ending(
                ending.kind, place.get(ending.next, -1), place.get(ending.target, -1), ending.predicate, ending.negated,
                tuple(place[t] for t in ending.table), ending.sources,
            )  # fmt: skip
            read, written = self.decode(block)
            reads.append(read)
            writes.append(written)
        ordered = [[place[s] for s in successors[old]] for old in order]
        for block, read, live in zip(blocks, reads, live_registers(ordered, reads, writes), strict=True):
            block.reads, block.live = _members(read), _members(live)
        blank: list[Array | None] = [None] * len(self.pool.widths) + list(self.pool.constants)
        for register in blocks[0].live:
            # Nothing wrote it on some path: undefined in PTX, zero here.
            blank[register] = np.zeros(1, unsigned(self.pool.widths[register]))
        return Program(self.function, blocks, blank, self.parameter_bytes, self.shared_bytes, self.local_bytes)

    def starts(self) -> list[int]:
        """Where blocks begin: at labels, behind what ends a block, and at a guarded barrier."""
        body, found = self.function.body, {0, *self.function.labels.values()}
        for i, instruction in enumerate(body):
            if instruction.opcode in ENDS:
                found.add(i + 1)
                if instruction.opcode in ("bar", "barrier") and instruction.guard is not None:
                    found.add(i)
        found.add(len(body))
        return sorted(found)

    def raw_blocks(self, starts: list[int]) -> list[tuple[BasicBlock, Ending]]:
        """Blocks in the order of the text; block numbers count in it, the last one is the kernel's end."""
        number = {start: i for i, start in enumerate(starts)}
        last = len(starts) - 1
        body = self.function.body
        found = []
        for i, (start, end) in enumerate(zip(starts, [*starts[1:], len(body)], strict=True)):
            inside = body[start:end]
            if i == last:
                found.append((BasicBlock([], None), Ending("stop")))
                continue
            final = inside[-1] if inside and inside[-1].opcode in ENDS else None
            straight = inside[:-1] if final is not None else inside
            found.append((BasicBlock(straight, final), self.ending(final, i, last, number)))
        return found

    def ending(self, final: Instruction | None, at: int, last: int, number: Mapping[int, int]) -> Ending:
        if final is None:
            return Ending("goto", at + 1)
        guard = final.guard.number if final.guard is not None else -1
        if final.opcode == "bra":
            target = self.label(final, final.operands[0], number)
            if guard < 0:
                return Ending("goto", target)
            return Ending("branch", at + 1, target, guard, final.guard_negated)
        if final.opcode in ("ret", "exit"):
            return Ending("goto", last) if guard < 0 else Ending("branch", at + 1, last, guard, final.guard_negated)
        raise DeviceError(f"not known: {final.text}", ptx_line=final.line, place=final.place)

    def label(self, instruction: Instruction, operand: object, number: Mapping[int, int]) -> int:
        labels = self.function.labels
        if not isinstance(operand, Symbol) or operand.name not in labels:
            raise DeviceError(f"no such label: {instruction.text}", ptx_line=instruction.line)
        return number[labels[operand.name]]

    @staticmethod
    def successors(ending: Ending) -> list[int]:
        return [s for s in (ending.next, ending.target, *ending.table) if s >= 0]

    def decode(self, block: BasicBlock) -> tuple[int, int]:
        """Fill in the closures; the registers read before they are written, and those that are written, as bit sets."""
        read = written = 0
        for instruction in block.instructions:
            d = self.decoded(instruction, block)
            uses = sum(1 << i for i in d.reads if i < len(self.pool.widths))
            read |= uses & ~written
            if instruction.guard is None:
                written |= sum(1 << i for i in d.writes)
            block.classes[instruction.opcode] += 1
        ending = block.ending
        assert ending is not None
        for source in (ending.predicate, *ending.sources):
            if source >= 0:
                read |= (1 << source) & ~written
        return read, written

    def decoded(self, instruction: Instruction, block: BasicBlock) -> Decoding:
        row = TABLE.get(instruction.opcode)
        d = Decoding(instruction, self.pool, self.addresses)
        if row is None:
            d.fail("instruction that is not known")
        try:
            run = row.decode(d)
        except DeviceError as error:
            raise DeviceError(
                error.what, kernel=self.function.name, ptx_line=instruction.line, place=instruction.place
            ) from None
        except (ValueError, IndexError, KeyError):
            d.fail("operands that are not known")
        if instruction.guard is not None:
            run = _guarded(run, instruction.guard.number, instruction.guard_negated, tuple(d.reads), tuple(d.writes))
            d.reads |= {instruction.guard.number, *d.writes}
        block.code.append(run)
        return d


def _members(bits: int) -> tuple[int, ...]:
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return tuple(found)


def _guarded(run: Run, guard: int, negated: bool, reads: tuple[int, ...], writes: tuple[int, ...]) -> Run:
    """The instruction where its guard holds; elsewhere its targets keep what they hold."""

    def guarded(r: list[Array], p: Path) -> None:
        holds = ~r[guard] if negated else r[guard]
        count = np.count_nonzero(holds)
        if count == len(holds):
            run(r, p)
            return
        if count == 0:
            return
        places = np.flatnonzero(holds)
        part = p.part(places, reads)
        for register in tuple(part.left):
            part.take(register)
        try:
            run(part.registers, part)
        except Fault as fault:
            raise Fault(fault.what, int(places[fault.lane])) from None
        p.polled |= part.polled
        for register in writes:
            values = np.array(np.broadcast_to(bits_of(r[register]), (len(p),)))
            values[places] = bits_of(part.registers[register])
            r[register] = values

    return guarded


def make_program(function: Function, variables: Mapping[str, tuple[str, int]], shared: int) -> Program:
    """The program of a kernel.  `variables` are those of the module, `shared` the bytes of them in shared memory."""
    return _Maker(function, variables, shared).make()
