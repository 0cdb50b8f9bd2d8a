"""From instructions to closures: what a decoder gets to work with, and the table of all decoders.

A decoder is called once for each instruction of a kernel that is loaded, and gives back a function of a path's
registers and the path.  It has to take every modifier of the instruction; what is left over is an error, as is an
opcode that the table does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from ...gpu.gpu_device import DeviceError
from ..execution.divergence import Path
from ..ptx.syntax import Address, Immediate, Instruction, Negated, Operand, Register, Special, Symbol, Vector
from ..ptx.types import TYPES, Array, Type, unsigned

__all__ = ["TABLE", "Decoding", "Pool", "Row", "Run", "instruction"]

Run = Callable[[list[Array], Path], None]
Compute = Callable[..., Array]


@dataclass(frozen=True)
class Row:
    """An entry of the table: what an opcode can be, for `docs/reference/ptx-simulator.md`."""

    opcode: str
    types: str
    forms: str
    section: str
    decode: Callable[[Decoding], Run]

    def class_of(self, instruction: Instruction) -> str:
        """What it is counted as: its chapter of the manual, where arithmetic is told apart by its type."""
        last = TYPES.get(instruction.modifiers[-1]) if instruction.modifiers else None
        if last is not None and (last.is_float or last.kind.startswith(("fx", "bfx"))) and "Arithmetic" in self.section:
            return "Floating Point"
        return self.section.split(":")[0].removesuffix(" Instructions")


#: By opcode.
TABLE: dict[str, Row] = {}


def instruction(*opcodes: str, types: str = "", forms: str = "", section: str) -> Callable[[Any], Any]:
    """Enter a decoder: the types it knows, its other modifiers, and the section of the PTX ISA that it follows."""

    def enter(decode: Callable[[Decoding], Run]) -> Callable[[Decoding], Run]:
        for opcode in opcodes:
            TABLE[opcode] = Row(opcode, types, forms, section, decode)
        return decode

    return enter


@dataclass
class Pool:
    """Registers of a function and, behind them, its constants: operands are all read in one way."""

    widths: list[int]
    constants: list[Array] = field(default_factory=list)
    _known: dict[tuple[int, int], int] = field(default_factory=dict)

    def constant(self, bits: int, width: int) -> int:
        """Where the constant lies."""
        found = self._known.get((bits, width))
        if found is None:
            found = self._known[bits, width] = len(self.widths) + len(self.constants)
            self.constants.append(np.array([bits], unsigned(width)))
        return found


@dataclass
class Decoding:
    """One instruction while it is decoded: `row` is its opcode's, `addresses` where the variables lie."""

    instruction: Instruction
    row: Row
    pool: Pool
    addresses: dict[str, tuple[str, int]]
    reads: set[int] = field(default_factory=set)
    writes: set[int] = field(default_factory=set)
    #: Where the mask of the threads of a warp is read that have to come here together; -1: nobody is waited for.
    gathers: int = -1

    def __post_init__(self) -> None:
        self.modifiers = list(self.instruction.modifiers)
        self.operands = self.instruction.operands

    # Modifiers

    def fail(self, what: str) -> NoReturn:
        raise DeviceError(
            f"{what}: {self.instruction.text}", ptx_line=self.instruction.line, place=self.instruction.place
        )

    def type(self, allowed: str = "") -> Type:
        """The last modifier, which must be a type: of those in the table, or of `allowed`."""
        if not self.modifiers or self.modifiers[-1] not in TYPES:
            self.fail("an instruction without a type that is known")
        name = self.modifiers.pop()
        if name not in (allowed or self.row.types).split():
            self.fail(f"type .{name} is not known here")
        return TYPES[name]

    def flag(self, name: str) -> bool:
        """Whether the instruction has this modifier; takes it."""
        if name not in self.modifiers:
            return False
        self.modifiers.remove(name)
        return True

    def choice(self, *names: str, default: str | None = None) -> str:
        """The one of these modifiers that the instruction has; takes it."""
        found = [m for m in self.modifiers if m in names]
        if not found and default is not None:
            return default
        if len(found) != 1:
            self.fail(f"one of {' '.join('.' + n for n in names)} is needed")
        self.modifiers.remove(found[0])
        return found[0]

    def drop(self, *prefixes: str) -> None:
        """Take the modifiers that begin so and change nothing here: hints."""
        self.modifiers = [m for m in self.modifiers if not m.startswith(prefixes)]

    def done(self) -> None:
        """Nothing may be left over."""
        if self.modifiers:
            self.fail(f"modifier .{self.modifiers[0]} is not known here")

    # Operands

    def count(self, least: int, most: int | None = None) -> int:
        if not least <= len(self.operands) <= (most or least):
            self.fail(f"{least} operands are needed")
        return len(self.operands)

    def register(self, operand: Operand) -> Register:
        if not isinstance(operand, Register):
            self.fail("a register is needed")
        return operand

    def target(self, operand: Operand) -> Register | None:
        """A destination; None for the sink ``_``."""
        if isinstance(operand, Symbol) and operand.name == "_":
            return None
        found = self.register(operand)
        self.writes.add(found.number)
        return found

    def source(self, operand: Operand, type_: Type) -> int:
        """Where a value of the type is read: a register of its width, or one made for a literal."""
        if isinstance(operand, Register):
            if operand.bits != type_.bits and not (type_.bits == 8 and operand.bits in (16, 32)):
                self.fail(f"a register of {operand.bits} bits where .{type_.name} is needed")
            self.reads.add(operand.number)
            return operand.number
        return self.pool.constant(self.literal(operand, type_), type_.bits)

    def literal(self, operand: Operand, type_: Type) -> int:
        """The bits of a literal as a value of the type."""
        if not isinstance(operand, Immediate):
            self.fail(f"{_shown(operand)} is no operand that is known here")
        if operand.float_bits == type_.bits or not operand.float_bits:
            if type_.is_float and not operand.float_bits and type_.bits > 16:
                self.fail("a float literal is needed")
            return operand.value & ((1 << type_.bits) - 1)
        self.fail(f"a literal of {operand.float_bits} bits where .{type_.name} is needed")

    def integer(self, operand: Operand) -> int:
        """A literal that has to be known when the kernel is loaded."""
        if not isinstance(operand, Immediate) or operand.float_bits:
            self.fail(f"{_shown(operand)} has to be an integer literal")
        return operand.value

    def predicate(self, operand: Operand) -> tuple[int, bool]:
        """A predicate register, and whether it is negated."""
        negated = isinstance(operand, Negated)
        found = operand.operand if isinstance(operand, Negated) else operand
        register = self.register(found)
        if register.bits != 1:
            self.fail("a predicate register is needed")
        self.reads.add(register.number)
        return register.number, negated

    def items(self, operand: Operand) -> tuple[Operand, ...]:
        """The parts of ``{a, b}``, or the operand alone."""
        return operand.items if isinstance(operand, Vector) else (operand,)

    def address(self, operand: Operand) -> tuple[int, int, str]:
        """``[base + offset]``: where the base is read, the offset, and the space of a variable that it names."""
        if not isinstance(operand, Address):
            self.fail("an address in brackets is needed")
        base = operand.base
        if isinstance(base, Register):
            self.reads.add(base.number)
            return base.number, operand.offset, ""
        if isinstance(base, Symbol):
            space, start = self.variable(base)
            return self.pool.constant(start, 64), operand.offset, space
        if isinstance(base, Immediate):
            return self.pool.constant(base.value, 64), operand.offset, ""
        self.fail(f"{_shown(operand)} is no address that is known here")

    def variable(self, symbol: Symbol) -> tuple[str, int]:
        """The space and the address of a variable."""
        if symbol.name not in self.addresses:
            self.fail(f"{symbol.name} is not declared")
        space, start = self.addresses[symbol.name]
        return space, start + symbol.offset

    # Closures

    def compute(self, function: Compute, result: Type, sources: Sequence[Type], first: int = 1) -> Run:
        """``operands[0] = function(*operands[first:])``, of arrays of the source types to one of the result's."""
        target = self.target(self.operands[0])
        pairs = list(zip(self.operands[first:], sources, strict=True))
        at = [self.source(operand, type_) for operand, type_ in pairs]
        if any(isinstance(o, Register) and o.bits != t.bits for o, t in pairs):
            function = _narrowing(function, sources)
            dtypes = [unsigned(o.bits) if isinstance(o, Register) else t.dtype for o, t in pairs]
        else:
            dtypes = [t.dtype for t in sources]
        return self.into(target, result, function, at, dtypes)

    def into(
        self,
        target: Register | None,
        result: Type,
        function: Compute,
        at: Sequence[int],
        dtypes: Sequence[np.dtype[Any]],
    ) -> Run:
        """``target = function(registers at)``; a result narrower than the target is extended by its type."""
        if target is None:
            return lambda r, p: None
        if target.bits != result.bits:
            if target.bits < result.bits:
                self.fail(f"a register of {target.bits} bits for a result of type .{result.name}")
            function = _widening(function, result, target.bits)
        return _CLOSURES[len(at)](function, target.number, *(x for pair in zip(at, dtypes, strict=True) for x in pair))


