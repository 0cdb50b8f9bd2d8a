"""Reductions that all threads of a block, or of a warp, share, in exactly the order that `dialects.order` defines.

A tree's virtual lanes lie on threads, side by side: thread ``t`` holds the lanes ``t``, ``t + 32``, …  So many threads
as that takes reduce one of the order's blocks, and further ones the next.  Then the lanes are combined by halves in
registers and by shuffles, and blocks by the same binary tree that the order's counter makes: neighbours first, where
the newer one exists.  What a group reduces at once is a segment; segments are combined by the counter itself, in every
thread alike.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....dialects.dims.analysis import constant_bound
from ....dialects.dims.dims import Sym
from ....dialects.loop import ReduceOp
from ....dialects.types import DTYPES
from ..emit.loops.counted_loops import bound_of
from ..emit.loops.loop_bodies import emitted_cost, needs_order
from ..emit.loops.pairwise_stack import load_accumulator, store_accumulator
from ..emit.loops.reduce import ReductionPlan, Reductions, number_of
from ..emit.memory.access import Places, storage_type
from ..emit.text import EmitError
from ..emit.values.primitives import literal
from ..emit.values.registers import VectorAxis, VectorValue, dtype_of
from .cooperative import WARP, CooperativeGroup

__all__ = ["CooperativeReductions", "reduce_in_thread"]

#: Elements that a thread loads before it combines the first of them, and instructions of bodies that do so.
IN_FLIGHT, LIGHT = 8, 128
#: The first of these where a thread reduces alone: there are fewer of them.
ALONE = 16


class CooperativeReductions:
    """The reductions of a kernel: those that a group shares, and, by `alone`, those of one thread."""

    def __init__(self, alone: Reductions, group: CooperativeGroup, places: Places):
        self.alone, self.group, self.places = alone, group, places
        self.text, self.lanes, self.index, self.values = alone.text, alone.lanes, alone.index, alone.values
        self.loops = alone.loops

    def reduce(self, op: ReduceOp) -> None:
        if op.cooperative is None:
            self.alone.reduce(op)
            return
        if not self.group.uniform or self.lanes.axes:
            raise EmitError("a cooperative reduction where not all threads are, or inside lanes")
        order = op.order.data
        dtypes = [dtype_of(out.type) for out in op.outs]
        identity = [literal(number_of(a), d) for a, d in zip(op.identity.data, dtypes, strict=True)]
        plan = ReductionPlan(op, dtypes, identity, (), 1, order.lanes)
        extent = (op.upper.data - op.lower.data).const
        start, end = self.index.value(op.lower.data), self.index.value(op.upper.data)
        if order.kind == "free":
            total = self._free(plan, start, end)
        elif order.kind == "tree":
            lanes = min(order.lanes, WARP)
            size = order.block * (self.group.size // lanes)
            most = constant_bound(op.upper.data - op.lower.data)
            if most is not None and most <= size:
                total = self._reduce_segment(plan, start, end, extent == size)
            else:
                even = extent is not None and extent % size == 0
                total = self.alone.blocked_reduce(
                    plan, extent, size, lambda a, b: self._reduce_segment(plan, a, b, even)
                )
        else:
            raise EmitError(f"the order {order} is one thread's; it is not shared")
        self.values.update(zip(op.outs, total))

    # Orders that are free

    def _free(self, plan: ReductionPlan, start: str, end: str) -> list[VectorValue]:
        """Each thread takes every so-many-th element."""
        size, number = self.group.size, self.group.thread_number()
        copies = _in_flight(plan, 1)
        lane = _lane_of(self.alone, plan, copies, size)
        totals = self.alone.start(plan, () if lane is None else (lane,))
        first = self.text.add(start, number)
        symbol, bound = plan.op.symbol, bound_of(plan.op)
        step = size * copies
        last = self.text.sub(end, str(step - size))
        stopped, totals = self.loops.counted(
            symbol, first, last, str(step), lambda c: self.alone.accumulate(plan, c, lane), totals, bound=bound
        )
        totals = self._halved(plan, totals, copies)
        _, totals = self.loops.counted(
            symbol, stopped, end, str(size), lambda c: self.alone.accumulate(plan, c, None), totals, bound=bound
        )
        count = self.text.call("smin", 1, "i64", self.text.sub(end, start), str(size))
        return self._across(plan, totals, 1, count)

    # Trees

    def _reduce_segment(self, plan: ReductionPlan, start: str, end: str, whole: bool) -> list[VectorValue]:
        """One of the order's blocks for each group of threads, all combined: elements from `start` to `end`."""
        text = self.text
        order = plan.op.order.data
        threads = min(order.lanes, WARP)
        number = self.group.thread_number()
        group = text.ins(f"lshr i64 {number}, {threads.bit_length() - 1}")
        place = text.ins(f"and i64 {number}, {threads - 1}")
        here = text.add(start, text.mul(group, str(order.block)))
        below = text.add(here, str(order.block))
        copies = order.lanes // threads
        if whole:
            totals = self._whole_block(plan, here, below, place, copies, threads)
        else:
            all_there, some, after = text.label("whole"), text.label("rest"), text.label("block")
            text.branch_if(text.ins(f"icmp sle i64 {below}, {end}"), all_there, some)
            self.text.frames.append({})
            text.start(all_there)
            a = self._whole_block(plan, here, below, place, copies, threads)
            from_a = text.block
            text.branch(after)
            self.text.frames[-1] = {}
            text.start(some)
            b = self._part_of_block(plan, here, end, place, copies, threads)
            from_b = text.block
            text.branch(after)
            self.text.frames.pop()
            text.start(after)
            totals = self.loops.join(a, from_a, b, from_b)
        totals = self._halved(plan, totals, copies)
        step = threads
        while step > 1:
            step //= 2
            totals = self._merge_values_of(plan, totals, self.group.from_above(totals, step))
        blocks = text.ins(f"ashr i64 {text.add(text.sub(end, start), str(order.block - 1))}, "
                          f"{order.block.bit_length() - 1}")  # fmt: skip
        return self._across(plan, totals, threads, blocks)

    def _whole_block(
        self, plan: ReductionPlan, here: str, below: str, place: str, copies: int, threads: int
    ) -> list[VectorValue]:
        order, symbol = plan.op.order.data, plan.op.symbol
        steps = min(_in_flight(plan, copies) // copies, order.block // order.lanes) or 1
        lane = _lane_of(self.alone, plan, copies * steps, threads)
        kept = _lane_of(self.alone, plan, copies, threads)
        totals = self.alone.start(plan, () if kept is None else (kept,))
        span = order.lanes * steps
        _, totals = self.loops.counted(
            symbol, self.text.add(here, place), below, str(span),
            lambda c: _steps_of(self.alone, plan, c, lane, kept, None), totals, trips=order.block // span,
            bound=bound_of(plan.op),
        )  # fmt: skip
        return totals

    def _part_of_block(
        self, plan: ReductionPlan, here: str, end: str, place: str, copies: int, threads: int
    ) -> list[VectorValue]:
        """A block that is not whole, or not there at all: elements beyond it repeat the last, and are not combined."""
        order, symbol = plan.op.order.data, plan.op.symbol
        steps = min(_in_flight(plan, copies) // copies, order.block // order.lanes) or 1
        kept = _lane_of(self.alone, plan, copies, threads)
        totals = self.alone.start(plan, () if kept is None else (kept,))

        def step(carried: list[VectorValue]) -> list[VectorValue]:
            first, last = self.index.symbols[symbol][0], self.text.sub(end, "1")
            starts, there = [symbol], ["true"]
            for copy in range(1, copies * steps):
                moved = self.text.add(first, str(copy * threads))
                there.append(self.text.ins(f"icmp sle i64 {moved}, {last}"))
                held = self.text.call("smin", 1, "i64", moved, last)
                starts.append(Sym(f"{symbol.name}~{copy}"))
                self.index.push_scope()
                self.index.define(starts[-1], held)
            lane = _lane_of(self.alone, plan, copies * steps, threads, starts)
            return _steps_of(self.alone, plan, carried, lane, kept, there)

        _, totals = self.loops.counted(
            symbol, self.text.add(here, place), end, str(order.lanes * steps), step, totals, bound=bound_of(plan.op)
        )
        return totals

    # Combining

    def _halved(self, plan: ReductionPlan, totals: list[VectorValue], copies: int) -> list[VectorValue]:
        """A thread's own lanes, combined by halves."""
        regs = [t.operands() for t in totals]
        while copies > 1:
            copies //= 2
            lane = _lane_of(self.alone, plan, copies, 1)
            lanes = () if lane is None else (lane,)
            older = [VectorValue(lanes, r[:copies], d) for r, d in zip(regs, plan.dtypes)]
            newer = [VectorValue(lanes, r[copies:], d) for r, d in zip(regs, plan.dtypes)]
            with self.lanes.along(lane):
                merged = self.alone.merge(plan, older, newer)
                regs = [m.operands() for m in self.lanes.spread_all(merged, lanes)]
        return [VectorValue((), r, d) for r, d in zip(regs, plan.dtypes)]

    def _merge_values_of(
        self, plan: ReductionPlan, older: Sequence[VectorValue], newer: Sequence[VectorValue]
    ) -> list[VectorValue]:
        merged = self.alone.merge(plan, older, newer)
        return [VectorValue((), m.operands(), m.dtype) for m in merged]

    def _tree(self, plan: ReductionPlan, values: list[VectorValue], distance: int, count: str) -> list[VectorValue]:
        """The values of every `distance`-th thread of a warp, of which `count` are there, in its first thread."""
        number, step = self.text.ins(f"lshr i64 {self.group.lane_number()}, {distance.bit_length() - 1}"), 1
        while step * distance < WARP:
            newer = self.group.from_above(values, step * distance)
            there = self.text.ins(f"icmp slt i64 {self.text.add(number, str(step))}, {count}")
            merged = self._merge_values_of(plan, values, newer)
            values = [self.lanes.select(VectorValue((), [there], DTYPES["bool"]), m, v) for m, v in zip(merged, values)]
            step *= 2
        return values

    def _across(self, plan: ReductionPlan, values: list[VectorValue], distance: int, count: str) -> list[VectorValue]:
        """The values of every `distance`-th thread of the group, `count` of them, combined; in all threads."""
        text = self.text
        if self.group.size <= WARP:
            return self.group.from_first(self._tree(plan, values, distance, count))
        each = WARP // distance
        warps = self.group.threads // WARP
        begun = text.mul(self.group.warp_number(), str(each))
        values = self._tree(plan, values, distance, text.sub(count, begun))
        memory = self._memory_of_warps(plan)
        lane = self.group.lane_number()

        def places(number: str) -> list[str]:
            return [
                text.ins(f"getelementptr {storage_type(d)}, ptr {m}, i64 {number}") for m, d in zip(memory, plan.dtypes)
            ]

        def put(at: str) -> None:
            for pointer, value in zip(places(self.group.warp_number()), values):
                store_accumulator(self.text, pointer, value.operands()[0], value.dtype, 1)

        self.places.store_where(text.ins(f"icmp eq i64 {lane}, 0"), "", put)
        self.group.barrier()
        mine = text.ins(f"and i64 {lane}, {warps - 1}")
        parts = [VectorValue((), [load_accumulator(self.text, p, d, 1)], d) for p, d in zip(places(mine), plan.dtypes)]
        self.group.barrier()
        filled = count if each == 1 else text.ins(f"ashr i64 {text.add(count, str(each - 1))}, {each.bit_length() - 1}")
        return self.group.from_first(self._tree(plan, parts, 1, filled))

    def _memory_of_warps(self, plan: ReductionPlan) -> list[str]:
        """Shared memory for a value of each accumulator from each warp."""
        first, found = self.group.reserve_shared(plan.op.block_bytes(self.group.threads)), list[str]()
        for d in plan.dtypes:
            found.append(self.group.shared(first))
            first = first + -(-self.group.threads // WARP * d.bytes // 16) * 16
        return found


def reduce_in_thread(r: Reductions, plan: ReductionPlan, start: str, end: str) -> list[VectorValue] | None:
    """One thread's reduction in order, with several elements in flight; None where it does not load several at once."""
    text, copies = r.text, _in_flight(plan, 1, ALONE)
    if plan.lanes > 1 or r.lanes.axes or copies == 1 or plan.position is not None:
        return None
    symbol, bound = plan.op.symbol, bound_of(plan.op)
    lane = _lane_of(r, plan, copies, 1)
    whole = text.add(start, text.whole(text.sub(end, start), copies))
    stopped, totals = r.loops.counted(
        symbol, start, whole, str(copies), lambda c: _steps_of(r, plan, c, lane, None, None),
        r.start(plan, ()), bound=bound,
    )  # fmt: skip
    _, totals = r.loops.counted(symbol, stopped, end, "1", lambda c: r.accumulate(plan, c, None), totals, bound=bound)
    return totals


def _in_flight(plan: ReductionPlan, least: int, most: int = IN_FLIGHT) -> int:
    """How many elements a thread loads at once."""
    if needs_order(plan.op.body.block):
        return least if least == 1 else 1
    cost = emitted_cost(plan.op.body.block)
    return max(least, min(most, LIGHT // cost))


def _lane_of(
    r: Reductions, plan: ReductionPlan, copies: int, stride: int, starts: Sequence[Sym] = ()
) -> VectorAxis | None:
    """The lane dim of so many elements of a thread."""
    return VectorAxis(plan.op.symbol, 1, copies, len(r.lanes.axes), starts, stride) if copies > 1 else None


def _steps_of(
    r: Reductions,
    plan: ReductionPlan,
    totals: list[VectorValue],
    lane: VectorAxis | None,
    kept: VectorAxis | None,
    there: Sequence[str] | None,
) -> list[VectorValue]:
    """Elements of all steps at once, then combined step after step; only those that are `there` (None: all)."""
    if lane is None:
        return r.accumulate(plan, totals, None)
    with r.lanes.along(lane):
        element = r.region(plan.op.body.block)
        columns = [list(r.lanes.spread(e.spelled(), (lane,))) for e in element]
    copies, lanes = (1, ()) if kept is None else (kept.copies, (kept,))
    with r.lanes.along(kept):
        for first in range(0, lane.copies, copies):
            step = [VectorValue(lanes, c[first : first + copies], e.dtype) for c, e in zip(columns, element)]
            new = r.combine_element(plan, totals, step)
            if there is not None:
                asked = VectorValue(lanes, there[first : first + copies], DTYPES["bool"])
                new = [r.lanes.select(asked, n, t) for n, t in zip(new, totals)]
            totals = new
    return totals
