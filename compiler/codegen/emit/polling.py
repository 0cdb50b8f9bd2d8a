"""Where long loops ask whether to go on: by a rough count of instructions, never in a vector loop.

A call ends soon after a signal if code *polls* every now and then, and nobody notices the polls if there are some
thousand instructions between two.  So

- a loop polls in each iteration whose length has no bound (it holds a loop of run-time size) or is `OFTEN` and more;
- one of shorter iterations polls after each *strip* of them, together `STRIP` instructions long, unless all of them are
  fewer: its body stays as it is, in a loop over strips;
- a ``while`` of short iterations counts them, and polls after `OFTEN` instructions;
- loops in vector lanes do not poll: what is around them does.
"""

from __future__ import annotations

from math import inf

from xdsl.dialects import scf
from xdsl.ir import Block, Operation

from ....dialects.dims.analysis import limits
from ....dialects.loop import ForOp, MergeOp, ParallelOp, PartitionOp, ReduceOp, ScanOp, WhileOp

__all__ = ["OFTEN", "STRIP", "instructions", "loop_instructions"]

#: Instructions between two polls, at least.
OFTEN = 1 << 10
#: Instructions of a strip: a tenth of a millisecond or so.
STRIP = 1 << 19
#: What an elementary function counts.
_ELEMENTARY = 25


def instructions(block: Block) -> float:
    """A rough count of the instructions of a block; infinity where it has no bound."""
    return sum((_of(op) for op in block.ops), 1.0)


def loop_instructions(op: ForOp | ReduceOp | ScanOp | ParallelOp) -> float:
    """A rough count of the instructions of a whole loop; infinity where it has no bound."""
    extents = (limit - op.lower.data for limit in limits(op.upper.data))
    extent = min((e.const for e in extents if e.const is not None), default=inf)
    return max(0, extent) / (op.step.data.const or 1) * sum(_inside(op))


def _inside(op: Operation) -> list[float]:
    return [instructions(block) for region in op.regions for block in region.blocks]


def _of(op: Operation) -> float:
    if isinstance(op, ForOp | ReduceOp | ScanOp | ParallelOp):
        return loop_instructions(op)
    if isinstance(op, WhileOp | scf.WhileOp | MergeOp | PartitionOp):
        return inf
    inside = _inside(op)
    if inside:  # a branch
        return max(inside)
    return _ELEMENTARY if op.name.startswith(("math.", "kernel.")) else 1
