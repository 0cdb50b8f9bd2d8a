"""Binomial coefficients of real numbers, ``gamma(n + 1) / (gamma(k + 1) * gamma(n - k + 1))`` (DLMF 1.2.6).

Of whole k they are products, as far as those are short.  Else the three gammas are one beta function of positive
parameters or its inverse, by Stirling's formula, after those that are negative were reflected (DLMF 5.5.3).
"""

from __future__ import annotations

import math

import numpy as np

from ....registry import op
from ....scalar.gamma import F64, InDouble, gamma_star, is_odd, sin_pi
from ....scalar.language import ScalarBuilder, Value

#: From which k on the product is not taken.
LONGEST = 20


def product(b: ScalarBuilder, n: Value, k: Value) -> Value:
    """The coefficient of a whole k from 0 to `LONGEST`, as a product over a factorial: exact where they are."""
    over, under = b.constant(1.0, F64), b.constant(1.0, F64)
    for i in range(1, LONGEST):
        taken = k >= float(i)
        over, under = b.select(taken, over * (n - k + float(i)), over), b.select(taken, under * float(i), under)
        long = abs(over) > 1e50
        over, under = b.select(long, over / under, over), b.select(long, 1.0, under)
    return over / under


def sine_of_turns(b: ScalarBuilder, x: Value) -> Value:
    """``sin(pi*x)``."""
    n = b.rint(x)
    sine = sin_pi(b, x - n)
    return b.select(is_odd(b, n), -sine, sine)


def beta_times(b: ScalarBuilder, p: Value, q: Value, inverted: Value, factor: Value) -> Value:
    """`factor` times the beta function of p and q, both positive, or where `inverted` over it."""
    total = p + q
    exponent = p * b.op("log1p", q / p) + q * b.op("log1p", p / q)
    size = gamma_star(b, total) / (gamma_star(b, p) * gamma_star(b, q)) * b.sqrt(p / total * q * (0.5 / math.pi))
    # In two steps: the exponential may overflow before the result does.
    half = b.op("exp", 0.5 * b.select(inverted, exponent, -exponent))
    return half * (b.select(inverted, size, 1.0 / size) * factor) * half


@op
class Binom(InDouble):
    """The binomial coefficient n over k, n first, of real numbers; NaN for a negative whole n.

    |error| <= 8 ulp of n, k and result.
    """

    also = ("scipy.special.binom",)
    arity = 2
    ulp = 8.0
    cost = 500.0
    domain = (-3.0, 12.0)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        n, k = xs
        other = n - k
        whole = b.floor(n).equals(n)
        mirrored = whole & (k > 0.5 * n) & (n > 0.0)
        short = b.select(mirrored, other, k)
        steps = b.floor(k).equals(k) & ((abs(n) > 1e-8) | n.equals(0.0)) & (short >= 0.0) & (short < float(LONGEST))
        near = product(b, n, b.select(steps, short, 0.0))

        def beyond() -> Value:
            # Which of the three gammas are of negative arguments.
            top, left, right = n < -1.0, k < -1.0, other < -1.0
            left, right = left | k.equals(-1.0), right | other.equals(-1.0)
            both = left & right
            p = b.select(both, -k, b.select(top & (left | right), -n, b.select(left | right, n, other) + 1.0))
            q = b.select(both, -other, b.select(top & left, other + 1.0, b.select(top & right, k + 1.0, 0.0)))
            q = b.select(both | top & (left | right), q, b.select(left, -k, b.select(right, -other, k + 1.0)))
            # 1/((n+1)*B) without reflections; 1/(x*B) with the top's and another; B with one, or with all three.
            inverted = ~(left | right) | (top & ~both)
            divisor = b.select(top & left, -k, b.select(top & right, -other, n + 1.0))
            factor = b.select(inverted, 1.0 / divisor, 1.0)
            sine, turned = sine_of_turns(b, n), top & (left | right)
            # Of a whole k the difference's sine is that of n, of which more may be left than of the difference.
            odd = is_odd(b, k)
            rest = b.select(b.rint(k).equals(k), b.select(odd, -sine, sine), sine_of_turns(b, other))
            factor = factor * b.select(left, -sine_of_turns(b, k), 1.0) * b.select(right, -rest, 1.0)
            factor = factor / b.select(turned, -sine, 1.0)
            factor = b.select(both | (~top & (left | right)), factor * (1 / math.pi), factor)
            return beta_times(b, p, q, inverted, factor) + 0.0

        value = b.rare(~steps, beyond, near)
        value = b.select(b.select(n.equals(np.inf), k <= -1.0, k.equals(-np.inf) & (n > -np.inf)), 0.0, value)
        return b.select((n < 0.0) & whole, np.nan, b.select(n.differs(n) | k.differs(k), np.nan, value))
