"""Scans to loops.

In order ``prefix`` (along the innermost logical dim) a row is one `loop.scan`, which runs in vectors; rows are shared
between threads, and so are the blocks of one long row.  In order ``serial`` neighbouring results run side by side: a
band of them keeps its states in a worker's own memory while it goes along the axis, so that memory is read in long
runs; without neighbours it is a plain loop that carries the states.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..dialects import kernel, loop
from ..dialects.attributes import BufferInfo, scalar_dtype
from ..dialects.dims import Dim, Sym, dim, minimum
from .loop_writer import LoopWriter, accesses
from .schedule_map import Group, Lanes, choose_lanes, groups_of, point_of
from .shared_loops import Level, add_loops
from .work import time_of

__all__ = ["schedule_scan"]


def schedule_scan(
    writer: LoopWriter, nest: kernel.GenericOp, block: Block, lanes: Lanes, done: dict[Sym, Dim], serial: bool
) -> None:
    """Loops for a scan nest; `done` has the places of the iterators that enclosing rows run."""
    walks = accesses(nest)
    groups = groups_of(nest, walks, len(done), nest.n_parallel)
    assert nest.order is not None
    extent = nest.extents.data[-1]
    if nest.order.data.kind == "serial":
        along = Sym(f"d{nest.n_parallel}")
        if groups and not all((s := w.step(along)) is not None and s.const == 1 for w in walks):
            _in_bands(writer, nest, block, lanes, groups, done, serial)
            return
        write = _chain
    else:
        if not groups and not serial and not done and (extent.const is None or extent.const > 2 * writer.chunk(nest)):
            _in_pieces(writer, nest, block)
            return
        write = _row
    iterators = [writer.fresh() for _ in groups]
    body = Block()
    write(writer, nest, body, {**done, **point_of(groups, iterators)})
    levels = [Level(i, g.extent) for i, g in zip(iterators, groups)]
    add_loops(writer, block, levels, body, extent, time_of(nest, writer.costs), serial)


def _state_types(nest: kernel.GenericOp) -> list[Attribute]:
    args = list(nest.merge.block.args)
    return [a.type for a in args[: len(args) // 2]]


def _is_exclusive(nest: kernel.GenericOp) -> bool:
    return nest.scan is not None and nest.scan.data == "exclusive"


def _row(writer: LoopWriter, nest: kernel.GenericOp, block: Block, point: dict[Sym, Dim]) -> None:
    """The whole scan at one place of the other iterators."""
    _scan(writer, nest, block, point, dim(0), nest.extents.data[-1], writer.identity(nest, block), True)


def _scan(
    writer: LoopWriter,
    nest: kernel.GenericOp,
    block: Block,
    point: dict[Sym, Dim],
    lower: Dim,
    upper: Dim,
    inits: Sequence[SSAValue],
    stores: bool,
) -> list[SSAValue]:
    """One `loop.scan` over a part of the axis; without `stores` only for the states at its end."""
    iterator = writer.fresh()
    here = {**point, Sym(f"d{nest.n_parallel}"): iterator}
    body, finish = Block(), Block(arg_types=_state_types(nest))
    body.add_op(loop.YieldOp(*writer.body(nest, here, body)))
    if stores:
        writer.finish(nest, list(finish.args), here, finish)
    finish.add_op(loop.YieldOp())
    assert nest.order is not None and nest.identity is not None
    made = loop.ScanOp(
        str(iterator), lower, upper, inits, body, writer.merge(nest), finish, order=nest.order.data,
        identity=list(nest.identity.data), exclusive=_is_exclusive(nest),
    )  # fmt: skip
    block.add_op(made)
    return list(made.outs)


def _in_pieces(writer: LoopWriter, nest: kernel.GenericOp, block: Block) -> None:
    """One long row: stretches that fit a cache one after another, the blocks of a stretch in parallel.

    First the blocks' own totals, then the chain of these, then the blocks once more from where the chain is.
    """
    assert nest.order is not None
    size, extent, stretch = nest.order.data.block, nest.extents.data[-1], writer.costs.stretch
    begin, number, position = (writer.fresh() for _ in range(3))
    blocks = minimum((extent - begin + (size - 1)) // size, stretch // size)
    types = _state_types(nest)
    starts = [writer.allocate(block, _line(t, stretch // size + 1)) for t in types]
    start = Block()
    for value, buffer in zip(writer.identity(nest, block), starts):
        block.add_op(loop.StoreOp(value, buffer, [dim(stretch // size)]))

    def piece(stores: bool) -> Operation:
        inner = Block()
        if stores:
            loads = [loop.LoadOp(buffer, [number]) for buffer in starts]
            inner.add_ops(loads)
            inits = [load.result for load in loads]
        else:
            inits = writer.identity(nest, inner)
        first = begin + number * size
        ends = _scan(writer, nest, inner, {}, first, minimum(extent, first + size), inits, stores)
        if not stores:
            for value, buffer in zip(ends, starts):
                inner.add_op(loop.StoreOp(value, buffer, [number]))
        inner.add_op(loop.YieldOp())
        return loop.ParallelOp(str(number), 0, blocks, inner, grain=max(1, writer.chunk(nest) // size))

    start.add_op(piece(False))
    # The totals become what each block starts from; the last place has what the stretch starts from.
    carried = [loop.LoadOp(buffer, [dim(stretch // size)]) for buffer in starts]
    start.add_ops(carried)
    chain = Block(arg_types=types)
    totals = [loop.LoadOp(buffer, [position]) for buffer in starts]
    chain.add_ops(totals)
    for value, buffer in zip(chain.args, starts):
        chain.add_op(loop.StoreOp(value, buffer, [position]))
    chain.add_op(loop.YieldOp(*writer.combine(nest, [*chain.args, *[t.result for t in totals]], chain)))
    chained = loop.ForOp(str(position), 0, blocks, chain, inits=[load.result for load in carried])
    start.add_op(chained)
    for value, buffer in zip(chained.outs, starts):
        start.add_op(loop.StoreOp(value, buffer, [dim(stretch // size)]))
    start.add_ops([piece(True), loop.YieldOp()])
    block.add_op(loop.ForOp(str(begin), 0, extent, start, step=stretch))


def _line(state: Attribute, length: int) -> BufferInfo:
    return BufferInfo(scalar_dtype(state), (dim(length),), (dim(1),))


def _chain(writer: LoopWriter, nest: kernel.GenericOp, block: Block, point: dict[Sym, Dim]) -> None:
    """The whole scan at one place of the other iterators, as a loop that carries the states."""
    k = writer.fresh()
    here = {**point, Sym(f"d{nest.n_parallel}"): k}
    body = Block(arg_types=_state_types(nest))
    older = list(body.args)
    newer = writer.combine(nest, [*older, *writer.body(nest, here, body)], body)
    writer.finish(nest, older if _is_exclusive(nest) else newer, here, body)
    body.add_op(loop.YieldOp(*newer))
    block.add_op(loop.ForOp(str(k), 0, nest.extents.data[-1], body, inits=writer.identity(nest, block)))


def _in_bands(
    writer: LoopWriter,
    nest: kernel.GenericOp,
    block: Block,
    lanes: Lanes,
    groups: list[Group],
    done: dict[Sym, Dim],
    serial: bool,
) -> None:
    """Bands of results side by side: for each step along the axis, one step of all of them."""
    iterators = [writer.fresh() for _ in groups]
    band, k = writer.fresh(), writer.fresh()
    extent, column = groups[-1].extent, iterators[-1]
    place = Sym(f"d{nest.n_parallel}")
    point = {**done, **point_of(groups, iterators), place: k}
    outer, side = Block(), writer.costs.band
    states = [writer.allocate(outer, _line(t, side), "thread") for t in _state_types(nest)]
    width, unroll = choose_lanes(lanes, accesses(nest), writer.copies(nest, {*groups[-1].symbols}))
    stop = minimum(extent, band + side)

    def across(body: Block) -> Operation:
        body.add_op(loop.YieldOp())
        return loop.ForOp(str(column), band, stop, body, vector=width, unroll=unroll)

    start = Block()
    for value, buffer in zip(writer.identity(nest, start), states):
        start.add_op(loop.StoreOp(value, buffer, [column - band]))
    step = Block()
    loads = [loop.LoadOp(buffer, [column - band]) for buffer in states]
    step.add_ops(loads)
    older = [load.result for load in loads]
    newer = writer.combine(nest, [*older, *writer.body(nest, point, step)], step)
    for value, buffer in zip(newer, states):
        step.add_op(loop.StoreOp(value, buffer, [column - band]))
    writer.finish(nest, older if _is_exclusive(nest) else newer, point, step)
    steps = Block()
    steps.add_ops([across(step), loop.YieldOp()])
    outer.add_ops([across(start), loop.ForOp(str(k), 0, nest.extents.data[-1], steps)])
    levels = [*(Level(i, g.extent) for i, g in zip(iterators[:-1], groups)), Level(band, extent, side)]
    add_loops(writer, block, levels, outer, nest.extents.data[-1] * side, time_of(nest, writer.costs), serial)
