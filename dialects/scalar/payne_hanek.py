"""An angle as a number of quarter turns and a remainder within an eighth of a turn, for every finite float.

Up to 2**19 quarter turns pi/2 in three parts is enough (Cody and Waite).  Beyond, the bits of 2/pi that matter are
picked from a string of 1280 by selects, without a table in memory, and multiplied with the significand in integers
(Payne and Hanek).  The remainder of an f32 needs no second word, as no f32 is within 2**-29 of a quarter turn.
"""

from __future__ import annotations

from ..types import DTYPES
from .float_bits import fast_two_sum, two_product, two_sum
from .language import ScalarBuilder, Value

__all__ = ["LARGEST_REGULAR", "fold_f32", "quarter_turns_of_f32", "reduce_huge", "reduce_regular"]

F64, I64, U64 = DTYPES["f64"], DTYPES["i64"], DTYPES["u64"]
#: Above this, `reduce_huge`.
LARGEST_REGULAR = 800000.0
#: pi/2 in parts; the first two have 33 bits, so that n times them is exact.
HALF_PI = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
#: pi/2 in two whole words.
HALF_PI_WORD = (1.57079632679489655800e00, 6.12323399573676603587e-17)
TWO_OVER_PI = 0.63661977236758134308
SHIFTER = 1.5 * 2.0**52

#: 64 zero bits, then the bits of 2/pi behind the point.
_WORDS = (
    0x0000000000000000, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041,
    0xFE5163ABDEBBC561, 0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E,
    0xE88235F52EBB4484, 0xE99C7026B45F7E41, 0x3991D639835339F4, 0x9C845F8BBDF9283B,
    0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7, 0x4F463F669E5FEA2D,
    0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB,
)  # fmt: skip


def reduce_regular(b: ScalarBuilder, x: Value) -> tuple[Value, Value, Value]:
    """``(q, high, low)`` of an f64 `x`: u64 quarter turns modulo 4 in the low bits, and the rest in two parts."""
    shifted = b.fma(x, TWO_OVER_PI, SHIFTER)
    n = shifted - SHIFTER
    first = b.fma(n, -HALF_PI[0], x)
    r, error = two_sum(first, n * -HALF_PI[1])
    high, low = fast_two_sum(r, b.fma(n, -HALF_PI[2], error))
    return b.bitcast(shifted, U64), high, low


def quarter_turns_of_f32(b: ScalarBuilder, x: Value) -> tuple[Value, Value]:
    """``(q, r)`` of an f64 that an f32 may be: u64 quarter turns modulo 4 in the low bits, and the rest."""
    shifted = b.fma(x, TWO_OVER_PI, SHIFTER)
    return b.bitcast(shifted, U64), _without_turns(b, x, shifted - SHIFTER, 1.0)


def fold_f32(b: ScalarBuilder, x: Value, turned: bool) -> Value:
    """An f64 within a quarter turn that has the sine of an f32, or its cosine where `turned`."""
    wide = b.cast(x, F64)
    # The nearest half turn; where turned one that is a quarter turn from a whole one.
    shifted = b.fma(wide, 0.5 * TWO_OVER_PI, 0.5) + SHIFTER if turned else b.fma(wide, 0.5 * TWO_OVER_PI, SHIFTER)
    n = shifted - SHIFTER
    r = _without_turns(b, wide, n - 0.5 if turned else n, 2.0)
    # The sine is odd, so each half turn changes the sign of the angle.
    near = b.bitcast(b.bitcast(r, U64) ^ (b.bitcast(shifted, U64) << 63), F64)

    def huge() -> Value:
        q, r, _ = reduce_huge(b, wide)
        q = q + 1 if turned else q
        r = b.select((q & 1).differs(0), HALF_PI_WORD[0] - abs(r), r)
        return b.bitcast(b.bitcast(r, U64) ^ ((q & 2) << 62), F64)

    return b.rare(~(abs(x) < LARGEST_REGULAR), huge, near)


def _without_turns(b: ScalarBuilder, x: Value, n: Value, unit: float) -> Value:
    """What is left of an f32's value without n times so many quarter turns."""
    if b.has_fma:
        # The first is exact: a multiple of 2**-52 below 2.
        return b.fma(n, -unit * HALF_PI_WORD[1], b.fma(n, -unit * HALF_PI_WORD[0], x))
    for part in HALF_PI:
        x = x - n * (unit * part)
    return x


def reduce_huge(b: ScalarBuilder, x: Value) -> tuple[Value, Value, Value]:
    """The same for any finite f64 of magnitude one or more; NaN in `high` for the others."""
    bits = b.bitcast(abs(x), U64)
    exponent = bits >> 52
    m = (bits & ((1 << 52) - 1)) | (1 << 52)
    # x is m * 2**(exponent - 1075).  Bits of 2/pi with a weight that makes whole turns do not matter.
    start = exponent - (1075 - 62)
    w0, w1, w2 = _window(b, start)
    middle = m * w1
    low = middle + _multiply_high(m, w2)
    carry = b.cast(low < middle, U64)
    high = m * w0 + _multiply_high(m, w1) + carry
    q = (high + (1 << 61)) >> 62
    rest = b.bitcast(high - (q << 62), I64)
    pieces = (
        b.cast(rest >> 32, F64) * 2.0**-30,
        b.cast(rest & 0xFFFFFFFF, F64) * 2.0**-62,
        b.cast(low >> 32, F64) * 2.0**-94,
        b.cast(low & 0xFFFFFFFF, F64) * 2.0**-126,
    )
    top, tail = two_sum(pieces[0], pieces[1])
    top, tail = two_sum(top, tail + (pieces[2] + pieces[3]))
    product, error = two_product(b, top, b.constant(HALF_PI_WORD[0], F64))
    total, low_part = fast_two_sum(product, error + b.fma(top, HALF_PI_WORD[1], tail * HALF_PI_WORD[0]))
    negative = x < 0.0
    total = b.select(abs(x) < float("inf"), total, float("nan"))
    return (b.select(negative, 0 - q, q), b.select(negative, -total, total), b.select(negative, -low_part, low_part))


def _window(b: ScalarBuilder, start: Value) -> tuple[Value, Value, Value]:
    """192 bits from bit `start` on."""
    word = start >> 6
    words: list[Value] = [b.constant(w, U64) for w in _WORDS]
    for step in (16, 8, 4, 2, 1):
        chosen = (word & step).differs(0)
        words = [
            b.select(chosen, words[i + step], words[i]) if i + step < len(words) else words[i] for i in range(step + 3)
        ]
    shift = start & 63
    back = 64 - shift
    first, second, third = ((words[i] << shift) | (words[i + 1] >> back) for i in range(3))
    return first, second, third


def _multiply_high(m: Value, w: Value) -> Value:
    """The upper 64 bits of a product; `m` is below 2**53."""
    m_low, m_high = m & 0xFFFFFFFF, m >> 32
    w_low, w_high = w & 0xFFFFFFFF, w >> 32
    middle = m_high * w_low + ((m_low * w_low) >> 32)
    return m_high * w_high + (middle >> 32) + ((m_low * w_high + (middle & 0xFFFFFFFF)) >> 32)
