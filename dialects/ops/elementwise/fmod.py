"""The exact remainder of floats, as C's `fmod`.

``x - q*d`` is a float for every integer quotient q near ``x/d``, so one fused multiply-add is exact while q is a float
too.  Larger quotients are rare: of f32 they are found in f64, and where that has too few bits as well, ``x`` is
``m * 2**n`` in units of the divisor's last place, and ``2**n`` modulo the divisor's significand is found by squaring,
in about a hundred operations whatever n is.
"""

from __future__ import annotations

import numpy as np

from ...registry import Map, op
from ...scalar.float_bits import format_of, two_product
from ...scalar.language import ScalarBuilder, Value
from ...types import DTYPES

F64, U64 = DTYPES["f64"], DTYPES["u64"]


def reduce_once(b: ScalarBuilder, high: Value, low: Value, quotient: Value, d: Value) -> Value:
    """``high + low - quotient*d`` brought into [0, d), where `quotient` is off by one or two at most."""
    product, error = two_product(b, quotient, d)
    r = (high - product) + (low - error)
    r = b.select(r < 0.0, r + d, r)
    r = b.select(r < 0.0, r + d, r)
    return b.select(r >= d, r - d, r)


def multiply_modulo(b: ScalarBuilder, x: Value, y: Value, d: Value) -> Value:
    """``x*y mod d`` for integers in f64 below `d`, itself below 2**53."""
    high, low = two_product(b, x, y)
    return reduce_once(b, high, low, b.trunc(high / d), d)


def significand_and_exponent(b: ScalarBuilder, a: Value) -> tuple[Value, Value]:
    """``(m, e)`` with ``a == m * 2**e``, m and e integers in f64, m of 53 bits; `a` positive and finite."""
    subnormal = a < 2.0**-1022
    scaled = b.select(subnormal, a * 2.0**54, a)
    bits = b.bitcast(scaled, U64)
    m = b.bitcast((bits & ((1 << 52) - 1)) | (1075 << 52), F64)
    e = b.bitcast((bits >> 52) | (1075 << 52), F64) - (2.0**52 + 1075.0)
    return m, b.select(subnormal, e - 54.0, e)


def long_remainder(b: ScalarBuilder, a: Value, d: Value) -> Value:
    """``a mod d`` for positive, finite f64 with ``a >= d``."""
    a_m, a_e = significand_and_exponent(b, a)
    d_m, d_e = significand_and_exponent(b, d)
    n = b.cast(a_e - d_e, U64)
    # 2**n mod d_m: from the leading five bits of n on, a squaring a bit and a doubling where the bit is set.
    power = b.bitcast(((n >> 7) + 1023) << 52, F64)
    for bit in range(6, -1, -1):
        power = multiply_modulo(b, power, power, d_m)
        doubled = power + power
        doubled = b.select(doubled >= d_m, doubled - d_m, doubled)
        power = b.select((n >> bit & 1).differs(0), doubled, power)
    r = multiply_modulo(b, reduce_once(b, a_m, b.constant(0.0, F64), b.trunc(a_m / d_m), d_m), power, d_m)
    # Back to the divisor's units, in two factors because one may be no normal number.
    half = b.trunc(d_e * 0.5)
    return r * _power(b, half) * _power(b, d_e - half)


def _power(b: ScalarBuilder, e: Value) -> Value:
    shifted = e + (1.5 * 2.0**52 + 1023.0)
    return b.bitcast(b.bitcast(shifted, U64) << 52, F64)


def exact_quotient(b: ScalarBuilder, a: Value, d: Value) -> tuple[Value, Value]:
    """The remainder of ``a / d``, both at least 0, and whether it is one: the quotient is short, `d` finite, not 0.

    A rounded quotient that is not too long for a float is the whole part of the exact one, or one more.
    """
    quotient = b.trunc(a / d)
    r = b.fma(-quotient, d, a)
    short = (quotient < 2.0 ** format_of(a).digits) & (d < np.inf)
    return b.select(r < 0.0, r + d, r), short


def any_remainder(b: ScalarBuilder, a: Value, d: Value) -> Value:
    """``a mod d`` of f64 that are at least 0, or infinite, or NaN."""
    ordinary = (a < np.inf) & (d > 0.0)
    quotient = b.trunc(a / d)
    short = reduce_once(b, a, b.constant(0.0, F64), quotient, d)
    # Dekker's product, where there is no fused one, needs room above and below.
    regular = (quotient < 2.0**52) & (a < 2.0**960) & (d > 2.0**-960)
    far = (a >= d) & ~regular

    def long() -> Value:
        inside = far & ordinary
        one = b.constant(1.0, F64)
        return b.select(far, long_remainder(b, b.select(inside, a, one), b.select(inside, d, one)), short)

    r = b.select(a < d, a, b.rare(far, long, short))
    r = b.select(d.equals(np.inf), a, r)
    return b.select(~ordinary | d.differs(d), np.nan, r)


@op
class Fmod(Map):
    """C's `fmod` and, on integers, ``%``: exact, with the dividend's sign; an integer over zero is 0."""

    numpy = np.fmod
    arity = 2
    dtypes = frozenset({"int", "uint", "float"})
    kept = True
    cost = 12.0
    domain = (0.5, 10.0)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        if not x.dtype.is_float:
            return b.rem(x, y)
        a, d = abs(x), abs(y)

        def others() -> Value:
            return b.cast(any_remainder(b, b.cast(a, F64), b.cast(d, F64)), x.dtype)

        if not b.has_fma:
            return b.copysign(others(), x)
        r, short = exact_quotient(b, a, d)
        return b.copysign(b.rare(~short, others, r), x)
