"""What schedules for any device share: the walk over a function's kernels and the loops and branches around them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.ir import Block, Operation, Region

from ...dialects import kernel, loop
from ..locations import copy_loc
from ..memory.arena import IvRange
from .body import ScheduleContext

__all__ = ["Scheduler"]

KERNELS = (kernel.GenericOp, kernel.RowGroupOp, kernel.ScatterOp, kernel.CustomOp)


@dataclass
class Scheduler:
    """Rewrites a function from stage `buffers` to stage `loops`; a device says what a kernel becomes."""

    context: ScheduleContext

    def kernel(self, op: Operation, block: Block) -> None:
        """Append the loops of a kernel."""
        raise NotImplementedError

    def function(self, function: func.FuncOp) -> None:
        """The whole function, in place."""
        old = function.body.block
        new = Block(arg_types=[a.type for a in old.args])
        for before, after in zip(list(old.args), new.args):
            after.name_hint = before.name_hint
            before.replace_all_uses_with(after)
        self._block(old, new)
        function.detach_region(function.body)
        function.add_region(Region(new))

    def _block(self, old: Block, new: Block) -> None:
        for op in list(old.ops):
            before = new.last_op
            self._visit(op, new)
            copy_loc(op, new, before)

    def _visit(self, op: Operation, block: Block) -> None:
        if isinstance(op, KERNELS):
            self.kernel(op, block)
        elif isinstance(op, kernel.ForOp):
            self._for(op, block)
        elif isinstance(op, kernel.WhileOp):
            condition, body = self._inner(op.condition.block), self._inner(op.body.block)
            block.add_op(loop.WhileOp(condition, body))
        elif isinstance(op, kernel.IfOp):
            then, otherwise = self._inner(op.then.block), self._inner(op.otherwise.block)
            block.add_op(loop.IfOp(op.condition, then, otherwise))
        elif isinstance(op, kernel.YieldOp):
            block.add_op(loop.YieldOp(*op.values))
        else:
            self.other(op, block)

    def other(self, op: Operation, block: Block) -> None:
        """Allocations, loads of flags, the return: they stay."""
        op.detach()
        block.add_op(op)

    def _inner(self, old: Block) -> Block:
        new = Block()
        self._block(old, new)
        return new

    def _for(self, op: kernel.ForOp, block: Block) -> None:
        lower, upper, step = op.lower.data, op.upper.data, op.step.data
        self.context.ranges.append(IvRange(op.symbol, lower, upper - 1))
        body = self._inner(op.body.block)
        self.context.ranges.pop()
        if op.only is not None:
            # The rest of the block knows the symbol, too: nothing there speaks of it.
            (number,) = op.inits
            block.add_op(loop.BindOp(number, op.iv.data))
            for inner in list(body.ops):
                inner.detach()
                if not isinstance(inner, loop.YieldOp):
                    block.add_op(inner)
            return
        block.add_op(loop.ForOp(op.iv.data, lower, upper, body, step=step, break_flag=op.break_flag is not None))
