"""Scans to loops.

In order ``prefix`` (along the innermost logical dim) a row is one `loop.scan`, which is vectorized; rows are shared
between threads, and so are the blocks of one long row.  In order ``serial`` a row is a plain loop that carries the
accumulators.  Adjacent results are vectorized across (`column_tiles.py`): in order ``serial`` wherever there are some,
in order ``prefix`` where they are adjacent in memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....dialects import kernel, loop
from ....dialects.attributes import BufferInfo, scalar_dtype
from ....dialects.dims.dims import Dim, Sym, dim, minimum
from ...cost.work import operations_and_chain, point_time
from ..body import Access, ScheduleContext, accesses
from ..language.axes import FusedAxis, collapse_axes, point_of
from ..map.schedule import VectorConfig
from ..parallelize import LoopSpec, parallel_loops
from ..reduce.core import accumulator_types
from .column_tiles import fits_unrolled, is_exclusive, scan_columns

__all__ = ["schedule_scan"]


def schedule_scan(
    context: ScheduleContext,
    nest: kernel.GenericOp,
    block: Block,
    lanes: VectorConfig,
    done: dict[Sym, Dim],
    serial: bool,
) -> None:
    """Loops for a scan nest; `done` has the places of the iterators that enclosing rows run."""
    access_list, extent = accesses(nest), nest.extents.data[-1]
    groups = collapse_axes(nest, access_list, len(done), nest.n_parallel)
    assert nest.order is not None
    is_row = nest.order.data.kind == "prefix"
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
    return parallel_loops(context, block, levels, body, extent, point_time(nest, context.costs), serial)


def _is_contiguous(access: Access, symbol: Sym) -> bool:
    step = access.step(symbol)
    return step is not None and step.const == 1


def _lies_across(nest: kernel.GenericOp, access_list: Sequence[Access], group: FusedAxis) -> bool:
    """Whether runs of neighbouring results can go side by side, along what is contiguous."""
    steps = [w.step(group.symbols[-1]) for w in access_list]
    return (
        fits_unrolled(nest)
        and all(s is not None and s.const in (0, 1) for s in steps)
        and _is_contiguous(access_list[-1], group.symbols[-1])
    )


def _lies_along(nest: kernel.GenericOp, access_list: Sequence[Access]) -> bool:
    """Whether all that a scan uses is contiguous along its axis."""
    return all(_is_contiguous(w, Sym(f"d{nest.n_parallel}")) for w in access_list)


def _interleave(
    context: ScheduleContext, nest: kernel.GenericOp, chain: Block, level: LoopSpec
) -> tuple[Block, LoopSpec]:
    """Some neighbouring chains together, each of which waits for itself: the loop over these, and the level around."""
    merging, waiting = operations_and_chain(nest.combiner.block.ops)
    copies, start = (
        context.costs.unroll_factor(operations_and_chain(nest.body.block.ops)[0] + merging, waiting),
        context.new_iv(),
    )
    chain.add_op(loop.YieldOp())
    stop = minimum(level.extent, start + copies)
    made = loop.ForOp(str(level.iterator), start, stop, chain, unroll=copies)
    return Block([made]), LoopSpec(start, level.extent, copies)


def _row(context: ScheduleContext, nest: kernel.GenericOp, block: Block, point: dict[Sym, Dim]) -> None:
    """The whole scan at one place of the other iterators."""
    _scan(context, nest, block, point, dim(0), nest.extents.data[-1], context.identity(nest, block), True)


def _scan(
    context: ScheduleContext,
    nest: kernel.GenericOp,
    block: Block,
    point: dict[Sym, Dim],
    lower: Dim,
    upper: Dim,
    inits: Sequence[SSAValue],
    stores: bool,
) -> list[SSAValue]:
    """One `loop.scan` over a part of the axis; without `stores` only for the accumulators at its end."""
    iterator = context.new_iv()
    here = {**point, Sym(f"d{nest.n_parallel}"): iterator}
    body, finish = Block(), Block(arg_types=accumulator_types(nest))
    body.add_op(loop.YieldOp(*context.body(nest, here, body)))
    if stores:
        context.epilogue(nest, list(finish.args), here, finish)
    finish.add_op(loop.YieldOp())
    assert nest.order is not None and nest.identity is not None
    made = loop.ScanOp(
        str(iterator), lower, upper, inits, body, context.combiner_block(nest), finish, order=nest.order.data,
        identity=list(nest.identity.data), exclusive=is_exclusive(nest),
    )  # fmt: skip
    block.add_op(made)
    return list(made.outs)


def _blocked(context: ScheduleContext, nest: kernel.GenericOp, block: Block) -> None:
    """One long row: chunks that fit a cache one after another, the blocks of a chunk in parallel.

    First the blocks' own totals, then the chain of these, then the blocks once more from where the chain is.
    """
    assert nest.order is not None
    size, extent, scan_chunk = nest.order.data.block, nest.extents.data[-1], context.costs.scan_chunk
    begin, number, position = (context.new_iv() for _ in range(3))
    blocks = minimum((extent - begin + (size - 1)) // size, scan_chunk // size)
    types = accumulator_types(nest)
    starts = [context.allocate(block, _line(t, scan_chunk // size + 1)) for t in types]
    start = Block()
    for value, buffer in zip(context.identity(nest, block), starts):
        block.add_op(loop.StoreOp(value, buffer, [dim(scan_chunk // size)]))

    def chunk(stores: bool) -> Operation:
        inner = Block()
        if stores:
            loads = [loop.LoadOp(buffer, [number]) for buffer in starts]
            inner.add_ops(loads)
            inits = [load.result for load in loads]
        else:
            inits = context.identity(nest, inner)
        first = begin + number * size
        ends = _scan(context, nest, inner, {}, first, minimum(extent, first + size), inits, stores)
        if not stores:
            for value, buffer in zip(ends, starts):
                inner.add_op(loop.StoreOp(value, buffer, [number]))
        inner.add_op(loop.YieldOp())
        return loop.ParallelOp(str(number), 0, blocks, inner, grain=max(1, context.chunk(nest) // size))

    start.add_op(chunk(False))
    # The totals become what each block starts from; the last element has what the chunk starts from.
    carried = [loop.LoadOp(buffer, [dim(scan_chunk // size)]) for buffer in starts]
    start.add_ops(carried)
    chain = Block(arg_types=types)
    totals = [loop.LoadOp(buffer, [position]) for buffer in starts]
    chain.add_ops(totals)
    for value, buffer in zip(chain.args, starts):
        chain.add_op(loop.StoreOp(value, buffer, [position]))
    chain.add_op(loop.YieldOp(*context.combine(nest, [*chain.args, *[t.result for t in totals]], chain)))
    chained = loop.ForOp(str(position), 0, blocks, chain, inits=[load.result for load in carried])
    start.add_op(chained)
    for value, buffer in zip(chained.outs, starts):
        start.add_op(loop.StoreOp(value, buffer, [dim(scan_chunk // size)]))
    start.add_ops([chunk(True), loop.YieldOp()])
    block.add_op(loop.ForOp(str(begin), 0, extent, start, step=scan_chunk))


def _line(accumulator: Attribute, length: int) -> BufferInfo:
    return BufferInfo(scalar_dtype(accumulator), (dim(length),), (dim(1),))


def _chain(context: ScheduleContext, nest: kernel.GenericOp, block: Block, point: dict[Sym, Dim]) -> None:
    """The whole scan at one place of the other iterators, as a loop that carries the accumulators."""
    k = context.new_iv()
    here = {**point, Sym(f"d{nest.n_parallel}"): k}
    body = Block(arg_types=accumulator_types(nest))
    older = list(body.args)
    newer = context.combine(nest, [*older, *context.body(nest, here, body)], body)
    context.epilogue(nest, older if is_exclusive(nest) else newer, here, body)
    body.add_op(loop.YieldOp(*newer))
    block.add_op(loop.ForOp(str(k), 0, nest.extents.data[-1], body, inits=context.identity(nest, block)))
