"""Loops: plain, in lanes (with their remainders), parallel chunks, branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import gcd
from typing import Any

from xdsl.dialects import scf
from xdsl.ir import Block

from .....dialects.dims.analysis import constant_bound, linear_in
from .....dialects.dims.dims import Dim, Sym, dim
from .....dialects.loop import (
    AllocOp,
    AmxOp,
    ForOp,
    IfOp,
    IndexOp,
    LoadOp,
    MergeOp,
    ParallelOp,
    PartitionOp,
    ReduceOp,
    ScanOp,
    StoreOp,
    WhileOp,
)  # fmt: skip
from .....dialects.types import DTYPES
from ...cpu.reciprocal_divide import inverses_before
from ..polling import Polling
from ..text import EmitError, IrText
from ..values.index import IndexValues
from ..values.lanes import Lanes
from ..values.registers import Values, VectorAxis, VectorValue, info_of, union
from ..values.scalar import ScalarBodies

__all__ = ["Loops", "Region", "bound_of", "emitted_cost", "is_unit_stride_or_uniform", "maskable", "needs_order"]

BOOL, I64 = DTYPES["bool"], DTYPES["i64"]
#: From this cost on (`emitted_cost`) a loop has one masked body instead of one for whole vectors and one for the rest.
LONG_BODY = 40
#: Below this cost a body has a copy of its own for whole vectors that several copies left over: those without
#: approximations.
SHORT_BODY = 25
#: Types by which walks over bodies ask, as `isinstance` of a class of xDSL's takes ten times as long: loops, and what
#: lanes cannot do side by side.
_LOOPS = frozenset({ForOp, ReduceOp, ScanOp, MergeOp, PartitionOp, scf.WhileOp})
_IN_ORDER = frozenset({IfOp, WhileOp, AllocOp, ScanOp, MergeOp, PartitionOp})
#: From so many copies of a body on there is a loop with a quarter of them for what is left over.
MANY_COPIES = 8
#: So many vectors of sums, of several rows each, have a loop with half of them for what is left over.
WIDE_TILE = 4
#: So many vectors of reductions go one by one: they wait less for their own sums than copies cost that do nothing.
ALONE = 2


#: Emits a block with registers for its arguments; the registers that it yields.
Region = Callable[..., list[VectorValue]]


class Loops:
    """Loops and branches of `text` around the ops of blocks, which `region` emits."""

    def __init__(
        self, text: IrText, lanes: Lanes, index: IndexValues, values: Values, scalars: ScalarBodies, polling: Polling,
        region: Region,
    ):  # fmt: skip
        self.text, self.lanes, self.index, self.values = text, lanes, index, values
        self.scalars, self.polling, self.region = scalars, polling, region

    def polled(self, block: Block, arguments: Sequence[VectorValue] = ()) -> list[VectorValue]:
        """`region` of an iteration, which begins with a poll if it is long."""
        if self.polling.each(block):
            self.polling.poll()
        return self.region(block, arguments)

    def while_in_lanes(self, op: scf.WhileOp) -> None:
        first = [self.values[v] for v in op.operands]
        lanes = union([*(r.lanes for r in first), *self._lanes_within(op)])
        wide = self.lanes.spread_all(first, lanes)

        def before(carried: list[VectorValue]) -> tuple[VectorValue, list[VectorValue]]:
            more, *passed = self.region(op.before_region.block, carried)
            return more, passed

        every = self.polling.every(op.before_region.block, op.after_region.block)
        passed = self.scalars.masked_while(wide, before, lambda regs: self.region(op.after_region.block, regs), every)
        self.values.update(zip(op.results, passed))

    def _lanes_within(self, op: scf.WhileOp) -> Iterator[tuple[VectorAxis, ...]]:
        """The lane dims of what a loop takes from outside."""
        for inner in op.walk():
            if isinstance(inner, IndexOp | LoadOp):
                yield self.lanes.axes
            yield from (self.values[v].lanes for v in inner.operands if not op.is_ancestor(v.owner))

    # Loops

    def counted(
        self,
        symbol: Sym,
        lower: str,
        upper: str,
        step: str,
        body: Callable[[list[VectorValue]], list[VectorValue]],
        inits: Sequence[VectorValue] = (),
        *,
        trips: int | None = None,
        bound: Dim | None = None,
        multiple: int = 1,
        until: bool = False,
        strip: int = 0,
    ) -> tuple[str, list[VectorValue]]:
        """A loop with `symbol` as its iterator, carrying `inits`; where it stopped, and the last carried values.

        With `until` the body gives a condition besides, the last value, which ends the loop.
        `trips` is their number where known; `bound` the iterator's upper bound if the lower is not negative, `multiple`
        a number that divides the iterator.  After each `strip` of iterations it polls, unless that is 0.
        """
        text = self.text
        if trips == 0:
            return lower, [v.spelled() for v in inits]
        strip = strip if trips is None or trips > strip else 0
        stop = first_stop = self._strip_end(lower, upper, step, strip) if strip else upper
        before, first = text.block, list(inits)
        phis: list[Any] = []
        loop, after = text.label("loop"), text.label("done")
        iv, carried = lower, first
        if trips != 1:
            if trips is None:
                text.branch_if(text.ins(f"icmp slt i64 {lower}, {upper}"), loop, after)
            else:
                text.branch(loop)
            text.start(loop)
            iv = text.fresh()
            stop = text.fresh() if strip else upper
            carried = [VectorValue(r.lanes, [text.fresh() for _ in r.regs], r.dtype) for r in first]
            text.out.append(phis)
        with self.index.iterator(symbol, iv, bound, multiple):
            given = body(carried)
            last = [VectorValue(c.lanes, self.lanes.spread(r, c.lanes), r.dtype) for c, r in zip(carried, given)]
        if trips == 1:
            return text.add(lower, step), last
        next_ = text.ins(f"add nsw i64 {iv}, {step}")
        latch = text.block
        more = text.ins(f"icmp slt i64 {next_}, {stop}")
        if until:
            more = text.ins(f"select i1 {_uniform(given[-1])}, i1 false, i1 {more}")
        entries, end_of_loop = [latch], latch
        if strip:
            end_of_loop, polling = text.label("strip"), text.label("poll")
            text.branch_if(more, loop, end_of_loop)
            text.start(end_of_loop)
            rest = text.ins(f"icmp slt i64 {next_}, {upper}")
            if until:
                rest = text.ins(f"select i1 {_uniform(given[-1])}, i1 false, i1 {rest}")
            text.branch_if(rest, polling, after)
            text.start(polling)
            self.polling.poll()
            next_stop = self._strip_end(next_, upper, step, strip)
            entries.append(text.block)
            phis.append(
                f"  {stop} = phi i64 [{first_stop}, %{before}], [{stop}, %{latch}], [{next_stop}, %{text.block}]"
            )
            text.branch(loop)
        else:
            text.branch_if(more, loop, after)

        def phi(name: str, type_: str, start: str, end: str) -> None:
            later = "".join(f", [{end}, %{entry}]" for entry in entries)
            phis.append(f"  {name} = phi {type_} [{start}, %{before}]{later}")

        phi(iv, "i64", lower, next_)
        for c, start, end in zip(carried, first, last):
            for name, s, e in zip(c.regs, start.operands(), end.operands()):
                phi(name, c.type, s, e)
        text.start(after)
        if trips is not None:
            return next_, last
        stopped = text.ins(f"phi i64 [{lower}, %{before}], [{next_}, %{end_of_loop}]")
        return stopped, self.join(first, before, last, end_of_loop)

    def _strip_end(self, start: str, upper: str, step: str, strip: int) -> str:
        """Where a strip ends that begins at `start`.  It may wrap, in which case strips are shorter."""
        text = self.text
        ahead = text.mul(step, str(strip))
        return text.call("smin", 1, "i64", text.ins(f"add i64 {start}, {ahead}"), upper)

    def where(
        self, condition: str, hint: str, there: Callable[[], list[VectorValue]], else_: Sequence[VectorValue] = ()
    ) -> list[VectorValue]:
        """What `there` gives, in a block of its own where an instruction says so; else as many others."""
        text = self.text
        some, after, before = text.label(hint), text.label("done"), text.block
        text.branch_if(text.ins(condition), some, after)
        text.start(some)
        text.frames.append({})
        found = there()
        text.frames.pop()
        last = text.block
        text.branch(after)
        text.start(after)
        return self.join(else_, before, found, last)

    def join(self, a: Sequence[VectorValue], from_a: str, b: Sequence[VectorValue], from_b: str) -> list[VectorValue]:
        """Phis of registers of the same form, at the start of a block with two predecessors."""

        def phi(x: VectorValue, p: str, q: str) -> str:
            return self.text.ins(f"phi {x.type} [{p}, %{from_a}], [{q}, %{from_b}]")

        return [
            VectorValue(x.lanes, [phi(x, p, q) for p, q in zip(x.operands(), y.operands())], x.dtype)
            for x, y in zip(a, b)
        ]

    def for_loop(self, op: ForOp) -> None:
        lower, upper, step = op.lower.data, op.upper.data, op.step.data
        bound = bound_of(op)
        if op.lanes > 1 and not needs_order(op.block, lanes_beside=True):
            vector = op.vector.value.data if self.lanes.vector is None else 1
            if vector * op.unroll.value.data > 1:
                self.scalars.inverses = inverses_before(self.scalars, self.values, op.block)
                self._lanes_loop(op, vector, op.unroll.value.data, bound)
                self.scalars.inverses = {}
                return
        extent = (upper - lower).const
        trips = None if extent is None or step.const is None else max(0, -(-extent // step.const))
        inits = self.lanes.spread_all(map(self.values.__getitem__, op.inits), self.lanes.axes)
        _, outs = self.counted(
            op.symbol, self.index.value(lower), self.index.value(upper), self.index.value(step),
            lambda carried: self.polled(op.block, carried), inits, trips=trips if op.break_flag is None else None,
            bound=bound, multiple=gcd(self.index.multiple(lower), self.index.multiple(step)),
            until=op.break_flag is not None, strip=self.polling.strip_if_long(op),
        )  # fmt: skip
        self.values.update(zip(op.outs, outs))

    def _lanes_loop(self, op: ForOp, width: int, unroll: int, bound: Dim | None) -> None:
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

        def body(lane: VectorAxis | None) -> Callable[[list[VectorValue]], list[VectorValue]]:
            return lambda _: self._in_lanes(op, lane)

        multiple = gcd(self.index.multiple(lower), full)
        stopped, _ = self.counted(
            symbol, start, main_end, str(full), body(VectorAxis(symbol, width, unroll, depth)), trips=main_trips,
            bound=bound, multiple=multiple,
        )  # fmt: skip
        left = None if extent is None else max(0, extent) % full
        if full == 1 or left == 0:
            return
        # What is left over of many copies is long: fewer go through most of it.  Short bodies afford a copy of their
        # own for the whole vectors, and masked stores cost as much as ten others.
        short = emitted_cost(op.block) < SHORT_BODY
        for fewer in [n for n in (self._some(op, unroll, masked), 1 if masked and short else 0) if n]:
            if fewer * width < full:
                full = fewer * width
                some_end = text.add(stopped, text.whole(text.sub(end, stopped), full))
                trips = None if left is None else left // full
                stopped, _ = self.counted(
                    symbol, stopped, some_end, str(full), body(VectorAxis(symbol, width, fewer, depth)), trips=trips,
                    bound=bound,
                )  # fmt: skip
                left = None if left is None else left % full
        if full == 1 or left == 0:
            return
        if 1 < width < full and not self.lanes.axes and self._is_reduction(op):
            least = ALONE * width + 1 if masked else width
            if left is None or left >= least:
                lane = VectorAxis(symbol, width, full // width, depth)
                stopped = self._at_once(op, stopped, end, lane, left, least, bound)
                if left is not None:
                    return
        if not masked:
            self.counted(symbol, stopped, end, "1", body(None), bound=bound, trips=left)
            return
        rest = None if left is None else -(-left // width)
        lane = VectorAxis(symbol, width, 1, depth)
        if full == width and rest is None:
            # At most one more step: no loop.
            self.where(f"icmp slt i64 {stopped}, {end}", "tail", lambda: self._under_mask(op, stopped, lane, 1, bound))
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

        return self.counted(op.symbol, first, end, str(lane.width), body, trips=trips, bound=bound)[1]

    def _stores_rows(self, op: ForOp) -> bool:
        """Whether an iteration stores elements of a row of its own, which under a mask is one at a time as well."""
        stores = (inner for inner in op.block.ops if type(inner) is StoreOp)
        return any(_step(self.index, store, op.symbol) not in (0, 1, -1, None) for store in stores)

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

    def held(self, symbol: Sym, copies: int, width: int, last: str) -> list[Sym]:
        """The first elements of copies side by side from an iterator on, none later than `last`."""
        here, starts = self.index.symbols[symbol][0], [Sym(f"{symbol.name}~{c}") for c in range(1, copies)]
        moved = [self.text.add(here, str(c * width)) for c in range(1, copies)]
        values = [self.text.call("smin", 1, "i64", m, last) for m in moved]
        self.index.push_scope()
        for name, value in zip(starts, values):
            self.index.define(name, value)
        return [symbol, *starts]

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
            starts = self.held(symbol, copies, width, last)
            return self._in_lanes(op, VectorAxis(symbol, width, copies, len(self.lanes.axes), starts))

        self.where(
            f"icmp slt i64 {first}, {end}", "step",
            lambda: self.counted(symbol, first, end, str(copies * width), body, trips=1, bound=bound)[1],
        )  # fmt: skip

    # Branches

    def branch(self, op: IfOp) -> None:
        text = self.text
        condition = _uniform(self.values[op.condition])
        then, otherwise, after = text.label("then"), text.label("else"), text.label("endif")
        text.branch_if(condition, then, otherwise)
        for label, block in ((then, op.then.block), (otherwise, op.otherwise.block)):
            text.start(label)
            self.text.frames.append({})
            self.region(block)
            self.text.frames.pop()
            text.branch(after)
        text.start(after)

    def while_loop(self, op: WhileOp) -> None:
        text = self.text
        test, body, after = text.label("test"), text.label("while"), text.label("endwhile")
        before, phis = text.block, list[Any]()
        text.branch(test)
        text.start(test)
        text.out.append(phis)
        self.text.frames.append({})
        (condition,) = self.region(op.condition.block)
        text.branch_if(_uniform(condition), body, after)
        text.start(body)
        every = self.polling.every(op.condition.block, op.body.block)
        left, next_ = self.polling.at_last(every) if every else ("", "")
        self.region(op.body.block)
        if every:
            phis.append(f"  {left} = phi i64 [{every}, %{before}], [{next_}, %{text.block}]")
        text.branch(test)
        self.text.frames.pop()
        text.start(after)


def bound_of(op: ForOp | ReduceOp | ScanOp | MergeOp | PartitionOp | ParallelOp | AmxOp) -> Dim | None:
    """The upper bound of a loop's iterator, if the lower is not negative."""
    return op.upper.data if op.lower.data.nonneg else None


