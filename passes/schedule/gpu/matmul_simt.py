"""Contractions to grids: tiles of both operands in shared memory, tiles of sums in the registers of threads.

A block makes a tile of results.  For each step of a few elements along K its threads load a tile of both operands into
shared memory (any transpose, view or map of them is absorbed there), while they multiply the tile before: there are two
of each.  A thread's sums are rows by columns in lanes, in the order's blocks of K.  At the edges the last row and
column are brought in again, and what does not exist is not stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Block, SSAValue

from ....dialects import kernel, loop
from ....dialects.attributes import BufferInfo, scalar_dtype
from ....dialects.dims.dims import Dim, Sym, dim, minimum, packed_strides
from ....dialects.dims.index_map import product, unravel
from ....dialects.scalar.builder import BodyBuilder
from ..body import ScheduleContext, accesses, if_positive, materialize_dim
from ..matmul.match import MatmulOperands
from .builder import grid_loop, thread_loop

__all__ = ["SimtMatmulTile", "Tile", "along_k", "point_of_contraction", "schedule_gpu_contraction"]

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
    context, tile, number, body = made.context, made.tile, made.context.new_iv(), Block()
    across, down = (made.n + (tile.columns - 1)) // tile.columns, (made.m + (tile.rows - 1)) // tile.rows
    column = materialize_dim(context, body, number % across)
    row = materialize_dim(context, body, number // across % down)
    which = made.factors.batch
    indices = unravel(number // (across * down), [made.nest.extents.data[i] for i in which])
    batch = {Sym(f"d{i}"): materialize_dim(context, body, p) for i, p in zip(which, indices)}
    made.allocate(body)
    made.write(body, batch, row * tile.rows, column * tile.columns)
    stack = product([made.nest.extents.data[i] for i in which])
    block.add_op(grid_loop(number, stack * across * down, body, tile.threads, shared=made.bytes_of(tile, made.nest)))


class SimtMatmulTile:
    """Writes what the threads of a block do for one tile of a contraction's results."""

    def __init__(self, context: ScheduleContext, nest: kernel.GenericOp, factors: MatmulOperands, tile: Tile):
        self.context, self.nest, self.factors, self.tile = context, nest, factors, tile
        extents = nest.extents.data
        self.m, self.n = (product([extents[i] for i in which]) for which in (factors.left, factors.right))
        self.k = extents[-1]
        assert nest.order is not None
        self.depth = nest.order.data.block
        self.accumulator: Attribute = nest.combiner.block.args[0].type

    @staticmethod
    def bytes_of(tile: Tile, nest: kernel.GenericOp) -> int:
        """The shared memory that operand tiles of a contraction take."""
        return sum(_stage_bytes(size, nest) for size in (tile.rows, tile.columns))

    def allocate(self, block: Block) -> None:
        """Take the first `bytes_of` the block's shared memory for operand tiles."""
        made: list[loop.AllocOp] = []
        for size, index in zip((self.tile.rows, self.tile.columns), (0, _stage_bytes(self.tile.rows, self.nest))):
            dims = (dim(2), dim(K_TILE), dim(size + PAD))
            info = BufferInfo(scalar_dtype(self.accumulator), dims, packed_strides(dims))
            made.append(loop.AllocOp(info, index, "shared"))
        block.add_ops(made)
        self.left, self.right = made

    def write(self, block: Block, batch: dict[Sym, Dim], row: Dim, column: Dim) -> None:
        """The tile from a row and a column on, in the places that `batch` says."""
        self.batch, self.row, self.column, self.thread = batch, row, column, self.context.new_iv()
        block.add_op(thread_loop(self.thread, 0, self.tile.threads, self._thread()))

    # What a thread does

    def _thread(self) -> Block:
        body, tile = Block(), self.tile
        if_positive(body, self.k, self._first, lambda _: None)
        part_down, down, part_across, across = (self.context.new_iv() for _ in range(4))
        rows, columns = (min(VECTOR_PART, size) for size in tile.of_thread)
        self.at_row = part_down * (rows * tile.down) + self.thread // tile.across * rows + down
        self.at_column = part_across * (columns * tile.across) + self.thread % tile.across * columns + across
        lanes = Block()
        total = self._sums(lanes)
        row, column = self.row + self.at_row, self.column + self.at_column
        self.context.store_guards = (self.m - 1 - row, self.n - 1 - column)
        self.context.epilogue(self.nest, [total], self._point(row, column, dim(0)), lanes)
        self.context.store_guards = ()
        for iterator, extent, vector in (
            (across, columns, columns), (part_across, tile.of_thread[1] // columns, 1),
            (down, rows, 1), (part_down, tile.of_thread[0] // rows, 1),
        ):  # fmt: skip
            lanes.add_op(loop.YieldOp())
            unroll = extent // vector
            lanes = Block([loop.ForOp(str(iterator), 0, extent, lanes, vector=vector, unroll=unroll)])
        for op in list(lanes.ops):
            op.detach()
            body.add_op(op)
        return body

    def _first(self, block: Block) -> None:
        """The first step of K."""
        block.add_ops([*self._load_tile(block, dim(0)), loop.BarrierOp()])

    def _sums(self, block: Block) -> SSAValue:
        """The order's blocks of K, one added after another; all of K where the order is free."""
        if not self.depth or (self.k.const is not None and self.k.const <= self.depth):
            return self._block_of_k(block, dim(0), self.k)
        first, body = self.context.new_iv(), Block(arg_types=[self.accumulator])
        sums = self._block_of_k(body, first, minimum(self.k, first + self.depth))
        body.add_op(loop.YieldOp(*self.context.combine(self.nest, [body.args[0], sums], body)))
        made = loop.ForOp(str(first), 0, self.k, body, step=self.depth, inits=[self._identity(block)])
        block.add_op(made)
        return made.outs[0]

    def _block_of_k(self, block: Block, first: Dim, stop: Dim) -> SSAValue:
        """The sum from `first` on: whole steps, then the elements of the last one."""
        start, k = self.context.new_iv(), self.context.new_iv()
        whole = first + (stop - first) // K_TILE * K_TILE
        body = Block(arg_types=[self.accumulator])
        coming = self._load_tile(body, start + K_TILE)
        total: SSAValue = body.args[0]
        for i in range(K_TILE):
            total = self._step(body, total, start, dim(i))
        body.add_ops([*coming, loop.BarrierOp(), loop.YieldOp(total)])
        whole_steps = loop.ForOp(str(start), first, whole, body, step=K_TILE, inits=[self._identity(block)])
        rest = Block(arg_types=[self.accumulator])
        rest.add_op(loop.YieldOp(self._step(rest, rest.args[0], whole, k - whole)))
        last = loop.ForOp(str(k), whole, stop, rest, inits=[whole_steps.outs[0]])
        block.add_ops([whole_steps, last])
        return last.outs[0]

    def _step(self, block: Block, total: SSAValue, start: Dim, k: Dim) -> SSAValue:
        """One element of the tile from `start` on added to a thread's sums."""
        half = start // K_TILE % 2
        a = loop.LoadOp(self.left.result, [half, k, self.at_row])
        b = loop.LoadOp(self.right.result, [half, k, self.at_column])
        block.add_ops([a, b])
        assert self.nest.order is not None
        if self.nest.order.data.product:
            code, dtype = BodyBuilder(block, self.nest.order.data.product == "fma"), scalar_dtype(self.accumulator)
            x, y, z = (code.wrap(v, dtype) for v in (a.result, b.result, total))
            return code.ssa(code.fma(x, y, z))
        product_ = arith.MuliOp(a.result, b.result)
        block.add_op(product_)
        return self.context.combine(self.nest, [total, product_.result], block)[0]

    # Tiles of the operands

    def _load_tile(self, block: Block, start: Dim) -> list[loop.StoreOp]:
        """Loads a thread's elements of the tiles of both operands from `start` on; what puts them there."""
        found: list[loop.StoreOp] = []
        for value, memory, index, extent, which, size in (
            (self.factors.values[0], self.left, self.row, self.m, self.factors.left, self.tile.rows),
            (self.factors.values[1], self.right, self.column, self.n, self.factors.right, self.tile.columns),
        ):
            along, count = along_k(self.nest, which), size * K_TILE
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
                left = memory is self.left
                point = self._point(here if left else dim(0), dim(0) if left else here, depth)
                loaded = self.context.operand_value(self.nest, value, point, block)
                found.append(loop.StoreOp(loaded, memory.result, [start // K_TILE % 2, k, beside], guards))
        return found

    def _point(self, row: Dim, column: Dim, k: Dim) -> dict[Sym, Dim]:
        return point_of_contraction(self.nest, self.factors, self.batch, row, column, k)

    def _identity(self, block: Block) -> SSAValue:
        assert self.nest.identity is not None
        (value,) = self.nest.identity.data
        assert isinstance(value, (IntegerAttr, FloatAttr))
        made = arith.ConstantOp.create(result_types=[value.type], properties={"value": value})
        block.add_op(made)
        return made.results[0]


def _stage_bytes(size: int, nest: kernel.GenericOp) -> int:
    """The bytes of two tiles of so many rows or columns."""
    element = scalar_dtype(nest.combiner.block.args[0].type)
    return (2 * K_TILE * (size + PAD) * element.bytes + 15) // 16 * 16


def along_k(nest: kernel.GenericOp, which: Sequence[int]) -> bool:
    """Whether the operand with these iterators is contiguous along K rather than along its own last iterator."""
    k, own = Sym(f"d{nest.n_parallel}"), Sym(f"d{which[-1]}")
    access_list = accesses(nest)[: len(nest.ins) - nest.n_epilogue_inputs]
    mine = [w for w in access_list if (step := w.step(own)) is not None and step.terms]
    return any((step := w.step(k)) is not None and step.const == 1 for w in mine)


def point_of_contraction(
    nest: kernel.GenericOp, factors: MatmulOperands, batch: Mapping[Sym, Dim], row: Dim, column: Dim, k: Dim
) -> dict[Sym, Dim]:
    """Where the iterators of a contraction stand at a row and a column of its results and an element along K."""
    extents = nest.extents.data
    point = {**batch, Sym(f"d{nest.n_parallel}"): k}
    for iterators, linear in ((factors.left, row), (factors.right, column)):
        for i, index in zip(iterators, unravel(linear, [extents[i] for i in iterators])):
            point[Sym(f"d{i}")] = index
    return point
