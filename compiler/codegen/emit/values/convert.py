"""Conversions between element types, one register at a time, without library calls.

Half-width floats are held as their bits; floats become integers by truncation, saturating, NaN giving zero; every
narrowing rounds once, to nearest even, whatever it starts from.
"""

from __future__ import annotations

from .....dialects.types import DTYPES, DType
from ..text import llvm_type, vector_type
from .index import IndexWriter

__all__ = ["Converter"]

F32, F64, I32 = DTYPES["f32"], DTYPES["f64"], DTYPES["i32"]


class Converter(IndexWriter):
    """Adds `convert`."""

    def op(self, text: str, width: int, scalar: str, *operands: str) -> str:
        """``text <width x scalar> operands``, constants given as numbers."""
        if width == 1:
            return self.ins(f"{text} {scalar} {', '.join(operands)}")
        given = ", ".join([o if o[0] == "%" else self.lit(o, width, scalar) for o in operands])
        return self.ins(f"{text} <{width} x {scalar}> {given}")

    def lit(self, value: str, width: int, scalar: str) -> str:
        """A register as it is, a constant's text in every lane."""
        return value if width == 1 or value[0] in "%s<z" else f"splat ({scalar} {value})"

    def to(self, text: str, width: int, value: str, from_: str, to: str) -> str:
        """A conversion instruction: ``text <W x from_> value to <W x to>``."""
        value = self.lit(value, width, from_)
        return self.ins(f"{text} {vector_type(width, from_)} {value} to {vector_type(width, to)}")

    def choose(self, width: int, condition: str, scalar: str, a: str, b: str) -> str:
        ty, mask = vector_type(width, scalar), vector_type(width, "i1")
        a, b = self.lit(a, width, scalar), self.lit(b, width, scalar)
        return self.ins(f"select {mask} {condition}, {ty} {a}, {ty} {b}")

    def unary(self, name: str, width: int, scalar: str, value: str) -> str:
        ty = vector_type(width, scalar)
        return self.intrinsic(name, ty, ty, [(ty, self.lit(value, width, scalar))])

    def convert(self, x: str, width: int, source: DType, target: DType) -> str:
        """One register of `source` as `target` (numeric)."""
        if source is target:
            return x
        a, b = llvm_type(source), llvm_type(target)
        x = self.lit(x, width, a)
        if target.kind == "bool":
            if source.is_float:
                wide = self.convert(x, width, source, source.computes_in)
                return self.op("fcmp une", width, llvm_type(source.computes_in), wide, "0.0")
            return self.op("icmp ne", width, a, x, "0")
        if source.name in ("f16", "bf16"):
            widened = self._from_half(x, width) if source.name == "f16" else self._from_bf16(x, width)
            return self.convert(widened, width, F32, target)
        if target.name in ("f16", "bf16"):
            return self._to_half_width(x, width, source, target)
        if source.is_float and target.is_float:
            return self.to("fptrunc" if target.bits < source.bits else "fpext", width, x, a, b)
        if source.is_float:
            return self._truncated(x, width, source, target)
        if target.is_float:
            return self.to("sitofp" if source.kind == "int" else "uitofp", width, x, a, b)
        if target.bits < source.bits:
            return self.to("trunc", width, x, a, b)
        if target.bits == source.bits:
            return x
        return self.to("sext" if source.kind == "int" else "zext", width, x, a, b)

    def _truncated(self, x: str, width: int, source: DType, target: DType) -> str:
        """A float as an integer.

        LLVM takes vectors apart to saturate them where processors do not, so there it is done by selections.
        """
        a, b = llvm_type(source), llvm_type(target)
        signed = target.kind == "int"
        if width == 1 or not self.target.is_x86:
            from_, to = vector_type(width, a), vector_type(width, b)
            return self.intrinsic("fptosi.sat" if signed else "fptoui.sat", f"{to}|{from_}", to, [(from_, x)])
        least, beyond = (-(1 << target.bits - 1), 1 << target.bits - 1) if signed else (0, 1 << target.bits)
        if target.bits < 32:
            whole = self._truncated(x, width, source, I32)
            for name, limit in (("smax", least), ("smin", beyond - 1)):
                ty = vector_type(width, "i32")
                whole = self.intrinsic(name, ty, ty, [(ty, whole), (ty, self.lit(str(limit), width, "i32"))])
            return self.to("trunc", width, whole, "i32", b)
        low, high = self.op("fcmp oge", width, a, x, f"{least}.0"), self.op("fcmp oge", width, a, x, f"{beyond}.0")
        inside = self.op("and", width, "i1", low, self.op("fcmp olt", width, a, x, f"{beyond}.0"))
        whole = self.to("fptosi" if signed else "fptoui", width, self.choose(width, inside, a, x, "0.0"), a, b)
        whole = self.choose(width, high, b, str(beyond - 1), whole)
        if not signed:
            return whole
        return self.choose(width, self.op("fcmp olt", width, a, x, f"{least}.0"), b, str(least), whole)

    def _from_bf16(self, x: str, width: int) -> str:
        wide = self.to("zext", width, x, "i16", "i32")
        return self.to("bitcast", width, self.op("shl", width, "i32", wide, "16"), "i32", "float")

    def _from_half(self, x: str, width: int) -> str:
        if self.target.has_f16:
            return self.to("fpext", width, self.to("bitcast", width, x, "i16", "half"), "half", "float")
        # Scale the exponent by a multiplication, which is exact and gets subnormals right; patch inf and NaN.
        wide = self.to("zext", width, x, "i16", "i32")
        magnitude = self.op("and", width, "i32", wide, "32767")
        shifted = self.op("shl", width, "i32", magnitude, "13")
        scaled = self.op(
            "fmul", width, "float", self.to("bitcast", width, shifted, "i32", "float"), "0x46F0000000000000"
        )
        bits = self.to("bitcast", width, scaled, "float", "i32")
        special = self.op("icmp uge", width, "i32", magnitude, "31744")
        infinite = self.op("or", width, "i32", shifted, "2139095040")
        bits = self.choose(width, special, "i32", infinite, bits)
        sign = self.op("shl", width, "i32", self.op("and", width, "i32", wide, "32768"), "16")
        return self.to("bitcast", width, self.op("or", width, "i32", bits, sign), "i32", "float")

    def _to_half_width(self, x: str, width: int, source: DType, target: DType) -> str:
        if source.is_integer and source.bits == 64:
            x, source = self._sticky(x, width, source), source
        if source.is_integer or source.kind == "bool":
            wide = F32 if source.bits <= 16 else F64
            x, source = self.convert(x, width, source, wide), wide
        if source is F64:
            x = self._to_odd(x, width)
        return self._to_bf16(x, width) if target.name == "bf16" else self._to_half(x, width)

    def _sticky(self, x: str, width: int, source: DType) -> str:
        """A 64-bit integer that f64 holds exactly and that rounds to a half-width float as `x` does."""
        low = self.op("and", width, "i64", x, "2047")
        lost = self.op("icmp ne", width, "i64", low, "0")
        replaced = self.op("or", width, "i64", self.op("and", width, "i64", x, "-2048"), "1024")
        magnitude = self.intrinsic_abs(x, width) if source.kind == "int" else x
        large = self.op("icmp uge", width, "i64", magnitude, str(1 << 53))
        both = self.op("and", width, "i1", lost, large)
        return self.choose(width, both, "i64", replaced, x)

    def intrinsic_abs(self, x: str, width: int, scalar: str = "i64") -> str:
        ty = vector_type(width, scalar)
        return self.intrinsic("abs", ty, ty, [(ty, self.lit(x, width, scalar)), ("i1", "false")])

    def _to_odd(self, x: str, width: int) -> str:
        """f64 to f32, inexact results rounded to the odd neighbour, so that only the next rounding counts."""
        near = self.to("fptrunc", width, x, "double", "float")
        back = self.to("fpext", width, near, "float", "double")
        inexact = self.op("fcmp one", width, "double", back, x)
        over = self.op("fcmp ogt", width, "double", self.unary("fabs", width, "double", back),
                       self.unary("fabs", width, "double", x))  # fmt: skip
        bits = self.to("bitcast", width, near, "float", "i32")
        down = self.op("sub", width, "i32", bits, self.to("zext", width, over, "i1", "i32"))
        odd = self.op("or", width, "i32", down, "1")
        return self.to("bitcast", width, self.choose(width, inexact, "i32", odd, bits), "i32", "float")

    def _to_bf16(self, x: str, width: int) -> str:
        bits = self.to("bitcast", width, x, "float", "i32")
        high = self.op("lshr", width, "i32", bits, "16")
        odd = self.op("and", width, "i32", high, "1")
        rounded = self.op("add", width, "i32", self.op("add", width, "i32", bits, odd), "32767")
        rounded = self.op("lshr", width, "i32", rounded, "16")
        nan = self.op("fcmp uno", width, "float", x, x)
        quiet = self.op("or", width, "i32", high, "64")
        return self.to("trunc", width, self.choose(width, nan, "i32", quiet, rounded), "i32", "i16")

    def _to_half(self, x: str, width: int) -> str:
        if self.target.has_f16:
            return self.to("bitcast", width, self.to("fptrunc", width, x, "float", "half"), "half", "i16")
        bits = self.to("bitcast", width, x, "float", "i32")
        magnitude = self.op("and", width, "i32", bits, "2147483647")
        odd = self.op("and", width, "i32", self.op("lshr", width, "i32", magnitude, "13"), "1")
        # Normal results: move the exponent's bias from 127 to 15 and round half to even, by integer arithmetic.
        normal = self.op("add", width, "i32", self.op("add", width, "i32", magnitude, str(0xC8000FFF)), odd)
        normal = self.op("lshr", width, "i32", normal, "13")
        # Subnormal ones: adding 0.5 aligns the mantissa so that the hardware rounds it.
        as_float = self.to("bitcast", width, magnitude, "i32", "float")
        aligned = self.to("bitcast", width, self.op("fadd", width, "float", as_float, "0.5"), "float", "i32")
        small = self.op("sub", width, "i32", aligned, str(0x3F000000))
        result = self.choose(width, self.op("icmp ult", width, "i32", magnitude, str(0x38800000)), "i32", small, normal)
        large = self.op("icmp uge", width, "i32", magnitude, str(0x477FF000))
        result = self.choose(width, large, "i32", str(0x7C00), result)
        nan = self.op("icmp ugt", width, "i32", magnitude, str(0x7F800000))
        result = self.choose(width, nan, "i32", str(0x7E00), result)
        sign = self.op("and", width, "i32", self.op("lshr", width, "i32", bits, "16"), "32768")
        return self.to("trunc", width, self.op("or", width, "i32", result, sign), "i32", "i16")
