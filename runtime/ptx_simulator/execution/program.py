"""A kernel that is ready to run: basic blocks of closures, in the order in which paths meet again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ...gpu.gpu_device import DeviceError
from ..instructions import (  # noqa: F401
    async_ops,
    compare_ops,
    float_ops,
    integer_ops,
    matrix_ops,
    mbarrier_ops,
    memory_ops,
    warp_ops,
    warpgroup_ops,
)
from ..instructions.decode import TABLE, Decoding, Pool, Run
from ..instructions.decode import instruction as entered
from ..memory.byte_memory import Fault
from ..ptx.syntax import Function, Instruction, Symbol
from ..ptx.types import TYPES, Array, unsigned
from .barriers import Meeting, decode_barrier
from .control_flow import live_registers, weak_topological_order
from .divergence import Path, bits_of

__all__ = ["ENDS", "BasicBlock", "Program", "make_program"]

#: Opcodes before which the threads of a warp gather (`bar` is `bar.warp.sync` here).
GATHERING = ("shfl", "vote", "match", "redux", "elect", "bar", "mma", "ldmatrix", "stmatrix", "wgmma")
#: Opcodes that end a basic block: the scheduler runs them, not closures.
ENDS = ("bra", "ret", "exit", "bar", "barrier", "brx")


@dataclass
class BasicBlock:
    """Straight-line code.  `end` is the instruction that says how it goes on, if one does."""

    instructions: list[Instruction]
    end: Instruction | None
    code: list[Run] = field(default_factory=list)
    ending: Ending | None = None
    reads: tuple[int, ...] = ()
    live: tuple[int, ...] = ()
    gathers: int = -1
    classes: Counter[str] = field(default_factory=Counter)


@dataclass
class Ending:
    """How a block ends.

    `kind` is goto (to `next`), branch (to `target` where the predicate holds, else to `next`), table (to an entry of
    `table`), barrier (on to `next`) or stop.
    """

    kind: str
    next: int = -1
    target: int = -1
    predicate: int = -1
    negated: bool = False
    table: tuple[int, ...] = ()
    index: int = -1
    meeting: Meeting | None = None

    @property
    def sources(self) -> tuple[int, ...]:
        """Registers that it reads."""
        found = (self.predicate, self.index, *(self.meeting.sources if self.meeting is not None else ()))
        return tuple(i for i in found if i >= 0)


@dataclass
class Program:
    """A kernel's code and what a launch of it needs."""

    function: Function
    blocks: list[BasicBlock]
    blank: list[Array | None]
    parameter_bytes: int
    shared_bytes: int
    local_bytes: int
    #: The smallest access of shared memory, in bytes: the unit in which races are looked for.
    shared_grain: int


@entered("bra", "brx", "ret", "exit", "call", forms="uni idx", section="Control Flow Instructions")
def _control(d: Decoding) -> Run:
    """Ends a block, or is put in by `inlining.py`: there is no closure to make."""
    d.fail("no straight-line instruction")


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
            block.ending = replace(
                ending,
                next=place.get(ending.next, -1),
                target=place.get(ending.target, -1),
                table=tuple(place[t] for t in ending.table),
            )
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
        return Program(
            self.function, blocks, blank, self.parameter_bytes, self.shared_bytes, self.local_bytes, self.grain()
        )

    def grain(self) -> int:
        """Of the accesses that may mean shared memory."""
        widths = [16]
        for instruction in self.function.body:
            spaces = {m.split("::")[0] for m in instruction.modifiers}
            if instruction.opcode in ("ld", "st", "atom", "red") and not spaces & {"global", "local", "param", "const"}:
                widths.append(TYPES[instruction.modifiers[-1]].bytes)
            elif instruction.opcode in ("cp", "mbarrier"):
                widths.append(4)
        return min(widths)

    def starts(self) -> list[int]:
        """Where blocks begin: at labels, behind what ends a block, and where the threads of a warp gather."""
        body, found = self.function.body, {0, *self.function.labels.values()}
        for i, instruction in enumerate(body):
            if _ends(instruction):
                found.add(i + 1)
            elif instruction.opcode in GATHERING:
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
            final = inside[-1] if inside and _ends(inside[-1]) else None
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
        d = Decoding(final, TABLE[final.opcode], self.pool, self.addresses)
        if final.opcode == "brx":
            targets = self.function.branch_targets.get(getattr(final.operands[1], "name", ""), [])
            table = tuple(self.label(final, Symbol(name), number) for name in targets)
            return Ending("table", table=table, index=d.source(final.operands[0], TYPES["u32"]))
        return Ending("barrier", at + 1, meeting=decode_barrier(d))

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
        read: set[int] = set()
        written: set[int] = set()
        for instruction in block.instructions:
            d = self.decoded(instruction, block)
            read |= d.reads - written
            if instruction.guard is None:
                written |= d.writes
            block.classes[TABLE[instruction.opcode].class_of(instruction)] += 1
            if d.gathers >= 0:
                block.gathers = d.gathers
        ending = block.ending
        assert ending is not None
        if block.end is not None:
            block.classes[TABLE[block.end.opcode].class_of(block.end)] += 1
        read |= set(ending.sources) - written
        if ending.meeting is not None and ending.meeting.target >= 0:
            written.add(ending.meeting.target)
        constants = len(self.pool.widths)
        return sum(1 << i for i in read if i < constants), sum(1 << i for i in written)

    def decoded(self, instruction: Instruction, block: BasicBlock) -> Decoding:
        row = TABLE.get(instruction.opcode)
        if row is None:
            raise DeviceError(
                f"instruction that is not known: {instruction.text}",
                kernel=self.function.name, ptx_line=instruction.line, place=instruction.place,
            )  # fmt: skip
        d = Decoding(instruction, row, self.pool, self.addresses)
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


def _ends(instruction: Instruction) -> bool:
    return instruction.opcode in ENDS and "warp" not in instruction.modifiers


def _branched_around(function: Function) -> None:
    """Guards of barriers and of what a warp gathers for become branches around them."""
    body: list[Instruction] = []
    moved: dict[int, int] = {}
    for i, instruction in enumerate(function.body):
        moved[i] = len(body)
        if instruction.guard is None or instruction.opcode not in (*GATHERING, "barrier"):
            body.append(instruction)
            continue
        label = f"past line {instruction.line}, {i}"
        negated = not instruction.guard_negated
        body.append(replace(instruction, opcode="bra", modifiers=(), operands=(Symbol(label),), guard_negated=negated))
        body.append(replace(instruction, guard=None, guard_negated=False))
        function.labels[label] = i + 1
    moved[len(function.body)] = len(body)
    function.labels = {name: moved[at] for name, at in function.labels.items()}
    function.body = body


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
    _branched_around(function)
    return _Maker(function, variables, shared).make()
