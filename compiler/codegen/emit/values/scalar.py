"""Scalar bodies as LLVM instructions over whole registers: the builder that op bodies run on, `arith`, `math`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation

from .....dialects.dims.dims import Sym
from .....dialects.kernel import CallOp
from .....dialects.registry import OPS, Map, OpError, find_op
from .....dialects.scalar.hints import NEWTON, RECIPROCAL
from .....dialects.scalar.language import ScalarBuilder, Value
from .....dialects.types import DTYPES, DType
from ...cpu.bf16_round import rounded_to_bf16
from ...cpu.newton_sqrt import newton_sqrt
from ...cpu.reciprocal_divide import Inverse, divide_by_reciprocal
from ...cpu.scalef import has_vscalef, scaled_by_powers
from ..polling import Polling
from ..text import EmitError, IrText, Module, lit, llvm_type, quoted, vector_type
from .convert import convert
from .lanes import Lanes
from .primitives import find_primitive, literal
from .registers import VectorAxis, VectorValue, dtype_of, union, width_of

__all__ = ["LlvmScalarBuilder", "ScalarBodies"]

BF16, BOOL, F32, I32 = (DTYPES[name] for name in ("bf16", "bool", "f32", "i32"))


class ScalarBodies:
    """Elementwise operations on registers of `text`; with `outlines` all approximations are calls, as inside of one."""

    def __init__(self, text: IrText, lanes: Lanes, polling: Polling, outlines: bool = False):
        self.text, self.lanes, self.polling, self.outlines = text, lanes, polling, outlines
        self.builder = LlvmScalarBuilder(self)
        #: Of divisors that were known before the loop around, by their registers.
        self.inverses: dict[str, Inverse] = {}
        self._primitives: dict[tuple[str, DType], Callable[..., str]] = {}

    def call_outlined(self, decl: type[Map], operands: Sequence[VectorValue], result: DType) -> VectorValue:
        """A call, for every register, of the function that has a map's body; a module has it once for each width."""
        kinds = [o.dtype for o in operands]

        def one(width: int, *regs: str) -> str:
            key = (decl.name, width, tuple(k.name for k in kinds))
            name = self.text.module.maps.get(key)
            if name is None:
                name = self.text.module.maps[key] = self.text.module.unique(f"{decl.name}.{width}{kinds[-1]}")
                _define_map(self.text.module, name, decl, kinds, result, width)
            types = [llvm_type(k) for k in kinds]
            given = ", ".join(f"{vector_type(width, t)} {lit(r, width, t)}" for t, r in zip(types, regs))
            return self.text.ins(f"call {vector_type(width, llvm_type(result))} {quoted(name)}({given})")

        return self.lanes.apply(operands, result, one)

    def masked_while(
        self,
        first: Sequence[VectorValue],
        before: Callable[[list[VectorValue]], tuple[VectorValue, list[VectorValue]]],
        after: Callable[[list[VectorValue]], list[VectorValue]],
        every: int = 0,
    ) -> list[VectorValue]:
        """``scf.while`` in every lane: `before` gives whether to go on and what to pass to `after`, or to the result.

        It runs until no lane goes on; those outside the range of the loop around, which might never end, are left out.
        A lane that is done keeps its values, from which `before` finds it done again, passing the same: so what is
        passed last is right for all lanes.  The registers of `first` must vary along all lanes that anything in the
        loop varies along.  After each `every` steps it polls, unless that is 0.
        """
        text = self.text
        inside = self.lanes.inside_of(width_of(first[0].lanes))
        entered = text.block
        head, body, done = text.label("lanes"), text.label("step"), text.label("left")
        text.branch(head)
        text.start(head)
        types = [vector_type(r.width, llvm_type(r.dtype)) for r in first]
        carried = [VectorValue(r.lanes, [text.fresh() for _ in r.regs], r.dtype) for r in first]
        phis: list[Any] = []
        text.out.append(phis)
        self.text.frames.append({})
        more, passed = before(carried)
        if inside is not None:
            ty = vector_type(more.width, "i1")
            more = VectorValue(more.lanes, [text.ins(f"and {ty} {r}, {inside}") for r in more.regs], more.dtype)
        text.branch_if(self.lanes.any_lane(more), body, done)
        text.start(body)
        left, next_ = self.polling.at_last(every) if every else ("", "")
        yielded = after(passed)
        for ty, c, start, new in zip(types, carried, first, yielded, strict=True):
            kept = self.lanes.select(more, VectorValue(c.lanes, self.lanes.spread(new, c.lanes), c.dtype), c)
            starts = (lit(s, start.width, llvm_type(start.dtype)) for s in start.regs)
            for name, s, n in zip(c.regs, starts, kept.regs, strict=True):
                phis.append(f"  {name} = phi {ty} [{s}, %{entered}], [{n}, %{text.block}]")
        if every:
            phis.append(f"  {left} = phi i64 [{every}, %{entered}], [{next_}, %{text.block}]")
        text.branch(head)
        self.text.frames.pop()
        text.start(done)
        return passed

    # Operations of a body

    def arithmetic(self, op: Operation, operands: list[VectorValue]) -> VectorValue:
        """The result of one `arith` or `math` operation with one result."""
        result = dtype_of(op.results[0].type)
        name = op.name
        primitive = _ARITH.get(name)
        if primitive is not None:
            if isinstance(every := op.attributes.get(NEWTON), IntegerAttr):
                return newton_sqrt(self, operands[0], every.value.data)
            if RECIPROCAL in op.attributes and (quotient := divide_by_reciprocal(self, *operands)) is not None:
                return quotient
            which, signed = primitive
            if signed is False:
                operands = [_unsigned(o) for o in operands]
                return self.primitive(which, operands, operands[0].dtype).typed(result)
            return self.primitive(which, operands, result)
        if name == "arith.constant":
            return VectorValue((), [literal(_number(_attribute(op, "value")), result)], result)
        if name == "arith.cmpf":
            return self._compare_floats(_predicate(op), operands)
        if name == "arith.cmpi":
            which, signed = _INTEGER_PREDICATES[_predicate(op)]
            if not signed:
                operands = [_unsigned(o) for o in operands]
            return self.primitive(which, operands, BOOL)
        if name in _CASTS:
            source, unsigned_result = operands[0], name == "arith.fptoui"
            if name in ("arith.uitofp", "arith.extui"):
                source = _unsigned(source)
            if name in ("arith.sitofp", "arith.extsi") and source.dtype is BOOL:
                return self.lanes.apply(
                    (source,), result, lambda w, x: self.text.to("sext", w, x, "i1", llvm_type(result))
                )
            if name == "arith.trunci" and result is BOOL:
                t = llvm_type(source.dtype)
                return self.lanes.apply((source,), result, lambda w, x: self.text.to("trunc", w, x, t, "i1"))
            target = DTYPES[f"u{result.bits}"] if unsigned_result else result
            return self.cast(source, target).typed(result)
        if name == "math.absi":
            return self.primitive("abs", operands, result)
        found = find_op(op.fn.data) if isinstance(op, CallOp) else _math_ops().get(name)
        if found is None or not issubclass(found, Map):
            raise EmitError(f"no machine code is known for {name}")
        return self.builder.expand(found, [Value(self.builder, o, o.dtype) for o in operands]).ref

    def both(self, a: VectorValue | None, b: VectorValue) -> VectorValue:
        """Where both of two conditions hold; None always does."""
        return b if a is None else self.primitive("and", (a, b), BOOL)

    def cast(self, x: VectorValue, dtype: DType) -> VectorValue:
        if dtype is BF16 and x.dtype is F32 and (rounded := rounded_to_bf16(self, x)) is not None:
            return rounded
        return self.cast_by_conversion(x, dtype)

    def cast_by_conversion(self, x: VectorValue, dtype: DType) -> VectorValue:
        return self.lanes.apply((x,), dtype, lambda w, r: convert(self.text, r, w, x.dtype, dtype))

    def _compare_floats(self, predicate: str, operands: Sequence[VectorValue]) -> VectorValue:
        wide = operands[0].dtype.computes_in
        operands = [self.cast(o, wide) if o.dtype is not wide else o for o in operands]
        scalar = llvm_type(wide)
        return self.lanes.apply(operands, BOOL, lambda w, a, b: self.text.op(f"fcmp {predicate}", w, scalar, a, b))

    def primitive(self, name: str, operands: Sequence[VectorValue], dtype: DType) -> VectorValue:
        """One operation of `ScalarBuilder.emit`."""
        first = operands[-1]
        found = self._primitives.get((name, first.dtype))
        if found is not None:
            return self.lanes.apply(operands, dtype, found)
        if name == "select":
            return self.lanes.select(*operands)
        if name == "cast":
            return self.cast(first, dtype)
        if name == "bitcast":
            a, b = llvm_type(first.dtype), llvm_type(dtype)
            if a == b:
                return first.typed(dtype)
            return self.lanes.apply(operands, dtype, lambda w, x: self.text.to("bitcast", w, x, a, b))
        if name in _FLOAT_PREDICATES:
            if first.dtype.is_float:
                return self._compare_floats(_FLOAT_PREDICATES[name], operands)
            signed = "s" if first.dtype.kind == "int" else "u"
            predicate = name if name in ("eq", "ne") else signed + name
            scalar = llvm_type(first.dtype)
            return self.lanes.apply(operands, BOOL, lambda w, a, b: self.text.op(f"icmp {predicate}", w, scalar, a, b))
        if first.dtype.computes_in is not first.dtype:
            wide = first.dtype.computes_in
            return self.cast(self.primitive(name, [self.cast(o, wide) for o in operands], wide), dtype)
        found = find_primitive(self.text, name, first.dtype)
        if found is None:
            raise EmitError(f"scalar bodies have no primitive {name!r} on {first.dtype}")
        self._primitives[name, first.dtype] = found
        return self.lanes.apply(operands, dtype, found)


