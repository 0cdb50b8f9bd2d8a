"""How much nests have to do, by the cost model: of a function, an estimate by which a call decides about threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.attributes import BufferType
from ...dialects.dims.analysis import linear_in
from ...dialects.dims.dims import Dim, Sym, dim
from ...dialects.dims.index_map import IndexMap
from ...dialects.kernel import CallOp, CustomOp, ForOp, GenericOp, ReadOp, ScatterOp, WhileOp, shape_of
from ...dialects.registry import OPS, Map
from .model import CostModel, Work, assumed_number

__all__ = ["FOREIGN_WORK", "bytes_of", "operations_and_chain", "operations_of", "point_time", "point_work", "work_of"]

#: An estimate with more terms would cost a small call too much.
_MOST_TERMS = 6
#: Units of work that stand for one element of a foreign kernel.
FOREIGN_WORK = 16
#: Operations of an elementary function for each one that waits for another.
_SIDE_BY_SIDE = 3
#: Operations that take as long as a division or a root until its result is there.
_DIVISION_WAITS = 4


def work_of(function: func.FuncOp) -> Dim | None:
    """The points of all loop nests of a function with `kernel` ops, each with its weight (`CostModel.weight`).

    None where no bound is known or the estimate is long.
    """
    total = _block(function.body.block, {}, CostModel.of(function))
    return total if total is not None and len(total.terms) <= _MOST_TERMS else None


def _block(block: Block, first: Mapping[Sym, Dim], costs: CostModel) -> Dim | None:
    """The work of a block inside loops whose iterators begin at `first`."""
    total = dim(0)
    for op in block.ops:
        inner = _operation(op, first, costs)
        if inner is None:
            return None
        total = total + inner
    return total


def _operation(op: Operation, first: Mapping[Sym, Dim], costs: CostModel) -> Dim | None:
    if isinstance(op, WhileOp) or any(isinstance(inner, scf.WhileOp) for inner in op.walk()):
        return None
    if isinstance(op, (GenericOp, ScatterOp)):
        points = dim(1)
        for extent in op.extents.data:
            points = points * extent.substitute(first)
        return points * (costs.weight(point_time(op, costs)) if isinstance(op, GenericOp) else 1)
    if isinstance(op, CustomOp):
        points = dim(1)
        for extent in shape_of((list(op.results) or list(op.outs))[0].type)[1]:
            points = points * extent.substitute(first)
        return points * FOREIGN_WORK
    if isinstance(op, ForOp):
        lower, upper = op.lower.data.substitute(first), op.upper.data.substitute(first)
        if op.only is not None:  # it is taken to be the longest
            return _block(op.regions[0].block, {**first, Sym(op.iv.data): upper - 1}, costs)
        # Every iteration is taken to be as long as the first.
        inner, step = _block(op.regions[0].block, {**first, Sym(op.iv.data): lower}, costs), op.step.data
        return None if inner is None or not step.const else (upper - lower) // step * inner
    parts = [_block(b, first, costs) for region in op.regions for b in region.blocks]
    return None if None in parts else sum((p for p in parts if p is not None), dim(0))


def bytes_of(value: SSAValue) -> float:
    """The bytes of a tensor or buffer, sizes that are not known being assumed."""
    element, dims = shape_of(value.type)
    total = float(element.bytes)
    for d in dims:
        total *= assumed_number(d)
    return total


def point_time(nest: GenericOp, costs: CostModel) -> float:
    """Nanoseconds that one point of a nest takes."""
    return costs.point_ns(point_work(nest, costs))


def point_work(nest: GenericOp, costs: CostModel) -> Work:
    """What one point of a nest over buffers takes."""
    arithmetic = divisions = 0.0
    for region in (nest.body, nest.combiner) if nest.is_reduction else (nest.body,):
        done = _operations(region.block.ops)
        arithmetic, divisions = arithmetic + done[0], divisions + done[1]
    operands = [*zip(nest.ins, nest.maps_in()), *zip(nest.outs, nest.maps_out())]
    dtypes = [shape_of(v.type)[0] for v, _ in operands]
    distinct = {(v, _movement(m)): (v, m.exprs) for v, m in operands if _is_dense(nest, m)}
    reads = [(op.source, op.index.data) for op in nest.body.block.ops if isinstance(op, ReadOp)]
    if nest.order is not None and nest.order.data.product:
        reads = []  # tiles of a contraction read each element many times while it is at hand
    moved = sum(
        _bytes_per_access(v, exprs, nest, costs.machine.cache_line) for v, exprs in (*distinct.values(), *reads)
    )
    bits = max((d.part.bits for d in dtypes), default=32)
    return Work(arithmetic, divisions, moved, bits)


def _movement(index: IndexMap) -> tuple[Dim, ...]:
    """What of a place depends on iterators; those that differ by a shift (stencils) share their bytes."""
    start = dict.fromkeys(index.bounds, dim(0))
    return tuple(e - e.substitute(start) for e in index.exprs)


def _bytes_per_access(value: SSAValue, exprs: Sequence[Dim], nest: GenericOp, line: float) -> float:
    """The bytes that move for an element: with it comes what lies between it and the next one, up to a line."""
    assert isinstance(value.type, BufferType)
    info, iterators = value.type.data, {Sym(f"d{i}") for i in range(len(nest.extents.data))}
    if any(e.symbol in iterators and stride is dim(1) for e, stride in zip(exprs, info.strides)):
        return info.dtype.bytes
    walk = linear_in(info.address(exprs), iterators)
    if walk is None:
        return info.dtype.bytes
    steps = [abs(step.const) for step in walk[0].values() if step.const is not None]
    return min([line, *(info.dtype.bytes * step for step in steps)])


def _is_dense(nest: GenericOp, index: IndexMap) -> bool:
    """Whether an operand has an element of its own at each point of a nest."""
    mentioned = set[Sym]().union(*(e.symbols() for e in index.exprs))
    return all(Sym(f"d{i}") in mentioned for i in range(len(nest.extents.data)))


_DIVISIONS = ("arith.divf", "arith.divsi", "arith.divui", "arith.remf", "arith.remsi", "arith.remui", "math.sqrt")
_FREE = ("arith.constant", "kernel.yield", "loop.yield")


def _operations(ops: Iterable[Operation]) -> tuple[float, float]:
    """Arithmetic and divisions of scalar ops; an elementary function counts what its declaration says."""
    arithmetic = divisions = 0.0
    for op in ops:
        if op.name in _DIVISIONS:
            divisions += 1
        elif isinstance(op, CallOp):
            arithmetic += _declared(op.fn.data)
        elif op.name.startswith("math."):
            arithmetic += _declared(op.name)
        elif op.name not in _FREE:
            arithmetic += 1
        for region in op.regions:
            inner = _operations(o for block in region.blocks for o in block.ops)
            arithmetic, divisions = arithmetic + inner[0], divisions + inner[1]
    return arithmetic, divisions


def operations_of(nest: GenericOp) -> float:
    """Operations in the regions of a nest, each once: its code grows with them, of which calls are one."""
    done = (sum(_operations([op])) for region in nest.regions for block in region.blocks for op in block.ops)
    return sum(1 if operations >= Map.OUTLINED else operations for operations in done)


def operations_and_chain(ops: Iterable[Operation]) -> tuple[float, float]:
    """How many operations these are, and how many of them wait for one another, in the longest chain."""
    operations = longest = 0.0
    waits: dict[SSAValue, float] = {}
    for op in ops:
        arithmetic, divisions = _operations([op])
        own = arithmetic + divisions
        before = max((waits.get(o, 0.0) for inner in op.walk() for o in inner.operands), default=0.0)
        waiting = arithmetic if arithmetic <= 1 else arithmetic / _SIDE_BY_SIDE
        after = before + waiting + divisions * _DIVISION_WAITS
        waits.update(dict.fromkeys(op.results, after))
        operations, longest = operations + own, max(longest, after)
    return operations, longest


def _declared(name: str) -> float:
    """The cost of a map by its name, or by that of the `math` op that stands for it."""
    return _costs().get(name, 1.0)


@cache
def _costs() -> dict[str, float]:
    maps = [cls for cls in OPS.values() if issubclass(cls, Map)]
    return {name: cls.cost for cls in maps for name in (cls.name, cls.mlir) if name}
