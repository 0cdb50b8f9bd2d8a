"""Bessel functions of real order.

Up to x = 2 those that are finite at 0 are their power series (DLMF 10.2.2, 10.25.2), and the others Temme's series for
two orders up to 1/2 apart from 0 and from 1 (N. M. Temme, J. Comput. Phys. 19, 1975, and 21, 1976).  Beyond, continued
fractions give the logarithmic derivative of J or I, and that of the other solution (DLMF 10.33; A. R. Barnett,
D. H. Feng, J. W. Steed and L. J. B. Goldfarb, Comput. Phys. Commun. 8, 1974), from which the Wronskian makes both.
Recurrences lead from one order to another, each in the direction in which it is stable.  Where x is large enough for
the order, Hankel's expansions hold (DLMF 10.17, 10.40).  Negative orders are reflected (DLMF 10.4, 10.27).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ....registry import op
from ....scalar.gamma import F64, InDouble, cos_pi, is_odd, sin_pi
from ....scalar.language import ScalarBuilder, Value
from ..gamma.incomplete_gamma import distance, leading

#: ``1/gamma(1 + u)`` in powers of u (DLMF 5.7.1), good to the last bit up to 1/2: even ones and odd ones.
RECIPROCAL_GAMMA = (
    1.0, 0.57721566490153286061, -0.65587807152025388108, -0.042002635034095235529, 0.1665386113822914895,
    -0.042197734555544336748, -0.0096219715278769735621, 0.0072189432466630995424, -0.0011651675918590651121,
    -0.00021524167411495097282, 0.00012805028238811618615, -2.0134854780788238656e-05, -1.2504934821426706573e-06,
    1.1330272319816958824e-06, -2.0563384169776071035e-07, 6.1160951044814158179e-09, 5.0020076444692229301e-09,
    -1.1812745704870201446e-09, 1.0434267116911005105e-10, 7.782263439905071254e-12, -3.6968056186422057082e-12,
)  # fmt: skip
EVEN, ODD = RECIPROCAL_GAMMA[::2][::-1], RECIPROCAL_GAMMA[1::2][::-1]
#: Up to which x the series are taken, and how many terms they have there.
SMALL, TERMS = 2.0, 16
#: From which x on, and from which parts of the order's square, Hankel's expansions are: of waves, whose phases have few
#: bits there, and of the others, of which one is a small difference.
LARGE, WAVES_PART, PART = 25.0, 0.125, 0.5
#: The most steps of a fraction or recurrence; from which order on it is 0 or infinite for x below half of it.
STEPS, HIGH = 1 << 17, 4000.0
EPSILON = 2.0**-54
TINY = 1e-300
#: The ratio of numerators before there are two.
FIRST = 1e150
#: K is carried times ``exp(x)``, less this much of it, so that of high orders it does not overflow before the result.
HELD = 600.0
#: Where what a recurrence carries is made smaller.
BIG = 1e250


class Pair(NamedTuple):
    """Two solutions of an order, the one that is finite at 0 first."""

    first: Value
    second: Value


def tamed(b: ScalarBuilder, v: Value) -> Value:
    return b.select(abs(v) < TINY, TINY, v)


def power_series(b: ScalarBuilder, order: Value, x: Value, sign: float) -> Value:
    """J (where `sign` is -1) or I of an order from 0 on and ``0 < x <= 2``."""
    z, total, term = sign * 0.25 * x * x, b.constant(1.0, F64), b.constant(1.0, F64)
    for k in range(1, TERMS):
        term = term * (z / (k * (order + float(k))))
        total = total + term
    a = b.maximum(order, 1e-290)
    half = 0.5 * x
    # x**order / gamma(order + 1) is the incomplete gamma function's.
    front = leading(b, a, distance(b, a, half)[1]) * b.op("exp", half)
    return b.select(order < 1e-290, 1.0, front) * total


def temme(b: ScalarBuilder, order: Value, x: Value, sign: float) -> Pair:
    """Y (where `sign` is -1) or K of an order from -1/2 to 1/2 and of the next, that times x; ``0 < x <= 2``."""
    square = order * order
    even, odd = b.polynomial(square, EVEN), b.polynomial(square, ODD)
    log = math.log(2.0) - b.op("log", x)
    sigma = order * log
    cosh, close = b.op("cosh", sigma), abs(sigma) < 1e-8
    sinh = b.select(close, 1.0, b.op("sinh", sigma) / b.select(close, 1.0, sigma))
    small = abs(order) < 1e-8
    sine = sin_pi(b, order) / (math.pi * b.select(small, 1.0, order))
    f = (sinh * log * even - cosh * odd) / b.select(small, 1.0, sine)
    growth = b.op("exp", sigma)
    p, q = 0.5 * growth / (even + order * odd), 0.5 / (growth * (even - order * odd))
    z = sign * 0.25 * x * x
    mixed = b.constant(0.0, F64)
    if sign < 0:
        f, p, q = f * (2 / math.pi), p * (2 / math.pi), q * (2 / math.pi)
        half = sin_pi(b, 0.5 * order)
        mixed = b.select(small, (0.5 * math.pi**2) * order, 2.0 * half * half / b.select(small, 1.0, order))
    first, second, c = f + mixed * q, p, b.constant(1.0, F64)
    for k in range(1, TERMS):
        i = float(k)
        f = (i * f + p + q) / (i * i - square)
        p, q, c = p / (i - order), q / (i + order), c * (z / i)
        g = f + mixed * q
        first, second = first + c * g, second + c * (p - i * g)
    return Pair(-first, -2.0 * second) if sign < 0 else Pair(first, 2.0 * second)


def raised(b: ScalarBuilder, active: Value, start: Pair, order: Value, steps: Value, x: Value, sign: float) -> Value:
    """Y (where `sign` is -1) or K, `steps` orders above the first of the two that `start` has."""

    def step(k: Value, low: Value, high: Value) -> tuple[Value, Sequence[Value]]:
        following = 2.0 * (order + k) / x * high + sign * low
        # What overflowed stays so.
        return k < steps, (k + 1.0, high, b.select(abs(high) < np.inf, following, high))

    one = b.constant(1.0, F64)
    return b.iterate(active & (steps > 0.0), (one, start.first, start.second), step, STEPS)[1]


def lowered(
    b: ScalarBuilder, active: Value, ratio: Value, sign: Value, order: Value, steps: Value, x: Value, alternating: bool
) -> tuple[Value, Value, Value]:
    """J (where `alternating`) or I: what it is `steps` orders below `order`, the next higher one there, and here.

    All times one number; `ratio` is the next higher over that of `order`, and `sign` that of the latter.
    """

    def step(k: Value, high: Value, low: Value, here: Value) -> tuple[Value, Sequence[Value]]:
        factor = 2.0 * (order - k) / x * low
        following = factor - high if alternating else factor + high
        scale = b.select(abs(following) > BIG, 1 / BIG, b.constant(1.0, F64))
        return k + 1.0 < steps, (k + 1.0, low * scale, following * scale, here * scale)

    zero, one = b.constant(0.0, F64), b.constant(1.0, F64)
    _, high, low, here = b.iterate(active & (steps > 0.0), (zero, sign * ratio, sign, one), step, STEPS)
    return tamed(b, low), high, here * sign


def next_over_this(
    b: ScalarBuilder, active: Value, order: Value, x: Value, alternating: bool
) -> tuple[Value, Value, Value]:
    """J (where `alternating`) or I of the next order over this, by Lentz's method, the sign of this, and the change."""
    numerator = -1.0 if alternating else 1.0

    def step(k: Value, c: Value, d: Value, h: Value, sign: Value, _: Value) -> tuple[Value, Sequence[Value]]:
        partial = 2.0 * (order + k) / x
        d = 1.0 / tamed(b, partial + numerator * d)
        c = tamed(b, partial + numerator / c)
        factor = c * d
        change = abs(factor - 1.0)
        return change > EPSILON * 2, (k + 1.0, c, d, h * factor, b.select(d < 0.0, -sign, sign), change)

    one, two = b.constant(1.0, F64), b.constant(2.0, F64)
    first = 2.0 * (order + 1.0) / x
    d = 1.0 / first
    _, _, _, h, sign, change = b.iterate(active, (two, b.constant(FIRST, F64), d, d, one, one), step, STEPS)
    return h, sign, change


