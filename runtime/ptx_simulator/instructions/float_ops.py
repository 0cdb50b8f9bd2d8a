"""Floating-point instructions ("Floating Point Instructions", "Half Precision Floating Point Instructions")."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..ptx.types import TYPES, Array, Type
from . import floating
from .decode import Decoding, Run, instruction

__all__ = ["ALL", "binary", "least", "multiply_add_of", "packed", "sign"]

ALL = "f16 bf16 f16x2 bf16x2 f32 f64"
_SECTION = "Floating Point Instructions"
Compute = Callable[..., Array]
_MODES = ("rn", "rz", "rm", "rp")


def packed(type_: Type, function: Callable[[Type], Compute]) -> Compute:
    """The function of the element type, on each half of a packed pair."""
    if not type_.kind.endswith("x2"):
        return function(type_)
    element = TYPES[type_.name.removesuffix("x2")]
    compute = function(element)

    def pairs(*values: Array) -> Array:
        halves = compute(*(v.view(element.dtype).reshape(-1, 2) for v in values))
        return np.ascontiguousarray(halves).reshape(-1).view(np.uint32)

    return pairs


def _finished(d: Decoding, type_: Type, make: Callable[[Type], Compute]) -> Compute:
    """The operation with the `.ftz`, `.sat` and `.relu` that the instruction has."""
    ftz, sat, relu = d.flag("ftz"), d.flag("sat"), d.flag("relu")
    d.done()

    def of(element: Type) -> Compute:
        compute = make(element)
        if not (ftz or sat or relu):
            return compute

        def run(*values: Array) -> Array:
            found = compute(*(floating.flush(v) for v in values)) if ftz and element.kind == "f" else compute(*values)
            found = floating.decode_float(found, element)
            if ftz and element.kind == "f":
                found = floating.flush(found)
            if sat:
                found = floating.saturated(found)
            if relu:
                zero = found.dtype.type(0)
                found = np.where(np.isnan(found), found, np.where(found > 0, found, zero))
            return floating.encode_float(found, element)

        return run

    return packed(type_, of)


def binary(d: Decoding, type_: Type) -> Run:
    """add, sub, mul, div.  Approximate division is the correctly rounded one: hardware may differ by its 2 ulp."""
    approximate = d.instruction.opcode == "div" and (d.flag("approx") or d.flag("full"))
    mode = "rn" if approximate else d.choice(*_MODES, default="rn")
    compute = _finished(d, type_, lambda t: floating.arithmetic(d.instruction.opcode, t, mode))
    return d.compute(compute, type_, (type_, type_))


@instruction("fma", types=ALL, forms="rn rz rm rp ftz sat relu", section=_SECTION)
def fused(d: Decoding) -> Run:
    """One rounding."""
    return multiply_add_of(d, d.type())


def multiply_add_of(d: Decoding, type_: Type) -> Run:
    mode = d.choice(*_MODES)
    return d.compute(_finished(d, type_, lambda t: floating.arithmetic("fma", t, mode)), type_, (type_,) * 3)


@instruction("sqrt", "rcp", types="f32 f64", forms="rn rz rm rp approx ftz", section=_SECTION)
def root_or_reciprocal(d: Decoding) -> Run:
    """Approximate forms are the correctly rounded ones: hardware may differ within the error the manual states."""
    type_ = d.type()
    mode = "rn" if d.flag("approx") else d.choice(*_MODES)
    compute = _finished(d, type_, lambda t: floating.arithmetic(d.instruction.opcode, t, mode))
    return d.compute(compute, type_, (type_,))


_APPROXIMATE: dict[str, Compute] = {
    "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "cos": np.cos, "lg2": np.log2, "ex2": np.exp2, "tanh": np.tanh,
}  # fmt: skip


@instruction(
    "rsqrt", "sin", "cos", "lg2", "ex2", "tanh", types="f16 bf16 f32 f64", forms="approx ftz", section=_SECTION
)
def approximation(d: Decoding) -> Run:
    """Computed in f64 and rounded: within every error that the manual allows, not the bits of a machine."""
    type_ = d.type()
    d.choice("approx")
    function = _APPROXIMATE[d.instruction.opcode]

    def of(element: Type) -> Compute:
        return lambda x: floating.encode_float(function(floating.decode_float(x, element).astype(np.float64)), element)

    return d.compute(_finished(d, type_, of), type_, (type_,))


def sign(d: Decoding, type_: Type) -> Run:
    """neg and abs change the sign's bit, of NaN too."""
    negate = d.instruction.opcode == "neg"

    def of(element: Type) -> Compute:
        if element.kind == "f":
            return np.negative if negate else np.abs
        bit = np.uint16(0x8000)
        return (lambda x: x ^ bit) if negate else (lambda x: x & ~bit)

    return d.compute(_finished(d, type_, of), type_, (type_,))


def least(d: Decoding, type_: Type) -> Run:
    """min and max, of three too in f32: a number beats NaN unless `.NaN` says otherwise, and -0 is less than +0."""
    smaller, nan, xorsign = d.instruction.opcode == "min", d.flag("NaN"), d.flag("xorsign")
    if xorsign:
        d.choice("abs")
    three = len(d.operands) == 4 and type_.name == "f32" and not xorsign

    def beats(a: Array, b: Array) -> Array:
        return (a < b) | ((a == b) & np.signbit(a)) if smaller else (a > b) | ((a == b) & ~np.signbit(a))

    def of(element: Type) -> Compute:
        def compute(*bits: Array) -> Array:
            values = [floating.decode_float(b, element) for b in bits]
            result_sign = np.logical_xor(*map(np.signbit, values[:2])) if xorsign else None
            if xorsign:
                values = [np.abs(v) for v in values]
            found = values[0]
            for value in values[1:]:
                found = np.where(beats(found, value) | np.isnan(value), found, value)
            if result_sign is not None:
                found = np.where(result_sign, -found, found)
            if nan:
                found = np.where(np.logical_or.reduce([np.isnan(v) for v in values]), found.dtype.type(np.nan), found)
            return floating.encode_float(found, element)

        return compute

    return d.compute(_finished(d, type_, of), type_, (type_,) * (3 if three else 2))


@instruction("copysign", types="f32 f64", section=_SECTION)
def copy_sign(d: Decoding) -> Run:
    """The magnitude of b with the sign of a."""
    type_ = d.type()
    d.done()
    return d.compute(lambda a, b: np.copysign(b, a), type_, (type_, type_))


_CLASSES: dict[str, Compute] = {
    "finite": np.isfinite, "infinite": np.isinf, "number": lambda x: ~np.isnan(x), "notanumber": np.isnan,
    "normal": lambda x: np.isfinite(x) & (np.abs(x) >= np.finfo(x.dtype).smallest_normal),
    "subnormal": lambda x: (x != 0) & (np.abs(x) < np.finfo(x.dtype).smallest_normal),
}  # fmt: skip


@instruction("testp", types="f32 f64", forms=" ".join(_CLASSES), section=_SECTION)
def test_property(d: Decoding) -> Run:
    type_ = d.type()
    function = _CLASSES[d.choice(*_CLASSES)]
    d.done()
    return d.compute(function, TYPES["pred"], (type_,))
