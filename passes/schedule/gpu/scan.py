"""Scans along contiguous memory to grids: a block of threads for each of the order's blocks of a row.

The order ``prefix<block, lanes>`` leaves this open: runs of `lanes` elements have a thread each, the elements of all
runs are merged with what the runs before them give at once, and so are those of all blocks.  What remains a chain, that
of a block's runs and that of a row's blocks, one thread goes along in shared memory.  A row of several blocks takes
three grids: the blocks' own totals, the chain of these, and the scan itself, which starts from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Block, SSAValue

from ....dialects import kernel, loop
from ....dialects.attributes import BufferInfo, scalar_dtype
from ....dialects.dims.dims import Dim, Sym, ceil_div, dim, minimum
from ....dialects.dims.index_map import product
from ..access import accesses, accumulator_types, order_of
from ..blocks import Range, carried_loop, for_loop, load_all, move, store_all
from ..body import ScheduleContext
from ..function import if_positive, materialize_dim
from ..language.axes import collapse_axes, point_of
from ..scan.column_tiles import doubled, is_exclusive
from .builder import SharedMemory, grid_loop, one_thread, thread_loop

__all__ = ["SHORT_ROW", "schedule_gpu_scan", "supports_scan"]

#: Threads of a block: few, so that many blocks are on their way while one thread of each goes along its chain.
THREADS = 128
#: Of rows with no more elements each has a thread.
SHORT_ROW = 64
#: Elements of a chain that are loaded at once.
LOADS_IN_FLIGHT = 8
_FIRST = (dim(0), dim(0))


def supports_scan(nest: kernel.GenericOp) -> bool:
    """Whether threads can share the scan of a row."""
    return nest.is_scan and nest.order is not None and nest.order.data.kind == "prefix"


def schedule_gpu_scan(
    context: ScheduleContext, nest: kernel.GenericOp, block: Block, short_rows: Callable[[Block], None]
) -> None:
    """Grids for a nest that `supports_scan`; `short_rows` writes those for rows that are too short to be shared."""
    scan = _Scan(context, nest)
    if scan.groups:
        if_positive(block, scan.length - SHORT_ROW, scan.write, short_rows)
    else:
        scan.write(block)


class _Scan:
    def __init__(self, context: ScheduleContext, nest: kernel.GenericOp):
        self.context, self.nest = context, nest
        self.groups = collapse_axes(nest, accesses(nest), 0, nest.n_parallel)
        self.extents = [g.extent for g in self.groups]
        self.results, self.length = product(self.extents), nest.extents.data[-1]
        self.size, self.lanes = order_of(nest).block, order_of(nest).lanes

    def write(self, block: Block) -> None:
        if_positive(block, self.length - self.size, self._in_blocks, self._in_one)

    def _in_one(self, block: Block) -> None:
        """A block for a row."""
        memory = SharedMemory()
        with grid_loop(self.context, block, self.results, THREADS, shared=memory) as (body, result):
            row_block = _RowBlock(self, body, memory, result, dim(0))
            row_block.scan()
            row_block.finish(self.context.identity(self.nest, body))

    def _in_blocks(self, block: Block) -> None:
        context, blocks = self.context, ceil_div(self.length, self.size)
        starts = context.accumulators(block, self.nest, (self.results, blocks))

        def grid(write: Callable[[_RowBlock, Sequence[Dim]], None]) -> None:
            memory = SharedMemory()
            with grid_loop(context, block, self.results * blocks, THREADS, shared=memory) as (body, number):
                index = [materialize_dim(context, body, e) for e in (number // blocks, number % blocks)]
                row_block = _RowBlock(self, body, memory, *index)
                row_block.scan()
                write(row_block, index)

        def total(row_block: _RowBlock, index: Sequence[Dim]) -> None:
            one = Block()
            store_all(one, row_block.within(one, row_block.count - 1), starts, index)
            with one_thread(context, row_block.body) as thread:
                move(one, thread)

        def finish(row_block: _RowBlock, index: Sequence[Dim]) -> None:
            row_block.finish(load_all(row_block.body, starts, index))

        grid(total)
        self._chain_of_blocks(block, starts, blocks)
        grid(finish)

    def _chain_of_blocks(self, block: Block, starts: Sequence[SSAValue], blocks: Dim) -> None:
        """The blocks' totals become what each of them starts from: a block for a row, which takes `size` at once."""
        context, capacity = self.context, self.size
        memory = SharedMemory()

        def copy(each: Block, targets: Sequence[SSAValue], sources: Sequence[SSAValue], here: bool) -> None:
            with thread_loop(context, each, 0, minimum(capacity, blocks - first)) as (one, index):
                near, far = [index, dim(0)], [result, first + index]
                for target, source in zip(targets, sources):
                    store_all(one, load_all(one, [source], far if here else near), [target], near if here else far)
            each.add_op(loop.BarrierOp())

        with grid_loop(context, block, self.results, THREADS, shared=memory) as (body, result):
            first = context.new_iv()
            totals, before, carried = (self.shared(body, memory, n) for n in (capacity, capacity, 1))
            with one_thread(context, body) as start:
                store_all(start, context.identity(self.nest, start), carried, _FIRST)
            chain = Block()
            ends = self.chain(
                chain, load_all(chain, carried, _FIRST), lambda at, into: load_all(into, totals, [at, dim(0)]),
                before, minimum(capacity, blocks - first),
            )  # fmt: skip
            store_all(chain, ends, carried, _FIRST)
            with for_loop(body, first, 0, blocks, step=capacity) as each:
                copy(each, totals, starts, True)
                with one_thread(context, each) as one:
                    move(chain, one)
                each.add_op(loop.BarrierOp())
                copy(each, starts, before, False)

    def chain(
        self, block: Block, inits: Sequence[SSAValue], load: Callable[[Dim, Block], list[SSAValue]],
        before: Sequence[SSAValue], count: Dim,
    ) -> list[SSAValue]:  # fmt: skip
        """Merge `count` accumulators in order, one thread's work; `before` gets what each is merged with.

        Gives the accumulators behind the last one, where `count` is a multiple of `LOADS_IN_FLIGHT`.
        """
        position = self.context.new_iv()

        def step(body: Block, accumulators: list[SSAValue]) -> list[SSAValue]:
            newer = [load(minimum(position + i, count - 1), body) for i in range(LOADS_IN_FLIGHT)]
            for i, merged in enumerate(newer):
                store_all(body, accumulators, before, [position + i, dim(0)])
                accumulators = self.context.combine(self.nest, [*accumulators, *merged], body)
            return accumulators

        return carried_loop(block, Range(position, 0, count, LOADS_IN_FLIGHT), inits, step)

    def shared(self, block: Block, memory: SharedMemory, rows: int, width: int = 1) -> list[SSAValue]:
        """An array for each accumulator; wide rows are an element longer, so that a column lies in different banks."""
        dims, strides = (dim(rows), dim(width)), (dim(width + 1 if width > 1 else 1), dim(1))
        types = map(scalar_dtype, accumulator_types(self.nest))
        return [memory.allocate(block, BufferInfo(dtype, dims, strides)) for dtype in types]


