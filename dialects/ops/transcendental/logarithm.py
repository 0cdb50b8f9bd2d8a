"""Logarithms.

``x = 2**k * (1 + f)`` with ``sqrt(1/2) <= 1 + f < sqrt(2)``; then ``log(x) = k*ln 2 + log(1 + f)``.  In f32 it is a
polynomial in f; in f64 it is ``2*atanh(f / (2 + f))``, whose polynomial is half as long and worth its division
(`benchmarks/minimax.py`: ``log32`` and ``log64``).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...registry import INEXACT, Map, op
from ...scalar import complex_functions
from ...scalar.float_bits import fast_two_sum, format_of, short
from ...scalar.language import ScalarBuilder, Value
from .exponential import ln2

#: ``(log(1 + f) - f + f*f/2) / f**3``.
TAIL32 = (
    0.0674745739, -0.116760626, 0.118880063, -0.124055013, 0.142195612, -0.166680023, 0.200021192, -0.250000089,
    0.333333135,
)  # fmt: skip
#: ``2*(atanh(s) - s) / s**3`` over ``z = s*s``.
TAIL64 = (
    0.14795594478139434, 0.15314088036529563, 0.18183562760795238, 0.22222198605980334, 0.28571428742028165,
    0.39999999999416608, 0.6666666666666734,
)  # fmt: skip


class Parts(NamedTuple):
    """``log(x) = k*ln 2 + f - half + rest``, where `half` is ``f*f/2``."""

    k: Value
    f: Value
    half: Value
    rest: Value


def exponent_and_fraction(b: ScalarBuilder, x: Value) -> tuple[Value, Value]:
    """``(k, f)`` of a normal, positive `x`."""
    form = format_of(x)
    whole = form.unsigned
    root = int(np.asarray(math.sqrt(0.5), x.dtype.numpy).view(whole.numpy))
    one = form.bias << form.digits
    bits = b.bitcast(x, whole) + (one - root)
    # Integers below 2**digits become floats by being the low bits of a float whose last place is one.
    high = (form.bias + form.digits) << form.digits
    k = b.bitcast((bits >> form.digits) | high, x.dtype) - (2.0**form.digits + form.bias)
    m = b.bitcast((bits & ((1 << form.digits) - 1)) + root, x.dtype)
    return k, m - 1.0


def parts_of(b: ScalarBuilder, x: Value) -> Parts:
    """The parts of a normal, positive `x`."""
    k, f = exponent_and_fraction(b, x)
    half = 0.5 * f * f
    if x.dtype.name == "f32":
        return Parts(k, f, half, f * f * f * b.polynomial(f, TAIL32))
    s = f / (f + 2.0)
    z = s * s
    return Parts(k, f, half, s * b.fma(z, b.polynomial(z, TAIL64), half))


def parts(b: ScalarBuilder, x: Value) -> Parts:
    """The parts of any positive `x`; subnormal ones are scaled first."""
    form = format_of(x)
    subnormal = x < form.smallest_normal
    up = form.digits + 2
    found = parts_of(b, b.select(subnormal, x * 2.0**up, x))
    return Parts(b.select(subnormal, found.k - float(up), found.k), found.f, found.half, found.rest)


def natural(b: ScalarBuilder, p: Parts, more: Value | None = None) -> Value:
    """The natural logarithm, plus a correction that is small beside it."""
    high, low = ln2(p.f)
    total, error = fast_two_sum(p.k * high, p.f)
    tail = b.fma(p.k, low, p.rest if more is None else p.rest + more) - p.half
    return total + (tail + error)


def in_base(b: ScalarBuilder, p: Parts, inverse: tuple[float, float], log_two: tuple[float, float]) -> Value:
    """``log(x) / log(base)``; `inverse` is ``1 / log(base)`` and `log_two` ``log2(base) ** -1``, each in two parts."""
    high = short(b, p.f - p.half)
    low = ((p.f - high) - p.half) + p.rest
    # A k that is not 0 makes the larger summand.
    total, error = fast_two_sum(p.k * log_two[0], high * inverse[0])
    rest = b.fma(low, inverse[0], (low + high) * inverse[1])
    if log_two[1]:
        rest = b.fma(p.k, log_two[1], rest)
    return total + (error + rest)


def with_edges(b: ScalarBuilder, x: Value, inside: Value) -> Value:
    """-inf at 0, NaN below, infinity and NaN as they are."""
    ordinary = (x > 0.0) & (x < np.inf)

    def edges() -> Value:
        below = b.select(x.equals(0.0), -np.inf, b.constant(np.nan, x.dtype))
        return b.select(ordinary, inside, b.select(x > 0.0, x, below))

    return b.rare(~ordinary, edges, inside)


def two_parts(value: float, exact: str, x: Value) -> tuple[float, float]:
    """A constant as a short high part, whose product with a short float or a small integer is exact, and the rest."""
    from fractions import Fraction

    keep = 12 if x.dtype.bits == 32 else 32
    scale = 2.0 ** (keep - math.frexp(value)[1])
    high = math.floor(value * scale) / scale
    return high, float(Fraction(exact) - Fraction(high))


LOG2_E = "1.442695040888963407359924681001892137"
LOG10_E = "0.434294481903251827651128918916605082"
LOG10_2 = "0.301029995663981195213738894724493027"


@op
class Log(Map):
    """The natural logarithm.  |error| <= 1 ulp."""

    numpy = np.log
    seeds = "Eigen log, Tensure log"
    promotes = "float"
    dtypes = INEXACT
    mlir = "math.log"
    ulp = 1.0
    cost = 24.0
    domain = (0.01, 100.0)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        return with_edges(b, x, natural(b, parts(b, x)))

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return complex_functions.log(b, xs[0])


@op
class Log2(Map):
    """The logarithm to base 2.  |error| <= 1 ulp."""

    numpy = np.log2
    seeds = "Eigen log2"
    promotes = "float"
    dtypes = INEXACT
    mlir = "math.log2"
    ulp = 1.0
    cost = 30.0
    domain = (0.01, 100.0)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        return with_edges(b, x, in_base(b, parts(b, x), two_parts(math.log2(math.e), LOG2_E, x), (1.0, 0.0)))

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return complex_functions.scaled(complex_functions.log(b, xs[0]), math.log2(math.e))


@op
class Log10(Map):
    """The logarithm to base 10.  |error| <= 1 ulp."""

    numpy = np.log10
    seeds = "Eigen log10, Tensure log10"
    promotes = "float"
    dtypes = INEXACT
    mlir = "math.log10"
    ulp = 1.0
    cost = 32.0
    domain = (0.01, 100.0)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        inverse = two_parts(math.log10(math.e), LOG10_E, x)
        return with_edges(b, x, in_base(b, parts(b, x), inverse, two_parts(math.log10(2.0), LOG10_2, x)))

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return complex_functions.scaled(complex_functions.log(b, xs[0]), math.log10(math.e))


def log1p(b: ScalarBuilder, x: Value) -> Value:
    """The body of `Log1p` for ``x > -1`` and finite."""
    u = 1.0 + x
    # What the sum lost, relative to it; the larger of the two summands comes first.
    large = x > 1.0
    lost = b.select(large, 1.0 - (u - x), x - (u - 1.0))
    return natural(b, parts_of(b, u), lost / u)


@op
class Log1p(Map):
    """log(1 + x), accurate near 0.  |error| <= 1 ulp."""

    numpy = np.log1p
    also = ("scipy.special.log1p",)
    seeds = "Eigen log1p"
    promotes = "float"
    dtypes = INEXACT
    mlir = "math.log1p"
    ulp = 1.0
    cost = 30.0
    domain = (-0.9, 10.0)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        tiny = abs(x) < format_of(x).smallest_normal
        inside = b.select(tiny, x, log1p(b, x))
        ordinary = (x > -1.0) & (x < np.inf)

        def edges() -> Value:
            below = b.select(x.equals(-1.0), -np.inf, b.constant(np.nan, x.dtype))
            return b.select(ordinary, inside, b.select(x > 0.0, x, below))

        return b.rare(~ordinary, edges, inside)

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return complex_functions.log1p(b, xs[0])