class LlvmScalarBuilder(ScalarBuilder):
    """What op bodies call; a `Value`'s `ref` is a `VectorValue`."""

    def __init__(self, scalars: ScalarBodies):
        self.scalars = scalars
        self.has_fma = scalars.text.target.has_fma

    def emit(self, name: str, operands: Sequence[Value], dtype: DType) -> Value:
        return Value(self, self.scalars.primitive(name, [v.ref for v in operands], dtype), dtype)

    def literal(self, value: float | int | bool, dtype: DType) -> Value:
        return Value(self, VectorValue((), [literal(value, dtype)], dtype), dtype)

    def op(self, name: str, *operands: Value) -> Value:
        found = find_op(name)
        if not issubclass(found, Map):
            raise OpError(f"a scalar body can only use map ops, and {name} is a {found.family}")
        return self.expand(found, operands)

    def expand(self, decl: type[Map], operands: Sequence[Value]) -> Value:
        """The body of a map here, or where it is long a call of a function that has it."""
        element = operands[-1].dtype
        if not element.is_float or not (decl.cost >= Map.OUTLINED or (self.scalars.outlines and decl.ulp is not None)):
            return decl.build(self, *operands)
        result = decl.result_dtype(element)
        return Value(self, self.scalars.call_outlined(decl, [v.ref for v in operands], result), result)

    def rare(self, condition: Value, slow: Callable[[], Value], fast: Value) -> Value:
        text, lanes = self.scalars.text, self.scalars.lanes
        mask, quick = condition.ref, fast.ref
        axes = union((mask.lanes, quick.lanes))
        quick = VectorValue(axes, lanes.spread(quick, axes), quick.dtype)
        needed = lanes.any_lane(mask)
        before = text.block
        slow_label, join = text.label("rare"), text.label("join")
        text.branch_if(needed, slow_label, join)
        text.start(slow_label)
        text.frames.append({})
        chosen = lanes.select(mask, slow().ref, quick)
        axes_after = union((chosen.lanes, axes))
        assert axes_after == axes, "the slow path varies along lanes that neither its condition nor the fast one has"
        regs = lanes.spread(chosen, axes)
        text.frames.pop()
        after = text.block
        text.branch(join)
        text.start(join)
        ty = vector_type(width_of(axes), llvm_type(quick.dtype))
        pairs = list(zip(regs, quick.regs))
        phis = {(s, q): text.ins(f"phi {ty} [{s}, %{after}], [{q}, %{before}]") for s, q in dict.fromkeys(pairs)}
        return Value(self, VectorValue(axes, [phis[pair] for pair in pairs], quick.dtype), fast.dtype)

    def scales(self, x: Value) -> bool:
        return has_vscalef(self.scalars.text.target, x.ref)

    def scaled(self, p: Value, n: Value) -> Value:
        return Value(self, scaled_by_powers(self.scalars, p.ref, n.ref), p.dtype)

    def iterate(
        self,
        active: Value,
        states: Sequence[Value],
        step: Callable[..., tuple[Value, Sequence[Value]]],
        limit: int | None,
    ) -> tuple[Value, ...]:
        counter = [] if limit is None else [self.constant(0, I32)]
        skipped = 1 + len(counter)
        first = [v.ref for v in (active, *counter, *states)]
        lanes = union([r.lanes for r in first])
        wide = self.scalars.lanes.spread_all(first, lanes)

        def values(regs: Sequence[VectorValue]) -> list[Value]:
            return [Value(self, r, r.dtype) for r in regs]

        def before(regs: list[VectorValue]) -> tuple[VectorValue, list[VectorValue]]:
            if limit is None:
                return regs[0], regs
            going, n = values(regs[:2])
            return (going & (n < limit)).ref, regs

        def after(regs: list[VectorValue]) -> list[VectorValue]:
            again, found = step(*values(regs[skipped:]))
            return [again.ref, *((n + 1).ref for n in values(regs[1:skipped])), *(v.ref for v in found)]

        return tuple(values(self.scalars.masked_while(wide, before, after)[skipped:]))


