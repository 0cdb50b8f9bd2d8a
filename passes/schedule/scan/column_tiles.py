"""Scans vectorized across adjacent results: a column tile at a time, its accumulators in a worker's own memory.

So what is contiguous across results is read and written in long segments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, SSAValue

from ....dialects import kernel, loop
from ....dialects.attributes import BufferInfo, scalar_dtype
from ....dialects.dims.dims import Dim, Sym, dim, minimum
from ....dialects.dims.index_map import product
from ...cost.work import operations_and_chain, point_time
from ..body import Point, ScheduleContext, accesses
from ..language.axes import FusedAxis, point_of
from ..map.schedule import VectorConfig, choose_lanes
from ..parallelize import LoopSpec, balanced_tile, parallel_loops
from ..reduce.core import accumulator_types

__all__ = ["fits_unrolled", "is_exclusive", "scan_columns"]

#: Scalar ops of a run whose steps are written one by one.
LONGEST_RUN = 256


def is_exclusive(nest: kernel.GenericOp) -> bool:
    """Whether each element of a scan gets the accumulators before it, not those up to it."""
    return nest.scan is not None and nest.scan.data == "exclusive"


def fits_unrolled(nest: kernel.GenericOp) -> bool:
    """Whether a run of the order ``prefix`` can be written step by step: it is short, and reads at its own places."""
    assert nest.order is not None
    lanes = nest.order.data.lanes
    merge, body = (operations_and_chain(r.block.ops)[0] for r in (nest.combiner, nest.body))
    reads = any(isinstance(op, kernel.ReadOp) for r in nest.regions for b in r.blocks for op in b.ops)
    return not reads and lanes * (merge * (lanes.bit_length() + 2) + body) <= LONGEST_RUN


def scan_columns(
    context: ScheduleContext,
    nest: kernel.GenericOp,
    block: Block,
    lanes: VectorConfig,
    groups: list[FusedAxis],
    done: Point,
    serial: bool,
) -> None:
    """Column tiles along the last group."""
    assert nest.order is not None
    iterators, start = [context.new_iv() for _ in groups], context.new_iv()
    extent, costs = nest.extents.data[-1], context.costs
    most = costs.column_tile
    columns, outer = groups[-1].extent, product([g.extent for g in groups[:-1]])
    side = most if serial else balanced_tile(context, block, columns, most, outer, costs.min_shared_columns)
    point = {**done, **point_of(groups, iterators)}
    results = start, minimum(columns, start + side), most
    tile, outer = _ColumnTile(context, nest, point, groups[-1], iterators[-1], results, lanes), Block()
    if nest.order.data.kind == "prefix":
        tile.by_runs(outer)
    else:
        tile.by_steps(outer)
    levels = [*(LoopSpec(i, g.extent) for i, g in zip(iterators[:-1], groups)), LoopSpec(start, columns, side)]
    parallel_loops(context, block, levels, outer, extent * side, point_time(nest, costs), serial)


@dataclass(frozen=True)
class _ColumnTile:
    """Neighbouring results of a nest: `column`, from which `point` has places, is the iterator across them.

    It goes along `group`.  `results` has the first of them, the one behind the last, and how many there are at most.
    """

    context: ScheduleContext
    nest: kernel.GenericOp
    point: Point
    group: FusedAxis
    column: Dim
    results: tuple[Dim, Dim, int]
    lanes: VectorConfig

    def starting(self, block: Block) -> list[SSAValue]:
        """Memory for the accumulators of the column tile, which start from the identity."""
        accumulators = self._accumulators(block)
        start = Block()
        self._store(start, self.context.identity(self.nest, start), accumulators)
        block.add_op(self._across(start))
        return accumulators

    def by_steps(self, block: Block) -> None:
        """The steps of the axis in order ``serial``: each of all results."""
        context, nest, k, body = self.context, self.nest, self.context.new_iv(), Block()
        accumulators = self.starting(block)
        here = self._at(k)
        older = self._load(body, accumulators)
        newer = context.combine(nest, [*older, *context.body(nest, here, body)], body)
        self._store(body, newer, accumulators)
        context.epilogue(nest, older if is_exclusive(nest) else newer, here, body)
        steps = Block([self._across(body), loop.YieldOp()])
        block.add_op(loop.ForOp(str(k), 0, nest.extents.data[-1], steps))

    def by_runs(self, block: Block) -> None:
        """The runs of the axis in order ``prefix``, block by block: all steps of one, of all results."""
        assert self.nest.order is not None
        size, lanes = self.nest.order.data.block, self.nest.order.data.lanes
        context, extent, first, inner = self.context, self.nest.extents.data[-1], self.context.new_iv(), Block()
        latest = self.starting(block)
        chain, before = self._accumulators(block), self._accumulators(block)
        start = Block()
        self._store(start, self._load(start, latest), before)
        self._store(start, context.identity(self.nest, start), chain)
        last = minimum(extent, first + size)

        def runs(lower: Dim, upper: Dim, whole: bool) -> loop.ForOp:
            k, body = context.new_iv(), Block()
            self._run(body, k, None if whole else last, (chain, before, latest))
            return loop.ForOp(str(k), lower, upper, Block([self._across(body), loop.YieldOp()]), step=lanes)

        whole = last // lanes * lanes
        inner.add_ops([self._across(start), runs(first, whole, True)])
        if (extent % lanes).const != 0:
            inner.add_op(runs(whole, last, False))
        inner.add_op(loop.YieldOp())
        block.add_op(loop.ForOp(str(first), 0, extent, inner, step=size))

    def _run(
        self, body: Block, first: Dim, last: Dim | None, memory: tuple[list[SSAValue], list[SSAValue], list[SSAValue]]
    ) -> None:
        """A run from `first` on, of which steps from `last` on are left out; no other follows one that has such.

        The `memory` has the chain of runs, the accumulators before the block, and the latest ones.
        """
        context, nest, (chain, _, latest) = self.context, self.nest, memory
        assert nest.order is not None
        indices = [first + number for number in range(nest.order.data.lanes)]

        def at(index: Dim, write: Callable[[Point], None]) -> None:
            context.store_guards = () if last is None else (last - 1 - index,)
            write(self._at(index))
            context.store_guards = ()

        elements: list[list[SSAValue]] = []
        for index in indices:
            at(index, lambda here: elements.append(context.body(nest, here, body)))
        neutral, step = context.identity(nest, body), 1
        while step < len(indices):
            older = [neutral] * step + elements[:-step]
            elements = [context.combine(nest, [*x, *y], body) for x, y in zip(older, elements)]
            step *= 2
        runs, accumulators, shown = (self._load(body, buffers) for buffers in memory)
        for index, local in zip(indices, elements):
            inside = context.combine(nest, [*runs, *local], body)
            newer = context.combine(nest, [*accumulators, *inside], body)
            values, shown = shown if is_exclusive(nest) else newer, newer
            at(index, lambda here, values=values: context.epilogue(nest, values, here, body))
        if last is None:
            self._store(body, context.combine(nest, [*runs, *elements[-1]], body), chain)
            self._store(body, shown, latest)

    def _at(self, index: Dim) -> dict[Sym, Dim]:
        """The nest's iterators at a place of the axis."""
        return {**self.point, Sym(f"d{self.nest.n_parallel}"): index}

    def _accumulators(self, block: Block) -> list[SSAValue]:
        side = dim(self.results[2])
        types = map(scalar_dtype, accumulator_types(self.nest))
        return [self.context.allocate(block, BufferInfo(t, (side,), (dim(1),)), "thread") for t in types]

    def _load(self, block: Block, buffers: Sequence[SSAValue]) -> list[SSAValue]:
        loads = [loop.LoadOp(buffer, [self.column - self.results[0]]) for buffer in buffers]
        block.add_ops(loads)
        return [load.result for load in loads]

    def _store(self, block: Block, values: Sequence[SSAValue], buffers: Sequence[SSAValue]) -> None:
        index = [self.column - self.results[0]]
        block.add_ops([loop.StoreOp(value, buffer, index) for value, buffer in zip(values, buffers)])

    def _across(self, body: Block) -> loop.ForOp:
        """A loop across the column tile."""
        body.add_op(loop.YieldOp())
        start, stop, _ = self.results
        assert self.nest.order is not None
        copies = (
            1 if self.nest.order.data.kind == "prefix" else self.context.unroll_factor(self.nest, {*self.group.symbols})
        )
        width, unroll = choose_lanes(self.lanes, accesses(self.nest), copies)
        return loop.ForOp(str(self.column), start, stop, body, vector=width, unroll=unroll)
