"""Rows to loops: the nests of a row run one after another, by one worker, while the row is in its cache.

Two ways.  Along rows: one row at a time, vectors along the iterators of each nest; what lies across them is copied
before, some rows at a time, to where it lies along them.  Across rows, where neighbouring
rows are neighbours in memory (a softmax of columns): a band of rows at a time, vectors across the band; what the nests
hand each other then has a place for each row of the band.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Block, Operation, SSAValue

from ..dialects import kernel, loop
from ..dialects.attributes import BufferInfo, MapAttr, map_attr
from ..dialects.dims import Dim, Sym, dim, minimum, sym
from ..dialects.index_map import IndexMap, product
from .folds import fold
from .joined_folds import folds_that_make
from .locations import carry_loc
from .loop_writer import LoopWriter, accesses, buffer_info
from .row_panels import in_tiles
from .row_staging import RowUse, uses_of_rows
from .rows_apart import are_better_apart, may_stand_apart, schedule_apart
from .schedule_map import Lanes, choose_lanes, groups_of, point_of
from .shared_loops import Level, add_loops
from .work import time_of

__all__ = ["schedule_rows"]

#: A nest at the place of a row: nest, block to write to, the places of the shared iterators.
NestWriter = Callable[[kernel.GenericOp, Block, dict[Sym, Dim]], None]


def schedule_rows(writer: LoopWriter, rows: kernel.RowsOp, block: Block, lanes: Lanes, write_nest: NestWriter) -> None:
    """Loops for `rows`; `write_nest` schedules one nest within one row, serially, or for all rows."""
    nests, shared = rows.nests, rows.n_shared

    def row_by_row(block: Block) -> None:
        _row_by_row(writer, rows, block, lanes, write_nest)

    if _runs_across(nests, shared) and may_stand_apart(nests, shared):
        writer.either(
            block, are_better_apart(writer, nests, shared),
            lambda inner: schedule_apart(writer, nests, shared, inner, lanes, write_nest), row_by_row,
        )  # fmt: skip
    else:
        row_by_row(block)


def _row_by_row(
    writer: LoopWriter, rows: kernel.RowsOp, block: Block, lanes: Lanes, write_nest: NestWriter
) -> None:  # fmt: skip
    """Loops around the nests of one row, or of a band of rows."""
    nests, shared = rows.nests, rows.n_shared
    iterators = [writer.fresh() for _ in range(shared)]
    done = {Sym(f"d{i}"): it for i, it in enumerate(iterators)}
    extents = nests[0].extents.data[:shared]
    body = Block()
    steps = [1] * shared
    if _runs_across(nests, shared):
        steps[-1] = writer.costs.side_by_side
        _write_band(writer, nests, body, lanes, done, extents)
    elif crossing := _crossing(nests, shared):
        steps[-1] = writer.costs.side_by_side
        _write_panels(writer, nests, body, lanes, done, crossing, write_nest)
    else:
        _write_row(writer, nests, body, done, write_nest)
    work = dim(0)
    for nest in nests:
        work = work + product(nest.extents.data[shared:]) * writer.costs.weight(time_of(nest, writer.costs))
    levels = [Level(i, e, s) for i, e, s in zip(iterators, extents, steps)]
    add_loops(writer, block, levels, body, work * steps[-1], writer.costs.unit, serial=False)


def _write_row(
    writer: LoopWriter, nests: list[kernel.GenericOp], block: Block, done: dict[Sym, Dim], write_nest: NestWriter
) -> None:
    """The nests of one row, one after another; folds make what the map in front of them made for them."""
    writer.joined = folds_that_make(nests, len(done), writer.costs) if writer.joins else {}
    made = {*writer.joined.values()}
    for nest in nests:
        if nest not in made:
            write_nest(nest, block, dict(done))
    writer.joined = {}


def _runs_across(nests: list[kernel.GenericOp], shared: int) -> bool:
    """Whether memory is contiguous across rows and not along them, where an operand has more than one element a row."""
    across = along = 0
    for nest in nests:
        if nest.is_scan:
            return False
        if any(isinstance(op, kernel.ReadOp) for r in nest.regions for b in r.blocks for op in b.ops):
            return False
        inner = [Sym(f"d{i}") for i in range(shared, len(nest.extents.data))]
        for walk in accesses(nest):
            weight = 2 if walk.is_output else 1
            step, steps = walk.step(Sym(f"d{shared - 1}")), [walk.step(i) for i in inner]
            if any(s is None or s.const != 0 for s in steps):
                across += weight * (step is not None and step.const == 1)
                along += weight * any(s is not None and s.const == 1 for s in steps)
    return across > along


def _crossing(nests: list[kernel.GenericOp], shared: int) -> dict[SSAValue, RowUse]:
    """What lies across rows, and how a row is read: alike wherever it is read."""
    found: dict[SSAValue, RowUse] = {}
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


def _write_panels(
    writer: LoopWriter,
    nests: list[kernel.GenericOp],
    block: Block,
    lanes: Lanes,
    done: dict[Sym, Dim],
    crossing: dict[SSAValue, RowUse],
    write_nest: NestWriter,
) -> None:
    """The nests for some rows from ``done``'s last place on, one row after another, behind copies of what crosses."""
    last, band = Sym(f"d{len(done) - 1}"), writer.costs.side_by_side
    start, extents = done[last], nests[0].extents.data
    stop, row = minimum(extents[len(done) - 1], start + band), writer.fresh()
    panels: dict[SSAValue, SSAValue] = {}
    for value, use in crossing.items():
        ((along, length),) = use.extents
        info = buffer_info(value)
        # Rows of a power of two of elements would all begin in the same places of the first cache.
        wide = length + int(writer.costs.machine.line) // info.dtype.bytes
        copied = BufferInfo(info.dtype, (dim(band), wide), (wide, dim(1)))
        panels[value] = panel = writer.allocate(block, copied, "thread")
        i, j, body = writer.fresh(), writer.fresh(), Block()
        read = loop.LoadOp(value, [e.substitute({**done, last: start + i, along: j}) for e in use.exprs])
        body.add_ops([read, loop.StoreOp(read.result, panel, [i, j]), loop.YieldOp()])
        block.add_op(in_tiles(writer, i, j, (stop - start, length), body, lanes.width(info.dtype.bytes * 8)))
    inside = Block()
    for nest in nests:
        _read_panels(nest, panels, crossing, sym(last.name) - start)
    _write_row(writer, nests, inside, {**done, last: row}, write_nest)
    inside.add_op(loop.YieldOp())
    block.add_op(loop.ForOp(str(row), start, stop, inside))


