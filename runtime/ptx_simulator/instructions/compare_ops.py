"""Comparison, selection, moves and conversion ("Comparison and Selection", "Data Movement and Conversion")."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..execution.divergence import Path
from ..execution.special_registers import special_register
from ..memory.state_spaces import WINDOWS
from ..ptx.syntax import Immediate, Pair, Register, Special, Symbol, Vector
from ..ptx.types import TYPES, Array, Type, unsigned
from . import floating
from .decode import Decoding, Run, instruction

_SECTION = "Comparison and Selection Instructions"
_MOVES = "Data Movement and Conversion Instructions"
_COMPARED = "b16 b32 b64 u16 u32 u64 s16 s32 s64 f16 bf16 f32 f64"
_ORDERED: dict[str, Callable[..., Array]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip
_JOINED = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
_COMPARISONS = (*_ORDERED, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")


def _comparison(name: str, type_: Type) -> Callable[..., Array]:
    """Of values; comparisons in ``…u`` are true of NaN, the others are not."""
    if not type_.is_float:
        return _ORDERED[name]
    if name == "nan":
        return lambda a, b: np.isnan(a) | np.isnan(b)
    if name == "num":
        return lambda a, b: ~(np.isnan(a) | np.isnan(b))
    if name.endswith("u"):
        ordered = _ORDERED[name[:-1]]
        return lambda a, b: ordered(a, b) | np.isnan(a) | np.isnan(b)
    if name == "ne":
        return lambda a, b: (a < b) | (a > b)
    return _ORDERED[name]


def _compared(d: Decoding, type_: Type) -> Callable[..., Array]:
    name = d.choice(*_COMPARISONS)
    if not type_.is_float and name not in _ORDERED:
        d.fail(f".{name} compares floats")
    compare, ftz = _comparison(name, type_), d.flag("ftz")
    if type_.kind == "bf":
        return lambda a, b: compare(floating.decode_float(a, type_), floating.decode_float(b, type_))
    return (lambda a, b: compare(floating.flush(a), floating.flush(b))) if ftz else compare


@instruction("setp", types=f"{_COMPARED}", forms=" ".join((*_COMPARISONS, *_JOINED, "ftz")), section=_SECTION)
def set_predicate(d: Decoding) -> Run:
    """``p|q``: q is the comparison's opposite, joined to the same third operand."""
    type_, pred = d.type(), TYPES["pred"]
    compare = _compared(d, type_)
    join = next((_JOINED[m] for m in _JOINED if d.flag(m)), None)
    d.done()
    operands = d.operands
    if join is None and isinstance(operands[0], Register):
        return d.compute(compare, pred, (type_, type_))
    targets = [operands[0].first, operands[0].second] if isinstance(operands[0], Pair) else [operands[0]]
    at = [d.source(o, type_) for o in operands[1:3]]
    third = d.predicate(operands[3]) if join is not None else None
    into = [d.target(t) for t in targets]

    def run(r: list[Array], p: Path) -> None:
        found = compare(*(r[i].view(type_.dtype) for i in at))
        for value, target in zip((found, ~found), into, strict=False):
            if join is not None and third is not None:
                value = join(value, ~r[third[0]] if third[1] else r[third[0]])
            if target is not None:
                r[target.number] = value

    return run


@instruction("set", types=f"{_COMPARED}", forms=" ".join((*_COMPARISONS, "ftz")), section=_SECTION)
def set_value(d: Decoding) -> Run:
    """``set.cmp.dtype.stype``: true is all bits set, or 1.0."""
    type_ = d.type()
    result = d.type("u32 s32 f32")
    compare = _compared(d, type_)
    d.done()
    true = result.dtype.type(1) if result.is_float else ~result.dtype.type(0)
    return d.compute(lambda a, b: np.where(compare(a, b), true, result.dtype.type(0)), result, (type_, type_))


@instruction("selp", types="b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64", section=_SECTION)
def select(d: Decoding) -> Run:
    type_ = d.type()
    d.done()
    d.register(d.operands[3])
    return d.compute(lambda a, b, c: np.where(c, a, b), type_, (type_, type_, TYPES["pred"]))


@instruction("slct", types="b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64", forms="s32 f32 ftz", section=_SECTION)
def select_by_sign(d: Decoding) -> Run:
    """a where c is not negative (-0 is not), else b."""
    third = d.type("s32 f32")
    type_ = d.type()
    d.flag("ftz")
    d.done()
    return d.compute(lambda a, b, c: np.where(c >= 0, a, b), type_, (type_, type_, third))


# Moves


@instruction("mov", types="pred b16 b32 b64 u16 u32 u64 s16 s32 s64 f32 f64", section=f"{_MOVES}: mov")
def move(d: Decoding) -> Run:
    """Of a register, a literal, a special register or a variable's address; packing and unpacking of vectors."""
    type_ = d.type()
    d.done()
    into, source = d.operands
    if isinstance(source, Vector):
        return _pack(d, type_, source)
    if isinstance(into, Vector):
        return _unpack(d, type_, into)
    target = d.target(into)
    if target is None:
        return lambda r, p: None
    number = target.number
    if isinstance(source, Special):
        read = special_register(source.name)
        if read is None:
            d.fail(f"special register {source.name} is not known")
        wanted = unsigned(target.bits)

        def from_special(r: list[Array], p: Path) -> None:
            found = read(p)
            r[number] = found if found.dtype == wanted else found.astype(wanted)

        return from_special
    if isinstance(source, Symbol):
        at = d.pool.constant(d.variable(source)[1], type_.bits)
    else:
        at = d.source(source, type_)

    def run(r: list[Array], p: Path) -> None:
        r[number] = r[at]

    return run