def _define_map(module: Module, name: str, decl: type[Map], kinds: Sequence[DType], result: DType, width: int) -> None:
    """Write the function of a map on registers of `width` elements."""
    text = IrText(module)
    lanes = Lanes(text)
    builder = ScalarBodies(text, lanes, Polling(text, lanes, None), outlines=True).builder
    axes = (VectorAxis(Sym("lane"), width, 1, 0),) if width > 1 else ()
    operands = [VectorValue(axes, [f"%x{i}"], k) for i, k in enumerate(kinds)]
    found = decl.build(builder, *(Value(builder, o, o.dtype) for o in operands)).ref
    (value,) = lanes.spread(found, axes)
    ty = vector_type(width, llvm_type(result))
    text.put(f"ret {ty} {lit(value, width, llvm_type(result))}")
    parameters = ", ".join(f"{vector_type(width, llvm_type(k))} %x{i}" for i, k in enumerate(kinds))
    text.finish(name, f"internal {ty}", parameters)


def _unsigned(x: VectorValue) -> VectorValue:
    """A value, integers read as unsigned."""
    return x.typed(DTYPES[f"u{x.dtype.bits}"]) if x.dtype.is_integer else x


def _number(attribute: Attribute) -> float | int:
    if isinstance(attribute, FloatAttr | IntegerAttr):
        return attribute.value.data
    raise EmitError(f"{attribute} is not a scalar constant")


