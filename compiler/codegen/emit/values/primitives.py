"""The primitives of scalar bodies as LLVM instructions, each on one register of so many elements, and literals."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any

import numpy as np

from .....dialects.types import DTYPES, DType
from ..text import EmitError, vector_type
from .convert import Converter

__all__ = ["Primitives", "literal"]


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


class Primitives(Converter):
    """``_f_name`` and ``_i_name`` for floats and integers: of a width, an element's type and whether it has a sign."""

    def __init__(self, module: Any):
        super().__init__(module)
        #: Registers that hold less than their type has bits, because of a mask.
        self._below_width: set[str] = set()

    def _call(self, name: str, w: int, t: str, *xs: str) -> str:
        ty = vector_type(w, t)
        return self.intrinsic(name, ty, ty, [(ty, self.lit(x, w, t)) for x in xs])

    def _f_add(self, w: int, t: str, _: bool, a: str, b: str) -> str:
        return self.op("fadd", w, t, a, b)

    def _f_sub(self, w: int, t: str, _: bool, a: str, b: str) -> str:
        return self.op("fsub", w, t, a, b)

    def _f_mul(self, w: int, t: str, _: bool, a: str, b: str) -> str:
        return self.op("fmul", w, t, a, b)

    def _f_div(self, w: int, t: str, _: bool, a: str, b: str) -> str:
        return self.op("fdiv", w, t, a, b)

    def _f_neg(self, w: int, t: str, _: bool, a: str) -> str:
        return self.op("fneg", w, t, a)

    def _f_abs(self, w: int, t: str, _: bool, a: str) -> str:
        return self._call("fabs", w, t, a)

    def _f_fma(self, w: int, t: str, _: bool, a: str, b: str, c: str) -> str:
        if not self.target.has_fma:
            raise EmitError(
                f"{self.target.cpu or self.target.triple} has no fused multiply-add, which these loops were made for"
            )
        return self._call("fma", w, t, a, b, c)

    def _f_sqrt(self, w: int, t: str, _: bool, a: str) -> str:
        return self._call("sqrt", w, t, a)

    def _f_copysign(self, w: int, t: str, _: bool, a: str, b: str) -> str:
        # In bits: from LLVM's own, a later rounding to f16 is moved to its operands, as a call of a library.
        bits, sign = ("i32", 1 << 31) if t == "float" else ("i64", 1 << 63)
        size, signed = (self.to("bitcast", w, x, t, bits) for x in (a, b))
        size = self.op("and", w, bits, size, str(sign - 1))
        signed = self.op("and", w, bits, signed, str(-sign))
        return self.to("bitcast", w, self.op("or", w, bits, size, signed), bits, t)

    def _f_min(self, w: int, t: str, _: bool, a: str, b: str) -> str:
        return self.choose(w, self.op("fcmp olt", w, t, a, b), t, a, b)

    def _f_max(self, w: int, t: str, _: bool, a: str, b: str) -> str:
        return self.choose(w, self.op("fcmp ogt", w, t, a, b), t, a, b)

    def _f_minimum(self, w: int, t: str, _: bool, a: str, b: str) -> str:
        return self._call("minimum", w, t, a, b)

    def _f_maximum(self, w: int, t: str, _: bool, a: str, b: str) -> str:
        return self._call("maximum", w, t, a, b)

    def _f_minnum(self, w: int, t: str, _: bool, a: str, b: str) -> str:
        return self._call("minnum", w, t, a, b)

    def _f_maxnum(self, w: int, t: str, _: bool, a: str, b: str) -> str:
        return self._call("maxnum", w, t, a, b)

    def _f_rint(self, w: int, t: str, _: bool, a: str) -> str:
        if self.target.has_rounding:
            return self._call("roundeven", w, t, a)
        # Adding and subtracting 2**mantissa rounds in the current (nearest, even) mode; larger values are whole.
        magnitude = self._call("fabs", w, t, a)
        big = literal(2.0**23 if t == "float" else 2.0**52, DTYPES["f32" if t == "float" else "f64"])
        rounded = self.op("fsub", w, t, self.op("fadd", w, t, magnitude, big), big)
        small = self.op("fcmp olt", w, t, magnitude, big)
        return self._call("copysign", w, t, self.choose(w, small, t, rounded, a), a)

    def _f_floor(self, w: int, t: str, s: bool, a: str) -> str:
        return self._call("floor", w, t, a) if self.target.has_rounding else self._directed(w, t, s, a, "ogt", "-1.0")

    def _f_ceil(self, w: int, t: str, s: bool, a: str) -> str:
        return self._call("ceil", w, t, a) if self.target.has_rounding else self._directed(w, t, s, a, "olt", "1.0")

    def _f_trunc(self, w: int, t: str, s: bool, a: str) -> str:
        if self.target.has_rounding:
            return self._call("trunc", w, t, a)
        down = self._directed(w, t, s, self._call("fabs", w, t, a), "ogt", "-1.0")
        return self._call("copysign", w, t, down, a)

    def _directed(self, w: int, t: str, s: bool, a: str, wrong: str, step: str) -> str:
        near = self._f_rint(w, t, s, a)
        moved = self.op("fadd", w, t, near, step)
        result = self.choose(w, self.op(f"fcmp {wrong}", w, t, near, a), t, moved, near)
        return self._call("copysign", w, t, result, a)

    def _i_add(self, w: int, t: str, _: bool, a: str, b: str) -> str:
        return self.op("add", w, t, a, b)

    def _i_sub(self, w: int, t: str, _: bool, a: str, b: str) -> str:
        return self.op("sub", w, t, a, b)

    def _i_mul(self, w: int, t: str, _: bool, a: str, b: str) -> str:
        return self.op("mul", w, t, a, b)

    def _i_neg(self, w: int, t: str, _: bool, a: str) -> str:
        return self.op("sub", w, t, "0", a)

    def _i_abs(self, w: int, t: str, signed: bool, a: str) -> str:
        return self.intrinsic_abs(a, w, t) if signed else a

    def _i_min(self, w: int, t: str, signed: bool, a: str, b: str) -> str:
        return self._call("smin" if signed else "umin", w, t, a, b)

    def _i_max(self, w: int, t: str, signed: bool, a: str, b: str) -> str:
        return self._call("smax" if signed else "umax", w, t, a, b)

    def _i_and(self, w: int, t: str, _: bool, a: str, b: str) -> str:
        result = self.op("and", w, t, a, b)
        if _is_below(b, int(t[1:])) and t != "i1":
            self._below_width.add(result)
        return result

    def _i_or(self, w: int, t: str, _: bool, a: str, b: str) -> str:
        return self.op("or", w, t, a, b)

    def _i_xor(self, w: int, t: str, _: bool, a: str, b: str) -> str:
        return self.op("xor", w, t, a, b)

    def _i_shl(self, w: int, t: str, _: bool, a: str, b: str) -> str:
        return self._within_width(w, t, "shl", a, b)

    def _i_shr(self, w: int, t: str, signed: bool, a: str, b: str) -> str:
        if signed:
            most = int(t[1:]) - 1
            by = b if b in self._below_width or _is_below(b, most + 1) else self._call("umin", w, t, b, str(most))
            return self.op("ashr", w, t, a, by)
        return self._within_width(w, t, "lshr", a, b)

    def _within_width(self, w: int, t: str, shift: str, a: str, by: str) -> str:
        """What a shift gives: zero where it is by a type's width or more, of which literals and masks tell enough."""
        width = int(t[1:])
        if by in self._below_width or _is_below(by, width):
            return self.op(shift, w, t, a, by)
        # LLVM's NVPTX back end takes the choice for PTX's own clamping, which sees but the lower 32 bits of 64.
        amount = self._call("umin", w, t, by, str(width - 1)) if self.target.is_gpu and width > 32 else by
        return self.choose(w, self.op("icmp ult", w, t, by, t[1:]), t, self.op(shift, w, t, a, amount), "0")

    def _safe_divisor(self, w: int, t: str, signed: bool, a: str, b: str) -> tuple[str, str]:
        """(whether the divisor is zero, a divisor that cannot trap: one instead of zero and of -1 under MIN)."""
        zero = self.op("icmp eq", w, t, b, "0")
        unsafe = zero
        if signed:
            least = self.op("icmp eq", w, t, a, str(-(1 << (int(t[1:]) - 1))))
            minus = self.op("icmp eq", w, t, b, "-1")
            unsafe = self.op("or", w, "i1", zero, self.op("and", w, "i1", least, minus))
        return zero, self.choose(w, unsafe, t, "1", b)

    def _i_div(self, w: int, t: str, signed: bool, a: str, b: str) -> str:
        zero, safe = self._safe_divisor(w, t, signed, a, b)
        return self.choose(w, zero, t, "0", self.op("sdiv" if signed else "udiv", w, t, a, safe))

    def _i_rem(self, w: int, t: str, signed: bool, a: str, b: str) -> str:
        _, safe = self._safe_divisor(w, t, signed, a, b)
        return self.op("srem" if signed else "urem", w, t, a, safe)
