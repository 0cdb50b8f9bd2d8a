"""Inverse hyperbolic functions, by `log1p`."""

from __future__ import annotations

import math

import numpy as np

from ...registry import INEXACT, Map, op
from ...scalar import complex_functions
from ...scalar.float_bits import format_of
from ...scalar.language import ScalarBuilder, Value
from .logarithm import log1p


@op
class Asinh(Map):
    """The inverse hyperbolic sine.  |error| <= 3 ulp."""

    numpy = np.arcsinh
    promotes = "float"
    dtypes = INEXACT
    mlir = "math.asinh"
    ulp = 3.0
    cost = 42.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        a = abs(x)
        big = a > 2.0 ** (format_of(x).digits + 2)
        inner = b.select(big, 1.0, a)
        small = inner + inner * inner / (1.0 + b.sqrt(b.fma(inner, inner, 1.0)))
        r = log1p(b, b.select(big, a, small)) + b.select(big, b.constant(math.log(2), x.dtype), 0.0)
        r = b.select(a < 2.0 ** (-format_of(x).digits // 2), a, r)
        return b.copysign(b.select(a < np.inf, r, a), x)

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return complex_functions.asinh(b, xs[0])


@op
class Acosh(Map):
    """The inverse hyperbolic cosine; NaN below 1.  |error| <= 3 ulp."""

    numpy = np.arccosh
    promotes = "float"
    dtypes = INEXACT
    mlir = "math.acosh"
    ulp = 3.0
    cost = 42.0
    domain = (1.0, 10.0)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        big = x > 2.0 ** (format_of(x).digits + 2)
        t = b.select(big, 1.0, x) - 1.0
        small = t + b.sqrt(2.0 * t + t * t)
        r = log1p(b, b.select(big, x, small)) + b.select(big, b.constant(math.log(2), x.dtype), 0.0)
        return b.select(x < 1.0, np.nan, b.select(x < np.inf, r, x))

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return complex_functions.acosh(b, xs[0])


@op
class Atanh(Map):
    """The inverse hyperbolic tangent; NaN outside [-1, 1].  |error| <= 3 ulp."""

    numpy = np.arctanh
    promotes = "float"
    dtypes = INEXACT
    mlir = "math.atanh"
    ulp = 3.0
    cost = 40.0
    domain = (-0.95, 0.95)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        a = abs(x)
        r = b.copysign(0.5 * log1p(b, 2.0 * a / (1.0 - a)), x)
        r = b.select(a < 2.0 ** (-format_of(x).digits // 2), x, r)
        edge = b.select(a.equals(1.0), b.copysign(b.constant(np.inf, x.dtype), x), np.nan)
        return b.select(a < 1.0, r, edge)

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return complex_functions.atanh(b, xs[0])


@op
class Hypot(Map):
    """sqrt(x**2 + y**2) without overflow on the way.  |error| <= 1.5 ulp."""

    numpy = np.hypot
    arity = 2
    promotes = "float"
    ulp = 1.5
    cost = 16.0
    commutative = True

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = (abs(v) for v in xs)
        big = b.maximum(x, y)
        quarter = 2.0 ** (format_of(x).bias // 2 - 3)
        far = 2.0 ** (format_of(x).bias // 2 + format_of(x).digits + 4)
        # Powers of two that bring the larger one to where squares neither overflow nor vanish.
        one = b.constant(1.0, x.dtype)
        down = b.select(big > quarter, b.constant(1.0 / far, x.dtype), b.select(big < 1.0 / quarter, far, one))
        up = b.select(big > quarter, b.constant(far, x.dtype), b.select(big < 1.0 / quarter, 1.0 / far, one))
        p, q = x * down, y * down
        r = b.sqrt(b.fma(p, p, q * q)) * up
        return b.select(x.equals(np.inf) | y.equals(np.inf), np.inf, r)


@op
class Copysign(Map):
    """The first operand with the sign of the second."""

    numpy = np.copysign
    arity = 2
    promotes = "float"

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return b.copysign(xs[0], xs[1])
