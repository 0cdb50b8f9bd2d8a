"""Vectors times powers of two by the one instruction of AVX-512 that takes any exponent.

``vscalefps`` gives ``p * 2**n`` rounded once, 0 and infinity included.  An exponential then needs no path of its own
for arguments whose power of two is no normal number: a third less code, and no branch.  Its bits are those of that
path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..emit.text import llvm_type, vector_type
from ..emit.values.registers import VectorValue
from ..target.target import Target

if TYPE_CHECKING:
    from ..emit.values.scalar import ScalarBodies

__all__ = ["has_vscalef", "scaled_by_powers"]


def has_vscalef(target: Target, x: VectorValue) -> bool:
    """Whether registers such as `x` have the instruction."""
    bits = x.width * x.dtype.bits
    if not target.is_x86 or not target.has("avx512f") or not x.dtype.is_float:
        return False
    return x.dtype.bits >= 32 and (bits == 512 or (bits in (128, 256) and target.has("avx512vl")))


def scaled_by_powers(scalars: ScalarBodies, p: VectorValue, n: VectorValue) -> VectorValue:
    """``p * 2**n`` of registers that have the instruction."""
    bits, vector = p.width * p.dtype.bits, vector_type(p.width, llvm_type(p.dtype))
    name = f"llvm.x86.avx512.mask.scalef.{'ps' if p.dtype.bits == 32 else 'pd'}.{bits}"
    mask = f"i{max(8, p.width)}"
    # A whole vector has one argument more: how to round, here as is set.
    rounding = ["i32"] if bits == 512 else []
    scalars.text.declare(name, vector, [vector, vector, vector, mask, *rounding])
    rest = "".join([f"{vector} zeroinitializer, {mask} -1", *(f", {r} 4" for r in rounding)])
    return scalars.lanes.apply(
        (p, n), p.dtype, lambda _, a, b: scalars.text.ins(f"call {vector} @{name}({vector} {a}, {vector} {b}, {rest})")
    )
