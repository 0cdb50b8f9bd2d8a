"""Results that are reduced in registers from their first element to their last, and the loops over them.

Vectors run along the reduced iterator, or across results where these are adjacent in memory: then a few cache lines of
them at a time, along all elements.  Rows that share operands are unrolled and jammed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Block

from ....dialects import kernel, loop
from ....dialects.dims.dims import Dim, Sym, dim, maximum, minimum, sym
from ...cost.kernel_stats import kernel_label
from ...cost.remarks import remark
from ...cost.work import point_time
from ..body import Access, ScheduleContext, body_cost, materialize_dim
from ..language.axes import FusedAxis, point_of
from ..map.schedule import VectorConfig, choose_lanes
from ..parallelize import LoopSpec, parallel_loops
from .core import (
    LONGEST_STEPS,
    accumulator_types,
    contiguous,
    element_accesses,
    few_elements,
    order_of,
    reduce_few,
    reduce_loop,
    reduce_segments,
    segments_of,
    strides,
    unroll_length,
    unrolled_reduce,
    varies,
)
from .window_reuse import WindowReuse, choose_window_reuse

__all__ = ["RegisterReduction", "side_by_side"]

#: Rows that share an operand and are unrolled and jammed, at most.
MAX_JAM = 4


@dataclass(frozen=True)
class RegisterReduction:
    """The reductions of one nest, one for each result; with `across` the innermost loop over results has lanes.

    They run only where a reduction has no more elements than `most`, if that is given.
    """

    context: ScheduleContext
    nest: kernel.GenericOp
    lanes: VectorConfig
    access_list: list[Access]
    groups: list[FusedAxis]
    done: dict[Sym, Dim]
    across: bool
    serial: bool
    most: int = 0

    def write(self, block: Block) -> None:
        """Each result's reduction in registers, from its first element to its last."""
        nest, context = self.nest, self.context
        iterators = [context.new_iv() for _ in self.groups]
        point = {**self.done, **point_of(self.groups, iterators)}
        body = Block()
        width = 1 if self.across else choose_lanes(self.lanes, element_accesses(nest, self.access_list), 1)[0]
        jam = 1
        if self.across and not self.most and (count := unroll_length(nest)):
            accumulators = unrolled_reduce(context, nest, body, point, dim(0), count, context.identity(nest, body))
        elif self.across and not self.most and (count := few_elements(nest)):
            accumulators = reduce_few(context, nest, body, point, count)
        elif not self.across and (self.groups or self.done) and (runs := segments_of(nest, self.lanes)):
            accumulators = reduce_segments(context, nest, body, point, runs, self.lanes)
        else:
            extent = nest.extents.data[-1]
            extent = minimum(extent, self.most) if self.most else extent
            accumulators = reduce_loop(context, nest, body, point, dim(0), extent, width)
            if not self.across and not self.lanes.unroll:
                jam = _unroll_and_jam(context, nest, self.access_list, self.groups, width)
        context.epilogue(nest, accumulators, point, body)
        self.around(block, iterators, body, nest.extents.data[-1], jam=jam)

    def around(self, block: Block, iterators: list[Dim], body: Block, work: Dim, most: int = 0, jam: int = 1) -> None:
        """The loops over results around a reduction of `work` elements; so many of the innermost `jam`.

        `most` vectors of results side by side, if given.
        """
        nest, context = self.nest, self.context
        levels = [LoopSpec(i, g.extent) for i, g in zip(iterators, self.groups)]
        if levels:
            levels[-1] = replace(levels[-1], jam=jam)
        if self.across:
            body.add_op(loop.YieldOp())
            width = choose_lanes(self.lanes, self.access_list, body_cost(nest))[0]
            innermost = levels.pop()
            unroll = self.lanes.unroll or most
            if not unroll and levels and not self.most and (overlap := _overlap(context, nest, self.groups, width)):
                levels[-1], unroll = replace(levels[-1], jam=overlap.rows), overlap.vectors
            unroll = unroll or side_by_side(context, nest, self.access_list, self.groups[-1], width)
            if not levels and not self.serial:
                least = context.grain(work, nest)
                return _vector_chunks(context, block, innermost.extent, innermost.iterator, body, width, unroll, least)
            body = Block([loop.ForOp(str(innermost.iterator), 0, innermost.extent, body, vector=width, unroll=unroll)])
            work = work * innermost.extent
        return parallel_loops(context, block, levels, body, work, point_time(nest, context.costs), self.serial)


