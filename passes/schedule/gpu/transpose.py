"""Transpositions to grids: square tiles of shared memory between loads and stores.

Where results are contiguous along one iterator and an input along another, neighbouring threads load neighbours of the
input into a tile and then read it across, so that both sides of memory are used in whole lines.  Rows of the tile are
one element longer than it is wide: what lies one above the other lies in different banks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.ir import Block, SSAValue

from ....dialects import kernel, loop
from ....dialects.attributes import BufferInfo
from ....dialects.dims.dims import Dim, Sym, ceil_div, dim, minimum, packed_strides
from ....dialects.dims.index_map import product
from ..access import accesses, buffer_info
from ..blocks import for_loops, load_all
from ..body import ScheduleContext
from ..function import if_positive, materialize_dim
from ..language.axes import FusedAxis, point_of
from .builder import SharedMemory, grid_loop, lanes_of, thread_loop

__all__ = ["TransposedInputs", "match_transposed", "schedule_gpu_tiles"]

#: The sides of a tile, and the rows of it that a block's threads are.
TILE, ROWS = 32, 8
#: Inputs that have tiles at most.
MOST = 4


@dataclass(frozen=True)
class TransposedInputs:
    """Inputs that are contiguous along the group number `across` of the outer ones, and not along the inner one."""

    across: int
    inputs: tuple[int, ...]


def match_transposed(nest: kernel.GenericOp, outer: Sequence[FusedAxis], inner: FusedAxis) -> TransposedInputs | None:
    """The inputs of an elementwise nest to load by tiles; None where there are none, or rows are short."""
    access_list = accesses(nest)[: len(nest.ins)]
    best: TransposedInputs | None = None
    for number, group in enumerate(outer):
        found = tuple(
            i
            for i, access in enumerate(access_list)
            if not access.guarded
            and access.is_contiguous(group.symbols[-1])
            and (far := access.step(inner.symbols[-1])) is not None
            and far.terms
            and far.const != 1
        )
        if found and (best is None or len(found) > len(best.inputs)):
            best = TransposedInputs(number, found[:MOST])
    if best is None or any((e.const or TILE) < TILE // 2 for e in (outer[best.across].extent, inner.extent)):
        return None
    return best


def schedule_gpu_tiles(
    context: ScheduleContext, nest: kernel.GenericOp, block: Block, outer: Sequence[FusedAxis], inner: FusedAxis,
    transposed: TransposedInputs,
) -> None:  # fmt: skip
    """Grids of tiles of an elementwise nest."""
    across = outer[transposed.across]
    others = [g for i, g in enumerate(outer) if i != transposed.across]
    shared = SharedMemory()
    along_tiles, across_tiles = (ceil_div(g.extent, TILE) for g in (inner, across))
    extents = [g.extent for g in others]
    count = product(extents) * along_tiles * across_tiles
    with grid_loop(context, block, count, TILE * ROWS, shared=shared) as (body, number):
        column = materialize_dim(context, body, number % along_tiles) * TILE
        row = materialize_dim(context, body, number // along_tiles % across_tiles) * TILE
        indices = context.index_of(body, number // (along_tiles * across_tiles), extents)
        dims = dim(TILE), dim(TILE + 1)
        infos = {i: BufferInfo(buffer_info(nest.ins[i]).dtype, dims, packed_strides(dims)) for i in transposed.inputs}
        tiles = {i: shared.allocate(body, info) for i, info in infos.items()}
        tile = _Tile(context, nest, tiles, column, row, inner, across, others, indices)
        within = minimum(inner.extent - column, across.extent - row) - (TILE - 1)
        if_positive(body, within, lambda b: tile.write(b, whole=True), lambda b: tile.write(b, whole=False))


@dataclass(frozen=True)
class _Tile:
    """One tile, from `column` of the inner group and `row` of the one across on, at `indices` of the others."""

    context: ScheduleContext
    nest: kernel.GenericOp
    tiles: dict[int, SSAValue]
    column: Dim
    row: Dim
    inner: FusedAxis
    across: FusedAxis
    others: Sequence[FusedAxis]
    indices: Sequence[Dim]

    def write(self, block: Block, whole: bool) -> None:
        """Its loads, a barrier, its stores; of one that is not `whole` only what is there."""
        self._load(block, whole)
        block.add_op(loop.BarrierOp())
        self._store(block, whole)

    def _point(self, along: Dim, beside: Dim) -> dict[Sym, Dim]:
        return point_of([*self.others, self.inner, self.across], [*self.indices, along, beside])

    def _load(self, block: Block, whole: bool) -> None:
        with self._phase(block) as (body, high, low):
            along, beside = self.column + high, self.row + low
            if not whole:  # what is last comes again: it is there, and nobody asks for it
                along, beside = minimum(along, self.inner.extent - 1), minimum(beside, self.across.extent - 1)
            for i, tile in self.tiles.items():
                value = self.context.operand(self.nest, i, self._point(along, beside), body)
                body.add_op(loop.StoreOp(value, tile, [high, low]))

    def _store(self, block: Block, whole: bool) -> None:
        context, nest = self.context, self.nest
        with self._phase(block) as (body, high, low):
            loaded = load_all(body, [*self.tiles.values()], [low, high])
            along, beside = self.column + low, self.row + high
            within = self.inner.extent - 1 - along, self.across.extent - 1 - beside
            there = self._point(along, beside)
            with context.temporarily(store_guards=() if whole else within):
                context.store(nest, context.body(nest, there, body, dict(zip(self.tiles, loaded))), there, body)

    @contextmanager
    def _phase(self, block: Block) -> Iterator[tuple[Block, Dim, Dim]]:
        """All rows of a tile, some of them a thread: the body, and an element's place in the tile."""
        with thread_loop(self.context, block, 0, TILE * ROWS) as (each, thread):
            copy = self.context.new_iv()
            with for_loops(each, lanes_of(copy, unroll=TILE // ROWS)) as body:
                yield body, copy * ROWS + thread // TILE, thread % TILE
