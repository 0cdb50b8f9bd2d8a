"""The text of one LLVM function: instructions, blocks and phis, with places that can still be written to later.

The text is a tree of lists: a scope keeps its own list (`prelude`) where index arithmetic that depends on nothing
deeper is written whenever it turns out to be needed, which is how invariant code is hoisted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from ....dialects.types import DType
from ..target.target import Target, object_name
from .debug_info import DebugInfo

__all__ = ["ONCE", "EmitError", "IrText", "Module", "lit", "llvm_type", "mangled", "quoted", "vector_type"]

#: The attribute group of functions that run once a call and have no loops; others have ``#0``.
ONCE = "#1"


class EmitError(ValueError):
    """A `loops` module that this emitter does not take, and why."""


class Module:
    """What the functions of one LLVM module share: declarations, private globals and the finished texts."""

    def __init__(self, target: Target, debug: DebugInfo | None = None, checked: bool = False, polled: bool = False):
        self.target, self.debug, self.checked, self.polled = target, debug, checked, polled
        self.declarations: dict[str, str] = {}
        self.globals: dict[str, str] = {}
        self.functions: list[str] = []
        self.names: set[str] = set()
        #: The functions of maps, by op, width and operands.
        self.maps: dict[tuple[str, int, tuple[str, ...]], str] = {}
        #: The names of texts on accesses, which functions that are `checked` have (`memory/bounds_check.py`).
        self.sites: dict[str, str] = {}

    def unique(self, name: str) -> str:
        """`name`, or `name` with a number where that is taken."""
        found, n = name, 0
        while found in self.names:
            n += 1
            found = f"{name}.{n}"
        self.names.add(found)
        return found

    def __str__(self) -> str:
        parts = [f'target triple = "{self.target.triple}"', *self.globals.values(), *self.functions]
        return "\n".join([*parts, *self.declarations.values()]) + f"\n{self.debug or ''}"


_TYPES = {
    "bool": "i1", "f16": "i16", "bf16": "i16", "f32": "float", "f64": "double",
    "c64": "<2 x float>", "c128": "<2 x double>",
}  # fmt: skip


@lru_cache(maxsize=64)
def llvm_type(dtype: DType) -> str:
    """The register type of a scalar: half-width floats are carried as their bits; complex ones only cross memory."""
    return _TYPES.get(dtype.name) or f"i{dtype.bits}"


def quoted(name: str) -> str:
    """A function's name as LLVM reads it, whatever characters it has."""
    name = object_name(name)
    if all(c.isalnum() or c in "_." for c in name) and not name[:1].isdigit():
        return f"@{name}"
    letters = (c if " " <= c < "\x7f" and c not in '"\\' else f"\\{ord(c):02X}" for c in name)
    return f'@"{"".join(letters)}"'


def vector_type(width: int, scalar: str) -> str:
    return f"<{width} x {scalar}>" if width > 1 else scalar


def lit(value: str, width: int, scalar: str) -> str:
    """A register as it is, a constant's text in every lane."""
    return value if width == 1 or value[0] in "%s<z" else f"splat ({scalar} {value})"


