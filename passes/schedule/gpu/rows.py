"""Rows to grids: the nests of a row one after another, by the threads of a warp or, for long rows, of a block.

What the nests hand each other stays with the threads: one number a row in registers, a row in shared memory, where also
comes what several of them read, so that it is loaded once.  Rows too long for that have a temporary for each
block, whose number is bounded then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import Block, SSAValue

from ....dialects import kernel, loop
from ....dialects.attributes import BufferInfo
from ....dialects.dims.dims import Dim, Sym, dim, maximum, minimum
from ....dialects.dims.index_map import product, unravel
from ..access import at_iterators, buffer_info
from ..blocks import for_loop, for_loops
from ..body import ScheduleContext
from ..function import if_positive
from ..reduce.core import reduce_loop
from ..rows.staging import in_place_rows, is_row_buffer, stage_shared_rows
from .builder import SharedMemory, grid_loop, lanes_of, thread_loop, warp_loop
from .map import LaunchShape
from .reduce import supports

__all__ = ["WARP", "RowKernel", "is_number", "schedule_gpu_rows", "supports_rows"]

#: Shared memory that rows may take, and blocks that rows in other memory are shared by.
SHARED, BLOCKS = 40 << 10, 512
#: Rows of more elements have a block each; of fewer a warp.
LONG_ROW = 1024
WARP = 32


def supports_rows(nests: Sequence[kernel.GenericOp]) -> bool:
    """Whether threads can share every nest of a row."""
    return all(not nest.is_reduction or supports(nest) for nest in nests)


def schedule_gpu_rows(context: ScheduleContext, rows: kernel.RowGroupOp, block: Block, grid: LaunchShape) -> None:
    """Grids for rows that `supports_rows`."""
    plain = _Rows(context, rows.nests, rows.n_shared, grid)
    once = _Rows(context, stage_shared_rows(rows.nests, rows.n_shared), rows.n_shared, grid)
    warps, size = grid.threads // WARP, once.row_bytes

    def of_blocks(inner: Block) -> None:
        if once.rows:
            if_positive(inner, SHARED + 1 - size, once.in_blocks, plain.spill_rows if plain.rows else plain.in_blocks)
        else:
            once.in_blocks(inner)

    if_positive(block, minimum(LONG_ROW + 1 - once.length, SHARED + 1 - size * warps), once.in_warps, of_blocks)


class _Rows:
    def __init__(self, context: ScheduleContext, nests: Sequence[kernel.GenericOp], shared: int, grid: LaunchShape):
        self.context, self.nests, self.shared, self.grid = context, nests, shared, grid
        self.extents = self.nests[0].extents.data[: self.shared]
        self.count = product(self.extents)
        self.length = dim(1)
        for nest in self.nests:
            self.length = maximum(self.length, product(nest.extents.data[self.shared :]))
        self.in_registers = {v for nest in self.nests for v in nest.outs if is_number(v, nest, self.nests, shared)}
        self.rows = [v for v in dict.fromkeys(v for n in self.nests for v in n.outs) if is_row_buffer(v)]
        self.rows = [v for v in self.rows if v not in self.in_registers]
        #: Rows that replace others.
        self.instead = in_place_rows(self.nests, self.rows)
        self.rows = [v for v in self.rows if v not in self.instead]

    @property
    def row_bytes(self) -> Dim:
        """Memory for what the nests of one row hand each other."""
        return sum((_bytes(buffer_info(v)) for v in self.rows), dim(0))

    # Who has a row, and where what it hands on is

    def in_warps(self, block: Block) -> None:
        warps, shared = self.grid.threads // WARP, SharedMemory()
        with grid_loop(self.context, block, self.count, warps * WARP, step=warps, shared=shared) as (around, first):
            with warp_loop(self.context, around, first, minimum(self.count, first + warps)) as (body, row):
                self._take_shared(around, shared, warps, row - first)
                self._row(body, row, WARP)

    def in_blocks(self, block: Block) -> None:
        shared = SharedMemory()
        with grid_loop(self.context, block, self.count, self.grid.threads, shared=shared) as (body, row):
            self._take_shared(body, shared, 1, dim(0))
            self._row(body, row, self.grid.threads)

    def spill_rows(self, block: Block) -> None:
        """Blocks that take one row after another, with a row of a temporary for each."""
        blocks = minimum(self.count, BLOCKS)
        with grid_loop(self.context, block, blocks, self.grid.threads) as (each, number):
            row = self.context.new_iv()
            for value in self.rows:
                memory = self.context.allocate(block, _several(buffer_info(value), blocks))
                self.context.subviews[value] = memory, (number,)
            self._take_indices()
            with for_loop(each, row, number, self.count, step=blocks) as body:
                self._row(body, row, self.grid.threads)
                body.add_op(loop.BarrierOp())

    def _take_shared(self, block: Block, shared: SharedMemory, copies: int, group: Dim) -> None:
        """Shared memory for the rows of so many groups, of which this is one."""
        for value in self.rows:
            memory = shared.allocate(block, _several(buffer_info(value), dim(copies)))
            self.context.subviews[value] = memory, (group,)
        self._take_indices()

    def _take_indices(self) -> None:
        for value, first in self.instead.items():
            while first in self.instead:
                first = self.instead[first]
            self.context.subviews[value] = self.context.subviews[first]

    def _row(self, block: Block, row: Dim, threads: int) -> None:
        context = self.context
        done = at_iterators(range(self.shared), context.index_of(block, row, self.extents))
        nests = RowKernel(context, self.nests, self.grid, self.in_registers, self.instead)
        nests.write(block, done, threads, LONG_ROW if threads == WARP else None)
        context.subviews = {v: p for v, p in context.subviews.items() if v not in self.rows and v not in self.instead}


def is_number(value: SSAValue, nest: kernel.GenericOp, nests: Sequence[kernel.GenericOp], shared: int) -> bool:
    """Whether a nest makes one element a row of a value, which all nests read as it is."""
    if nest.n_outer != shared:
        return False
    for other in nests:
        if any(v is value and m.guards for v, m in zip(other.ins, other.maps_in())):
            return False
        if any(op.source is value for op in other.walk() if isinstance(op, kernel.ReadOp)):
            return False
    return True


class RowKernel:
    """Writes the nests of one row, one after another, for threads that share it.

    Values `in_registers` are one number a row; `instead` gives the values that replace others' memory.
    """

    def __init__(
        self, context: ScheduleContext, nests: Sequence[kernel.GenericOp], grid: LaunchShape,
        in_registers: set[SSAValue], instead: Mapping[SSAValue, SSAValue],
    ):  # fmt: skip
        self.context, self.nests, self.grid = context, nests, grid
        self.in_registers, self.instead = in_registers, instead
        made = {v for nest in nests for v in nest.outs}
        self.passed = {v for nest in nests for v in nest.ins if v in made and v not in in_registers}

    def write(self, block: Block, done: dict[Sym, Dim], threads: int, most: int | None = None) -> None:
        """The row at the indices of the shared iterators that are `done`; reductions are of `most` elements at most."""
        context = self.context
        context.scalar_buffers, context.scalar_values = self.in_registers, {}
        read: set[SSAValue] = set()
        for nest in self.nests:
            if any(self.instead.get(v, v) in read for v in nest.outs):
                block.add_op(loop.BarrierOp())
            self._nest(nest, block, done, threads, most)
            if not nest.is_reduction:  # a reduction that threads share ends when all have read
                read.update(nest.ins)
            if self.passed & set(nest.outs):
                block.add_op(loop.BarrierOp())
                read.clear()
        context.scalar_buffers, context.scalar_values = set(), {}

    def _nest(
        self, nest: kernel.GenericOp, block: Block, done: dict[Sym, Dim], threads: int, most: int | None
    ) -> None:  # fmt: skip
        shared = len(done)
        inner = nest.extents.data[shared : nest.n_parallel]

        def point(point_index: Dim) -> dict[Sym, Dim]:
            return done | at_iterators(range(shared, nest.n_parallel), unravel(point_index, inner))

        def element(body: Block, point_index: Dim) -> None:
            here = point(point_index)
            self.context.store(nest, self.context.body(nest, here, body), here, body)

        def reduce_element(body: Block, point_index: Dim) -> None:
            here = point(point_index)
            length = nest.extents.data[-1]
            upper = length if most is None else minimum(length, most)
            accumulators = reduce_loop(self.context, nest, body, here, dim(0), upper, 1, cooperative=True)
            self.context.epilogue(nest, accumulators, here, body)

        if not nest.is_reduction:
            if inner:
                self._spread(block, product(inner), threads, self.grid.copies(nest), element)
            else:
                element(block, dim(0))
        elif inner:
            point_index = self.context.new_iv()
            with for_loop(block, point_index, 0, product(inner)) as body:
                reduce_element(body, point_index)
        else:
            reduce_element(block, dim(0))

    def _spread(
        self, block: Block, extent: Dim, threads: int, copies: int, store: Callable[[Block, Dim], None]
    ) -> None:
        """The elements of a row, several a thread at once, a group's width apart."""
        context, run, start = self.context, threads * copies, self.context.new_iv()

        def whole(inner: Block) -> None:
            with thread_loop(context, inner, 0, threads) as (each, thread):
                copy = context.new_iv()
                with for_loops(each, lanes_of(copy, unroll=copies)) as one:
                    store(one, start + copy * threads + thread)

        def rest(inner: Block) -> None:
            with thread_loop(context, inner, start, extent) as (one, point_index):
                store(one, point_index)

        with for_loop(block, start, 0, extent, step=run) as body:
            if_positive(body, extent - start - (run - 1), whole, rest)


def _several(info: BufferInfo, count: Dim) -> BufferInfo:
    """Memory for several of a buffer, one after another."""
    size = product(info.dims)
    return BufferInfo(info.dtype, (count, *info.dims), (size, *info.strides))


def _bytes(info: BufferInfo) -> Dim:
    return (product(info.dims) * info.dtype.bytes + 15) // 16 * 16
