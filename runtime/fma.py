"""`x*y + z` rounded once, on NumPy arrays: NumPy has no such function, so LLVM makes one for this processor.

Where the processor lacks the instruction, LLVM calls the C library's `fma`, which rounds once as well.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .loader.code_cache import RuntimeCode

__all__ = ["fma", "round_to_odd"]

Array = np.ndarray[Any, Any]

_KINDS = {np.dtype(np.float32): ("float", "f32"), np.dtype(np.float64): ("double", "f64")}
#: Element i of the result is that of the operands' elements i times their steps.
_SOURCE = """
declare {type} @llvm.fma.{name}({type}, {type}, {type})
define void @fma_{name}(i64 %n, ptr %out, ptr %x, i64 %x.step, ptr %y, i64 %y.step, ptr %z, i64 %z.step) {{
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [0, %0], [%next, %loop]
  %x.i = mul i64 %i, %x.step
  %y.i = mul i64 %i, %y.step
  %z.i = mul i64 %i, %z.step
  %x.at = getelementptr {type}, ptr %x, i64 %x.i
  %y.at = getelementptr {type}, ptr %y, i64 %y.i
  %z.at = getelementptr {type}, ptr %z, i64 %z.i
  %x.value = load {type}, ptr %x.at
  %y.value = load {type}, ptr %y.at
  %z.value = load {type}, ptr %z.at
  %value = call {type} @llvm.fma.{name}({type} %x.value, {type} %y.value, {type} %z.value)
  %out.at = getelementptr {type}, ptr %out, i64 %i
  store {type} %value, ptr %out.at
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


def fma(x: Array, y: Array, z: Array) -> Array:
    """`x*y + z` with one rounding; float32 or float64 arrays of one dtype, which broadcast."""
    shape = x.shape if x.shape == y.shape == z.shape else np.broadcast_shapes(x.shape, y.shape, z.shape)
    out = np.empty(shape, x.dtype)
    (x, dx), (y, dy), (z, dz) = _walked(x, shape), _walked(y, shape), _walked(z, shape)
    _native()[x.dtype](out.size, out.ctypes.data, x.ctypes.data, dx, y.ctypes.data, dy, z.ctypes.data, dz)
    return out


def _walked(array: Array, shape: tuple[int, ...]) -> tuple[Array, int]:
    """Memory with the elements of that shape in their order, and the step from one to the next."""
    if array.size == 1:
        return array, 0
    if array.shape != shape:
        array = np.broadcast_to(array, shape)
    return (array if array.flags.c_contiguous else np.ascontiguousarray(array)), 1


@cache
def _native() -> dict[np.dtype[Any], Callable[..., None]]:
    names = [f"fma_{name}" for _, name in _KINDS.values()]
    addresses = RuntimeCode("fma", _source).load(names, _of_the_c_library())
    operands = [ctypes.c_void_p, ctypes.c_int64] * 3
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, *operands)
    return {dtype: prototype(addresses[f"fma_{name}"]) for dtype, (_, name) in _KINDS.items()}


def _source() -> str:
    return "".join(_SOURCE.format(type=type_, name=name) for type_, name in _KINDS.values())


def _of_the_c_library() -> dict[str, int]:
    """Addresses of its functions; empty where this process has not loaded them: few processors need them."""
    library = ctypes.CDLL(None)
    found = {name: getattr(library, name, None) for name in ("fma", "fmaf")}
    return {name: ctypes.cast(f, ctypes.c_void_p).value or 0 for name, f in found.items() if f is not None}


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
