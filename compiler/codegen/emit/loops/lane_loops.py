"""A loop in lanes: whole vectors, several at a time, and what is left over of them.

What is left over goes by fewer vectors, all at once in step with the last, under a mask, or one by one: whichever is
the least code that does not wait, by how long the body is and what the target has.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

from .....dialects.dims.analysis import constant_bound
from .....dialects.dims.dims import Dim
from .....dialects.loop import (
    ForOp,
    ReduceOp,
    StoreOp,
)
from ..values.registers import VectorAxis, VectorValue
from .counted_loops import CountedLoops
from .loop_bodies import LONG_BODY, emitted_cost, is_unit_stride_or_uniform, maskable, step_between

__all__ = ["LaneLoops"]

#: Below this cost a body has a copy of its own for whole vectors that several copies left over: those without
#: approximations.
SHORT_BODY = 25
#: From so many copies of a body on there is a loop with a quarter of them for what is left over.
MANY_COPIES = 8
#: So many vectors of sums, of several rows each, have a loop with half of them for what is left over.
WIDE_TILE = 4
#: So many vectors of reductions go one by one: they wait less for their own sums than copies cost that do nothing.
ALONE = 2


class LaneLoops:
    """Loops in lanes, of the bodies that `region` emits."""

    def __init__(self, loops: CountedLoops, region: Callable[..., list[VectorValue]]):
        self.loops, self.region = loops, region
        self.text, self.lanes, self.index = loops.text, loops.lanes, loops.index

    def write(self, op: ForOp, width: int, unroll: int, bound: Dim | None) -> None:
        """A main loop of ``width * unroll`` iterations at once, then a masked or a scalar remainder."""
        text = self.text
        lower, upper, symbol = op.lower.data, op.upper.data, op.symbol
        extent = (upper - lower).const
        if extent is not None:
            unroll = max(1, min(unroll, -(-extent // width)))
        elif width == 1 and (most := constant_bound(upper - lower)) is not None and most <= unroll:
            self._one_step(op, most, bound)
            return
        full = width * unroll
        masked = width > 1 and text.target.has_masks and maskable(op.block) and not self._stores_rows(op)
        depth = len(self.lanes.axes)
        few = extent is None and (most := constant_bound(upper - lower)) is not None and most < 2 * width
        if masked and unroll == 1 and (few or ((extent is None or extent % width) and self._worth_one_copy(op))):
            trips = None if extent is None else -(-extent // width)
            self._under_mask(
                op, self.index.value(lower), VectorAxis(symbol, width, 1, depth), trips, bound, whole_too=not few
            )
            return
        if extent is not None and not masked and extent < width:
            width = unroll = full = 1
        start, end = self.index.value(lower), self.index.value(upper)
        main_trips = None if extent is None else max(0, extent) // full
        if extent is None:
            trip = self.index.value(upper - lower)
            main_end = text.add(start, text.whole(trip, full))
        else:
            main_end = text.add(start, str(max(0, extent) // full * full))

        lane, multiple = VectorAxis(symbol, width, unroll, depth), gcd(self.index.multiple(lower), full)
        stopped, _ = self.loops.counted(
            symbol, start, main_end, str(full), lambda _: self._in_lanes(op, lane), trips=main_trips, bound=bound,
            multiple=multiple,
        )  # fmt: skip
        self._left_over(op, stopped, end, lane, None if extent is None else max(0, extent) % full, masked, bound)

    def _left_over(
        self, op: ForOp, stopped: str, end: str, lane: VectorAxis, left: int | None, masked: bool, bound: Dim | None
    ) -> None:
        """The iterations that are left over of all `lane` does at once, `left` of them if that is known.

        What is left over of many copies is long: fewer go through most of it.  Short bodies afford a copy of their own
        for the whole vectors, and masked stores cost as much as ten others.
        """
        text, symbol, depth = self.text, op.symbol, len(self.lanes.axes)
        width, full = lane.width, lane.width * lane.copies
        if full == 1 or left == 0:
            return
        short = emitted_cost(op.block) < SHORT_BODY
        for fewer in [n for n in (self._some(op, lane.copies, masked), 1 if masked and short else 0) if n]:
            if fewer * width < full:
                full, some = fewer * width, VectorAxis(symbol, width, fewer, depth)
                some_end = text.add(stopped, text.whole(text.sub(end, stopped), full))
                stopped, _ = self.loops.counted(
                    symbol, stopped, some_end, str(full), lambda _, some=some: self._in_lanes(op, some),
                    trips=None if left is None else left // full, bound=bound,
                )  # fmt: skip
                left = None if left is None else left % full
        if full == 1 or left == 0:
            return
        if 1 < width < full and not self.lanes.axes and self._is_reduction(op):
            least = ALONE * width + 1 if masked else width
            if left is None or left >= least:
                rest = VectorAxis(symbol, width, full // width, depth)
                stopped = self._at_once(op, stopped, end, rest, left, least, bound)
                if left is not None:
                    return
        if not masked:
            self.loops.counted(symbol, stopped, end, "1", lambda _: self._in_lanes(op, None), bound=bound, trips=left)
            return
        rest = None if left is None else -(-left // width)
        lane = VectorAxis(symbol, width, 1, depth)
        if full == width and rest is None:
            # At most one more step: no loop.
            self.loops.where(
                f"icmp slt i64 {stopped}, {end}", "tail", lambda: self._under_mask(op, stopped, lane, 1, bound)
            )
            return
        # Where a body is long, as a tile of sums is, the vectors left over matter.
        self._under_mask(op, stopped, lane, rest, bound, whole_too=full > width)

    def _in_lanes(self, op: ForOp, lane: VectorAxis | None) -> list[VectorValue]:
        """The body, in the lanes around and one more."""
        with self.lanes.along(lane):
            self.region(op.block)
        return []

    def _under_mask(
        self, op: ForOp, first: str, lane: VectorAxis, trips: int | None, bound: Dim | None, whole_too: bool = False
    ) -> list[VectorValue]:
        """The iterations from `first` on, a vector at a time, under a mask; `whole_too`: not all of them are partial.

        One body then serves both, which differ in their stores.
        """
        end = self.index.value(op.upper.data)

        def body(_: list[VectorValue]) -> list[VectorValue]:
            left = self.text.sub(end, self.index.symbols[op.symbol][0])
            self.lanes.mask, self.lanes.rest = self.lanes.below(left, lane.width), left if whole_too else None
            self.lanes.left, self.lanes.is_short = left, op.short is not None
            self._in_lanes(op, lane)
            self.lanes.mask = self.lanes.rest = self.lanes.left = None
            return []

        return self.loops.counted(op.symbol, first, end, str(lane.width), body, trips=trips, bound=bound)[1]

    def _stores_rows(self, op: ForOp) -> bool:
        """Whether an iteration stores elements of a row of its own, which under a mask is one at a time as well."""
        stores = (inner for inner in op.block.ops if type(inner) is StoreOp)
        return any(step_between(self.index, store, op.symbol) not in (0, 1, -1, None) for store in stores)

    def _worth_one_copy(self, op: ForOp) -> bool:
        """Whether a body is so long that a second copy would cost more than branches do; without gathers."""
        return emitted_cost(op.block) >= LONG_BODY and is_unit_stride_or_uniform(self.index, op.block, op.symbol)

    def _some(self, op: ForOp, unroll: int, masked: bool) -> int:
        """How many copies go through what is left over of `unroll` before they come one by one; 0: none do.

        Half of a tile of sums: one alone would wait for its own.
        """
        if unroll >= MANY_COPIES:
            return unroll // 4
        return unroll // 2 if masked and self._is_reduction(op) and self.lanes.axes and unroll >= WIDE_TILE else 0

    def _is_reduction(self, op: ForOp) -> bool:
        """Whether each iteration is a reduction, whose steps are a dependence chain."""
        return any(isinstance(inner, ReduceOp) for inner in op.block.ops)

    def _at_once(
        self, op: ForOp, first: str, end: str, lane: VectorAxis, left: int | None, least: int, bound: Dim | None
    ) -> str:
        """What is left over of whole vectors and a part of one, in one step; where it ended.

        `left` iterations, if that is known, and fewer than the lanes; fewer than `least` are left to others.  Copies
        that are left over do the last vector before `end`, in step with the copy before, as in `_one_step`.
        """
        width, copies, stop = lane.width, lane.copies if left is None else -(-left // lane.width), end
        if left is None:
            enough = self.text.ins(f"icmp sge i64 {self.text.sub(end, first)}, {least}")
            stop = self.text.ins(f"select i1 {enough}, i64 {end}, i64 {first}")
        self._in_step(op, first, stop, self.text.sub(end, str(width)), width, copies, bound)
        return stop

    def _one_step(self, op: ForOp, copies: int, bound: Dim | None) -> None:
        """All of at most `copies` iterations at once; copies that are left over repeat the last iteration.

        They do so in step with it (each operation is emitted for all copies before the next), so they store what it
        stores, to the same place: no other code is needed for fewer iterations.
        """
        start, end = self.index.value(op.lower.data), self.index.value(op.upper.data)
        self._in_step(op, start, end, self.text.sub(end, "1"), 1, copies, bound)

    def _in_step(self, op: ForOp, first: str, end: str, last: str, width: int, copies: int, bound: Dim | None) -> None:
        """One step of so many copies, unless `first` is `end`; copies begin no later than `last`."""
        symbol = op.symbol

        def body(_: list[VectorValue]) -> list[VectorValue]:
            starts = self.loops.held(symbol, copies, width, last)
            return self._in_lanes(op, VectorAxis(symbol, width, copies, len(self.lanes.axes), starts))

        self.loops.where(
            f"icmp slt i64 {first}, {end}", "step",
            lambda: self.loops.counted(symbol, first, end, str(copies * width), body, trips=1, bound=bound)[1],
        )  # fmt: skip
