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

from collections.abc import Callable
from math import inf

from xdsl.dialects import scf
from xdsl.ir import Block, Operation

from ....dialects.dims.analysis import limits
from ....dialects.loop import ForOp, MergeOp, ParallelOp, PartitionOp, ReduceOp, ScanOp, WhileOp
from .text import IrText
from .values.lanes import Lanes

__all__ = ["OFTEN", "STRIP", "Polling"]

#: Instructions between two polls, at least.
OFTEN = 1 << 10
#: Instructions of a strip: a tenth of a millisecond or so.
STRIP = 1 << 19
#: What an elementary function counts.
_ELEMENTARY = 25
#: Loops with a number of iterations, and those without.
_COUNTED = frozenset({ForOp, ReduceOp, ScanOp, ParallelOp})
_UNBOUNDED = frozenset({WhileOp, scf.WhileOp, MergeOp, PartitionOp})


class Polling:
    """The polls of one function: `poll` writes one, which leaves the function if that is asked for.  None: no polls."""

    def __init__(self, text: IrText, lanes: Lanes, poll: Callable[[], None] | None):
        self.text, self.lanes, self._poll = text, lanes, poll
        self._lengths: dict[Block, float] = {}

    def poll(self) -> None:
        assert self._poll is not None, "only where `strip`, `every` or `each` ask for polls"
        self._poll()

    def each(self, block: Block) -> bool:
        """Whether each iteration of that block polls: if it is long."""
        return self._poll is not None and not self.lanes.axes and self._length(block) >= OFTEN

    def strip(self, op: ForOp | ParallelOp) -> int:
        """How many iterations of a loop go between two polls; 0: each polls, or none does."""
        if self._poll is None or self.lanes.axes:
            return 0
        length = self._length(op.block)
        return int(STRIP // length) if length < OFTEN else 0

    def strip_if_long(self, op: ForOp) -> int:
        """`strip`, or 0 where all iterations together are no longer than one."""
        return self.strip(op) if self._poll is not None and self._length_of_loop(op) > STRIP else 0

    def every(self, *blocks: Block) -> int:
        """After so many iterations a ``while`` of these blocks polls; 0: never."""
        return max(1, int(OFTEN // sum(map(self._length, blocks)))) if self._poll is not None else 0

    def at_last(self, every: int) -> tuple[str, str]:
        """Poll in a loop's body if this is the last of so many steps.

        How many are left in this step and in the next, the names of a phi at the loop's head.
        """
        text = self.text
        left, fewer = text.fresh(), text.fresh()
        before, polling, on = text.block, text.label("poll"), text.label("go")
        text.put(f"{fewer} = sub i64 {left}, 1")
        text.branch_if(text.ins(f"icmp eq i64 {fewer}, 0"), polling, on)
        text.start(polling)
        self.poll()
        polled = text.block
        text.branch(on)
        text.start(on)
        return left, text.ins(f"phi i64 [{fewer}, %{before}], [{every}, %{polled}]")

    # Lengths

    def _length(self, block: Block) -> float:
        """A rough count of a block's instructions; each block is counted once.  Infinity where there is no bound."""
        found = self._lengths.get(block)
        if found is None:
            found = self._lengths[block] = sum((self._of_op(op) for op in block.ops), 1.0)
        return found

    def _length_of_loop(self, op: ForOp | ReduceOp | ScanOp | ParallelOp) -> float:
        """Of all iterations."""
        extents = (limit - op.lower.data for limit in limits(op.upper.data))
        extent = min((e.const for e in extents if e.const is not None), default=inf)
        # None of what has no bound is nothing, too.
        return extent / (op.step.data.const or 1) * sum(self._inside(op)) if extent > 0 else 0.0

    def _inside(self, op: Operation) -> list[float]:
        return [self._length(block) for region in op.regions for block in region.blocks]

    def _of_op(self, op: Operation) -> float:
        kind = type(op)  # `isinstance` of a class of xDSL's takes ten times as long
        if kind in _COUNTED:
            assert isinstance(op, (ForOp, ReduceOp, ScanOp, ParallelOp))
            return self._length_of_loop(op)
        if kind in _UNBOUNDED:
            return inf
        inside = self._inside(op)
        if inside:  # a branch
            return max(inside)
        return _ELEMENTARY if op.name.startswith(("math.", "kernel.")) else 1
