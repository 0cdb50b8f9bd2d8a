"""Bodies of the elementary functions of complex scalars, by real functions of their parts.

Each part of a result is within a few units in the last place of the result's magnitude; `log` and `sqrt` are that
accurate in each part.  Infinite and NaN arguments give what C's Annex G says, which the Python array API repeats; where
these leave a sign open, any.  Where it says so, Kahan, "Branch cuts for complex elementary functions" (1987): signs of
zeros choose the side of a branch cut.
"""

from __future__ import annotations

import math

import numpy as np

from .float_bits import format_of, two_product, two_sum
from .language import ComplexValue, ScalarBuilder, Value

__all__ = [
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log", "log1p", "power", "sign",
    "sin", "sinh", "sqrt", "tan", "tanh",
]  # fmt: skip


def parts(z: Value) -> tuple[Value, Value]:
    assert isinstance(z, ComplexValue), f"{z.dtype} is no complex type"
    return z.re, z.im


def scaled(z: Value, factor: Value | float) -> ComplexValue:
    """`z` with both parts multiplied."""
    re, im = parts(z)
    made = z.b.complex_of(re * factor, im * factor)
    assert isinstance(made, ComplexValue)
    return made


def turned(z: Value) -> Value:
    """``i*z``."""
    re, im = parts(z)
    return z.b.complex_of(-im, re)


def turned_back(z: Value) -> Value:
    """``-i*z``."""
    re, im = parts(z)
    return z.b.complex_of(im, -re)


def is_nan(x: Value) -> Value:
    return x.differs(x)


def is_infinite(*values: Value) -> Value:
    """Whether any of the values is."""
    first, *rest = (abs(v).equals(np.inf) for v in values)
    for other in rest:
        first = first | other
    return first


def is_non_finite(x: Value) -> Value:
    """Whether `x` has no cosine: it is infinite or no number."""
    return (x - x).differs(0.0)


def exp_directions(b: ScalarBuilder, x: Value, y: Value) -> tuple[Value, Value]:
    """cos(y) and sin(y); where `y` has none, what ``e**x`` times them is anyway: 0 far left, an infinity far right."""
    wild = is_non_finite(y)
    cosine = b.select(wild & is_infinite(x), 1.0, b.op("cos", y))
    return cosine, b.select(wild & x.equals(-np.inf), 0.0, b.op("sin", y))


def exp(b: ScalarBuilder, z: Value) -> Value:
    """e**z; exact zeros of the imaginary part stay."""
    x, y = parts(z)
    limit = 709.0 if x.dtype.bits == 64 else 88.0
    cosine, sine = exp_directions(b, x, y)
    size = b.op("exp", x)
    # Where e**x overflows, or is subnormal, the result need not: two factors.
    half = b.op("exp", 0.5 * x)
    far = abs(x) > limit
    re = b.select(far, (half * cosine) * half, size * cosine)
    im = b.select(far, (half * sine) * half, size * sine)
    return b.complex_of(re, b.select(y.equals(0.0), y, im))


def expm1(b: ScalarBuilder, z: Value) -> Value:
    """e**z - 1: the real part without the cancellation of ``cos(y) - 1``."""
    x, y = parts(z)
    cosine, sine = exp_directions(b, x, y)
    half = b.select(is_infinite(x), 0.0, b.op("sin", 0.5 * y))
    re = b.op("expm1", x) * b.select(x.equals(-np.inf), 1.0, cosine) - 2.0 * half * half
    return b.complex_of(re, b.select(y.equals(0.0), y, b.op("exp", x) * sine))


def log(b: ScalarBuilder, z: Value) -> Value:
    """The natural logarithm: of the magnitude, and the angle; accurate near the unit circle too."""
    x, y = parts(z)
    a, c = b.maximum(abs(x), abs(y)), b.minimum(abs(x), abs(y))
    square, square_low = two_product(b, a, a)
    other, other_low = two_product(b, c, c)
    above, above_low = two_sum(square, b.constant(-1.0, x.dtype))
    total, total_low = two_sum(above, other)
    excess = total + (total_low + (above_low + (square_low + other_low)))
    factor = b.select(a > 2.0 ** (format_of(x).bias - 2), b.constant(0.25, x.dtype), b.constant(1.0, x.dtype))
    # Half to four times the circle: there the error of the magnitude would be several units of its small logarithm.
    near = (excess > -0.75) & (excess < 15.0) & ~is_nan(x + y)
    direct = b.op("log", b.op("hypot", x * factor, y * factor)) - b.select(factor < 1.0, math.log(0.25), 0.0 * factor)
    re = b.select(near, 0.5 * b.op("log1p", b.select(near, excess, 0.0)), direct)
    return b.complex_of(re, b.op("atan2", y, x))


