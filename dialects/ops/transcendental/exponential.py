"""Powers of e and of two.

``exp(x) = 2**n * exp(r)`` with n the integer nearest to ``x / ln 2`` and ``|r| <= ln(2)/2``, where a polynomial
(`benchmarks/minimax.py`: ``exp``) gives ``exp(r)``.  Adding a shifter rounds to n and makes ``2**n`` one shift away.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...registry import INEXACT, Map, op
from ...scalar import complex_functions
from ...scalar.float_bits import coefficients, format_of, power_of_two, two_sum
from ...scalar.language import ScalarBuilder, Value

#: ``(exp(r) - 1 - r) / r**2`` on ``|r| <= ln(2)/2``.
TAIL32 = (0.00139325694, 0.00836865138, 0.0416665003, 0.166665211, 0.5)
TAIL64 = (
    2.5130695130507952e-08, 2.7628764458861587e-07, 2.7557188609123442e-06, 2.4801495719534349e-05,
    0.00019841269927880722, 0.0013888888942949844, 0.0083333333333160814, 0.041666666666524965, 0.16666666666666674,
    0.50000000000000122,
)  # fmt: skip

#: ``(tanh(s) - s) / s**3`` over ``s*s``, for ``|s| <= 0.28``.
TANH32 = (-0.0508143902, 0.133192167, -0.333331525)
TANH64 = (
    -0.0012857101769549984, 0.0035712713180432645, -0.0088618937868579651, 0.021869440866284531,
    -0.053968253060332323, 0.13333333332512506, -0.33333333333330822,
)  # fmt: skip

#: ln 2 in two parts; the first has trailing zeros, so that n times it is exact.
LN2_32 = (0.693359375, -2.12194440e-4)
LN2_64 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)


def ln2(x: Value) -> tuple[float, float]:
    """ln 2 in two parts for the type of `x`."""
    return LN2_32 if x.dtype.name == "f32" else LN2_64


def reduce(b: ScalarBuilder, x: Value) -> tuple[Value, Value, Value]:
    """``(shifted n, n, x - n*high)``: the last is exact, and n times the low part of ln 2 is still to be taken off."""
    shifter = format_of(x).shifter
    shifted = b.fma(x, math.log2(math.e), shifter)
    n = shifted - shifter
    return shifted, n, b.fma(n, -ln2(x)[0], x)


def exp_of(b: ScalarBuilder, r: Value) -> Value:
    """``exp(r)`` for ``|r| <= ln(2)/2``."""
    return b.polynomial(r, (*coefficients(r, TAIL32, TAIL64), 1.0, 1.0))


def exp(b: ScalarBuilder, x: Value) -> Value:
    """The body of `Exp`, for a function that wants it inlined."""
    # Beyond these the result is 0 or infinite, and far beyond them n would be no integer of its type any more.
    limit, least, most = (708.0, -746.0, 710.0) if x.dtype.bits == 64 else (87.0, -104.0, 89.0)
    shifted, n, high = reduce(b, below(b, x, most))
    p = exp_of(b, b.fma(n, -ln2(x)[1], high))
    return times_power(b, p, shifted, n, Domain(x, limit, least, most))


class Domain(NamedTuple):
    """Where an exponential is: ordinary up to `limit` on both sides of 0, 0 below `least`, infinite above `most`."""

    x: Value
    limit: float
    least: float
    most: float


def below(b: ScalarBuilder, x: Value, most: float) -> Value:
    """`x`; no more than `most` where `times_power` has no path of its own for what is above."""
    return b.minimum(b.constant(most, x.dtype), x) if has_no_path(b, x) else x


def has_no_path(b: ScalarBuilder, x: Value) -> bool:
    """Whether `times_power` takes all values on one path.  In f64 that takes longer than the branch it saves."""
    return x.dtype.bits == 32 and b.scales(x)


def times_power(b: ScalarBuilder, p: Value, shifted: Value, n: Value, domain: Domain) -> Value:
    """``p * 2**n`` for an n of `below`."""
    x = domain.x
    if has_no_path(b, p):
        return b.select(x < domain.least, 0.0, b.scaled(p, n))

    def slow() -> Value:
        inner = b.select(x < domain.least, 0.0, scale_twice(b, p, n))
        return b.select(x > domain.most, np.inf, inner)

    return b.rare(abs(x) > domain.limit, slow, p * power_of_two(b, shifted))


def scale_twice(b: ScalarBuilder, p: Value, n: Value) -> Value:
    """``p * 2**n`` for an n up to twice the exponents that there are."""
    shifter = format_of(p).shifter
    first = n * 0.5 + shifter
    second = (n - (first - shifter)) + shifter
    return p * power_of_two(b, first) * power_of_two(b, second)


@op
class Exp(Map):
    """e**x.  |error| <= 1 ulp."""

    numpy = np.exp
    seeds = "Eigen exp, Tensure exp"
    promotes = "float"
    dtypes = INEXACT
    mlir = "math.exp"
    ulp = 1.0
    cost = 12.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return exp(b, xs[0])

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return complex_functions.exp(b, xs[0])


@op
class Exp2(Map):
    """2**x.  |error| <= 1 ulp."""

    numpy = np.exp2
    also = ("scipy.special.exp2",)
    promotes = "float"
    dtypes = INEXACT
    mlir = "math.exp2"
    ulp = 1.0
    cost = 12.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        shifter = format_of(x).shifter
        least, most = (-1076.0, 1025.0) if x.dtype.bits == 64 else (-151.0, 129.0)
        a = below(b, x, most)
        shifted = a + shifter
        n = shifted - shifter
        p = exp_of(b, (a - n) * math.log(2))
        return times_power(b, p, shifted, n, Domain(x, most - 4.0, least, most))

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return complex_functions.exp(b, complex_functions.scaled(xs[0], math.log(2)))


def expm1_inside(b: ScalarBuilder, x: Value) -> Value:
    """``exp(x) - 1`` where ``2**n`` is a normal number."""
    shifted, n, high = reduce(b, x)
    low = n * ln2(x)[1]
    r = high - low
    r_error = (high - r) - low
    power = power_of_two(b, shifted)
    curve = b.fma(r * r, b.polynomial(r, coefficients(x, TAIL32, TAIL64)), r_error)
    total, error = two_sum(power - 1.0, power * r)
    return total + b.fma(power, curve, error)


@op
class Expm1(Map):
    """e**x - 1, accurate near 0.  |error| <= 1.2 ulp."""

    numpy = np.expm1
    also = ("scipy.special.expm1",)
    seeds = "Eigen expm1"
    promotes = "float"
    dtypes = INEXACT
    mlir = "math.expm1"
    ulp = 1.2
    cost = 22.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        limit = 700.0 if x.dtype.bits == 64 else 80.0
        # Near zero x is the answer, with its sign where it is a zero.
        tiny = abs(x) < format_of(x).smallest_normal * 2.0
        inside = b.select(tiny, x, expm1_inside(b, x))
        return b.rare(abs(x) > limit, lambda: b.select(x > 0.0, exp(b, x), -1.0), inside)

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return complex_functions.expm1(b, xs[0])


def tanh_inside(b: ScalarBuilder, a: Value) -> Value:
    """``tanh(a)`` for an `a` that is not negative and where ``exp(2*a)`` is below infinity.

    Of ``a = s + n*ln(2)/2`` the second part has the tangent ``(1 - v)/(1 + v)``, where ``v = 2**-n``.  The theorem of
    addition gives the quotient of two sums, of which each rounds; taken from ``1 - v``, which is exact and near the
    result, it is small.  That asks for 0 to be the nearest n for a little longer: so s is between -0.08 and 0.28.
    """
    shifter = format_of(a).shifter
    shifted = b.fma(a - 0.1, -2.0 * math.log2(math.e), shifter)
    n = shifted - shifter
    s = a
    for part in (math.log(2),) if a.dtype.bits == 32 else LN2_64:
        s = b.fma(n, 0.5 * part, s)
    z = s * s
    t = b.fma(s * z, b.polynomial(z, coefficients(a, TANH32, TANH64)), s)
    v = power_of_two(b, shifted)
    near = 1.0 - v
    rest = b.fma(t, 3.0 - v, -near) / b.fma(t, near, 1.0 + v)
    return b.fma(v, rest, near)


@op
class Tanh(Map):
    """The hyperbolic tangent.  |error| <= 2 ulp."""

    numpy = np.tanh
    seeds = "Eigen tanh, Tensure tanh"
    promotes = "float"
    dtypes = INEXACT
    mlir = "math.tanh"
    ulp = 2.0
    cost = 20.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        # From 20 (10) on it is 1; `minimum` keeps a NaN.
        a = b.minimum(b.constant(20.0 if x.dtype.bits == 64 else 10.0, x.dtype), abs(x))
        return b.copysign(tanh_inside(b, a), x)

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return complex_functions.tanh(b, xs[0])


def _sigmoid(x: np.ndarray) -> np.ndarray:
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


@op
class Sigmoid(Map):
    """1 / (1 + e**-x).  |error| <= 3 ulp."""

    numpy = _sigmoid
    also = ("scipy.special.expit",)
    seeds = "Eigen sigmoid"
    promotes = "float"
    ulp = 3.0
    cost = 20.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        e = b.op("exp", -abs(x))
        return b.select(x < 0.0, e, 1.0) / (1.0 + e)


@op
class Sinh(Map):
    """The hyperbolic sine.  |error| <= 4 ulp."""

    numpy = np.sinh
    seeds = "Tensure sinh"
    promotes = "float"
    dtypes = INEXACT
    mlir = "math.sinh"
    ulp = 4.0
    cost = 28.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        a = abs(x)
        e = expm1_inside(b, a)
        inside = 0.5 * (e + e / (e + 1.0))
        r = b.rare(a > (700.0 if x.dtype.bits == 64 else 80.0), lambda: half_exp(b, a), inside)
        return b.select(a < 2.0 ** (-format_of(x).digits // 2), x, b.copysign(r, x))

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return complex_functions.sinh(b, xs[0])


@op
class Cosh(Map):
    """The hyperbolic cosine.  |error| <= 4 ulp."""

    numpy = np.cosh
    seeds = "Tensure cosh"
    promotes = "float"
    dtypes = INEXACT
    mlir = "math.cosh"
    ulp = 4.0
    cost = 24.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        a = abs(xs[0])
        shifted, n, high = reduce(b, a)
        e = exp_of(b, b.fma(n, -ln2(a)[1], high)) * power_of_two(b, shifted)
        limit = 700.0 if a.dtype.bits == 64 else 80.0
        return b.rare(a > limit, lambda: half_exp(b, a), 0.5 * e + 0.5 / e)

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return complex_functions.cosh(b, xs[0])


def half_exp(b: ScalarBuilder, a: Value) -> Value:
    """``exp(a) / 2`` without overflow before its time."""
    half = exp(b, 0.5 * a)
    return (0.5 * half) * half
