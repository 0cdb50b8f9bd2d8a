"""Bessel functions of orders 0 and 1.

Near 0 they are their power series; beyond, the modified ones are polynomials in 1/x, and the others Hankel's form,
``J = sqrt(2/(pi*x)) * (P*cos(chi) - Q*sin(chi))`` with ``chi = x - (2n + 1)*pi/4``, where P and Q are polynomials in
1/x**2 (`dialects/scalar/bessel_coefficients.py`).  The cosine of the sum is taken apart, so that x itself is reduced
exactly.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from ....registry import op
from ....scalar import bessel_coefficients as fits
from ....scalar.gamma import InDouble
from ....scalar.language import ScalarBuilder, Value

EULER = 0.57721566490153286061


@cache
def series(order: int, terms: int, sign: int = 1, second: bool = False) -> tuple[float, ...]:
    """Coefficients over ``z = x*x/4`` of J or I over ``(x/2)**n``; `second`: of what K or Y has beside the logarithm.

    The latter are ``H(k)/k!**2`` and, for order 1, ``(H(k) + H(k+1) - 2*euler) / (k! * (k+1)!)``.
    """
    from fractions import Fraction  # which loads `decimal`

    def harmonic_number(n: int) -> Fraction:
        return sum((Fraction(1, i) for i in range(1, n + 1)), Fraction(0))

    found = []
    for k in range(terms):
        weight = Fraction(sign**k, math.factorial(k) * math.factorial(k + order))
        if second:
            harmonic = harmonic_number(k)
            if order:
                harmonic += harmonic_number(k + 1) - 2 * Fraction(EULER)
            weight *= harmonic
        found.append(float(weight))
    return tuple(found[::-1])


#: Terms of series that are good to the last bit: I and J up to 8, what K and Y have beside the logarithm up to 1 and 2.
GROWING, WAVES, GROWING_SECOND, WAVES_SECOND = 26, 13, 14, 13
I_FAR, K_FAR = (fits.I0, fits.I1), (fits.K0, fits.K1)
P_NEAR, P_FAR = (fits.P0_NEAR, fits.P1_NEAR), (fits.P0_FAR, fits.P1_FAR)
Q_NEAR, Q_FAR = (fits.Q0_NEAR, fits.Q1_NEAR), (fits.Q0_FAR, fits.Q1_FAR)


def growing(b: ScalarBuilder, order: int, a: Value, scaled: bool) -> Value:
    """I of ``a >= 0``; times ``exp(-a)`` where `scaled`."""
    bounded = b.minimum(b.constant(8.0, a.dtype), a)
    near = b.polynomial(0.25 * bounded * bounded, series(order, GROWING))
    near = near * (0.5 * bounded) if order else near
    near = near * b.op("exp", -bounded) if scaled else near

    def far() -> Value:
        r = b.polynomial(16.0 / a - 1.0, I_FAR[order]) / b.sqrt(a)
        if not scaled:
            # In two steps: the exponential overflows before the result does.
            half = b.op("exp", 0.5 * a)
            r = b.select(a.equals(np.inf), np.inf, (r * half) * half)
        return r

    return b.rare(a > 8.0, far, near)


def falling(b: ScalarBuilder, order: int, x: Value, scaled: bool) -> Value:
    """K of x; times ``exp(x)`` where `scaled`."""
    bounded = b.minimum(b.constant(1.0, x.dtype), x)
    z = 0.25 * bounded * bounded
    log, second = b.op("log", bounded) - math.log(2), b.polynomial(z, series(order, GROWING_SECOND, second=True))
    first = b.polynomial(z, series(order, GROWING)[-GROWING_SECOND:])
    if order:
        near = 1.0 / bounded + 0.5 * bounded * (log * first - 0.5 * second)
    else:
        near = second - (log + EULER) * first
    near = near * b.op("exp", bounded) if scaled else near

    def far() -> Value:
        r = b.polynomial(2.0 / x - 1.0, K_FAR[order]) / b.sqrt(x)
        return r if scaled else b.select(x.equals(np.inf), 0.0, b.op("exp", -x) * r)

    r = b.rare(x > 1.0, far, near)
    return b.select(x > 0.0, r, b.select(x.equals(0.0), np.inf, b.constant(np.nan, x.dtype)))


def hankel(b: ScalarBuilder, order: int, x: Value) -> tuple[Value, Value]:
    """(J, Y) of ``x >= 2``."""
    w = 1.0 / (x * x)
    near, t, u = x < 5.0, (w - 0.145) * (1.0 / 0.105), 50.0 * w - 1.0
    p = b.select(near, b.polynomial(t, P_NEAR[order]), b.polynomial(u, P_FAR[order]))
    q = b.select(near, b.polynomial(t, Q_NEAR[order]), b.polynomial(u, Q_FAR[order])) / x
    s, c = b.op("sin", x), b.op("cos", x)
    cosine, sine = (s - c, -(s + c)) if order else (c + s, s - c)
    scale = 1.0 / b.sqrt(x * math.pi)
    infinite = x.equals(np.inf)
    j, y = scale * (p * cosine - q * sine), scale * (p * sine + q * cosine)
    return b.select(infinite, 0.0, j), b.select(infinite, 0.0, y)


def wave(b: ScalarBuilder, order: int, a: Value) -> Value:
    """J of ``a >= 0``."""
    bounded = b.minimum(b.constant(2.0, a.dtype), a)
    near = b.polynomial(0.25 * bounded * bounded, series(order, WAVES, -1))
    near = near * (0.5 * bounded) if order else near
    return b.rare(a > 2.0, lambda: hankel(b, order, b.maximum(b.constant(2.0, a.dtype), a))[0], near)


def second_wave(b: ScalarBuilder, order: int, x: Value) -> Value:
    """Y of x."""
    bounded = b.minimum(b.constant(2.0, x.dtype), x)
    z = 0.25 * bounded * bounded
    first = b.polynomial(z, series(order, WAVES, -1))
    second = b.polynomial(z, series(order, WAVES_SECOND, -1, second=True))
    log = b.op("log", bounded) - math.log(2)
    if order:
        near = (2.0 / math.pi) * (0.5 * bounded * (log * first - 0.5 * second) - 1.0 / bounded)
    else:
        near = (2.0 / math.pi) * ((log + EULER) * first - second)
    r = b.rare(x > 2.0, lambda: hankel(b, order, b.maximum(b.constant(2.0, x.dtype), x))[1], near)
    return b.select(x > 0.0, r, b.select(x.equals(0.0), -np.inf, b.constant(np.nan, x.dtype)))


class _Bessel(InDouble):
    ulp = 4.0
    cost = 250.0
    domain = (-20.0, 20.0)


class _OfPositive(_Bessel):
    domain = (0.0, 20.0)


@op
class BesselI0(_Bessel):
    """The modified Bessel function of the first kind, order 0.  |error| <= 4 ulp of x and result."""

    also = ("scipy.special.i0", np.i0)
    seeds = "Eigen bessel_i0"

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return growing(b, 0, abs(xs[0]), False)


@op
class BesselI0e(_Bessel):
    """``exp(-|x|) * bessel_i0(x)``.  |error| <= 4 ulp of x and result."""

    also = ("scipy.special.i0e",)
    seeds = "Eigen bessel_i0e"

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        r = growing(b, 0, abs(xs[0]), True)
        return b.select(abs(xs[0]).equals(np.inf), 0.0, r)


@op
class BesselI1(_Bessel):
    """The modified Bessel function of the first kind, order 1.  |error| <= 4 ulp of x and result."""

    also = ("scipy.special.i1",)
    seeds = "Eigen bessel_i1"

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return b.copysign(growing(b, 1, abs(xs[0]), False), xs[0])


@op
class BesselI1e(_Bessel):
    """``exp(-|x|) * bessel_i1(x)``.  |error| <= 4 ulp of x and result."""

    also = ("scipy.special.i1e",)
    seeds = "Eigen bessel_i1e"

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        r = growing(b, 1, abs(xs[0]), True)
        return b.copysign(b.select(abs(xs[0]).equals(np.inf), 0.0, r), xs[0])


@op
class BesselK0(_OfPositive):
    """The modified Bessel function of the second kind, order 0; infinite at 0, NaN below.

    |error| <= 4 ulp of x and result.
    """

    also = ("scipy.special.k0",)
    seeds = "Eigen bessel_k0"

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return falling(b, 0, xs[0], False)


@op
class BesselK0e(_OfPositive):
    """``exp(x) * bessel_k0(x)``.  |error| <= 4 ulp of x and result."""

    also = ("scipy.special.k0e",)
    seeds = "Eigen bessel_k0e"

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return falling(b, 0, xs[0], True)


@op
class BesselK1(_OfPositive):
    """The modified Bessel function of the second kind, order 1; infinite at 0, NaN below.

    |error| <= 4 ulp of x and result.
    """

    also = ("scipy.special.k1",)
    seeds = "Eigen bessel_k1"

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return falling(b, 1, xs[0], False)


@op
class BesselK1e(_OfPositive):
    """``exp(x) * bessel_k1(x)``.  |error| <= 4 ulp of x and result."""

    also = ("scipy.special.k1e",)
    seeds = "Eigen bessel_k1e"

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return falling(b, 1, xs[0], True)


@op
class BesselJ0(_Bessel):
    """The Bessel function of the first kind, order 0.  |error| <= 4 ulp of x and result."""

    also = ("scipy.special.j0",)
    seeds = "Eigen bessel_j0"

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return wave(b, 0, abs(xs[0]))


@op
class BesselJ1(_Bessel):
    """The Bessel function of the first kind, order 1.  |error| <= 4 ulp of x and result."""

    also = ("scipy.special.j1",)
    seeds = "Eigen bessel_j1"

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        r = wave(b, 1, abs(x))
        return b.select(x.equals(0.0), x, b.select(x < 0.0, -r, r))


@op
class BesselY0(_OfPositive):
    """The Bessel function of the second kind, order 0; minus infinity at 0, NaN below.

    |error| <= 4 ulp of x and result.
    """

    also = ("scipy.special.y0",)
    seeds = "Eigen bessel_y0"

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return second_wave(b, 0, xs[0])


@op
class BesselY1(_OfPositive):
    """The Bessel function of the second kind, order 1; minus infinity at 0, NaN below.

    |error| <= 4 ulp of x and result.
    """

    also = ("scipy.special.y1",)
    seeds = "Eigen bessel_y1"

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return second_wave(b, 1, xs[0])
