"""Column-major row groups, vectorized across rows: all nests run on one column tile after another.

So a softmax of columns: each of its nests runs on a tile of columns, and the values they exchange have memory for each
column of the tile, contiguous across columns, in memory of the thread's own, which its caches hold.  No value goes from
one thread to another, and there is no barrier between two nests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Block, SSAValue

from ....dialects import kernel
from ....dialects.attributes import BufferInfo
from ....dialects.dims.dims import Dim, Sym, ceil_div, dim, maximum, minimum, sym
from ....dialects.dims.index_map import product
from ...cost.work import point_time
from ...locations import copy_loc
from ..access import accesses, at_iterators, buffer_info
from ..blocks import Range, for_loop, for_loops, move
from ..body import ScheduleContext
from ..function import materialize_dim
from ..language.axes import collapse_axes, point_of
from ..map.schedule import VectorConfig, choose_lanes
from ..parallelize import LoopSpec, parallel_loops
from ..reduce.core import reduce_loop
from .fuse_map_into_reduction import fusable_maps
from .staging import is_row_buffer

__all__ = ["is_column_major_access", "schedule_column_tiles", "tile_columns", "work_of_row"]

#: Lines of adjacent rows that are a parallel task, at most.
_MOST_LINES = 16


def is_column_major_access(nests: Sequence[kernel.GenericOp], shared: int) -> bool:
    """Whether memory is contiguous across rows and not along them, where an operand has more than one element a row."""
    across = along = 0
    for nest in nests:
        if nest.is_scan:
            return False
        if any(isinstance(op, kernel.ReadOp) for r in nest.regions for b in r.blocks for op in b.ops):
            return False
        inner = [Sym(f"d{i}") for i in range(shared, len(nest.extents.data))]
        for access, value in zip(accesses(nest), (*nest.ins, *nest.outs)):
            if is_row_buffer(value):
                continue
            weight = 2 if access.is_output else 1
            if any(access.varies(i) for i in inner):
                across += weight * access.is_contiguous(Sym(f"d{shared - 1}"))
                along += weight * any(access.is_contiguous(i) for i in inner)
    return across > along


def schedule_column_tiles(
    context: ScheduleContext, nests: Sequence[kernel.GenericOp], shared: int, block: Block, lanes: VectorConfig
) -> None:
    """Loops for rows that `is_column_major_access`: threads share tasks of equally many lines, by column tiles."""
    extents = nests[0].extents.data[:shared]
    iterators, start = [context.new_iv() for _ in extents[:-1]], context.new_iv()
    rows, share = extents[-1], _share(context, block, extents)
    first, tile, task = context.new_iv(), tile_columns(context, nests), Block()
    done = at_iterators(range(shared), [*iterators, first])
    end = materialize_dim(context, task, minimum(rows, start + share))
    with for_loop(task, first, start, end, step=tile) as body:
        _write_tile(context, nests, body, lanes, done, minimum(end, first + tile), tile)
    # Of the nests as they are now, which exchange their values in a cache.
    work = work_of_row(context, nests, shared) * share
    levels = [*(LoopSpec(i, e) for i, e in zip(iterators, extents)), LoopSpec(start, rows, share)]
    with parallel_loops(context, block, levels, work, context.costs.work_unit_ns, serial=False) as around:
        move(task, around)


def tile_columns(context: ScheduleContext, nests: Sequence[kernel.GenericOp]) -> int:
    """Rows of a column tile: four lines of the widest elements."""
    widest = max(buffer_info(v).dtype.part.bytes for nest in nests for v in nest.operands)
    return 4 * int(context.costs.machine.cache_line) // widest


def work_of_row(context: ScheduleContext, nests: Sequence[kernel.GenericOp], shared: int) -> Dim:
    """What the nests of a row take, in units of work."""
    weights = (context.costs.weight(point_time(nest, context.costs)) for nest in nests)
    return sum((product(n.extents.data[shared:]) * weight for n, weight in zip(nests, weights)), dim(0))


def _share(context: ScheduleContext, block: Block, extents: Sequence[Dim]) -> Dim:
    """Adjacent rows that are a parallel task: whole lines, as many tasks for one thread as for others."""
    line, threads = context.costs.elements_per_line, maximum(1, context.threads(block))
    lines = ceil_div(extents[-1], line)
    own = materialize_dim(context, block, maximum(0, lines * product(extents[:-1]) - 1) // threads + 1)
    chunks = materialize_dim(context, block, ceil_div(own, _MOST_LINES))
    return materialize_dim(context, block, (maximum(0, own - 1) // chunks + 1) * line)


def _write_tile(
    context: ScheduleContext, nests: Sequence[kernel.GenericOp], block: Block, lanes: VectorConfig,
    done: dict[Sym, Dim], stop: Dim, tile: int,
) -> None:  # fmt: skip
    """The nests for the rows from ``done``'s last index on, as many as a column tile has."""
    shared = len(done)
    last = Sym(f"d{shared - 1}")
    start = done[last]
    private = _expand_row_buffers(context, nests, block, tile)
    fused = fusable_maps(context, nests, shared)
    for nest in nests:
        _index_in_tile(nest, private, last, start)
    with context.temporarily(fused_maps=fused):
        for nest in nests:
            if nest not in fused.values():
                before = block.last_op
                _write_nest(context, nest, block, lanes, done, stop, tile)
                copy_loc(nest, block, before)


