"""Printing upstream MLIR: names, indentation, index arithmetic, and the scalar ops of bodies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.attributes import BufferType, DimAttr, DimsAttr, MapAttr, scalar_dtype, scalar_type
from ...dialects.dims.dims import Call, Dim, Sym
from ...dialects.kernel import CallOp, shape_of
from ...dialects.loop import BindOp, IndexOp
from ...dialects.registry import Map, find_op
from ...dialects.scalar.builder import BodyBuilder

__all__ = ["ExportError", "Text", "element", "free_symbols"]

_CALLS = {"//": "floordivsi", "min": "minsi", "max": "maxsi", "^": "xori"}


class ExportError(ValueError):
    """An op that has no upstream form."""


def element(value_type: Attribute) -> str:
    """The upstream element type of a tensor: integers signless."""
    return str(scalar_type(shape_of(value_type)[0]))


class Text:
    """Lines of a function's body; `env` names the value (of type index) of every symbol in scope."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[SSAValue, str] = {}
        self.env: dict[Sym, str] = {}
        self._depth, self._count = 1, 0

    def fresh(self) -> str:
        self._count += 1
        return f"%{self._count - 1}"

    def line(self, text: str) -> None:
        self.lines.append("  " * self._depth + text)

    def define(self, text: str) -> str:
        """A line with one result; its name."""
        name = self.fresh()
        self.line(f"{name} = {text}")
        return name

    @contextmanager
    def scope(self, head: str, tail: str | None = "}") -> Iterator[None]:
        """An indented region; what is bound inside is unknown after it.  Without `tail` the next head closes it."""
        self.line(head)
        saved, self.env = self.env, dict(self.env)
        self._depth += 1
        yield
        self._depth -= 1
        self.env = saved
        if tail is not None:
            self.line(tail)

    def bind(self, values: Sequence[SSAValue], names: Iterable[str]) -> None:
        self.names.update(zip(values, names, strict=True))

    def of(self, value: SSAValue) -> str:
        if value not in self.names:
            owner = value.owner.name if isinstance(value.owner, Operation) else "a block"
            raise ExportError(f"a value of {owner} of type {value.type} has no exported form")
        return self.names[value]

    def index(self, expr: Dim) -> str:
        """The value of an index expression."""
        total: str | None = None
        for atoms, coefficient in expr.terms:
            product: str | None = None
            for atom in atoms:
                product = self._times(product, self._atom(atom))
            if product is None or coefficient != 1:
                product = self._times(product, self.define(f"arith.constant {coefficient} : index"))
            total = product if total is None else self.define(f"arith.addi {total}, {product} : index")
        return total or self.define("arith.constant 0 : index")

    def _times(self, a: str | None, b: str) -> str:
        return b if a is None else self.define(f"arith.muli {a}, {b} : index")

    def _atom(self, atom: Sym | Call) -> str:
        if isinstance(atom, Sym):
            if atom not in self.env:
                raise ExportError(f"the symbol {atom} has no value here")
            return self.env[atom]
        a, b = self.index(atom.a), self.index(atom.b)
        if atom.fn in _CALLS:
            return self.define(f"arith.{_CALLS[atom.fn]} {a}, {b} : index")
        quotient = self.define(f"arith.floordivsi {a}, {b} : index")
        whole = self.define(f"arith.muli {quotient}, {b} : index")
        return self.define(f"arith.subi {a}, {whole} : index")

    def holds(self, guards: Sequence[Dim]) -> str | None:
        """An i1: all guards are ``>= 0``; None where there are none."""
        result: str | None = None
        for guard in guards:
            zero = self.define("arith.constant 0 : index")
            one = self.define(f"arith.cmpi sge, {self.index(guard)}, {zero} : index")
            result = one if result is None else self.define(f"arith.andi {result}, {one} : i1")
        return result

    def zero(self, ir_type: str) -> str:
        literal = "false" if ir_type == "i1" else f"0 : {ir_type}" if ir_type[0] == "i" else f"0.0 : {ir_type}"
        return self.define(f"arith.constant {literal}")

    def scalar(self, op: Operation) -> None:
        """Export an op of a scalar body; ExportError where it is none."""
        match op:
            case IndexOp():
                value = self.index(op.expr.data)
                self.names[op.result] = self.define(f"arith.index_cast {value} : index to i64")
            case BindOp():
                cast = self.define(f"arith.index_cast {self.of(op.value)} : i64 to index")
                self.env[Sym(op.symbol.data)] = cast
            case CallOp():
                self._expand(op)
            case scf.WhileOp():
                self._while(op)
            case _ if op.name.startswith(("arith.", "math.", "complex.")) and len(op.results) == 1 and not op.regions:
                self.names[op.results[0]] = self.define(self._generic(op))
            case _:
                raise ExportError(f"{op.name} has no upstream form here")

    def _generic(self, op: Operation) -> str:
        operands = ", ".join(map(self.of, op.operands))
        types = ", ".join(str(v.type) for v in op.operands)
        return f'"{op.name}"({operands}){self.properties(op)} : ({types}) -> {op.results[0].type}'

    def properties(self, op: Operation) -> str:
        """What follows the operands of an op in its generic form."""
        given = ", ".join(f"{key} = {value}" for key, value in op.properties.items())
        return f" <{{{given}}}>" if given else ""

    def _expand(self, op: CallOp) -> None:
        """A map op that upstream lacks: its body."""
        decl = find_op(op.fn.data)
        if not issubclass(decl, Map):
            raise ExportError(f"kernel.call of {op.fn.data}, a {decl.family}: only map ops can be called in a body")
        block = Block(arg_types=[v.type for v in op.args])
        builder = BodyBuilder(block)
        result = decl.build(builder, *(builder.wrap(a, scalar_dtype(a.type)) for a in block.args))
        self.body(block, [self.of(v) for v in op.args])
        self.names[op.result] = self.of(result.ref)

    def _while(self, op: scf.WhileOp) -> None:
        before, after = op.before_region.block, op.after_region.block
        carried, passed = ([self.fresh() for _ in block.args] for block in (before, after))
        result = self.fresh()
        inits = ", ".join(f"{c} = {self.of(v)}" for c, v in zip(carried, op.operands))
        types, results = (", ".join(str(v.type) for v in values) for values in (op.operands, op.results))
        with self.scope(f"{result}:{len(op.results)} = scf.while ({inits}) : ({types}) -> ({results}) {{", None):
            self.body(before, carried)
            condition, *given = map(self.of, _last(before).operands)
            self.line(f"scf.condition({condition}) {', '.join(given)} : {results}")
        with self.scope("} do {"):
            self.line(f"^bb0({', '.join(f'{p}: {v.type}' for p, v in zip(passed, after.args))}):")
            self.body(after, passed)
            self.line(f"scf.yield {', '.join(map(self.of, _last(after).operands))} : {types}")
        self.bind(op.results, [f"{result}#{i}" for i in range(len(op.results))])

    def body(self, block: Block, args: Sequence[str]) -> None:
        """Export the ops of a body, its terminator excepted."""
        self.bind(block.args, args)
        for op in block.ops:
            if not op.name.endswith((".yield", ".condition")):
                self.scalar(op)


