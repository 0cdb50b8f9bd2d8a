"""Reductions to loops: results in registers or column tiles, and blocks of a long reduction to a scalar in parallel.

Vectors run along the reduced iterator or across results.  Across results there are two schedules.  In registers
(`register.py`): a few cache lines of adjacent results at a time, along all rows.  In column tiles (`columns.py`), where
the operands exceed L2: pages of results at a time, so that memory is read in long segments.  Short unit-stride rows
whose reduction is exact in any order are vectorized across rows as well, in tiles that are transposed in registers:
there are no lanes of a row to combine at its end.  Where a row of few elements makes a row of few results, vectors run
across rows (`short_rows.py`).
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Block

from ....dialects import kernel
from ....dialects.dims.dims import Dim, Sym, ceil_div, minimum
from ...cost.kernel_stats import remark_kernel
from ...cost.work import operations_and_chain
from ..access import Access, accesses, accumulator_types, order_of
from ..blocks import for_loop, parallel_loop, store_all
from ..body import ScheduleContext
from ..language.axes import collapse_axes
from ..map.schedule import VectorConfig
from .columns import ColumnReduction, prefers_tiling, profits_from_tiling, reduce_columns
from .core import (
    BLOCK,
    can_vectorize_results,
    combine_partials,
    element_accesses,
    few_elements,
    reduce_loop,
    reduce_segment_block,
    segments_of,
)
from .register import RegisterReduction
from .short_rows import reduce_short_rows, short_axes
from .transpose_operand import TransposedOperand, match_transposed

__all__ = ["schedule_reduction"]


def schedule_reduction(
    context: ScheduleContext, nest: kernel.GenericOp, block: Block, lanes: VectorConfig, done: dict[Sym, Dim],
    serial: bool,
) -> None:  # fmt: skip
    """Loops for a reduction nest; `done` has the places of the iterators that enclosing rows run."""
    access_list = accesses(nest)
    groups = collapse_axes(nest, access_list, len(done), nest.n_parallel)
    if not groups and not serial and not done and _is_long(context, nest):
        _two_stage(context, nest, block, lanes, access_list)
        return
    if not done and not serial and (short := short_axes(nest, access_list, groups)):
        reduce_short_rows(context, nest, block, lanes, short)
        return
    k = nest.reduced
    across = bool(groups) and (few_elements(nest) > 0 or _across(nest, access_list, k, groups[-1].symbols[-1]))
    reduction = RegisterReduction(context, nest, lanes, access_list, groups, done, across, serial)
    if across and not serial and not done and context.column_tiles and profits_from_tiling(context, nest):
        context.if_positive(block, prefers_tiling(context, nest), ColumnReduction(reduction).write, reduction.write)
    elif groups and not across and (tiles := _transposed_short_rows(reduction)) is not None:
        context.if_positive(block, _transposed_rows_fit(tiles), tiles.write, reduction.write)
    else:
        reduction.write(block)


def _across(nest: kernel.GenericOp, access_list: list[Access], k: Sym, inner: Sym) -> bool:
    """Whether lanes run across results: the order allows it, and memory is contiguous that way, not along the
    reduction.

    What all neighbouring results share stays in registers or the first cache whichever way it lies.
    """
    order = order_of(nest)
    along = sum(w.is_contiguous(k) and w.varies(inner) for w in element_accesses(nest, access_list))
    beside = sum(w.is_contiguous(inner) for w in element_accesses(nest, access_list))
    return beside > along or (order.kind != "free" and can_vectorize_results(order))


def _transposed_operands(nest: kernel.GenericOp, access_list: list[Access], inner: Sym) -> int:
    """How many operands are loaded as tiles, transposed in registers, where lanes run across unit-stride rows.

    0 where the order does not allow that, or where an operand would come element by element.
    """
    k, operands = nest.reduced, element_accesses(nest, access_list)
    transposed = [w for w in operands if w.is_contiguous(k) and w.strides(inner)]
    beside = [w for w in operands if w.is_contiguous(inner) or not w.varies(inner)]
    reads = any(isinstance(op, kernel.ReadOp) for op in nest.body.block.ops)
    if order_of(nest).kind != "free" or reads or any(w.guarded for w in operands):
        return 0
    return len(transposed) if len(transposed) + len(beside) == len(operands) else 0


def _transposed_short_rows(reduction: RegisterReduction) -> RegisterReduction | None:
    """Reductions vectorized across rows, for rows so short that combining lanes at their ends takes longer than
    transposing tiles.

    A tile has as many steps as rows: longer ones of narrow elements would take too long to compile.
    """
    nest, access_list, costs = reduction.nest, reduction.access_list, reduction.context.costs
    if not (transposed := _transposed_operands(nest, access_list, reduction.groups[-1].symbols[-1])):
        return None
    tiles = replace(
        reduction,
        across=True,
        lanes=reduction.lanes.at_most(costs.elements_per_line * max(w.bits for w in access_list)),
    )
    along, rows = reduction.lanes.width_of(element_accesses(nest, access_list)), _rows_of_tile(tiles)
    merge = operations_and_chain(nest.combiner.block.ops)[0]
    longest = costs.max_transposed_row(merge, len(accumulator_types(nest)), transposed, along, rows)
    if not longest:
        return None
    why = f"combining two lanes at the end of a row takes {merge:.0f} operations"
    remark_kernel("transpose", nest, f"rows of up to {longest} elements in tiles of {rows} rows", why)
    return replace(tiles, most=longest)


def _transposed_rows_fit(tiles: RegisterReduction) -> Dim:
    """Positive where rows are no longer than tiles are for, and enough for one."""
    return minimum(tiles.most + 1 - tiles.nest.extents.data[-1], tiles.groups[-1].extent - (_rows_of_tile(tiles) - 1))


def _rows_of_tile(tiles: RegisterReduction) -> int:
    return tiles.lanes.width_of(tiles.access_list)


def _is_long(context: ScheduleContext, nest: kernel.GenericOp) -> bool:
    extent = nest.extents.data[-1]
    is_blocked = order_of(nest).kind not in ("chain", "serial")
    return is_blocked and (extent.const is None or extent.const > _block_of(context, nest))


def _block_of(context: ScheduleContext, nest: kernel.GenericOp) -> int:
    """Elements of a block: the order's, or, where that is free, a parallel task."""
    order = order_of(nest)
    return order.block if order.kind == "tree" else context.chunk(nest)


