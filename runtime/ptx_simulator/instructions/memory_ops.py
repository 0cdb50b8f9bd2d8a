"""Loads, stores and atomics ("Data Movement and Conversion Instructions", "Parallel Synchronization: atom, red")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..execution.divergence import Path, bits_of
from ..memory.byte_memory import Fault
from ..ptx.syntax import Address, Register, Symbol
from ..ptx.types import Array, Type, unsigned
from . import floating
from .decode import Decoding, Run, instruction
from .float_ops import packed

_MOVES = "Data Movement and Conversion Instructions"
_TYPES = "b8 b16 b32 b64 u8 u16 u32 u64 s8 s16 s32 s64 f16 bf16 f16x2 bf16x2 f32 f64"
_SPACES = ("global", "shared", "local", "const", "param")
_CACHE = ("ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc")
_STRONG = ("volatile", "relaxed", "acquire", "release", "acq_rel", "mmio")
_FORMS = "global shared local const param v2 v4 volatile relaxed acquire release ca cg cs wb nc L1:: L2::"


def taken_space(d: Decoding) -> str:
    """The space that the modifiers name; "" is generic."""
    d.modifiers = ["shared" if m.startswith("shared::") else m for m in d.modifiers]
    d.modifiers = ["param" if m.startswith("param::") else m for m in d.modifiers]
    return d.choice(*_SPACES, default="")


def drop_hints(d: Decoding) -> bool:
    """Take what does not change what an access means here; whether it is one that other threads may wait for."""
    strong = any(d.flag(m) for m in _STRONG)
    for name in ("weak", "cta", "cluster", "gpu", "sys", "L1", "L2", *_CACHE):
        d.flag(name)
    d.drop("L1::", "L2::", "level::")
    return strong


def effective(r: list[Array], base: int, offset: int) -> Array:
    """Addresses as 64 bits."""
    found = bits_of(r[base])
    if found.dtype.itemsize != 8:
        found = found.astype(np.uint64)
    return found + np.uint64(offset & 0xFFFFFFFFFFFFFFFF) if offset else found


@instruction("ld", "ldu", types=_TYPES, forms=_FORMS, section=f"{_MOVES}: ld")
def load(d: Decoding) -> Run:
    """A register wider than the type is extended by it.  All threads at one address read it once."""
    type_ = d.type()
    space = taken_space(d)
    count = int(d.choice("v2", "v4", "v8", default="v1")[1:])
    strong = drop_hints(d)
    d.done()
    targets = [d.target(o) for o in d.items(d.operands[0])]
    if len(targets) != count:
        d.fail(f"{count} destinations are needed")
    extend = [_extension(type_, t.bits) if t is not None and t.bits != type_.bits else None for t in targets]
    numbers = [t.number if t is not None else None for t in targets]
    if space == "param":
        return _load_parameter(d, type_, numbers, extend)
    base, offset, named = d.address(d.operands[1])
    space = space or named
    width = type_.bytes

    def run(r: list[Array], p: Path) -> None:
        if strong:
            p.polled = True
        values = p.batch.load(p, space, effective(r, base, offset), width, count)
        for number, value, wider in zip(numbers, values, extend, strict=True):
            if number is not None:
                r[number] = wider(value) if wider is not None else value

    return run


def _extension(type_: Type, bits: int) -> Callable[[Array], Array]:
    wide = np.dtype(f"i{bits // 8}") if type_.is_signed else unsigned(bits)
    return lambda value: value.view(type_.dtype).astype(wide)


def _load_parameter(d: Decoding, type_: Type, numbers: list[int | None], extend: list[Any]) -> Run:
    """A kernel's parameters are the same in all threads."""
    operand = d.operands[1]
    if not isinstance(operand, Address) or not isinstance(operand.base, Symbol):
        d.fail("a parameter's name is needed")
    _, start = d.variable(operand.base)
    at = start + operand.offset

    def run(r: list[Array], p: Path) -> None:
        for k, (number, wider) in enumerate(zip(numbers, extend, strict=True)):
            value = p.batch.parameter(at + k * type_.bytes, type_)
            if number is not None:
                r[number] = wider(value) if wider is not None else value

    return run


