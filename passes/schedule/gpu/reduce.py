"""Reductions to grids: rows for warps or blocks, columns for threads, long reductions in two stages.

Where memory is contiguous along the reduction, the threads of a warp share a row, and those of a block a long one.
Where it is contiguous across results, each thread reduces a result of its own, adjacent to its neighbours'.  A
reduction too long for that is cut at the order's own blocks: a first grid stores the value of each chunk, a second one
combines these in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Block

from ....dialects import kernel
from ....dialects.dims.dims import Dim, Sym, ceil_div, dim, minimum, packed_strides
from ....dialects.dims.index_map import product
from ..access import Access, accesses, order_of
from ..blocks import store_all
from ..body import ScheduleContext
from ..function import if_positive, materialize_dim
from ..language.axes import FusedAxis, collapse_axes, point_of
from ..reduce.core import can_vectorize_results, combine_partials, reduce_loop
from .builder import grid_loop, thread_grid, warp_loop
from .map import LaunchShape

__all__ = ["schedule_gpu_reduction", "supports"]

#: Rows of more elements have a block each; of fewer a warp.
LONG_ROW = 1024
#: Elements of a chunk of a long reduction for a block, and for a thread along a column.
CHUNK, COLUMN_CHUNK = 1 << 15, 1 << 10
#: Reductions of more chunks are split where there are fewer results than this, for blocks or for threads: a GPU has
#: memory to wait for in some 100,000 threads.
FEW_RESULTS, FEW_COLUMNS = 256, 1 << 16


def supports(nest: kernel.GenericOp) -> bool:
    """Whether threads can share the nest's reductions, or each has one in memory adjacent to its neighbours'."""
    return not nest.is_scan and order_of(nest).kind in ("tree", "free")


def schedule_gpu_reduction(context: ScheduleContext, nest: kernel.GenericOp, block: Block, grid: LaunchShape) -> None:
    """Grids for a nest that `supports`."""
    _Reduction(context, nest, grid).write(block)


class _Reduction:
    def __init__(self, context: ScheduleContext, nest: kernel.GenericOp, grid: LaunchShape):
        self.context, self.nest, self.grid = context, nest, grid
        access_list = accesses(nest)
        self.groups: list[FusedAxis] = collapse_axes(nest, access_list, 0, nest.n_parallel)
        self.extents = [g.extent for g in self.groups]
        self.results, self.length = product(self.extents), nest.extents.data[-1]
        k = nest.reduced
        self.across = bool(self.groups) and self._runs_across(access_list[: nest.n_element_inputs], k)

    def write(self, block: Block) -> None:
        chunk, few = (COLUMN_CHUNK, FEW_COLUMNS) if self.across else (CHUNK, FEW_RESULTS)
        whole: Callable[[Block], None] = self._columns if self.across else self._rows
        cut = minimum(self.length - chunk, few - self.results)
        if_positive(block, cut, lambda b: self._two_stage(b, chunk), whole)

    def _runs_across(self, access_list: Sequence[Access], k: Sym) -> bool:
        """Whether threads stand along results: the order has no lanes, or is free and memory contiguous that way."""
        order, inner = order_of(self.nest), self.groups[-1].symbols[-1]
        along, beside = (sum(w.is_contiguous(s) for w in access_list) for s in (k, inner))
        return can_vectorize_results(order) and (beside > along or order.kind != "free")

    def _point(self, block: Block, result: Dim) -> dict[Sym, Dim]:
        """The places of the parallel iterators at a result's number."""
        return point_of(self.groups, self.context.index_of(block, result, self.extents))

    # A result for a team of threads

    def _rows(self, block: Block) -> None:
        if self.groups:
            if_positive(block, self.length - LONG_ROW, self._rows_of_blocks, self._rows_of_warps)
        else:
            self._rows_of_blocks(block)

    def _row(self, body: Block, result: Dim, length: Dim, cooperative: bool = True) -> None:
        point = self._point(body, result)
        accumulators = reduce_loop(self.context, self.nest, body, point, dim(0), length, 1, cooperative)
        self.context.epilogue(self.nest, accumulators, point, body)

    def _rows_of_blocks(self, block: Block) -> None:
        with grid_loop(self.context, block, self.results, self.grid.threads) as (body, result):
            self._row(body, result, self.length)

    def _rows_of_warps(self, block: Block) -> None:
        warps = max(1, self.grid.threads // 32)
        with grid_loop(self.context, block, self.results, warps * 32, step=warps) as (around, first):
            with warp_loop(self.context, around, first, minimum(self.results, first + warps)) as (row, result):
                self._row(row, result, minimum(self.length, LONG_ROW))

    # A result for a thread

    def _columns(self, block: Block) -> None:
        with thread_grid(self.context, block, self.results, self.grid.threads) as (body, result):
            self._row(body, result, self.length, cooperative=False)

    # Long reductions

    def _two_stage(self, block: Block, chunk: int) -> None:
        """Chunks of every reduction first, then their values."""
        chunks = ceil_div(self.length, chunk)
        dims = (self.results, chunks)
        # What neighbouring threads leave and take is side by side.
        strides = (dim(1), self.results) if self.across else packed_strides(dims)
        partials = self.context.accumulators(block, self.nest, dims, strides)

        def one(body: Block, *numbers: Dim) -> None:
            result, number = (materialize_dim(self.context, body, e) for e in numbers)
            point = self._point(body, result)
            lower = number * chunk
            upper = minimum(self.length, lower + chunk)
            accumulators = reduce_loop(self.context, self.nest, body, point, lower, upper, 1, not self.across)
            store_all(body, accumulators, partials, [result, number])

        def last(body: Block, result: Dim, cooperative: bool) -> None:
            accumulators = combine_partials(self.context, self.nest, body, partials, [result], chunks, cooperative)
            self.context.epilogue(self.nest, accumulators, self._point(body, result), body)

        if self.across:
            # Neighbouring threads have neighbouring results.
            with thread_grid(self.context, block, self.results * chunks, self.grid.threads) as (body, number):
                one(body, number % self.results, number // self.results)
            with thread_grid(self.context, block, self.results, self.grid.threads) as (body, result):
                last(body, result, False)
            return
        with grid_loop(self.context, block, self.results * chunks, self.grid.threads) as (body, number):
            one(body, number // chunks, number % chunks)
        with grid_loop(self.context, block, self.results, self.grid.threads) as (body, result):
            last(body, result, True)
