"""`loop.reduce`, in exactly the order that `dialects.order` defines, whatever the machine's vectors.

The virtual lanes of a block are held in one of two ways.  A light body keeps them all in registers: one step of the
loop takes one element of each lane, the last one under masks.  A heavy body, and where there are no masks an incomplete
step, keeps them in stack memory and runs one vector of lanes at a time, so that the body is emitted once, not once for
each register of lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import SSAValue

from .....dialects.attributes import DimsAttr
from .....dialects.dims.analysis import constant_bound, linear_in
from .....dialects.dims.dims import Dim, Sym, dim, minimum, sym
from .....dialects.loop import LoadOp, ReduceOp
from .....dialects.types import DTYPES, DType
from ..text import EmitError, IrText, lit, llvm_type, vector_type
from ..values.index import IndexValues
from ..values.lanes import Lanes
from ..values.primitives import literal
from ..values.registers import Values, VectorAxis, VectorValue, count_of, dtype_of, info_of
from ..values.scalar import ScalarBodies
from .arg_reduction import POSITIONS, Position, position_of
from .counted_loops import bound_of
from .loop_bodies import emitted_cost, is_unit_stride_or_uniform, maskable, needs_order
from .loops import Loops
from .masked_tail import incomplete_step
from .pairwise_stack import PairwiseStack, load_accumulator, store_accumulator, stored_type

__all__ = ["ReduceInThread", "ReductionPlan", "Reductions", "number_of"]

#: A body of at most this many instructions, times its copies, keeps its lanes in registers.
LIGHT_INSTRUCTIONS = 128
#: A partial result waits for each power of two of blocks.
LEVELS = 48
I64 = DTYPES["i64"]


@dataclass
class ReductionPlan:
    """A reduction being emitted."""

    op: ReduceOp
    dtypes: list[DType]
    identity: list[str]
    outer: tuple[VectorAxis, ...]  # lane dims of the loops around it that it varies along
    width: int  # lanes in a machine vector along the reduced iterator
    groups: int  # vectors that hold all virtual lanes
    position: Position | None = None
    start: str = "0"  # where its positions count from

    @property
    def product(self) -> str:
        return self.op.order.data.product

    @property
    def lanes(self) -> int:
        return self.width * self.groups


#: The reduction of the elements from an i64 on and below another, or None.
ReduceInThread = Callable[["Reductions", ReductionPlan, str, str], list[VectorValue] | None]


class Reductions:
    """The reductions of `text`.

    `alone` may reduce all elements of one virtual lane in another way, of the same order; None where it does not.
    """

    def __init__(
        self, text: IrText, lanes: Lanes, index: IndexValues, values: Values, scalars: ScalarBodies, loops: Loops,
        alone: ReduceInThread | None,
    ):  # fmt: skip
        self.text, self.lanes, self.index, self.values = text, lanes, index, values
        self.scalars, self.loops, self.region, self.alone = scalars, loops, loops.region, alone

    def reduce(self, op: ReduceOp) -> None:
        order, lower, upper = op.order.data, op.lower.data, op.upper.data
        plan = self._plan(op)
        extent = (upper - lower).const
        if plan.position is not None:
            self.values.update(zip(op.outs, self._with_positions(plan, plan.position)))
            return
        most = constant_bound(upper - lower)
        single = order.kind in ("free", "serial") or (most is not None and most <= order.block)
        if single:
            start, end = self.index.value(lower), self.index.value(upper)
            total = self.block(plan, start, end, extent)
        else:
            size = order.block
            even = size if extent is not None and extent % size == 0 else None
            total = self.blocked_reduce(plan, extent, size, lambda a, b: self.block(plan, a, b, even))
        self.values.update(zip(op.outs, total))

    def _plan(self, op: ReduceOp) -> ReductionPlan:
        order = op.order.data
        dtypes = [dtype_of(out.type) for out in op.outs]
        identity = [literal(number_of(a), d) for a, d in zip(op.identity.data, dtypes, strict=True)]
        outer = self._varies_along(op)
        width = op.vector.value.data
        if self.lanes.vector is not None or needs_order(op.body.block):
            width = 1
        if order.kind == "free":
            cost = emitted_cost(op.body.block)
            # A power of two: lanes are combined by halves, and found by the low bits of the element's number.
            groups = 1 if width == 1 else next((g for g in (4, 2) if g * cost <= LIGHT_INSTRUCTIONS), 1)
            position = position_of(op, dtypes)
            if position is not None:
                dtypes[position.number] = position.dtype
            return ReductionPlan(op, dtypes, identity, outer, width, groups, position)
        width = min(width, order.lanes)
        return ReductionPlan(op, dtypes, identity, outer, width, order.lanes // width)

    def _varies_along(self, op: ReduceOp) -> tuple[VectorAxis, ...]:
        """The enclosing lane dims that anything in the body depends on."""
        if not self.lanes.axes:
            return ()
        symbols: set[Sym] = set()
        lanes: set[VectorAxis] = set()
        inside: set[SSAValue] = set()
        for inner in op.walk():
            for attribute in (*inner.attributes.values(), *inner.properties.values()):
                if isinstance(attribute, DimsAttr):
                    for expr in attribute.data:
                        symbols |= expr.symbols()
                elif isinstance(getattr(attribute, "data", None), Dim):
                    symbols |= attribute.data.symbols()  # type: ignore[attr-defined]
            inside.update(inner.results)
            for operand in inner.operands:
                if operand in self.values and operand not in inside:
                    lanes.update(self.values[operand].lanes)
        for s in symbols:
            if s in self.index.varying_symbols:
                lanes.update(self.index.varying_symbols[s].lanes)
        return tuple(lane for lane in self.lanes.axes if lane.symbol in symbols or lane in lanes)

    # Parts of a reduction

    def start(
        self, plan: ReductionPlan, lanes: tuple[VectorAxis, ...], along: VectorAxis | None = None
    ) -> list[VectorValue]:
        """The identities, over `lanes`.  A position starts as that of its lane's first element (`along`)."""
        totals = [VectorValue(lanes, [text] * count_of(lanes), d) for text, d in zip(plan.identity, plan.dtypes)]
        if plan.position is not None:
            first = self._numbers(plan.position.dtype, "0", along)
            totals[plan.position.number] = VectorValue(lanes, self.lanes.spread(first, lanes), first.dtype)
        return totals

    def _numbers(self, dtype: DType, first: str, along: VectorAxis | None) -> VectorValue:
        """The numbers of elements from `first` on, over a lane dim of theirs."""
        if along is None:
            return VectorValue((), [first], dtype)
        width, scalar = along.width, llvm_type(dtype)
        regs = []
        for copy in range(along.copies):
            steps = [str(copy * width + k) for k in range(width)]
            added = steps[0] if width == 1 else "<" + ", ".join(f"{scalar} {s}" for s in steps) + ">"
            start = self.lanes.splat(first, scalar, width)
            regs.append(self.text.ins(f"add {vector_type(width, scalar)} {start}, {added}"))
        return VectorValue((along,), regs, dtype)

    def _elements(self, plan: ReductionPlan, along: VectorAxis | None) -> list[VectorValue]:
        """The accumulators of the elements of one step."""
        element = self.region(plan.op.body.block)
        if plan.position is not None:
            here = self.text.sub(self.index.symbols[plan.op.symbol][0], plan.start)
            if plan.position.dtype is not I64 and here[0] == "%":
                here = self.text.ins(f"trunc i64 {here} to {llvm_type(plan.position.dtype)}")
            element[plan.position.number] = self._numbers(plan.position.dtype, here, along)
        return element

    def _with_positions(self, plan: ReductionPlan, position: Position) -> list[VectorValue]:
        """An arg-reduction, in blocks in which positions fit their type."""
        text = self.text
        op, wide = plan.op, ReductionPlan(plan.op, [*plan.dtypes], plan.identity, plan.outer, 1, 1)
        wide.dtypes[position.number] = I64
        most = constant_bound(op.upper.data - op.lower.data)

        def block(start: str, end: str, extent: int | None) -> list[VectorValue]:
            totals = self.block(plan, start, end, extent)
            found = self.scalars.cast(totals[position.number], I64)
            totals[position.number] = self.scalars.primitive("add", (found, VectorValue((), [start], I64)), I64)
            return [t.spelled() for t in totals]

        start, end = self.index.value(op.lower.data), self.index.value(op.upper.data)
        if position.dtype is I64 or (most is not None and most <= POSITIONS):
            return block(start, end, (op.upper.data - op.lower.data).const)
        first = Sym(f"{op.symbol.name}.block")

        def one(totals: list[VectorValue]) -> list[VectorValue]:
            here = self.index.symbols[first][0]
            limit = text.add(here, str(POSITIONS))
            stop = text.call("smin", 1, "i64", limit, end)
            made = block(here, stop, None)
            # Nothing is in front of the first block, which nearly always is the only one.
            some, after, before = text.label("again"), text.label("first"), text.block
            text.branch_if(text.ins(f"icmp eq i64 {here}, {start}"), after, some)
            text.start(some)
            self.text.frames.append({})
            merged = self.lanes.spread_all(self.merge(wide, totals, made), plan.outer)
            self.text.frames.pop()
            last = text.block
            text.branch(after)
            text.start(after)
            return self.loops.join(made, before, merged, last)

        _, totals = self.loops.counted(
            first, start, end, str(POSITIONS), one, self.start(wide, plan.outer), bound=bound_of(op)
        )
        return totals

    def merge(
        self, plan: ReductionPlan, older: Sequence[VectorValue], newer: Sequence[VectorValue]
    ) -> list[VectorValue]:
        return self.region(plan.op.combiner.block, [*older, *newer])

    def accumulate(
        self, plan: ReductionPlan, totals: list[VectorValue], lane: VectorAxis | None, mask: str | None = None
    ) -> list[VectorValue]:
        """`totals` with the elements of one step of `lane`'s iterators combined, or those of a `mask`."""
        around = self.lanes.mask
        self.lanes.mask = mask or around
        with self.lanes.along(lane):
            new = self.combine_element(plan, totals, self._elements(plan, lane))
            if mask is not None:
                assert lane is not None
                condition = VectorValue((lane,), [mask], DTYPES["bool"])
                new = [self.lanes.select(condition, n, t) for n, t in zip(new, totals)]
        self.lanes.mask = around
        return new

    def combine_element(
        self, plan: ReductionPlan, totals: Sequence[VectorValue], element: Sequence[VectorValue]
    ) -> list[VectorValue]:
        """`totals` combined with an element of each."""
        if plan.product == "fma":
            new = [self.scalars.primitive("fma", (*element, *totals), plan.dtypes[0])]
        else:
            if plan.product == "mul_add":
                element = [self.scalars.primitive("mul", element, plan.dtypes[0])]
            forward = plan.op.combiner.block if plan.position is None else plan.position.forward
            new = self.region(forward, [*totals, *element])
        return self.lanes.spread_all(new, totals[0].lanes)

    # One block

    def block(self, plan: ReductionPlan, start: str, end: str, extent: int | None) -> list[VectorValue]:
        """The reduction of the elements from `start` to `end`, at most a block."""
        if self.alone is not None and (found := self.alone(self, plan, start, end)) is not None:
            return found
        symbol, bound = plan.op.symbol, bound_of(plan.op)
        plan.start = start
        if plan.lanes > 1 and self.lanes.vector is not None:
            return self._interleaved(plan, start, end)
        if plan.lanes == 1:
            totals = self.start(plan, plan.outer)
            if self._in_tiles(plan):
                start, totals = self._tiles(plan, start, end, totals)
                extent = None
            _, totals = self.loops.counted(
                symbol, start, end, "1", lambda c: self.accumulate(plan, c, None), totals, trips=extent, bound=bound
            )
            return totals
        depth, copies = len(self.lanes.axes), count_of(plan.outer)
        one, every = (VectorAxis(symbol, plan.width, groups, depth) for groups in (1, plan.groups))
        light = emitted_cost(plan.op.body.block) * plan.groups * copies <= LIGHT_INSTRUCTIONS
        if not light or (extent is not None and extent < plan.lanes):
            memory = self._memory(plan, copies)
            self._spill(plan, memory, self.start(plan, (*plan.outer, every), every))
            self._in_memory(plan, memory, one, start, end, extent)
            return self._combine(plan, self._reload(plan, memory, every))
        totals = self.start(plan, (*plan.outer, every), every)
        whole_end, trips = self.text.whole_end(start, end, plan.lanes, extent)
        stopped, totals = self.loops.counted(
            symbol, start, whole_end, str(plan.lanes), lambda c: self.accumulate(plan, c, every), totals,
            trips=trips, bound=bound,
        )  # fmt: skip
        if extent is not None and extent % plan.lanes == 0:
            return self._combine(plan, totals)
        totals = [t.spelled() for t in totals]

        def rest() -> list[VectorValue]:
            masked = extent is None and self._masks_rows(plan)
            if masked and is_unit_stride_or_uniform(self.index, plan.op.body.block, symbol):
                return incomplete_step(self, plan, totals, stopped, end)
            memory = self._memory(plan, copies)
            self._spill(plan, memory, totals)
            left = None if extent is None else extent % plan.lanes
            self._in_memory(plan, memory, one, stopped, end, left)
            return self._reload(plan, memory, every)

        return self._combine(plan, self.loops.where(f"icmp slt i64 {stopped}, {end}", "tail", rest, totals))

    def _masks_rows(self, plan: ReductionPlan) -> bool:
        return plan.width > 1 and self.text.target.has_masks and maskable(plan.op.body.block)

    def _memory(self, plan: ReductionPlan, copies: int) -> list[str]:
        """Stack memory of each accumulator: ``[copies][lanes]``."""
        return [self.text.alloca(stored_type(d), copies * plan.lanes) for d in plan.dtypes]

    def _slots(self, plan: ReductionPlan, memory: list[str], group: str | int, copies: int) -> list[list[str]]:
        """Pointers to the vector of lanes that starts at lane `group` of each accumulator's copies."""
        slots = []
        for base, d in zip(memory, plan.dtypes):
            slots.append([])
            for c in range(copies):
                at = self.text.add(str(group), str(c * plan.lanes))
                slots[-1].append(
                    self.text.ins(f"getelementptr {stored_type(d)}, ptr {base}, i64 {at}") if at != "0" else base
                )
        return slots

    def _spill(self, plan: ReductionPlan, memory: list[str], totals: list[VectorValue]) -> None:
        copies = len(totals[0].regs) // plan.groups
        for g in range(plan.groups):
            for pointers, t in zip(self._slots(plan, memory, g * plan.width, copies), totals):
                for c, p in enumerate(pointers):
                    value = lit(t.regs[c * plan.groups + g], plan.width, llvm_type(t.dtype))
                    store_accumulator(self.text, p, value, t.dtype, plan.width)

    def _reload(self, plan: ReductionPlan, memory: list[str], every: VectorAxis) -> list[VectorValue]:
        copies = count_of(plan.outer)
        columns: list[list[str]] = [[""] * (copies * plan.groups) for _ in plan.dtypes]
        for g in range(plan.groups):
            for s, (pointers, d) in enumerate(zip(self._slots(plan, memory, g * plan.width, copies), plan.dtypes)):
                for c, p in enumerate(pointers):
                    columns[s][c * plan.groups + g] = load_accumulator(self.text, p, d, plan.width)
        return [VectorValue((*plan.outer, every), column, d) for column, d in zip(columns, plan.dtypes)]

    def _in_memory(
        self, plan: ReductionPlan, memory: list[str], lane: VectorAxis, start: str, end: str, extent: int | None
    ) -> None:
        """ReductionPlan the elements from `start` (an element of lane 0) to `end` into lanes held in memory."""
        text = self.text
        symbol, bound, width = plan.op.symbol, bound_of(plan.op), plan.width
        copies = count_of(plan.outer)

        def step(lane: VectorAxis, masked: bool) -> Callable[[list[VectorValue]], list[VectorValue]]:
            def emit(_: list[VectorValue]) -> list[VectorValue]:
                here = self.index.symbols[symbol][0]
                mask = self.lanes.below(text.sub(end, here), width) if masked else None
                position = text.sub(here, start)
                last = plan.lanes - 1
                group = text.ins(f"and i64 {position}, {last}") if position[0] == "%" else str(int(position) & last)
                slots = self._slots(plan, memory, group, copies)
                totals = [
                    VectorValue(
                        (*plan.outer, lane), [load_accumulator(self.text, p, d, lane.width) for p in pointers], d
                    )
                    for pointers, d in zip(slots, plan.dtypes)
                ]
                for pointers, t in zip(slots, self.accumulate(plan, totals, lane, mask)):
                    for p, r in zip(pointers, t.operands()):
                        store_accumulator(self.text, p, r, t.dtype, lane.width)
                return []

            return emit

        main_end, whole = self.text.whole_end(start, end, width, extent)
        stopped, _ = self.loops.counted(
            symbol, start, main_end, str(width), step(lane, False), trips=whole, bound=bound
        )
        if width == 1 or (extent is not None and extent % width == 0):
            return
        if self._masks_rows(plan):
            self.loops.where(
                f"icmp slt i64 {stopped}, {end}", "tail",
                lambda: self.loops.counted(symbol, stopped, end, str(width), step(lane, True), trips=1, bound=bound)[1],
            )  # fmt: skip
            return
        scalar = VectorAxis(symbol, 1, 1, lane.depth)
        rest = None if extent is None else extent % width
        self.loops.counted(symbol, stopped, end, "1", step(scalar, False), trips=rest, bound=bound)

    def _in_tiles(self, plan: ReductionPlan) -> bool:
        """Whether memory is contiguous along the reduction and not along the vectors, which run across results."""
        vector, found = self.lanes.vector, False
        if vector is None or vector not in plan.outer or needs_order(plan.op.body.block):
            return False
        for op in plan.op.body.block.walk():
            if isinstance(op, LoadOp):
                offset = self.index.address(info_of(op.buffer), op.index.data)
                parts = linear_in(offset, [vector.symbol, plan.op.symbol])
                if parts is None or op.guard_exprs:
                    return False
                along = parts[0].get(plan.op.symbol, dim(0)).const == 1
                found = found or (along and parts[0].get(vector.symbol, dim(0)).const not in (0, 1))
        return found

    def _tiles(
        self, plan: ReductionPlan, start: str, end: str, totals: list[VectorValue]
    ) -> tuple[str, list[VectorValue]]:
        """The reduction by square tiles, transposed in registers: where it stopped, less than a tile from the end."""
        vector = self.lanes.vector
        assert vector is not None
        step = VectorAxis(plan.op.symbol, 1, vector.width, len(self.lanes.axes))

        def tile(totals: list[VectorValue]) -> list[VectorValue]:
            with self.lanes.along(step):
                rows = self.lanes.spread_all(self._elements(plan, step), (*plan.outer, step))
            for k in range(step.copies):
                element = [VectorValue(plan.outer, row.regs[k :: step.copies], row.dtype) for row in rows]
                totals = self.combine_element(plan, totals, element)
            return totals

        whole_end, _ = self.text.whole_end(start, end, step.copies)
        return self.loops.counted(
            plan.op.symbol, start, whole_end, str(step.copies), tile, totals, bound=bound_of(plan.op)
        )

    def _interleaved(self, plan: ReductionPlan, start: str, end: str) -> list[VectorValue]:
        """The reduction where vectors run across results: one virtual lane of all of them after another, in registers.

        Lanes that are combined first come first (their numbers' bits run backwards), so few of them wait.
        """
        number, bits = Sym(f"{plan.op.symbol.name}.lane"), plan.lanes.bit_length() - 1
        counter = PairwiseStack(self, plan, bits + 1)

        def one_lane(_: list[VectorValue]) -> list[VectorValue]:
            here = self.index.symbols[number][0]
            backwards = self.text.intrinsic("bitreverse", "i64", "i64", [("i64", here)])
            first = self.text.add(start, self.text.ins(f"lshr i64 {backwards}, {64 - bits}"))
            total = self.loops.counted(
                plan.op.symbol, first, end, str(plan.lanes), lambda c: self.accumulate(plan, c, None),
                self.start(plan, plan.outer), bound=bound_of(plan.op),
            )[1]  # fmt: skip
            return counter.push(here, total)

        initial = self.start(plan, plan.outer)
        _, totals = self.loops.counted(number, "0", str(plan.lanes), "1", one_lane, initial, trips=plan.lanes)
        return totals

    # Lanes and blocks together

    def _combine(self, plan: ReductionPlan, totals: list[VectorValue]) -> list[VectorValue]:
        """The lanes combined by halves: lane ``l`` with lane ``l + lanes/2``, and so on."""
        groups, outer, width = plan.groups, plan.outer, plan.width
        depth = len(self.lanes.axes)
        totals = [t.spelled() for t in totals]
        while groups > 1:
            half = groups // 2
            lane = VectorAxis(plan.op.symbol, width, half, depth)
            rows = range(len(totals[0].regs) // groups)
            older = [[t.regs[r * groups + g] for r in rows for g in range(half)] for t in totals]
            newer = [[t.regs[r * groups + half + g] for r in rows for g in range(half)] for t in totals]
            totals = self._merge_rows(plan, (*outer, lane), older, newer)
            groups = half
        step = width
        while step > 1:
            step //= 2
            lane = VectorAxis(plan.op.symbol, width, 1, depth)
            order = "<" + ", ".join(f"i32 {k + step}" if k < step else "i32 poison" for k in range(width)) + ">"
            newer = []
            for t in totals:
                ty = t.type
                newer.append(
                    [self.text.ins(f"shufflevector {ty} {r}, {ty} poison, <{width} x i32> {order}") for r in t.regs]
                )
            totals = self._merge_rows(plan, (*outer, lane), [list(t.regs) for t in totals], newer)
        if width > 1:
            rows = [[self.text.ins(f"extractelement {t.type} {r}, i64 0") for r in t.regs] for t in totals]
            return [VectorValue(outer, row, d) for row, d in zip(rows, plan.dtypes)]
        return [VectorValue(outer, list(t.regs), d) for t, d in zip(totals, plan.dtypes)]

    def _merge_rows(
        self, plan: ReductionPlan, lanes: tuple[VectorAxis, ...], older: list[list[str]], newer: list[list[str]]
    ) -> list[VectorValue]:
        older_ones, newer_ones = ([VectorValue(lanes, r, d) for r, d in zip(x, plan.dtypes)] for x in (older, newer))
        with self.lanes.along(lanes[-1]):
            return self.lanes.spread_all(self.merge(plan, older_ones, newer_ones), lanes)

    def blocked_reduce(
        self, plan: ReductionPlan, extent: int | None, size: int, one: Callable[[str, str], list[VectorValue]]
    ) -> list[VectorValue]:
        """Blocks of `size` elements one after another (chain), or by a binary counter (tree).

        `one` gives the value of the elements from an i64 on and below another.
        """
        text = self.text
        op = plan.op
        order, lower, upper = op.order.data, op.lower.data, op.upper.data
        start, end = self.index.value(lower), self.index.value(upper)
        # A name of its own for the block's first element; the iterator itself is the element's.
        first = Sym(f"{op.symbol.name}.block")
        block_bound = bound_of(op)
        trips = None if extent is None else -(-extent // size)

        def one_block() -> list[VectorValue]:
            here = sym(first.name)
            return one(self.index.value(here), self.index.value(minimum(here + size, upper)))

        if order.kind == "chain":

            def chained(totals: list[VectorValue]) -> list[VectorValue]:
                return self.merge(plan, totals, one_block())

            initial = self.start(plan, plan.outer)
            _, totals = self.loops.counted(
                first, start, end, str(size), chained, initial, trips=trips, bound=block_bound
            )
            return totals

        initial = self.start(plan, plan.outer)
        waiting = PairwiseStack(self, plan, LEVELS)

        def counter(_: list[VectorValue]) -> list[VectorValue]:
            value = one_block()
            return waiting.push(text.ins(f"sdiv i64 {text.sub(self.index.symbols[first][0], start)}, {size}"), value)

        _, youngest = self.loops.counted(first, start, end, str(size), counter, initial, trips=trips, bound=block_bound)
        # What waits: a partial for each bit of the number of blocks; the smallest came last.
        span = text.sub(end, start) if extent is None else str(extent)
        if span[0] == "%":
            rounded = text.ins(f"add i64 {span}, {size - 1}")
            count = text.ins(f"ashr i64 {rounded}, {size.bit_length() - 1}")
            count = text.call("smax", 1, "i64", count, "0")
        else:
            count = str(trips)
        total = [r.spelled() for r in self.merge(plan, youngest, initial)]
        total = self.lanes.spread_all(total, plan.outer)
        return waiting.drain(count, total)


def number_of(attribute: Any) -> float | int:
    """The number that an identity is."""
    if isinstance(attribute, FloatAttr | IntegerAttr):
        return attribute.value.data
    raise EmitError(f"the identity {attribute} is not a number")
