"""Complete elliptic integrals, by the arithmetic-geometric mean (DLMF 19.8).

``K(m) = pi/2 / M(1, sqrt(1 - m))`` and ``E = K * (1 - S)``, where S adds up ``2**(n-1) * c(n)**2`` over the steps with
``c(0)**2 = m`` and ``c(n+1) = c(n)**2 / (4*a(n+1))``.  Towards m = 1 the factor ``1 - S`` cancels; there Legendre's
relation (DLMF 19.7.1) makes E a sum of positive parts, ``M(1, sqrt(m)) + K * S'``, S' that of ``1 - m``.
"""

from __future__ import annotations

import math

import numpy as np

from ...registry import op
from ...scalar.gamma import F64, InDouble
from ...scalar.language import ScalarBuilder, Value

#: Steps after which the mean of 1 and any square root of a float has all its bits; and of one from sqrt(1/2) to 1.
STEPS, NEAR_STEPS = 15, 5


def mean(b: ScalarBuilder, g: Value, steps: int) -> Value:
    """The arithmetic-geometric mean of 1 and g."""
    a = b.constant(1.0, F64)
    for _ in range(steps):
        a, g = 0.5 * (a + g), b.sqrt(a * g)
    return 0.5 * (a + g)


def mean_and_sum(b: ScalarBuilder, x: Value) -> tuple[Value, Value]:
    """``M(1, sqrt(1 - x))`` and the S of x, for x from 0 to 1/2."""
    a, g = b.constant(1.0, F64), b.sqrt(1.0 - x)
    square, total = x, 0.5 * x
    for n in range(NEAR_STEPS):
        a, g = 0.5 * (a + g), b.sqrt(a * g)
        c = 0.25 * square / a
        square = c * c
        total = b.fma(square, 2.0**n, total)
    return a, total


def first_kind(b: ScalarBuilder, p: Value) -> Value:
    """``K(1 - p)``."""
    inside = (p > 0.0) & (p < np.inf)
    value = (0.5 * math.pi) / mean(b, b.sqrt(b.select(inside, p, 1.0)), STEPS)
    border = b.select(p.equals(0.0), np.inf, b.select(p.equals(np.inf), 0.0, b.constant(np.nan, F64)))
    return b.select(inside, value, border)


class _Elliptic(InDouble):
    ulp = 4.0
    cost = 300.0
    domain = (-4.0, 1.0)


@op
class Ellipk(_Elliptic):
    """The complete elliptic integral of the first kind of the parameter m; infinite at 1, NaN beyond.

    |error| <= 4 ulp of m and result.
    """

    also = ("scipy.special.ellipk",)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return first_kind(b, 1.0 - xs[0])


@op
class Ellipkm1(_Elliptic):
    """`ellipk` of ``1 - p``, accurate near its pole; infinite at 0, NaN below.  |error| <= 4 ulp of p and result."""

    also = ("scipy.special.ellipkm1",)
    domain = (0.0, 2.0)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return first_kind(b, xs[0])


@op
class Ellipe(_Elliptic):
    """The complete elliptic integral of the second kind of the parameter m; NaN beyond 1.

    |error| <= 4 ulp of m and result.
    """

    also = ("scipy.special.ellipe",)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (m,) = xs
        # A negative parameter becomes one from 0 to 1 (DLMF 19.7.2).
        negative, p = m < 0.0, 1.0 - m
        scale = b.select(negative, b.sqrt(p), 1.0)
        rest = b.select(negative, 1.0 / p, p)
        m = b.select(negative, -m / p, m)
        small = m <= 0.5
        near, total = mean_and_sum(b, b.select(small, m, rest))
        beyond = near + (0.5 * math.pi) / mean(b, b.sqrt(rest), STEPS) * total
        value = scale * b.select(small, (0.5 * math.pi) / near * (1.0 - total), beyond)
        value = b.select(rest.equals(0.0), b.select(negative, np.inf, b.constant(1.0, F64)), value)
        return b.select(p >= 0.0, value, np.nan)