def _attribute(op: Operation, name: str) -> Attribute:
    found = op.properties.get(name)
    return op.attributes[name] if found is None else found


def _predicate(op: Operation) -> str:
    attribute = _attribute(op, "predicate")
    assert isinstance(attribute, IntegerAttr)
    names = _CMPF if op.name == "arith.cmpf" else tuple(_INTEGER_PREDICATES)
    return names[attribute.value.data]


@cache
def _math_ops() -> dict[str, type[Map]]:
    """The registered maps by the `math` op they keep."""
    return {cls.mlir: cls for cls in OPS.values() if issubclass(cls, Map) and cls.mlir}


_CMPF = tuple("false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split())
_FLOAT_PREDICATES = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}
#: In the order of their numbers: the primitive and whether operands are signed.
_INTEGER_PREDICATES = {
    "eq": ("eq", True), "ne": ("ne", True), "slt": ("lt", True), "sle": ("le", True), "sgt": ("gt", True),
    "sge": ("ge", True), "ult": ("lt", False), "ule": ("le", False), "ugt": ("gt", False), "uge": ("ge", False),
}  # fmt: skip
_CASTS = frozenset(
    "arith." + n for n in "extf truncf extsi extui trunci sitofp uitofp fptosi fptoui index_cast".split()
)
#: The primitive of each `arith`/`math` op; False where it reads its operands as unsigned.
_ARITH: dict[str, tuple[str, bool]] = {
    f"{dialect}.{name}": (primitive, signed)
    for dialect, rows in {
        "arith": """addf add, subf sub, mulf mul, divf div, negf neg, maximumf maximum, minimumf minimum, maxnumf
            maxnum, minnumf minnum, addi add, subi sub, muli mul, divsi div, divui div u, remsi rem, remui rem
            u, minsi min, minui min u, maxsi max, maxui max u, andi and, ori or, xori xor, shli shl, shrsi shr,
            shrui shr u, select select, bitcast bitcast""",
        "math": "absf abs, ceil ceil, floor floor, trunc trunc, roundeven rint, sqrt sqrt, fma fma, copysign copysign",
    }.items()
    for name, primitive, signed in (
        (words[0], words[1], len(words) == 2) for words in (row.split() for row in rows.split(","))
    )
}
