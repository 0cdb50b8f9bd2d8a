"""The regularised incomplete gamma functions P (`igamma`) and Q (`igammac`) = 1 - P.

``x**a * exp(-x) / gamma(a + 1)`` is computed from ``log(1 + m) - m`` with ``m = (x - a)/a``, so that nothing large
cancels.  P is its power series below a, Q a continued fraction above it (DLMF 8.9.2) and for small x another series
(DLMF 8.7.3).  Both take too many steps where a is large and x near it; there Temme's uniform expansion holds
(DLMF 8.12), whose coefficients `temme` derives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np

from ....registry import op
from ....scalar.gamma import F64, InDouble, bernoulli, gamma_star, log1p_minus, log_gamma, log_gamma_1p
from ....scalar.language import ScalarBuilder, Value

#: Where Temme's expansion takes over: from this a on, for x within a third of it.
LARGE, NEAR = 200.0, 0.33
#: No series or fraction takes more steps where it is used.
STEPS = 1000
#: Terms of Temme's expansion in 1/a, and in eta for each.
TERMS = (18, 16, 14, 12, 9, 7, 4)
EPSILON = 2.0**-54


@cache
def temme() -> tuple[tuple[float, ...], ...]:
    """The polynomials in eta of the expansion's terms in 1/a, the highest power first.

    ``mu = eta + eta**2/3 + …`` solves ``mu * mu' = eta * (1 + mu)``; ``C0 = 1/mu - 1/eta``, and each next one is
    ``C'/eta + (-1)**k * g(k)/mu`` with Stirling's coefficients g (DLMF 8.12.12); what is singular at 0 cancels.
    """
    from fractions import Fraction  # which loads `decimal`

    count = TERMS[0] + 2 * len(TERMS) + 1
    mu = [Fraction(0), Fraction(1)]
    for n in range(2, count + 1):
        known = sum((mu[i] * (n + 1 - i) * mu[n + 1 - i] for i in range(2, n)), Fraction(0))
        mu.append((mu[n - 1] - known) / (n + 1))
    inverse = [Fraction(1)]  # of mu/eta
    for n in range(1, count):
        inverse.append(-sum((mu[i + 1] * inverse[n - i] for i in range(1, n + 1)), Fraction(0)))
    stirling = [Fraction(1)]  # the exponential of the series of its logarithm
    logarithm = [Fraction(0)] * (len(TERMS) + 1)
    for k, b in enumerate(bernoulli(), 1):
        if 2 * k - 1 < len(logarithm):
            logarithm[2 * k - 1] = b / (2 * k * (2 * k - 1))
    for n in range(1, len(TERMS)):
        stirling.append(sum((k * logarithm[k] * stirling[n - k] for k in range(1, n + 1)), Fraction(0)) / n)
    # Each C as its coefficients from eta**0 on; 1/mu is `inverse` one power lower.
    current = inverse[1:]
    found = []
    for k, terms in enumerate(TERMS):
        found.append(tuple(float(c) for c in current[:terms])[::-1])
        weight = (-1) ** (k + 1) * (stirling[k + 1] if k + 1 < len(TERMS) else Fraction(0))
        current = [(n + 2) * current[n + 2] + weight * inverse[n + 1] for n in range(len(current) - 2)]
    return tuple(found)


def uniform(b: ScalarBuilder, a: Value, mu: Value, log: Value, upper: bool) -> Value:
    """P, or where `upper` Q, by Temme's expansion; `log` is ``log(1 + mu) - mu``."""
    eta = b.copysign(b.sqrt(-2.0 * log), mu)
    inverse, total = 1.0 / a, b.constant(0.0, F64)
    for row in reversed(temme()):
        total = b.fma(total, inverse, b.polynomial(eta, row))
    rest = b.op("exp", a * log) / b.sqrt(a * (2 * math.pi)) * total
    z = eta * b.sqrt(0.5 * a)
    return 0.5 * b.op("erfc", z) + rest if upper else 0.5 * b.op("erfc", -z) - rest


def power_series(b: ScalarBuilder, active: Value, a: Value, x: Value) -> Value:
    """The sum of ``x**n / ((a + 1)…(a + n))`` over ``n >= 0``."""

    def step(n: Value, term: Value, total: Value) -> tuple[Value, Sequence[Value]]:
        term = term * (x / n)
        total = total + term
        return term > total * EPSILON, (n + 1.0, term, total)

    one = b.constant(1.0, F64)
    return b.iterate(active, (a + 1.0, one, one), step, STEPS)[2]


