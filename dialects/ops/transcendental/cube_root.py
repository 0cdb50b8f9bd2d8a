"""The cube root, without divisions.

The bits of a float are nearly its logarithm, so those of the inverse root are a constant less a third of them, within
3 parts of 100.  A polynomial in ``a * y**3`` leaves 1 part of a million (`benchmarks/minimax.py`: ``cbrt``), in f64 one
of Newton's steps 2 of 10**12.  The last step is one of the root itself, ``a * y * y``, with its residue in two words,
so that what is left is hardly more than the rounding.
"""

from __future__ import annotations

import numpy as np

from ...registry import Map, op
from ...scalar.float_bits import coefficients, format_of, two_product
from ...scalar.language import ScalarBuilder, Value

#: ``c**(-1/3)`` for ``1/6 <= c <= 16/81``, what ``a * y**3`` is for every estimate y.
INVERSE32 = (-50.8430519, 39.654026, -12.6135216, 3.05325627)
INVERSE64 = (-50.843051214530064, 39.654029569489069, -12.613522600274381, 3.0532563408942011)


def estimate(b: ScalarBuilder, a: Value) -> Value:
    """``a**(-1/3)``, times a constant near 1/2, of a normal, positive `a`."""
    form = format_of(a)
    # Integers below 2**digits become floats by being the low bits of a float whose last place is one.
    dropped = a.dtype.bits - form.digits
    high = (form.bias + form.digits) << form.digits
    whole = b.bitcast((b.bitcast(a, form.unsigned) >> dropped) | high, a.dtype)
    units = 2.0 ** (form.digits - dropped)
    turned = b.fma(whole, -1 / 3, 2.0**form.digits * (4 / 3) + (form.bias * (4 / 3) - 8 / 9) * units)
    return b.bitcast(b.bitcast(turned, form.unsigned) << dropped, a.dtype)


def product_less(b: ScalarBuilder, x: Value, y: Value, z: Value) -> Value:
    """``x*y - z`` where nearly all of it cancels."""
    if b.has_fma:
        return b.fma(x, y, -z)
    product, error = two_product(b, x, y)
    return (product - z) + error


def cube_root(b: ScalarBuilder, a: Value) -> Value:
    """The root of a positive `a` whose square has no part that underflows."""
    y = estimate(b, a)
    y = y * b.polynomial((a * y) * (y * y), coefficients(a, INVERSE32, INVERSE64))
    if a.dtype.bits == 64:
        y = y * b.fma((a * y) * (y * y), -1 / 3, 4 / 3)
    inverse_square = y * y
    root = a * inverse_square
    square, square_low = two_product(b, root, root)
    residue = b.fma(square_low, root, product_less(b, square, root, a))
    return b.fma(residue, inverse_square * (-1 / 3), root)


@op
class Cbrt(Map):
    """The real cube root, of the sign of x.  |error| <= 1 ulp of the result."""

    numpy = np.cbrt
    also = ("scipy.special.cbrt",)
    promotes = "float"
    ulp = 1.0
    cost = 28.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        a = abs(x)
        # Away from where the residue's low words underflow, and without fused operations overflow, by a power of eight.
        third = (format_of(x).bias + 1) // 4
        small, large = a < 2.0 ** (-2 * third), a > 2.0 ** (2 * third)
        scaled = b.select(small, a * 2.0 ** (3 * third), a)
        if not b.has_fma:
            scaled = b.select(large, a * 2.0 ** (-3 * third), scaled)
        root = cube_root(b, scaled)
        if not b.has_fma:
            root = b.select(large, root * 2.0**third, root)
        root = b.select(small, root * 2.0**-third, root)
        return b.select(a < np.inf, b.copysign(root, x), x)
