"""GPU schedule: kernels over buffers become grids of blocks and threads (stage `buffers` to stage `loops`).

What stands at the top of a function is the host's: allocations, loops and branches around grids, loads of flags.  Only
how fast a result comes may change here, never the result: orders of arithmetic are fixed long before, and the CPU's.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from ..dialects import kernel, loop
from ..dialects.attributes import dim_attr
from ..dialects.dims import dim
from .contraction import factors_of
from .costs import Costs
from .loop_writer import LoopWriter
from .matrix_units import held_factors
from .schedule_cpu import CpuSchedule
from .schedule_gpu_contract import schedule_gpu_contraction
from .schedule_gpu_map import Grid, schedule_gpu_map
from .schedule_gpu_reduce import schedule_gpu_reduction, takes_reduction
from .schedule_gpu_rows import schedule_gpu_rows, takes_rows
from .schedule_gpu_threads import write_as_threads
from .schedule_gpu_units import schedule_gpu_units
from .schedule_map import Lanes
from .schedule_walk import ScheduleWalk

__all__ = ["ScheduleGpuPass"]

#: For kernels that run as on a CPU: what is in lanes there is threads here.
AS_THREADS = Lanes(vector_bits=128, crossing=False)


@dataclass(frozen=True)
class ScheduleGpuPass(ModulePass):
    """Kernels to grids.  `threads` of a block; `unroll` copies of a map's vectors (0: chosen by the body).

    `warpgroups`: matrix units that multiply for four warps together are there, and used where they can be.
    """

    name = "tx-schedule-gpu"
    threads: int = 256
    unroll: int = 0
    warpgroups: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]:
            GpuSchedule(
                LoopWriter(function, costs=Costs.of(function), streams=False),
                Grid(self.threads, self.unroll),
                self.warpgroups,
            ).function(function)
            function.attributes["tx.thread_arena"] = dim_attr(dim(0))


@dataclass
class GpuSchedule(ScheduleWalk):
    grid: Grid
    warpgroups: bool

    def kernel(self, op: Operation, block: Block) -> None:
        if isinstance(op, kernel.GenericOp) and not op.is_reduction:
            schedule_gpu_map(self.writer, op, block, self.grid)
        elif isinstance(op, kernel.GenericOp) and (factors := factors_of(op)) is not None:
            held = held_factors(op)
            unit = held.unit(op.order.data) if held is not None and op.order is not None else None
            if held is not None and unit is not None:
                schedule_gpu_units(self.writer, op, factors, held, unit, block, self.warpgroups and unit.warpgroup)
            else:
                schedule_gpu_contraction(self.writer, op, factors, block)
        elif isinstance(op, kernel.GenericOp) and takes_reduction(op):
            schedule_gpu_reduction(self.writer, op, block, self.grid)
        elif isinstance(op, kernel.RowsOp) and takes_rows(op):
            schedule_gpu_rows(self.writer, op, block, self.grid)
        else:
            loops = Block()
            CpuSchedule(self.writer, AS_THREADS).kernel(op, loops)
            write_as_threads(self.writer, loops, block)

    def other(self, op: Operation, block: Block) -> None:
        if isinstance(op, loop.AllocOp) and op.scope.data == "thread":
            op.detach()  # the kernel that uses it says where it is
        else:
            super().other(op, block)
