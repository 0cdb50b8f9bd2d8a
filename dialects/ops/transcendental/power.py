"""Powers: ``|x|**y = exp(y * log|x|)`` with the logarithm in two words, so that the error stays below one ulp.

f32 is computed in f64, to base two, where one word and short polynomials are enough: ``y * log2|x|`` is below 150 for
all results between 0 and infinity, so 2**-37 of the logarithm are 2**-30 of the result.  NumPy's special cases are set
apart in a rare path.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...registry import Map, op
from ...scalar import complex_functions
from ...scalar.float_bits import fast_two_sum, format_of, power_of_two, two_product
from ...scalar.language import ScalarBuilder, Value
from ...types import DTYPES
from .exponential import exp_of, ln2, reduce, scale_twice
from .logarithm import exponent_and_fraction

F64 = DTYPES["f64"]
#: ``(2*atanh(s)/s - 2 - 2*z/3) / z**2`` over ``z = s*s`` (`benchmarks/minimax.py`: ``pow64``).
TAIL = (
    0.11981792227616203, 0.1167577650210001, 0.13336264678396825, 0.15384558424786793, 0.18181818844031444,
    0.22222222217789583, 0.28571428571443841, 0.3999999999999998,
)  # fmt: skip
TWO_THIRDS = (0.66666666666666663, 3.700743415417188e-17)
#: ``2*log2(e)*atanh(s)/s`` over ``z = s*s``, and ``2**r`` for ``|r| <= 1/2``, for f32 (``pow-log`` and ``pow-exp``).
LOG2 = (0.3407385519475524, 0.41167219346602707, 0.5770835953545309, 0.9617966732731426, 2.885390081790168)
EXP2 = (
    0.00015345492679793015, 0.0013399922457675378, 0.009618490151433106, 0.05550328804828271, 0.24022646880852247,
    0.6931472057155033, 1.000000000553282,
)  # fmt: skip


def log_in_two_words(b: ScalarBuilder, x: Value) -> tuple[Value, Value]:
    """The natural logarithm of a positive f64, to about 2**-66."""
    subnormal = x < 2.0**-1022
    k, f = exponent_and_fraction(b, b.select(subnormal, x * 2.0**54, x))
    k = b.select(subnormal, k - 54.0, k)
    # s = f / (2 + f)
    below, below_low = fast_two_sum(b.constant(2.0, F64), f)
    inverse = 1.0 / below
    s = f * inverse
    back, back_low = two_product(b, s, below)
    s_low = (((f - back) - back_low) - s * below_low) * inverse
    z, z_low = two_product(b, s, s)
    z_low = b.fma(s + s, s_low, z_low)
    c, c_low = fast_two_sum(b.constant(TWO_THIRDS[0], F64), b.fma(z, b.polynomial(z, TAIL), TWO_THIRDS[1]))
    t, t_low = two_product(b, z, c)
    t_low = t_low + b.fma(z, c_low, z_low * c)
    u, u_low = two_product(b, s, t)
    u_low = u_low + b.fma(s, t_low, s_low * t)
    high, low = ln2(x)
    log_f, log_f_low = fast_two_sum(s + s, u)
    log_f_low = log_f_low + (s_low + s_low + u_low)
    total, error = fast_two_sum(k * high, log_f)  # a k that is not 0 makes the larger one
    return fast_two_sum(total, error + b.fma(k, low, log_f_low))


def positive_power_of_f32(b: ScalarBuilder, x: Value, y: Value) -> Value:
    """``x**y`` for f64 ``0 < x < inf`` and a finite `y` that are f32s, to be rounded to f32."""
    k, f = exponent_and_fraction(b, x)
    s = f / (f + 2.0)
    product = y * b.fma(s, b.polynomial(s * s, LOG2), k)
    # Beyond, f32 has 0 and infinity only.
    bounded = b.maximum(b.constant(-200.0, F64), b.minimum(b.constant(200.0, F64), product))
    shifter = format_of(x).shifter
    shifted = bounded + shifter
    return b.polynomial(bounded - (shifted - shifter), EXP2) * power_of_two(b, shifted)


def positive_power(b: ScalarBuilder, x: Value, y: Value) -> Value:
    """``x**y`` for f64 ``0 < x < inf`` and a finite `y`."""
    log, log_low = log_in_two_words(b, x)
    product, product_low = two_product(b, y, log)
    product_low = b.fma(y, log_low, product_low)
    limit = 708.0
    inside = abs(product) < limit
    # Outside, low parts may have overflowed, and n would not be an integer any more.
    bounded = b.maximum(b.constant(-800.0, F64), b.minimum(b.constant(800.0, F64), product))
    # (a NaN passes: `minimum` and `maximum` give their second operand then)
    low = b.select(abs(product) < 800.0, product_low, 0.0)
    shifted, n, high = reduce(b, bounded)
    p = exp_of(b, b.fma(n, -ln2(x)[1], high) + low)
    if b.scales(p):
        return b.scaled(p, n)
    return b.rare(~inside, lambda: scale_twice(b, p, n), p * power_of_two(b, shifted))


def edges(b: ScalarBuilder, x: Value, y: Value, size: Value) -> Value:
    """IEEE's and NumPy's answers for all that is not a positive, finite `x` and a finite `y`."""
    a = abs(x)
    infinite, zero = b.constant(np.inf, F64), b.constant(0.0, F64)
    whole = b.trunc(y).equals(y)
    odd = whole & b.trunc(y * 0.5).differs(y * 0.5)
    grows = (a > 1.0) & (y > 0.0) | (a < 1.0) & (y < 0.0)
    extreme = b.select(a.equals(1.0), b.constant(1.0, F64), b.select(grows, infinite, zero))
    far = a.equals(0.0) | a.equals(np.inf) | abs(y).equals(np.inf)
    r = b.select(far, extreme, size)
    negative = b.copysign(b.constant(1.0, F64), x) < 0.0
    r = b.select(negative & odd, -r, r)
    r = b.select((x < 0.0) & ~whole & (a < np.inf), np.nan, r)
    r = b.select(x.differs(x) | y.differs(y), np.nan, r)
    return b.select(x.equals(1.0) | y.equals(0.0), 1.0, r)


def integer_power(b: ScalarBuilder, x: Value, y: Value) -> Value:
    """By squaring, modulo 2**bits; a negative exponent gives ``1 / x**-y`` truncated."""
    one = b.constant(1, x.dtype)

    def steps(total: Value, square: Value, low: int, high: int) -> tuple[Value, Value]:
        for bit in range(low, high):
            total = b.select((y >> bit & 1).differs(0), total * square, total)
            square = square * square
        return total, square

    total, square = steps(one, x, 0, 6)
    total = b.rare(y > 63, lambda: steps(total, square, 6, x.dtype.bits)[0], total) if x.dtype.bits > 6 else total
    if x.dtype.kind == "uint":
        return total
    unit = b.select((y & 1).differs(0), x, one)
    inverse = b.select(x.equals(1) | x.equals(-1), unit, b.constant(0, x.dtype))
    return b.select(y < 0, inverse, total)


@op
class Pow(Map):
    """x**y.  |error| <= 1 ulp; integers by squaring, where a negative exponent gives the truncated inverse."""

    numpy = np.power
    also = (np.float_power,)
    seeds = "Eigen pow, Tensure pow"
    arity = 2
    dtypes = frozenset({"int", "uint", "float", "complex"})
    mlir = "math.powf"
    ulp = 1.0
    cost = 80.0
    domain = (0.1, 5.0)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        if not x.dtype.is_float:
            return integer_power(b, x, y)
        wide_x, wide_y = b.cast(x, F64), b.cast(y, F64)
        power = positive_power if x.dtype is F64 else positive_power_of_f32
        size = power(b, b.cast(abs(x), F64), wide_y)
        ordinary = (x > 0.0) & (x < np.inf) & (abs(y) < np.inf)
        return b.cast(b.rare(~ordinary, lambda: edges(b, wide_x, wide_y, size), size), x.dtype)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        # NumPy refuses negative exponents of integers; a compiled loop cannot, and gives the truncated inverse.
        x, y = arrays
        if x.dtype.kind != "i":
            return super().evaluate(arrays, attrs)
        unit = np.where(y % 2 != 0, x, 1)
        inverse = np.where(np.abs(x) == 1, unit, 0)
        return (np.where(y < 0, inverse, np.power(x, np.maximum(y, 0))).astype(x.dtype),)

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return complex_functions.power(b, *xs)
