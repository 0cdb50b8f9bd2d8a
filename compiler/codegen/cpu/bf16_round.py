"""Rounding vectors of f32 to bfloat16 by the processor's own instruction, where it has AVX512-BF16.

``vcvtneps2bf16`` rounds to nearest even and makes NaNs quiet as `convert` does by integers, in one operation
instead of seven.  But numbers below the normal ones are zeros for it, whatever the mode that the thread is in, so
vectors with any of them are rounded by integers ("VCVTNEPS2BF16" in Intel's manual).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ....dialects.scalar.language import Value
from ....dialects.types import DTYPES
from ..emit.values.registers import VectorValue

if TYPE_CHECKING:
    from ..emit.values.scalar import ScalarBodies

__all__ = ["rounded_to_bf16"]

BF16, BOOL = DTYPES["bf16"], DTYPES["bool"]
#: Lanes of the vectors that the instruction takes; of twice as many it takes halves.
_WIDTHS = (8, 16)
#: What ``vfpclassps`` calls the numbers below the normal ones.
_DENORMAL = 0x20


def rounded_to_bf16(scalars: ScalarBodies, x: VectorValue) -> VectorValue | None:
    """The f32s as bf16; None where the target, or vectors of this length, have no instruction for it."""
    target = scalars.text.target
    if x.width not in (*_WIDTHS, 2 * _WIDTHS[-1]) or not (target.has("avx512bf16") and target.has("avx512vl")):
        return None
    b = scalars.builder
    fast = scalars.lanes.apply((x,), BF16, lambda width, r: _rounded(scalars, width, r))
    below = scalars.lanes.apply((x,), BOOL, lambda width, r: _below(scalars, width, r))
    return b.rare(
        Value(b, below, BOOL), lambda: Value(b, scalars.cast_by_conversion(x, BF16), BF16), Value(b, fast, BF16)
    ).ref


def _rounded(scalars: ScalarBodies, width: int, register: str) -> str:

    def one(width: int, register: str) -> str:
        name = f"llvm.x86.avx512bf16.cvtneps2bf16.{32 * width}"
        scalars.text.declare(name, f"<{width} x bfloat>", [f"<{width} x float>"])
        made = scalars.text.ins(f"call <{width} x bfloat> @{name}(<{width} x float> {register})")
        return scalars.text.to("bitcast", width, made, "bfloat", "i16")

    return _by_halves(scalars, width, register, "i16", one)


def _below(scalars: ScalarBodies, width: int, register: str) -> str:
    """Which lanes are below the normal numbers, and no zeros."""

    def one(width: int, register: str) -> str:
        name = f"llvm.x86.avx512.fpclass.ps.{32 * width}"
        scalars.text.declare(name, f"<{width} x i1>", [f"<{width} x float>", "i32"])
        return scalars.text.ins(f"call <{width} x i1> @{name}(<{width} x float> {register}, i32 {_DENORMAL})")

    return _by_halves(scalars, width, register, "i1", one)


def _by_halves(scalars: ScalarBodies, width: int, register: str, scalar: str, one: Callable[[int, str], str]) -> str:
    """What `one` gives of a vector of f32, or of its halves where it takes none so long."""
    if width in _WIDTHS:
        return one(width, register)
    half = width // 2
    low, high = (
        one(half, scalars.text.shuffle(f"<{width} x float>", register, "poison", range(first, first + half)))
        for first in (0, half)
    )
    return scalars.text.shuffle(f"<{half} x {scalar}>", low, high, range(width))
