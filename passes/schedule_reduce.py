"""Reductions to loops: vectors along the reduced iterator or across results, and blocks of long folds in parallel.

Across results there are two ways.  In registers: a few lines of neighbouring results at a time, along all rows.  In
bands (`fold_bands.py`), where the operands are past the caches: pages of results at a time, so that memory is read in
long runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from xdsl.ir import Block, SSAValue

from ..dialects import kernel, loop
from ..dialects.attributes import BufferInfo, scalar_dtype
from ..dialects.dims import Dim, Sym, dim, maximum, minimum, packed_strides, sym
from ..dialects.index_map import product
from ..dialects.order import Order
from .fold_bands import Band, state_types, step_by_step
from .kernel_figures import kernel_label
from .loop_writer import Access, LoopWriter, accesses, body_cost, bound, buffer_info
from .overlaps import Overlap, overlap_of
from .remarks import remark
from .row_panels import Panels, panels_of
from .runs import Runs, runs_along
from .schedule_map import Group, Lanes, choose_lanes, groups_of, point_of
from .shared_loops import Level, add_loops, band_for_all
from .work import time_of, work_at_point

#: Scalar ops of a fold that is written step by step.
LONGEST_STEPS = 128
#: Vectors of results whose blocks' values are merged side by side: few instructions, as it is a thousandth of the work.
_MERGED_TOGETHER = 4
#: Rows that share an operand and fold side by side, at most.
ROWS_TOGETHER = 4
#: Pages of results that one thread folds in a sweep.
LONG_BAND = 4
#: Shares of a fold in sweeps that each of several threads takes.
SHARES = 4
#: Elements of a fold in any order that are copied at a time.
BLOCK = 1024

__all__ = [
    "fold", "fold_in_bands", "fold_partials", "goes_in_bands", "lanes_across", "past_caches", "schedule_reduction",
    "state_types",
]  # fmt: skip


def schedule_reduction(
    writer: LoopWriter, nest: kernel.GenericOp, block: Block, lanes: Lanes, done: dict[Sym, Dim], serial: bool
) -> None:
    """Loops for a reduction nest; `done` has the places of the iterators that enclosing rows run."""
    walks = accesses(nest)
    groups = groups_of(nest, walks, len(done), nest.n_parallel)
    if not groups and not serial and not done and _is_long(writer, nest):
        _in_blocks(writer, nest, block, lanes, walks)
        return
    across = bool(groups) and _across(nest, walks, Sym(f"d{nest.n_parallel}"), groups[-1].symbols[-1])
    folds = _Folds(writer, nest, lanes, walks, groups, done, across, serial)
    if across and _waits_for_memory(writer, nest) and not serial and not done and goes_in_bands(nest):
        writer.either(block, _better_in_bands(writer, nest), folds.in_bands, folds.at_once)
    else:
        folds.at_once(block)


@dataclass(frozen=True)
class _Folds:
    """The folds of one nest, a result each; with `across` the innermost loop over results has lanes."""

    writer: LoopWriter
    nest: kernel.GenericOp
    lanes: Lanes
    walks: list[Access]
    groups: list[Group]
    done: dict[Sym, Dim]
    across: bool
    serial: bool

    def at_once(self, block: Block) -> None:
        """Each result's fold in registers, from its first element to its last."""
        nest, writer = self.nest, self.writer
        iterators = [writer.fresh() for _ in self.groups]
        point = {**self.done, **point_of(self.groups, iterators)}
        body = Block()
        width = 1 if self.across else choose_lanes(self.lanes, _entering(nest, self.walks), 1)[0]
        together = 1
        if self.across and (count := _steps(nest)):
            states = step_by_step(writer, nest, body, point, dim(0), count, writer.identity(nest, body))
        elif not self.across and (self.groups or self.done) and (runs := _runs(nest, self.lanes)):
            states = _blocks_by_runs(writer, nest, body, point, runs, self.lanes)
        else:
            states = fold(writer, nest, body, point, dim(0), nest.extents.data[-1], width)
            if not self.across and not self.lanes.unroll:
                together = _rows_together(writer, nest, self.walks, self.groups, width)
        writer.finish(nest, states, point, body)
        self._around(block, iterators, body, nest.extents.data[-1], together=together)

    def _around(
        self, block: Block, iterators: list[Dim], body: Block, work: Dim, most: int = 0, together: int = 1
    ) -> None:
        """The loops over results around a fold of `work` elements; so many of the innermost `together`.

        `most` vectors of results side by side, if given.
        """
        nest, writer = self.nest, self.writer
        levels = [Level(i, g.extent) for i, g in zip(iterators, self.groups)]
        if levels:
            levels[-1] = replace(levels[-1], together=together)
        if self.across:
            body.add_op(loop.YieldOp())
            width = choose_lanes(self.lanes, self.walks, body_cost(nest))[0]
            innermost = levels.pop()
            unroll = self.lanes.unroll or most
            if not unroll and levels and (overlap := _overlap(writer, nest, self.groups, width)):
                levels[-1], unroll = replace(levels[-1], together=overlap.rows), overlap.vectors
            unroll = unroll or _side_by_side(writer, nest, self.walks, self.groups[-1], width)
            if not levels and not self.serial:
                least = writer.grain(work, nest)
                return _lane_chunks(writer, block, innermost.extent, innermost.iterator, body, width, unroll, least)
            body = Block([loop.ForOp(str(innermost.iterator), 0, innermost.extent, body, vector=width, unroll=unroll)])
            work = work * innermost.extent
        return add_loops(writer, block, levels, body, work, time_of(nest, writer.costs), self.serial)

    def in_bands(self, block: Block) -> None:
        """A fold by bands of results: of one block of its order at once, of several in two stages."""
        order, extent = _order(self.nest), self.nest.extents.data[-1]
        if order.lanes > 1:
            return self._in_stages(block)
        blocks = (extent + (self._block - 1)) // self._block
        return self.writer.either(block, blocks - 1, self._in_stages, self._in_sweeps)

    @property
    def _block(self) -> int:
        """Elements of a block of the order, or of what is folded by itself where that is free."""
        return _order(self.nest).block or self.writer.costs.band

    def _in_sweeps(self, block: Block) -> None:
        """Bands of results in sweeps, each finished by the thread that has its sums."""
        nest, writer, most = self.nest, self.writer, LONG_BAND * self.writer.costs.band
        iterators, outer, start, task = self._iterators(), [g.extent for g in self.groups[:-1]], writer.fresh(), Block()
        side = band_for_all(
            writer, block, self.groups[-1].extent, _sweep(writer, block, self.groups[-1].extent, product(outer)),
            product(outer),
        )  # fmt: skip
        sums = [
            writer.allocate(block, BufferInfo(scalar_dtype(t), (dim(most),), (dim(1),)), "thread")
            for t in state_types(nest)
        ]
        band, unroll = self._band(iterators, start, side, most)
        elements, place = (dim(0), nest.extents.data[-1]), [iterators[-1] - start]
        band.in_sweeps(task, elements, sums, place, unroll)
        body = Block()
        loads = [loop.LoadOp(buffer, place) for buffer in sums]
        body.add_ops(loads)
        writer.finish(nest, [load.result for load in loads], band.point, body)
        task.add_op(band.across(body, unroll))
        levels = [*(Level(i, e) for i, e in zip(iterators, outer)), Level(start, self.groups[-1].extent, side)]
        add_loops(writer, block, levels, task, elements[1] * side, time_of(nest, writer.costs), serial=False)

    def _iterators(self) -> list[Dim]:
        return [self.writer.fresh() for _ in self.groups]

    def _band(self, iterators: list[Dim], start: Dim, side: Dim, most: int) -> tuple[Band, int]:
        """Results from a first one on, and how many vectors of them are unrolled."""
        copies = self.writer.costs.copies(body_cost(self.nest), 1)
        width, unroll = choose_lanes(self.lanes, _entering(self.nest, self.walks), copies)
        results = start, minimum(self.groups[-1].extent, start + side), most
        return Band(self.writer, self.nest, point_of(self.groups, iterators), iterators[-1], results, width), unroll

    def _in_stages(self, block: Block) -> None:
        """Blocks of elements by bands of results, then the blocks' values of each result."""
        nest, writer, order = self.nest, self.writer, _order(self.nest)
        extent, by_lanes, states = nest.extents.data[-1], order.lanes > 1, state_types(nest)
        lane_bytes = order.lanes * sum(scalar_dtype(t).bytes for t in states)
        most = writer.costs.lanes_band(lane_bytes) if by_lanes else writer.costs.band
        size = (order.block or most) if by_lanes else self._block
        blocks, outer = (extent + (size - 1)) // size, [g.extent for g in self.groups[:-1]]
        iterators, number, start = self._iterators(), writer.fresh(), writer.fresh()
        columns, point = self.groups[-1].extent, point_of(self.groups, iterators)
        others = product((*outer, blocks))
        side = band_for_all(
            writer, block, columns, most if by_lanes else _sweep(writer, block, columns, others), others
        )
        *around, plane, step = packed_strides((*outer, blocks, columns))
        done_at_once = by_lanes and blocks.const == 1
        partials = [
            writer.allocate(block, BufferInfo(scalar_dtype(t), (*outer, columns, blocks), (*around, step, plane)))
            for t in states
            if not done_at_once
        ]

        def store(values: list[SSAValue], inner: Block) -> None:
            if done_at_once:
                return writer.finish(nest, values, point, inner)
            place = [*iterators, number]
            return inner.add_ops([loop.StoreOp(value, buffer, place) for value, buffer in zip(values, partials)])

        band, unroll = self._band(iterators, start, side, most)
        elements, task = (number * size, minimum(extent, number * size + size)), Block()
        if by_lanes:
            lanes = _lanes_together(writer, nest)
            beside = _side_by_side(writer, nest, self.walks, self.groups[-1], band.width) // max(2, lanes)
            band.by_lanes(task, elements, store, self.lanes.unroll or max(1, beside), lanes)
        else:
            band.in_sweeps(task, elements, partials, [*iterators, number], unroll)
        levels = [*(Level(i, e) for i, e in zip(iterators, outer)), Level(number, blocks), Level(start, columns, side)]
        add_loops(writer, block, levels, task, size * side, time_of(nest, writer.costs), serial=False)
        if done_at_once:
            return
        body = Block()
        writer.finish(nest, fold_partials(writer, nest, body, partials, iterators, blocks), point, body)
        self._around(block, iterators, body, blocks, _MERGED_TOGETHER)