def oscillating(b: ScalarBuilder, active: Value, order: Value, x: Value) -> Pair:
    """J and Y of an order from 0 on by the fractions, for ``x > 2``."""
    ratio, sign, change = next_over_this(b, active, order, x, True)
    steps = b.maximum(b.floor(order - x + 1.5), 0.0)
    low_order = order - steps
    low, high, here = lowered(b, active, ratio, sign, order, steps, x, True)
    slope = low_order / x - high / low

    # The fraction of p + i*q, the logarithmic derivative of J + i*Y, in real and imaginary parts.
    def step(
        k: Value, cr: Value, ci: Value, dr: Value, di: Value, hr: Value, hi: Value
    ) -> tuple[Value, Sequence[Value]]:
        a = (k - 0.5) * (k - 0.5) - low_order * low_order
        re, im = 2.0 * x, 2.0 * k
        scale = a / (cr * cr + ci * ci)
        cr, ci = re + scale * cr, im - scale * ci
        re, im = re + a * dr, im + a * di
        scale = 1.0 / (re * re + im * im)
        dr, di = re * scale, -im * scale
        fr, fi = cr * dr - ci * di, cr * di + ci * dr
        return abs(fr - 1.0) + abs(fi) > EPSILON * 4, (k + 1.0, cr, ci, dr, di, hr * fr - hi * fi, hr * fi + hi * fr)

    a = 0.25 - low_order * low_order
    size = 0.25 / (x * x + 1.0)
    dr, di = 2.0 * x * size, -2.0 * size
    zero, two, infinite = (b.constant(v, F64) for v in (0.0, 2.0, FIRST))
    # Its first numerator is left to the end: it may be 0.
    *_, hr, hi = b.iterate(active, (two, infinite, zero, dr, di, dr, di), step, STEPS)
    p, q = -(a * hi) / x - 0.5 / x, 1.0 + a * hr / x
    gamma = (p - slope) / q
    j = b.copysign(b.sqrt(2.0 / (math.pi * x) / ((p - slope) * gamma + q)), low)
    y = gamma * j
    following = low_order / x * y - (gamma * p + q) * j
    found = (change < 2.0**-40) & (steps < float(STEPS))
    first, second = here * (j / low), raised(b, active, Pair(y, following), low_order, steps, x, -1.0)
    return Pair(b.select(found, first, np.nan), b.select(found, second, np.nan))


