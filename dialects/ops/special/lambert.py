"""Lambert's W function, the solutions of ``w * exp(w) = z`` by their branch, in real and imaginary parts.

Halley's method from the series at the branch point -1/e (DLMF 4.13.6), ``log(1 + z)`` near 0, and the first two terms
of the expansion for large logarithms (DLMF 4.13.10), as R. M. Corless, G. H. Gonnet, D. E. G. Hare, D. J. Jeffrey and
D. E. Knuth have it ("On the Lambert W function", Adv. Comput. Math. 5, 1996).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...registry import op
from ...scalar.gamma import F64, InDouble
from ...scalar.language import ComplexValue, ScalarBuilder, Value

STEPS = 40
#: From which negative real part on exponentials have few bits, and by how much it is less there.
SHIFTED, SHIFT = 600.0, 128.0
#: What rounding lost of e.
E_LOW = 1.4456468917292502e-16
#: Of the series in ``p = sqrt(2*(e*z + 1))``, the highest power first.
BRANCH = (680863 / 43545600, -221 / 8505, 769 / 17280, -43 / 540, 11 / 72, -1 / 3, 1.0, -1.0)


def pair(b: ScalarBuilder, re: Value, im: Value) -> ComplexValue:
    made = b.complex_of(re, im)
    assert isinstance(made, ComplexValue)
    return made


def chosen(b: ScalarBuilder, condition: Value, x: Value, y: Value) -> ComplexValue:
    assert isinstance(x, ComplexValue) and isinstance(y, ComplexValue)
    return pair(b, b.select(condition, x.re, y.re), b.select(condition, x.im, y.im))


def complex_op(b: ScalarBuilder, name: str, x: ComplexValue) -> ComplexValue:
    made = b.op(name, x)
    assert isinstance(made, ComplexValue)
    return made


def started(b: ScalarBuilder, z: ComplexValue, k: Value) -> ComplexValue:
    """Where Halley's method finds the branch k of a finite z that is not 0."""
    scaled = pair(b, b.fma(z.re, math.e, 1.0) + z.re * E_LOW, z.im * math.e)
    p = complex_op(b, "sqrt", pair(b, scaled.re + scaled.re, scaled.im + scaled.im))
    under = b.copysign(b.constant(1.0, F64), z.im) < 0.0
    principal = k.equals(0.0)
    cut = z.im.equals(0.0) & (scaled.re >= 0.0)
    other = (k.equals(-1.0) & (~under | cut)) | (k.equals(1.0) & under & ~cut)
    p = chosen(b, principal, p, pair(b, -p.re, -p.im))
    series = pair(b, b.constant(BRANCH[0], F64), b.constant(0.0, F64))
    for c in BRANCH[1:]:
        product = series * p
        assert isinstance(product, ComplexValue)
        series = pair(b, product.re + c, product.im)
    log = complex_op(b, "log", z)
    log = pair(b, log.re, log.im + k * (2 * math.pi))
    twice = complex_op(b, "log", log)
    far = pair(b, log.re - twice.re, log.im - twice.im)
    box = principal & (z.re > -1.0) & (z.re < 1.5) & (abs(z.im) < 1.0) & (z.re > -2.5 * abs(z.im) - 0.2)
    near = complex_op(b, "log1p", chosen(b, box, z, pair(b, b.constant(1.0, F64), b.constant(0.0, F64))))
    # On the cut from the branch point to 0 the branch -1 is real.
    real = k.equals(-1.0) & z.im.equals(0.0) & (z.re < 0.0) & (z.re > -0.3)
    straight = b.op("log", b.select(real, -z.re, 0.5))
    straight = straight - b.op("log", -straight)
    far = chosen(b, real, pair(b, straight, b.constant(0.0, F64)), far)
    close = (principal | other) & (b.op("hypot", scaled.re, scaled.im) < 0.5)
    return chosen(b, close, series, chosen(b, box, near, far))


def solved(b: ScalarBuilder, z: ComplexValue, k: Value) -> ComplexValue:
    """The branch k of z."""
    finite = (abs(z.re) < np.inf) & (abs(z.im) < np.inf) & (abs(k) < 1e15)
    zero = z.re.equals(0.0) & z.im.equals(0.0)
    inside = finite & ~zero
    one = b.constant(1.0, F64)
    z_in = chosen(b, inside, z, pair(b, one, b.constant(0.0, F64)))

    def step(re: Value, im: Value) -> tuple[Value, Sequence[Value]]:
        w = pair(b, re, im)
        right = re >= 0.0
        # ``w - z*exp(-w)``, or times exp(w), whichever does not overflow, and its derivative; tiny ones made larger.
        left = re < -SHIFTED
        shifted, factor = b.select(left, re + SHIFT, re), b.select(left, math.exp(SHIFT), one)
        power = complex_op(b, "exp", pair(b, b.select(right, -re, shifted), b.select(right, -im, im)))
        whole = w + 1.0
        error = chosen(b, right, w - z_in * power, w * power - z_in * factor)
        slope = chosen(b, right, whole, power * whole)
        moved = error / (slope - (w + 2.0) * error / (2.0 * whole))
        assert isinstance(moved, ComplexValue)
        size, moves = b.op("hypot", re, im), b.op("hypot", moved.re, moved.im)
        sound = moves < np.inf
        re, im = b.select(sound, re - moved.re, re), b.select(sound, im - moved.im, im)
        return sound & (moves > size * 2.0**-50), (re, im)

    start = started(b, z_in, k)
    re, im = b.iterate(inside, (start.re, start.im), step, STEPS)
    value = pair(b, re, im)
    nan, nought, infinite = (b.constant(v, F64) for v in (np.nan, 0.0, np.inf))
    pole = chosen(b, k.equals(0.0), z, pair(b, -infinite, nought))
    turns = k * (2 * math.pi)
    right, left = (z.re.equals(v) & (abs(z.im) < np.inf) for v in (np.inf, -np.inf))
    value = chosen(b, zero, pole, chosen(b, inside, value, pair(b, nan, nan)))
    value = chosen(b, right, pair(b, infinite, z.im + turns), value)
    value = chosen(b, left, pair(b, infinite, (turns + math.pi) - z.im), value)
    return chosen(b, z.re.differs(z.re) | z.im.differs(z.im), z, value)


class _Lambert(InDouble):
    arity = 3
    ulp = 8.0
    cost = 3000.0
    domain = (-3.0, 3.0)


@op
class LambertwRe(_Lambert):
    """The real part of Lambert's W function of ``z_re + i*z_im``, of the branch k, which is last and whole.

    |error| <= 8 ulp of z and result.
    """

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return solved(b, pair(b, xs[0], xs[1]), b.trunc(xs[2])).re


@op
class LambertwIm(_Lambert):
    """The imaginary part of the same.  |error| <= 8 ulp of z and result."""

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return solved(b, pair(b, xs[0], xs[1]), b.trunc(xs[2])).im
