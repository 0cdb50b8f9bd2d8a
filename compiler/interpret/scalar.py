"""Scalar bodies computed on NumPy arrays: bit for bit what machine code gives, one array lane a vector lane.

This is the builder behind every interpreter.  Integers wrap, float-to-integer casts saturate, shifts by the width or
more are defined, half-width floats are rounded once, and `fma` is exact whether or not the machine has it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dialects.registry import Map, Op, OpError, Reduction, Scan, find_op
from ...dialects.scalar.language import ComplexValue, ScalarBuilder, Value
from ...dialects.types import DType, dtype, tensor_type
from ...runtime.fma import fma, round_to_odd
from . import reduction_order as ordered

__all__ = ["NumpyScalarBuilder", "cast_array", "evaluate"]

Array = np.ndarray[Any, Any]


class NumpyScalarBuilder(ScalarBuilder):
    """Computes bodies on NumPy arrays; a `Value`'s `ref` is an array of its dtype, and operands broadcast.

    `has_fma` says which expansion bodies choose: that of a target with a fused multiply-add or of one without.
    """

    def __init__(self, has_fma: bool = True):
        self.has_fma = has_fma

    def value(self, array: Any) -> Value:
        """The body's view of an array; TypeError where its element type is not one txc has."""
        array = np.asarray(array)
        if array.dtype.kind == "c":
            return self.complex_of(self.value(array.real), self.value(array.imag))
        return Value(self, array, dtype(array.dtype))

    def array(self, x: Value) -> Array:
        """The array that a value stands for."""
        if not isinstance(x, ComplexValue):
            return np.asarray(x.ref)
        made = np.empty(np.broadcast_shapes(x.re.ref.shape, x.im.ref.shape), x.dtype.numpy)
        made.real, made.imag = x.re.ref, x.im.ref
        return made

    def emit(self, name: str, operands: Sequence[Value], dtype: DType) -> Value:
        compute = _PRIMITIVES.get(name)
        if compute is None:
            raise OpError(f"no primitive {name!r} in scalar bodies", f"there are {', '.join(_PRIMITIVES)}")
        with np.errstate(all="ignore"):
            result = compute(dtype, *(v.ref for v in operands))
        return Value(self, np.asarray(result).astype(dtype.numpy, copy=False), dtype)

    def literal(self, value: float | int | bool, dtype: DType) -> Value:
        if dtype.is_integer:
            wrapped = int(value) & ((1 << dtype.bits) - 1)
            bits = np.asarray(wrapped, np.dtype(f"uint{dtype.bits}"))
            return Value(self, bits.view(dtype.numpy), dtype)
        if dtype.is_float:
            with np.errstate(all="ignore"):
                return Value(self, cast_array(np.asarray(value, np.float64), dtype), dtype)
        return Value(self, np.asarray(bool(value)), dtype)

    def rare(self, condition: Value, slow: Callable[[], Value], fast: Value) -> Value:
        return self.select(condition, slow(), fast) if condition.ref.any() else fast

    def iterate(
        self,
        active: Value,
        states: Sequence[Value],
        step: Callable[..., tuple[Value, Sequence[Value]]],
        limit: int | None,
    ) -> tuple[Value, ...]:
        states = tuple(states)
        for _ in itertools.count() if limit is None else range(limit):
            if not active.ref.any():
                break
            again, found = step(*states)
            states = tuple(self.select(active, new, old) for new, old in zip(found, states, strict=True))
            active = active & again
        return states

    def op(self, name: str, *operands: Value) -> Value:
        found = find_op(name)
        if not issubclass(found, Map):
            raise OpError(f"a scalar body can only use map ops, and {name} is a {found.family}")
        return found.build(self, *operands)


def evaluate(decl: type[Op], arrays: Sequence[Array], attrs: dict[str, Any]) -> tuple[Array, ...]:
    """What an op computes, by NumPy; by its own bodies where NumPy has no function for it."""
    if decl.has_meaning() or not issubclass(decl, Map | Reduction | Scan):
        return decl.evaluate(arrays, attrs)
    b, bound = NumpyScalarBuilder(), decl.for_params(attrs)
    with np.errstate(all="ignore"):
        if issubclass(bound, Map):
            return (b.array(bound.build(b, *map(b.value, arrays), **attrs)),)
        return _reduced(b, bound, arrays[0], attrs)


