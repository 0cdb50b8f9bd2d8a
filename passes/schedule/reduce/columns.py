"""Column reductions larger than L2: tiles of pages of adjacent results, so that rows are read in long segments.

`column_tile.py` reduces one tile; here are the tiles of all results, which threads share.  Blocks of the order are
reduced separately, which gives more parallelism, and their results after them, in registers.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from xdsl.ir import Block, SSAValue

from ....dialects import kernel
from ....dialects.attributes import scalar_dtype
from ....dialects.dims.dims import Dim, Sym, ceil_div, dim, maximum, minimum, packed_strides
from ....dialects.dims.index_map import product
from ...cost.work import point_time, point_work
from ..access import accesses, accumulator_types, body_cost, buffer_info, order_of
from ..blocks import store_all
from ..body import ScheduleContext
from ..function import materialize_dim
from ..language.axes import collapse_axes, point_of
from ..map.schedule import VectorConfig, choose_lanes
from ..parallelize import LoopSpec, balanced_tile, parallel_loops
from .column_tile import ColumnTile
from .core import combine_partials, element_accesses, unroll_length
from .register import RegisterReduction, side_by_side

__all__ = [
    "ColumnReduction",
    "can_tile_columns",
    "exceeds_l2",
    "prefers_tiling",
    "profits_from_tiling",
    "reduce_columns",
]

#: Pages of results that one thread reduces in a pass over memory.
LONG_TILE = 4
#: Tasks of a multi-pass reduction for each of several threads.
TASKS = 4


class ColumnReduction:
    """The results of one nest by column tiles; stages that need none use `reduction`."""

    def __init__(self, reduction: RegisterReduction):
        self.reduction, self.context, self.nest = reduction, reduction.context, reduction.nest
        self.groups = reduction.groups
        self.outer, self.columns = [g.extent for g in self.groups[:-1]], self.groups[-1].extent

    def write(self, block: Block) -> None:
        """The reductions: blocks of elements by column tiles of results, then the blocks' values of each result."""
        nest, context, order = self.nest, self.context, order_of(self.nest)
        extent, per_accumulator_lane = nest.extents.data[-1], order.lanes > 1
        lane_bytes = order.lanes * sum(scalar_dtype(t).bytes for t in accumulator_types(nest))
        most = context.costs.l2_column_tile(lane_bytes) if per_accumulator_lane else context.costs.column_tile
        size = (order.block or most) if per_accumulator_lane else self._block
        blocks, outer, columns = ceil_div(extent, size), self.outer, self.columns
        iterators, number, start = [context.new_iv() for _ in self.groups], context.new_iv(), context.new_iv()
        point, others = point_of(self.groups, iterators), product((*outer, blocks))
        side = balanced_tile(
            context, block, columns, most if per_accumulator_lane else self._tile_of_pass(block, others), others
        )
        *around, plane, step = packed_strides((*outer, blocks, columns))
        done_at_once = per_accumulator_lane and blocks.const == 1
        shape, strides = (*outer, columns, blocks), (*around, step, plane)
        partials = [] if done_at_once else context.accumulators(block, nest, shape, strides)

        def store(values: list[SSAValue], inner: Block) -> None:
            if done_at_once:
                context.epilogue(nest, values, point, inner)
            else:
                store_all(inner, values, partials, [*iterators, number])

        tile, unroll = self._column_tile(iterators, start, side, most)
        elements = number * size, minimum(extent, number * size + size)
        levels = [LoopSpec(i, e) for i, e in zip(iterators, outer)]
        levels += [LoopSpec(number, blocks), LoopSpec(start, columns, side)]
        with parallel_loops(context, block, levels, size * side, point_time(nest, context.costs), serial=False) as task:
            if per_accumulator_lane:
                lanes = _lanes_per_pass(context, nest)
                vectors = side_by_side(context, nest, self.reduction.access_list, self.groups[-1], tile.width)
                beside = vectors // max(2, lanes)
                tile.per_accumulator_lane(task, elements, store, self.reduction.lanes.unroll or max(1, beside), lanes)
            else:
                tile.multi_pass(task, elements, partials, [*iterators, number], unroll)
        if done_at_once:
            return

        def combined(body: Block, point: dict[Sym, Dim]) -> None:
            context.epilogue(nest, combine_partials(context, nest, body, partials, iterators, blocks), point, body)

        # A thousandth of the work: little code.
        self.reduction.around(block, combined, blocks, most=1, iterators=iterators)

    @property
    def _block(self) -> int:
        """Elements of a block of the order, or of what is reduced separately where that is free."""
        return order_of(self.nest).block or self.context.costs.column_tile

    def _column_tile(self, iterators: list[Dim], start: Dim, side: Dim, most: int) -> tuple[ColumnTile, int]:
        """Results from a first one on, and how many vectors of them are unrolled."""
        copies = self.context.costs.unroll_factor(body_cost(self.nest), 1)
        accessed = element_accesses(self.nest, self.reduction.access_list)
        width, unroll = choose_lanes(self.reduction.lanes, accessed, copies)
        results, point = (start, minimum(self.columns, start + side), most), point_of(self.groups, iterators)
        return ColumnTile(self.context, self.nest, point, iterators[-1], results, width), unroll

    def _tile_of_pass(self, block: Block, others: Dim) -> Dim:
        """The most results of a tile that is reduced in several passes: longer ones for a single thread.

        As many of them as the first cache holds beside what is read; threads take pages, so that their shares are even.
        """
        context, tile = self.context, self.context.costs.column_tile
        threads = context.threads(block)
        tasks = TASKS * threads * minimum(1, threads - 1)
        most = minimum(LONG_TILE * tile, self.columns * others // maximum(1, tasks))
        return materialize_dim(context, block, maximum(tile, most))


def reduce_columns(context: ScheduleContext, nest: kernel.GenericOp, block: Block, lanes: VectorConfig) -> None:
    """Loops for a reduction of adjacent results that `can_tile_columns`."""
    access_list = accesses(nest)
    groups = collapse_axes(nest, access_list, 0, nest.n_parallel)
    reduction = RegisterReduction(context, nest, lanes, access_list, groups, {}, across=True, serial=False)
    ColumnReduction(reduction).write(block)


def can_tile_columns(nest: kernel.GenericOp) -> bool:
    """Whether a reduction can run along contiguous rows of memory."""
    order, inner, access_list = order_of(nest), Sym(f"d{nest.n_parallel - 1}"), accesses(nest)
    is_blocked = order.kind in ("free", "tree")
    in_rows = all((s := w.step(inner)) is not None and s.const in (0, 1) for w in element_accesses(nest, access_list))
    return is_blocked and in_rows and not unroll_length(nest)


def profits_from_tiling(context: ScheduleContext, nest: kernel.GenericOp) -> bool:
    """Whether a reduction whose operands exceed the caches is better tiled by columns, and can be."""
    return _waits_for_memory(context, nest) and can_tile_columns(nest)


def _waits_for_memory(context: ScheduleContext, nest: kernel.GenericOp) -> bool:
    """Whether a reduction is bound by operands that exceed the caches; one of products (here no contraction) reads them
    once."""
    work = point_work(nest, context.costs)
    if order_of(nest).product:
        work = replace(work, bytes=float(work.bits // 8))
    return context.costs.is_memory_bound(work)


def _lanes_per_pass(context: ScheduleContext, nest: kernel.GenericOp) -> int:
    """Accumulator lanes that one pass handles, for column tiles of results."""
    return min(order_of(nest).lanes, context.costs.lanes_per_pass(body_cost(nest)))


def exceeds_l2(context: ScheduleContext, nest: kernel.GenericOp) -> Dim:
    """Positive where operands exceed L2, and their rows longer and more than registers take at once."""
    return _beyond(context, nest, context.costs.machine.l2_bytes, 1)


def prefers_tiling(context: ScheduleContext, nest: kernel.GenericOp) -> Dim:
    """Positive where a reduction that can be tiled by columns should be.

    From a quarter of the second cache on; where lanes go together from the first, as that too is read in long runs.
    """
    machine, jam = context.costs.machine, _lanes_per_pass(context, nest)
    return _beyond(context, nest, machine.l2_bytes // 4 if jam == 1 else machine.l1_bytes, jam)


def _beyond(context: ScheduleContext, nest: kernel.GenericOp, cache: float, jam: int) -> Dim:
    """Positive where a cache does not hold the operands, and their rows are longer and more than registers take.

    Of an order with lanes, so many of them together, each has some rows, so that what they come to is little beside
    what is read.
    """
    if not nest.ins:
        return dim(-1)  # its elements follow from where they are
    costs, element = context.costs, max(buffer_info(v).dtype.bytes for v in nest.ins)
    # Windows of an operand overlap: it is no larger than it is.
    held = reduce(maximum, (product(buffer_info(v).dims) for v in nest.ins))
    size = minimum(product(nest.extents.data), held) * element - int(cache)
    least = max(4, order_of(nest).lanes) * costs.rows_per_pass // jam
    side = collapse_axes(nest, accesses(nest), 0, nest.n_parallel)[-1].extent
    long, many = side * element - int(costs.machine.page_bytes) // 4, nest.extents.data[-1] - least
    return minimum(size, minimum(long, many))
