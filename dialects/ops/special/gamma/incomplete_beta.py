"""The regularised incomplete beta function, by its continued fraction (DLMF 8.17.22) on the side where it converges.

``x**a * (1 - x)**b / B(a, b)`` is computed from ``log(1 + m) - m`` of the relative distances of x and 1 - x from
``a/(a + b)`` and ``b/(a + b)``, whose linear terms cancel exactly, with Stirling's formula taken out of the gammas.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....registry import op
from ....scalar.float_bits import fast_two_sum, two_product
from ....scalar.gamma import F64, InDouble, gamma_star, log1p_minus
from ....scalar.language import ScalarBuilder, Value

#: The fraction takes about as many steps as the root of the larger parameter.
STEPS = 1 << 16
#: From how many degrees of freedom on Student's distribution is taken as nearly normal.
MANY = 2.0**17


def density(b: ScalarBuilder, first: Value, second: Value, x: Value) -> Value:
    """``x**a * (1 - x)**b / B(a, b)``."""
    y, lost = fast_two_sum(b.constant(1.0, F64), -x)
    ahead, ahead_low = two_product(b, x, second)
    behind, behind_low = two_product(b, y, first)
    distance = (ahead - behind) + ((ahead_low - behind_low) - first * lost)
    total = first + second
    log, other = b.op("log", x) - b.op("log", first / total), b.op("log", y) - b.op("log", second / total)
    exponent = first * log1p_minus(b, distance / first, log) + second * log1p_minus(b, -distance / second, other)
    stars = gamma_star(b, total) / (gamma_star(b, first) * gamma_star(b, second))
    return b.op("exp", exponent) * b.sqrt(first / total * second * (0.5 / math.pi)) * stars


def fraction(b: ScalarBuilder, active: Value, first: Value, second: Value, x: Value) -> tuple[Value, Value]:
    """``I(x; a, b) * a / density``, by Lentz's method, two terms a step; and by how much the last step changed it."""
    total = first + second

    def tamed(v: Value) -> Value:
        return b.select(abs(v) < 1e-300, 1e-300, v)

    def step(m: Value, c: Value, d: Value, h: Value, _: Value) -> tuple[Value, Sequence[Value]]:
        twice = first + 2.0 * m
        even = m * (second - m) * x / ((twice - 1.0) * twice)
        d = 1.0 / tamed(1.0 + even * d)
        c = tamed(1.0 + even / c)
        h = h * (c * d)
        odd = -(first + m) * (total + m) / twice * x / (twice + 1.0)
        d = 1.0 / tamed(1.0 + odd * d)
        c = tamed(1.0 + odd / c)
        factor = c * d
        change = abs(factor - 1.0)
        return change > 2.0**-53, (m + 1.0, c, d, h * factor, change)

    one = b.constant(1.0, F64)
    d = 1.0 / tamed(1.0 - total * x / (first + 1.0))
    _, _, _, h, change = b.iterate(active, (one, one, d, d, one), step, STEPS)
    return h, change


def tails(b: ScalarBuilder, inside: Value, p: Value, q: Value, x: Value) -> tuple[Value, Value, Value]:
    """(I, 1 - I) of positive p and q at x between 0 and 1, and the `density` there; loops run where `inside`."""
    turned = x > (p + 1.0) / (p + q + 2.0)
    size = density(b, p, q, x)
    h, change = fraction(b, inside, b.select(turned, q, p), b.select(turned, p, q), b.select(turned, 1.0 - x, x))
    side = b.minimum(size * h / b.select(turned, q, p), 1.0)
    side = b.select(size.equals(0.0), 0.0, b.select(change < 2.0**-40, side, np.nan))
    return b.select(turned, 1.0 - side, side), b.select(turned, side, 1.0 - side), size


