"""CPU loops as threads of a GPU: what a CPU's thread does in one iteration, a thread of the grid does.

The schedule of what is rare or has an order that few threads can share: scans, scatters, transforms.  Loops for
threads and loops in lanes become grids; loops around them stay with the host; what is between them becomes a kernel of
one thread.  Memory of a worker becomes a column of a temporary: the same place of all threads lies side by side.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, SSAValue

from ..dialects import loop
from ..dialects.attributes import BufferInfo, dims_attr
from ..dialects.dims import Dim, dim, minimum
from .locations import carry_loc
from .loop_writer import LoopWriter, buffer_info
from .memory import LoopRange

__all__ = ["write_as_threads"]

#: Threads of a block, and of a grid where each needs memory of its own.
THREADS, WITH_MEMORY = 64, 2048


def write_as_threads(writer: LoopWriter, loops: Block, block: Block) -> None:
    """Append what the loops of a CPU do, as kernels; `loops` is left without ops."""
    _Threads(writer).host(list(loops.ops), block)


class _Threads:
    def __init__(self, writer: LoopWriter):
        self.writer = writer

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
            carry_loc(op, block, before)
            return
        op.detach()
        if isinstance(op, loop.AllocOp) and op.scope.data == "thread":
            return
        if isinstance(op, loop.ForOp):
            self.writer.ranges.append(LoopRange(op.symbol, op.lower.data, op.upper.data - 1))
        for region in op.regions:
            inner = Block()
            self.host(list(region.block.ops), inner)
            region.detach_block(region.block)
            region.add_block(inner)
        if isinstance(op, loop.ForOp):
            self.writer.ranges.pop()
        block.add_op(op)

    def _one_thread(self, run: list[Operation], block: Block) -> None:
        """A kernel of one thread for ops without a parallel loop; what the host needs of them, it does itself."""
        if not run:
            return
        kept = _needed_by_host(run)
        inner, values = Block(), dict[SSAValue, SSAValue]()
        for op in run:
            op.detach()
            if op not in kept:
                inner.add_op(op)
            elif isinstance(op, arith.ConstantOp | loop.IndexOp):
                block.add_op(op)
                again = op.clone()
                inner.add_op(again)
                values[op.results[0]] = again.results[0]
        for old, new in values.items():
            old.replace_uses_with_if(new, lambda use: _block_around(use.operation, inner))
        if any(not isinstance(op, arith.ConstantOp | loop.IndexOp) for op in inner.ops):
            inner.add_op(loop.YieldOp())
            number = self.writer.fresh()
            self._serial(inner)
            self._privatise(inner, block, number, dim(1))
            block.add_op(self._nest(inner, dim(1), number, 1))
        block.add_ops([op for op in run if op in kept and op.parent is None])

    def _nest(self, body: Block, count: Dim, iterator: Dim, threads: int) -> loop.ParallelOp:
        """`count` threads, each with a number; memory of workers inside becomes a column for each."""
        start = self.writer.fresh()
        inner = loop.ParallelOp(str(iterator), start, minimum(count, start + threads), body, kind="gpu_thread")
        around = Block([inner, loop.YieldOp()])
        return loop.ParallelOp(str(start), 0, count, around, step=threads, kind="gpu_block", threads=threads)

    def _grid(self, op: Operation, block: Block) -> None:
        """The iterations of a parallel loop, or of one in lanes, as threads."""
        assert isinstance(op, loop.ParallelOp | loop.ForOp)
        lower, upper, step = op.lower.data, op.upper.data, op.step.data
        trips = (upper - lower + (step - 1)) // step
        body = op.regions[0].detach_block(0)
        op.detach()
        number, name = self.writer.fresh(), op.iv.data
        private = any(_is_private(v) for inner in body.walk() for v in inner.operands)
        slots = minimum(trips, WITH_MEMORY) if private else trips
        self._serial(body)
        self._privatise(body, block, number, slots)
        each = loop.ForOp(name, lower + number * step, upper, body, step=slots * step)
        block.add_op(self._nest(Block([each, loop.YieldOp()]), slots, number, THREADS))

    # Memory of workers

    def _privatise(self, body: Block, block: Block, number: Dim, slots: Dim) -> None:
        """Temporaries with a last dim for the threads instead of memory of workers."""
        for op in list(body.walk()):
            if isinstance(op, loop.AllocOp) and op.scope.data == "thread":
                op.detach()
        made: dict[SSAValue, SSAValue] = {}
        for op in body.walk():
            if isinstance(op, loop.LoadOp | loop.StoreOp) and _is_private(op.buffer):
                old = op.buffer
                if old not in made:
                    info = buffer_info(old)
                    strides = (*(s * slots for s in info.strides), dim(1))
                    made[old] = self.writer.allocate(block, BufferInfo(info.dtype, (*info.dims, slots), strides))
                op.operands[op.operands.index(old) if isinstance(op, loop.LoadOp) else 1] = made[old]
                op.attributes["index"] = dims_attr((*op.index.data, number))

    def _serial(self, body: Block) -> None:
        """Loops inside a thread: without lanes, and those for threads as plain ones."""
        for op in list(body.walk()):
            if isinstance(op, loop.ForOp):
                op.attributes["vector"] = op.attributes["unroll"] = loop.integer(1)
            elif isinstance(op, loop.ReduceOp):
                op.attributes["vector"] = loop.integer(1)
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


def _is_private(value: SSAValue) -> bool:
    return isinstance(value.owner, loop.AllocOp) and value.owner.scope.data == "thread"


def _in_lanes(op: Operation) -> bool:
    return isinstance(op, loop.ForOp) and op.lanes > 1


def _needed_by_host(run: list[Operation]) -> set[Operation]:
    """The ops of a run whose results something outside of it uses, with all that these need, and all constants."""
    inside = set(run)

    def within(op: Operation | None) -> bool:
        while op is not None and op not in inside:
            op = op.parent_op()
        return op is not None

    kept: set[Operation] = set()
    stack = [op for op in run if any(not within(use.operation) for r in op.results for use in r.uses)]
    while stack:
        op = stack.pop()
        if op not in kept:
            kept.add(op)
            stack.extend(o.owner for o in op.operands if isinstance(o.owner, Operation) and o.owner in inside)
    return kept


def _block_around(op: Operation | None, block: Block) -> bool:
    while op is not None:
        if op.parent is block:
            return True
        op = op.parent_op()
    return False