def _two_stage(
    context: ScheduleContext, nest: kernel.GenericOp, block: Block, lanes: VectorConfig, access_list: list[Access]
) -> None:
    """A reduction to a scalar in two stages: the order's blocks in parallel, then their values by the binary
    counter."""
    extent, runs, panels = nest.extents.data[-1], segments_of(nest, lanes), match_transposed(context, nest)
    by_runs = runs is not None and panels is None
    size = BLOCK if by_runs and order_of(nest).kind == "free" else _block_of(context, nest)
    blocks = ceil_div(extent, size)
    partials, number = context.accumulators(block, nest, (blocks,)), context.new_iv()
    width = lanes.width_of(element_accesses(nest, access_list))

    def one_block(inner: Block) -> None:
        part = number * size, minimum(extent, number * size + size)
        if runs is not None and by_runs:
            accumulators = reduce_segment_block(context, nest, inner, {}, part, runs, lanes)
        else:
            accumulators = reduce_loop(context, nest, inner, {}, *part, width)
        store_all(inner, accumulators, partials, [number])

    def in_panels(panels: TransposedOperand, block: Block) -> None:
        task, each = context.new_iv(), panels.blocks(size)
        with parallel_loop(block, task, 0, ceil_div(blocks, each)) as outer:
            first, last = task * each, minimum(blocks, task * each + each)
            panels.copy(outer, first * size, minimum(extent, last * size), each * size, lanes)
            with for_loop(outer, number, first, last) as inner:
                one_block(inner)

    if panels is None:
        with parallel_loop(block, number, 0, blocks, grain=max(1, context.chunk(nest) // size)) as inner:
            one_block(inner)
    elif order_of(nest).lanes == 1 or (rows := panels.of_whole_blocks(size, partials)) is None:
        in_panels(panels, block)
    else:
        context.if_positive(
            block, panels.has_whole_blocks(size), lambda inner: reduce_columns(context, rows, inner, lanes),
            lambda inner: in_panels(panels, inner),
        )  # fmt: skip
        rows.drop_all_references()

    context.epilogue(nest, combine_partials(context, nest, block, partials, [], blocks), {}, block)