def _shown(operand: Operand) -> str:
    return operand.name if isinstance(operand, Symbol | Special) else f"a {type(operand).__name__.lower()}"


def _narrowing(function: Compute, sources: Sequence[Type]) -> Compute:
    def compute(*values: Array) -> Array:
        return function(*(v if v.itemsize == t.dtype.itemsize else v.astype(t.dtype) for v, t in zip(values, sources)))

    return compute


def _widening(function: Compute, result: Type, bits: int) -> Compute:
    wide = np.dtype(f"i{bits // 8}") if result.is_signed else unsigned(bits)

    def compute(*values: Array) -> Array:
        found = function(*values)
        return (found if found.dtype == result.dtype else found.view(result.dtype)).astype(wide)

    return compute


def _closure1(function: Compute, d: int, a: int, A: np.dtype[Any]) -> Run:
    def run(r: list[Array], p: Path) -> None:
        x = r[a]
        r[d] = function(x if x.dtype is A else x.view(A))

    return run


def _closure2(function: Compute, d: int, a: int, A: np.dtype[Any], b: int, B: np.dtype[Any]) -> Run:
    def run(r: list[Array], p: Path) -> None:
        x, y = r[a], r[b]
        r[d] = function(x if x.dtype is A else x.view(A), y if y.dtype is B else y.view(B))

    return run


def _closure3(
    function: Compute, d: int, a: int, A: np.dtype[Any], b: int, B: np.dtype[Any], c: int, C: np.dtype[Any]
) -> Run:
    def run(r: list[Array], p: Path) -> None:
        x, y, z = r[a], r[b], r[c]
        r[d] = function(
            x if x.dtype is A else x.view(A), y if y.dtype is B else y.view(B), z if z.dtype is C else z.view(C)
        )

    return run


def _closure4(function: Compute, d: int, *at: Any) -> Run:
    pairs = list(zip(at[::2], at[1::2], strict=True))

    def run(r: list[Array], p: Path) -> None:
        r[d] = function(*(r[i].view(t) for i, t in pairs))

    return run


_CLOSURES: dict[int, Callable[..., Run]] = {1: _closure1, 2: _closure2, 3: _closure3, 4: _closure4}
