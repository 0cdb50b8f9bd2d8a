"""The error function and its complement.

Up to 1 ``erf`` is a polynomial in ``x*x``; beyond, ``1 - exp(p(a))``, where p need not be near the logarithm of
``erfc(a)`` but in the bits that 1 leaves of it.  With all its bits, ``erfc(a) = exp(-a*a) * p(t) / (1 + 2*a)`` with
``t = (a - 4)/(a + 4)``, one polynomial for every a (`benchmarks/minimax.py`: ``erf``, ``erf-tail`` and ``erfc``).
"""

from __future__ import annotations

import math

import numpy as np

from ..float_format import coefficients, two_product
from ..registry import Map, op
from ..scalar import ScalarBuilder, Value
from .exponential import exp, exp_inside

#: ``erf(x)/x - 1`` over ``x*x <= 1``.
NEAR32 = (
    7.92036881e-05, -0.000803076138, 0.00519073382, -0.026855126, 0.112836182, -0.376126289, 0.128379166,
)  # fmt: skip
NEAR64 = (
    1.6396191921726995e-10, -1.763871265998785e-09, 1.6305265704640698e-08, -1.6598557708438078e-07,
    1.6484751022248583e-06, -1.492709614240715e-05, 0.00012055394382119882, -0.00085483287365946739,
    0.0052239776557043913, -0.026866170648282509, 0.11283791670972068, -0.37612638903184109, 0.12837916709551259,
)  # fmt: skip
#: ``log(erfc(a))`` for ``1 <= a``, up to where ``erf(a)`` is 1.
TAIL32 = (
    0.000186339719, -0.00294733373, 0.0218369644, -0.1031048, -0.638146758, -1.12708819, -0.000341738865,
)  # fmt: skip
TAIL64 = (
    1.0436593868623949e-12, -4.7737065966506088e-11, 1.0218153410055723e-09, -1.3585052193467482e-08,
    1.253972923055801e-07, -8.4891490471445598e-07, 4.3202868728433651e-06, -1.6492779313568471e-05,
    4.498587920800265e-05, -7.0269061672852712e-05, -4.4965504475965715e-05, 0.00064133210085243284,
    -0.0017691306246891453, 0.00028055950928010138, 0.019078137075818798, -0.10274725743338348, -0.6366284822897863,
    -1.1283773316826649, -1.7928175158066366e-07,
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


def _reference(x: np.ndarray, complementary: bool) -> np.ndarray:
    """Python's own `math.erf`, an element at a time: NumPy has none."""
    compute = np.frompyfunc(math.erfc if complementary else math.erf, 1, 1)
    return np.asarray(compute(x.astype(np.float64)), np.float64)


def near(b: ScalarBuilder, x: Value) -> Value:
    """``erf(x)`` for ``|x| <= 1``."""
    return b.fma(x, b.polynomial(x * x, coefficients(x, NEAR32, NEAR64)), x)


def complement(b: ScalarBuilder, a: Value) -> Value:
    """``erfc(a)`` for ``a >= 0``."""
    limit = 28.0 if a.dtype.bits == 64 else 11.0
    # Beyond the limit it is 0; a NaN stays.
    bounded = b.minimum(b.constant(limit, a.dtype), a)
    t = (bounded - 4.0) / (bounded + 4.0)
    p = b.polynomial(t, coefficients(a, FAR32, FAR64)) / b.fma(bounded, 2.0, 1.0)
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
    cost = 40.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        # `minimum` keeps a NaN.
        a = b.minimum(b.constant(6.0 if x.dtype.bits == 64 else 4.0, x.dtype), abs(x))
        far = 1.0 - exp_inside(b, b.polynomial(a, coefficients(a, TAIL32, TAIL64)))
        return b.select(a < 1.0, near(b, x), b.copysign(far, x))


def _erfc(x: np.ndarray) -> np.ndarray:
    return _reference(x, True)


@op
class Erfc(Map):
    """1 - erf(x), accurate where that is tiny.  |error| <= 4 ulp."""

    numpy = _erfc
    also = ("scipy.special.erfc",)
    seeds = "Eigen erfc"
    promotes = "float"
    ulp = 4.0
    cost = 60.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        far = complement(b, abs(x))
        outer = b.select(x < 0.0, 2.0 - far, far)
        return b.select(abs(x) < 0.25, 1.0 - near(b, x), outer)
