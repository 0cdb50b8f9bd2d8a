"""Elementwise nests to loops: collapse iterators, run vectors along unit strides, cut the rest into chunks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Block, Operation

from ....dialects import kernel, loop
from ....dialects.attributes import BufferInfo
from ....dialects.dims.analysis import linear_in, period
from ....dialects.dims.dims import Dim, Sym, dim, maximum, minimum, sym
from ....dialects.dims.index_map import product
from ...cost.work import point_time
from ..body import Access, Point, ScheduleContext, accesses, buffer_info, if_positive
from ..parallelize import LoopSpec, parallel_loops
from ..segments import match_segments

#: A chunk is so many tasks, by which alone chunks differ: of a loop of a piece and a half each of two
#: threads has three quarters.
TASKS_PER_CHUNK = 4
#: Bytes of the smallest vector that has non-temporal stores.
LEAST_STREAMED = 16

__all__ = ["FusedAxis", "VectorConfig", "choose_lanes", "collapse_axes", "is_transposition", "point_of", "schedule_map"]


@dataclass(frozen=True)
class VectorConfig:
    """How wide: bits of a vector register, or a forced number of lanes and copies (tests).

    `lanes_can_shuffle` says whether lanes can change places, as those of a GPU, which are threads, cannot.
    """

    vector_bits: int = 256
    lanes: int = 0
    unroll: int = 0
    lanes_can_shuffle: bool = True

    def at_most(self, vector_bits: int) -> VectorConfig:
        """With vectors of no more bits."""
        return replace(self, vector_bits=min(self.vector_bits, vector_bits))

    def width(self, bits: int) -> int:
        return self.lanes or max(1, self.vector_bits // max(8, bits))


@dataclass(frozen=True)
class FusedAxis:
    """Adjacent iterators that run as one: all operands step through them as through one long dim."""

    symbols: tuple[Sym, ...]
    extents: tuple[Dim, ...]

    @property
    def extent(self) -> Dim:
        total = dim(1)
        for e in self.extents:
            total = total * e
        return total


def collapse_axes(nest: kernel.GenericOp, access_list: Sequence[Access], first: int, last: int) -> list[FusedAxis]:
    """The iterators ``first <= i < last`` of a nest, collapsed where every operand and every number allows it."""
    extents = nest.extents.data
    numbers = list(_numbers(nest))
    groups: list[FusedAxis] = []
    for i in range(first, last):
        symbol, extent = Sym(f"d{i}"), extents[i]
        if (
            groups
            and _runs_on(access_list, groups[-1].symbols[-1], symbol, extent)
            and all(_counts_on(e, groups[-1].symbols[-1], symbol, extent) for e in numbers)
        ):
            groups[-1] = FusedAxis((*groups[-1].symbols, symbol), (*groups[-1].extents, extent))
        else:
            groups.append(FusedAxis((symbol,), (extent,)))
    return groups


def _runs_on(access_list: Sequence[Access], outer: Sym, inner: Sym, extent: Dim) -> bool:
    for access in access_list:
        far, near = access.step(outer), access.step(inner)
        if far is None or near is None or access.guarded or far is not near * extent:
            return False
    return True


def _numbers(nest: kernel.GenericOp) -> Iterator[Dim]:
    """The expressions that bodies use as numbers."""
    for region in nest.regions:
        for block in region.blocks:
            for op in block.ops:
                if isinstance(op, loop.IndexOp):
                    yield op.expr.data
                elif isinstance(op, kernel.ReadOp):
                    yield from (*op.index.data, *(op.guards.data if op.guards is not None else ()))


def _counts_on(expr: Dim, outer: Sym, inner: Sym, extent: Dim) -> bool:
    """Whether an expression takes two iterators as one: only as ``outer * extent + inner``."""
    if not {outer, inner} & expr.symbols():
        return True
    both = sym(outer.name) * extent + sym(inner.name)
    return expr.substitute({outer: dim(0)}).substitute({inner: both}) is expr


def point_of(groups: Sequence[FusedAxis], iterators: Sequence[Dim]) -> dict[Sym, Dim]:
    """Where the nest's iterators stand when the groups' iterators are given."""
    point: dict[Sym, Dim] = {}
    for group, iterator in zip(groups, iterators):
        rest = iterator
        for symbol, extent in zip(reversed(group.symbols[1:]), reversed(group.extents[1:])):
            point[symbol] = rest % extent
            rest = rest // extent
        point[group.symbols[0]] = rest
    return point


def unit_stride_score(access_list: Sequence[Access], group: FusedAxis) -> int:
    """How many operands are contiguous along a group; stores count twice."""
    inner = group.symbols[-1]
    return sum((2 if w.is_output else 1) for w in access_list if (s := w.step(inner)) is not None and s.const == 1)


def choose_lanes(lanes: VectorConfig, access_list: Sequence[Access], copies: int) -> tuple[int, int]:
    """Vector width and unroll: full registers of the widest element, and `copies` where none are forced."""
    return lanes.width(max((w.bits for w in access_list), default=32)), lanes.unroll or copies


def schedule_map(
    context: ScheduleContext,
    nest: kernel.GenericOp,
    block: Block,
    lanes: VectorConfig,
    done: dict[Sym, Dim],
    serial: bool,
) -> None:
    """Loops for the iterators of an elementwise nest that `done` has no place for."""
    access_list = accesses(nest)
    order = _order(nest, access_list, len(done))
    if not order:
        context.store(nest, context.body(nest, done, block), done, block)
        return
    moving = [w for w in access_list if any((s := w.step(d)) is None or s.terms for d in order[-1].symbols)]
    apart = [w for w in moving if (s := w.step(order[-1].symbols[-1])) is not None and s.const not in (0, 1, -1)]
    gathered = len(apart) * lanes.width(max((w.bits for w in moving), default=32))
    copies = context.unroll_factor(nest, {*order[-1].symbols}, gathered)
    width, unroll = choose_lanes(lanes, moving or access_list, copies)
    step = 1
    if not lanes.unroll:
        divided = (*_numbers(nest), *(e for index in nest.maps_in() for e in index.exprs))
        repeats = math.lcm(*(period(e, order[-1].symbols[-1]) for e in divided))
        unroll = context.costs.unroll_for_period(unroll, repeats // math.gcd(repeats, width))
        step = repeats if unroll * width % repeats == 0 else 1
    iterators = [context.new_iv() for _ in order]
    point = {**done, **point_of(order, iterators)}

    cross, extent = _transposed_axis(access_list, order), order[-1].extent
    runs = match_segments(nest, order[-1].symbols[-1], 2 * width) if len(order[-1].symbols) == 1 else None

    def written(where: Point = point) -> Block:
        body = Block()
        context.store(nest, context.body(nest, where, body), where, body)
        body.add_op(loop.YieldOp())
        return body

    def lines(
        iterator: Dim, at: Dim, lower: Dim, upper: Dim, copies: int = unroll, at_line: bool = False
    ) -> list[Operation]:
        """A loop over a part of a row, and before it one up to the first whole line that is stored non-temporally.

        `at` is where the row's iterator stands; `at_line` says that there is no part of a line before.
        """
        where = point if at is iterators[-1] else {**point, order[-1].symbols[-1]: at}
        at_line = at_line or serial or width == 1
        rest = dim(0) if at_line else _alignment_peel(context, nest, where, iterator, order[-1], lower, upper)
        made: list[Operation] = []
        for first, end, unrolled in ((lower, lower + rest, 1), (lower + rest, upper, copies)):
            if end is not first:
                made.append(loop.ForOp(str(iterator), first, end, written(where), vector=width, unroll=unrolled))
        return made

    def along(lower: Dim, upper: Dim) -> list[Operation]:
        """The innermost loop, in up to three: where guards along it hold they are not asked."""
        row = iterators[-1]
        if runs is not None:
            return [runs.loops(context, point, lower, upper, lines)]
        inside = _inside(nest, order[-1], lower, upper)
        if inside is None:
            return lines(row, row, lower, upper, at_line=len(order) == 1)
        first, last, context.proven_guards = inside
        sure = lines(row, row, first, last, lanes.unroll or 4)
        context.proven_guards = frozenset()
        before, after = (
            loop.ForOp(str(iterators[-1]), a, b, written(), vector=width, unroll=1)
            for a, b in ((lower, first), (last, upper))
        )
        return [before, *sure, after]

    if len(order) == 1 and not serial:
        start, outer, chunk = context.new_iv(), Block(), context.chunk(nest)
        whole = math.lcm(step, context.costs.results_in_flight)
        part = -(-chunk // (TASKS_PER_CHUNK * whole)) * whole
        outer.add_ops([*along(start, minimum(extent, start + part)), loop.YieldOp()])
        block.add_op(loop.ParallelOp(str(start), 0, extent, outer, step=part, grain=-(-chunk // part)))
        return
    if cross is not None:

        def tiled(block: Block, staged: bool) -> None:
            _tiled_transpose(context, block, nest, order, iterators, cross, point, width, serial, staged)

        excess = dim(0) if serial else _nontemporal_excess(context, nest, access_list, order[-1], width)
        if_positive(block, excess, lambda b: tiled(b, True), lambda b: tiled(b, False))
        return
    levels = [LoopSpec(i, g.extent) for i, g in zip(iterators[:-1], order)]
    body = Block(along(dim(0), extent))
    parallel_loops(context, block, levels, body, extent, point_time(nest, context.costs), serial)


def is_transposition(nest: kernel.GenericOp, first: int) -> bool:
    """Whether the loops for the iterators of an elementwise nest from `first` on go by tiles: a transposition."""
    access_list = accesses(nest)
    order = _order(nest, access_list, first)
    return len(order) > 1 and _transposed_axis(access_list, order) is not None


def _order(nest: kernel.GenericOp, access_list: Sequence[Access], first: int) -> list[FusedAxis]:
    """The iterators from `first` on in groups, as the loops stand: the last one's goes in vectors."""
    groups = collapse_axes(nest, access_list, first, nest.n_parallel)
    scores = [unit_stride_score(access_list, g) for g in groups]
    vector = max(range(len(groups)), key=lambda i: (scores[i], i), default=0)
    return [g for i, g in enumerate(groups) if i != vector] + groups[vector : vector + 1]


