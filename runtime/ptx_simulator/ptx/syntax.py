"""PTX text as objects: kernels, their registers, variables and instructions, with their lines.

The grammar is that part of "PTX ISA, Directives" and "Syntax" which compilers emit: one register file a function,
nested scopes only around calls and inline PTX.  What an instruction means is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = [
    "Address", "Function", "Immediate", "Instruction", "Module", "Negated", "Operand", "Pair", "Register", "Special",
    "Symbol", "Variable", "Vector",
]  # fmt: skip


@dataclass(frozen=True)
class Register:
    """A register by its number in the function, and its width in bits (1 is a predicate)."""

    number: int
    bits: int


@dataclass(frozen=True)
class Immediate:
    """A literal: an integer as written, or the bits of a float (`float_bits` is 32 or 64 then)."""

    value: int
    float_bits: int = 0


@dataclass(frozen=True)
class Special:
    """A register that the machine defines, such as ``%tid.x``."""

    name: str


@dataclass(frozen=True)
class Symbol:
    """A variable, function or label."""

    name: str
    offset: int = 0


@dataclass(frozen=True)
class Negated:
    """``!%p``."""

    operand: Register


@dataclass(frozen=True)
class Vector:
    """``{a, b}``, or the parenthesised lists of a call."""

    items: tuple[Operand, ...]


@dataclass(frozen=True)
class Pair:
    """``a|b``: two destinations."""

    first: Operand
    second: Operand


@dataclass(frozen=True)
class Address:
    """``[base + offset]``; `rest` are the coordinates of a tensor copy."""

    base: Operand
    offset: int = 0
    rest: tuple[Operand, ...] = ()


Operand = Register | Immediate | Special | Symbol | Negated | Vector | Pair | Address


@dataclass(frozen=True, eq=False)
class Instruction:
    """One statement: ``@guard opcode.modifiers operands;``.

    `place` is the user's ``file:line``, `tokens` the statement as it was read.
    """

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    line: int
    place: str
    tokens: tuple[str, ...]
    guard: Register | None = None
    guard_negated: bool = False

    @property
    def text(self) -> str:
        """The statement as PTX."""
        spaced = " ".join(self.tokens).replace(" ,", ",")
        return re.sub(r"(?<=[\[({@!|]) | (?=[\])}|])", "", spaced)

    def moved(self, operands: tuple[Operand, ...], guard: Register | None) -> Instruction:
        """The same with other registers and names."""
        return Instruction(
            self.opcode, self.modifiers, operands, self.line, self.place, self.tokens, guard, self.guard_negated
        )


@dataclass(frozen=True)
class Variable:
    """A variable in a state space: ``.shared .align 16 .b8 tile[4096]``; `size` in bytes, 0 where it is open."""

    name: str
    space: str
    size: int
    align: int
    data: bytes | None = None
    extern: bool = False


@dataclass
class Function:
    """A kernel (``.entry``) or a device function (``.func``)."""

    name: str
    line: int
    is_kernel: bool
    parameters: list[Variable] = field(default_factory=list)
    results: list[Variable] = field(default_factory=list)
    variables: dict[str, Variable] = field(default_factory=dict)
    registers: list[int] = field(default_factory=list)
    body: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    branch_targets: dict[str, list[str]] = field(default_factory=dict)
    required_threads: tuple[int, int, int] | None = None
    most_threads: tuple[int, int, int] | None = None

    def statements(self) -> Iterator[tuple[int, Instruction]]:
        return enumerate(self.body)


@dataclass
class Module:
    """A PTX text: its functions, and the variables outside of them."""

    version: str = ""
    target: str = ""
    functions: dict[str, Function] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