def _write_nest(
    context: ScheduleContext, nest: kernel.GenericOp, block: Block, lanes: VectorConfig, done: dict[Sym, Dim],
    stop: Dim, tile: int,
) -> None:  # fmt: skip
    """One nest for the rows of a column tile, in vectors across them."""
    shared = len(done)
    last, access_list = Sym(f"d{shared - 1}"), accesses(nest)
    copies = context.unroll_factor(context.fused_maps.get(nest, nest), {last})
    width, unroll = choose_lanes(lanes, access_list, copies)
    if nest.is_reduction and nest not in context.fused_maps:
        unroll = lanes.unroll or max(1, min(8, tile // width))
    groups = collapse_axes(nest, access_list, shared, nest.n_parallel)
    iterators, row = [context.new_iv() for _ in groups], context.new_iv()
    point = {**done, last: row, **point_of(groups, iterators)}
    around = [Range(i, 0, group.extent) for i, group in zip(iterators, groups)]
    with for_loops(block, *around, Range(row, done[last], stop, vector=width, unroll=unroll)) as body:
        if nest.is_reduction:
            sums = reduce_loop(context, nest, body, point, dim(0), nest.extents.data[-1], 1)
            context.epilogue(nest, sums, point, body)
        else:
            context.store(nest, context.body(nest, point, body), point, body)


def _expand_row_buffers(
    context: ScheduleContext, nests: Sequence[kernel.GenericOp], block: Block, tile: int
) -> dict[SSAValue, SSAValue]:
    """For each value that lives within a row, memory with a last dim for the rows of a column tile."""
    made: dict[SSAValue, SSAValue] = {}
    for value in dict.fromkeys(v for nest in nests for v in nest.operands if is_row_buffer(v)):
        info = buffer_info(value)
        wide = BufferInfo(info.dtype, (*info.dims, dim(tile)), (*(s * tile for s in info.strides), dim(1)))
        made[value] = context.allocate(block, wide, "thread")
    return made


def _index_in_tile(nest: kernel.GenericOp, private: dict[SSAValue, SSAValue], last: Sym, start: Dim) -> None:
    """Make a nest use the widened memory: the row's index in the column tile is a further one."""
    row = sym(last.name) - start
    nest.redirect(lambda v, m: (private[v], replace(m, exprs=(*m.exprs, row))) if v in private else (v, m))
