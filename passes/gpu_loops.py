"""Loops that GPU schedules are made of: blocks of a grid, threads of a block, lanes of a thread."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block

from ..dialects import loop
from ..dialects.attributes import dim_attr
from ..dialects.dims import Dim, dim

__all__ = ["gpu_block", "gpu_threads", "in_lanes"]


def gpu_block(
    iterator: Dim, upper: Dim | int, body: Block, threads: int, *, step: int = 1, shared: Dim | int = 0,
    zeros: Sequence[Dim] = (),
) -> loop.ParallelOp:  # fmt: skip
    """Blocks of a grid around a body, which is ended here; folds that they share get memory behind `shared`."""
    body.add_op(loop.YieldOp())
    made = loop.ParallelOp(str(iterator), 0, upper, body, step=step, kind="gpu_block", threads=threads, zeros=zeros)
    scratch = sum(op.block_bytes(threads) for op in made.walk() if isinstance(op, loop.ReduceOp))
    if (total := dim(shared) + scratch) is not dim(0):
        made.attributes["shared"] = dim_attr(total)
    return made


def gpu_threads(iterator: Dim, lower: Dim | int, upper: Dim | int, body: Block) -> loop.ParallelOp:
    """Iterations for the threads of a block around a body, which is ended here."""
    body.add_op(loop.YieldOp())
    return loop.ParallelOp(str(iterator), lower, upper, body, kind="gpu_thread")


def in_lanes(iterator: Dim, body: Block, *, vector: int = 1, unroll: int = 1) -> Block:
    """A block with a loop of so many lanes around a body, which is ended here."""
    body.add_op(loop.YieldOp())
    return Block([loop.ForOp(str(iterator), 0, vector * unroll, body, vector=vector, unroll=unroll)])