def side_by_side(
    context: ScheduleContext, nest: kernel.GenericOp, access_list: list[Access], group: FusedAxis, width: int
) -> int:
    """Registers of adjacent results that are reduced together; each accumulator takes registers of its own.

    What is contiguous along the reduction is loaded as tiles, each of which needs all registers.
    """
    k, inner = Sym(f"d{nest.n_parallel}"), group.symbols[-1]
    operands = element_accesses(nest, access_list)
    if any(contiguous(w, k) and strides(w, inner) for w in operands):
        return context.costs.transposed_tiles
    steps = unroll_length(nest)
    if steps:
        return max(1, min(context.costs.results_in_flight // width, _max_jam(nest, steps)))
    accumulators = len(accumulator_types(nest))
    shared = any(varies(w, k) and not varies(w, inner) for w in operands)
    return context.costs.accumulators(body_cost(nest) * accumulators, width, accumulators, shared)


def _unroll_and_jam(
    context: ScheduleContext, nest: kernel.GenericOp, access_list: list[Access], groups: list[FusedAxis], width: int
) -> int:
    """Rows that are unrolled and jammed: what they share is loaded once, and their dependence chains overlap.

    Rows that share nothing are better read one after another, and long bodies wait for nothing that is read.
    """
    order, operands, registers = (
        order_of(nest),
        element_accesses(nest, access_list),
        int(context.costs.machine.vector_registers),
    )
    if not groups or order.kind != "tree" or body_cost(nest) > registers // 8:
        return 1
    k, row = Sym(f"d{nest.n_parallel}"), groups[-1].symbols[-1]
    if not any(varies(w, k) and not varies(w, row) for w in operands):
        return 1
    sums = len(accumulator_types(nest)) * max(1, order.lanes // width)
    jam = max(1, min(MAX_JAM, registers * 3 // 4 // sums))
    if jam > 1:
        remark("unroll", kernel_label(nest), f"unroll-and-jam of {jam} rows", "they share an operand", op=nest)
    return jam


def _overlap(
    context: ScheduleContext, nest: kernel.GenericOp, groups: Sequence[FusedAxis], width: int
) -> WindowReuse | None:
    """The rows and vectors of results that are computed together where what neighbouring rows read overlaps."""
    steps, row, column = unroll_length(nest), groups[-2], groups[-1]
    if not steps or row.symbols[1:]:
        return None
    return choose_window_reuse(
        nest, steps, row.symbols[-1], column.symbols[-1], int(context.costs.machine.vector_registers),
        len(accumulator_types(nest)), _max_jam(nest, steps), max(1, context.costs.results_in_flight // width),
    )  # fmt: skip


def _max_jam(nest: kernel.GenericOp, steps: int) -> int:
    """Vectors of results whose steps are not too long together."""
    return max(1, LONGEST_STEPS * 2 // (steps * body_cost(nest)))


def _vector_chunks(
    context: ScheduleContext, block: Block, extent: Dim, iterator: Dim, body: Block, width: int, unroll: int, least: Dim
) -> None:
    """Results side by side in lanes, in chunks of a few cache lines each, of `least` results where that is more.

    Threads get as many of them, of whole lines of f32s.
    """
    most, line = max(width * unroll, context.costs.results_in_flight), context.costs.elements_per_line
    threads = materialize_dim(context, block, maximum(1, context.threads(block)))
    chunks = (extent + (most - 1)) // most
    even = materialize_dim(context, block, maximum(1, (chunks + (threads - 1)) // threads * threads))
    share = (extent + (even * line - 1)) // (even * line) * line
    several = minimum(1, threads - 1)
    least = (least + (line - 1)) // line * line
    chunk = materialize_dim(
        context, block, maximum(least, minimum(most, maximum(line, most + several * (share - most))))
    )
    begin = sym(f"{iterator}.b")
    inner = loop.ForOp(str(iterator), begin, minimum(extent, begin + chunk), body, vector=width, unroll=unroll)
    outer = Block()
    outer.add_ops([inner, loop.YieldOp()])
    block.add_op(loop.ParallelOp(str(begin), 0, extent, outer, step=chunk))
