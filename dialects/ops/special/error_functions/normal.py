"""The standard normal distribution: its probabilities, their logarithm and their inverse.

``ndtri(p) = (2*p - 1) * R(w)`` with ``w = -log(4*p*(1 - p))``, one smooth function around 1/2 (M. Giles, "Approximating
the erfinv function", 2010); in the tails ``-ndtri(p) / sqrt(-log(p))`` over the inverse of that root
(`benchmarks/special_fits.py`: ``ndtri_…``).
"""

from __future__ import annotations

import math

import numpy as np

from ....registry import op
from ....scalar.gamma import InDouble
from ....scalar.language import ScalarBuilder, Value

#: R over ``2*w/6.25 - 1``.
MIDDLE = (
    -3.1915245503349245e-10, 1.0961424374334623e-09, 1.8006768975118319e-09, -1.2159475861282588e-08,
    7.7642860866879105e-09, 5.5497233201920977e-08, -1.4103208972691425e-07, -1.4579884971450609e-08,
    7.6428198684835201e-07, -1.4979501869459425e-06, -9.6780991171533449e-07, 1.0083332954254502e-05,
    -1.5919882604165925e-05, -2.1252357437097518e-05, 0.00013204132959054223, -0.00016530579111453109,
    -0.00037390909389203267, 0.0017429978079066097, -0.0017984444550202215, -0.0058510461044437414,
    0.025184826807177974, -0.031967516158614762, -0.083329093528003412, 1.061359245941059, 2.3386207100265932,
)  # fmt: skip
#: Over the inverse root, mapped to [-1, 1]: from 1/6 to 1/2.7, from 1/13 to 1/6, from 1/28 to 1/13.
TAIL = (
    -1.0744863366627808e-13, 3.1551033963241742e-13, -4.1433490219732004e-13, 1.4030988311428838e-12,
    -5.8154509969368856e-12, 1.868768131657872e-11, -5.9940123159729819e-11, 2.016306983657092e-10,
    -6.9364225268191072e-10, 2.444277816701444e-09, -8.8907807563761303e-09, 3.3611256691740241e-08,
    -1.3312796731331363e-07, 5.5894677840736496e-07, -2.5453258975151839e-06, 1.319156477892941e-05,
    -8.4297571225202823e-05, 0.00072600579116917179, -0.0095223564800276002, -0.084488609046070764, 1.2792929870075491,
)  # fmt: skip
FAR = (
    3.6931166012101676e-12, -1.1838159738903789e-11, 2.5662260821421688e-11, -9.3322236358891753e-11,
    3.6392187445408535e-10, -1.3553486069833349e-09, 5.2400309704185208e-09, -2.1386598916320589e-08,
    9.3186512571231068e-08, -4.4391855149615384e-07, 2.4053764044011555e-06, -1.6062838739714542e-05,
    0.00015593498810236316, -0.0027958174689988453, -0.022507458581876402, 1.3785938277884509,
)  # fmt: skip
FARTHEST = (
    -2.3321018077215904e-12, 7.6612663522552224e-12, -1.815315209799359e-11, 6.7832794077956523e-11,
    -2.6938039087984801e-10, 1.0499249745292221e-09, -4.2960062091806191e-09, 1.8813660483402093e-08,
    -9.0197203416942074e-08, 4.9461496677270736e-07, -3.3775313032505396e-06, 3.4891397096695765e-05,
    -0.00080383377587824251, -0.0060015373839212719, 1.4049039376356367,
)  # fmt: skip
#: ``(ratio - 1) / z`` in powers of ``z = 1/x**2``: (-1)**k * (2k - 1)!!.
SERIES = tuple(float((-1) ** k * math.prod(range(1, 2 * k, 2))) for k in range(1, 12))[::-1]


