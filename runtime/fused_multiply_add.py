"""`x*y + z` rounded once, on NumPy arrays, for machines and NumPy versions without the instruction.

float32: the product is exact in float64; the float64 sum rounded to odd loses nothing that the last rounding needs.
float64: Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums" (2008): the three parts of the exact
result are added so that the low part is rounded to odd.  It needs exponents away from the ends of the range; lanes
outside take exact integer arithmetic.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["fma", "round_to_odd"]

Array = np.ndarray[Any, Any]


def fma(x: Array, y: Array, z: Array) -> Array:
    """`x*y + z` with one rounding; float32 or float64 arrays of one dtype, which broadcast."""
    x, y, z = np.broadcast_arrays(x, y, z)
    with np.errstate(all="ignore"):
        return _fma64(x, y, z) if x.dtype == np.float64 else _fma32(x, y, z)


def round_to_odd(near: Array, error: Array) -> Array:
    """The neighbour with an odd last bit around ``near + error``, where `near` is that sum rounded to nearest.

    `error` needs only its sign; exact results and values that are not finite stay.
    """
    bits = near.view(np.int64 if near.dtype == np.float64 else np.int32)
    even = (bits & 1) == 0
    away = (error > 0) == ~np.signbit(near)
    moved = bits + np.where(away, 1, -1).astype(bits.dtype)
    # Stepping down from +0 (or -0) would leave the format: the neighbour of zero there has the error's sign.
    tiny = np.copysign(np.finfo(near.dtype).smallest_subnormal, error).astype(near.dtype)
    stepped = np.where(near == 0, tiny, moved.view(near.dtype))
    # An overflow to infinity came from beyond the largest finite value, whose last bit is odd.
    return np.where(even & (error != 0) & np.isfinite(near), stepped, near).astype(near.dtype, copy=False)


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    product = a * b
    a_high, b_high = _high_half(a), _high_half(b)
    a_low, b_low = a - a_high, b - b_high
    low = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, low


def _high_half(a: Array) -> Array:
    scaled = a * 134217729.0
    return scaled - (scaled - a)


def _fma32(x: Array, y: Array, z: Array) -> Array:
    total, error = _two_sum(x.astype(np.float64) * y.astype(np.float64), z.astype(np.float64))
    return round_to_odd(total, np.where(np.isfinite(total), error, 0)).astype(np.float32)


def _fma64(x: Array, y: Array, z: Array) -> Array:
    product = x * y
    special = (x == 0) | (y == 0) | ~np.isfinite(x) | ~np.isfinite(y) | ~np.isfinite(z)
    magnitude = np.abs(product)
    small, large = 2.0**-900, 2.0**990
    regular = (magnitude > small) & (magnitude < large) & (np.abs(x) < large) & (np.abs(y) < large)
    regular &= (np.abs(z) < large) & ((np.abs(z) > small) | (z == 0))
    high, low = _two_product(x, y)
    t_high, t_low = _two_sum(z, low)
    v_high, v_low = _two_sum(high, t_high)
    w, w_error = _two_sum(t_low, v_low)
    result = v_high + round_to_odd(w, np.where(regular, w_error, 0))
    # A finite product with an infinite or NaN addend is that addend, even where the product alone would overflow.
    finite_product = np.isfinite(x) & np.isfinite(y)
    plain = np.where(finite_product & ~np.isfinite(z), z, product + z)
    result = np.where(special, plain, result)
    extreme = ~special & ~regular
    if extreme.any():
        result[extreme] = [_exact(*map(float, lane)) for lane in zip(x[extreme], y[extreme], z[extreme])]
    return result


def _exact(x: float, y: float, z: float) -> float:
    """The same for finite scalars, by integer arithmetic."""
    (xn, xd), (yn, yd), (zn, zd) = x.as_integer_ratio(), y.as_integer_ratio(), z.as_integer_ratio()
    numerator = xn * yn * zd + zn * xd * yd
    try:
        return numerator / (xd * yd * zd) if numerator else 0.0
    except OverflowError:
        return math.inf if numerator > 0 else -math.inf