def _pack(d: Decoding, type_: Type, source: Vector) -> Run:
    """``mov.b64 d, {a, b}``: the first is the lowest."""
    part = TYPES[f"b{type_.bits // len(source.items)}"]
    at = [d.source(o, part) for o in source.items]
    dtype = type_.dtype

    def compute(*parts: Array) -> Array:
        found = parts[0].astype(dtype)
        for i, value in enumerate(parts[1:], 1):
            found = found | (value.astype(dtype) << dtype.type(i * part.bits))
        return found

    return d.into(d.target(d.operands[0]), TYPES[f"b{type_.bits}"], compute, at, [part.dtype] * len(at))


def _unpack(d: Decoding, type_: Type, into: Vector) -> Run:
    part = TYPES[f"b{type_.bits // len(into.items)}"]
    at = d.source(d.operands[1], type_)
    whole = unsigned(type_.bits)
    parts = [(i, target) for i, o in enumerate(into.items) if (target := d.target(o)) is not None]
    if any(target.bits != part.bits for _, target in parts):
        d.fail(f"registers of {part.bits} bits are needed")

    def run(r: list[Array], p: Path) -> None:
        value = r[at].view(whole)
        for i, target in parts:
            r[target.number] = (value >> whole.type(i * part.bits)).astype(part.dtype)

    return run


@instruction("cvta", types="u32 u64", forms="to global const shared local param", section=f"{_MOVES}: cvta")
def convert_address(d: Decoding) -> Run:
    """Between a space's own addresses and generic ones, in which each space has a window (`state_spaces.py`)."""
    type_ = d.type()
    to = d.flag("to")
    space = d.choice("global", "const", "shared", "local", "param")
    d.drop("shared::", "::")
    d.done()
    start = np.uint64(WINDOWS.get(space, 0))
    source = d.operands[1]
    if isinstance(source, Symbol):
        d.operands = (d.operands[0], Immediate(d.variable(source)[1]))
    return d.compute((lambda a: a - start) if to else (lambda a: a + start), type_, (type_,))


# Conversion

_WHOLE = ("rni", "rzi", "rmi", "rpi")
_ALL = "u8 u16 u32 u64 s8 s16 s32 s64 f16 bf16 f32 f64 f16x2 bf16x2 tf32"


@instruction("cvt", types=_ALL, forms="rn rz rm rp rna rni rzi rmi rpi ftz sat relu", section=f"{_MOVES}: cvt")
def convert(d: Decoding) -> Run:
    """``cvt.mode.dtype.stype``.  Floats to integers saturate, as the manual has it; NaN gives 0."""
    source = d.type()
    result = d.type()
    if result.kind.endswith("x2"):
        return _convert_pair(d, result, source)
    mode = d.choice("rn", "rz", "rm", "rp", "rna", *_WHOLE, default="")
    ftz, sat, relu = d.flag("ftz"), d.flag("sat"), d.flag("relu")
    d.done()
    if result.name == "tf32":
        return d.compute(lambda x: floating.to_tf32(x, mode), result, (source,))
    function = _conversion(result, source, mode, sat)
    if ftz or relu or (sat and result.is_float):
        function = _around(function, result, source, ftz, sat, relu)
    return d.compute(function, result, (source,))


def _conversion(result: Type, source: Type, mode: str, sat: bool) -> Callable[[Array], Array]:
    if source.is_float and result.is_float:
        if source == result or (mode in _WHOLE):
            whole: Callable[[Array], Array] = (
                (lambda x: floating.round_whole(x, mode)) if mode in _WHOLE else (lambda x: x)
            )
            if source.kind == "f" and source == result:
                return whole
            return lambda x: floating.encode_float(whole(floating.decode_float(x, source)), result)
        return lambda x: floating.encode_float(floating.decode_float(x, source), result, mode or "rn")
    if source.is_float:
        return lambda x: floating.to_integer(floating.decode_float(x, source), result, mode or "rzi")
    if result.is_float:
        return lambda x: floating.from_integer(x, result, mode or "rn")
    if not sat:
        return lambda x: x.astype(result.dtype)
    info = np.iinfo(result.dtype)

    def clamped(x: Array) -> Array:
        bounds: Any = np.iinfo(x.dtype)
        return np.clip(x, max(info.min, bounds.min), min(info.max, bounds.max)).astype(result.dtype)

    return clamped


def _around(
    function: Callable[[Array], Array], result: Type, source: Type, ftz: bool, sat: bool, relu: bool
) -> Callable[[Array], Array]:
    def compute(x: Array) -> Array:
        if ftz and source.name == "f32":
            x = floating.flush(x)
        found = function(x)
        if not result.is_float:
            return found
        values = floating.decode_float(found, result)
        if ftz and result.name == "f32":
            values = floating.flush(values)
        if sat:
            values = floating.saturated(values)
        if relu:
            values = np.where(values > 0, values, np.where(np.isnan(values), values, values.dtype.type(0)))
        return floating.encode_float(values, result)

    return compute


def _convert_pair(d: Decoding, result: Type, source: Type) -> Run:
    """``cvt.rn.f16x2.f32 d, a, b``: a is the upper half."""
    if source.name != "f32":
        d.fail("packed pairs are made of two .f32")
    element = TYPES[result.name.removesuffix("x2")]
    mode, relu = d.choice("rn", "rz"), d.flag("relu")
    d.done()

    def half(x: Array) -> Array:
        if relu:
            x = np.where(x > 0, x, np.where(np.isnan(x), x, np.float32(0)))
        return np.atleast_1d(floating.encode_float(x, element, mode)).view(np.uint16).astype(np.uint32)

    return d.compute(lambda a, b: (half(a) << np.uint32(16)) | half(b), result, (source, source))