@instruction("st", types=_TYPES, forms=_FORMS, section=f"{_MOVES}: st")
def store(d: Decoding) -> Run:
    """Of several threads that store to one place the last one's value stays."""
    type_ = d.type()
    space = taken_space(d)
    count = int(d.choice("v2", "v4", "v8", default="v1")[1:])
    drop_hints(d)
    d.done()
    if space in ("param", "const"):
        d.fail(f"a kernel does not store to .{space}")
    base, offset, named = d.address(d.operands[0])
    space = space or named
    sources = d.items(d.operands[1])
    if len(sources) != count:
        d.fail(f"{count} values are needed")
    at = [stored(d, o, type_) for o in sources]
    dtype = unsigned(type_.bits)

    def run(r: list[Array], p: Path) -> None:
        values = [
            v.view(dtype) if v.itemsize == dtype.itemsize else bits_of(v).astype(dtype) for v in (r[i] for i in at)
        ]
        p.batch.store(p, space, effective(r, base, offset), values)

    return run


def stored(d: Decoding, operand: Any, type_: Type) -> int:
    """Where a stored value is read: registers may be wider than the type."""
    if isinstance(operand, Register) and operand.bits > type_.bits:
        d.reads.add(operand.number)
        return operand.number
    return d.source(operand, type_)


@instruction(
    "prefetch", "prefetchu", "applypriority", "discard", forms="global local L1 L2 tensormap",
    section=f"{_MOVES}: prefetch",
)  # fmt: skip
def prefetch(d: Decoding) -> Run:
    """Nothing that a program could see."""
    return lambda r, p: None


@instruction(
    "membar", "fence", forms="cta gl sys gpu cluster sc acq_rel proxy", section="Parallel Synchronization: membar"
)
def fence(d: Decoding) -> Run:
    """Accesses take effect in the order in which they are executed; nothing is left to do."""
    return lambda r, p: None


# Atomics

_OPERATIONS: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "exch": lambda old, new: new,
    "inc": lambda old, most: np.where(old >= most, 0, old + 1).astype(old.dtype),
    "dec": lambda old, most: np.where((old == 0) | (old > most), most, old - 1).astype(old.dtype),
}  # fmt: skip
_ATOMIC = "b32 b64 u32 u64 s32 s64 f16 bf16 f16x2 bf16x2 f32 f64"


@instruction(
    "atom",
    "red",
    types=_ATOMIC,
    forms=f"global shared {' '.join(_OPERATIONS)} cas",
    section="Parallel Synchronization: atom",
)
def atomic(d: Decoding) -> Run:
    """Threads take their turns in their order, so that the same launch always gives the same bits."""
    type_ = d.type()
    returns = d.instruction.opcode == "atom"
    space = taken_space(d)
    name = d.choice(*_OPERATIONS, "cas")
    drop_hints(d)
    d.flag("noftz")
    d.done()
    target = d.target(d.operands[0]) if returns else None
    operands = d.operands[1:] if returns else d.operands
    base, offset, named = d.address(operands[0])
    space = space or named
    at = [d.source(o, type_) for o in operands[1:]]
    apply = _swap if name == "cas" else _applied(name, type_)

    def run(r: list[Array], p: Path) -> None:
        p.polled = True
        n = len(p)
        addresses = np.broadcast_to(effective(r, base, offset), n)
        values = [np.broadcast_to(bits_of(r[i]), n) for i in at]
        before = p.batch.atomic(p, space, addresses, values, apply)
        if target is not None:
            r[target.number] = before

    return run


def _swap(old: Array, expected: Array, new: Array) -> Array:
    return np.where(old == expected, new, old)


def _applied(name: str, type_: Type) -> Callable[..., Array]:
    """The operation on bits."""
    if type_.kind in ("bf", "fx2", "bfx2") or (type_.kind == "f" and name == "add"):
        if name != "add":
            raise Fault(f"atomic .{name} of .{type_.name}")
        compute = packed(type_, lambda element: floating.arithmetic("add", element, "rn"))
        return lambda old, value: bits_of(np.atleast_1d(compute(old.view(type_.dtype), value.view(type_.dtype))))
    operation = _OPERATIONS[name]
    return lambda old, value: bits_of(operation(old.view(type_.dtype), value.view(type_.dtype)))
