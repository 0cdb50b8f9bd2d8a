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
from ..access import buffer_info
from ..base import Scheduler
from ..cpu.schedule import CpuSchedule
from ..custom import loop_generator
from ..map.schedule import VectorConfig
from ..matmul.match import MatmulOperands, match_matmul
from ..rows.staging import can_fission, fission
from ..sort.schedule import schedule_sort
from ..sort.selection import pick, schedule_selection, sort_rows
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
#: How a kernel is scheduled, in a word, why, and what writes it.
_Choice = tuple[str, str, Callable[[Block], None]]


@dataclass
class GpuSchedule(Scheduler):
    grid: LaunchShape
    warpgroups: bool
    tma: bool

    def kernel(self, op: Operation, block: Block) -> None:
        name, why, write = self._schedule_of(op)
        remark_kernel("grid", op, name, why)
        write(block)

    def _schedule_of(self, op: Operation) -> _Choice:
        """How a kernel is scheduled; by a CPU's loops, as threads, where no other way is known."""
        choice = None
        if isinstance(op, kernel.GenericOp):
            choice = self._schedule_of_nest(op)
        elif isinstance(op, kernel.RowGroupOp):
            choice = self._schedule_of_rows(op)
        elif isinstance(op, kernel.CustomOp) and loop_generator(op.fn.data) is schedule_sort:
            choice = "sort", "blocks sort tiles, then merge by ranks", lambda block: self._sort(op, block)
        elif isinstance(op, kernel.CustomOp) and loop_generator(op.fn.data) is schedule_selection:
            choice = "sort and pick", "sorting has work for all threads", lambda block: self._select(op, block)
        why = "little parallelism: CPU threads and lanes become GPU threads"
        return choice or ("threads", why, lambda block: self._as_threads(op, block))

    def _schedule_of_nest(self, op: kernel.GenericOp) -> _Choice | None:
        context, grid, order = self.context, self.grid, str(op.order.data) if op.order is not None else ""
        if not op.is_reduction:
            return "map", "elements are independent", lambda block: schedule_gpu_map(context, op, block, grid)
        if (factors := match_matmul(op)) is not None:
            return self._schedule_of_contraction(op, factors, order)
        if supports(op):
            why = f"threads share the order {order}"
            return "reduction", why, lambda block: schedule_gpu_reduction(context, op, block, grid)
        if supports_scan(op):
            return (
                "scan", f"a block for each block of the order {order}",
                lambda block: schedule_gpu_scan(context, op, block, lambda rows: self._as_threads(op, rows)),
            )  # fmt: skip
        return None

    def _schedule_of_contraction(self, op: kernel.GenericOp, factors: MatmulOperands, order: str) -> _Choice:
        """By matrix units where the order is that of one."""
        held = narrow_operands(op)
        unit = held.unit(op.order.data) if held is not None and op.order is not None else None
        if held is None or unit is None:
            why = f"sums of products, in the order {order}"
            return "contraction", why, lambda block: schedule_gpu_contraction(self.context, op, factors, block)
        by_warpgroup = self.warpgroups and unit.warpgroup
        units = MmaMatmul(self.context, op, factors, held, unit, by_warpgroup, self.tma)
        why = f"they sum in the order {order}" + (f"; {units.operand_transport}" if units.operand_transport else "")
        return "wgmma" if by_warpgroup else "mma", why, units.write

    def _schedule_of_rows(self, op: kernel.RowGroupOp) -> _Choice | None:
        if holds_contraction(op):
            why = "rows between contractions stay in shared memory where they fit"
            return "row tiles", why, lambda block: self._row_tiles(op, block)
        if supports_rows(op.nests):
            why = "rows stay in the registers and shared memory of a block"
            return "row group", why, lambda block: schedule_gpu_rows(self.context, op, block, self.grid)
        if any(map(supports_scan, op.nests)) and can_fission(op):
            why = "each nest of a row group with scans has its own grid"
            return "fissioned", why, lambda block: self._scans(op, block)
        return None

    def _row_tiles(self, op: kernel.RowGroupOp, block: Block) -> None:
        """Some rows a block through all nests, or contractions and the nests between them one after another."""
        tiles = ContractionRows(self.context, op, self.grid)
        excess = tiles.excess if tiles.fits_shared_memory else dim(0)
        self.context.if_positive(block, excess, tiles.write, lambda inner: self._fissioned(op, tiles.runs, inner))

    def _scans(self, op: kernel.RowGroupOp, block: Block) -> None:
        """Nests one after another, where rows are long enough for that."""
        longest = next(nest.extents.data[-1] for nest in op.nests if supports_scan(nest))
        runs = [[nest] for nest in op.nests]
        self.context.if_positive(
            block, longest - SHORT_ROW,
            lambda inner: self._fissioned(op, runs, inner), lambda inner: self._as_threads(op, inner),
        )  # fmt: skip

    def _sort(self, op: kernel.CustomOp, block: Block) -> None:
        """By blocks, where rows are long enough for that."""
        length = buffer_info(op.ins[0]).dims[op.params["axis"]]
        self.context.if_positive(
            block, length - SHORT_SORT,
            lambda inner: schedule_gpu_sort(self.context, op, inner), lambda inner: self._as_threads(op, inner),
        )  # fmt: skip

    def _select(self, op: kernel.CustomOp, block: Block) -> None:
        dims, loops = buffer_info(op.ins[0]).dims, Block()
        ordered = sort_rows(self.context, op, dims, block, lambda sort: self._sort(sort, block))
        pick(self.context, op, dims, loops, ordered)
        map_cpu_loops_to_threads(self.context, loops, block)

    def _fissioned(self, op: kernel.RowGroupOp, runs: Sequence[Sequence[kernel.GenericOp]], block: Block) -> None:
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
