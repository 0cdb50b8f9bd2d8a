"""Voigt's profile, by the trapezoidal rule.

It is ``K(x, y)`` scaled, the integral over all t of ``y/pi * exp(-t*t) / ((x - t)**2 + y*y)``, which is the real part
of ``exp(-z*z) * erfc(-i*z)`` for ``z = x + i*y``.  The sum of the integrand at the multiples of ``h = sqrt(pi/13)``, or
at the points halfway between, differs from it by the residue at z and by less than a bit; of both sets that is taken
which z is not near (M. Al Azah and S. N. Chandler-Wilde, "Computation of the complex error function using modified
trapezoidal rules", SIAM J. Numer. Anal. 59, 2021).
"""

from __future__ import annotations

import math

import numpy as np

from ....registry import op
from ....scalar.gamma import F64, InDouble
from ....scalar.language import ScalarBuilder, Value

POINTS = 13
H = math.sqrt(math.pi / POINTS)
#: From which y on the residue is less than a bit; from which size on only the integrand's tails count.
FAR, HUGE = math.pi / H, 1e9


def residue(b: ScalarBuilder, x: Value, y: Value, between: Value) -> Value:
    """What the sum over multiples of h lacks where `between`, else that over the points halfway, for y below `FAR`."""
    turns = x * (1 / H)
    angle = (turns - b.rint(turns)) * (2 * math.pi)
    growth = b.op("exp", y * (2 * math.pi / H))
    growth = b.select(between, -growth, growth)
    re, im = 1.0 + growth * b.op("cos", angle), growth * b.op("sin", angle)
    phase = 2.0 * x * y
    wave = b.op("cos", phase) * re + b.op("sin", phase) * im
    return 2.0 * b.op("exp", (y - x) * (y + x)) * wave / (re * re + im * im)


def profile(b: ScalarBuilder, x: Value, y: Value) -> Value:
    """``K(x, y)`` for ``x >= 0`` and ``y >= 0``, both below `HUGE`."""
    turns = x * (1 / H)
    offset = turns - b.floor(turns)
    between = (offset >= 0.25) & (offset <= 0.75)
    total, square = b.constant(0.0, F64), y * y
    for k in reversed(range(POINTS + 1)):
        whole, half = k * H, (k + 0.5) * H
        t = b.select(between, b.constant(whole, F64), half)
        weight = b.select(between, b.constant(math.exp(-whole * whole) * (0.5 if k == 0 else 1.0), F64),
                          math.exp(-half * half))  # fmt: skip
        below, above = x - t, x + t
        total = total + weight * (1.0 / (below * below + square) + 1.0 / (above * above + square))
    total = total * y * (H / math.pi)
    close = y < FAR
    return b.rare(close, lambda: total + residue(b, x, b.select(close, y, 0.0), between), total)


@op
class VoigtProfile(InDouble):
    """The density at x of the sum of a normal variable of deviation sigma and a Cauchy variable of half-width gamma.

    Operands in this order; where sigma is 0 it is that of the other alone, infinite at 0 where both are.
    |error| <= 8 ulp of x, sigma, gamma and result.
    """

    also = ("scipy.special.voigt_profile",)
    arity = 3
    ulp = 8.0
    cost = 600.0
    domain = (0.05, 4.0)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, sigma, gamma = xs
        usual = ~(abs(sigma) < 1e-290)
        scale = math.sqrt(0.5) / b.select(usual, sigma, 1.0)
        u, y = abs(x * scale), gamma * scale
        v = abs(y)
        small = (u < HUGE) & (v < HUGE)
        u_in, v_in = b.select(small, u, 0.0), b.select(small, v, 1.0)
        size = b.op("hypot", u, v)
        tails = b.select(size.equals(np.inf), 0.0, v / size / size * math.sqrt(1 / math.pi))
        value = b.select(small, profile(b, u_in, v_in), tails)
        # Of a negative y it is what is left of both residues.
        wave = 2.0 * b.op("exp", (v_in - u_in) * (v_in + u_in)) * b.op("cos", 2.0 * u_in * v_in)
        wave = b.select(small, wave, b.select(v < np.inf, 0.0, b.constant(np.nan, F64)))
        value = b.select(y < 0.0, wave - value, value) * (scale * math.sqrt(1 / math.pi))
        width = b.op("hypot", x, gamma)
        cauchy = b.select(
            gamma.equals(0.0), b.select(x.equals(0.0), np.inf, 0.0 * abs(x)), gamma / width / width / math.pi
        )
        value = b.select(usual, value, cauchy)
        value = b.select(abs(x).equals(np.inf) & (abs(gamma) < np.inf), 0.0 * b.select(usual, sigma, gamma), value)
        return b.select(x.differs(x) | sigma.differs(sigma) | gamma.differs(gamma), np.nan, value)