class _RowBlock:
    """A block's elements of a row, in shared memory: runs of lanes, and what comes before each run."""

    def __init__(self, scan: _Scan, body: Block, memory: SharedMemory, result: Dim, number: Dim):
        self.scan_, self.body = scan, body
        self.indices = scan.context.index_of(body, result, scan.extents)
        self.first = number * scan.size
        self.count = minimum(scan.size, scan.length - self.first)
        self.n_runs = ceil_div(self.count, scan.lanes)
        runs = scan.size // scan.lanes
        self.runs = scan.shared(body, memory, runs, scan.lanes)
        self.before = scan.shared(body, memory, runs)

    def scan(self) -> None:
        """Fill both; what is behind the last element comes from there again, and is not used."""
        for write in (self._elements, self._doubled, self._chained):
            write()
            self.body.add_op(loop.BarrierOp())

    def _point(self, index: Dim) -> dict[Sym, Dim]:
        along = self.scan_.nest.reduced
        return {**point_of(self.scan_.groups, self.indices), along: index}

    def _elements(self) -> None:
        scan = self.scan_
        with thread_loop(scan.context, self.body, 0, self.n_runs * scan.lanes) as (body, index):
            here = self._point(minimum(self.first + index, scan.length - 1))
            values = scan.context.body(scan.nest, here, body)
            store_all(body, values, self.runs, [index // scan.lanes, index % scan.lanes])

    def _doubled(self) -> None:
        """Each run scanned by doubling."""
        scan = self.scan_
        with thread_loop(scan.context, self.body, 0, self.n_runs) as (body, run):
            identity = scan.context.identity(scan.nest, body)
            lanes = [load_all(body, self.runs, [run, dim(lane)]) for lane in range(scan.lanes)]
            for lane, merged in enumerate(doubled(scan.context, scan.nest, body, identity, lanes)):
                store_all(body, merged, self.runs, [run, dim(lane)])

    def _chained(self) -> None:
        scan, chain = self.scan_, Block()
        scan.chain(
            chain, scan.context.identity(scan.nest, chain),
            lambda run, into: load_all(into, self.runs, [run, dim(scan.lanes - 1)]), self.before, self.n_runs,
        )  # fmt: skip
        with one_thread(scan.context, self.body) as one:
            move(chain, one)

    def within(self, block: Block, index: Dim) -> list[SSAValue]:
        """The accumulators of the block's elements up to one of them."""
        context, lanes = self.scan_.context, self.scan_.lanes
        run, lane = (materialize_dim(context, block, e) for e in (index // lanes, index % lanes))
        older, newer = load_all(block, self.before, [run, dim(0)]), load_all(block, self.runs, [run, lane])
        return self.scan_.context.combine(self.scan_.nest, [*older, *newer], block)

    def finish(self, inits: Sequence[SSAValue]) -> None:
        """Store what is made of the accumulators at each element; the row's accumulators before the block are
        `inits`."""
        context, nest = self.scan_.context, self.scan_.nest
        first = 1 if is_exclusive(nest) else 0
        if first:
            start = Block()
            context.epilogue(nest, list(inits), self._point(self.first), start)
            with thread_loop(context, self.body, 0, minimum(self.count, 1)) as (one, _):
                move(start, one)
        with thread_loop(context, self.body, first, self.count) as (body, index):
            accumulators = context.combine(nest, [*inits, *self.within(body, index - first)], body)
            context.epilogue(nest, accumulators, self._point(self.first + index), body)
