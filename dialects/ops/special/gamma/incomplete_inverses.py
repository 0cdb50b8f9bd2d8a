"""Inverses of the incomplete gamma and beta functions in their last argument, by Newton's method.

Gamma's and beta's distributions have log-concave densities in ``log(x)`` and ``log(x/(1 - x))``.  So the logarithms of
both of their tails are concave, and Newton's method for one of them is drawn to the root from every side.  It is taken
for the tail below 1/2, and moves x by a factor, which loses no bits where x is tiny.  It starts at the larger of the
tail's own power and Wilson's and Hilferty's approximation (1931), for beta that of Abramowitz and Stegun 26.5.22.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ....registry import op
from ....scalar.gamma import F64, InDouble, log_gamma
from ....scalar.language import ScalarBuilder, Value
from .incomplete_beta import tails
from .incomplete_gamma import distance, leading

STEPS = 50
#: A step from an error of the logarithm below this leaves one in the last bit.
CLOSE = 2.0**-27
#: What it may be after the last step, where numbers have few bits.
FOUND = 2.0**-8
#: Where the fraction of the incomplete beta function has too many steps.
LARGEST = 2.0**32
#: By how much x is moved where nothing is known on one side.
LEAP = 1 / 4096


def log_ratio(b: ScalarBuilder, x: Value, y: Value) -> Value:
    """``log(x/y)`` of positive numbers."""
    change = (x - y) / y
    near = abs(change) < 0.5
    return b.select(near, b.op("log1p", b.select(near, change, 0.0)), b.op("log", x) - b.op("log", y))


def solved(
    b: ScalarBuilder,
    active: Value,
    start: Value,
    rising: Value,
    tail: Value,
    at: Callable[[Value], tuple[Value, Value]],
) -> Value:
    """The positive x where a tail of a distribution is `tail`; NaN where it is not found.

    ``at(x)`` gives the tail at x, which grows with x where `rising` and falls elsewhere, and its derivative by
    ``log(x)`` without sign.  A step that leaves what is known to hold x goes to the middle of that instead.
    """

    def step(x: Value, low: Value, high: Value, _: Value) -> tuple[Value, Sequence[Value]]:
        found, slope = at(x)
        error = log_ratio(b, found, tail)
        below = rising ^ (found >= tail)
        low, high = b.select(below, x, low), b.select(below, high, x)
        newton = x * b.op("exp", b.select(rising, -error, error) * (found / slope))
        inner = b.select(low.equals(0.0), x * LEAP, b.select(high.equals(np.inf), x / LEAP, b.sqrt(low) * b.sqrt(high)))
        moved = b.select((newton >= low) & (newton <= high), newton, inner)
        return (abs(error) > CLOSE) & moved.differs(x), (moved, low, high, error)

    zero, infinite = b.constant(0.0, F64), b.constant(np.inf, F64)
    x, _, _, error = b.iterate(active, (start, zero, infinite, zero), step, STEPS)
    return b.select(abs(error) < FOUND, x, b.select(x > 1e290, infinite, np.nan))


def gamma_point(b: ScalarBuilder, active: Value, a: Value, p: Value, q: Value) -> Value:
    """The x where P is p and Q is q, for a and both probabilities inside their ranges."""
    low = p <= 0.5
    log_p, log_q = b.op("log", p), b.op("log", q)
    power = b.op("exp", (log_p + log_gamma(b, a + 1.0)) / a)
    root = 1.0 / (3.0 * b.sqrt(a))
    cubed = 1.0 - root * root + b.select(low, b.op("ndtri", p), -b.op("ndtri", q)) * root
    hilferty = b.select(a > 0.5, a * cubed * cubed * cubed, 0.0)
    # Far up the tail it is nearly exponential.
    far = b.select(q < 0.01, -log_q - log_gamma(b, a) + (a - 1.0) * b.op("log", 1.0 - log_q), 0.0)
    start = b.maximum(power, b.maximum(hilferty, b.select(a < 1.0, far, 0.0)))
    tail = b.select(low, p, q)

    def at(x: Value) -> tuple[Value, Value]:
        found = b.select(low, b.op("igamma", a, x), b.op("igammac", a, x))
        return found, leading(b, a, distance(b, a, x)[1]) * a

    usual = start > 1e-300
    return b.select(usual, solved(b, active & usual, b.select(usual, start, 1.0), low, tail, at), start)


def beta_point(b: ScalarBuilder, active: Value, p: Value, q: Value, tail: Value) -> Value:
    """The ``x/(1 - x)`` where I is `tail`, from 0 to 1/2, for positive p and q."""
    log = b.op("log", tail)
    power = (log + log_gamma(b, p + 1.0) + log_gamma(b, q) - log_gamma(b, p + q)) / p
    y, one = -b.op("ndtri", tail), b.constant(1.0, F64)
    large = (p > 1.0) & (q > 1.0)
    first, second = 1.0 / (2.0 * b.select(large, p, 2.0) - 1.0), 1.0 / (2.0 * b.select(large, q, 2.0) - 1.0)
    h, shift = 2.0 / (first + second), (y * y - 3.0) * (1.0 / 6.0)
    inner = b.sqrt(b.maximum(b.constant(0.0, F64), h + shift))
    w = y * inner / h - (second - first) * (shift + 5.0 / 6.0 - 2.0 / (3.0 * h))
    normal = b.select(large, b.op("log", p / q) - 2.0 * w, -np.inf)
    start = b.op("exp", b.minimum(b.constant(690.0, F64), b.maximum(power, normal)))

    def at(odds: Value) -> tuple[Value, Value]:
        turned = odds > 1.0
        x = one / (1.0 + b.select(turned, odds, one / odds))
        value, rest, size = tails(b, active, b.select(turned, q, p), b.select(turned, p, q), x)
        return b.select(turned, rest, value), size

    usual = start > 1e-300
    rising = one.equals(one)
    return b.select(usual, solved(b, active & usual, b.select(usual, start, 1.0), rising, tail, at), start)


class _GammaInverse(InDouble):
    arity = 2
    cost = 10000.0
    ulp = 16.0
    domain = (0.1, 0.9)
    #: Whether the probability is that of the upper tail.
    upper: bool

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        a, y = xs
        inside = (a > 1e-300) & (a < np.inf) & (y > 0.0) & (y < 1.0)
        a_in, given = b.select(inside, a, 1.0), b.select(inside, y, 0.5)
        p, q = (1.0 - given, given) if cls.upper else (given, 1.0 - given)
        value = gamma_point(b, inside, a_in, p, q)
        zero, infinite = (1.0, 0.0) if cls.upper else (0.0, 1.0)
        border = b.select(y.equals(zero), 0.0, b.select(y.equals(infinite), np.inf, b.constant(np.nan, F64)))
        return b.select(inside, value, b.select(a >= 0.0, border, np.nan))


@op
class Gammaincinv(_GammaInverse):
    """The x where `igamma` of a, which is first, and x is y; NaN for a < 0 and y outside [0, 1].

    |error| <= 16 ulp of a, y and result.
    """

    also = ("scipy.special.gammaincinv",)
    upper = False


@op
class Gammainccinv(_GammaInverse):
    """The x where `igammac` of a, which is first, and x is y; NaN for a < 0 and y outside [0, 1].

    |error| <= 16 ulp of a, y and result.
    """

    also = ("scipy.special.gammainccinv",)
    upper = True


class _BetaInverse(InDouble):
    arity = 3
    cost = 20000.0
    ulp = 24.0
    domain = (0.1, 0.9)
    #: Whether the probability is that of the upper tail.
    upper: bool

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        first, second, y = xs
        positive = (first > 0.0) & (second > 0.0)
        sized = (first > 1e-300) & (second > 1e-300) & (first < LARGEST) & (second < LARGEST)
        inside = sized & (y > 0.0) & (y < 1.0)
        given = b.select(inside, y, 0.5)
        # The tail below 1/2 is the lower one, or that of the parameters turned round.
        turned = (given <= 0.5) if cls.upper else (given > 0.5)
        p, q = b.select(turned, second, first), b.select(turned, first, second)
        tail = b.select(given > 0.5, 1.0 - given, given)
        odds = beta_point(b, inside, b.select(inside, p, 1.0), b.select(inside, q, 1.0), tail)
        value = 1.0 / (1.0 + b.select(turned, odds, 1.0 / odds))
        zero, one = (1.0, 0.0) if cls.upper else (0.0, 1.0)
        border = b.select(y.equals(zero), 0.0, b.select(y.equals(one), 1.0, b.constant(np.nan, F64)))
        # The limits of ``y**(1/a)`` and what is that turned round.
        held = (y > 0.0) & (y < 1.0)
        border = b.select(held & first.equals(np.inf) & second.equals(1.0), 1.0, border)
        border = b.select(held & second.equals(np.inf) & first.equals(1.0), 0.0, border)
        return b.select(inside, value, b.select(positive, border, np.nan))


@op
class Betaincinv(_BetaInverse):
    """The x where `betainc` of a, b, which are first, and x is y; NaN for a, b <= 0 and y outside [0, 1].

    NaN also for a or b from 2**32 on.      |error| <= 24 ulp of a, b, y and result.
    """

    also = ("scipy.special.betaincinv",)
    upper = False


@op
class Betainccinv(_BetaInverse):
    """The x where `betaincc` of a, b, which are first, and x is y; NaN for a, b <= 0 and y outside [0, 1].

    NaN also for a or b from 2**32 on.      |error| <= 24 ulp of a, b, y and result.
    """

    also = ("scipy.special.betainccinv",)
    upper = True