def _reduced(b: NumpyScalarBuilder, decl: type[Reduction] | type[Scan], x: Array, attrs: dict[str, Any]) -> Any:
    """A reduction or scan by its `map_element`, `combine` and `finalize`, in its order."""
    reduce_in_order = decl.reduction() if issubclass(decl, Scan) else decl
    dims = (attrs["axis"],) if issubclass(decl, Scan) else attrs["dims"]
    element, kinds = dtype(x.dtype), reduce_in_order.accumulators(dtype(x.dtype))
    kept = [d for d in range(x.ndim) if d not in dims]
    rows = x.transpose([*dims, *kept]).reshape([math.prod(x.shape[d] for d in dims), *(x.shape[d] for d in kept)])

    def values(accumulators: Sequence[Array]) -> tuple[Value, ...]:
        return tuple(Value(b, np.asarray(s), kind) for s, kind in zip(accumulators, kinds, strict=True))

    def enter(ks: Array) -> tuple[Array, ...]:
        return tuple(v.ref for v in reduce_in_order.map_element(b, b.value(rows[ks.reshape(-1)]), b.value(ks)))

    def merge(older: Sequence[Array], newer: Sequence[Array]) -> tuple[Array, ...]:
        return tuple(v.ref for v in reduce_in_order.combine(b, values(older), values(newer)))

    operand, batch = tensor_type(element, x.shape), rows.shape[1:]
    start = [b.literal(v, kind).ref for v, kind in zip(decl.identity(element), kinds, strict=True)]
    if issubclass(decl, Scan):
        exclusive = attrs["exclusive"]
        order = decl.order(operand, attrs["axis"])
        accumulators, _ = ordered.scan(order, len(rows), enter, merge, start, start, batch, exclusive)
        found = (b.array(v) for v in decl.finalize(b, values(accumulators), element, exclusive))
        return tuple(np.moveaxis(a, 0, attrs["axis"]) for a in found)
    accumulators = ordered.reduce_in_order(decl.order(operand, dims), len(rows), enter, merge, start, batch)
    return tuple(b.array(v) for v in decl.finalize(b, values(accumulators), element))


def cast_array(x: Array, to: DType) -> Array:
    """`x` in another element type: integers wrap, floats round once to nearest even, float to integer saturates."""
    kind, source = to.kind, dtype(x.dtype)
    if source is to:
        return x
    if kind == "bool":
        return x != 0
    if kind in ("int", "uint"):
        return _saturate(x, to) if source.is_float else x.astype(to.numpy)
    if to.name == "bf16" and source.bits > 16:
        # ml_dtypes goes through float32; rounding that first step to odd makes the second the only rounding.
        return _to_odd_f32(x).astype(to.numpy)
    if to.name == "f16" and source.kind in ("int", "uint"):
        # Exact below 2**24, and everything from 65520 up is infinite.
        return x.astype(np.float32).astype(np.float16)
    return x.astype(to.numpy)


def _to_odd_f32(x: Array) -> Array:
    """`x` (any number type) in float32, inexact results rounded to the neighbour with an odd last bit."""
    if x.dtype == np.float32:
        return x
    near = x.astype(np.float32)
    if x.dtype == np.float64:
        exact = near.astype(np.float64)
        return round_to_odd(near, np.where(np.isfinite(exact), x - exact, 0))
    # The nearest float32 of a 64-bit integer may be 2**63 or 2**64, which its own type cannot hold: compare in Python.
    error = np.frompyfunc(lambda i, f: (int(i) > int(f)) - (int(i) < int(f)), 2, 1)(x, near)
    return round_to_odd(near, np.asarray(error).astype(np.float32))


def _saturate(x: Array, to: DType) -> Array:
    low, high = (-(2 ** (to.bits - 1)), 2 ** (to.bits - 1)) if to.kind == "int" else (0, 2**to.bits)
    whole = np.trunc(x.astype(np.float64))
    inside = (whole >= low) & (whole < high)
    result = np.where(inside, whole, 0).astype(to.numpy)
    result = np.where(whole >= high, to.numpy.type(high - 1), result)
    return np.where(whole < low, to.numpy.type(low), result)


def _divide(to: DType, a: Array, b: Array) -> Array:
    if to.is_float:
        return a / b
    quotient = a // np.where(b == 0, to.numpy.type(1), b)
    if to.kind == "int":
        inexact = quotient * b != a
        quotient = quotient + (inexact & ((a < 0) != (b < 0)))
    return np.where(b == 0, to.numpy.type(0), quotient)


def _bitcast(to: DType, x: Array) -> Array:
    return np.ascontiguousarray(x).view(to.numpy).reshape(x.shape)


_PRIMITIVES: dict[str, Callable[..., Any]] = {
    "add": lambda to, a, b: a + b,
    "sub": lambda to, a, b: a - b,
    "mul": lambda to, a, b: a * b,
    "div": _divide,
    "rem": lambda to, a, b: np.where(b == 0, to.numpy.type(0), np.fmod(a, np.where(b == 0, to.numpy.type(1), b))),
    "neg": lambda to, a: np.negative(a),
    "abs": lambda to, a: np.abs(a),
    "fma": lambda to, x, y, z: fma(x, y, z),
    "sqrt": lambda to, a: np.sqrt(a),
    "floor": lambda to, a: np.floor(a),
    "ceil": lambda to, a: np.ceil(a),
    "trunc": lambda to, a: np.trunc(a),
    "rint": lambda to, a: np.rint(a),
    "copysign": lambda to, magnitude, sign: np.copysign(magnitude, sign),
    "min": lambda to, a, b: np.where(a < b, a, b),
    "max": lambda to, a, b: np.where(a > b, a, b),
    "and": lambda to, a, b: a & b,
    "or": lambda to, a, b: a | b,
    "xor": lambda to, a, b: a ^ b,
    "shl": lambda to, a, b: np.left_shift(a, b),
    "shr": lambda to, a, b: np.right_shift(a, b),
    "lt": lambda to, a, b: a < b,
    "le": lambda to, a, b: a <= b,
    "gt": lambda to, a, b: a > b,
    "ge": lambda to, a, b: a >= b,
    "eq": lambda to, a, b: a == b,
    "ne": lambda to, a, b: a != b,
    "select": lambda to, c, a, b: np.where(c, a, b),
    "cast": lambda to, a: cast_array(a, to),
    "bitcast": _bitcast,
}
