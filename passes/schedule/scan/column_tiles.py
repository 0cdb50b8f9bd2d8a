"""Scans vectorized across adjacent results: a column tile at a time, its accumulators in a worker's own memory.

So what is contiguous across results is read and written in long segments.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass

from xdsl.ir import Block, SSAValue

from ....dialects import kernel
from ....dialects.dims.dims import Dim, Sym, dim, minimum
from ....dialects.dims.index_map import product
from ...cost.work import operations_and_chain, point_time
from ..access import Point, accesses, order_of
from ..blocks import for_loop, load_all, store_all
from ..body import ScheduleContext
from ..language.axes import FusedAxis, point_of
from ..map.schedule import VectorConfig, choose_lanes
from ..parallelize import LoopSpec, balanced_tile, parallel_loops

__all__ = ["doubled", "fits_unrolled", "is_exclusive", "scan_columns"]

#: Scalar ops of a run whose steps are written one by one.
LONGEST_RUN = 256


def is_exclusive(nest: kernel.GenericOp) -> bool:
    """Whether each element of a scan gets the accumulators before it, not those up to it."""
    return nest.scan is not None and nest.scan.data == "exclusive"


def fits_unrolled(nest: kernel.GenericOp) -> bool:
    """Whether a run of the order ``prefix`` can be written step by step: it is short, and reads at its own places."""
    lanes = order_of(nest).lanes
    merge, body = (operations_and_chain(r.block.ops)[0] for r in (nest.combiner, nest.body))
    reads = any(isinstance(op, kernel.ReadOp) for r in nest.regions for b in r.blocks for op in b.ops)
    return not reads and lanes * (merge * (lanes.bit_length() + 2) + body) <= LONGEST_RUN


def doubled(
    context: ScheduleContext, nest: kernel.GenericOp, block: Block, identity: list[SSAValue],
    lanes: list[list[SSAValue]],
) -> list[list[SSAValue]]:  # fmt: skip
    """A run's lanes scanned by doubling, as the order ``prefix`` says."""
    step = 1
    while step < len(lanes):
        older = [*[identity] * step, *lanes[:-step]]
        lanes = [context.combine(nest, [*x, *y], block) for x, y in zip(older, lanes, strict=True)]
        step *= 2
    return lanes


def scan_columns(
    context: ScheduleContext, nest: kernel.GenericOp, block: Block, lanes: VectorConfig, groups: list[FusedAxis],
    done: Point, serial: bool,
) -> None:  # fmt: skip
    """Column tiles along the last group."""
    iterators, start = [context.new_iv() for _ in groups], context.new_iv()
    extent, costs = nest.extents.data[-1], context.costs
    most = costs.column_tile
    columns, outer = groups[-1].extent, product([g.extent for g in groups[:-1]])
    side = most if serial else balanced_tile(context, block, columns, most, outer, costs.min_shared_columns)
    point = {**done, **point_of(groups, iterators)}
    results = start, minimum(columns, start + side), most
    tile = _ColumnTile(context, nest, point, groups[-1], iterators[-1], results, lanes)
    levels = [*(LoopSpec(i, g.extent) for i, g in zip(iterators[:-1], groups)), LoopSpec(start, columns, side)]
    with parallel_loops(context, block, levels, extent * side, point_time(nest, costs), serial) as body:
        if order_of(nest).kind == "prefix":
            tile.by_runs(body)
        else:
            tile.by_steps(body)


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
        with self._across(block) as start:
            store_all(start, self.context.identity(self.nest, start), accumulators, self._index)
        return accumulators

    def by_steps(self, block: Block) -> None:
        """The steps of the axis in order ``serial``: each of all results."""
        context, nest, k = self.context, self.nest, self.context.new_iv()
        accumulators = self.starting(block)
        here = self._at(k)
        with for_loop(block, k, 0, nest.extents.data[-1]) as steps, self._across(steps) as body:
            older = load_all(body, accumulators, self._index)
            newer = context.combine(nest, [*older, *context.body(nest, here, body)], body)
            store_all(body, newer, accumulators, self._index)
            context.epilogue(nest, older if is_exclusive(nest) else newer, here, body)

    def by_runs(self, block: Block) -> None:
        """The runs of the axis in order ``prefix``, block by block: all steps of one, of all results."""
        size, lanes = order_of(self.nest).block, order_of(self.nest).lanes
        context, extent, first = self.context, self.nest.extents.data[-1], self.context.new_iv()
        latest = self.starting(block)
        chain, before = self._accumulators(block), self._accumulators(block)
        last = minimum(extent, first + size)
        whole = last // lanes * lanes
        parts = [(first, whole, None), (whole, last, last)]
        with for_loop(block, first, 0, extent, step=size) as inner:
            with self._across(inner) as start:
                store_all(start, load_all(start, latest, self._index), before, self._index)
                store_all(start, context.identity(self.nest, start), chain, self._index)
            for lower, upper, end in parts if (extent % lanes).const != 0 else parts[:1]:
                k = context.new_iv()
                with for_loop(inner, k, lower, upper, step=lanes) as runs, self._across(runs) as body:
                    self._run(body, k, end, (chain, before, latest))

    def _run(
        self, body: Block, first: Dim, last: Dim | None, memory: tuple[list[SSAValue], list[SSAValue], list[SSAValue]]
    ) -> None:
        """A run from `first` on, of which steps from `last` on are left out; no other follows one that has such.

        The `memory` has the chain of runs, the accumulators before the block, and the latest ones.
        """
        context, nest, (chain, _, latest) = self.context, self.nest, memory
        indices = [first + number for number in range(order_of(nest).lanes)]

        def guarded(index: Dim) -> AbstractContextManager[None]:
            return context.temporarily(store_guards=() if last is None else (last - 1 - index,))

        elements: list[list[SSAValue]] = []
        for index in indices:
            with guarded(index):
                elements.append(context.body(nest, self._at(index), body))
        elements = doubled(context, nest, body, context.identity(nest, body), elements)
        runs, accumulators, shown = (load_all(body, buffers, self._index) for buffers in memory)
        for index, local in zip(indices, elements):
            inside = context.combine(nest, [*runs, *local], body)
            newer = context.combine(nest, [*accumulators, *inside], body)
            values, shown = shown if is_exclusive(nest) else newer, newer
            with guarded(index):
                context.epilogue(nest, values, self._at(index), body)
        if last is None:
            store_all(body, context.combine(nest, [*runs, *elements[-1]], body), chain, self._index)
            store_all(body, shown, latest, self._index)

    def _at(self, index: Dim) -> dict[Sym, Dim]:
        """The nest's iterators at a place of the axis."""
        return {**self.point, self.nest.reduced: index}

    def _accumulators(self, block: Block) -> list[SSAValue]:
        return self.context.accumulators(block, self.nest, (dim(self.results[2]),), scope="thread")

    @property
    def _index(self) -> list[Dim]:
        """Where a column's accumulators lie."""
        return [self.column - self.results[0]]

    def _across(self, block: Block) -> AbstractContextManager[Block]:
        """A loop across the column tile."""
        start, stop, _ = self.results
        in_runs = order_of(self.nest).kind == "prefix"
        copies = 1 if in_runs else self.context.unroll_factor(self.nest, {*self.group.symbols})
        width, unroll = choose_lanes(self.lanes, accesses(self.nest), copies)
        return for_loop(block, self.column, start, stop, vector=width, unroll=unroll)