def growing(b: ScalarBuilder, active: Value, order: Value, x: Value) -> Pair:
    """``exp(-x) * I``, and K over `released`, of an order from 0 on by the fractions, for ``x > 2``."""
    ratio, sign, change = next_over_this(b, active, order, x, False)
    steps = b.floor(order + 0.5)
    low_order = order - steps
    low, high, here = lowered(b, active, ratio, sign, order, steps, x, False)
    slope = low_order / x + high / low
    square = low_order * low_order
    front = 0.25 - square

    # Temme's sum of K beside its fraction, which is of the next order over this.
    def step(
        k: Value, a: Value, c: Value, before: Value, last: Value, q: Value, d: Value, part: Value, h: Value, s: Value
    ) -> tuple[Value, Sequence[Value]]:
        a = a - 2.0 * (k - 1.0)
        c = -a * c / k
        partial = 2.0 * (x + k)
        following = (before - (partial - 2.0) * last) / a
        q = q + c * following
        d = 1.0 / (partial + a * d)
        part = (partial * d - 1.0) * part
        change = q * part
        return abs(change) > abs(s) * EPSILON, (
            k + 1.0, a, c, last, following, q, d, part, h + part, s + change,
        )  # fmt: skip

    zero, one, two = (b.constant(v, F64) for v in (0.0, 1.0, 2.0))
    d = 0.5 / (x + 1.0)
    *_, h, s = b.iterate(active, (two, -front, front, zero, one, front, d, d, d, 1.0 + front * d), step, STEPS)
    k = b.sqrt(0.5 * math.pi / x) / s
    following = k * (low_order + x + 0.5 - front * h) / x
    i = 1.0 / (x * (slope * k + following) - low_order * k)
    found, held = (change < 2.0**-40) & (steps < float(STEPS)), b.op("exp", -b.minimum(x, HELD))
    first = here * (i / low)
    second = raised(b, active, Pair(k * held, following * held), low_order, steps, x, 1.0)
    return Pair(b.select(found, first, np.nan), b.select(found, second, np.nan))


def hankel(b: ScalarBuilder, active: Value, order: Value, x: Value, sign: float) -> Pair:
    """The sums of the even and of the odd terms of Hankel's expansions, each with the powers of `sign`."""
    square, scale = 4.0 * order * order, 0.125 / x

    def step(k: Value, term: Value, even: Value, odd: Value) -> tuple[Value, Sequence[Value]]:
        wide = 2.0 * k - 1.0
        term = term * ((square - wide * wide) * scale / k)
        odd = odd + term
        wide = wide + 2.0
        term = sign * term * ((square - wide * wide) * scale / (k + 1.0))
        even = even + term
        return abs(term) > EPSILON * abs(even), (k + 2.0, term, even, odd)

    zero, one = b.constant(0.0, F64), b.constant(1.0, F64)
    _, _, even, odd = b.iterate(active, (one, one, one, zero), step, 40)
    return Pair(even, odd)


