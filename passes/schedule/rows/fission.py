"""Fission of row groups whose column tiles exceed L2, or with too few rows for all threads: nest by nest, in pages.

In column-major rows a column tile is a short segment of every column.  A cache that holds the tile makes up for that,
as later nests find it there.  Otherwise each nest is better off with its own pass over memory in long segments
(`reduce/column_tile.py`); the values that nests exchange then have memory for all rows, column-major as well.  Where
there are fewer rows than a cache line for each thread, threads share the work within a row, which they do nest by nest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add

from xdsl.ir import Block

from ....dialects import kernel
from ....dialects.dims.dims import Dim, Sym, dim, maximum, minimum
from ....dialects.dims.index_map import product
from ...fusion.interchange import interchange
from ..access import accesses, buffer_info
from ..body import ScheduleContext
from ..map.schedule import VectorConfig
from ..reduce.columns import can_tile_columns, exceeds_l2, reduce_columns
from .column_tiles import tile_columns
from .staging import can_fission, crossing_values, fission, is_row_buffer

__all__ = ["group_can_fission", "rows_exceed_l2", "schedule_fissioned", "too_few_rows"]


def group_can_fission(rows: kernel.RowGroupOp) -> bool:
    """Whether each nest of rows can go over all of them: only elements are passed on, and reductions can be tiled by
    columns."""
    return can_fission(rows) and all(can_tile_columns(nest) for nest in rows.nests if nest.is_reduction)


def too_few_rows(context: ScheduleContext, nests: Sequence[kernel.GenericOp], shared: int, block: Block) -> Dim:
    """Positive where threads would be left without rows: for fewer than a line of them for each."""
    return context.threads(block) * context.costs.elements_per_line - product(nests[0].extents.data[:shared])


def rows_exceed_l2(context: ScheduleContext, nests: Sequence[kernel.GenericOp], shared: int) -> Dim:
    """Positive where L2 does not hold what a column tile of rows passes on.

    Where these are numbers, where half of it does not hold what reductions read of a tile, nor all of it all rows.
    """
    cache = int(context.costs.machine.l2_bytes)
    handed = [buffer_info(v) for v in crossing_values([[nest] for nest in nests])]
    if any(info.dims for info in handed):
        held = reduce(add, (product(info.dims) * info.dtype.bytes for info in handed if info.dims))
        return held * tile_columns(context, nests) - cache
    reductions = [nest for nest in nests if nest.is_reduction]
    tile = reduce(maximum, (_workspace(context, nest, shared, tile_columns(context, nests)) for nest in reductions))
    return minimum(tile - cache // 2, exceeds_l2(context, reductions[0]))


def _workspace(context: ScheduleContext, nest: kernel.GenericOp, shared: int, rows: int) -> Dim:
    """The cache footprint of a column tile of so many rows of a reduction, in bytes.

    Columns that are whole pages apart begin in the same places of it, so each takes as much room as a page.
    """
    columns, machine = product(nest.extents.data[shared:]), context.costs.machine
    line, conflicts = 0, dim(0)
    for value, access in zip(nest.ins, accesses(nest)):
        size, step = buffer_info(value).dtype.bytes, access.step(Sym(f"d{shared}"))
        if not is_row_buffer(value) and step is not None:
            line = max(line, size * rows)
            conflicts = maximum(conflicts, 1 - step * size % int(machine.page_bytes))
    return columns * maximum(line, conflicts * int(machine.page_bytes))


def schedule_fissioned(
    context: ScheduleContext, nests: Sequence[kernel.GenericOp], shared: int, block: Block, lanes: VectorConfig,
    write_nest: Callable[[kernel.GenericOp, Block, dict[Sym, Dim]], None],
) -> None:  # fmt: skip
    """Loops for one nest of rows after another."""
    alone = [[nest] for nest in nests]
    for run in fission(alone, shared, lambda info: context.allocate(block, info), across=True):
        (nest,) = run
        if nest.is_reduction and can_tile_columns(nest):
            reduce_columns(context, nest, block, lanes)
        elif nest.is_reduction:
            write_nest(nest, block, {})
        else:
            # As memory has it: what is the same along rows changes from place to place then.
            interchange(nest, [*(i for i in range(nest.n_parallel) if i != shared - 1), shared - 1])
            write_nest(nest, block, {})
        nest.drop_all_references()
