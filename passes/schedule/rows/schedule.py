"""Row groups to loops: the nests of a row run one after another, by one worker, while the row is in its cache.

Row-major rows: one row at a time, vectors along the iterators of each nest; transposed operands are copied before, some
rows at a time, into unit-stride order.  Column-major rows run in column tiles (`column_tiles.py`), or the group is
fissioned (`fission.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Block, SSAValue

from ....dialects import kernel
from ....dialects.attributes import BufferInfo
from ....dialects.dims.dims import Dim, Sym, dim, iterator, maximum, minimum, sym
from ....dialects.dims.index_map import IndexMap
from ...fusion.row_fusion import is_column_major
from ..access import at_iterators, buffer_info
from ..blocks import for_loop, move
from ..body import ScheduleContext
from ..map.copy import copy_transposed
from ..map.schedule import VectorConfig
from ..parallelize import LoopSpec, parallel_loops
from .column_tiles import is_column_major_access, schedule_column_tiles, work_of_row
from .fission import group_can_fission, rows_exceed_l2, schedule_fissioned, too_few_rows
from .fuse_map_into_reduction import fusable_maps
from .staging import RowAccess, uses_of_rows

__all__ = ["schedule_rows"]

#: A nest at the place of a row: nest, block to write to, the places of the shared iterators.
NestScheduler = Callable[[kernel.GenericOp, Block, dict[Sym, Dim]], None]


def schedule_rows(
    context: ScheduleContext, rows: kernel.RowGroupOp, block: Block, lanes: VectorConfig, write_nest: NestScheduler
) -> None:
    """Loops for `rows`; `write_nest` schedules one nest within one row, serially, or for all rows."""
    nests, shared = rows.nests, rows.n_shared

    def fissioned(block: Block) -> None:
        schedule_fissioned(context, nests, shared, block, lanes, write_nest)

    def in_tiles(block: Block) -> None:
        with context.workspace_when(1 - long):
            schedule_column_tiles(context, nests, shared, block, lanes)

    if is_column_major_access(nests, shared):
        if group_can_fission(rows):
            long = rows_exceed_l2(context, nests, shared)
            context.if_positive(block, maximum(long, too_few_rows(context, nests, shared, block)), fissioned, in_tiles)
        else:
            schedule_column_tiles(context, nests, shared, block, lanes)
    elif is_column_major(nests, shared):
        # What else they read or write is row-major: neither a row nor a column tile is contiguous.
        fissioned(block)
    else:
        _row_by_row(context, rows, block, lanes, write_nest)


def _row_by_row(
    context: ScheduleContext, rows: kernel.RowGroupOp, block: Block, lanes: VectorConfig, write_nest: NestScheduler
) -> None:
    """Loops around the nests of one row."""
    nests, shared = rows.nests, rows.n_shared
    iterators = [context.new_iv() for _ in range(shared)]
    done = at_iterators(range(shared), iterators)
    extents = nests[0].extents.data[:shared]
    body, steps = Block(), [1] * shared
    if crossing := _transposed_inputs(nests, shared):
        steps[-1] = context.costs.results_in_flight
        _stage_transposed(context, nests, body, lanes, done, crossing, write_nest)
    else:
        _write_row(context, nests, body, done, write_nest)
    # Of the nests as they are now: what is staged is read from a cache.
    work = work_of_row(context, nests, shared) * steps[-1]
    levels = [LoopSpec(i, e, s) for i, e, s in zip(iterators, extents, steps)]
    with parallel_loops(context, block, levels, work, context.costs.work_unit_ns, serial=False) as around:
        move(body, around)


def _write_row(
    context: ScheduleContext, nests: list[kernel.GenericOp], block: Block, done: dict[Sym, Dim],
    write_nest: NestScheduler,
) -> None:  # fmt: skip
    """The nests of one row, one after another; reductions evaluate the map in front of them."""
    fused = fusable_maps(context, nests, len(done))
    with context.temporarily(fused_maps=fused):
        for nest in nests:
            if nest not in fused.values():
                write_nest(nest, block, dict(done))


def _transposed_inputs(nests: list[kernel.GenericOp], shared: int) -> dict[SSAValue, RowAccess]:
    """What lies across rows, and how a row is read: alike wherever it is read."""
    found: dict[SSAValue, RowAccess] = {}
    for value in dict.fromkeys(v for nest in nests for v in nest.ins):
        uses, info = uses_of_rows(nests, shared, value), buffer_info(value)
        inputs = sum(v is value for nest in nests for v in nest.ins)
        if len(uses) < inputs or info.dtype.is_complex or any(value in nest.outs for nest in nests):
            continue
        symbols = [e.symbol for e in uses[0].exprs]
        alike = all((u.exprs, u.extents) == (uses[0].exprs, uses[0].extents) for u in uses)
        if alike and len(uses[0].extents) == 1 and (last := Sym(f"d{shared - 1}")) in symbols:
            if info.strides[symbols.index(last)].const == 1:
                found[value] = uses[0]
    return found


def _stage_transposed(
    context: ScheduleContext, nests: list[kernel.GenericOp], block: Block, lanes: VectorConfig, done: dict[Sym, Dim],
    crossing: dict[SSAValue, RowAccess], write_nest: NestScheduler,
) -> None:  # fmt: skip
    """The nests for some rows from ``done``'s last place on, one row after another, behind copies of what crosses."""
    last, tile = Sym(f"d{len(done) - 1}"), context.costs.results_in_flight
    start, extents = done[last], nests[0].extents.data
    stop, row = minimum(extents[len(done) - 1], start + tile), context.new_iv()
    panels: dict[SSAValue, SSAValue] = {}
    for value, use in crossing.items():
        ((along, length),) = use.extents
        info = buffer_info(value)
        # Rows of a power of two of elements would all begin in the same places of the first cache.
        wide = length + int(context.costs.machine.cache_line) // info.dtype.bytes
        copied = BufferInfo(info.dtype, (dim(tile), wide), (wide, dim(1)))
        panels[value] = panel = context.allocate(block, copied, "thread")
        i, j = iterator(0), iterator(1)
        read = [e.substitute({**done, last: start + i, along: j}) for e in use.exprs]
        copy_transposed(context, block, (stop - start, length), (value, read), (panel, [i, j]), lanes)
    for nest in nests:
        _read_panels(nest, panels, crossing, sym(last.name) - start)
    with for_loop(block, row, start, stop) as inside:
        _write_row(context, nests, inside, {**done, last: row}, write_nest)


def _read_panels(
    nest: kernel.GenericOp, panels: dict[SSAValue, SSAValue], crossing: dict[SSAValue, RowAccess], index: Dim
) -> None:
    """Make a nest read the copies, at a row's place in them."""
    rows = {v: (panel, (index, sym(crossing[v].extents[0][0].name))) for v, panel in panels.items()}
    nest.redirect(lambda v, m: (rows[v][0], IndexMap(m.extents, rows[v][1])) if v in rows else (v, m))
