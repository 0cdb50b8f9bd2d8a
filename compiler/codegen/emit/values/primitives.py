"""The primitives of scalar bodies as LLVM instructions, each on one register of so many elements, and literals."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from .....dialects.types import DTYPES, DType
from ..text import EmitError, IrText, llvm_type

__all__ = ["find_primitive", "literal"]


def literal(value: float | int | bool, dtype: DType) -> str:
    """A constant's text, rounded to `dtype`."""
    if dtype.kind == "bool":
        return "true" if value else "false"
    # Zeros of either sign are equal as keys of a cache, so they do not go through it.
    return _literal(value, dtype) if value else _literal.__wrapped__(value, dtype)


@lru_cache(maxsize=4096, typed=True)
def _literal(value: float | int, dtype: DType) -> str:
    if dtype.is_integer:
        wrapped = int(value) & ((1 << dtype.bits) - 1)
        return str(wrapped - (1 << dtype.bits) if wrapped >> (dtype.bits - 1) else wrapped)
    with np.errstate(all="ignore"):
        rounded = np.asarray(value, np.float64).astype(dtype.numpy)
    if dtype.bits == 16:
        return str(int(rounded.view(np.uint16)))
    return f"0x{struct.unpack('<Q', struct.pack('<d', float(rounded)))[0]:016X}"


def _is_below(operand: str, limit: int) -> bool:
    """Whether an operand is a literal of ``0 <= x < limit``, alone or in every lane."""
    number = operand.rpartition(" ")[2][:-1] if operand.startswith("splat") else operand
    return number.isdecimal() and int(number) < limit


#: Primitives of floats and of integers that are one instruction, and intrinsics: where two, of signed and unsigned.
_INSTRUCTIONS = {
    "f_add": "fadd", "f_sub": "fsub", "f_mul": "fmul", "f_div": "fdiv", "f_neg": "fneg",
    "i_add": "add", "i_sub": "sub", "i_mul": "mul", "i_or": "or", "i_xor": "xor",
}  # fmt: skip
_INTRINSICS = {
    "f_abs": ("fabs",), "f_sqrt": ("sqrt",), "f_minimum": ("minimum",), "f_maximum": ("maximum",),
    "f_minnum": ("minnum",), "f_maxnum": ("maxnum",), "i_min": ("smin", "umin"), "i_max": ("smax", "umax"),
}  # fmt: skip


def find_primitive(text: IrText, name: str, dtype: DType) -> Callable[..., str] | None:
    """What writes a primitive on registers of `dtype`, called with their width and them; None where there is none."""
    name, scalar, signed = f"{'f' if dtype.is_float else 'i'}_{name}", llvm_type(dtype), dtype.kind == "int"
    if name in _INSTRUCTIONS:
        instruction = _INSTRUCTIONS[name]
        return lambda width, *xs: text.op(instruction, width, scalar, *xs)
    if name in _INTRINSICS:
        intrinsic = _INTRINSICS[name][0 if signed else -1]
        return lambda width, *xs: text.call(intrinsic, width, scalar, *xs)
    found = _FUNCTIONS.get(name)
    return None if found is None else lambda width, *xs: found(text, width, scalar, signed, *xs)


def _f_fma(text: IrText, w: int, t: str, _: bool, a: str, b: str, c: str) -> str:
    if not text.target.has_fma:
        raise EmitError(
            f"{text.target.cpu or text.target.triple} has no fused multiply-add, which these loops were made for"
        )
    return text.call("fma", w, t, a, b, c)


def _f_copysign(text: IrText, w: int, t: str, _: bool, a: str, b: str) -> str:
    # In bits: from LLVM's own, a later rounding to f16 is moved to its operands, as a call of a library.
    bits, sign = ("i32", 1 << 31) if t == "float" else ("i64", 1 << 63)
    size, signed = (text.to("bitcast", w, x, t, bits) for x in (a, b))
    size = text.op("and", w, bits, size, str(sign - 1))
    signed = text.op("and", w, bits, signed, str(-sign))
    return text.to("bitcast", w, text.op("or", w, bits, size, signed), bits, t)


def _f_min(text: IrText, w: int, t: str, _: bool, a: str, b: str) -> str:
    return text.choose(w, text.op("fcmp olt", w, t, a, b), t, a, b)


def _f_max(text: IrText, w: int, t: str, _: bool, a: str, b: str) -> str:
    return text.choose(w, text.op("fcmp ogt", w, t, a, b), t, a, b)


def _f_rint(text: IrText, w: int, t: str, _: bool, a: str) -> str:
    if text.target.has_rounding:
        return text.call("roundeven", w, t, a)
    # Adding and subtracting 2**mantissa rounds in the current (nearest, even) mode; larger values are whole.
    magnitude = text.call("fabs", w, t, a)
    big = literal(2.0**23 if t == "float" else 2.0**52, DTYPES["f32" if t == "float" else "f64"])
    rounded = text.op("fsub", w, t, text.op("fadd", w, t, magnitude, big), big)
    small = text.op("fcmp olt", w, t, magnitude, big)
    return text.call("copysign", w, t, text.choose(w, small, t, rounded, a), a)


