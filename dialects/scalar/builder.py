"""Scalar bodies as IR: a `ScalarBuilder` that appends `arith` and `math` ops to a block.

Ops that are approximations (a stated `ulp`) stay one op, `math.exp` or, where `math` has no such op, `kernel.call`;
code generation and the interpreters expand both from the registry, so bodies stay short and bits agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import copysign
from typing import Any

from xdsl.dialects import arith, builtin, scf
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..attributes import scalar_type
from ..dims.dims import Dim
from ..kernel import CallOp
from ..loop import IndexOp
from ..registry import Map, find_op
from ..types import DTYPES, DType
from .language import ComplexValue, ScalarBuilder, Value
from .math_ops import op_called

__all__ = ["BodyBuilder", "scalar_constant"]

_FLOAT = {"add": arith.AddfOp, "sub": arith.SubfOp, "mul": arith.MulfOp, "div": arith.DivfOp, "neg": arith.NegfOp}
_MATH = {
    "abs": "math.absf",
    "sqrt": "math.sqrt",
    "floor": "math.floor",
    "ceil": "math.ceil",
    "trunc": "math.trunc",
    "rint": "math.roundeven",
    "copysign": "math.copysign",
    "fma": "math.fma",
}
_INTEGER = {
    "add": arith.AddiOp,
    "sub": arith.SubiOp,
    "mul": arith.MuliOp,
    "and": arith.AndIOp,
    "or": arith.OrIOp,
    "xor": arith.XOrIOp,
    "shl": arith.ShLIOp,
}
_SIGNED = {"div": arith.DivSIOp, "rem": arith.RemSIOp, "shr": arith.ShRSIOp}
_UNSIGNED = {"div": arith.DivUIOp, "rem": arith.RemUIOp, "shr": arith.ShRUIOp}
_EXACT = {"fastmath": arith.FastMathFlagsAttr("none")}
_ORDERED = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}


def scalar_constant(value: float | int | bool, element: DType) -> Attribute:
    """The typed attribute of a literal: wraps integers into range, rounds floats by printing enough digits."""
    if element.is_float:
        rounded = float(element.numpy.type(value))
        return builtin.FloatAttr(rounded, scalar_type(element))  # pyright: ignore[reportArgumentType, reportCallIssue]
    bits = int(value) & ((1 << element.bits) - 1)
    if bits >> (element.bits - 1) and element.bits > 1:
        bits -= 1 << element.bits
    return builtin.IntegerAttr(bits, scalar_type(element))  # pyright: ignore[reportArgumentType, reportCallIssue]


@lru_cache(maxsize=4096, typed=True)
def _spelled(value: float | int | bool, negative: bool, element: DType) -> tuple[Attribute, str]:
    """The attribute of a literal, and its text, which tells zeros of both signs apart as `negative` does here."""
    attribute = scalar_constant(value, element)
    return attribute, str(attribute)


class BodyBuilder(ScalarBuilder):
    """Appends to `block`; a `Value.ref` is an SSA value.  Equal constants of a block are one op.

    `loc` is the user's line that what is appended comes from: its attribute of that name.
    """

    def __init__(self, block: Block, has_fma: bool = True, loc: Attribute | None = None):
        self.block, self.has_fma, self.loc = block, has_fma, loc
        self._constants: dict[tuple[Any, ...], SSAValue] = {}

    def wrap(self, ssa: SSAValue, element: DType) -> Value:
        """The body's view of an SSA value; of a complex one, which exists only at the edges of a body, its parts."""
        if not element.is_complex:
            return Value(self, ssa, element)
        part = scalar_type(element.part)
        re, im = (
            Value(self, self.append(op.create(operands=[ssa], result_types=[part], properties=_EXACT)), element.part)
            for op in map(op_called, ("complex.re", "complex.im"))
        )
        return ComplexValue(self, re, im)

    def ssa(self, x: Value) -> SSAValue:
        """The SSA value of a scalar, for what ends a body."""
        if not isinstance(x, ComplexValue):
            return x.ref
        parts = [x.re.ref, x.im.ref]
        return self.append(op_called("complex.create").create(operands=parts, result_types=[scalar_type(x.dtype)]))

    def append(self, op: Operation) -> SSAValue:
        """An op of one result, added; its result."""
        if self.loc is not None:
            op.attributes["loc"] = self.loc
        self.block.add_op(op)
        return op.results[0]

    def _make(self, op: type[Operation], operands: Sequence[Value], element: DType, **properties: Attribute) -> Value:
        made = op.create(operands=[x.ref for x in operands], result_types=[scalar_type(element)], properties=properties)
        return Value(self, self.append(made), element)

    def literal(self, value: float | int | bool, dtype: DType) -> Value:
        attribute, text = _spelled(value, copysign(1, value) < 0, dtype)
        key = (text, dtype.name)
        found = self._constants.get(key)
        if found is None:
            op = arith.ConstantOp.create(result_types=[scalar_type(dtype)], properties={"value": attribute})
            found = self._constants[key] = self.append(op)
        return Value(self, found, dtype)

    def index(self, expr: Dim) -> Value:
        """The value of an index expression, as i64."""
        return Value(self, self.append(IndexOp(expr)), DTYPES["i64"])

    def emit(self, name: str, operands: Sequence[Value], dtype: DType) -> Value:
        source = operands[0].dtype
        if name == "select":
            return self._make(arith.SelectOp, operands, dtype)
        if name == "cast":
            return self._cast(operands[0], dtype)
        if name == "bitcast":
            if scalar_type(source) == scalar_type(dtype):
                return Value(self, operands[0].ref, dtype)
            return self._make(arith.BitcastOp, operands, dtype)
        if name in _ORDERED:
            return self._compare(name, operands)
        if name in ("min", "max"):
            return self.select(self._compare("lt" if name == "min" else "gt", operands), *operands)
        if source.is_float:
            return self._float(name, operands, dtype)
        return self._integer(name, operands, dtype)

    def _float(self, name: str, operands: Sequence[Value], dtype: DType) -> Value:
        return self._make(_FLOAT.get(name) or op_called(_MATH[name]), operands, dtype, **_EXACT)

    def _integer(self, name: str, operands: Sequence[Value], dtype: DType) -> Value:
        if name == "neg":
            return self._make(arith.SubiOp, (self.constant(0, dtype), *operands), dtype)
        if name == "abs":
            (x,) = operands
            return x if not dtype.is_signed else self.select(x < 0, -x, x)
        found = _INTEGER.get(name) or (_SIGNED if dtype.is_signed else _UNSIGNED)[name]
        return self._make(found, operands, dtype)

    def _compare(self, name: str, operands: Sequence[Value]) -> Value:
        source = operands[0].dtype
        if source.is_float:
            op = arith.CmpfOp(operands[0].ref, operands[1].ref, _ORDERED[name])
        else:
            sign = "" if name in ("eq", "ne") else "s" if source.is_signed else "u"
            op = arith.CmpiOp(operands[0].ref, operands[1].ref, sign + name)
        return Value(self, self.append(op), DTYPES["bool"])

    def _cast(self, x: Value, to: DType) -> Value:
        source = x.dtype
        if to.kind == "bool":
            return x.differs(0)
        if source.kind == "bool" or not source.is_float:
            return self._cast_integer(x, to)
        if to.is_integer:
            return self._make(arith.FPToSIOp if to.is_signed else arith.FPToUIOp, [x], to)
        if to.bits == source.bits:  # f16 and bf16: neither holds the other
            return self._cast(self._cast(x, DTYPES["f32"]), to)
        return self._make(arith.ExtFOp if to.bits > source.bits else arith.TruncFOp, [x], to)

    def _cast_integer(self, x: Value, to: DType) -> Value:
        source = x.dtype
        if to.is_float:
            return self._make(arith.SIToFPOp if source.is_signed else arith.UIToFPOp, [x], to)
        if to.bits == source.bits:
            return Value(self, x.ref, to)
        if to.bits < source.bits:
            return self._make(arith.TruncIOp, [x], to)
        return self._make(arith.ExtSIOp if source.is_signed else arith.ExtUIOp, [x], to)

    def rare(self, condition: Value, slow: Callable[[], Value], fast: Value) -> Value:
        return self.select(condition, slow(), fast)

    def iterate(
        self,
        active: Value,
        states: Sequence[Value],
        step: Callable[..., tuple[Value, Sequence[Value]]],
        limit: int | None,
    ) -> tuple[Value, ...]:
        """An `scf.while`, which in a body runs in every lane for as long as that lane's condition holds."""
        counter = [] if limit is None else [self.constant(0, DTYPES["i32"])]
        first, skipped = [active, *counter, *states], 1 + len(counter)
        types = [v.ref.type for v in first]

        def region(fill: Callable[[list[Value]], tuple[type[Operation], list[Value]]]) -> Region:
            block = Block(arg_types=types)
            outside, self.block = self.block, block
            known, self._constants = self._constants, dict(self._constants)
            terminator, given = fill([self.wrap(a, v.dtype) for a, v in zip(block.args, first)])
            block.add_op(terminator.create(operands=[v.ref for v in given]))
            self.block, self._constants = outside, known
            return Region(block)

        def before(values: list[Value]) -> tuple[type[Operation], list[Value]]:
            going = values[0] if limit is None else values[0] & (values[1] < limit)
            return scf.ConditionOp, [going, *values]

        def after(values: list[Value]) -> tuple[type[Operation], list[Value]]:
            again, found = step(*values[skipped:])
            return scf.YieldOp, [again, *(n + 1 for n in values[1:skipped]), *found]

        loop = scf.WhileOp.create(
            operands=[v.ref for v in first], result_types=types, regions=[region(before), region(after)]
        )
        self.block.add_op(loop)
        return tuple(self.wrap(r, v.dtype) for r, v in zip(loop.results[skipped:], states))

    def op(self, name: str, *operands: Value) -> Value:
        decl = find_op(name)
        assert issubclass(decl, Map), f"{name} is no map"
        return self.apply(decl, operands)

    def apply(self, decl: type[Map], operands: Sequence[Value]) -> Value:
        """A map op: one op where it is approximated or kept, else its body (as for integers: IR drops their sign)."""
        element = operands[-1].dtype
        if (decl.ulp is None and not decl.kept) or not element.is_float:
            return decl.build(self, *operands)
        wide = element.computes_in
        widened = [self.cast(x, wide) for x in operands]
        if decl.mlir is not None:
            result = self._make(op_called(decl.mlir), widened, wide, **_EXACT)
        else:
            result = Value(self, self.append(CallOp(decl.name, [x.ref for x in widened], scalar_type(wide))), wide)
        return self.cast(result, element)
