"""Contractions to grids: tiles of both operands in shared memory, tiles of sums in the registers of threads.

A block makes a tile of results.  For each step of a few elements along K its threads load a tile of both operands into
shared memory (any transpose, view or map of them is absorbed there), while they multiply the tile before: there are two
of each.  A thread's sums are rows by columns in lanes, in the order's blocks of K.  At the edges the last row and
column are brought in again, and what does not exist is not stored.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Block, SSAValue

from ....dialects import kernel, loop
from ....dialects.attributes import BufferInfo, scalar_dtype
from ....dialects.dims.dims import Dim, ceil_div, dim, minimum
from ....dialects.dims.index_map import product
from ..access import at_iterators, order_of
from ..blocks import Range, carried_loop, for_loops, load_all
from ..body import ScheduleContext
from ..function import if_positive, materialize_dim
from ..matmul.contraction import Contraction
from ..matmul.match import MatmulOperands
from .builder import SharedMemory, grid_loop, lanes_of, thread_loop

__all__ = ["GridOfTiles", "SimtMatmulTile", "Tile", "schedule_gpu_contraction"]

#: Elements along K of a tile.
K_TILE = 8
#: Neighbouring rows or columns that a thread has at most: what it loads of a tile at once.
VECTOR_PART = 4
#: Results that are worth the larger tiles.
LARGE = 1 << 20
#: Elements between rows of a tile, so that a column lies in different banks.
PAD = 4


@dataclass(frozen=True)
class Tile:
    """A block's threads, so many rows of so many, and the rows and columns of results that each of them has.

    A thread has them in parts of `VECTOR_PART` neighbours, with the other threads' parts in between.
    """

    down: int
    across: int
    of_thread: tuple[int, int]

    @property
    def threads(self) -> int:
        return self.down * self.across

    @property
    def rows(self) -> int:
        return self.down * self.of_thread[0]

    @property
    def columns(self) -> int:
        return self.across * self.of_thread[1]


SMALL_TILE, LARGE_TILE = Tile(16, 16, (4, 4)), Tile(16, 16, (8, 8))


def schedule_gpu_contraction(
    context: ScheduleContext, nest: kernel.GenericOp, factors: MatmulOperands, block: Block
) -> None:
    """Grids for a contraction."""
    small, large = (SimtMatmulTile(context, nest, factors, tile) for tile in (SMALL_TILE, LARGE_TILE))
    if scalar_dtype(large.accumulator).bits > 32:
        _write_grid(small, block)
    else:
        if_positive(block, large.m * large.n - LARGE, lambda b: _write_grid(large, b), lambda b: _write_grid(small, b))


def _write_grid(made: SimtMatmulTile, block: Block) -> None:
    """A block for each tile of results."""
    tile, shared = made.tile, made.bytes_of(made.tile, made.nest)
    tiles = GridOfTiles(made, (tile.rows, tile.columns))
    with grid_loop(made.context, block, tiles.count, tile.threads, shared=shared) as (body, number):
        row, column = tiles.place(body, number)
        made.allocate(body)
        made.write(body, row, column)


@dataclass(frozen=True)
class GridOfTiles:
    """The tiles of a contraction's results, of so many rows and columns each."""

    contraction: Contraction
    shape: tuple[int, int]

    @property
    def _down_and_across(self) -> tuple[Dim, Dim]:
        (rows, columns), made = self.shape, self.contraction
        return ceil_div(made.m, rows), ceil_div(made.n, columns)

    @property
    def count(self) -> Dim:
        """How many there are."""
        return product([*self.contraction.stack, *self._down_and_across])

    def place(self, block: Block, number: Dim) -> tuple[Dim, Dim]:
        """The first row and column of a tile by its number; the contraction learns which matrix of a stack it is of."""
        (down, across), made = self._down_and_across, self.contraction
        column = materialize_dim(made.context, block, number % across) * self.shape[1]
        row = materialize_dim(made.context, block, number // across % down) * self.shape[0]
        stacked = made.context.index_of(block, number // (across * down), made.stack)
        made.batch = at_iterators(made.factors.batch, stacked)
        return row, column


class SimtMatmulTile(Contraction):
    """Writes what the threads of a block do for one tile of a contraction's results."""

    def __init__(self, context: ScheduleContext, nest: kernel.GenericOp, factors: MatmulOperands, tile: Tile):
        super().__init__(context, nest, factors)
        self.tile, self.depth = tile, order_of(nest).block

    @staticmethod
    def bytes_of(tile: Tile, nest: kernel.GenericOp) -> int:
        """The shared memory that operand tiles of a contraction take."""
        return sum(_stage_bytes(size, nest) for size in (tile.rows, tile.columns))

    def allocate(self, block: Block) -> None:
        """Take the first `bytes_of` the block's shared memory for operand tiles."""
        shared, dtype = SharedMemory(), scalar_dtype(self.accumulator)
        shapes = [(dim(2), dim(K_TILE), dim(size + PAD)) for size in (self.tile.rows, self.tile.columns)]
        memories = [shared.allocate(block, BufferInfo.packed(dtype, dims)) for dims in shapes]
        self.left, self.right = memories

    def write(self, block: Block, row: Dim, column: Dim) -> None:
        """The tile from a row and a column on."""
        self.row, self.column = row, column
        with thread_loop(self.context, block, 0, self.tile.threads) as (body, self.thread):
            self._thread(body)

    # What a thread does

    def _thread(self, body: Block) -> None:
        tile = self.tile
        if_positive(body, self.k, self._first, lambda _: None)
        part_down, down, part_across, across = (self.context.new_iv() for _ in range(4))
        rows, columns = (min(VECTOR_PART, size) for size in tile.of_thread)
        self.at_row = part_down * (rows * tile.down) + self.thread // tile.across * rows + down
        self.at_column = part_across * (columns * tile.across) + self.thread % tile.across * columns + across
        parts = [lanes_of(part_down, unroll=tile.of_thread[0] // rows), lanes_of(down, unroll=rows)]
        parts += [lanes_of(part_across, unroll=tile.of_thread[1] // columns), lanes_of(across, vector=columns)]
        with for_loops(body, *parts) as lanes:
            total = self._sums(lanes)
            row, column = self.row + self.at_row, self.column + self.at_column
            with self.context.temporarily(store_guards=(self.m - 1 - row, self.n - 1 - column)):
                self.context.epilogue(self.nest, total, self.point(row, column, dim(0)), lanes)

    def _first(self, block: Block) -> None:
        """The first step of K."""
        block.add_ops([*self._load_tile(block, dim(0)), loop.BarrierOp()])

    def _sums(self, block: Block) -> list[SSAValue]:
        """The order's blocks of K, one added after another; all of K where the order is free."""
        if not self.depth or (self.k.const is not None and self.k.const <= self.depth):
            return self._block_of_k(block, dim(0), self.k)
        first = self.context.new_iv()

        def add(body: Block, older: list[SSAValue]) -> list[SSAValue]:
            sums = self._block_of_k(body, first, minimum(self.k, first + self.depth))
            return self.context.combine(self.nest, [*older, *sums], body)

        return carried_loop(block, Range(first, 0, self.k, self.depth), self.context.identity(self.nest, block), add)

    def _block_of_k(self, block: Block, first: Dim, stop: Dim) -> list[SSAValue]:
        """The sum from `first` on: whole steps, then the elements of the last one."""
        start, k = self.context.new_iv(), self.context.new_iv()
        whole = first + (stop - first) // K_TILE * K_TILE

        def step(body: Block, total: list[SSAValue]) -> list[SSAValue]:
            coming = self._load_tile(body, start + K_TILE)
            for i in range(K_TILE):
                total = self._step(body, total, start, dim(i))
            body.add_ops([*coming, loop.BarrierOp()])
            return total

        steps = carried_loop(block, Range(start, first, whole, K_TILE), self.context.identity(self.nest, block), step)
        rest = Range(k, whole, stop)
        return carried_loop(block, rest, steps, lambda body, total: self._step(body, total, whole, k - whole))

    def _step(self, block: Block, total: list[SSAValue], start: Dim, k: Dim) -> list[SSAValue]:
        """One element of the tile from `start` on added to a thread's sums."""
        half = start // K_TILE % 2
        (a,) = load_all(block, [self.left], [half, k, self.at_row])
        (b,) = load_all(block, [self.right], [half, k, self.at_column])
        return self.context.accumulate(self.nest, total, self.element(block, a, b), block)

    # Tiles of the operands

    def _load_tile(self, block: Block, start: Dim) -> list[loop.StoreOp]:
        """Loads a thread's elements of the tiles of both operands from `start` on; what puts them there."""
        found: list[loop.StoreOp] = []
        left = self.left, self.row, self.m, self.tile.rows
        right = self.right, self.column, self.n, self.tile.columns
        for number, (memory, index, extent, size) in enumerate((left, right)):
            along, count = self.lies_along_k(number), size * K_TILE
            for copy in range(-(-count // self.tile.threads)):
                element, guards = self.thread + copy * self.tile.threads, list[Dim]()
                if (copy + 1) * self.tile.threads > count:
                    # Threads that the tile has no element for bring what is last once more, and leave it.
                    guards, element = [count - 1 - element], minimum(element, count - 1)
                if along:
                    beside, k = element // K_TILE, element % K_TILE
                else:
                    beside, k = element % size, element // size
                # At the edges what is last comes again: it is there, and nobody asks for it.
                here, depth = minimum(index + beside, extent - 1), minimum(start + k, self.k - 1)
                loaded = self.factor(number, here, depth, block)
                found.append(loop.StoreOp(loaded, memory, [start // K_TILE % 2, k, beside], guards))
        return found


def _stage_bytes(size: int, nest: kernel.GenericOp) -> int:
    """The bytes of two tiles of so many rows or columns."""
    element = scalar_dtype(nest.combiner.block.args[0].type)
    return (2 * K_TILE * (size + PAD) * element.bytes + 15) // 16 * 16
