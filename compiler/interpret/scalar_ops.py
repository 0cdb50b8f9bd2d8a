"""Scalar ops of IR bodies (`arith`, `math`, `kernel.call`) computed on whole NumPy arrays, bit for bit as emitted.

Integers in bodies are signless: arrays hold them signed, unsigned ops look at the same bits unsigned.  An i1 is a bool
array.  Half-width floats are extended, computed in f32 and rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation

from ...dialects import ops as _registered  # noqa: F401  (importing it fills the registry)
from ...dialects.attributes import scalar_dtype
from ...dialects.kernel import CallOp
from ...dialects.registry import OPS, Map, find_op
from ...dialects.scalar.language import Value
from ...dialects.types import DTYPES, DType, dtype
from .scalar import NumpyScalarBuilder

__all__ = ["InterpretError", "Scalars", "literal"]

Array = np.ndarray[Any, Any]
BOOL = DTYPES["bool"]


class InterpretError(ValueError):
    """A program that an interpreter cannot run: an access out of bounds, an op that does not belong to the stage."""


def literal(attribute: Attribute) -> Array:
    """The rank-0 array of a typed integer or float attribute, such as an identity."""
    if isinstance(attribute, IntegerAttr):
        element = scalar_dtype(attribute.type)
        return np.asarray(_signed_value(attribute.value.data, element), element.numpy)
    if isinstance(attribute, FloatAttr):
        return np.asarray(attribute.value.data, scalar_dtype(attribute.type).numpy)
    raise InterpretError(f"{attribute} is no scalar literal")


def _signed_value(value: int, element: DType) -> int | bool:
    if element is BOOL:
        return bool(value & 1)
    value &= (1 << element.bits) - 1
    return value - (1 << element.bits) if value >> (element.bits - 1) else value


# name of the op: primitive of `dialects.scalar`, and whether its integer operands are unsigned
_PRIMITIVE: dict[str, tuple[str, bool]] = {
    "arith.addi": ("add", False),
    "arith.subi": ("sub", False),
    "arith.muli": ("mul", False),
    "arith.divsi": ("div", False),
    "arith.divui": ("div", True),
    "arith.remsi": ("rem", False),
    "arith.remui": ("rem", True),
    "arith.andi": ("and", False),
    "arith.ori": ("or", False),
    "arith.xori": ("xor", False),
    "arith.shli": ("shl", True),
    "arith.shrsi": ("shr", False),
    "arith.shrui": ("shr", True),
    "arith.minsi": ("min", False),
    "arith.maxsi": ("max", False),
    "arith.minui": ("min", True),
    "arith.maxui": ("max", True),
    "arith.addf": ("add", False),
    "arith.subf": ("sub", False),
    "arith.mulf": ("mul", False),
    "arith.divf": ("div", False),
    "arith.negf": ("neg", False),
    "arith.select": ("select", False),
    "arith.fptosi": ("cast", False),
    "arith.uitofp": ("cast", True),
    "arith.extf": ("cast", False),
    "arith.truncf": ("cast", False),
    "arith.extui": ("cast", True),
    "arith.bitcast": ("bitcast", False),
    "math.absf": ("abs", False),
    "math.absi": ("abs", False),
    "math.sqrt": ("sqrt", False),
    "math.floor": ("floor", False),
    "math.ceil": ("ceil", False),
    "math.trunc": ("trunc", False),
    "math.roundeven": ("rint", False),
    "math.copysign": ("copysign", False),
    "math.fma": ("fma", False),
}
_I1 = {"add": "xor", "sub": "xor", "mul": "and"}
_COMPARE_INTEGERS = ("eq", "ne", "lt", "le", "gt", "ge", "lt", "le", "gt", "ge")
_ORDERED = {1: "eq", 2: "gt", 3: "ge", 4: "lt", 5: "le"}


@cache
def _expansions() -> dict[str, type[Map]]:
    """The registered op behind each `math` op that is an approximation."""
    return {decl.mlir: decl for decl in OPS.values() if issubclass(decl, Map) and decl.mlir is not None}


def _unsigned(x: Array) -> Array:
    return x.view(f"u{x.dtype.itemsize}") if x.dtype.kind == "i" else x


def _signless(x: Array) -> Array:
    return x.view(f"i{x.dtype.itemsize}") if x.dtype.kind == "u" else x


class Scalars:
    """Computes scalar ops.  ``has_fma`` says which expansions of `math` ops the target would use."""

    def __init__(self, has_fma: bool = True):
        self.builder = NumpyScalarBuilder(has_fma)
        self._special: dict[str, Callable[[Operation, Sequence[Array]], Array]] = {
            "arith.constant": _constant,
            "arith.cmpi": self._compare_integers,
            "arith.cmpf": self._compare_floats,
            "arith.extsi": _extend_signed,
            "arith.sitofp": self._signed_to_float,
            "arith.trunci": _truncate,
            "arith.fptoui": lambda op, xs: _signless(self._emit("cast", xs, _unsigned_dtype(op.results[0].type))),
            "kernel.call": self._call,
            "complex.create": lambda op, xs: _complex(*xs),
            "complex.re": lambda op, xs: xs[0].real,
            "complex.im": lambda op, xs: xs[0].imag,
        }

    def compute(self, op: Operation, operands: Sequence[Array]) -> Array:
        """The result of a scalar op on broadcastable arrays; InterpretError where it is no scalar op."""
        special = self._special.get(op.name)
        if special is not None:
            return special(op, operands)
        found = _PRIMITIVE.get(op.name)
        if found is None:
            return self._expand(op, operands)
        name, unsigned = found
        result = scalar_dtype(op.results[0].type)
        if unsigned:
            operands = [_unsigned(x) for x in operands]
            if name != "cast" or not result.is_float:
                result = _unsigned_dtype(op.results[0].type)
        if result is BOOL:
            name = _I1.get(name, name)
        return _signless(self._emit(name, operands, result))

    def fma(self, a: Array, b: Array, c: Array) -> Array:
        return self._emit("fma", (a, b, c), self.builder.value(c).dtype)

    def _emit(self, name: str, operands: Sequence[Array], result: DType) -> Array:
        values = [self.builder.value(x) for x in operands]
        if values[-1].dtype.computes_in is not values[-1].dtype and name not in ("cast", "bitcast", "select"):
            values = [self.builder.cast(v, v.dtype.computes_in) for v in values]
            if result.is_float:
                return self.builder.cast(self.builder.emit(name, values, result.computes_in), result).ref
        return self.builder.emit(name, values, result).ref

    def _signed_to_float(self, op: Operation, operands: Sequence[Array]) -> Array:
        (x,) = operands
        if x.dtype == np.bool_:
            x = -x.astype(np.int8)
        return self._emit("cast", [x], scalar_dtype(op.results[0].type))

    def _expand(self, op: Operation, operands: Sequence[Array]) -> Array:
        decl = _expansions().get(op.name)
        if decl is None:
            raise InterpretError(f"{op.name} is no scalar op that an interpreter knows")
        return self._build(decl, operands)

    def _call(self, op: Operation, operands: Sequence[Array]) -> Array:
        assert isinstance(op, CallOp)
        decl = find_op(op.fn.data)
        if not issubclass(decl, Map):
            raise InterpretError(f"{op.fn.data} is a {decl.family}: only map ops can be called in a body")
        return self._build(decl, operands)

    def _build(self, decl: type[Map], operands: Sequence[Array]) -> Array:
        values: list[Value] = [self.builder.value(x) for x in operands]
        with np.errstate(all="ignore"):
            return _signless(decl.build(self.builder, *values).ref)

    def _compare_integers(self, op: Operation, operands: Sequence[Array]) -> Array:
        assert isinstance(op, arith.CmpiOp)
        predicate = op.predicate.value.data
        if predicate >= 6:
            operands = [_unsigned(x) for x in operands]
        return self._emit(_COMPARE_INTEGERS[predicate], operands, BOOL)

    def _compare_floats(self, op: Operation, operands: Sequence[Array]) -> Array:
        """Predicates 1…7 are eq gt ge lt le ne and "no NaN", false where an operand is NaN; 8…14 true where one is."""
        assert isinstance(op, arith.CmpfOp)
        predicate = op.predicate.value.data
        a, b = operands
        nan = np.isnan(a) | np.isnan(b)
        if predicate in (0, 15):
            return np.full(np.broadcast(a, b).shape, predicate == 15)
        unordered = predicate > 7
        relation = predicate - 7 if unordered else predicate
        if relation == 7:
            return nan if unordered else ~nan
        holds = self._emit("ne" if relation == 6 else _ORDERED[relation], operands, BOOL)
        return holds | nan if unordered else holds & ~nan


def _complex(re: Array, im: Array) -> Array:
    """Put together by memory: ``re + 1j * im`` would lose signs of zeros and infinities."""
    made = np.empty(np.broadcast_shapes(re.shape, im.shape), dtype(re.dtype).as_complex.numpy)
    made.real, made.imag = re, im
    return made


def _unsigned_dtype(ir_type: Attribute) -> DType:
    element = scalar_dtype(ir_type)
    return DTYPES["u" + element.name[1:]] if element.kind == "int" else element


def _constant(op: Operation, operands: Sequence[Array]) -> Array:
    assert isinstance(op, arith.ConstantOp)
    return literal(op.value)


def _extend_signed(op: Operation, operands: Sequence[Array]) -> Array:
    (x,) = operands
    to = scalar_dtype(op.results[0].type).numpy
    return -x.astype(to) if x.dtype == np.bool_ else x.astype(to)


def _truncate(op: Operation, operands: Sequence[Array]) -> Array:
    (x,) = operands
    to = scalar_dtype(op.results[0].type)
    return (x & 1) != 0 if to is BOOL else x.astype(to.numpy)