class IrText:
    """Appends instructions to the current place of a function."""

    def __init__(self, module: Module):
        self.module = module
        self.target = module.target
        #: What is computed once, when the function begins.
        self.entry: list[Any] = []
        self.root: list[Any] = [self.entry]
        self.out: list[Any] = self.root
        self.allocas: list[Any] = []
        self.block = "entry"
        #: Splats by element and width, and instructions that are written once, by their text, in the blocks that
        #: dominate the current place, innermost last.
        self.frames: list[dict[tuple[str, int] | str, str]] = [{}]
        #: Registers that hold less than their type has bits, because of a mask.
        self.below_width: set[str] = set()
        self._count = 0

    def fresh(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def ins(self, text: str, out: list[Any] | None = None) -> str:
        """Append ``%v = text`` and return ``%v``."""
        self._count += 1
        name = f"%v{self._count}"
        (self.out if out is None else out).append(f"  {name} = {text}")
        return name

    def once(self, text: str) -> str:
        """The result of an instruction that reads and changes nothing else: of the same one before it, if there is."""
        for frame in self.frames:
            if (found := frame.get(text)) is not None:
                return found
        made = self.frames[-1][text] = self.ins(text)
        return made

    def put(self, text: str) -> None:
        """Append an instruction without a result."""
        self.out.append("  " + text)

    def label(self, hint: str) -> str:
        self._count += 1
        return f"{hint}{self._count}"

    def start(self, label: str) -> None:
        """Begin a block; the previous one must have ended in a branch."""
        self.out.append(f"{label}:")
        self.block = label

    def branch(self, target: str) -> None:
        self.out.append(f"  br label %{target}")

    def branch_if(self, condition: str, then: str, otherwise: str) -> None:
        self.out.append(f"  br i1 {condition}, label %{then}, label %{otherwise}")

    def alloca(self, type_: str, count: int = 1, align: int = 64) -> str:
        """Stack memory of the function's frame, whatever loop this is written in."""
        return self.ins(f"alloca [{count} x {type_}], align {align}", self.allocas)

    def declare(self, name: str, result: str, arguments: Sequence[str]) -> None:
        if name not in self.module.declarations:
            self.module.declarations[name] = f"declare {result} @{name}({', '.join(arguments)})"

    def intrinsic(self, name: str, type_: str, result: str, arguments: Sequence[tuple[str, str]]) -> str:
        """Call ``llvm.name.<mangled type_>``; `arguments` are (type, value) pairs."""
        full = f"llvm.{name}.{mangled(type_)}"
        self.declare(full, result, [t for t, _ in arguments])
        given = ", ".join(f"{t} {v}" for t, v in arguments)
        return self.ins(f"call {result} @{full}({given})")

    # Instructions on registers of `width` elements, constants given as numbers

    def op(self, text: str, width: int, scalar: str, *operands: str) -> str:
        """``text <width x scalar> operands``."""
        if width == 1:
            return self.ins(f"{text} {scalar} {', '.join(operands)}")
        given = ", ".join([o if o[0] == "%" else lit(o, width, scalar) for o in operands])
        return self.ins(f"{text} <{width} x {scalar}> {given}")

    def to(self, text: str, width: int, value: str, from_: str, to: str) -> str:
        """A conversion instruction: ``text <W x from_> value to <W x to>``."""
        value = lit(value, width, from_)
        return self.ins(f"{text} {vector_type(width, from_)} {value} to {vector_type(width, to)}")

    def choose(self, width: int, condition: str, scalar: str, a: str, b: str) -> str:
        ty, a, b = vector_type(width, scalar), lit(a, width, scalar), lit(b, width, scalar)
        return self.ins(f"select {vector_type(width, 'i1')} {condition}, {ty} {a}, {ty} {b}")

    def call(self, name: str, width: int, scalar: str, *operands: str) -> str:
        """An intrinsic whose operands and result have one type."""
        ty = vector_type(width, scalar)
        return self.intrinsic(name, ty, ty, [(ty, lit(x, width, scalar)) for x in operands])

    def abs(self, value: str, width: int, scalar: str) -> str:
        ty = vector_type(width, scalar)
        return self.intrinsic("abs", ty, ty, [(ty, lit(value, width, scalar)), ("i1", "false")])

    def masked(self, name: str, ty: str, result: str, arguments: Sequence[tuple[str, str]]) -> str:
        """A masked memory intrinsic; returns its result's name where it has one."""
        pointers = f"v{ty[1:].partition(' ')[0]}p0" if name in ("gather", "scatter") else "p0"
        full = f"llvm.masked.{name}.{mangled(ty)}.{pointers}"
        self.declare(full, result, [t for t, _ in arguments])
        call = f"call {result} @{full}({', '.join(f'{t} {v}' for t, v in arguments)})"
        if result == "void":
            self.put(call)
            return ""
        return self.ins(call)

    def asm(self, code: str, letters: str, *given: str) -> None:
        """Assembly without a result, of which LLVM knows no more than that it touches memory."""
        self.put(f'call void asm sideeffect "{code}", "{letters},~{{memory}}"({", ".join(given)})')

    def shuffle(self, ty: str, a: str, b: str, numbers: Sequence[int]) -> str:
        """Lanes of two registers of a vector type, numbered through both."""
        width, _, scalar = ty[1:-1].partition(" x ")
        a, b = (x if x == "poison" else lit(x, int(width), scalar) for x in (a, b))
        order = "<" + ", ".join(f"i32 {k}" for k in numbers) + ">"
        return self.ins(f"shufflevector {ty} {a}, {ty} {b}, <{len(numbers)} x i32> {order}")

    def lines(self) -> str:
        flat: list[str] = []

        def visit(part: list[Any]) -> None:
            for item in part:
                if isinstance(item, str):
                    flat.append(item)
                else:
                    visit(item)

        visit(self.allocas)
        visit(self.root)
        return "\n".join(flat)

    def finish(self, name: str, result: str, parameters: str, attributes: str = "", group: str = "#0") -> None:
        """Hand the text to the module, as the function of that name."""
        debug = self.module.debug
        body, suffix = (self.lines(), "") if debug is None else debug.body(object_name(name), (self.allocas, self.root))
        text = f"define {result} {quoted(name)}({parameters}) {attributes}{group}{suffix} {{\nentry:\n{body}\n}}"
        self.module.functions.append(text)

    # Integer arithmetic on i64 strings, folding what is known.

    def add(self, a: str, b: str, out: list[Any] | None = None) -> str:
        if a == "0":
            return b
        if b == "0":
            return a
        folded = _constant_fold(a, b, lambda x, y: x + y)
        return folded if folded is not None else self.ins(f"add nsw i64 {a}, {b}", out)

    def whole(self, trip: str, step: int) -> str:
        """The largest multiple of `step` not above `trip` (which may be negative: then no more than it)."""
        if step & (step - 1) == 0:
            return self.ins(f"and i64 {trip}, {-step}")
        return self.sub(trip, self.ins(f"srem i64 {trip}, {step}"))

    def whole_end(self, start: str, end: str, step: int, extent: int | None = None) -> tuple[str, int | None]:
        """Where whole steps from `start` end, and how many they are, if the `extent` is known."""
        if extent is None:
            return self.add(start, self.whole(self.sub(end, start), step)), None
        return self.add(start, str(extent // step * step)), extent // step

    def sub(self, a: str, b: str, out: list[Any] | None = None) -> str:
        if b == "0":
            return a
        folded = _constant_fold(a, b, lambda x, y: x - y)
        return folded if folded is not None else self.ins(f"sub nsw i64 {a}, {b}", out)

    def mul(self, a: str, b: str, out: list[Any] | None = None) -> str:
        if a == "1":
            return b
        if b == "1":
            return a
        if a == "0" or b == "0":
            return "0"
        folded = _constant_fold(a, b, lambda x, y: x * y)
        return folded if folded is not None else self.ins(f"mul nsw i64 {a}, {b}", out)


def _constant_fold(a: str, b: str, compute: Callable[[int, int], int]) -> str | None:
    if a[0] == "%" or b[0] == "%":
        return None
    return str(compute(int(a), int(b)))


_MANGLED = {"float": "f32", "double": "f64", "half": "f16", "ptr": "p0"}


@lru_cache(maxsize=1024)
def mangled(type_: str) -> str:
    """The suffix of an overloaded intrinsic: ``<8 x float>`` is ``v8f32``; several types are joined with dots."""
    if "|" in type_:
        return ".".join(mangled(t) for t in type_.split("|"))
    if type_[0] == "<":
        width, _, element = type_[1:-1].partition(" x ")
        return f"v{width}{mangled(element)}"
    return _MANGLED.get(type_, type_)