def complement_fraction(b: ScalarBuilder, active: Value, a: Value, x: Value) -> Value:
    """``Q * gamma(a) * exp(x) / x**a``, by Lentz's method."""

    def step(i: Value, y: Value, c: Value, d: Value, h: Value) -> tuple[Value, Sequence[Value]]:
        numerator = i * (a - i)
        y = y + 2.0
        d = 1.0 / (y + numerator * d)
        c = y + numerator / c
        factor = c * d
        return abs(factor - 1.0) > EPSILON * 2, (i + 1.0, y, c, d, h * factor)

    y = x + 1.0 - a
    # Where it starts at zero a tiny number does as well.
    y = b.select(y.equals(0.0), 1e-300, y)
    first = 1.0 / y
    c = b.constant(1e300, F64)
    return b.iterate(active, (b.constant(1.0, F64), y, c, first, first), step, STEPS)[4]


def complement_series(b: ScalarBuilder, active: Value, a: Value, x: Value) -> Value:
    """Q for small x, where it is near 1 or tiny because a is."""

    def step(n: Value, term: Value, total: Value) -> tuple[Value, Sequence[Value]]:
        term = term * (-x / n)
        part = term / (a + n)
        return abs(part) > abs(total + part) * EPSILON, (n + 1.0, term, total + part)

    one, zero = b.constant(1.0, F64), b.constant(0.0, F64)
    _, _, total = b.iterate(active, (one, one, zero), step, STEPS)
    small = a <= 0.5
    gamma = b.select(small, log_gamma_1p(b, b.select(small, a, 0.0)), log_gamma(b, a + 1.0))
    log = a * b.op("log", x) - gamma
    return -b.op("expm1", log) - b.op("exp", log) * a * total


def distance(b: ScalarBuilder, a: Value, x: Value) -> tuple[Value, Value]:
    """``mu = (x - a)/a``, bounded, and ``log(1 + mu) - mu``, of positive numbers."""
    # A quotient that overflows would be infinite minus infinite below; P is 1 long before.
    mu = b.minimum(b.constant(1e300, F64), (x - a) / a)
    return mu, log1p_minus(b, mu, b.op("log", x) - b.op("log", a))


def leading(b: ScalarBuilder, a: Value, log: Value) -> Value:
    """``x**a * exp(-x) / gamma(a + 1)``, where `log` is the second result of `distance`."""
    return b.op("exp", a * log) / (b.sqrt(a * (2 * math.pi)) * gamma_star(b, a))


def probability(b: ScalarBuilder, a: Value, x: Value, upper: bool) -> Value:
    """P, or where `upper` Q, in f64."""
    inside = (a > 0.0) & (a < np.inf) & (x > 0.0) & (x < np.inf)
    a_in, x_in = b.select(inside, a, 1.0), b.select(inside, x, 1.0)
    bounded = b.maximum(a_in, 1e-290)
    mu, log = distance(b, bounded, x_in)
    first = leading(b, bounded, log)
    middle = inside & (a_in >= LARGE) & (abs(mu) <= NEAR)
    low = inside & ~middle & ((x_in <= 1.1) | (x_in <= a_in))
    high = inside & ~middle & ~low
    below = b.minimum(first * power_series(b, low, a_in, x_in), 1.0)
    above = first * a_in * complement_fraction(b, high, a_in, x_in)
    if upper:
        tiny = low & (x_in <= 1.1) & (below > 0.5)
        below = b.rare(tiny, lambda: complement_series(b, tiny, a_in, x_in), 1.0 - below)
    else:
        above = 1.0 - above
    value = b.rare(middle, lambda: uniform(b, a_in, mu, log, upper), b.select(low, below, above))
    # At the borders P jumps from 0 (a is infinite) to 1 (a is 0); where both meet it has no value.
    one, zero, nan = (b.constant(v, F64) for v in (1.0, 0.0, np.nan))
    full, empty = (zero, one) if upper else (one, zero)
    all_below = (a >= 0.0) & (x > 0.0) & (a.equals(0.0) | x.equals(np.inf)) & (a < np.inf)
    all_above = (a > 0.0) & (x >= 0.0) & (x.equals(0.0) | a.equals(np.inf)) & (x < np.inf)
    return b.select(inside, value, b.select(all_below, full, b.select(all_above, empty, nan)))


class _Incomplete(InDouble):
    arity = 2
    cost = 1500.0
    ulp = 16.0
    domain = (0.1, 30.0)


@op
class Igamma(_Incomplete):
    """The lower regularised incomplete gamma function P(a, x); NaN below 0.  |error| <= 16 ulp of a, x and result."""

    also = ("scipy.special.gammainc",)
    seeds = "Eigen igamma"

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return probability(b, *xs, upper=False)


@op
class Igammac(_Incomplete):
    """The upper regularised incomplete gamma function 1 - P(a, x).  |error| <= 16 ulp of a, x and result."""

    also = ("scipy.special.gammaincc",)
    seeds = "Eigen igammac"

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return probability(b, *xs, upper=True)
