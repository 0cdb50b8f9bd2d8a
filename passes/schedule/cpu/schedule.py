"""CPU schedule: kernels over buffers become explicit loops (stage `buffers` to stage `loops`).

A schedule changes only how fast a result is computed, never the result: orders of arithmetic are fixed long before.
Families of schedules are imported inside functions, for start-up: for the first program that has such a nest.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ....dialects import kernel
from ....dialects.dims.dims import Dim, Sym
from ....dialects.order import Order
from ...cost.kernel_stats import remark_kernel
from ...cost.model import CostModel
from ...cost.remarks import enabled
from ...cost.work import point_time, point_work
from ...fusion.unit_dims import drop_unit_dims
from ...locations import copy_loc
from ...tensor.tensor_cores import narrow_operands
from ..base import Scheduler
from ..body import ScheduleContext
from ..custom import loop_generator
from ..language.lower import write_scheduled
from ..language.nest import Nest, Schedule
from ..language.user import NoNest, users_schedule
from ..map.schedule import VectorConfig, is_transposition, map_schedule
from ..matmul.match import MatmulOperands, match_matmul
from ..rows.staging import is_attention
from ..stencil.in_place import match_stencil, schedule_ring_buffer
from .hoist_loads import hoist_invariant_loads
from .newton_sqrt import mark_newton_sqrt
from .prefetch import insert_prefetches
from .reciprocal_division import mark_reciprocal_division

__all__ = ["CpuSchedule", "ScheduleCpuPass"]

#: Foreign kernels that choose their vectors; those of others, which exchange lanes, are half a line at most
#: (`benchmarks/log/`).
WIDE_CUSTOM = frozenset({"fft", "sort", "argsort", "sort_with_positions"})
#: Vectors for which there are estimates of square roots.
ESTIMATED_BITS = 512
#: Bits of the shortest elements whose tiles are transposed by vectors as long as a line.
MIN_TRANSPOSE_BITS = 32


@dataclass(frozen=True)
class ScheduleCpuPass(ModulePass):
    """Kernels to loops.

    `lanes` and `unroll` force a vector width and an unroll factor (0: chosen by the body).  With ``nontemporal=false``
    no store bypasses the caches, with ``prefetch=false`` there is no software prefetch; with ``inplace_stencils=false``
    a stencil that updates its own input is computed into a temporary and copied; with ``fuse_reductions=false`` a row
    is stored before it is reduced; with ``packed_matmuls=false`` contractions are reductions as others; with
    ``column_tiles=false`` reductions down columns have one form for all sizes.
    """

    name = "tx-schedule-cpu"
    vector_bits: int = 256
    lanes: int = 0
    unroll: int = 0
    nontemporal: bool = True
    prefetch: bool = True
    inplace_stencils: bool = True
    fuse_reductions: bool = True
    packed_matmuls: bool = True
    column_tiles: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]:
            costs = CostModel.of(function)
            context = ScheduleContext(
                function, costs=costs, nontemporal=self.nontemporal, fuse_maps=self.fuse_reductions,
                column_tiles=self.column_tiles,
            )  # fmt: skip
            lanes = VectorConfig(self.vector_bits, self.lanes, self.unroll)
            made = CpuSchedule(
                context, lanes, self.prefetch, self.inplace_stencils, self.packed_matmuls, users_schedule()
            )
            made.function(function)
            if made.schedule is not None and not made.scheduled:
                raise NoNest(function.sym_name.data)


@dataclass
class CpuSchedule(Scheduler):
    lanes: VectorConfig
    prefetch: bool = True
    inplace_stencils: bool = True
    packed_matmuls: bool = True
    #: A user's, for elementwise nests on their own, and how many it was given.
    schedule: Schedule | None = None
    scheduled: int = 0
    #: Nests whose loops stand with those of an earlier one.
    written: set[Operation] = field(default_factory=set)

    def kernel(self, op: Operation, block: Block) -> None:
        if op in self.written:
            return
        update = match_stencil(op) if self.inplace_stencils else None
        if update is None:
            self._kernel(op, block)
            return

        def in_two_passes(inner: Block) -> None:
            for nest in (update.compute, update.copy_back):
                self._kernel(nest, inner)

        def row(nest: kernel.GenericOp, inner: Block, done: dict[Sym, Dim]) -> None:
            self._nest(nest, inner, done, True)

        schedule_ring_buffer(self.context, update, block, row, in_two_passes)
        self.written.add(update.copy_back)

    def _kernel(self, op: Operation, block: Block) -> None:
        before = block.last_op
        self._loops(op, block)
        hoist_invariant_loads(block, before)
        if self.prefetch and _has_sequential_access(op):
            insert_prefetches(block, before, self.context.costs)

    def _loops(self, op: Operation, block: Block) -> None:
        if enabled() and isinstance(op, (kernel.GenericOp, kernel.RowGroupOp)):
            self._remark(op)
        if isinstance(op, kernel.GenericOp):
            self._nest(op, block, {}, False)
        elif isinstance(op, kernel.RowGroupOp):
            if is_attention(op):
                from ..rows.attention_rows import schedule_attention as schedule
            else:
                from ..rows.schedule import schedule_rows as schedule
            schedule(
                self.context, op, block, self.lanes, lambda nest, inner, done: self._nest(nest, inner, done, bool(done))
            )
        elif isinstance(op, kernel.ScatterOp):
            from ..scatter import schedule_scatter

            schedule_scatter(self.context, op, block, self.lanes)
        elif isinstance(op, kernel.CustomOp):
            lanes = (
                self.lanes if op.fn.data in WIDE_CUSTOM else self.lanes.at_most(self.context.costs.half_cache_line_bits)
            )
            loop_generator(op.fn.data)(self.context, op, block, lanes)

    def _remark(self, op: kernel.GenericOp | kernel.RowGroupOp) -> None:
        """The size of a parallel task."""
        costs = self.context.costs
        nests = op.nests if isinstance(op, kernel.RowGroupOp) else [op]
        point = sum(point_time(nest, costs) for nest in nests)
        even = costs.chunk(point)
        chunk = self.context.chunk(op) if isinstance(op, kernel.GenericOp) else even
        why = "a task takes as long as dispatching it" if chunk == even else "dependent places run on one thread"
        choices = {"per point": point, "dispatch": costs.machine.dispatch_ns}
        remark_kernel("threads", op, f"tasks of {chunk} points", why, choices)

    def _by_unit(self, nest: kernel.GenericOp, order: Order, block: Block) -> None:
        """A contraction by the matrix unit whose order it has."""
        factors, held = match_matmul(nest), narrow_operands(nest)
        unit = held.unit(order) if held is not None else None
        if factors is None or held is None or unit is None or not unit.feature:
            raise PassFailedException(f"the order {order} is that of a GPU's matrix units")
        from ..matmul.amx import AmxMatmul

        AmxMatmul(self.context, nest, factors, held, unit, self.lanes).write(block)

    def _nest(self, nest: kernel.GenericOp, block: Block, done: dict[Sym, Dim], serial: bool) -> None:
        before = block.last_op
        if nest.order is not None and nest.order.data.kind == "unit":
            self._by_unit(nest, nest.order.data, block)
            copy_loc(nest, block, before)
            return
        if not done:
            drop_unit_dims(nest)
        if not nest.is_reduction:
            self._map(nest, block, done, serial)
        elif nest.is_scan:
            from ..scan.schedule import schedule_scan

            schedule_scan(self.context, nest, block, self._lanes(nest), done, serial)
        elif not done and (factors := self._packed(nest)) is not None:
            from ..matmul.cpu import schedule_contraction

            schedule_contraction(self.context, nest, factors, block, self.lanes)
        else:
            from ..reduce.schedule import schedule_reduction

            schedule_reduction(self.context, nest, block, self._lanes(nest), done, serial)
        copy_loc(nest, block, before)

    def _packed(self, nest: kernel.GenericOp) -> MatmulOperands | None:
        """The factors of a contraction that is worth packing them; None for other nests."""
        factors = match_matmul(nest) if self.packed_matmuls else None
        return None if factors is None or _has_short_rows(nest) else factors

    def _map(self, nest: kernel.GenericOp, block: Block, done: dict[Sym, Dim], serial: bool) -> None:
        """An elementwise nest by the user's schedule, where it is on its own and there is one, else by ours."""
        config = self._lanes(nest, is_transposition(nest, len(done)))
        made = Nest(self.context, nest, done, serial, lambda inner: map_schedule(inner, config))
        schedule = None if done or serial else self.schedule
        if schedule is not None:
            made.lanes = config.width_of(made.access_list)
            self.scheduled += 1
        write_scheduled(made, schedule or made.own, block)

    def _lanes(self, nest: kernel.GenericOp, transposed: bool = False) -> VectorConfig:
        """Vectors as long as the nest is worth; where it waits for the divider roots and quotients are marked.

        Contractions have the longest, also of a vector: rows that share it are reduced in parallel, in as few
        registers.  Tiles that are `transposed` in registers write whole lines by the longest ones; those of short
        elements would be too many instructions.
        """
        costs, most = self.context.costs, self.lanes.vector_bits
        if nest.order is not None and nest.order.data.product:
            return self.lanes
        work = point_work(nest, costs)
        if nest in self.context.fused_maps:
            work = work.plus(point_work(self.context.fused_maps[nest], costs))
        if not nest.is_reduction and most == ESTIMATED_BITS:
            work = mark_newton_sqrt(nest, mark_reciprocal_division(nest, work, costs), costs)
        transposed = transposed and work.bits >= MIN_TRANSPOSE_BITS
        bits = most if transposed else costs.vector_bits(work, most)
        if enabled() and most > costs.half_cache_line_bits:
            why = "bound by arithmetic" if bits == most else "not bound by arithmetic"
            why = "tiles are transposed in registers" if transposed else why
            by_half_lines = costs.compute_ns(work.arithmetic, work.bits) * most / costs.half_cache_line_bits
            choices = {
                "arithmetic of half-line vectors": by_half_lines,
                "divisions": costs.div_ns(work), "caches": costs.transfer_ns(work.bytes),
            }  # fmt: skip
            remark_kernel("vector-width", nest, f"{bits} bits", why, choices)
        return self.lanes.at_most(bits)


def _has_short_rows(nest: kernel.GenericOp) -> bool:
    """Whether results of a contraction are so few a row, and of so few products, that they are not worth tiles."""
    from ..reduce.short_rows import has_short_rows

    return has_short_rows(nest)


def _has_sequential_access(op: Operation) -> bool:
    """Whether the loops of a kernel go through memory once: nests but for contractions, which come back."""
    nests = op.nests if isinstance(op, kernel.RowGroupOp) else [op] if isinstance(op, kernel.GenericOp) else []
    return bool(nests) and not any(nest.order is not None and nest.order.data.product for nest in nests)
