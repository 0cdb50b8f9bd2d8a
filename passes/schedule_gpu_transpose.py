"""Maps that turn memory around, to grids: square tiles of block memory between loads and stores.

Where results are contiguous along one iterator and an input along another, neighbouring threads load neighbours of the
input into a tile and then read it across, so that both sides of memory are used in whole lines.  Rows of the tile are
one element longer than it is wide: what lies one above the other lies in different banks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Block, SSAValue

from ..dialects import kernel, loop
from ..dialects.attributes import BufferInfo
from ..dialects.dims import Dim, Sym, dim, minimum, packed_strides
from ..dialects.index_map import product, unravel
from .gpu_loops import gpu_block, gpu_threads, in_lanes
from .loop_writer import LoopWriter, accesses, bound, buffer_info
from .schedule_map import Group, point_of

__all__ = ["Turned", "schedule_gpu_tiles", "turned_inputs"]

#: The sides of a tile, and the rows of it that a block's threads are.
TILE, ROWS = 32, 8
#: Inputs that have tiles at most.
MOST = 4


@dataclass(frozen=True)
class Turned:
    """Inputs that are contiguous along the group number `across` of the outer ones, and not along the inner one."""

    across: int
    inputs: tuple[int, ...]


def turned_inputs(nest: kernel.GenericOp, outer: Sequence[Group], inner: Group) -> Turned | None:
    """The inputs of an elementwise nest to load by tiles; None where there are none, or rows are short."""
    walks = accesses(nest)[: len(nest.ins)]
    best: Turned | None = None
    for number, group in enumerate(outer):
        found = tuple(
            i
            for i, walk in enumerate(walks)
            if not walk.guarded
            and (step := walk.step(group.symbols[-1])) is not None
            and step.const == 1
            and (far := walk.step(inner.symbols[-1])) is not None
            and far.terms
            and far.const != 1
        )
        if found and (best is None or len(found) > len(best.inputs)):
            best = Turned(number, found[:MOST])
    if best is None or any((e.const or TILE) < TILE // 2 for e in (outer[best.across].extent, inner.extent)):
        return None
    return best


def schedule_gpu_tiles(
    writer: LoopWriter, nest: kernel.GenericOp, block: Block, outer: Sequence[Group], inner: Group, turned: Turned
) -> None:
    """Grids of tiles of an elementwise nest."""
    across = outer[turned.across]
    others = [g for i, g in enumerate(outer) if i != turned.across]
    number, body = writer.fresh(), Block()
    along_tiles, across_tiles = ((g.extent + (TILE - 1)) // TILE for g in (inner, across))
    column = bound(writer, body, number % along_tiles) * TILE
    row = bound(writer, body, number // along_tiles % across_tiles) * TILE
    rest = unravel(number // (along_tiles * across_tiles), [g.extent for g in others])
    places = [bound(writer, body, p) for p in rest] if others else []
    tiles, size = _tiles(nest, turned, body)

    def point(along: Dim, beside: Dim) -> dict[Sym, Dim]:
        return point_of([*others, inner, across], [*places, along, beside])

    thread, copy, load = writer.fresh(), writer.fresh(), Block()
    high, low = copy * ROWS + thread // TILE, thread % TILE
    # At the edges what is last comes again: it is there, and nobody asks for it.
    here = point(minimum(column + high, inner.extent - 1), minimum(row + low, across.extent - 1))
    for i, tile in tiles.items():
        value = writer.operand(nest, i, here, load)
        load.add_op(loop.StoreOp(value, tile, [high, low]))
    body.add_ops([_phase(thread, copy, load), loop.BarrierOp()])

    thread, copy, store = writer.fresh(), writer.fresh(), Block()
    high, low = copy * ROWS + thread // TILE, thread % TILE
    loads = {i: loop.LoadOp(tile, [low, high]) for i, tile in tiles.items()}
    store.add_ops(loads.values())
    writer.within = (inner.extent - 1 - column - low, across.extent - 1 - row - high)
    there = point(column + low, row + high)
    given = {i: made.result for i, made in loads.items()}
    writer.store(nest, writer.body(nest, there, store, given), there, store)
    writer.within = ()
    body.add_op(_phase(thread, copy, store))
    count = product([g.extent for g in others]) * along_tiles * across_tiles
    block.add_op(gpu_block(number, count, body, TILE * ROWS, shared=size))


def _tiles(nest: kernel.GenericOp, turned: Turned, block: Block) -> tuple[dict[int, SSAValue], Dim]:
    """A tile of block memory for each turned input, and the bytes of all."""
    found: dict[int, SSAValue] = {}
    offset, dims = dim(0), (dim(TILE), dim(TILE + 1))
    for i in turned.inputs:
        info = BufferInfo(buffer_info(nest.ins[i]).dtype, dims, packed_strides(dims))
        made = loop.AllocOp(info, offset, "block")
        block.add_op(made)
        found[i] = made.result
        offset = offset + (product(dims) * info.dtype.bytes + 15) // 16 * 16
    return found, offset


def _phase(thread: Dim, copy: Dim, body: Block) -> loop.ParallelOp:
    """All rows of a tile, some of them a thread."""
    copies = TILE // ROWS
    return gpu_threads(thread, 0, TILE * ROWS, in_lanes(copy, body, unroll=copies))