def _f_floor(text: IrText, w: int, t: str, s: bool, a: str) -> str:
    return text.call("floor", w, t, a) if text.target.has_rounding else _directed(text, w, t, s, a, "ogt", "-1.0")


def _f_ceil(text: IrText, w: int, t: str, s: bool, a: str) -> str:
    return text.call("ceil", w, t, a) if text.target.has_rounding else _directed(text, w, t, s, a, "olt", "1.0")


def _f_trunc(text: IrText, w: int, t: str, s: bool, a: str) -> str:
    if text.target.has_rounding:
        return text.call("trunc", w, t, a)
    down = _directed(text, w, t, s, text.call("fabs", w, t, a), "ogt", "-1.0")
    return text.call("copysign", w, t, down, a)


def _directed(text: IrText, w: int, t: str, s: bool, a: str, wrong: str, step: str) -> str:
    near = _f_rint(text, w, t, s, a)
    moved = text.op("fadd", w, t, near, step)
    result = text.choose(w, text.op(f"fcmp {wrong}", w, t, near, a), t, moved, near)
    return text.call("copysign", w, t, result, a)


def _i_neg(text: IrText, w: int, t: str, _: bool, a: str) -> str:
    return text.op("sub", w, t, "0", a)


def _i_abs(text: IrText, w: int, t: str, signed: bool, a: str) -> str:
    return text.abs(a, w, t) if signed else a


def _i_and(text: IrText, w: int, t: str, _: bool, a: str, b: str) -> str:
    result = text.op("and", w, t, a, b)
    if _is_below(b, int(t[1:])) and t != "i1":
        text.below_width.add(result)
    return result


def _i_shl(text: IrText, w: int, t: str, _: bool, a: str, b: str) -> str:
    return _within_width(text, w, t, "shl", a, b)


def _i_shr(text: IrText, w: int, t: str, signed: bool, a: str, b: str) -> str:
    if signed:
        most = int(t[1:]) - 1
        by = b if b in text.below_width or _is_below(b, most + 1) else text.call("umin", w, t, b, str(most))
        return text.op("ashr", w, t, a, by)
    return _within_width(text, w, t, "lshr", a, b)


def _within_width(text: IrText, w: int, t: str, shift: str, a: str, by: str) -> str:
    """What a shift gives: zero where it is by a type's width or more, of which literals and masks tell enough."""
    width = int(t[1:])
    if by in text.below_width or _is_below(by, width):
        return text.op(shift, w, t, a, by)
    # LLVM's NVPTX back end takes the choice for PTX's own clamping, which sees but the lower 32 bits of 64.
    amount = text.call("umin", w, t, by, str(width - 1)) if text.target.is_gpu and width > 32 else by
    return text.choose(w, text.op("icmp ult", w, t, by, t[1:]), t, text.op(shift, w, t, a, amount), "0")


def _safe_divisor(text: IrText, w: int, t: str, signed: bool, a: str, b: str) -> tuple[str, str]:
    """(whether the divisor is zero, a divisor that cannot trap: one instead of zero and of -1 under MIN)."""
    zero = text.op("icmp eq", w, t, b, "0")
    unsafe = zero
    if signed:
        least = text.op("icmp eq", w, t, a, str(-(1 << (int(t[1:]) - 1))))
        minus = text.op("icmp eq", w, t, b, "-1")
        unsafe = text.op("or", w, "i1", zero, text.op("and", w, "i1", least, minus))
    return zero, text.choose(w, unsafe, t, "1", b)


def _i_div(text: IrText, w: int, t: str, signed: bool, a: str, b: str) -> str:
    zero, safe = _safe_divisor(text, w, t, signed, a, b)
    return text.choose(w, zero, t, "0", text.op("sdiv" if signed else "udiv", w, t, a, safe))


def _i_rem(text: IrText, w: int, t: str, signed: bool, a: str, b: str) -> str:
    _, safe = _safe_divisor(text, w, t, signed, a, b)
    return text.op("srem" if signed else "urem", w, t, a, safe)


#: The others: of a text, a width, an element's type, whether it has a sign, and registers.
_FUNCTIONS: dict[str, Callable[..., str]] = {
    f.__name__[1:]: f
    for f in (
        _f_fma,
        _f_copysign,
        _f_min,
        _f_max,
        _f_rint,
        _f_floor,
        _f_ceil,
        _f_trunc,
        _i_neg,
        _i_abs,
        _i_and,
        _i_shl,
        _i_shr,
        _i_div,
        _i_rem,
    )
}
