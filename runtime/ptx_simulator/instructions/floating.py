"""Floating-point arithmetic of PTX on arrays: all rounding modes, `.ftz`, `.sat`, bfloat16 ("Floating Point").

Formats narrower than f64 are computed in f64, rounded to odd where that is inexact, and then rounded once as the
instruction says: what was rounded to odd with two spare bits rounds again as the exact result would (Boldo and
Melquiond, 2008).  f64 in a directed mode compares the nearest result with the exact one in rational arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from ...fma import fma, round_to_odd
from ..ptx.types import Array, Type

__all__ = [
    "arithmetic", "decode_float", "encode_float", "flush", "from_integer", "narrowed", "saturated", "to_integer",
]  # fmt: skip

Compute = Callable[..., Array]

_F64 = np.dtype(np.float64)


def decode_float(bits: Array, type_: Type) -> Array:
    """Values of a float type: bfloat16 as float32, others as they are."""
    if type_.kind == "bf":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return bits if bits.dtype == type_.dtype else bits.view(type_.dtype)


def encode_float(values: Array, type_: Type, mode: str = "rn") -> Array:
    """Values of a wider or equal format as the bits of a float type, rounded once."""
    if type_.kind != "bf":
        return narrowed(values, type_, mode)
    if values.dtype == _F64:
        single = values.astype(np.float32)
        values = round_to_odd(single, np.nan_to_num(values - single.astype(np.float64), nan=0.0))
    bits = values.view(np.uint32)
    low = bits & np.uint32(0xFFFF)
    kept = bits >> np.uint32(16)
    if mode == "rn":
        up = low + (kept & np.uint32(1)) > 0x8000
    elif mode == "rna":
        up = low >= 0x8000
    else:
        negative = np.signbit(values)
        up = (low > 0) & {"rz": np.zeros_like(negative), "rm": negative, "rp": ~negative}[mode]
    rounded = (kept + up).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FFF), rounded)


def narrowed(values: Array, type_: Type, mode: str) -> Array:
    """Values of one NumPy float format in that of `type_`, rounded once."""
    if values.dtype == type_.dtype:
        return values
    near = values.astype(type_.dtype)
    if mode == "rn" or values.itemsize < near.itemsize:
        return near
    return _directed(near, values.astype(np.float64) - near.astype(np.float64), mode)


def _directed(near: Array, error: Array, mode: str) -> Array:
    """What `near`, the nearest to ``near + error``, becomes in a directed mode; only the sign of `error` counts."""
    down, up = near.dtype.type(-np.inf), near.dtype.type(np.inf)
    if mode == "rm":
        return np.where(error < 0, np.nextafter(near, down), near)
    if mode == "rp":
        return np.where(error > 0, np.nextafter(near, up), near)
    positive = near > 0
    return np.where(
        (error != 0) & ((error < 0) == positive) & (near != 0) & ~np.isnan(error),
        np.nextafter(near, near.dtype.type(0)),
        near,
    )


def flush(values: Array) -> Array:
    """Subnormal numbers as zeros of their sign."""
    tiny = np.finfo(values.dtype).smallest_normal
    return np.where(np.abs(values) < tiny, np.copysign(values.dtype.type(0), values), values)


def saturated(values: Array) -> Array:
    """Clamped to [0, 1]; NaN is +0."""
    one = values.dtype.type(1)
    return np.where(values > 0, np.minimum(values, one), values.dtype.type(0))


# Arithmetic


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _odd(near: Array, error: Array) -> Array:
    return round_to_odd(near, np.where(np.isfinite(near), error, 0.0))


def _odd_add(a: Array, b: Array) -> Array:
    return _odd(*_two_sum(a, b))


def _odd_multiply(a: Array, b: Array) -> Array:
    return a * b  # of at most 24 bits each: exact


def _odd_divide(a: Array, b: Array) -> Array:
    near = a / b
    rest = fma(-near, b, a)
    return _odd(near, np.where(np.isnan(rest) | (near == 0), 0.0, rest * np.sign(b)))


def _odd_root(a: Array) -> Array:
    near = np.sqrt(a)
    return _odd(near, np.nan_to_num(fma(-near, near, a), nan=0.0))


def _odd_fma(a: Array, b: Array, c: Array) -> Array:
    return _odd_add(a * b, c)


_NEAREST: dict[str, Compute] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "sqrt": np.sqrt, "fma": fma,
    "rcp": np.reciprocal,
}  # fmt: skip
_TO_ODD: dict[str, Compute] = {
    "add": _odd_add, "sub": lambda a, b: _odd_add(a, -b), "mul": _odd_multiply, "div": _odd_divide, "sqrt": _odd_root,
    "fma": _odd_fma, "rcp": lambda a: _odd_divide(np.ones_like(a), a),
}  # fmt: skip
_EXACT: dict[str, Callable[..., Fraction]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "fma": lambda a, b, c: a * b + c, "rcp": lambda a: 1 / a,
}  # fmt: skip


def arithmetic(name: str, type_: Type, mode: str) -> Compute:
    """The operation on values of a type (bfloat16: on its bits), rounded once in the mode ``rn rz rm rp``."""
    if type_.kind == "bf":
        odd = _TO_ODD[name]
        return lambda *a: encode_float(odd(*(decode_float(x, type_).astype(_F64) for x in a)), type_, mode)
    if mode == "rn" and (type_.bits > 16 or name != "fma"):
        return _NEAREST[name]
    if type_.bits < 64:
        odd = _TO_ODD[name]
        signed = _zero_sign if mode == "rm" and name in ("add", "sub", "fma") else _as_is
        return lambda *a: signed(narrowed(odd(*(x.astype(_F64) for x in a)), type_, mode), *a)
    return lambda *a: _directed_double(name, mode, a)


def _as_is(result: Array, *_: Array) -> Array:
    return result


def _zero_sign(result: Array, *operands: Array) -> Array:
    """A sum of opposite numbers is -0 when rounding down; only sums of +0 alone are +0."""
    nothing = np.all([(x == 0) & ~np.signbit(x) for x in np.broadcast_arrays(*operands)], axis=0)
    return np.where((result == 0) & ~nothing, result.dtype.type(-0.0), result)


def _directed_double(name: str, mode: str, operands: tuple[Array, ...]) -> Array:
    near = np.atleast_1d(_NEAREST[name](*operands))
    error = np.zeros(near.shape)
    for i, lane in enumerate(zip(*np.broadcast_arrays(*operands, near), strict=True)):
        *given, result = (float(x) for x in lane)
        if all(map(math.isfinite, given)) and not math.isnan(result) and not (name in ("div", "rcp") and not given[-1]):
            error[i] = _error_sign(name, given, result)
    result = _directed(near, error, mode)
    return _zero_sign(result, *operands) if mode == "rm" and name in ("add", "sub", "fma") else result


def _error_sign(name: str, given: list[float], near: float) -> int:
    """The sign of the exact result less `near`."""
    if math.isinf(near):
        return -1 if near > 0 else 1
    if name == "sqrt":
        exact, found = Fraction(given[0]), Fraction(near) ** 2
    else:
        exact, found = _EXACT[name](*map(Fraction, given)), Fraction(near)
    return (exact > found) - (exact < found)


# Integers


def from_integer(values: Array, type_: Type, mode: str) -> Array:
    """Integers of at most 64 bits as a float type, rounded once."""
    if values.itemsize <= 4:
        wide, error = values.astype(_F64), None
    else:
        high, low = values >> 32, values & values.dtype.type(0xFFFFFFFF)
        wide, error = _two_sum(high.astype(_F64) * 2.0**32, low.astype(_F64))
    if type_.bits == 64:
        return wide if error is None or mode == "rn" else _directed(wide, error, mode)
    return encode_float(wide if error is None else _odd(wide, error), type_, mode)


_ROUND: dict[str, Compute] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def to_integer(values: Array, type_: Type, mode: str) -> Array:
    """Floats as integers, rounded as ``rni rzi rmi rpi`` says; out of range is the nearest there is, NaN is 0."""
    whole = _ROUND[mode](values.astype(_F64))
    info = np.iinfo(type_.dtype)
    # 2**63 and 2**64 are floats, the largest integers below them are not.
    low, high = float(info.min), float(info.max)
    inside = np.where((whole >= low) & (whole < high), whole, 0.0).astype(type_.dtype)
    return np.where(
        whole >= high, type_.dtype.type(info.max), np.where(whole < low, type_.dtype.type(info.min), inside)
    )


def round_whole(values: Array, mode: str) -> Array:
    """To whole numbers of the same format."""
    return _ROUND[mode](values)


def to_tf32(values: Array, mode: str) -> Array:
    """f32 with 10 bits behind the point, as bits; to nearest, ties to even (rn), away (rna) or towards zero (rz)."""
    bits = values.view(np.uint32)
    low = bits & np.uint32(0x1FFF)
    odd = (bits >> np.uint32(13)) & np.uint32(1)
    up = {"rn": low + odd > 0x1000, "rna": low >= 0x1000, "rz": np.zeros(low.shape, bool)}[mode]
    rounded = (bits & np.uint32(0xFFFFE000)) + (up.astype(np.uint32) << np.uint32(13))
    return np.where(np.isnan(values), np.uint32(0x7FFFFFFF), rounded)
