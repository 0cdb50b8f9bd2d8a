"""What GPU schedules are made of: blocks of a grid, threads of a block, lanes of a thread, numbers of the host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block, Operation, SSAValue

from ....dialects import loop
from ....dialects.attributes import BufferInfo, dim_attr
from ....dialects.dims.dims import Dim, dim, minimum
from ..blocks import Range, parallel_loop
from ..body import ScheduleContext

__all__ = [
    "COMPARISONS",
    "HOST_OPS",
    "SharedMemory",
    "grid_loop",
    "lanes_of",
    "one_thread",
    "runs_on_host",
    "thread_grid",
    "thread_loop",
    "warp_loop",
]

#: Ops on whole numbers that the host computes itself, by the names that launch plans give them.
HOST_OPS = {
    "arith.addi": "add", "arith.andi": "and", "arith.divsi": "divide", "arith.ori": "or", "arith.select": "select",
    "arith.shli": "shift", "arith.subi": "subtract", "arith.xori": "xor",
}  # fmt: skip
#: And the predicates of `arith.cmpi`, signed ones, by their numbers.
COMPARISONS = ("eq", "ne", "slt", "sle", "sgt", "sge")


class SharedMemory:
    """Shared memory of a block, one array behind the other; `size` bytes so far."""

    def __init__(self) -> None:
        self.size = dim(0)

    def allocate(self, block: Block, info: BufferInfo) -> SSAValue:
        """An array whose rows, along the first dim, lie one after another."""
        made = loop.AllocOp(info, self.size, "shared")
        block.add_op(made)
        self.size = self.size + (info.dims[0] * info.strides[0] * info.dtype.bytes + 15) // 16 * 16
        return made.result


@contextmanager
def grid_loop(
    context: ScheduleContext, block: Block, upper: Dim | int, threads: int, *, step: int = 1,
    shared: Dim | int | SharedMemory = 0, aligned: Sequence[Dim] = (),
) -> Iterator[tuple[Block, Dim]]:  # fmt: skip
    """A grid at the end of a block: the body of its blocks, and the number that they have.

    Cooperative reductions get memory behind `shared`.
    """
    body, iterator = Block(), context.new_iv()
    yield body, iterator
    body.add_op(loop.YieldOp())
    made = loop.ParallelOp(str(iterator), 0, upper, body, step=step, kind="gpu_block", threads=threads, aligned=aligned)
    scratch = sum(op.block_bytes(threads) for op in made.walk() if isinstance(op, loop.ReduceOp | loop.MmaOp))
    used = shared.size if isinstance(shared, SharedMemory) else dim(shared)
    if (total := used + scratch) is not dim(0):
        made.attributes["shared"] = dim_attr(total)
    block.add_op(made)


@contextmanager
def thread_grid(context: ScheduleContext, block: Block, count: Dim, threads: int) -> Iterator[tuple[Block, Dim]]:
    """A grid with a thread for each of `count` numbers: its body, and its number."""
    with grid_loop(context, block, count, threads, step=threads) as (around, first):
        with thread_loop(context, around, first, minimum(count, first + threads)) as thread:
            yield thread


@contextmanager
def thread_loop(
    context: ScheduleContext, block: Block, lower: Dim | int, upper: Dim | int, kind: str = "gpu_thread"
) -> Iterator[tuple[Block, Dim]]:
    """Iterations for the threads of a block, or of a warp: the body of one, and its number."""
    iterator = context.new_iv()
    with parallel_loop(block, iterator, lower, upper, kind=kind) as body:
        yield body, iterator


def warp_loop(
    context: ScheduleContext, block: Block, lower: Dim | int, upper: Dim | int
) -> AbstractContextManager[tuple[Block, Dim]]:
    """Iterations for the warps of a block: the body of one, and its number."""
    return thread_loop(context, block, lower, upper, kind="gpu_warp")


@contextmanager
def one_thread(context: ScheduleContext, block: Block) -> Iterator[Block]:
    """What the first thread of a block does alone."""
    with thread_loop(context, block, 0, 1) as (body, _):
        yield body


def lanes_of(iterator: Dim, *, vector: int = 1, unroll: int = 1) -> Range:
    """So many lanes of a thread."""
    return Range(iterator, 0, vector * unroll, vector=vector, unroll=unroll)


def runs_on_host(op: Operation) -> bool:
    """Whether the host computes an op's number itself, given numbers of its own."""
    if isinstance(op, arith.CmpiOp):
        return op.predicate.value.data < len(COMPARISONS)
    if isinstance(op, arith.ConstantOp | loop.IndexOp):
        return True
    return op.name in HOST_OPS and isinstance(op.results[0].type, IntegerType)