def _side_by_side(writer: LoopWriter, nest: kernel.GenericOp, walks: list[Access], group: Group, width: int) -> int:
    """Registers of neighbouring results that fold together; each state takes registers of its own.

    What is contiguous along the fold comes as tiles, each of which needs all registers.
    """
    k, inner = Sym(f"d{nest.n_parallel}"), group.symbols[-1]
    entering = _entering(nest, walks)
    if any(_contiguous(w, k) and _strides(w, inner) for w in entering):
        return writer.costs.tiles
    steps = _steps(nest)
    if steps:
        return max(1, min(writer.costs.side_by_side // width, _most_together(nest, steps)))
    states = len(state_types(nest))
    shared = any(_moves(w, k) and not _moves(w, inner) for w in entering)
    return writer.costs.accumulators(body_cost(nest) * states, width, states, shared)


def _rows_together(
    writer: LoopWriter, nest: kernel.GenericOp, walks: list[Access], groups: list[Group], width: int
) -> int:
    """Rows that fold side by side along memory: what they share is read once, and their sums do not wait alone.

    Rows that share nothing are better read one after another, and long bodies wait for nothing that is read.
    """
    order, entering, registers = _order(nest), _entering(nest, walks), int(writer.costs.machine.registers)
    if not groups or order.kind != "tree" or body_cost(nest) > registers // 8:
        return 1
    k, row = Sym(f"d{nest.n_parallel}"), groups[-1].symbols[-1]
    if not any(_moves(w, k) and not _moves(w, row) for w in entering):
        return 1
    sums = len(state_types(nest)) * max(1, order.lanes // width)
    together = max(1, min(ROWS_TOGETHER, registers * 3 // 4 // sums))
    if together > 1:
        remark("reads", kernel_label(nest), f"{together} rows together", "they share an operand", op=nest)
    return together


def _overlap(writer: LoopWriter, nest: kernel.GenericOp, groups: Sequence[Group], width: int) -> Overlap | None:
    """The rows and vectors of results that are computed together where what neighbouring rows read overlaps."""
    steps, row, column = _steps(nest), groups[-2], groups[-1]
    if not steps or row.symbols[1:]:
        return None
    return overlap_of(
        nest, steps, row.symbols[-1], column.symbols[-1], int(writer.costs.machine.registers), len(state_types(nest)),
        _most_together(nest, steps), max(1, writer.costs.side_by_side // width),
    )  # fmt: skip


def _most_together(nest: kernel.GenericOp, steps: int) -> int:
    """Vectors of results whose steps are not too long together."""
    return max(1, LONGEST_STEPS * 2 // (steps * body_cost(nest)))


def _lane_chunks(
    writer: LoopWriter, block: Block, extent: Dim, iterator: Dim, body: Block, width: int, unroll: int, least: Dim
) -> None:
    """Results side by side in lanes, in chunks of a few cache lines each, of `least` results where that is more.

    Threads get as many of them, of whole lines of f32s.
    """
    most, line = max(width * unroll, writer.costs.side_by_side), int(writer.costs.machine.line) // 4
    threads = bound(writer, block, maximum(1, writer.threads(block)))
    chunks = (extent + (most - 1)) // most
    even = bound(writer, block, maximum(1, (chunks + (threads - 1)) // threads * threads))
    share = (extent + (even * line - 1)) // (even * line) * line
    several = minimum(1, threads - 1)
    least = (least + (line - 1)) // line * line
    chunk = bound(writer, block, maximum(least, minimum(most, maximum(line, most + several * (share - most)))))
    begin = sym(f"{iterator}.b")
    inner = loop.ForOp(str(iterator), begin, minimum(extent, begin + chunk), body, vector=width, unroll=unroll)
    outer = Block()
    outer.add_ops([inner, loop.YieldOp()])
    block.add_op(loop.ParallelOp(str(begin), 0, extent, outer, step=chunk))


def _order(nest: kernel.GenericOp) -> Order:
    assert nest.order is not None
    return nest.order.data


def _contiguous(walk: Access, symbol: Sym) -> bool:
    step = walk.step(symbol)
    return step is not None and step.const == 1


def _moves(walk: Access, symbol: Sym) -> bool:
    """Whether an operand moves along an iterator."""
    step = walk.step(symbol)
    return step is None or step.const != 0


def _strides(walk: Access, symbol: Sym) -> bool:
    """Whether an operand moves along an iterator, by more than an element."""
    step = walk.step(symbol)
    return step is None or (step.const != 1 and bool(step.terms))


def _entering(nest: kernel.GenericOp, walks: list[Access]) -> list[Access]:
    return walks[: len(nest.ins) - nest.n_post] or walks


def lanes_across(order: Order) -> bool:
    """Whether lanes may run across results: the order has no lanes of its own along the fold."""
    return order.kind != "tree" or order.lanes == 1


def _across(nest: kernel.GenericOp, walks: list[Access], k: Sym, inner: Sym) -> bool:
    """Whether lanes run across results: the order allows it, and memory is contiguous that way, not along the fold.

    What all neighbouring results share stays in registers or the first cache whichever way it lies.
    """
    order = _order(nest)
    along = sum(_contiguous(w, k) and _moves(w, inner) for w in _entering(nest, walks))
    beside = sum(_contiguous(w, inner) for w in _entering(nest, walks))
    return beside > along or (order.kind != "free" and lanes_across(order))


def _is_long(writer: LoopWriter, nest: kernel.GenericOp) -> bool:
    extent = nest.extents.data[-1]
    in_pieces = _order(nest).kind not in ("chain", "serial")
    return in_pieces and (extent.const is None or extent.const > _block_of(writer, nest))


def _block_of(writer: LoopWriter, nest: kernel.GenericOp) -> int:
    """Elements of a block: the order's, or, where that is free, a piece of parallel work."""
    order = _order(nest)
    return order.block if order.kind == "tree" else writer.chunk(nest)


def fold(
    writer: LoopWriter,
    nest: kernel.GenericOp,
    block: Block,
    point: dict[Sym, Dim],
    lower: Dim,
    upper: Dim,
    width: int,
    cooperative: bool = False,
) -> list[SSAValue]:
    """One `loop.reduce` of the nest's body over part of its reduced iterator; its states."""
    iterator, body = writer.fresh(), Block()
    yielded = writer.body(nest, {**point, Sym(f"d{nest.n_parallel}"): iterator}, body)
    body.add_op(loop.YieldOp(*yielded))
    return _reduced(writer, nest, block, iterator, lower, upper, body, width, cooperative)


def _reduced(
    writer: LoopWriter,
    nest: kernel.GenericOp,
    block: Block,
    iterator: Dim,
    lower: Dim,
    upper: Dim,
    body: Block,
    width: int,
    cooperative: bool = False,
) -> list[SSAValue]:
    """The `loop.reduce` of a body that yields elements."""
    order, types = _order(nest), state_types(nest)
    assert nest.identity is not None
    if order.kind in ("tree", "serial"):
        width = min(width, order.lanes)
    made = loop.ReduceOp(
        str(iterator), lower, upper, body, writer.merge(nest), order=order, identity=list(nest.identity.data),
        types=types, vector=width, cooperative=cooperative,
    )  # fmt: skip
    block.add_op(made)
    return list(made.outs)


def _runs(nest: kernel.GenericOp, lanes: Lanes) -> Runs | None:
    """The runs of a fold whose elements are copied, run by run, to where they are side by side."""
    k, widest = Sym(f"d{nest.n_parallel}"), min((t.bits for t in map(scalar_dtype, state_types(nest))), default=32)
    return runs_along(nest, k, 2 * lanes.width(widest)) if _order(nest).kind in ("tree", "free") else None


def _blocks_by_runs(
    writer: LoopWriter, nest: kernel.GenericOp, block: Block, point: dict[Sym, Dim], runs: Runs, lanes: Lanes
) -> list[SSAValue]:
    """A whole fold, a block of its order at a time."""
    extent, size = nest.extents.data[-1], _order(nest).block or BLOCK
    if extent.const is not None and extent.const <= size:
        return _fold_by_runs(writer, nest, block, point, (dim(0), extent), runs, lanes)
    blocks, number, body = (extent + (size - 1)) // size, writer.fresh(), Block()
    partials = [
        writer.allocate(block, BufferInfo(scalar_dtype(t), (blocks,), (dim(1),)), "thread") for t in state_types(nest)
    ]
    part = number * size, minimum(extent, number * size + size)
    for value, buffer in zip(_fold_by_runs(writer, nest, body, point, part, runs, lanes), partials):
        body.add_op(loop.StoreOp(value, buffer, [number]))
    body.add_op(loop.YieldOp())
    block.add_op(loop.ForOp(str(number), 0, blocks, body))
    return fold_partials(writer, nest, block, partials, [], blocks)


def _fold_by_runs(
    writer: LoopWriter,
    nest: kernel.GenericOp,
    block: Block,
    point: dict[Sym, Dim],
    part: tuple[Dim, Dim],
    runs: Runs,
    lanes: Lanes,
) -> list[SSAValue]:
    """One block of a fold, whose elements go through the first cache."""
    lower, upper = part
    last = nest.body.block.last_op
    assert last is not None
    kinds = [scalar_dtype(value.type) for value in last.operands]
    size = dim(_order(nest).block or BLOCK)
    stages = [writer.allocate(block, BufferInfo(kind, (size,), (dim(1),)), "thread") for kind in kinds]
    width = lanes.width(max(kind.part.bytes * 8 for kind in kinds))
    unroll = lanes.unroll or writer.copies(nest, {runs.symbol})

    def copy(place: Dim, at: Dim, first: Dim, end: Dim) -> list[loop.ForOp]:
        body = Block()
        values = writer.body(nest, {**point, runs.symbol: at}, body)
        body.add_ops([loop.StoreOp(value, stage, [at - lower]) for value, stage in zip(values, stages)])
        body.add_op(loop.YieldOp())
        return [loop.ForOp(str(place), first, end, body, vector=width, unroll=unroll)]

    block.add_op(runs.loops(writer, point, lower, upper, copy))
    position, loads = writer.fresh(), Block()
    read = [loop.LoadOp(stage, [position]) for stage in stages]
    loads.add_ops([*read, loop.YieldOp(*[load.result for load in read])])
    return _reduced(writer, nest, block, position, dim(0), upper - lower, loads, width)


def _steps(nest: kernel.GenericOp) -> int:
    """The elements of a fold whose steps are written one by one, so that their places are constants; 0 of others."""
    extent, order = nest.extents.data[-1].const, _order(nest)
    in_a_row = order.lanes == 1 and (order.kind in ("free", "serial") or (extent or 0) <= order.block)
    return extent if extent and in_a_row and extent * body_cost(nest) <= LONGEST_STEPS else 0


def fold_partials(
    writer: LoopWriter,
    nest: kernel.GenericOp,
    block: Block,
    partials: Sequence[SSAValue],
    place: Sequence[Dim],
    count: Dim,
    cooperative: bool = False,
) -> list[SSAValue]:
    """The values of an order's blocks, along the last dim of ``partials[place]``, combined as the order says."""
    position = writer.fresh()
    gather = Block()
    loads = [loop.LoadOp(buffer, [*place, position]) for buffer in partials]
    gather.add_ops([*loads, loop.YieldOp(*[load.result for load in loads])])
    order = _order(nest)
    assert nest.identity is not None
    counter = Order("tree", 1, 1) if order.kind == "tree" else order
    total = loop.ReduceOp(
        str(position), 0, count, gather, writer.merge(nest), order=counter, identity=list(nest.identity.data),
        types=state_types(nest), cooperative=cooperative,
    )  # fmt: skip
    block.add_op(total)
    return list(total.outs)


def _in_blocks(writer: LoopWriter, nest: kernel.GenericOp, block: Block, lanes: Lanes, walks: list[Access]) -> None:
    """A fold to a scalar in two stages: the order's blocks in parallel, then their values by the binary counter."""
    extent, runs, panels = nest.extents.data[-1], _runs(nest, lanes), panels_of(writer, nest)
    by_runs = runs is not None and panels is None
    size = BLOCK if by_runs and _order(nest).kind == "free" else _block_of(writer, nest)
    blocks = (extent + (size - 1)) // size
    partials = []
    for state in state_types(nest):
        info = BufferInfo(scalar_dtype(state), (blocks,), (dim(1),))
        partials.append(writer.allocate(block, info))
    number = writer.fresh()
    width = choose_lanes(lanes, _entering(nest, walks), 1)[0]

    def one_block() -> Block:
        inner, part = Block(), (number * size, minimum(extent, number * size + size))
        if runs is not None and by_runs:
            states = _fold_by_runs(writer, nest, inner, {}, part, runs, lanes)
        else:
            states = fold(writer, nest, inner, {}, *part, width)
        for value, buffer in zip(states, partials):
            inner.add_op(loop.StoreOp(value, buffer, [number]))
        inner.add_op(loop.YieldOp())
        return inner

    def in_panels(panels: Panels, block: Block) -> None:
        task, each, outer = writer.fresh(), panels.blocks(size), Block()
        first, last = task * each, minimum(blocks, task * each + each)
        panels.copy(outer, first * size, minimum(extent, last * size), each * size, lanes)
        outer.add_ops([loop.ForOp(str(number), first, last, one_block()), loop.YieldOp()])
        block.add_op(loop.ParallelOp(str(task), 0, (blocks + (each - 1)) // each, outer))

    if panels is None:
        grain = max(1, writer.chunk(nest) // size)
        block.add_op(loop.ParallelOp(str(number), 0, blocks, one_block(), grain=grain))
    elif _order(nest).lanes == 1 or (rows := panels.of_whole_blocks(size, partials)) is None:
        in_panels(panels, block)
    else:
        writer.either(
            block, panels.has_whole_blocks(size), lambda inner: fold_in_bands(writer, rows, inner, lanes),
            lambda inner: in_panels(panels, inner),
        )  # fmt: skip
        rows.drop_all_references()

    writer.finish(nest, fold_partials(writer, nest, block, partials, [], blocks), {}, block)


def fold_in_bands(writer: LoopWriter, nest: kernel.GenericOp, block: Block, lanes: Lanes) -> None:
    """Loops for a fold with neighbours in memory that `goes_in_bands`."""
    walks = accesses(nest)
    folds = _Folds(writer, nest, lanes, walks, groups_of(nest, walks, 0, nest.n_parallel), {}, True, False)
    folds.in_bands(block)


def _sweep(writer: LoopWriter, block: Block, results: Dim, others: Dim) -> Dim:
    """The most results of a band that is folded in sweeps: longer ones for a thread that is alone.

    As many of them as the first cache holds beside what is read; threads take pages, so that their shares are even.
    """
    band, threads = writer.costs.band, writer.threads(block)
    shares = SHARES * threads * minimum(1, threads - 1)
    return bound(writer, block, maximum(band, minimum(LONG_BAND * band, results * others // maximum(1, shares))))


def goes_in_bands(nest: kernel.GenericOp) -> bool:
    """Whether a fold can go along rows of memory that lie one after another."""
    order, inner, walks = _order(nest), Sym(f"d{nest.n_parallel - 1}"), accesses(nest)
    in_pieces = order.kind in ("free", "tree")
    in_rows = all((s := w.step(inner)) is not None and s.const in (0, 1) for w in _entering(nest, walks))
    return in_pieces and in_rows and not _steps(nest)


def _waits_for_memory(writer: LoopWriter, nest: kernel.GenericOp) -> bool:
    """Whether a fold waits for operands that no cache holds; one of products (here no contraction) reads them once."""
    work = work_at_point(nest, writer.costs)
    if _order(nest).product:
        work = replace(work, bytes=float(work.bits // 8))
    return writer.costs.waits_for_memory(work)


def _lanes_together(writer: LoopWriter, nest: kernel.GenericOp) -> int:
    """Lanes of the order that are folded together, for bands of results."""
    return min(_order(nest).lanes, writer.costs.lanes_together(body_cost(nest)))


def past_caches(writer: LoopWriter, nest: kernel.GenericOp) -> Dim:
    """Positive where operands are past the second cache, and their rows longer and more than registers take at once."""
    return _beyond(writer, nest, writer.costs.machine.cache2, 1)


def _better_in_bands(writer: LoopWriter, nest: kernel.GenericOp) -> Dim:
    """Positive where a fold that can go in bands should.

    Where lanes go together already if the second cache holds the operands, as that too is read in long runs.
    """
    machine, together = writer.costs.machine, _lanes_together(writer, nest)
    return _beyond(writer, nest, machine.cache2 // 4 if together == 1 else machine.cache1, together)


def _beyond(writer: LoopWriter, nest: kernel.GenericOp, cache: float, together: int) -> Dim:
    """Positive where a cache does not hold the operands, and their rows are longer and more than registers take.

    Of an order with lanes, so many of them together, each has some rows, so that what they come to is little beside
    what is read.
    """
    costs, element = writer.costs, max(buffer_info(v).dtype.bytes for v in nest.ins)
    # Windows of an operand overlap: it is no larger than it is.
    held = reduce(maximum, (product(buffer_info(v).dims) for v in nest.ins))
    size = minimum(product(nest.extents.data), held) * element - int(cache)
    least = max(4, _order(nest).lanes) * costs.rows // together
    side = groups_of(nest, accesses(nest), 0, nest.n_parallel)[-1].extent
    long, many = side * element - int(costs.machine.page) // 4, nest.extents.data[-1] - least
    return minimum(size, minimum(long, many))