def _inside(nest: kernel.GenericOp, group: FusedAxis, lower: Dim, upper: Dim) -> tuple[Dim, Dim, frozenset[Dim]] | None:
    """The part of a range of an iterator where all guards that ask for it alone hold, and these; None without any."""
    symbol = group.symbols[-1]
    others = {Sym(f"d{i}") for i in range(len(nest.extents.data))} - {symbol}
    first, last, found = lower, upper, set[Dim]()
    for guard in (g for index in nest.maps_in() for g in index.guards):
        parts = linear_in(guard, [symbol])
        if parts is None or guard.symbols() & others or (step := parts[0].get(symbol, dim(0)).const) not in (1, -1):
            continue
        found.add(guard)
        if step == 1:
            first = maximum(first, -parts[1])
        else:
            last = minimum(last, parts[1] + 1)
    if not found:
        return None
    first = minimum(first, upper)
    return first, maximum(first, last), frozenset(found)


def _transposed_axis(access_list: Sequence[Access], order: Sequence[FusedAxis]) -> int | None:
    """A group along which some operand is contiguous that strides along the vector group: a transposition."""
    vector = order[-1].symbols[-1]
    crossed = [w for w in access_list if (s := w.step(vector)) is not None and s.terms and s.const != 1]
    scores = [unit_stride_score(crossed, group) for group in order[:-1]]
    return max(range(len(scores)), key=scores.__getitem__) if any(scores) else None