def emitted_cost(block: Block) -> int:
    """A rough count of the instructions of one copy of a body; a body with a loop in it counts as long."""
    total = 1
    for op in block.walk():
        if type(op) in _LOOPS:
            return LONG_BODY * 10
        total += 25 if op.name.startswith(("math.", "kernel.")) else 1
    return total


def needs_order(block: Block, lanes_beside: bool = False) -> bool:
    """Whether a body cannot run in lanes: it branches, or a reduction in it has lanes of its own.

    With `lanes_beside` these are kept in memory, beside each other.
    """
    for op in block.walk():
        if type(op) in _IN_ORDER:
            return True
        if type(op) is ReduceOp and not lanes_beside and op.order.data.kind == "tree" and op.order.data.lanes > 1:
            return True
        if type(op) is ForOp or type(op) is ReduceOp or type(op) is ParallelOp:
            symbol = block.parent_op().symbol  # type: ignore[union-attr]
            if symbol in op.lower.data.symbols() | op.upper.data.symbols():
                return True
    return False


def maskable(block: Block) -> bool:
    """Whether every element that lanes touch is 32 or 64 bits wide, so that masked access is one instruction."""
    for op in block.walk():
        if (type(op) is LoadOp or type(op) is StoreOp) and info_of(op.buffer).dtype.bits < 32:
            return False
    return True


def is_unit_stride_or_uniform(index: IndexValues, block: Block, symbol: Sym) -> bool:
    """Whether all that a body touches stays where it is along an iterator, or lies one after another."""
    for access in block.walk():
        if type(access) is LoadOp or type(access) is StoreOp:
            if _step(index, access, symbol) not in (0, 1):
                return False
    return True


def _step(index: IndexValues, access: LoadOp | StoreOp, symbol: Sym) -> int | None:
    """How far elements that are touched are apart, from one iteration to the next; None where that is not known."""
    parts = linear_in(index.address(info_of(access.buffer), access.index.data), [symbol])
    return None if parts is None else parts[0].get(symbol, dim(0)).const


def _uniform(condition: VectorValue) -> str:
    if not condition.uniform:
        raise EmitError("a branch in lanes must not depend on them")
    return condition.regs[0]
