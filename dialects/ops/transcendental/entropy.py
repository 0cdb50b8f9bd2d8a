"""Logarithms and exponentials with their limits filled in: entropies, odds, losses, and what else `scipy.special` has.

The differences of logarithms are taken by `gamma.log1p_minus` where they would cancel.
"""

from __future__ import annotations

import math

import numpy as np

from ...registry import op
from ...scalar.gamma import F64, InDouble, log1p_minus, sin_pi
from ...scalar.language import ScalarBuilder, Value


class _Simple(InDouble):
    ulp = 2.0
    cost = 80.0
    domain = (0.01, 10.0)


class _OfTwo(_Simple):
    arity = 2


def where(b: ScalarBuilder, x: Value, *cases: tuple[Value, float | Value], otherwise: Value) -> Value:
    """The value of the first case that holds; NaN where x is."""
    for holds, value in reversed(cases):
        otherwise = b.select(holds, value, otherwise)
    return b.select(x.differs(x), np.nan, otherwise)


def log_ratio(b: ScalarBuilder, x: Value, y: Value) -> Value:
    """``log(x/y)`` of positive numbers, also where the quotient overflows or is near 1."""
    near = (x > 0.5 * y) & (0.5 * x < y)
    ratio = x / y
    usual = (ratio > 1e-300) & (ratio < 1e300)
    log = b.op("log", b.select(usual, ratio, 1.0))
    apart = b.rare(~usual, lambda: b.select(usual, log, b.op("log", x) - b.op("log", y)), log)
    return b.select(near, b.op("log1p", (x - y) / y), apart)


@op
class Xlogy(_OfTwo):
    """``x * log(y)``, 0 for x = 0 unless y is NaN.  |error| <= 2 ulp of x, y and result."""

    also = ("scipy.special.xlogy",)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        return where(b, y, (x.equals(0.0), 0.0), otherwise=x * b.op("log", y))


@op
class Xlog1py(_OfTwo):
    """``x * log1p(y)``, 0 for x = 0 unless y is NaN.  |error| <= 2 ulp of x, y and result."""

    also = ("scipy.special.xlog1py",)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        return where(b, y, (x.equals(0.0), 0.0), otherwise=x * b.op("log1p", y))


@op
class Entr(_Simple):
    """``-x * log(x)``: 0 at 0, minus infinity below.  |error| <= 2 ulp of x and result."""

    also = ("scipy.special.entr",)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        return where(b, x, (x.equals(0.0), 0.0), (x < 0.0, -np.inf), otherwise=-x * b.op("log", x))


@op
class RelEntr(_OfTwo):
    """``x * log(x/y)``: 0 at x = 0 <= y, infinite where either is negative.  |error| <= 2 ulp of x, y and result."""

    also = ("scipy.special.rel_entr",)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        inside, zero = (x > 0.0) & (y > 0.0), x.equals(0.0) & (y >= 0.0)
        value = where(b, y, (inside, x * log_ratio(b, x, y)), (zero, 0.0), otherwise=b.constant(np.inf, F64))
        return b.select(x.differs(x), np.nan, value)


@op
class KlDiv(_OfTwo):
    """``x * log(x/y) - x + y``: y at x = 0 <= y, infinite where either is negative.

    |error| <= 4 ulp of x, y and result.
    """

    also = ("scipy.special.kl_div",)
    ulp = 4.0

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        inside, zero = (x > 0.0) & (y > 0.0), x.equals(0.0) & (y >= 0.0)
        distance = (y - x) / x
        near = -x * log1p_minus(b, distance, -log_ratio(b, x, y))
        apart = x * log_ratio(b, x, y) - x + y
        size = b.select(abs(distance) < 1.0, near, apart)
        value = where(b, y, (inside, size), (zero, y), otherwise=b.constant(np.inf, F64))
        return b.select(x.differs(x), np.nan, value)


@op
class Huber(_OfTwo):
    """``x`` is the loss's bend and r its argument: ``r*r/2`` up to x, ``x * (|r| - x/2)`` beyond; infinite for x < 0.

    |error| <= 2 ulp of x, r and result.
    """

    also = ("scipy.special.huber",)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        bend, r = xs
        a = abs(r)
        value = b.select(a <= bend, 0.5 * r * r, bend * (a - 0.5 * bend))
        return where(b, bend, (bend < 0.0, np.inf), otherwise=value)