def turned(b: ScalarBuilder, order: Value) -> tuple[Value, Value]:
    """The cosine and sine of ``pi * order``."""
    n = b.rint(order)
    rest = order - n
    odd = is_odd(b, n)
    c, s = cos_pi(b, rest), sin_pi(b, rest)
    return b.select(odd, -c, c), b.select(odd, -s, s)


def waves(b: ScalarBuilder, inside: Value, order: Value, x: Value) -> Pair:
    """J and Y of an order from 0 on and ``x > 0``, both finite; what runs long does so where `inside`."""
    small = x <= SMALL
    none = (order > HIGH) & (x < 0.5 * order)
    large = ~small & (x >= b.maximum(WAVES_PART * order * order, LARGE))
    middle = inside & ~(small | large | none)
    low = b.minimum(x, SMALL)
    steps = b.floor(order + 0.5)
    at_most = b.select(small, b.minimum(steps, HIGH), 0.0)
    start = temme(b, b.select(small, order - steps, 0.0), low, -1.0)
    near = power_series(b, b.select(none, 0.0, order), low, -1.0)
    start = Pair(start.first, start.second / low)
    rising = raised(b, inside & small, start, b.select(small, order - steps, 0.0), at_most, low, -1.0)
    between = oscillating(b, middle, b.select(middle, order, 1.0), b.select(middle, x, 3.0))
    far = b.select(large, x, LARGE)
    p, q = hankel(b, inside & large, b.select(large, order, 0.0), far, -1.0)
    c, s = turned(b, 0.5 * b.select(large, order, 0.0) + 0.25)
    cos, sin = b.op("cos", far), b.op("sin", far)
    cosine, sine, scale = cos * c + sin * s, sin * c - cos * s, b.sqrt(2 / math.pi / far)
    first = b.select(small, near, b.select(large, scale * (p * cosine - q * sine), between.first))
    second = b.select(small, rising, b.select(large, scale * (p * sine + q * cosine), between.second))
    return Pair(b.select(none, 0.0, first), b.select(none, -np.inf, second))


def released(b: ScalarBuilder, x: Value) -> Value:
    """What K is times of what is carried."""
    return b.op("exp", b.minimum(x, HELD) - x)


def scaled(b: ScalarBuilder, inside: Value, order: Value, x: Value) -> Pair:
    """``exp(-x) * I``, and K over `released`, of an order from 0 on and ``x > 0``, both finite."""
    small = x <= SMALL
    none = (order > HIGH) & (x < 0.5 * order)
    large = ~small & (x >= b.maximum(PART * order * order, LARGE))
    middle = inside & ~(small | large | none)
    low = b.minimum(x, SMALL)
    steps = b.floor(order + 0.5)
    at_most = b.select(small, b.minimum(steps, HIGH), 0.0)
    start = temme(b, b.select(small, order - steps, 0.0), low, 1.0)
    start = Pair(start.first, start.second / low)
    rising = raised(b, inside & small, start, b.select(small, order - steps, 0.0), at_most, low, 1.0)
    near = power_series(b, b.select(none, 0.0, order), low, 1.0) / b.op("exp", low)
    between = growing(b, middle, b.select(middle, order, 1.0), b.select(middle, x, 3.0))
    far = b.select(large, x, LARGE)
    even, odd = hankel(b, inside & large, b.select(large, order, 0.0), far, 1.0)
    first = b.select(small, near, b.select(large, b.sqrt(0.5 / math.pi / far) * (even - odd), between.first))
    outer = b.sqrt(0.5 * math.pi / far) * (even + odd) * b.op("exp", -b.minimum(far, HELD))
    second = b.select(small, rising, b.select(large, outer, between.second))
    return Pair(b.select(none, 0.0, first), b.select(none, np.inf, second))


class _OfOrder(InDouble):
    arity = 2
    cost = 3000.0
    ulp = 16.0
    domain = (0.1, 12.0)


def arguments(b: ScalarBuilder, order: Value, x: Value) -> tuple[Value, Value, Value, Value]:
    """Where both are such that there is a number, the order's size, x's, and whether the order is whole."""
    whole = b.rint(order).equals(order)
    inside = (abs(order) < np.inf) & (abs(x) < np.inf) & x.differs(0.0)
    return inside, b.select(inside, abs(order), 1.0), b.select(inside, abs(x), 1.0), whole


