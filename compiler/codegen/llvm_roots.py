"""Square roots of vectors of AVX-512 that do not ask the divider.

``vrsqrt14ps`` gives ``1/sqrt(x)`` to 14 bits, a step of Newton's (Goldschmidt's form, whose operations go side by
side) to 24, and the residual ``x - g*g``, which is exact, the correctly rounded root.  That every significand has its
root does not depend on the estimate's own bits, in which processors may differ (`benchmarks/NOTES.md`).  Where the
residual might underflow, and for what has no root or is not finite, the divider is asked as always.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from ...dialects.scalar import ScalarBuilder, Value
from ...dialects.types import DTYPES
from .lanes import Reg

if TYPE_CHECKING:
    from .llvm_scalar import ScalarWriter

__all__ = ["root_by_steps"]

#: Elements of the vectors that have the estimate.
_WIDTH = 16
#: From here on nothing on the way underflows.
_LEAST = 2.0**-96


def root_by_steps(writer: ScalarWriter, x: Reg) -> Reg | None:
    """The roots of f32s; None where the target or the vectors have no estimate."""
    if x.width != _WIDTH or not writer.target.has("avx512f"):
        return None
    b, value = writer.builder, Value(writer.builder, x, x.dtype)
    return b.rare(_is_apart(b, value), lambda: b.sqrt(value), _root(b, value, _estimate(writer, value))).ref


def _is_apart(b: ScalarBuilder, x: Value) -> Value:
    """Below `_LEAST`, which negative numbers and zeros are, infinite, or NaN."""
    least, infinity = (struct.unpack("<I", struct.pack("<f", v))[0] for v in (_LEAST, float("inf")))
    bits = b.bitcast(x, DTYPES["u32"])
    return bits - least >= infinity - least


def _root(b: ScalarBuilder, x: Value, estimate: Value) -> Value:
    root, half = x * estimate, estimate * 0.5
    error = b.fma(-half, root, 0.5)
    root, half = b.fma(root, error, root), b.fma(half, error, half)
    return b.fma(b.fma(-root, root, x), half, root)


def _estimate(writer: ScalarWriter, x: Value) -> Value:
    name, vector = "llvm.x86.avx512.rsqrt14.ps.512", f"<{_WIDTH} x float>"
    writer.declare(name, vector, [vector, vector, "i16"])

    def one(_: int, register: str) -> str:
        return writer.ins(f"call {vector} @{name}({vector} {register}, {vector} zeroinitializer, i16 -1)")

    return Value(x.b, writer.apply((x.ref,), x.dtype, one), x.dtype)
