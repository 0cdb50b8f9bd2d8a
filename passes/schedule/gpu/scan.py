"""Scans along contiguous memory to grids: a block of threads for each of the order's blocks of a row.

The order ``prefix<block, lanes>`` leaves this open: runs of `lanes` elements have a thread each, the elements of all
runs are merged with what the runs before them give at once, and so are those of all blocks.  What remains a chain, that
of a block's runs and that of a row's blocks, one thread goes along in shared memory.  A row of several blocks takes
three grids: the blocks' own totals, the chain of these, and the scan itself, which starts from there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Attribute, Block, SSAValue

from ....dialects import kernel, loop
from ....dialects.attributes import BufferInfo, scalar_dtype
from ....dialects.dims.dims import Dim, Sym, dim, minimum, packed_strides
from ....dialects.dims.index_map import product, unravel
from ..body import ScheduleContext, accesses, accumulator_types, if_positive, materialize_dim
from ..language.axes import collapse_axes, point_of
from .builder import grid_loop, thread_loop

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
        assert nest.order is not None
        self.context, self.nest = context, nest
        self.groups = collapse_axes(nest, accesses(nest), 0, nest.n_parallel)
        self.extents = [g.extent for g in self.groups]
        self.results, self.length = product(self.extents), nest.extents.data[-1]
        self.size, self.lanes = nest.order.data.block, nest.order.data.lanes
        self.types = accumulator_types(nest)

    def write(self, block: Block) -> None:
        if_positive(block, self.length - self.size, self._in_blocks, self._in_one)

    def _in_one(self, block: Block) -> None:
        """A block for a row."""
        result, body = self.context.new_iv(), Block()
        row_block = _RowBlock(self, body, result, dim(0))
        row_block.scan()
        row_block.finish(self.context.identity(self.nest, body))
        block.add_op(grid_loop(result, self.results, body, THREADS, shared=row_block.memory.size))

    def _in_blocks(self, block: Block) -> None:
        context, blocks = self.context, (self.length + (self.size - 1)) // self.size
        dims = (self.results, blocks)
        starts = [context.allocate(block, BufferInfo(scalar_dtype(t), dims, packed_strides(dims))) for t in self.types]

        def grid(write: Callable[[_RowBlock, Sequence[Dim]], None]) -> None:
            number, body = context.new_iv(), Block()
            index = [materialize_dim(context, body, e) for e in (number // blocks, number % blocks)]
            row_block = _RowBlock(self, body, *index)
            row_block.scan()
            write(row_block, index)
            block.add_op(grid_loop(number, self.results * blocks, body, THREADS, shared=row_block.memory.size))

        def total(row_block: _RowBlock, index: Sequence[Dim]) -> None:
            one = Block()
            accumulators = row_block.within(one, row_block.count - 1)
            one.add_ops([loop.StoreOp(v, buffer, index) for v, buffer in zip(accumulators, starts)])
            row_block.body.add_op(thread_loop(context.new_iv(), 0, 1, one))

        def finish(row_block: _RowBlock, index: Sequence[Dim]) -> None:
            loads = [loop.LoadOp(buffer, index) for buffer in starts]
            row_block.body.add_ops(loads)
            row_block.finish([load.result for load in loads])

        grid(total)
        self._chain_of_blocks(block, starts, blocks)
        grid(finish)

    def _chain_of_blocks(self, block: Block, starts: Sequence[SSAValue], blocks: Dim) -> None:
        """The blocks' totals become what each of them starts from: a block for a row, which takes `size` at once."""
        context, capacity = self.context, self.size
        result, first, body = context.new_iv(), context.new_iv(), Block()
        memory = SharedAllocator(body)
        totals, before, carried = (memory.of(self.types, n) for n in (capacity, capacity, 1))
        start = Block()
        for value, cell in zip(context.identity(self.nest, start), carried):
            start.add_op(loop.StoreOp(value, cell, _FIRST))
        body.add_op(thread_loop(context.new_iv(), 0, 1, start))

        def copies(targets: Sequence[SSAValue], sources: Sequence[SSAValue], here: bool) -> loop.ParallelOp:
            index, one = context.new_iv(), Block()
            near, far = [index, dim(0)], [result, first + index]
            for target, source in zip(targets, sources):
                load = loop.LoadOp(source, far if here else near)
                one.add_ops([load, loop.StoreOp(load.result, target, near if here else far)])
            return thread_loop(index, 0, minimum(capacity, blocks - first), one)

        chain = Block()
        loads = [loop.LoadOp(cell, _FIRST) for cell in carried]
        chain.add_ops(loads)
        ends = self.chain(
            chain, [load.result for load in loads], lambda at, into: _loaded(totals, [at, dim(0)], into), before,
            minimum(capacity, blocks - first),
        )  # fmt: skip
        chain.add_ops([loop.StoreOp(v, cell, _FIRST) for v, cell in zip(ends, carried)])
        each = Block()
        each.add_ops([copies(totals, starts, True), loop.BarrierOp()])
        each.add_ops([thread_loop(context.new_iv(), 0, 1, chain), loop.BarrierOp()])
        each.add_ops([copies(starts, before, False), loop.BarrierOp(), loop.YieldOp()])
        body.add_op(loop.ForOp(str(first), 0, blocks, each, step=capacity))
        block.add_op(grid_loop(result, self.results, body, THREADS, shared=memory.size))

    def chain(
        self,
        block: Block,
        inits: Sequence[SSAValue],
        load: Callable[[Dim, Block], list[SSAValue]],
        before: Sequence[SSAValue],
        count: Dim,
    ) -> list[SSAValue]:
        """Merge `count` accumulators in order, one thread's work; `before` gets what each is merged with.

        Gives the accumulators behind the last one, where `count` is a multiple of `LOADS_IN_FLIGHT`.
        """
        position, body = self.context.new_iv(), Block(arg_types=self.types)
        newer = [load(minimum(position + i, count - 1), body) for i in range(LOADS_IN_FLIGHT)]
        accumulators = list(body.args)
        for i, merged in enumerate(newer):
            body.add_ops([loop.StoreOp(v, buffer, [position + i, dim(0)]) for v, buffer in zip(accumulators, before)])
            accumulators = self.context.combine(self.nest, [*accumulators, *merged], body)
        body.add_op(loop.YieldOp(*accumulators))
        made = loop.ForOp(str(position), 0, count, body, step=LOADS_IN_FLIGHT, inits=inits)
        block.add_op(made)
        return list(made.outs)


