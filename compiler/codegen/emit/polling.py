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

__all__ = ["OFTEN", "STRIP", "Lengths"]

#: Instructions between two polls, at least.
OFTEN = 1 << 10
#: Instructions of a strip: a tenth of a millisecond or so.
STRIP = 1 << 19
#: What an elementary function counts.
_ELEMENTARY = 25


class Lengths:
    """Rough counts of the instructions of blocks, each of which is counted once, however deep it lies in others."""

    def __init__(self) -> None:
        self._blocks: dict[Block, float] = {}

    def of(self, block: Block) -> float:
        """Of a block; infinity where it has no bound."""
        found = self._blocks.get(block)
        if found is None:
            found = self._blocks[block] = sum((self._of_op(op) for op in block.ops), 1.0)
        return found

    def of_loop(self, op: ForOp | ReduceOp | ScanOp | ParallelOp) -> float:
        """Of a whole loop; infinity where it has no bound."""
        extents = (limit - op.lower.data for limit in limits(op.upper.data))
        extent = min((e.const for e in extents if e.const is not None), default=inf)
        return max(0, extent) / (op.step.data.const or 1) * sum(self._inside(op))

    def _inside(self, op: Operation) -> list[float]:
        return [self.of(block) for region in op.regions for block in region.blocks]

    def _of_op(self, op: Operation) -> float:
        if isinstance(op, ForOp | ReduceOp | ScanOp | ParallelOp):
            return self.of_loop(op)
        if isinstance(op, WhileOp | scf.WhileOp | MergeOp | PartitionOp):
            return inf
        inside = self._inside(op)
        if inside:  # a branch
            return max(inside)
        return _ELEMENTARY if op.name.startswith(("math.", "kernel.")) else 1
