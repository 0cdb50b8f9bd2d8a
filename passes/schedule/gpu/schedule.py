"""GPU schedule: kernels over buffers become grids of blocks and threads (stage `buffers` to stage `loops`)."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ....dialects.attributes import dim_attr
from ....dialects.dims.dims import dim
from ...cost.model import CostModel
from ..body import ScheduleContext

__all__ = ["ScheduleGpuPass"]


@dataclass(frozen=True)
class ScheduleGpuPass(ModulePass):
    """Kernels to grids.  `threads` of a block; `unroll` factor of a map's vectors (0: chosen by the body).

    `warpgroups`: the GPU has matrix instructions of warp groups (``wgmma``), used where they can be; `tma`: it has
    tensor memory access, which copies boxes of their operands.
    """

    name = "tx-schedule-gpu"
    threads: int = 256
    unroll: int = 0
    warpgroups: bool = False
    tma: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        # Only now: processes that compile for CPUs need none of it.
        from .cpu_loops_as_threads import WITH_MEMORY
        from .grids import GpuSchedule
        from .map import LaunchShape

        for function in [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]:
            GpuSchedule(
                ScheduleContext(function, costs=CostModel.of(function), nontemporal=False, gpu_threads=WITH_MEMORY),
                LaunchShape(self.threads, self.unroll),
                self.warpgroups,
                self.tma,
            ).function(function)
            function.attributes["tx.thread_arena"] = dim_attr(dim(0))
