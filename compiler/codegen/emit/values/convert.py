"""Conversions between element types, one register at a time, without library calls.

Half-width floats are held as their bits; floats become integers by truncation, saturating, NaN giving zero; every
narrowing rounds once, to nearest even, whatever it starts from.
"""

from __future__ import annotations

from .....dialects.types import DTYPES, DType
from ..text import IrText, lit, llvm_type, vector_type

__all__ = ["convert"]

F32, F64, I32 = DTYPES["f32"], DTYPES["f64"], DTYPES["i32"]


def convert(text: IrText, x: str, width: int, source: DType, target: DType) -> str:
    """One register of `source` as `target` (numeric)."""
    if source is target:
        return x
    a, b = llvm_type(source), llvm_type(target)
    x = lit(x, width, a)
    if target.kind == "bool":
        if source.is_float:
            wide = convert(text, x, width, source, source.computes_in)
            return text.op("fcmp une", width, llvm_type(source.computes_in), wide, "0.0")
        return text.op("icmp ne", width, a, x, "0")
    if source.name in ("f16", "bf16"):
        widened = _from_half(text, x, width) if source.name == "f16" else _from_bf16(text, x, width)
        return convert(text, widened, width, F32, target)
    if target.name in ("f16", "bf16"):
        return _to_half_width(text, x, width, source, target)
    if source.is_float and target.is_float:
        return text.to("fptrunc" if target.bits < source.bits else "fpext", width, x, a, b)
    if source.is_float:
        return _truncated(text, x, width, source, target)
    if target.is_float:
        return text.to("sitofp" if source.kind == "int" else "uitofp", width, x, a, b)
    if target.bits < source.bits:
        return text.to("trunc", width, x, a, b)
    if target.bits == source.bits:
        return x
    return text.to("sext" if source.kind == "int" else "zext", width, x, a, b)


def _truncated(text: IrText, x: str, width: int, source: DType, target: DType) -> str:
    """A float as an integer.

    LLVM takes vectors apart to saturate them where processors do not, so there it is done by selections.
    """
    a, b = llvm_type(source), llvm_type(target)
    signed = target.kind == "int"
    if width == 1 or not text.target.is_x86:
        from_, to = vector_type(width, a), vector_type(width, b)
        return text.intrinsic("fptosi.sat" if signed else "fptoui.sat", f"{to}|{from_}", to, [(from_, x)])
    least, beyond = (-(1 << target.bits - 1), 1 << target.bits - 1) if signed else (0, 1 << target.bits)
    if target.bits < 32:
        whole = _truncated(text, x, width, source, I32)
        for name, limit in (("smax", least), ("smin", beyond - 1)):
            ty = vector_type(width, "i32")
            whole = text.intrinsic(name, ty, ty, [(ty, whole), (ty, lit(str(limit), width, "i32"))])
        return text.to("trunc", width, whole, "i32", b)
    low, high = text.op("fcmp oge", width, a, x, f"{least}.0"), text.op("fcmp oge", width, a, x, f"{beyond}.0")
    inside = text.op("and", width, "i1", low, text.op("fcmp olt", width, a, x, f"{beyond}.0"))
    whole = text.to("fptosi" if signed else "fptoui", width, text.choose(width, inside, a, x, "0.0"), a, b)
    whole = text.choose(width, high, b, str(beyond - 1), whole)
    if not signed:
        return whole
    return text.choose(width, text.op("fcmp olt", width, a, x, f"{least}.0"), b, str(least), whole)


def _from_bf16(text: IrText, x: str, width: int) -> str:
    wide = text.to("zext", width, x, "i16", "i32")
    return text.to("bitcast", width, text.op("shl", width, "i32", wide, "16"), "i32", "float")


def _from_half(text: IrText, x: str, width: int) -> str:
    if text.target.has_f16:
        return text.to("fpext", width, text.to("bitcast", width, x, "i16", "half"), "half", "float")
    # Scale the exponent by a multiplication, which is exact and gets subnormals right; patch inf and NaN.
    wide = text.to("zext", width, x, "i16", "i32")
    magnitude = text.op("and", width, "i32", wide, "32767")
    shifted = text.op("shl", width, "i32", magnitude, "13")
    scaled = text.op("fmul", width, "float", text.to("bitcast", width, shifted, "i32", "float"), "0x46F0000000000000")
    bits = text.to("bitcast", width, scaled, "float", "i32")
    special = text.op("icmp uge", width, "i32", magnitude, "31744")
    infinite = text.op("or", width, "i32", shifted, "2139095040")
    bits = text.choose(width, special, "i32", infinite, bits)
    sign = text.op("shl", width, "i32", text.op("and", width, "i32", wide, "32768"), "16")
    return text.to("bitcast", width, text.op("or", width, "i32", bits, sign), "i32", "float")


