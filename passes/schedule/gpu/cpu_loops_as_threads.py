"""CPU loops as threads of a GPU: what a CPU's thread does in one iteration, a thread of the grid does.

The schedule of what is rare or has an order that few threads can share: scans, scatters, transforms.  Loops for
threads and loops in lanes become grids; loops around them stay with the host; what is between them becomes a kernel of
one thread.  Memory of a worker becomes a column of a temporary: the same place of all threads lies side by side.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Block, Operation, SSAValue

from ....dialects import loop
from ....dialects.attributes import BufferInfo, dims_attr, integer_attr, scalar_dtype
from ....dialects.dims.dims import Dim, ceil_div, dim, minimum
from ....dialects.kernel.access import is_bound
from ...locations import copy_loc
from ...memory.arena import IvRange
from ..access import buffer_info, is_thread_memory
from ..body import ScheduleContext
from .builder import runs_on_host

__all__ = ["WITH_MEMORY", "map_cpu_loops_to_threads"]

#: Threads of a block, and of a grid where each needs memory of its own.
THREADS, WITH_MEMORY = 64, 2048


def map_cpu_loops_to_threads(context: ScheduleContext, loops: Block, block: Block) -> None:
    """Append what the loops of a CPU do, as kernels; `loops` is left without ops."""
    _Threads(context).host(list(loops.ops), block)


class _Threads:
    def __init__(self, context: ScheduleContext):
        self.context = context
        self._later: list[Operation] = []

    def host(self, ops: Iterable[Operation], block: Block) -> None:
        """Ops of the host: parallel loops and what contains them; runs of others become a kernel of one thread."""
        run: list[Operation] = []
        for op in ops:
            if _is_for_host(op):
                self._one_thread(run, block)
                self._host_op(op, block)
                run = []
            elif isinstance(op, loop.YieldOp):
                self._one_thread(run, block)
                op.detach()
                block.add_op(op)
                run = []
            else:
                run.append(op)
        self._one_thread(run, block)

    def _host_op(self, op: Operation, block: Block) -> None:
        before = block.last_op
        if isinstance(op, loop.ParallelOp) or _in_lanes(op):
            self._grid(op, block)
            copy_loc(op, block, before)
            return
        op.detach()
        if isinstance(op, loop.AllocOp) and op.scope.data == "thread":
            return
        if isinstance(op, loop.ForOp):
            self.context.ranges.append(IvRange(op.symbol, op.lower.data, op.upper.data - 1))
        for region in op.regions:
            inner = Block()
            self.host(list(region.block.ops), inner)
            region.detach_block(region.block)
            region.add_block(inner)
        if isinstance(op, loop.ForOp):
            self.context.ranges.pop()
        block.add_op(op)

    def _one_thread(self, run: list[Operation], block: Block) -> None:
        """A kernel of one thread for ops without a parallel loop; the host reads back what it needs of them.

        Numbers that the host has without reading anything are its own, and computed again in kernels.
        """
        inner = Block()
        for op in run:
            op.detach()
            own = runs_on_host(op) and not any(
                o.owner.parent is inner for o in op.operands if isinstance(o.owner, Operation)
            )
            (block if own else inner).add_op(op)
        for op in list(inner.ops):
            for value in op.results:
                outside = [use.operation for use in value.uses if not _is_within(use.operation, inner)]
                if outside:
                    self._hand_out(value, op, inner, block)
        if inner.ops.first is not None:
            number = self.context.new_iv()
            inner.add_op(loop.YieldOp())
            self._serial(inner)
            self._privatise(inner, block, number, dim(1))
            self._later.insert(0, self._nest(inner, dim(1), number, 1))
        block.add_ops(self._later)
        self._later = []

    def _hand_out(self, value: SSAValue, op: Operation, inner: Block, block: Block) -> None:
        """Let what comes behind a kernel use a value that it computes: by memory."""
        cell = self.context.allocate(block, BufferInfo(scalar_dtype(value.type), (dim(1),), (dim(1),)))
        inner.add_op(loop.StoreOp(value, cell, [dim(0)]))
        again = loop.LoadOp(cell, [dim(0)])
        self._later.append(again)
        value.replace_uses_with_if(again.results[0], lambda use: not _is_within(use.operation, inner))

    def _nest(self, body: Block, count: Dim, iterator: Dim, threads: int) -> loop.ParallelOp:
        """`count` threads, each with a number; memory of workers inside becomes a column for each."""
        start = self.context.new_iv()
        inner = loop.ParallelOp(str(iterator), start, minimum(count, start + threads), body, kind="gpu_thread")
        around = Block([inner, loop.YieldOp()])
        return loop.ParallelOp(str(start), 0, count, around, step=threads, kind="gpu_block", threads=threads)

    def _grid(self, op: Operation, block: Block) -> None:
        """The iterations of a parallel loop, or of one in lanes, as threads."""
        assert isinstance(op, loop.ParallelOp | loop.ForOp)
        lower, upper, step = op.lower.data, op.upper.data, op.step.data
        trips = ceil_div(upper - lower, step)
        body = op.regions[0].detach_block(0)
        op.detach()
        number, name = self.context.new_iv(), op.iv.data
        private = any(is_thread_memory(v) for inner in body.walk() for v in inner.operands)
        slots = self._slots(trips, upper - lower) if private else trips
        self._serial(body)
        self._privatise(body, block, number, slots)
        each = loop.ForOp(name, lower + number * step, upper, body, step=slots * step)
        block.add_op(self._nest(Block([each, loop.YieldOp()]), slots, number, THREADS))

    # Memory of workers

    def _slots(self, *trips: Dim) -> Dim:
        """How many threads have memory, which is there before anything is bound: by the first known of upper bounds."""
        known = (t for t in trips if not any(is_bound(s) for s in t.symbols()))
        return minimum(next(known, dim(WITH_MEMORY)), WITH_MEMORY)

    def _privatise(self, body: Block, block: Block, number: Dim, slots: Dim) -> None:
        """Temporaries with a last dim for the threads instead of memory of workers."""
        for op in list(body.walk()):
            if isinstance(op, loop.AllocOp) and op.scope.data == "thread":
                op.detach()
        made: dict[SSAValue, SSAValue] = {}
        for op in body.walk():
            if isinstance(op, loop.LoadOp | loop.StoreOp) and is_thread_memory(op.buffer):
                old = op.buffer
                if old not in made:
                    info = buffer_info(old)
                    strides = (*(s * slots for s in info.strides), dim(1))
                    made[old] = self.context.allocate(block, BufferInfo(info.dtype, (*info.dims, slots), strides))
                op.operands[op.operands.index(old) if isinstance(op, loop.LoadOp) else 1] = made[old]
                op.attributes["index"] = dims_attr((*op.index.data, number))

    def _serial(self, body: Block) -> None:
        """Loops inside a thread: without lanes, and those for threads as plain ones."""
        for op in list(body.walk()):
            if isinstance(op, loop.ForOp):
                op.attributes["vector"] = op.attributes["unroll"] = integer_attr(1)
            elif isinstance(op, loop.ReduceOp):
                op.attributes["vector"] = integer_attr(1)
            elif isinstance(op, loop.ParallelOp):
                inner = op.body.detach_block(0)
                plain = loop.ForOp(op.iv.data, op.lower.data, op.upper.data, inner, step=op.step.data)
                assert op.parent is not None
                op.parent.insert_op_before(plain, op)
                op.detach()


def _is_for_host(op: Operation) -> bool:
    if isinstance(op, loop.ParallelOp | loop.AllocOp | loop.BindOp) or _in_lanes(op):
        return True
    holds = any(isinstance(inner, loop.ParallelOp) or _in_lanes(inner) for inner in op.walk())
    return isinstance(op, loop.ForOp | loop.IfOp | loop.WhileOp) and holds and not op.results


def _in_lanes(op: Operation) -> bool:
    return isinstance(op, loop.ForOp) and op.lanes > 1


def _is_within(op: Operation | None, block: Block) -> bool:
    while op is not None:
        if op.parent is block:
            return True
        op = op.parent_op()
    return False
