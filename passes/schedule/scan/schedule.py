"""Scans to loops.

In order ``prefix`` (along the innermost logical dim) a row is one `loop.scan`, which is vectorized; rows are shared
between threads, and so are the blocks of one long row.  In order ``serial`` a row is a plain loop that carries the
accumulators.  Adjacent results are vectorized across (`column_tiles.py`): in order ``serial`` wherever there are some,
in order ``prefix`` where they are adjacent in memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, SSAValue

from ....dialects import kernel, loop
from ....dialects.dims.dims import Dim, Sym, ceil_div, dim, minimum
from ...cost.work import operations_and_chain, point_time
from ..access import Access, Point, accesses, accumulator_types, order_of
from ..blocks import Range, carried_loop, for_loop, load_all, move, parallel_loop, store_all
from ..body import ScheduleContext
from ..language.axes import FusedAxis, collapse_axes, point_of
from ..map.schedule import VectorConfig
from ..parallelize import LoopSpec, parallel_loops
from .column_tiles import fits_unrolled, is_exclusive, scan_columns

__all__ = ["schedule_scan"]


def schedule_scan(
    context: ScheduleContext, nest: kernel.GenericOp, block: Block, lanes: VectorConfig, done: dict[Sym, Dim],
    serial: bool,
) -> None:  # fmt: skip
    """Loops for a scan nest; `done` has the places of the iterators that enclosing rows run."""
    access_list, extent = accesses(nest), nest.extents.data[-1]
    groups = collapse_axes(nest, access_list, len(done), nest.n_parallel)
    is_row = order_of(nest).kind == "prefix"
    if is_row and not groups and not serial and not done:
        if extent.const is None or extent.const > 2 * context.chunk(nest):
            return _blocked(context, nest, block)

    if groups and (_lies_across(nest, access_list, groups[-1]) if is_row else not _lies_along(nest, access_list)):
        return scan_columns(context, nest, block, lanes, groups, done, serial)
    iterators, body = [context.new_iv() for _ in groups], Block()
    (_row if is_row else _chain)(context, nest, body, {**done, **point_of(groups, iterators)})
    levels = [LoopSpec(i, g.extent) for i, g in zip(iterators, groups)]
    if levels and not is_row:
        body, levels[-1] = _interleave(context, nest, body, levels[-1])
        extent = extent * levels[-1].step
    with parallel_loops(context, block, levels, extent, point_time(nest, context.costs), serial) as around:
        move(body, around)
    return None


def _lies_across(nest: kernel.GenericOp, access_list: Sequence[Access], group: FusedAxis) -> bool:
    """Whether runs of neighbouring results can go side by side, along what is contiguous."""
    steps = [w.step(group.symbols[-1]) for w in access_list]
    return (
        fits_unrolled(nest)
        and all(s is not None and s.const in (0, 1) for s in steps)
        and access_list[-1].is_contiguous(group.symbols[-1])
    )


def _lies_along(nest: kernel.GenericOp, access_list: Sequence[Access]) -> bool:
    """Whether all that a scan uses is contiguous along its axis."""
    return all(w.is_contiguous(nest.reduced) for w in access_list)


def _interleave(
    context: ScheduleContext, nest: kernel.GenericOp, chain: Block, level: LoopSpec
) -> tuple[Block, LoopSpec]:
    """Some neighbouring chains together, each of which waits for itself: the loop over these, and the level around."""
    merging, waiting = operations_and_chain(nest.combiner.block.ops)
    copies = context.costs.unroll_factor(operations_and_chain(nest.body.block.ops)[0] + merging, waiting)
    start, around = context.new_iv(), Block()
    with for_loop(around, level.iterator, start, minimum(level.extent, start + copies), unroll=copies) as body:
        move(chain, body)
    return around, LoopSpec(start, level.extent, copies)


def _row(context: ScheduleContext, nest: kernel.GenericOp, block: Block, point: dict[Sym, Dim]) -> None:
    """The whole scan at one place of the other iterators."""
    _scan(context, nest, block, point, dim(0), nest.extents.data[-1], context.identity(nest, block), True)


def _scan(
    context: ScheduleContext, nest: kernel.GenericOp, block: Block, point: Point, lower: Dim, upper: Dim,
    inits: Sequence[SSAValue], stores: bool,
) -> list[SSAValue]:  # fmt: skip
    """One `loop.scan` over a part of the axis; without `stores` only for the accumulators at its end."""
    iterator = context.new_iv()
    here = {**point, nest.reduced: iterator}
    body, finish = Block(), Block(arg_types=accumulator_types(nest))
    body.add_op(loop.YieldOp(*context.body(nest, here, body)))
    if stores:
        context.epilogue(nest, list(finish.args), here, finish)
    finish.add_op(loop.YieldOp())
    assert nest.identity is not None
    made = loop.ScanOp(
        str(iterator), lower, upper, inits, body, context.combiner_block(nest), finish, order=order_of(nest),
        identity=list(nest.identity.data), exclusive=is_exclusive(nest),
    )  # fmt: skip
    block.add_op(made)
    return list(made.outs)


def _blocked(context: ScheduleContext, nest: kernel.GenericOp, block: Block) -> None:
    """One long row: chunks that fit a cache one after another, the blocks of a chunk in parallel.

    First the blocks' own totals, then the chain of these, then the blocks once more from where the chain is.
    """
    size, extent, scan_chunk = order_of(nest).block, nest.extents.data[-1], context.costs.scan_chunk
    begin, number, position = (context.new_iv() for _ in range(3))
    blocks = minimum(ceil_div(extent - begin, size), scan_chunk // size)
    # The last element has what the chunk starts from.
    last = [dim(scan_chunk // size)]
    starts = context.accumulators(block, nest, (last[0] + 1,))
    store_all(block, context.identity(nest, block), starts, last)

    def chunk(start: Block, stores: bool) -> None:
        grain = max(1, context.chunk(nest) // size)
        with parallel_loop(start, number, 0, blocks, grain=grain) as inner:
            inits = load_all(inner, starts, [number]) if stores else context.identity(nest, inner)
            first = begin + number * size
            ends = _scan(context, nest, inner, {}, first, minimum(extent, first + size), inits, stores)
            if not stores:
                store_all(inner, ends, starts, [number])

    def step(chain: Block, older: list[SSAValue]) -> list[SSAValue]:
        totals = load_all(chain, starts, [position])
        store_all(chain, older, starts, [position])
        return context.combine(nest, [*older, *totals], chain)

    with for_loop(block, begin, 0, extent, step=scan_chunk) as start:
        chunk(start, False)
        # The totals become what each block starts from.
        chained = carried_loop(start, Range(position, 0, blocks), load_all(start, starts, last), step)
        store_all(start, chained, starts, last)
        chunk(start, True)


def _chain(context: ScheduleContext, nest: kernel.GenericOp, block: Block, point: Point) -> None:
    """The whole scan at one place of the other iterators, as a loop that carries the accumulators."""
    k = context.new_iv()
    here = {**point, nest.reduced: k}

    def step(body: Block, older: list[SSAValue]) -> list[SSAValue]:
        newer = context.combine(nest, [*older, *context.body(nest, here, body)], body)
        context.epilogue(nest, older if is_exclusive(nest) else newer, here, body)
        return newer

    carried_loop(block, Range(k, 0, nest.extents.data[-1]), context.identity(nest, block), step)