def tail(b: ScalarBuilder, p: Value) -> Value:
    """``-ndtri(p)`` for ``p < 0.0007``."""
    s = b.sqrt(-b.op("log", p))
    r = 1.0 / s

    def over(low: float, high: float, table: tuple[float, ...]) -> Value:
        middle, half = (high + low) / 2, (high - low) / 2
        return b.polynomial((r - middle) * (1 / half), table)

    ratio = over(1 / 6, 1 / 2.7, TAIL)
    ratio = b.select(s > 6.0, over(1 / 13, 1 / 6, FAR), ratio)
    return s * b.select(s > 13.0, over(1 / 28, 1 / 13, FARTHEST), ratio)


def quantile(b: ScalarBuilder, p: Value, q: Value, y: Value) -> Value:
    """``ndtri(p)``, where q is ``1 - p`` and y is ``p - q``."""
    central = abs(y) < 0.5
    w = -b.select(central, b.op("log1p", b.select(central, -y * y, 0.0)), b.op("log", 4.0 * p * q))
    near = y * b.polynomial(w * (2 / 6.25) - 1.0, MIDDLE)

    def outside() -> Value:
        low = p < 0.5
        r = tail(b, b.select(low, p, q))
        return b.select(low, -r, r)

    r = b.rare(w > 6.25, outside, near)
    r = b.select(p.equals(0.0), -np.inf, b.select(q.equals(0.0), np.inf, r))
    return b.select((p >= 0.0) & (q >= 0.0), r, np.nan)


@op
class Ndtri(InDouble):
    """The x below which a standard normal variable is with probability p; NaN outside [0, 1].

    |error| <= 3 ulp of p and result.
    """

    also = ("scipy.special.ndtri",)
    seeds = "Eigen ndtri"
    ulp = 3.0
    domain = (0.0, 1.0)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (p,) = xs
        q = 1.0 - p
        return quantile(b, p, q, p - q)


@op
class Erfinv(InDouble):
    """The inverse of the error function; NaN outside [-1, 1].  |error| <= 3 ulp of x and result."""

    also = ("scipy.special.erfinv",)
    ulp = 3.0
    domain = (-1.0, 1.0)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        r = quantile(b, 0.5 * (1.0 + x), 0.5 * (1.0 - x), x) * math.sqrt(0.5)
        return b.select(x.equals(0.0), x, r)


@op
class Erfcinv(InDouble):
    """The inverse of the complementary error function; NaN outside [0, 2].  |error| <= 3 ulp of x and result."""

    also = ("scipy.special.erfcinv",)
    ulp = 3.0
    domain = (0.0, 2.0)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        half = 0.5 * xs[0]
        # Half of the smallest number is none.
        p = b.select(half.equals(0.0), xs[0], half)
        return -quantile(b, p, 1.0 - half, xs[0] - 1.0) * math.sqrt(0.5)


@op
class Ndtr(InDouble):
    """The probability that a standard normal variable is below x.  |error| <= 3 ulp of x and result."""

    also = ("scipy.special.ndtr",)
    ulp = 3.0
    cost = 80.0

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return 0.5 * b.op("erfc", xs[0] * -math.sqrt(0.5))


@op
class LogNdtr(InDouble):
    """The logarithm of `ndtr`, also where that underflows.  |error| <= 3 ulp of x and result."""

    also = ("scipy.special.log_ndtr",)
    ulp = 3.0
    cost = 150.0
    domain = (-40.0, 5.0)

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        upper = b.op("log1p", -0.5 * b.op("erfc", x * math.sqrt(0.5)))
        lower = b.op("log", 0.5 * b.op("erfc", x * -math.sqrt(0.5)))

        def far() -> Value:
            # The asymptotic series of the tail's ratio to its density.
            z = 1.0 / (x * x)
            ratio = b.polynomial(z, SERIES)
            return -0.5 * x * x - b.op("log", -x) + (b.op("log1p", z * ratio) - 0.5 * math.log(2 * math.pi))

        return b.rare(x < -20.0, far, b.select(x > -1.0, upper, lower))