def log1p(b: ScalarBuilder, z: Value) -> Value:
    """log(1 + z), accurate near 0."""
    x, y = parts(z)
    excess = b.fma(x, 2.0 + x, y * y)
    near = abs(excess) < 0.5
    direct = b.op("log", b.op("hypot", 1.0 + x, y))
    re = b.select(near, 0.5 * b.op("log1p", b.select(near, excess, 0.0)), direct)
    return b.complex_of(re, b.op("atan2", y, 1.0 + x))


def sqrt(b: ScalarBuilder, z: Value) -> Value:
    """The square root in the right half plane."""
    x, y = parts(z)
    form, one = format_of(x), b.constant(1.0, x.dtype)
    # By powers of four to where neither the magnitude overflows nor its half vanishes.
    size = b.maximum(abs(x), abs(y))
    big, small = size > 2.0 ** (form.bias - 3), size < 2.0 ** (form.digits + 6 - form.bias)
    lift = 2.0 ** (form.digits // 2 * 2 + 4)
    x_near, y_near = (b.select(big, v * 0.0625, b.select(small, v * lift, v)) for v in (x, y))
    back = b.select(big, 4.0 * one, b.select(small, one * 2.0 ** -(form.digits // 2 + 2), one))
    long = b.sqrt(0.5 * (abs(x_near) + b.op("hypot", x_near, y_near)))
    short = abs(y_near) / (2.0 * b.select(long.equals(0.0), one, long))
    long, short = (b.select(is_infinite(y), np.inf, part * back) for part in (long, short))
    right = b.copysign(one, x) > 0.0
    return b.complex_of(b.select(right, long, short), b.copysign(b.select(right, short, long), y))


def sinh(b: ScalarBuilder, z: Value) -> Value:
    x, y = parts(z)
    # Where the cosine does not exist, zeros and infinities of sinh(x) stay all the same.
    sized = b.op("sinh", x)
    re = b.select(is_non_finite(y) & (x.equals(0.0) | is_infinite(x)), x, sized * b.op("cos", y))
    return b.complex_of(re, b.select(y.equals(0.0), y, b.op("cosh", x) * b.op("sin", y)))


def cosh(b: ScalarBuilder, z: Value) -> Value:
    x, y = parts(z)
    wild = is_non_finite(y)
    re = b.select(wild & is_infinite(x), np.inf, b.op("cosh", x) * b.op("cos", y))
    im = b.select(wild & x.equals(0.0), x, b.op("sinh", x) * b.op("sin", y))
    return b.complex_of(re, b.select(y.equals(0.0), y * b.copysign(b.constant(1.0, x.dtype), x), im))


def tanh(b: ScalarBuilder, z: Value) -> Value:
    """``(sinh x cosh x + i sin y cos y) / (sinh² x + cos² y)``, whose sums are of positive terms."""
    x, y = parts(z)
    limit = 20.0 if x.dtype.bits == 64 else 10.0
    far, wild = abs(x) > limit, is_non_finite(y)
    one = b.constant(1.0, x.dtype)
    near = b.select(far, 0.0, x)
    angle = b.select(wild & is_infinite(x), 0.0, y)
    hyperbolic, sine, cosine = b.op("sinh", near), b.op("sin", angle), b.op("cos", angle)
    below = b.fma(hyperbolic, hyperbolic, cosine * cosine)
    re = hyperbolic * b.sqrt(b.fma(hyperbolic, hyperbolic, 1.0)) / below
    im = sine * cosine / below
    tail = b.op("exp", -2.0 * abs(x))
    re = b.select(far, b.copysign(b.select(is_non_finite(angle), np.nan, one), x), b.select(x.equals(0.0), x, re))
    im = b.select(far, 4.0 * (sine * cosine) * tail, im)
    return b.complex_of(re, b.select(y.equals(0.0), y, im))


def sin(b: ScalarBuilder, z: Value) -> Value:
    return turned_back(sinh(b, turned(z)))


def cos(b: ScalarBuilder, z: Value) -> Value:
    return cosh(b, turned(z))


def tan(b: ScalarBuilder, z: Value) -> Value:
    return turned_back(tanh(b, turned(z)))


def asin(b: ScalarBuilder, z: Value) -> Value:
    """Kahan's: products of the roots of ``1 - z`` and ``1 + z``, whose terms have one sign."""
    x, y = parts(z)
    (p, p_im), (q, q_im) = (parts(sqrt(b, b.complex_of(1.0 + s * x, s * y))) for s in (-1.0, 1.0))
    unbounded = is_infinite(x, y)
    re = b.op("atan2", x, b.select(unbounded, abs(y), p * q - p_im * q_im))
    im = b.select(unbounded, b.copysign(b.constant(np.inf, x.dtype), y), b.op("asinh", p * q_im - p_im * q))
    return b.complex_of(b.select(x.equals(0.0) & is_nan(y), x, re), im)


def acos(b: ScalarBuilder, z: Value) -> Value:
    x, y = parts(z)
    (p, p_im), (q, q_im) = (parts(sqrt(b, b.complex_of(1.0 + s * x, s * y))) for s in (-1.0, 1.0))
    unbounded = is_infinite(x, y)
    angle = b.op("atan2", b.select(unbounded, abs(y), p), b.select(unbounded, x, q))
    re = b.select(x.equals(0.0) & is_nan(y), math.pi / 2, b.select(unbounded, angle, 2.0 * angle))
    im = b.select(unbounded, b.copysign(b.constant(np.inf, x.dtype), -y), b.op("asinh", q * p_im - q_im * p))
    return b.complex_of(re, im)


def acosh(b: ScalarBuilder, z: Value) -> Value:
    x, y = parts(z)
    (p, p_im), (q, q_im) = (parts(sqrt(b, b.complex_of(x + s, y))) for s in (-1.0, 1.0))
    unbounded = is_infinite(x, y)
    angle = b.op("atan2", b.select(unbounded, y, p_im), b.select(unbounded, x, q))
    im = b.select(x.equals(0.0) & is_nan(y), math.pi / 2, b.select(unbounded, angle, 2.0 * angle))
    return b.complex_of(b.select(unbounded, np.inf, b.op("asinh", p * q + p_im * q_im)), im)


def atanh(b: ScalarBuilder, z: Value) -> Value:
    """Kahan's; far out ``x / |z|²`` and a right angle."""
    x, y = parts(z)
    a, one, limit = abs(x), b.constant(1.0, x.dtype), 2.0 ** format_of(x).digits
    unbounded = is_infinite(x, y)
    far = unbounded | ((a + abs(y)) > limit)
    a_near, y_near = b.select(far, 1.0, a), b.select(far, 1.0, y)
    below = b.fma(1.0 - a_near, 1.0 - a_near, y_near * y_near)
    length = b.op("hypot", x, y)
    re = b.select(far, a / length / length, 0.25 * b.op("log1p", 4.0 * a_near / below))
    re = b.select(unbounded | (x.equals(0.0) & is_nan(y)), 0.0, re)
    angle = 0.5 * b.op("atan2", 2.0 * y_near, (1.0 - a_near) * (1.0 + a_near) - y_near * y_near)
    right = b.select(is_nan(y), y, b.copysign(one * (math.pi / 2), y))
    return b.complex_of(b.copysign(re, x), b.select(far, right, angle))


def asinh(b: ScalarBuilder, z: Value) -> Value:
    return turned_back(asin(b, turned(z)))


def atan(b: ScalarBuilder, z: Value) -> Value:
    return turned_back(atanh(b, turned(z)))


def power(b: ScalarBuilder, x: Value, y: Value) -> Value:
    """``exp(y * log(x))``; 1 for an exponent of zero, 0 from zero to a power with a positive real part."""
    zero = x.equals(0)
    general = exp(b, y * log(b, b.select(zero, 1, x)))
    grows = parts(y)[0] > 0.0
    of_zero = b.select(grows, b.constant(0, x.dtype), complex(np.nan, np.nan))
    return b.select(y.equals(0), 1, b.select(zero, of_zero, general))


def sign(b: ScalarBuilder, z: Value) -> Value:
    """``z / |z|``; zero for zero; of one infinite part its sign alone, of two NaN."""
    x, y = parts(z)
    length = abs(z)
    none = length.equals(0.0)
    endless = [abs(part).equals(np.inf) for part in (x, y)]
    found = []
    for part, own, other in ((x, *endless), (y, *endless[::-1])):
        one = b.copysign(b.constant(1.0, part.dtype), part)
        limit = b.select(own, b.select(other, np.nan, one), 0.0)
        found.append(b.select(none, 0.0, b.select(length.equals(np.inf), limit, part / length)))
    return b.complex_of(*found)
