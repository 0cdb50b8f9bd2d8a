"""CPU schedule: kernels over buffers become explicit loops (stage `buffers` to stage `loops`).

Only how fast a result comes may change here, never the result: orders of arithmetic are fixed long before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region
from xdsl.passes import ModulePass

from ..dialects import kernel, loop
from ..dialects.dims import Dim, Sym
from .contraction import factors_of
from .costs import Costs
from .kernel_figures import kernel_label
from .locations import carry_loc
from .loop_writer import LoopWriter
from .memory import LoopRange
from .remarks import listening, remark
from .schedule_contract import schedule_contraction
from .schedule_fft import schedule_fft
from .schedule_map import Lanes, schedule_map
from .schedule_reduce import schedule_reduction
from .schedule_rows import schedule_rows
from .schedule_scan import schedule_scan
from .schedule_scatter import schedule_scatter
from .schedule_sort import schedule_sort
from .work import time_of

__all__ = ["FOREIGN", "ScheduleCpuPass"]

#: The loop generators that `kernel.foreign` names.
FOREIGN: dict[str, Callable[[LoopWriter, kernel.ForeignOp, Block, Lanes], None]] = {
    "fft": schedule_fft,
    **dict.fromkeys(("sort", "argsort", "sort_with_positions"), schedule_sort),
}


@dataclass(frozen=True)
class ScheduleCpuPass(ModulePass):
    """Kernels to loops.

    `lanes` and `unroll` force a vector width and a number of copies (0: chosen by the body).  With ``streaming=false``
    no store goes past the caches.
    """

    name = "tx-schedule-cpu"
    vector_bits: int = 256
    lanes: int = 0
    unroll: int = 0
    streaming: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]:
            self._function(function)

    def _function(self, function: func.FuncOp) -> None:
        old = function.body.block
        writer = LoopWriter(function, costs=Costs.of(function), streams=self.streaming)
        schedule = _Schedule(writer, Lanes(self.vector_bits, self.lanes, self.unroll))
        new = Block(arg_types=[a.type for a in old.args])
        for before, after in zip(list(old.args), new.args):
            after.name_hint = before.name_hint
            before.replace_all_uses_with(after)
        schedule.block(old, new)
        function.detach_region(function.body)
        function.add_region(Region(new))


@dataclass
class _Schedule:
    writer: LoopWriter
    lanes: Lanes

    def block(self, old: Block, new: Block) -> None:
        for op in list(old.ops):
            before = new.last_op
            self._visit(op, new)
            carry_loc(op, new, before)

    def _visit(self, op: Operation, block: Block) -> None:
        if listening() and isinstance(op, (kernel.GenericOp, kernel.RowsOp)):
            self._remark(op)
        if isinstance(op, kernel.GenericOp):
            self._nest(op, block, {}, False)
        elif isinstance(op, kernel.RowsOp):
            schedule_rows(
                self.writer, op, block, self.lanes, lambda nest, inner, done: self._nest(nest, inner, done, True)
            )
        elif isinstance(op, kernel.ScatterOp):
            schedule_scatter(self.writer, op, block, self.lanes)
        elif isinstance(op, kernel.ForeignOp):
            FOREIGN[op.fn.data](self.writer, op, block, self.lanes)
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
        else:  # allocations, loads of flags, the return
            op.detach()
            block.add_op(op)

    def _remark(self, op: kernel.GenericOp | kernel.RowsOp) -> None:
        """What a piece of parallel work is."""
        costs, label = self.writer.costs, kernel_label(op)
        nests = op.nests if isinstance(op, kernel.RowsOp) else [op]
        point = sum(time_of(nest, costs) for nest in nests)
        pieces = {"a point": point, "handing over": costs.machine.handover}
        remark(
            "threads",
            label,
            f"pieces of {costs.chunk(point)} points",
            "one takes as long as handing it over",
            pieces,
            op,
        )

    def _inner(self, old: Block) -> Block:
        new = Block()
        self.block(old, new)
        return new

    def _for(self, op: kernel.ForOp, block: Block) -> None:
        lower, upper, step = op.lower.data, op.upper.data, op.step.data
        self.writer.ranges.append(LoopRange(op.symbol, lower, upper - 1))
        body = self._inner(op.body.block)
        self.writer.ranges.pop()
        block.add_op(loop.ForOp(op.iv.data, lower, upper, body, step=step, until=op.until is not None))

    def _nest(self, nest: kernel.GenericOp, block: Block, done: dict[Sym, Dim], serial: bool) -> None:
        before = block.last_op
        if not nest.is_reduction:
            schedule_map(self.writer, nest, block, self.lanes, done, serial)
        elif nest.is_scan:
            schedule_scan(self.writer, nest, block, self.lanes, done, serial)
        elif not done and (factors := factors_of(nest)) is not None:
            schedule_contraction(self.writer, nest, factors, block, self.lanes)
        else:
            schedule_reduction(self.writer, nest, block, self.lanes, done, serial)
        carry_loc(nest, block, before)