def _read_panels(
    nest: kernel.GenericOp, panels: dict[SSAValue, SSAValue], crossing: dict[SSAValue, RowUse], place: Dim
) -> None:
    """Make a nest read the copies, at a row's place in them."""
    maps = list(nest.in_maps.data)
    for number, value in enumerate(nest.ins):
        if value in panels:
            ((along, _),) = crossing[value].extents
            maps[number] = map_attr(IndexMap(nest.extents.data, (place, sym(along.name))))
    nest.attributes["in_maps"] = ArrayAttr(maps)
    nest.operands = [panels.get(v, v) for v in nest.ins] + list(nest.outs)


def _write_band(
    writer: LoopWriter,
    nests: list[kernel.GenericOp],
    block: Block,
    lanes: Lanes,
    done: dict[Sym, Dim],
    extents: tuple[Dim, ...],
) -> None:
    """The nests for the rows from ``done``'s last place on, as many as a band has."""
    shared = len(extents)
    last = Sym(f"d{shared - 1}")
    start = done[last]
    band = writer.costs.side_by_side
    stop = minimum(extents[-1], start + band)
    private = _widened(writer, nests, block, band)
    for nest in nests:
        _place_in_band(nest, private, last, start)
        walks = accesses(nest)
        width, unroll = choose_lanes(lanes, walks, writer.copies(nest, {last}))
        groups = groups_of(nest, walks, shared, nest.n_parallel)
        iterators, row = [writer.fresh() for _ in groups], writer.fresh()
        point = {**done, last: row, **point_of(groups, iterators)}
        body = Block()
        if nest.is_reduction:
            unroll = lanes.unroll or max(1, min(8, band // width))
            writer.finish(nest, fold(writer, nest, body, point, dim(0), nest.extents.data[-1], 1), point, body)
        else:
            writer.store(nest, writer.body(nest, point, body), point, body)
        body.add_op(loop.YieldOp())
        made: Operation = loop.ForOp(str(row), start, stop, body, vector=width, unroll=unroll)
        for group, iterator in zip(reversed(groups), reversed(iterators)):
            around = Block()
            around.add_ops([made, loop.YieldOp()])
            made = loop.ForOp(str(iterator), 0, group.extent, around)
        block.add_op(made)
        carry_loc(nest, block, made.prev_op)


def _widened(writer: LoopWriter, nests: list[kernel.GenericOp], block: Block, band: int) -> dict[SSAValue, SSAValue]:
    """For each value that lives within a row, memory with a last dim for the rows of a band."""
    made: dict[SSAValue, SSAValue] = {}
    for nest in nests:
        for value in (*nest.ins, *nest.outs):
            owner = value.owner
            if value not in made and isinstance(owner, loop.AllocOp) and owner.scope.data == "thread":
                info = buffer_info(value)
                wide = BufferInfo(info.dtype, (*info.dims, dim(band)), (*(s * band for s in info.strides), dim(1)))
                made[value] = writer.allocate(block, wide, "thread")
    return made


def _place_in_band(nest: kernel.GenericOp, private: dict[SSAValue, SSAValue], last: Sym, start: Dim) -> None:
    """Make a nest use the widened memory: the row's place in the band is a further index."""
    place = Dim.of_terms({(last,): 1}) - start

    def fit(index: IndexMap, value: SSAValue) -> MapAttr:
        if value in private:
            index = IndexMap(index.extents, (*index.exprs, place), index.guards)
        return map_attr(index)

    maps = [fit(m, v) for m, v in zip(nest.maps_in(), nest.ins)]
    nest.attributes["out_maps"] = ArrayAttr([fit(m, v) for m, v in zip(nest.maps_out(), nest.outs)])
    nest.attributes["in_maps"] = ArrayAttr(maps)
    nest.operands = [private.get(v, v) for v in (*nest.ins, *nest.outs)]
