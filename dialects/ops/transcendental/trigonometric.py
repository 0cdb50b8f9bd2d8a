"""Sine, cosine, tangent and their inverses (`benchmarks/minimax.py`: ``sin``, ``cos``, ``asin``, ``atan``).

Those of f32 angles are computed in f64, where one short polynomial, without corrections, is exact enough, and rounded:
on registers half as long that takes less than two polynomials and a remainder in two words (`half-turn`, ``tan-sin``,
``tan-cos``).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...registry import INEXACT, Map, op
from ...scalar import complex_functions
from ...scalar.float_bits import coefficients, format_of
from ...scalar.language import ScalarBuilder, Value
from ...scalar.payne_hanek import LARGEST_REGULAR, fold_f32, quarter_turns_of_f32, reduce_huge, reduce_regular
from ...types import DTYPES

F64, U64 = DTYPES["f64"], DTYPES["u64"]

#: ``(sin(x) - x) / x**3`` and ``(cos(x) - 1 + x*x/2) / x**4`` over ``x*x``.
SIN32 = (-0.00019518612, 0.00833219104, -0.166666552)
SIN64 = (
    1.5896878788715136e-10, -2.50507597908038e-08, 2.7557313704659238e-06, -0.00019841269829852837,
    0.008333333333322486, -0.16666666666666632,
)  # fmt: skip
COS32 = (2.44306666e-05, -0.00138873013, 0.0416666456)
COS64 = (
    -1.1359933037535411e-11, 2.087572926461278e-09, -2.7557314400955606e-07, 2.4801587289671425e-05,
    -0.0013888888888874474, 0.041666666666666602,
)  # fmt: skip
#: ``sin(x)/x - 1`` over ``x*x`` in f64 for an f32 result, for ``|x| <= pi/2``, and up to pi/4 with ``cos(x) - 1``.
HALF_TURN = (2.6089369797969188e-06, -0.00019811118676966375, 0.008333088319677833, -0.1666666047364823)
TAN_SIN = (-0.00019517356015621225, 0.00833217847434941, -0.16666654947064777)
TAN_COS = (2.439045947209223e-05, -0.0013886764612254653, 0.041666623376965035, -0.4999999972582756)
#: ``(asin(x) - x) / x**3`` for ``x*x <= 1/4``; ``(atan(x) - x) / x**3`` for ``x <= tan(pi/8)``.
ASIN32 = (0.0422193259, 0.0241484977, 0.045476567, 0.0749524981, 0.166667536)
ASIN64 = (
    0.031981808213481379, -0.016326997379811508, 0.019594622851715839, 0.0065033841624330809, 0.01217498166741382,
    0.013884343224185693, 0.017359796501422581, 0.022371751872636902, 0.030381959398500694, 0.044642856821895976,
    0.075000000003449099, 0.16666666666665375,
)  # fmt: skip
ATAN32 = (-0.0609283112, 0.10600204, -0.142445132, 0.199985325, -0.333333164)
ATAN64 = (
    0.014889749878226452, -0.033171465589215979, 0.044904351743453662, -0.052151543516136108, 0.05876513018511105,
    -0.066661744025064126, 0.076922791866606277, -0.090909079854151795, 0.1111111108373815, -0.14285714285316348,
    0.19999999999997095, -0.33333333333333326,
)  # fmt: skip

#: Below this an f64 is its own sine and tangent.
TINY = 2.0**-27
#: What a function makes of the quarter turns, the sine and the cosine of the remainder.
Combine = Callable[[ScalarBuilder, Value, Value, Value], Value]


def sine(b: ScalarBuilder, high: Value, low: Value) -> Value:
    z = high * high
    return high + b.fma(high * z, b.polynomial(z, coefficients(high, SIN32, SIN64)), low)


def cosine(b: ScalarBuilder, high: Value, low: Value) -> Value:
    z = high * high
    half = 0.5 * z
    w = 1.0 - half
    tail = b.fma(z * z, b.polynomial(z, coefficients(high, COS32, COS64)), -(high * low))
    return w + (((1.0 - w) - half) + tail)


def of_angle(b: ScalarBuilder, x: Value, combine: Combine) -> Value:
    """`combine` of the reduced f64, by the short way or, where lanes need it, the long one."""

    def finish(q: Value, high: Value, low: Value) -> Value:
        return combine(b, q, sine(b, high, low), cosine(b, high, low))

    regular = abs(x) < LARGEST_REGULAR
    return b.rare(~regular, lambda: finish(*reduce_huge(b, x)), finish(*reduce_regular(b, x)))


def sine_of_f32(b: ScalarBuilder, x: Value, turned: bool = False) -> Value:
    """The sine of an f32, or its cosine."""
    r = fold_f32(b, x, turned)
    return b.cast(r * b.polynomial(r * r, (*HALF_TURN, 1.0)), x.dtype)


def tangent_of_f32(b: ScalarBuilder, x: Value) -> Value:
    """The tangent of an f32: sine and cosine of what is left of it, rounded and divided."""
    wide = b.cast(x, F64)

    def finish(q: Value, r: Value) -> Value:
        z, odd = r * r, (q & 1).differs(0)
        s, c = r * b.polynomial(z, (*TAN_SIN, 1.0)), b.polynomial(z, (*TAN_COS, 1.0))
        return b.cast(b.select(odd, -c, s), x.dtype) / b.cast(b.select(odd, s, c), x.dtype)

    near = finish(*quarter_turns_of_f32(b, wide))
    return b.rare(~(abs(x) < LARGEST_REGULAR), lambda: finish(*reduce_huge(b, wide)[:2]), near)


def signed(b: ScalarBuilder, q: Value, r: Value) -> Value:
    """`r`, negated where bit 1 of the quarter turns is set."""
    whole = format_of(r).unsigned
    return b.bitcast(b.bitcast(r, whole) ^ b.cast(((q & 2) << 62) >> (64 - r.dtype.bits), whole), r.dtype)


@op
class Sin(Map):
    """The sine, accurate for every argument.  |error| <= 1.5 ulp."""

    numpy = np.sin
    seeds = "Tensure sin"
    promotes = "float"
    dtypes = INEXACT
    mlir = "math.sin"
    ulp = 1.5
    cost = 34.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        def combine(b: ScalarBuilder, q: Value, s: Value, c: Value) -> Value:
            return signed(b, q, b.select((q & 1).differs(0), c, s))

        (x,) = xs
        if x.dtype is not F64:
            return sine_of_f32(b, x)
        return b.select(abs(x) < TINY, x, of_angle(b, x, combine))

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return complex_functions.sin(b, xs[0])


@op
class Cos(Map):
    """The cosine, accurate for every argument.  |error| <= 1.5 ulp."""

    numpy = np.cos
    seeds = "Tensure cos"
    promotes = "float"
    dtypes = INEXACT
    mlir = "math.cos"
    ulp = 1.5
    cost = 34.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        def combine(b: ScalarBuilder, q: Value, s: Value, c: Value) -> Value:
            return signed(b, q + 1, b.select((q & 1).differs(0), s, c))

        (x,) = xs
        return of_angle(b, x, combine) if x.dtype is F64 else sine_of_f32(b, x, turned=True)

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return complex_functions.cos(b, xs[0])


@op
class Tan(Map):
    """The tangent, accurate for every argument.  |error| <= 2.5 ulp."""

    numpy = np.tan
    seeds = "Tensure tan"
    promotes = "float"
    dtypes = INEXACT
    mlir = "math.tan"
    ulp = 2.5
    cost = 40.0
    domain = (-1.5, 1.5)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        def combine(b: ScalarBuilder, q: Value, s: Value, c: Value) -> Value:
            odd = (q & 1).differs(0)
            return b.select(odd, -c, s) / b.select(odd, s, c)

        (x,) = xs
        if x.dtype is not F64:
            return tangent_of_f32(b, x)
        return b.select(abs(x) < TINY, x, of_angle(b, x, combine))

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return complex_functions.tan(b, xs[0])


def pi_over(divisor: int, x: Value) -> tuple[float, float]:
    """pi over a power of two in two words of the type of `x`."""
    if x.dtype is F64:
        return math.pi / divisor, 1.2246467991473532e-16 / divisor
    return float(np.float32(math.pi)) / divisor, (math.pi - float(np.float32(math.pi))) / divisor


def arcsine_parts(b: ScalarBuilder, a: Value) -> tuple[Value, Value, Value]:
    """``(near, s, tail)``: ``asin(s) = s + tail``, where `s` is ``a`` up to a half, ``sqrt((1 - a)/2)`` above."""
    near = a <= 0.5
    z = b.select(near, a * a, 0.5 - 0.5 * a)
    s = b.select(near, a, b.sqrt(z))
    return near, s, s * z * b.polynomial(z, coefficients(a, ASIN32, ASIN64))


@op
class Asin(Map):
    """The inverse sine; NaN outside [-1, 1].  |error| <= 2 ulp."""

    numpy = np.arcsin
    seeds = "Tensure asin"
    promotes = "float"
    dtypes = INEXACT
    mlir = "math.asin"
    ulp = 2.0
    cost = 26.0
    domain = (-1.0, 1.0)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        near, s, tail = arcsine_parts(b, abs(x))
        high, low = pi_over(2, x)
        far = (high - 2.0 * s) - (2.0 * tail - low)
        return b.copysign(b.select(near, s + tail, far), x)

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return complex_functions.asin(b, xs[0])


@op
class Acos(Map):
    """The inverse cosine; NaN outside [-1, 1].  |error| <= 2 ulp."""

    numpy = np.arccos
    seeds = "Tensure acos"
    promotes = "float"
    dtypes = INEXACT
    mlir = "math.acos"
    ulp = 2.0
    cost = 28.0
    domain = (-1.0, 1.0)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        near, s, tail = arcsine_parts(b, abs(x))
        (half, half_low), (whole, whole_low) = pi_over(2, x), pi_over(1, x)
        middle = half - (b.copysign(s, x) - (half_low - b.copysign(tail, x)))
        outer = 2.0 * (s + tail)
        turned = whole - (outer - whole_low)
        return b.select(near, middle, b.select(x < 0.0, turned, outer))

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return complex_functions.acos(b, xs[0])


def arctangent(b: ScalarBuilder, y: Value, x: Value) -> Value:
    """The angle of the point (`x`, `y`), both at least 0: between 0 and pi/2."""
    steep = y > 2.414213562373095 * x
    middle = y > 0.41421356237309503 * x
    numerator = b.select(steep, -x, b.select(middle, y - x, y))
    denominator = b.select(steep, y, b.select(middle, y + x, x))
    t = numerator / denominator
    z = t * t
    (half, half_low), (quarter, quarter_low) = pi_over(2, x), pi_over(4, x)
    base = b.select(steep, half, b.select(middle, b.constant(quarter, x.dtype), b.constant(0.0, x.dtype)))
    low = b.select(steep, half_low, b.select(middle, b.constant(quarter_low, x.dtype), b.constant(0.0, x.dtype)))
    return base + (t + b.fma(t * z, b.polynomial(z, coefficients(x, ATAN32, ATAN64)), low))


@op
class Atan(Map):
    """The inverse tangent.  |error| <= 2 ulp."""

    numpy = np.arctan
    seeds = "Tensure atan"
    promotes = "float"
    dtypes = INEXACT
    mlir = "math.atan"
    ulp = 2.0
    cost = 30.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        return b.copysign(arctangent(b, abs(x), b.constant(1.0, x.dtype)), x)

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return complex_functions.atan(b, xs[0])


@op
class Atan2(Map):
    """The angle of the point (second operand, first operand).  |error| <= 3 ulp."""

    numpy = np.arctan2
    arity = 2
    promotes = "float"
    mlir = "math.atan2"
    ulp = 3.0
    cost = 40.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        y, x = xs
        # Out of the way of overflow and underflow: a power of two that both are multiplied with.
        large, small = 2.0 ** (format_of(x).bias - 3), 2.0 ** (6 - format_of(x).bias + format_of(x).digits)
        biggest = b.maximum(abs(y), abs(x))
        factor = b.select(biggest > large, b.constant(0.125, x.dtype), b.constant(1.0, x.dtype))
        factor = b.select(biggest < small, 1.0 / small, factor)
        up, across = abs(y) * factor, abs(x) * factor
        infinite, zero = up.equals(np.inf) & across.equals(np.inf), biggest.equals(0.0)
        up, across = b.select(infinite, 1.0, up), b.select(infinite | zero, 1.0, across)
        r = arctangent(b, up, across)
        whole, whole_low = pi_over(1, x)
        behind = b.copysign(b.constant(1.0, x.dtype), x) < 0.0
        r = b.copysign(b.select(behind, whole - (r - whole_low), r), y)
        return b.select(x.differs(x) | y.differs(y), np.nan, r)