def _to_half_width(text: IrText, x: str, width: int, source: DType, target: DType) -> str:
    if source.is_integer and source.bits == 64:
        x, source = _sticky(text, x, width, source), source
    if source.is_integer or source.kind == "bool":
        wide = F32 if source.bits <= 16 else F64
        x, source = convert(text, x, width, source, wide), wide
    if source is F64:
        x = _to_odd(text, x, width)
    return _to_bf16(text, x, width) if target.name == "bf16" else _to_half(text, x, width)


def _sticky(text: IrText, x: str, width: int, source: DType) -> str:
    """A 64-bit integer that f64 holds exactly and that rounds to a half-width float as `x` does."""
    low = text.op("and", width, "i64", x, "2047")
    lost = text.op("icmp ne", width, "i64", low, "0")
    replaced = text.op("or", width, "i64", text.op("and", width, "i64", x, "-2048"), "1024")
    magnitude = text.abs(x, width, "i64") if source.kind == "int" else x
    large = text.op("icmp uge", width, "i64", magnitude, str(1 << 53))
    both = text.op("and", width, "i1", lost, large)
    return text.choose(width, both, "i64", replaced, x)


def _to_odd(text: IrText, x: str, width: int) -> str:
    """f64 to f32, inexact results rounded to the odd neighbour, so that only the next rounding counts."""
    near = text.to("fptrunc", width, x, "double", "float")
    back = text.to("fpext", width, near, "float", "double")
    inexact = text.op("fcmp one", width, "double", back, x)
    over = text.op("fcmp ogt", width, "double", text.call("fabs", width, "double", back),
                   text.call("fabs", width, "double", x))  # fmt: skip
    bits = text.to("bitcast", width, near, "float", "i32")
    down = text.op("sub", width, "i32", bits, text.to("zext", width, over, "i1", "i32"))
    odd = text.op("or", width, "i32", down, "1")
    return text.to("bitcast", width, text.choose(width, inexact, "i32", odd, bits), "i32", "float")


def _to_bf16(text: IrText, x: str, width: int) -> str:
    bits = text.to("bitcast", width, x, "float", "i32")
    high = text.op("lshr", width, "i32", bits, "16")
    odd = text.op("and", width, "i32", high, "1")
    rounded = text.op("add", width, "i32", text.op("add", width, "i32", bits, odd), "32767")
    rounded = text.op("lshr", width, "i32", rounded, "16")
    nan = text.op("fcmp uno", width, "float", x, x)
    quiet = text.op("or", width, "i32", high, "64")
    return text.to("trunc", width, text.choose(width, nan, "i32", quiet, rounded), "i32", "i16")


def _to_half(text: IrText, x: str, width: int) -> str:
    if text.target.has_f16:
        return text.to("bitcast", width, text.to("fptrunc", width, x, "float", "half"), "half", "i16")
    bits = text.to("bitcast", width, x, "float", "i32")
    magnitude = text.op("and", width, "i32", bits, "2147483647")
    odd = text.op("and", width, "i32", text.op("lshr", width, "i32", magnitude, "13"), "1")
    # Normal results: move the exponent's bias from 127 to 15 and round half to even, by integer arithmetic.
    normal = text.op("add", width, "i32", text.op("add", width, "i32", magnitude, str(0xC8000FFF)), odd)
    normal = text.op("lshr", width, "i32", normal, "13")
    # Subnormal ones: adding 0.5 aligns the mantissa so that the hardware rounds it.
    as_float = text.to("bitcast", width, magnitude, "i32", "float")
    aligned = text.to("bitcast", width, text.op("fadd", width, "float", as_float, "0.5"), "float", "i32")
    small = text.op("sub", width, "i32", aligned, str(0x3F000000))
    result = text.choose(width, text.op("icmp ult", width, "i32", magnitude, str(0x38800000)), "i32", small, normal)
    large = text.op("icmp uge", width, "i32", magnitude, str(0x477FF000))
    result = text.choose(width, large, "i32", str(0x7C00), result)
    nan = text.op("icmp ugt", width, "i32", magnitude, str(0x7F800000))
    result = text.choose(width, nan, "i32", str(0x7E00), result)
    sign = text.op("and", width, "i32", text.op("lshr", width, "i32", bits, "16"), "32768")
    return text.to("trunc", width, text.op("or", width, "i32", result, sign), "i32", "i16")