def _last(block: Block) -> Operation:
    assert block.last_op is not None
    return block.last_op


def free_symbols(function: func.FuncOp) -> list[Sym]:
    """Symbols that a function's types and attributes mention and no op inside binds, by name."""
    used: set[Sym] = set()
    bound: set[Sym] = set()

    def take(dims: Iterable[Dim]) -> None:
        for d in dims:
            used.update(d.symbols())

    def types(values: Iterable[SSAValue]) -> None:
        for value in values:
            if isinstance(value.type, BufferType):
                take(value.type.data.dims + value.type.data.strides)
            elif isinstance(value.type, TensorType):
                take(shape_of(value.type)[1])

    types(function.body.block.args)
    for op in function.walk():
        types(op.results)
        iterators: set[Sym] = set()
        for key in ("iv", "symbol"):
            name: Any = op.attributes.get(key)
            if name is not None:
                bound.add(Sym(name.data))
        for attribute in _attributes(op):
            match attribute:
                case DimAttr():
                    take([attribute.data])
                case DimsAttr():
                    take(attribute.data)
                case MapAttr():
                    take(attribute.data.extents + attribute.data.exprs + attribute.data.guards)
                    iterators |= set(attribute.data.bounds)
                case _:
                    pass
        bound |= iterators
    return sorted(used - bound, key=lambda s: s.name)


def _attributes(op: Operation) -> Iterator[Attribute]:
    for key, attribute in op.attributes.items():
        if key.startswith("tx."):
            continue
        data: Any = getattr(attribute, "data", None)
        if isinstance(data, tuple) and data and all(isinstance(a, Attribute) for a in data):
            yield from data
        else:
            yield attribute
