"""The error function and its complement.

Near 0 ``erf`` is a polynomial in ``x*x``; beyond, ``1 - p(a)**8``: the eighth root of ``erfc(a)`` is so smooth that a
short polynomial has the bits of it that 1 leaves.  With all its bits, ``erfc(a) = exp(-a*a) * p(t) / (1 + 2*a)`` with
``t = (a - 4)/(a + 4)``, one polynomial for every a (`benchmarks/minimax.py`: ``erf``, ``erf-tail`` and ``erfc``).
"""

from __future__ import annotations

import math

import numpy as np

from ....registry import Map, op
from ....scalar.float_bits import coefficients, two_product
from ....scalar.gamma import F64, InDouble
from ....scalar.language import ScalarBuilder, Value
from ...transcendental.exponential import exp

#: Where the one polynomial ends and the other begins, whose errors count little from there on.
BETWEEN = 1.25
#: ``erf(x)/x - 1`` over ``x*x``.
NEAR32 = (
    -7.42236762e-06, 0.000103165905, -0.000832410296, 0.00520749856, -0.0268594995, 0.112836584, -0.376126289,
    0.128379166,
)  # fmt: skip
NEAR64 = (
    -4.3068330441843434e-12, 8.9982428656089484e-11, -1.2365827051501366e-09, 1.4859375894107822e-08,
    -1.6377858214009273e-07, 1.6463730597758837e-06, -1.4925791468890456e-05, 0.00012055341192579184,
    -0.00085483273391927911, 0.0052239776331764205, -0.026866170646254003, 0.11283791670963587,
    -0.37612638903184004, 0.12837916709551259,
)  # fmt: skip
#: ``erfc(a)**(1/8)`` up to where ``erf(a)`` is 1.
TAIL32 = (
    0.000172057684, -0.00271514454, 0.0140339211, -0.0139919342, -0.0580082498, -0.147399887, 1.00149107,
)  # fmt: skip
TAIL64 = (
    -1.2943467822343074e-13, 6.423811771263843e-12, -1.5047389124168677e-10, 2.1729729564592564e-09,
    -2.1029913964962343e-08, 1.3806482338765565e-07, -5.9031085449037667e-07, 1.4553745060372435e-06,
    -1.0857771019154189e-06, -9.8032199717208235e-06, 0.00010875038638242122, -0.00055110782827956549,
    0.00023485386765110194, 0.0065465487504733988, -0.0020628393659068681, -0.069641057760479297,
    -0.14104475249725779, 0.9999996967605278,
)  # fmt: skip
#: ``exp(a*a) * erfc(a) * (1 + 2*a)`` over t.
FAR32 = (
    3.35986406e-05, 0.00486597791, -0.0171681233, 0.037149556, -0.0658540353, 0.0937702358, -0.101139285,
    0.0680895522, 0.0153872408, -0.139620796, 1.23299503,
)  # fmt: skip
FAR64 = (
    1.2017001708321721e-09, 1.6830317221744404e-09, -1.4083683248783473e-08, -1.7493773814450844e-08,
    1.103519578418139e-07, 7.414761072458704e-08, -8.259804272268611e-07, 2.9412064813971021e-07,
    5.7102019676832668e-06, -1.1222158344144e-05, -2.4399442854708394e-05, 0.00015062171400382165,
    -0.00019925662574671755, -0.00075777329690576581, 0.005031969964981055, -0.016197734056568464,
    0.037167515538962755, -0.066330365812327527, 0.093732834998257256, -0.10103906603629924, 0.068097054254695297,
    0.015379652102619649, -0.13962111684056253, 1.2329951186255526,
)  # fmt: skip
#: ``sqrt(pi) * a * exp(a*a) * erfc(a)`` over ``1/(a*a)`` from 28 on (DLMF 7.12.1).
FARTHEST = (1.0, -1 / 2, 3 / 4, -15 / 8, 105 / 16, -945 / 32)[::-1]


def _reference(x: np.ndarray, complementary: bool) -> np.ndarray:
    """Python's own `math.erf`, an element at a time: NumPy has none."""
    compute = np.frompyfunc(math.erfc if complementary else math.erf, 1, 1)
    return np.asarray(compute(x.astype(np.float64)), np.float64)


def near(b: ScalarBuilder, x: Value) -> Value:
    """``erf(x)`` for ``|x| <= 5/4``."""
    return b.fma(x, b.polynomial(x * x, coefficients(x, NEAR32, NEAR64)), x)


def scaled(b: ScalarBuilder, a: Value) -> Value:
    """``exp(a*a) * erfc(a)`` for a from 0 to 28."""
    t = (a - 4.0) / (a + 4.0)
    return b.polynomial(t, coefficients(a, FAR32, FAR64)) / b.fma(a, 2.0, 1.0)


def complement(b: ScalarBuilder, a: Value) -> Value:
    """``erfc(a)`` for ``a >= 0``."""
    limit = 28.0 if a.dtype.bits == 64 else 11.0
    # Beyond the limit it is 0; a NaN stays.
    bounded = b.minimum(b.constant(limit, a.dtype), a)
    p = scaled(b, bounded)
    square, lost = two_product(b, bounded, bounded)
    return exp(b, -square) * b.fma(p, -lost, p)


def _erf(x: np.ndarray) -> np.ndarray:
    return _reference(x, False)


@op
class Erf(Map):
    """The error function.  |error| <= 2 ulp."""

    numpy = _erf
    also = ("scipy.special.erf",)
    seeds = "Eigen erf"
    promotes = "float"
    mlir = "math.erf"
    ulp = 2.0
    cost = 26.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        # `minimum` keeps a NaN.
        a = b.minimum(b.constant(6.0 if x.dtype.bits == 64 else 4.0, x.dtype), abs(x))
        root = b.polynomial(a, coefficients(a, TAIL32, TAIL64))
        fourth = (root * root) * (root * root)
        far = 1.0 - fourth * fourth
        return b.select(a < BETWEEN, near(b, x), b.copysign(far, x))


def _erfc(x: np.ndarray) -> np.ndarray:
    return _reference(x, True)


@op
class Erfc(Map):
    """1 - erf(x), accurate where that is tiny.  |error| <= 6 ulp (f64: 4)."""

    numpy = _erfc
    also = ("scipy.special.erfc",)
    seeds = "Eigen erfc"
    promotes = "float"
    ulp = 6.0
    cost = 60.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        far = complement(b, abs(x))
        outer = b.select(x < 0.0, 2.0 - far, far)
        return b.select(abs(x) < 0.25, 1.0 - near(b, x), outer)


@op
class Erfcx(InDouble):
    """``exp(x*x) * erfc(x)``, also where one overflows and the other underflows.  |error| <= 4 ulp of x and result."""

    also = ("scipy.special.erfcx",)
    ulp = 4.0
    cost = 80.0

    @classmethod
    def double(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        a = abs(x)
        bounded = b.minimum(b.constant(28.0, F64), a)
        w = 1.0 / a
        far = w * math.sqrt(1 / math.pi) * b.polynomial(w * w, FARTHEST)
        value = b.select(a > 28.0, far, scaled(b, bounded))
        square, lost = two_product(b, bounded, bounded)
        below = exp(b, square) * (2.0 + 2.0 * lost) - value
        return b.select(x < 0.0, below, value)
