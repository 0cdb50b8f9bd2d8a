"""The bits of f32 and f64, and arithmetic in two words, for the bodies of elementary functions."""

from __future__ import annotations

from typing import NamedTuple

from ..types import DTYPES, DType
from .language import ScalarBuilder, Value

__all__ = [
    "FORMATS", "FloatFormat", "coefficients", "fast_two_sum", "format_of", "power_of_two", "short", "split",
    "two_product", "two_sum",
]  # fmt: skip


class FloatFormat(NamedTuple):
    """`digits` stored significand bits, an exponent `bias`, and the unsigned and signed integers of the same width."""

    digits: int
    bias: int
    unsigned: DType
    signed: DType

    @property
    def shifter(self) -> float:
        """Adding it rounds to an integer n and leaves ``n + bias`` in the low bits, ready to become ``2**n``."""
        return 1.5 * 2.0**self.digits + self.bias

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** (1 - self.bias)


FORMATS = {
    "f32": FloatFormat(23, 127, DTYPES["u32"], DTYPES["i32"]),
    "f64": FloatFormat(52, 1023, DTYPES["u64"], DTYPES["i64"]),
}


def format_of(x: Value) -> FloatFormat:
    return FORMATS[x.dtype.name]


def coefficients(x: Value, f32: tuple[float, ...], f64: tuple[float, ...]) -> tuple[float, ...]:
    """The polynomial for the type of `x`."""
    return f32 if x.dtype.name == "f32" else f64


def power_of_two(b: ScalarBuilder, shifted: Value) -> Value:
    """``2**n`` of ``n + shifter``; any value where that is not a normal number."""
    form = format_of(shifted)
    return b.bitcast(b.bitcast(shifted, form.unsigned) << form.digits, shifted.dtype)


def two_sum(a: Value, c: Value) -> tuple[Value, Value]:
    """The rounded sum and its error, exactly."""
    total = a + c
    part = total - a
    return total, (a - (total - part)) + (c - part)


def fast_two_sum(a: Value, c: Value) -> tuple[Value, Value]:
    """The same where ``|a| >= |c|`` or `a` is zero."""
    total = a + c
    return total, c - (total - a)


def two_product(b: ScalarBuilder, x: Value, y: Value) -> tuple[Value, Value]:
    """The rounded product and its error, exactly unless a part under- or overflows."""
    product = x * y
    if b.has_fma:
        return product, b.fma(x, y, -product)
    x_high, x_low = split(x)
    y_high, y_low = split(y)
    return product, ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low


def split(x: Value) -> tuple[Value, Value]:
    """Two halves of the significand whose products are exact (Dekker)."""
    scaled = x * (2.0 ** ((format_of(x).digits + 2) // 2) + 1)
    high = scaled - (scaled - x)
    return high, x - high


def short(b: ScalarBuilder, x: Value) -> Value:
    """`x` without the lower half of its significand."""
    form = format_of(x)
    keep = -(1 << (form.digits + 1) // 2 + 1)
    return b.bitcast(b.bitcast(x, form.unsigned) & keep, x.dtype)