def mirrored(b: ScalarBuilder, order: Value, x: Value, value: Value, whole: Value) -> Value:
    """J or I at x from what it is at its size; NaN at a negative x unless the order is whole."""
    odd = is_odd(b, order)
    return b.select(x < 0.0, b.select(whole, b.select(odd, -value, value), np.nan), value)


@op
class Jv(_OfOrder):
    """The Bessel function of the first kind of real order, which is first; NaN for x < 0 unless that is whole.

    NaN also at infinity, and where it takes more than 2**17 steps.  |error| <= 16 ulp of order, x and result.
    """

    also = ("scipy.special.jv",)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        order, x = xs
        inside, size, a, whole = arguments(b, order, x)
        j, y = waves(b, inside, size, a)
        c, s = turned(b, size)
        reflected = b.select(whole, c * j, c * j - s * y)
        value = mirrored(b, order, x, b.select(order < 0.0, reflected, j), whole)
        # At 0.
        pole = b.select(whole, 0.0, b.copysign(b.constant(np.inf, F64), recurring_sign(b, order)))
        zero = b.select(order.equals(0.0), 1.0, b.select(order > 0.0, 0.0, pole))
        value = b.select(inside, value, b.select(x.equals(0.0) & (abs(order) < np.inf), zero, np.nan))
        return b.select(abs(order).equals(np.inf) & (x >= 0.0) & (x < np.inf), 0.0, value)


def recurring_sign(b: ScalarBuilder, order: Value) -> Value:
    """A number of the sign of ``1/gamma(order + 1)`` for a negative order that is not whole."""
    n = b.floor(order)
    return b.select(is_odd(b, n), 1.0, b.constant(-1.0, F64))


@op
class Yv(_OfOrder):
    """The Bessel function of the second kind of real order, which is first; infinite at 0, NaN for x < 0.

    NaN also at infinity, and where it takes more than 2**17 steps.  |error| <= 16 ulp of order, x and result.
    """

    also = ("scipy.special.yv",)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        order, x = xs
        inside, size, a, whole = arguments(b, order, x)
        j, y = waves(b, inside & (x > 0.0), size, a)
        c, s = turned(b, size)
        reflected = b.select(whole, c * y, s * j + b.select(c.equals(0.0), 0.0, c * y))
        value = b.select(x > 0.0, b.select(order < 0.0, reflected, y), np.nan)
        n = b.floor(abs(order))
        c, _ = turned(b, abs(order))
        above = (c < 0.0) | (c.equals(0.0) & (0.5 * n).differs(b.floor(0.5 * n)))
        pole = b.select((order < 0.0) & above, np.inf, b.constant(-np.inf, F64))
        return b.select(inside, value, b.select(x.equals(0.0) & order.equals(order), pole, np.nan))


@op
class Iv(_OfOrder):
    """The modified Bessel function of the first kind of real order, which is first.

    NaN for x < 0 unless that is whole, at infinity, and where it takes more than 2**17 steps.
    |error| <= 16 ulp of order, x and result.
    """

    also = ("scipy.special.iv",)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        order, x = xs
        inside, size, a, whole = arguments(b, order, x)
        i, k = scaled(b, inside, size, a)
        # In two steps: the exponential overflows before the result does.
        half = b.op("exp", 0.5 * a)
        i = (i * half) * half
        _, s = turned(b, size)
        reflected = b.select(whole, i, i + (2 / math.pi) * s * (k * released(b, a)))
        value = mirrored(b, order, x, b.select(order < 0.0, reflected, i), whole)
        pole = b.select(whole, 0.0, b.copysign(b.constant(np.inf, F64), recurring_sign(b, order)))
        zero = b.select(order.equals(0.0), 1.0, b.select(order > 0.0, 0.0, pole))
        value = b.select(inside, value, b.select(x.equals(0.0) & (abs(order) < np.inf), zero, np.nan))
        return b.select(abs(order).equals(np.inf) & (abs(x) < np.inf), 0.0, value)


@op
class Kv(_OfOrder):
    """The modified Bessel function of the second kind of real order, which is first; infinite at 0, NaN for x < 0.

    NaN also where it takes more than 2**17 steps.  |error| <= 16 ulp of order, x and result.
    """

    also = ("scipy.special.kv",)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        order, x = xs
        inside, size, a, _ = arguments(b, order, x)
        _, k = scaled(b, inside & (x > 0.0), size, a)
        value = b.select(x > 0.0, k * released(b, a), np.nan)
        border = b.select(x.equals(0.0), np.inf, b.select(x.equals(np.inf) & (abs(order) < np.inf), 0.0,
                          b.constant(np.nan, F64)))  # fmt: skip
        return b.select(inside, value, border)