class SharedAllocator:
    """Shared memory, one array behind the other."""

    def __init__(self, block: Block):
        self.block, self.size = block, dim(0)

    def of(self, types: Sequence[Attribute], rows: int, width: int = 1) -> list[SSAValue]:
        """An array for each accumulator; wide rows are an element longer, so that a column lies in different banks."""
        found: list[SSAValue] = []
        stride = width + 1 if width > 1 else 1
        for accumulator in types:
            info = BufferInfo(scalar_dtype(accumulator), (dim(rows), dim(width)), (dim(stride), dim(1)))
            made = loop.AllocOp(info, self.size, "shared")
            self.block.add_op(made)
            found.append(made.result)
            self.size = self.size + (rows * stride * info.dtype.bytes + 15) // 16 * 16
        return found


class _RowBlock:
    """A block's elements of a row, in shared memory: runs of lanes, and what comes before each run."""

    def __init__(self, scan: _Scan, body: Block, result: Dim, number: Dim):
        self.scan_, self.body, context = scan, body, scan.context
        indices: Sequence[Dim] = unravel(result, scan.extents)
        self.indices = [materialize_dim(context, body, p) for p in indices] if len(indices) > 1 else indices
        self.first = number * scan.size
        self.count = minimum(scan.size, scan.length - self.first)
        self.n_runs = (self.count + (scan.lanes - 1)) // scan.lanes
        self.memory = SharedAllocator(body)
        runs = scan.size // scan.lanes
        self.runs = self.memory.of(scan.types, runs, scan.lanes)
        self.before = self.memory.of(scan.types, runs)

    def scan(self) -> None:
        """Fill both; what is behind the last element comes from there again, and is not used."""
        self.body.add_ops([self._elements(), loop.BarrierOp(), self._doubled(), loop.BarrierOp()])
        self.body.add_ops([self._chained(), loop.BarrierOp()])

    def _point(self, index: Dim) -> dict[Sym, Dim]:
        along = Sym(f"d{self.scan_.nest.n_parallel}")
        return {**point_of(self.scan_.groups, self.indices), along: index}

    def _elements(self) -> loop.ParallelOp:
        scan, index, body = self.scan_, self.scan_.context.new_iv(), Block()
        here = self._point(minimum(self.first + index, scan.length - 1))
        where = [index // scan.lanes, index % scan.lanes]
        for value, buffer in zip(scan.context.body(scan.nest, here, body), self.runs):
            body.add_op(loop.StoreOp(value, buffer, where))
        return thread_loop(index, 0, self.n_runs * scan.lanes, body)

    def _doubled(self) -> loop.ParallelOp:
        """Each run scanned by doubling, as the order says."""
        scan, run, body = self.scan_, self.scan_.context.new_iv(), Block()
        identity = scan.context.identity(scan.nest, body)
        accumulators = [_loaded(self.runs, [run, dim(lane)], body) for lane in range(scan.lanes)]
        step = 1
        while step < scan.lanes:
            older = [*[identity] * step, *accumulators[:-step]]
            accumulators = [
                scan.context.combine(scan.nest, [*o, *n], body) for o, n in zip(older, accumulators, strict=True)
            ]
            step *= 2
        for lane, merged in enumerate(accumulators):
            body.add_ops([loop.StoreOp(v, buffer, [run, dim(lane)]) for v, buffer in zip(merged, self.runs)])
        return thread_loop(run, 0, self.n_runs, body)

    def _chained(self) -> loop.ParallelOp:
        scan, body = self.scan_, Block()
        scan.chain(
            body, scan.context.identity(scan.nest, body),
            lambda run, into: _loaded(self.runs, [run, dim(scan.lanes - 1)], into), self.before, self.n_runs,
        )  # fmt: skip
        return thread_loop(scan.context.new_iv(), 0, 1, body)

    def within(self, block: Block, index: Dim) -> list[SSAValue]:
        """The accumulators of the block's elements up to one of them."""
        run, lane = (
            materialize_dim(self.scan_.context, block, e) for e in (index // self.scan_.lanes, index % self.scan_.lanes)
        )
        older, newer = _loaded(self.before, [run, dim(0)], block), _loaded(self.runs, [run, lane], block)
        return self.scan_.context.combine(self.scan_.nest, [*older, *newer], block)

    def finish(self, inits: Sequence[SSAValue]) -> None:
        """Store what is made of the accumulators at each element; the row's accumulators before the block are
        `inits`."""
        context, nest = self.scan_.context, self.scan_.nest
        exclusive = nest.scan is not None and nest.scan.data == "exclusive"
        if exclusive:
            start = Block()
            context.epilogue(nest, list(inits), self._point(self.first), start)
            self.body.add_op(thread_loop(context.new_iv(), 0, minimum(self.count, 1), start))
        index, body = context.new_iv(), Block()
        accumulators = context.combine(nest, [*inits, *self.within(body, index - 1 if exclusive else index)], body)
        context.epilogue(nest, accumulators, self._point(self.first + index), body)
        self.body.add_op(thread_loop(index, 1 if exclusive else 0, self.count, body))


def _loaded(buffers: Sequence[SSAValue], index: Sequence[Dim], block: Block) -> list[SSAValue]:
    loads = [loop.LoadOp(buffer, list(index)) for buffer in buffers]
    block.add_ops(loads)
    return [load.result for load in loads]
