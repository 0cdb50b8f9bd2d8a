"""The grids of blocks and threads that kernels become on a GPU, by what a kernel is.

What stands at the top of a function is the host's: allocations, loops and branches around grids, loads of flags.  Only
how fast a result comes may change here, never the result: orders of arithmetic are fixed long before, and the CPU's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation

from ....dialects import kernel, loop
from ....dialects.dims.dims import dim
from ...cost.kernel_stats import remark_kernel
from ...cost.remarks import collect
from ...locations import copy_loc
from ...tensor.tensor_cores import narrow_operands
from ..base import Scheduler
from ..body import buffer_info
from ..cpu.schedule import CpuSchedule
from ..custom import loop_generator
from ..map.schedule import VectorConfig
from ..matmul.match import match_matmul
from ..rows.staging import can_fission, fission
from ..sort.schedule import schedule_sort
from .attention_rows import ContractionRows, holds_contraction
from .cpu_loops_as_threads import map_cpu_loops_to_threads
from .map import LaunchShape, schedule_gpu_map
from .matmul_mma import MmaMatmul
from .matmul_simt import schedule_gpu_contraction
from .reduce import schedule_gpu_reduction, supports
from .rows import schedule_gpu_rows, supports_rows
from .scan import SHORT_ROW, schedule_gpu_scan, supports_scan
from .sort import SHORT_ROW as SHORT_SORT
from .sort import schedule_gpu_sort

__all__ = ["GpuSchedule"]

#: For kernels that run as on a CPU: what is in lanes there is threads here.
AS_THREADS = VectorConfig(vector_bits=128, lanes_can_shuffle=False)


@dataclass
class GpuSchedule(Scheduler):
    grid: LaunchShape
    warpgroups: bool
    tma: bool

    def kernel(self, op: Operation, block: Block) -> None:
        name, why, write = self._schedule_of(op)
        remark_kernel("grid", op, name, why)
        write(block)

    def _schedule_of(self, op: Operation) -> tuple[str, str, Callable[[Block], None]]:
        """How a kernel is scheduled, in a word, why, and what writes it."""
        context, grid = self.context, self.grid
        if isinstance(op, kernel.GenericOp) and not op.is_reduction:
            return "map", "elements are independent", lambda block: schedule_gpu_map(context, op, block, grid)
        if isinstance(op, kernel.GenericOp) and (factors := match_matmul(op)) is not None:
            held = narrow_operands(op)
            unit = held.unit(op.order.data) if held is not None and op.order is not None else None
            if held is not None and unit is not None:
                by_warpgroup = self.warpgroups and unit.warpgroup
                units = MmaMatmul(context, op, factors, held, unit, by_warpgroup, self.tma)
                why = f"they sum in the order {_order(op)}"
                why += f"; {units.operand_transport}" if units.operand_transport else ""
                return "wgmma" if by_warpgroup else "mma", why, units.write
            return (
                "contraction", f"sums of products, in the order {_order(op)}",
                lambda block: schedule_gpu_contraction(context, op, factors, block),
            )  # fmt: skip
        if isinstance(op, kernel.GenericOp) and supports(op):
            return (
                "reduction", f"threads share the order {_order(op)}",
                lambda block: schedule_gpu_reduction(context, op, block, grid),
            )  # fmt: skip
        if isinstance(op, kernel.RowGroupOp) and holds_contraction(op):
            why = "rows between contractions stay in shared memory where they fit"
            return "row tiles", why, lambda block: self._panels(op, block)
        if isinstance(op, kernel.RowGroupOp) and supports_rows(op.nests):
            return (
                "row group", "rows stay in the registers and shared memory of a block",
                lambda block: schedule_gpu_rows(context, op, block, grid),
            )  # fmt: skip
        if isinstance(op, kernel.GenericOp) and supports_scan(op):
            return (
                "scan", f"a block for each block of the order {_order(op)}",
                lambda block: schedule_gpu_scan(context, op, block, lambda rows: self._as_threads(op, rows)),
            )  # fmt: skip
        if isinstance(op, kernel.RowGroupOp) and any(map(supports_scan, op.nests)) and can_fission(op):
            return (
                "fissioned",
                "each nest of a row group with scans has its own grid",
                lambda block: self._scans(op, block),
            )
        if isinstance(op, kernel.CustomOp) and loop_generator(op.fn.data) is schedule_sort:
            return "sort", "blocks sort tiles, then merge by ranks", lambda block: self._sort(op, block)
        why = "little parallelism: CPU threads and lanes become GPU threads"
        return "threads", why, lambda block: self._as_threads(op, block)

    def _panels(self, op: kernel.RowGroupOp, block: Block) -> None:
        """Some rows a block through all nests, or contractions and the nests between them one after another."""
        panels = ContractionRows(self.context, op, self.grid)
        excess = panels.excess if panels.fits_shared_memory else dim(0)
        self.context.if_positive(block, excess, panels.write, lambda inner: self._apart(op, panels.runs, inner))

    def _scans(self, op: kernel.RowGroupOp, block: Block) -> None:
        """Nests one after another, where rows are long enough for that."""
        longest = next(nest.extents.data[-1] for nest in op.nests if supports_scan(nest))
        runs = [[nest] for nest in op.nests]
        self.context.if_positive(
            block, longest - SHORT_ROW,
            lambda inner: self._apart(op, runs, inner), lambda inner: self._as_threads(op, inner),
        )  # fmt: skip

    def _sort(self, op: kernel.CustomOp, block: Block) -> None:
        """By blocks, where rows are long enough for that."""
        length = buffer_info(op.ins[0]).dims[op.params["axis"]]
        self.context.if_positive(
            block, length - SHORT_SORT,
            lambda inner: schedule_gpu_sort(self.context, op, inner), lambda inner: self._as_threads(op, inner),
        )  # fmt: skip

    def _apart(self, op: kernel.RowGroupOp, runs: Sequence[Sequence[kernel.GenericOp]], block: Block) -> None:
        """Runs of the nests of rows one after another, with memory between them."""
        for run in fission(runs, op.n_shared, lambda info: self.context.allocate(block, info)):
            made = run[0] if len(run) == 1 else kernel.RowGroupOp(op.n_shared, Block([*run, kernel.YieldOp()]), [])
            before = block.last_op
            self.kernel(made, block)
            copy_loc(op, block, before)

    def _as_threads(self, op: Operation, block: Block) -> None:
        loops = Block()
        with collect():  # what is said of a CPU's threads does not hold here
            CpuSchedule(self.context, AS_THREADS).kernel(op, loops)
        map_cpu_loops_to_threads(self.context, loops, block)

    def other(self, op: Operation, block: Block) -> None:
        if isinstance(op, loop.AllocOp) and op.scope.data == "thread":
            op.detach()  # the kernel that uses it says where it is
        else:
            super().other(op, block)


def _order(op: kernel.GenericOp) -> str:
    return str(op.order.data) if op.order is not None else ""
