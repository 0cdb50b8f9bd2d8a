"""Results that are reduced in registers from their first element to their last, and the loops over them.

Vectors run along the reduced iterator, or across results where these are adjacent in memory: then a few cache lines of
them at a time, along all elements.  Rows that share operands are unrolled and jammed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Block

from ....dialects import kernel
from ....dialects.dims.dims import Dim, Sym, ceil_div, dim, maximum, minimum, sym
from ...cost.kernel_stats import remark_kernel
from ..access import Access, accumulator_types, body_cost, order_of
from ..blocks import for_loop, move, parallel_loop
from ..body import ScheduleContext
from ..function import materialize_dim
from ..language.axes import FusedAxis
from ..language.lower import write_scheduled
from ..language.nest import Nest
from ..map.schedule import VectorConfig
from .core import (
    LONGEST_STEPS,
    element_accesses,
    reduce_loop,
    reduce_segments,
    reduce_unrolled,
    segments_of,
    unroll_length,
    unrolled_steps,
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
        width = 1 if self.across else self.lanes.width_of(element_accesses(nest, self.access_list))
        unrolled = self.across and not self.most and unrolled_steps(nest) > 0
        runs = None if self.across or not (self.groups or self.done) else segments_of(nest, self.lanes)
        extent = minimum(nest.extents.data[-1], self.most) if self.most else nest.extents.data[-1]

        def element(body: Block, point: dict[Sym, Dim]) -> None:
            if unrolled:
                made = reduce_unrolled(context, nest, body, point)
            elif runs is not None:
                made = reduce_segments(context, nest, body, point, runs, self.lanes)
            else:
                made = reduce_loop(context, nest, body, point, dim(0), extent, width)
            context.epilogue(nest, made, point, body)

        whole = not self.across and runs is None and not self.lanes.unroll
        jam = _unroll_and_jam(context, nest, self.access_list, self.groups, width) if whole else 1
        self.around(block, element, nest.extents.data[-1], jam=jam)

    def around(
        self, block: Block, element: Callable[[Block, dict[Sym, Dim]], None], work: Dim, *, most: int = 0, jam: int = 1,
        iterators: Sequence[Dim] = (),
    ) -> None:  # fmt: skip
        """The loops over results, of these iterators, if given, around what reduces one, of `work` elements.

        So many of the innermost `jam`; `most` vectors of results side by side, if given.
        """
        made = Nest(self.context, self.nest, self.done, self.serial, element=element, work=work)
        if len(self.groups) > 1 or not self.across or self.serial:
            return write_scheduled(made, lambda nest: self._schedule(nest, most, jam, iterators), block)
        self._name(made, iterators)
        width, unroll, _ = self._vectors(most)
        (results,) = made.loops
        body = Block()
        element(body, made.point())
        least = self.context.grain(work, self.nest)
        return _vector_chunks(self.context, block, results.extent, results.at, body, width, unroll, least)

    def _schedule(self, nest: Nest, most: int, jam: int, iterators: Sequence[Dim]) -> None:
        """Threads share results; with `across` but the innermost, which go in vectors, each lane reducing its own."""
        self._name(nest, iterators)
        rows = list(nest.loops)
        if self.across:
            width, unroll, jam = self._vectors(most)
            nest.vectorize(rows.pop(), width, unroll)
        if jam > 1:
            nest.unroll_and_jam(rows[-1], jam)
        if rows and not self.serial:
            nest.parallel(*rows)

    def _name(self, nest: Nest, iterators: Sequence[Dim]) -> None:
        nest.collapse_all()
        for level, iterator in zip(nest.loops, iterators):
            level.iterator = iterator
        nest.number_loops()

    def _vectors(self, most: int) -> tuple[int, int, int]:
        """The lanes of a vector of results, the vectors side by side, and the rows that are jammed."""
        width, unroll = self.lanes.width_of(self.access_list), self.lanes.unroll or most
        if unroll:
            return width, unroll, 1
        overlap = None if self.most else _overlap(self.context, self.nest, self.groups, width)
        if overlap is not None:
            return width, overlap.vectors, overlap.rows
        return width, side_by_side(self.context, self.nest, self.access_list, self.groups[-1], width), 1


def side_by_side(
    context: ScheduleContext, nest: kernel.GenericOp, access_list: list[Access], group: FusedAxis, width: int
) -> int:
    """Registers of adjacent results that are reduced together; each accumulator takes registers of its own.

    What is contiguous along the reduction is loaded as tiles, each of which needs all registers.
    """
    k, inner = nest.reduced, group.symbols[-1]
    operands = element_accesses(nest, access_list)
    if any(w.is_contiguous(k) and w.strides(inner) for w in operands):
        return context.costs.transposed_tiles
    steps = unroll_length(nest)
    if steps:
        return max(1, min(context.costs.results_in_flight // width, _max_jam(nest, steps)))
    accumulators = len(accumulator_types(nest))
    shared = any(w.varies(k) and not w.varies(inner) for w in operands)
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
    k, row = nest.reduced, groups[-1].symbols[-1]
    if not any(w.varies(k) and not w.varies(row) for w in operands):
        return 1
    sums = len(accumulator_types(nest)) * max(1, order.lanes // width)
    jam = max(1, min(MAX_JAM, registers * 3 // 4 // sums))
    if jam > 1:
        remark_kernel("unroll", nest, f"unroll-and-jam of {jam} rows", "they share an operand")
    return jam


def _overlap(
    context: ScheduleContext, nest: kernel.GenericOp, groups: Sequence[FusedAxis], width: int
) -> WindowReuse | None:
    """The rows and vectors of results that are computed together where what neighbouring rows read overlaps."""
    steps = unroll_length(nest)
    if not steps or len(groups) < 2 or groups[-2].symbols[1:]:
        return None
    row, column = groups[-2:]
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
    chunks = ceil_div(extent, most)
    even = materialize_dim(context, block, maximum(1, ceil_div(chunks, threads) * threads))
    share = ceil_div(extent, even * line) * line
    several = minimum(1, threads - 1)
    least = ceil_div(least, line) * line
    chunk = materialize_dim(
        context, block, maximum(least, minimum(most, maximum(line, most + several * (share - most))))
    )
    begin = sym(f"{iterator}.b")
    with parallel_loop(block, begin, 0, extent, step=chunk) as outer:
        with for_loop(outer, iterator, begin, minimum(extent, begin + chunk), vector=width, unroll=unroll) as inner:
            move(body, inner)