def regularised(b: ScalarBuilder, first: Value, second: Value, x: Value) -> tuple[Value, Value]:
    """(I, 1 - I) at x, in f64."""
    inside = (first > 0.0) & (second > 0.0) & (x > 0.0) & (x < 1.0) & (first < np.inf) & (second < np.inf)
    one, zero, nan = (b.constant(v, F64) for v in (1.0, 0.0, np.nan))
    p, q = b.select(inside, first, one), b.select(inside, second, one)
    value, rest, _ = tails(b, inside, p, q, b.select(inside, x, 0.5))
    known = (first >= 0.0) & (second >= 0.0) & (x >= 0.0) & (x <= 1.0)
    at_zero = x.equals(0.0) | second.equals(0.0) | first.equals(np.inf)
    at_one = x.equals(1.0) | first.equals(0.0) | second.equals(np.inf)
    degenerate = (first.equals(0.0) & second.equals(0.0)) | (first.equals(np.inf) & second.equals(np.inf))
    known = known & ~degenerate

    def bordered(inner: Value, low: Value, high: Value) -> Value:
        border = b.select(x.equals(0.0), low, b.select(x.equals(1.0), high, b.select(at_one, high, low)))
        return b.select(inside, inner, b.select(known & (at_zero | at_one), border, nan))

    return bordered(value, zero, one), bordered(rest, one, zero)


def nearly_normal(b: ScalarBuilder, df: Value, t: Value) -> Value:
    """The probability that Student's t is above ``t >= 0``, for at least `MANY` degrees of freedom.

    By the normal deviate of G. W. Hill's expansion ("Student's t-distribution", CACM 13, 1970, Algorithm 395).
    """
    a = df - 0.5
    y = t * t
    y = b.select(df > 1e30, y, a * b.op("log1p", y / df))
    scale = 48.0 * (a * a)
    inner = b.polynomial(y, (-0.4, -3.3, -24.0, -85.5)) / (0.8 * y * y + 100.0 + scale)
    z = b.sqrt(y) * (1.0 + b.select(y > 1e4, 0.0, inner + y + 3.0) / scale)
    return 0.5 * b.op("erfc", z * math.sqrt(0.5))


class _IncompleteBeta(InDouble):
    arity = 3
    cost = 2500.0
    ulp = 24.0
    domain = (0.05, 0.95)


@op
class Betainc(_IncompleteBeta):
    """The regularised incomplete beta function I(a, b; x), x last; NaN for negative a or b and x outside [0, 1].

    NaN also where its fraction has not converged in 2**16 steps.  |error| <= 24 ulp of a, b, x and result.
    """

    also = ("scipy.special.betainc",)
    seeds = "Eigen betainc"

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return regularised(b, *xs)[0]


@op
class Betaincc(_IncompleteBeta):
    """``1 - betainc(a, b, x)``, accurate where that is tiny.  |error| <= 24 ulp of a, b, x and result."""

    also = ("scipy.special.betaincc",)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return regularised(b, *xs)[1]


@op
class Stdtr(_IncompleteBeta):
    """The probability that Student's t with df degrees of freedom, which are first, is below t; NaN for df <= 0.

    |error| <= 24 ulp of df, t and result.
    """

    also = ("scipy.special.stdtr",)
    arity = 2
    domain = (0.5, 20.0)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        df, t = xs
        inside = (df > 0.0) & (df < MANY) & (abs(t) < np.inf) & t.differs(0.0)
        p, a = b.select(inside, df, 1.0), b.select(inside, abs(t), 1.0)
        # ``t*t / (df + t*t)`` or its complement, whichever is smaller, so that neither is the rest of 1.
        ratio = a / p * a
        small = ratio < 1.0
        ratio = b.select(small, ratio, p / a / a)
        half = b.constant(0.5, F64)
        first, second = b.select(small, half, 0.5 * p), b.select(small, 0.5 * p, half)
        value, rest = regularised(b, first, second, ratio / (1.0 + ratio))
        tail = 0.5 * b.select(small, rest, value)
        tail = b.rare(df >= MANY, lambda: nearly_normal(b, df, abs(t)), tail)
        tail = b.select(t.equals(0.0), 0.5, b.select(abs(t).equals(np.inf), 0.0, tail))
        return b.select((df > 0.0) & t.equals(t), b.select(t > 0.0, 1.0 - tail, tail), np.nan)
