"""Square roots of vectors of AVX-512 that do not ask the divider.

``vrsqrt14`` gives ``1/sqrt(x)`` to 14 bits, each step of Newton's (Goldschmidt's form, whose operations go side by
side) twice as many: one step for f32, two for f64.  The residual ``x - g*g`` of what comes out then gives the correctly
rounded root: with ``h`` near ``1/(2*sqrt(x))``, ``g + (x - g*g)*h`` before it is rounded is nearer to the root than
any root is to the middle between two floats, but for few significands, which `tests/codegen/test_newton_sqrt.py` goes
through.  That does not depend on the estimate's own bits, in which processors may differ.  Where the residual might
underflow, and for what has no root or is not finite, the divider is asked as always.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....dialects.scalar.float_bits import format_of
from ....dialects.scalar.language import ScalarBuilder, Value
from ..emit.text import llvm_type
from ..emit.values.registers import VectorAxis, VectorValue

if TYPE_CHECKING:
    from ..emit.values.scalar import ScalarBodies

__all__ = ["newton_sqrt", "stepped_root"]

#: Bits of the vectors that have the estimate.
_BITS = 512
#: Steps that an estimate of 14 bits takes.
_STEPS = {32: 1, 64: 2}
#: The exponent of two from which on nothing on the way underflows.
_LEAST = {32: -96, 64: -960}


def newton_sqrt(scalars: ScalarBodies, x: VectorValue, every: int) -> VectorValue:
    """The roots of f32s or f64s: one of `every` registers by steps where the target and the vectors have estimates.

    What neither the divider nor the other ports have time for alone they do together.  Of several lane dims, and of
    fewer registers, all go by steps.
    """
    if x.width * x.dtype.bits != _BITS or not scalars.text.target.has("avx512f"):
        return _divided(scalars, x)
    if every == 1 or len(x.lanes) != 1 or len(x.regs) < every:
        return _stepped(scalars, x)
    numbers = range(len(x.regs))
    stepped, divided = numbers[::every], [n for n in numbers if n % every]
    found = dict(zip(stepped, _stepped(scalars, _some(x, stepped)).regs, strict=True))
    found.update(zip(divided, _divided(scalars, _some(x, divided)).regs, strict=True))
    return VectorValue(x.lanes, [found[n] for n in numbers], x.dtype)


def _some(x: VectorValue, numbers: Sequence[int]) -> VectorValue:
    """Some of the registers along one lane dim."""
    (lane,) = x.lanes
    part = VectorAxis(lane.symbol, lane.width, len(numbers), lane.depth)
    return VectorValue((part,), [x.regs[n] for n in numbers], x.dtype)


def _divided(scalars: ScalarBodies, x: VectorValue) -> VectorValue:
    return scalars.primitive("sqrt", [x], x.dtype)


def _stepped(scalars: ScalarBodies, x: VectorValue) -> VectorValue:
    b, value = scalars.builder, Value(scalars.builder, x, x.dtype)
    return b.rare(_is_apart(b, value), lambda: b.sqrt(value), stepped_root(b, value, _estimate(scalars, value))).ref


def _is_apart(b: ScalarBuilder, x: Value) -> Value:
    """Below the least power of two, which negative numbers and zeros are, infinite, or NaN."""
    form = format_of(x)
    least, infinity = ((exponent + form.bias) << form.digits for exponent in (_LEAST[x.dtype.bits], form.bias + 1))
    return b.bitcast(x, form.unsigned) - least >= infinity - least


def stepped_root(b: ScalarBuilder, x: Value, estimate: Value) -> Value:
    """The root of an ordinary number, of an estimate of its inverse within 2**-14."""
    root, half = x * estimate, estimate * 0.5
    for _ in range(_STEPS[x.dtype.bits]):
        error = b.fma(-half, root, 0.5)
        root, half = b.fma(root, error, root), b.fma(half, error, half)
    return b.fma(b.fma(-root, root, x), half, root)


def _estimate(scalars: ScalarBodies, x: Value) -> Value:
    width, bits = x.ref.width, x.dtype.bits
    name, vector = f"llvm.x86.avx512.rsqrt14.p{'s' if bits == 32 else 'd'}.512", f"<{width} x {llvm_type(x.dtype)}>"
    mask = f"i{width}"
    scalars.text.declare(name, vector, [vector, vector, mask])

    def one(_: int, register: str) -> str:
        return scalars.text.ins(f"call {vector} @{name}({vector} {register}, {vector} zeroinitializer, {mask} -1)")

    return Value(x.b, scalars.lanes.apply((x.ref,), x.dtype, one), x.dtype)
