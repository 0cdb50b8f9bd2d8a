"""How nests access memory, in which order they reduce, and what of their bodies changes along iterators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import kernel, loop
from ...dialects.attributes import BufferInfo, BufferType
from ...dialects.dims.analysis import expand_mods, linear_in, simplify
from ...dialects.dims.dims import Dim, Sym, dim
from ...dialects.order import Order

__all__ = [
    "Access",
    "Point",
    "accesses",
    "accumulator_types",
    "at_iterators",
    "backward_slice",
    "body_cost",
    "buffer_info",
    "changing_ops",
    "is_thread_memory",
    "order_of",
]

#: The value of each iterator ``d0, d1, …`` of a nest, as an expression over loop iterators.
Point = Mapping[Sym, Dim]


@dataclass(frozen=True)
class Access:
    """How a nest accesses one operand: elements moved when each iterator advances by one; None where it is not
    linear."""

    coefficients: dict[Sym, Dim] | None
    is_output: bool
    bits: int
    guarded: bool

    def step(self, symbol: Sym) -> Dim | None:
        if self.coefficients is None:
            return None
        return self.coefficients.get(symbol, dim(0))

    def is_contiguous(self, symbol: Sym) -> bool:
        """Whether elements lie one after another along an iterator."""
        step = self.step(symbol)
        return step is not None and step.const == 1

    def varies(self, symbol: Sym) -> bool:
        """Whether the operand moves along an iterator."""
        step = self.step(symbol)
        return step is None or step.const != 0

    def strides(self, symbol: Sym) -> bool:
        """Whether the operand moves along an iterator, by more than an element."""
        step = self.step(symbol)
        return step is None or (step.const != 1 and bool(step.terms))


def buffer_info(value: SSAValue) -> BufferInfo:
    assert isinstance(value.type, BufferType), f"{value.type} is no buffer"
    return value.type.data


def is_thread_memory(value: SSAValue) -> bool:
    """Whether a buffer is memory of each thread's own."""
    return isinstance(value.owner, loop.AllocOp) and value.owner.scope.data == "thread"


def accesses(nest: kernel.GenericOp) -> list[Access]:
    """The accesses of the inputs, then of the outputs."""
    extents, found = nest.bounds, list[Access]()
    operands = [*zip(nest.ins, nest.maps_in()), *zip(nest.outs, nest.maps_out())]
    for n, (value, index) in enumerate(operands):
        info = buffer_info(value)
        address = simplify(expand_mods(info.address(index.exprs)), extents)
        split = linear_in(address, extents)
        found.append(Access(split and split[0], n >= len(nest.ins), info.dtype.part.bytes * 8, bool(index.guards)))
    return found


def order_of(nest: kernel.GenericOp) -> Order:
    """The order of a reduction nest."""
    assert nest.order is not None
    return nest.order.data


def accumulator_types(nest: kernel.GenericOp) -> list[Attribute]:
    """The types of the accumulators of a reduction nest."""
    args = nest.combiner.block.args
    return [a.type for a in list(args)[: len(args) // 2]]


def at_iterators(numbers: Iterable[int], index: Iterable[Dim]) -> dict[Sym, Dim]:
    """Where iterators of a nest stand, by their numbers."""
    return {Sym(f"d{i}"): at for i, at in zip(numbers, index)}


def body_cost(nest: kernel.GenericOp) -> int:
    """Ops of the body; elementary functions count as the expansions that they are."""
    expanded = ("math.exp", "math.log", "math.sin", "math.cos", "math.tan", "math.pow", "math.erf", "math.tanh")
    ops = nest.body.block.ops
    return sum(15 if op.name.startswith(expanded) or isinstance(op, kernel.CallOp) else 1 for op in ops)


def changing_ops(nest: kernel.GenericOp, along: set[Sym]) -> list[Operation]:
    """The ops of the body whose values depend on some iterators, the last one, which yields, always among them."""
    changing: set[SSAValue] = {
        argument
        for argument, index in zip(nest.body.block.args, nest.maps_in())
        if any(e.symbols() & along for e in (*index.exprs, *index.guards))
    }
    symbols, found = set(along), list[Operation]()
    for op in nest.body.block.ops:
        exprs: tuple[Dim, ...] = ()
        if isinstance(op, loop.IndexOp):
            exprs = (op.expr.data,)
        elif isinstance(op, kernel.ReadOp):
            exprs = (*op.index.data, *(op.guards.data if op.guards is not None else ()))
        operands = (o for inner in op.walk() for o in inner.operands)
        if isinstance(op, kernel.YieldOp) or any(o in changing for o in operands) or any(
            e.symbols() & symbols for e in exprs
        ):  # fmt: skip
            found.append(op)
            changing.update(op.results)
            if isinstance(op, loop.BindOp):
                symbols.add(Sym(op.symbol.data))
    return found


def backward_slice(value: SSAValue) -> set[SSAValue]:
    """A scalar and all that it is computed from (values bound to symbols excepted: factors have none)."""
    found: set[SSAValue] = set()
    stack = [value]
    while stack:
        v = stack.pop()
        if v not in found:
            found.add(v)
            if isinstance(v.owner, Operation):
                stack.extend(o for inner in v.owner.walk() for o in inner.operands)
    return found