def _alignment_peel(
    context: ScheduleContext,
    nest: kernel.GenericOp,
    where: Point,
    iterator: Dim,
    along: FusedAxis,
    lower: Dim,
    upper: Dim,
) -> Dim:
    """The elements from `lower` to the first whole line of a result's row, where the rows are stored non-temporally.

    Where rows are short the lines that they share are most of what there is: none.
    """
    info, costs = buffer_info(nest.outs[0]), context.costs
    if accesses(nest)[-1].step(along.symbols[-1]) is not dim(1) or not context.may_be_nontemporal(nest):
        return dim(0)
    excess = product(info.dims) * info.dtype.bytes - (costs.nontemporal_threshold - 1)
    line = int(costs.machine.cache_line) // info.dtype.bytes
    address = info.address([e.substitute(where) for e in nest.maps_out()[0].exprs])
    peeled = -address.substitute(dict.fromkeys(iterator.symbols(), lower)) % line
    if peeled is dim(0) or (excess.const is not None and excess.const <= 0):
        return dim(0)
    long = maximum(0, upper - lower - costs.min_nontemporal_lines * line)
    return minimum(minimum(line - 1, peeled), minimum(maximum(0, excess), long))


def _nontemporal_excess(
    context: ScheduleContext, nest: kernel.GenericOp, access_list: list[Access], along: FusedAxis, width: int
) -> Dim:
    """Positive where the result of a transposition is stored non-temporally, and its rows are whole lines."""
    info = buffer_info(nest.outs[0])
    contiguous = (s := access_list[-1].step(along.symbols[-1])) is not None and s.const == 1
    if not contiguous or width * info.dtype.bytes < LEAST_STREAMED or not context.may_be_nontemporal(nest):
        return dim(0)
    excess = product(info.dims) * info.dtype.bytes - (context.costs.nontemporal_threshold - 1)
    for stride in info.strides:
        if stride.const != 1:
            excess = minimum(excess, dim(1) - stride % (int(context.costs.machine.cache_line) // info.dtype.bytes))
    return excess


def _tiled_transpose(
    context: ScheduleContext,
    block: Block,
    nest: kernel.GenericOp,
    order: Sequence[FusedAxis],
    iterators: Sequence[Dim],
    cross: int,
    point: dict[Sym, Dim],
    width: int,
    serial: bool,
    staged: bool,
) -> None:
    """Tiles of the crossing and the vector group: every cache line of both is used up while it is there.

    As many of the crossing group run side by side as vectors have lanes, so that the emitter can load rows of what
    crosses and transpose them in registers.  What is stored non-temporally is `staged`, a tile in the first cache, from
    which it goes on in whole lines.
    """
    across, along = order[cross], order[-1]
    start, row_tile = context.new_iv(), context.new_iv()
    info = buffer_info(nest.outs[0])
    lines = (context.costs.l1_tile,) * 2 if staged else context.costs.transpose_tile(info.dtype.bytes)
    span, length = (max(2 * width, side) for side in lines)
    stop, end = minimum(across.extent, row_tile + span), minimum(along.extent, start + length)

    def in_tile(body: Block, side_by_side: int, copies: int) -> loop.ForOp:
        body.add_op(loop.YieldOp())
        row = loop.ForOp(str(iterators[-1]), start, end, body, vector=width, unroll=copies)
        return loop.ForOp(str(iterators[cross]), row_tile, stop, Block([row, loop.YieldOp()]), unroll=side_by_side)

    tile, body = Block(), Block()
    values = context.body(nest, point, body)
    if staged:
        held = BufferInfo(info.dtype, (dim(span), dim(length)), (dim(length), dim(1)))
        stage, index = context.allocate(tile, held, "thread"), [iterators[cross] - row_tile, iterators[-1] - start]
        body.add_op(loop.StoreOp(values[0], stage, index))
        line = Block()
        read = loop.LoadOp(stage, index)
        line.add_op(read)
        context.store(nest, [read.result], point, line)
        tile.add_ops([in_tile(body, width, 1), in_tile(line, 1, context.costs.unroll_factor(0, 0))])
    else:
        context.store(nest, values, point, body, in_order=False)
        tile.add_op(in_tile(body, width, 1))
    tile.add_op(loop.YieldOp())
    row_of_tiles = Block([loop.ForOp(str(start), 0, along.extent, tile, step=length)])
    outer = [LoopSpec(iterators[i], order[i].extent) for i in range(len(order) - 1) if i != cross]
    levels = [*outer, LoopSpec(row_tile, across.extent, span)]
    work = along.extent * minimum(across.extent, span)
    parallel_loops(context, block, levels, row_of_tiles, work, point_time(nest, context.costs), serial)
