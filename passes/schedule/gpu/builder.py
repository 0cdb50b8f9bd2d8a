"""What GPU schedules are made of: blocks of a grid, threads of a block, lanes of a thread, numbers of the host."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block, Operation

from ....dialects import loop
from ....dialects.attributes import dim_attr
from ....dialects.dims.dims import Dim, dim

__all__ = ["COMPARISONS", "HOST_OPS", "grid_loop", "runs_on_host", "thread_loop", "vector_loop"]

#: Ops on whole numbers that the host computes itself, by the names that launch plans give them.
HOST_OPS = {
    "arith.addi": "add", "arith.andi": "and", "arith.divsi": "divide", "arith.ori": "or", "arith.select": "select",
    "arith.shli": "shift", "arith.subi": "subtract", "arith.xori": "xor",
}  # fmt: skip
#: And the predicates of `arith.cmpi`, signed ones, by their numbers.
COMPARISONS = ("eq", "ne", "slt", "sle", "sgt", "sge")


def grid_loop(
    iterator: Dim, upper: Dim | int, body: Block, threads: int, *, step: int = 1, shared: Dim | int = 0,
    aligned: Sequence[Dim] = (),
) -> loop.ParallelOp:  # fmt: skip
    """Blocks of a grid around a body, which is ended here; cooperative reductions get memory behind `shared`."""
    body.add_op(loop.YieldOp())
    made = loop.ParallelOp(str(iterator), 0, upper, body, step=step, kind="gpu_block", threads=threads, aligned=aligned)
    scratch = sum(op.block_bytes(threads) for op in made.walk() if isinstance(op, loop.ReduceOp | loop.MmaOp))
    if (total := dim(shared) + scratch) is not dim(0):
        made.attributes["shared"] = dim_attr(total)
    return made


def thread_loop(iterator: Dim, lower: Dim | int, upper: Dim | int, body: Block) -> loop.ParallelOp:
    """Iterations for the threads of a block around a body, which is ended here."""
    body.add_op(loop.YieldOp())
    return loop.ParallelOp(str(iterator), lower, upper, body, kind="gpu_thread")


def vector_loop(iterator: Dim, body: Block, *, vector: int = 1, unroll: int = 1) -> Block:
    """A block with a loop of so many lanes around a body, which is ended here."""
    body.add_op(loop.YieldOp())
    return Block([loop.ForOp(str(iterator), 0, vector * unroll, body, vector=vector, unroll=unroll)])


def runs_on_host(op: Operation) -> bool:
    """Whether the host computes an op's number itself, given numbers of its own."""
    if isinstance(op, arith.CmpiOp):
        return op.predicate.value.data < len(COMPARISONS)
    if isinstance(op, arith.ConstantOp | loop.IndexOp):
        return True
    return op.name in HOST_OPS and isinstance(op.results[0].type, IntegerType)
