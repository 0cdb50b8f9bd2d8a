"""The gamma function, its logarithm and derivatives, and Hurwitz's zeta function.

`dialects/scalar/gamma.py` has the positive half of the line; the negative half is reflected.  The digamma function is
brought to 10 by its recurrence and is asymptotic there; zeta is Euler and Maclaurin's formula from 10 on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np

from ....registry import op
from ....scalar.gamma import F64, InDouble, bernoulli, cos_pi, gamma_factors, is_odd, log_gamma, sin_pi
from ....scalar.language import ScalarBuilder, Value

#: The terms of a zeta function that are added one by one at most.
DIRECT = 1 << 20


@cache
def _digamma_series() -> tuple[float, ...]:
    """``(digamma(x) - log(x) + 1/(2*x)) * x**2`` in powers of ``1/x**2``."""
    return tuple(float(-b / (2 * k)) for k, b in enumerate(bernoulli()[:8], 1))[::-1]


@op
class Lgamma(InDouble):
    """log |gamma(x)|; infinite at 0, the negative integers and both infinities.  |error| <= 6 ulp of x and result."""

    also = ("scipy.special.gammaln",)
    seeds = "Eigen lgamma"
    ulp = 6.0
    domain = (-6.0, 40.0)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        a = abs(x)
        positive = log_gamma(b, a)

        def reflected() -> Value:
            # gamma(-a) * gamma(a) = -pi / (a * sin(pi*a)), which would overflow for the smallest a.
            tiny = a < 1e-100
            product = b.select(tiny, 1.0 / a, math.pi / (a * abs(sin_pi(b, a - b.rint(a)))))
            r = b.op("log", product) - b.select(tiny, 0.0, positive)
            return b.select(a.equals(np.inf), np.inf, r)

        return b.select(x.equals(0.0), np.inf, b.rare(x < 0.0, reflected, positive))


@op
class Gamma(InDouble):
    """The gamma function; NaN at the negative integers, infinite at 0 with its sign.

    |error| <= 8 ulp of x and result.
    """

    also = ("scipy.special.gamma",)
    ulp = 8.0
    domain = (-6.0, 30.0)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        a = abs(x)
        first, second = gamma_factors(b, a)
        positive = b.select(a > 172.0, np.inf, first * second)

        def reflected() -> Value:
            r = a - b.rint(a)
            sine = sin_pi(b, r)
            odd = is_odd(b, b.rint(a))
            value = -math.pi / b.select(odd, -sine, sine) / a / first / second
            tiny = b.select(a < 1e-100, 1.0 / x, value)
            return b.select(r.equals(0.0), np.nan, b.select(a > 190.0, b.constant(0.0, F64), tiny))

        r = b.rare(x < 0.0, reflected, positive)
        r = b.select(x.equals(0.0), 1.0 / x, b.select(x.equals(-np.inf), np.nan, r))
        return b.select(x.differs(x), x, r)


def digamma(b: ScalarBuilder, x: Value) -> Value:
    """The logarithmic derivative of the gamma function, in f64."""
    a = abs(x)
    total, y = b.constant(0.0, F64), a
    for _ in range(10):
        small = y < 10.0
        total = total + b.select(small, 1.0 / y, 0.0)
        y = b.select(small, y + 1.0, y)
    inverse = 1.0 / y
    square = inverse * inverse
    positive = (b.op("log", y) - 0.5 * inverse) + (square * b.polynomial(square, _digamma_series()) - total)

    def reflected() -> Value:
        r = a - b.rint(a)
        value = (positive + 1.0 / a) + math.pi * b.select(r < 0.0, -1.0, b.constant(1.0, F64)) * (
            cos_pi(b, r) / sin_pi(b, abs(r))
        )
        return b.select(r.equals(0.0) | r.differs(r), np.nan, value)

    return b.select(a < 1e-100, -1.0 / x, b.rare(x < 0.0, reflected, positive))


@op
class Digamma(InDouble):
    """The logarithmic derivative of gamma; NaN at the negative integers, at 0 minus infinity with its sign.

    |error| <= 6 ulp of x and result.
    """

    also = ("scipy.special.psi", "scipy.special.digamma")
    seeds = "Eigen digamma"
    ulp = 6.0
    domain = (-6.0, 40.0)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return digamma(b, xs[0])


def hurwitz(b: ScalarBuilder, s: Value, q: Value) -> Value:
    """The sum of ``(q + k)**-s`` over ``k >= 0``, in f64."""
    odd = b.trunc(0.5 * s).differs(0.5 * s)

    def term(a: Value) -> Value:
        value = b.op("pow", abs(a), -s)
        return b.select((a < 0.0) & odd, -value, value)

    def step(a: Value, n: Value, total: Value, last: Value) -> tuple[Value, Sequence[Value]]:
        last = term(a)
        total = total + last
        rest = (n < 9.0) | (a < 9.0)
        return rest & ((a < 1.0) | (last > abs(total) * 2.0**-60)), (a + 1.0, n + 1.0, total, last)

    whole = b.floor(s).equals(s)
    fits = (s > 1.0) & ((q > 0.0) | whole & b.floor(q).differs(q)) & (q > -np.inf)
    zero = b.constant(0.0, F64)
    a, _, total, last = b.iterate(fits, (q, zero, zero, zero), step, DIRECT)
    reach, inverse = b.op("pow", a, 1.0 - s), 1.0 / a
    scaled, rising = s * inverse, b.constant(0.0, F64)
    for j, number in enumerate(bernoulli(), 1):
        rising = rising + float(number / math.factorial(2 * j)) * scaled
        scaled = scaled * ((s + (2.0 * j - 1.0)) * inverse) * ((s + 2.0 * j) * inverse)
    tail = reach / (s - 1.0) + reach * inverse * (0.5 + rising)
    total = b.select((last >= abs(total) * 2.0**-60) & (reach > 0.0), total + tail, total)
    # Below -DIRECT the sum is not done yet.
    total = b.select(a < 1.0, np.nan, total)
    pole = (q <= 0.0) & b.floor(q).equals(q)
    value = b.select(pole, np.inf, b.select(fits, total, np.nan))
    value = b.select(s.equals(1.0), np.inf, b.select(s < 1.0, np.nan, value))
    return b.select(s.differs(s) | q.differs(q), np.nan, value)


@op
class Zeta(InDouble):
    """Hurwitz's zeta function, the sum of ``(q + k)**-x`` over ``k >= 0``; infinite for x = 1 and at the poles in q.

    NaN for x < 1, for a negative q unless x is whole, and for q below -2**20.  |error| <= 4 ulp of x, q and result.
    """

    also = ("scipy.special.zeta",)
    seeds = "Eigen zeta"
    arity = 2
    ulp = 4.0
    cost = 1500.0
    domain = (1.1, 12.0)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return hurwitz(b, *xs)


@op
class Polygamma(InDouble):
    """The derivative number n of the digamma function, n first; NaN unless n is a whole number from 0 on.

    |error| <= 12 ulp of x and result.
    """

    also = ("scipy.special.polygamma",)
    seeds = "Eigen polygamma"
    arity = 2
    ulp = 12.0
    cost = 2000.0
    domain = (0.5, 12.0)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        n, x = xs
        first, second = gamma_factors(b, n + 1.0)
        size = hurwitz(b, n + 1.0, x) * second * first
        odd = b.trunc(0.5 * n).differs(0.5 * n)
        value = b.select(odd, size, -size)
        known = (n > 0.0) & b.floor(n).equals(n)
        return b.select(n.equals(0.0), digamma(b, x), b.select(known, value, np.nan))