@op
class PseudoHuber(_OfTwo):
    """``x*x * (sqrt(1 + (r/x)**2) - 1)`` for the bend x: infinite for x < 0, 0 where either is.

    |error| <= 3 ulp of x, r and result.
    """

    also = ("scipy.special.pseudo_huber",)
    ulp = 3.0

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        bend, r = xs
        ratio = r / bend
        value = r * r / (1.0 + b.op("hypot", b.constant(1.0, F64), ratio))
        value = b.select(abs(ratio) > 1e150, bend * abs(r), value)
        return where(b, bend, (bend < 0.0, np.inf), (bend.equals(0.0) | r.equals(0.0), 0.0), otherwise=value)


@op
class Logit(_Simple):
    """``log(p / (1 - p))``; NaN outside [0, 1].  |error| <= 2 ulp of p and result."""

    also = ("scipy.special.logit",)
    domain = (0.0, 1.0)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (p,) = xs
        q = 1.0 - p
        central = abs(p - 0.5) < 0.25
        near = b.op("log1p", b.select(central, (p - q) / q, 0.0))
        return b.select(central, near, b.op("log", p / q))


@op
class LogExpit(_Simple):
    """The logarithm of `sigmoid`, also where that underflows.  |error| <= 2 ulp of x and result."""

    also = ("scipy.special.log_expit",)
    domain = (-20.0, 20.0)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        rest = b.op("log1p", b.op("exp", -abs(x)))
        return b.select(x < 0.0, x - rest, -rest)


@op
class Exprel(_Simple):
    """``(exp(x) - 1) / x``, 1 at 0.  |error| <= 3 ulp of x and result."""

    also = ("scipy.special.exprel",)
    ulp = 3.0
    domain = (-10.0, 10.0)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        # Beyond 700 the exponential overflows before the quotient does.
        scaled = b.op("exp", 0.5 * x)
        large = b.select(x.equals(np.inf), np.inf, (scaled / x) * scaled)
        return where(b, x, (abs(x) < 2.0**-60, 1.0), otherwise=b.select(x > 700.0, large, b.op("expm1", x) / x))


@op
class Exp10(_Simple):
    """10**x.  |error| <= 1 ulp of the result."""

    also = ("scipy.special.exp10",)
    ulp = 1.0
    conditioned = False
    domain = (-10.0, 10.0)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return b.op("pow", b.constant(10.0, F64), xs[0])


@op
class Sinc(_Simple):
    """``sin(pi*x) / (pi*x)``, 1 at 0.  |error| <= 3 ulp of x and result."""

    also = (np.sinc,)
    ulp = 3.0
    domain = (-10.0, 10.0)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        n = b.rint(x)
        sine = sin_pi(b, x - n)
        odd = b.trunc(0.5 * n).differs(0.5 * n)
        value = b.select(odd, -sine, sine) / (x * math.pi)
        return where(b, x, (x.equals(0.0), 1.0), (abs(x).equals(np.inf), np.nan), otherwise=value)


@op
class Cosm1(_Simple):
    """``cos(x) - 1``, accurate near 0.  |error| <= 4 ulp of x and result."""

    also = ("scipy.special.cosm1",)
    ulp = 4.0
    domain = (-10.0, 10.0)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        half = b.op("sin", 0.5 * xs[0])
        return -2.0 * half * half


@op
class Boxcox(_OfTwo):
    """``(x**y - 1) / y``, and its limit ``log(x)`` at y = 0.  |error| <= 3 ulp of x, y and result."""

    also = ("scipy.special.boxcox",)
    ulp = 3.0
    domain = (0.1, 3.0)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, exponent = xs
        log = b.op("log", x)
        value = b.op("expm1", exponent * log) / exponent
        return where(b, exponent, (abs(exponent) < 1e-19, log), otherwise=value)


@op
class Boxcox1p(_OfTwo):
    """``boxcox(1 + x, y)``, accurate near 0.  |error| <= 3 ulp of x, y and result."""

    also = ("scipy.special.boxcox1p",)
    ulp = 3.0
    domain = (0.1, 3.0)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, exponent = xs
        log = b.op("log1p", x)
        value = b.op("expm1", exponent * log) / exponent
        return where(b, exponent, (abs(exponent) < 1e-19, log), otherwise=value)
