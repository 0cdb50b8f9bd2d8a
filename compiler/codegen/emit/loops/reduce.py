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
from .loops import Loops, bound_of, emitted_cost, is_unit_stride_or_uniform, maskable, needs_order
from .masked_tail import incomplete_step
from .pairwise_stack import PairwiseStack, get_state, put_state, stored_type

__all__ = ["Fold", "FoldAlone", "Reductions", "number_of"]

#: A body of at most this many instructions, times its copies, keeps its lanes in registers.
LIGHT_INSTRUCTIONS = 128
#: A partial result waits for each power of two of blocks.
LEVELS = 48
I64 = DTYPES["i64"]


@dataclass
class Fold:
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


#: The fold of the elements from an i64 on and below another, or None.
FoldAlone = Callable[["Reductions", Fold, str, str], list[VectorValue] | None]


class Reductions:
    """The reductions of `text`.

    `alone` may fold all elements of one virtual lane in another way, of the same order; None where it does not.
    """

    def __init__(
        self, text: IrText, lanes: Lanes, index: IndexValues, values: Values, scalars: ScalarBodies, loops: Loops,
        alone: FoldAlone | None,
    ):  # fmt: skip
        self.text, self.lanes, self.index, self.values = text, lanes, index, values
        self.scalars, self.loops, self.region, self.alone = scalars, loops, loops.region, alone

    def reduce(self, op: ReduceOp) -> None:
        order, lower, upper = op.order.data, op.lower.data, op.upper.data
        fold = self._plan(op)
        extent = (upper - lower).const
        if fold.position is not None:
            self.values.update(zip(op.outs, self._with_positions(fold, fold.position)))
            return
        most = constant_bound(upper - lower)
        single = order.kind in ("free", "serial") or (most is not None and most <= order.block)
        if single:
            start, end = self.index.value(lower), self.index.value(upper)
            total = self.block(fold, start, end, extent)
        else:
            size = order.block
            even = size if extent is not None and extent % size == 0 else None
            total = self.blocked_reduce(fold, extent, size, lambda a, b: self.block(fold, a, b, even))
        self.values.update(zip(op.outs, total))

    def _plan(self, op: ReduceOp) -> Fold:
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
            return Fold(op, dtypes, identity, outer, width, groups, position)
        width = min(width, order.lanes)
        return Fold(op, dtypes, identity, outer, width, order.lanes // width)

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

    # Pieces of a fold

    def start(self, fold: Fold, lanes: tuple[VectorAxis, ...], along: VectorAxis | None = None) -> list[VectorValue]:
        """The identities, over `lanes`.  A position starts as that of its lane's first element (`along`)."""
        totals = [VectorValue(lanes, [text] * count_of(lanes), d) for text, d in zip(fold.identity, fold.dtypes)]
        if fold.position is not None:
            first = self._numbers(fold.position.dtype, "0", along)
            totals[fold.position.number] = VectorValue(lanes, self.lanes.spread(first, lanes), first.dtype)
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

    def _elements(self, fold: Fold, along: VectorAxis | None) -> list[VectorValue]:
        """The states of the elements of one step."""
        element = self.region(fold.op.body.block)
        if fold.position is not None:
            here = self.text.sub(self.index.symbols[fold.op.symbol][0], fold.start)
            if fold.position.dtype is not I64 and here[0] == "%":
                here = self.text.ins(f"trunc i64 {here} to {llvm_type(fold.position.dtype)}")
            element[fold.position.number] = self._numbers(fold.position.dtype, here, along)
        return element

    def _with_positions(self, fold: Fold, position: Position) -> list[VectorValue]:
        """The fold of a reduction that says where, in blocks in which positions fit their type."""
        text = self.text
        op, wide = fold.op, Fold(fold.op, [*fold.dtypes], fold.identity, fold.outer, 1, 1)
        wide.dtypes[position.number] = I64
        most = constant_bound(op.upper.data - op.lower.data)

        def block(start: str, end: str, extent: int | None) -> list[VectorValue]:
            totals = self.block(fold, start, end, extent)
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
            merged = self.lanes.spread_all(self.merge(wide, totals, made), fold.outer)
            self.text.frames.pop()
            last = text.block
            text.branch(after)
            text.start(after)
            return self.loops.join(made, before, merged, last)

        _, totals = self.loops.counted(
            first, start, end, str(POSITIONS), one, self.start(wide, fold.outer), bound=bound_of(op)
        )
        return totals

    def merge(self, fold: Fold, older: Sequence[VectorValue], newer: Sequence[VectorValue]) -> list[VectorValue]:
        return self.region(fold.op.combiner.block, [*older, *newer])

    def accumulate(
        self, fold: Fold, totals: list[VectorValue], lane: VectorAxis | None, mask: str | None = None
    ) -> list[VectorValue]:
        """`totals` with the elements of one step of `lane`'s iterators folded in, or those of a `mask`."""
        around = self.lanes.mask
        self.lanes.mask = mask or around
        with self.lanes.along(lane):
            new = self.fold_in(fold, totals, self._elements(fold, lane))
            if mask is not None:
                assert lane is not None
                condition = VectorValue((lane,), [mask], DTYPES["bool"])
                new = [self.lanes.select(condition, n, t) for n, t in zip(new, totals)]
        self.lanes.mask = around
        return new

    def fold_in(self, fold: Fold, totals: Sequence[VectorValue], element: Sequence[VectorValue]) -> list[VectorValue]:
        """`totals` with an element of each folded in."""
        if fold.product == "fma":
            new = [self.scalars.primitive("fma", (*element, *totals), fold.dtypes[0])]
        else:
            if fold.product == "mul_add":
                element = [self.scalars.primitive("mul", element, fold.dtypes[0])]
            forward = fold.op.combiner.block if fold.position is None else fold.position.forward
            new = self.region(forward, [*totals, *element])
        return self.lanes.spread_all(new, totals[0].lanes)

    # One block

    def block(self, fold: Fold, start: str, end: str, extent: int | None) -> list[VectorValue]:
        """The fold of the elements from `start` to `end`, at most a block."""
        if self.alone is not None and (found := self.alone(self, fold, start, end)) is not None:
            return found
        symbol, bound = fold.op.symbol, bound_of(fold.op)
        fold.start = start
        if fold.lanes > 1 and self.lanes.vector is not None:
            return self._beside(fold, start, end)
        if fold.lanes == 1:
            totals = self.start(fold, fold.outer)
            if self._in_tiles(fold):
                start, totals = self._tiles(fold, start, end, totals)
                extent = None
            _, totals = self.loops.counted(
                symbol, start, end, "1", lambda c: self.accumulate(fold, c, None), totals, trips=extent, bound=bound
            )
            return totals
        depth, copies = len(self.lanes.axes), count_of(fold.outer)
        one, every = (VectorAxis(symbol, fold.width, groups, depth) for groups in (1, fold.groups))
        light = emitted_cost(fold.op.body.block) * fold.groups * copies <= LIGHT_INSTRUCTIONS
        if not light or (extent is not None and extent < fold.lanes):
            memory = self._memory(fold, copies)
            self._spill(fold, memory, self.start(fold, (*fold.outer, every), every))
            self._in_memory(fold, memory, one, start, end, extent)
            return self._combine(fold, self._reload(fold, memory, every))
        totals = self.start(fold, (*fold.outer, every), every)
        whole_end, trips = self.text.whole_end(start, end, fold.lanes, extent)
        stopped, totals = self.loops.counted(
            symbol, start, whole_end, str(fold.lanes), lambda c: self.accumulate(fold, c, every), totals,
            trips=trips, bound=bound,
        )  # fmt: skip
        if extent is not None and extent % fold.lanes == 0:
            return self._combine(fold, totals)
        totals = [t.spelled() for t in totals]

        def rest() -> list[VectorValue]:
            masked = extent is None and self._masks_rows(fold)
            if masked and is_unit_stride_or_uniform(self.index, fold.op.body.block, symbol):
                return incomplete_step(self, fold, totals, stopped, end)
            memory = self._memory(fold, copies)
            self._spill(fold, memory, totals)
            left = None if extent is None else extent % fold.lanes
            self._in_memory(fold, memory, one, stopped, end, left)
            return self._reload(fold, memory, every)

        return self._combine(fold, self.loops.where(f"icmp slt i64 {stopped}, {end}", "tail", rest, totals))

    def _masks_rows(self, fold: Fold) -> bool:
        return fold.width > 1 and self.text.target.has_masks and maskable(fold.op.body.block)

    def _memory(self, fold: Fold, copies: int) -> list[str]:
        """Stack memory of each state: ``[copies][lanes]``."""
        return [self.text.alloca(stored_type(d), copies * fold.lanes) for d in fold.dtypes]

    def _slots(self, fold: Fold, memory: list[str], group: str | int, copies: int) -> list[list[str]]:
        """Pointers to the vector of lanes that starts at lane `group` of each state's copies."""
        slots = []
        for base, d in zip(memory, fold.dtypes):
            slots.append([])
            for c in range(copies):
                at = self.text.add(str(group), str(c * fold.lanes))
                slots[-1].append(
                    self.text.ins(f"getelementptr {stored_type(d)}, ptr {base}, i64 {at}") if at != "0" else base
                )
        return slots

    def _spill(self, fold: Fold, memory: list[str], totals: list[VectorValue]) -> None:
        copies = len(totals[0].regs) // fold.groups
        for g in range(fold.groups):
            for pointers, t in zip(self._slots(fold, memory, g * fold.width, copies), totals):
                for c, p in enumerate(pointers):
                    value = lit(t.regs[c * fold.groups + g], fold.width, llvm_type(t.dtype))
                    put_state(self.text, p, value, t.dtype, fold.width)

    def _reload(self, fold: Fold, memory: list[str], every: VectorAxis) -> list[VectorValue]:
        copies = count_of(fold.outer)
        columns: list[list[str]] = [[""] * (copies * fold.groups) for _ in fold.dtypes]
        for g in range(fold.groups):
            for s, (pointers, d) in enumerate(zip(self._slots(fold, memory, g * fold.width, copies), fold.dtypes)):
                for c, p in enumerate(pointers):
                    columns[s][c * fold.groups + g] = get_state(self.text, p, d, fold.width)
        return [VectorValue((*fold.outer, every), column, d) for column, d in zip(columns, fold.dtypes)]

    def _in_memory(
        self, fold: Fold, memory: list[str], lane: VectorAxis, start: str, end: str, extent: int | None
    ) -> None:
        """Fold the elements from `start` (an element of lane 0) to `end` into lanes held in memory."""
        text = self.text
        symbol, bound, width = fold.op.symbol, bound_of(fold.op), fold.width
        copies = count_of(fold.outer)

        def step(lane: VectorAxis, masked: bool) -> Callable[[list[VectorValue]], list[VectorValue]]:
            def emit(_: list[VectorValue]) -> list[VectorValue]:
                here = self.index.symbols[symbol][0]
                mask = self.lanes.below(text.sub(end, here), width) if masked else None
                position = text.sub(here, start)
                last = fold.lanes - 1
                group = text.ins(f"and i64 {position}, {last}") if position[0] == "%" else str(int(position) & last)
                slots = self._slots(fold, memory, group, copies)
                totals = [
                    VectorValue((*fold.outer, lane), [get_state(self.text, p, d, lane.width) for p in pointers], d)
                    for pointers, d in zip(slots, fold.dtypes)
                ]
                for pointers, t in zip(slots, self.accumulate(fold, totals, lane, mask)):
                    for p, r in zip(pointers, t.operands()):
                        put_state(self.text, p, r, t.dtype, lane.width)
                return []

            return emit

        main_end, whole = self.text.whole_end(start, end, width, extent)
        stopped, _ = self.loops.counted(
            symbol, start, main_end, str(width), step(lane, False), trips=whole, bound=bound
        )
        if width == 1 or (extent is not None and extent % width == 0):
            return
        if self._masks_rows(fold):
            self.loops.where(
                f"icmp slt i64 {stopped}, {end}", "tail",
                lambda: self.loops.counted(symbol, stopped, end, str(width), step(lane, True), trips=1, bound=bound)[1],
            )  # fmt: skip
            return
        scalar = VectorAxis(symbol, 1, 1, lane.depth)
        rest = None if extent is None else extent % width
        self.loops.counted(symbol, stopped, end, "1", step(scalar, False), trips=rest, bound=bound)

    def _in_tiles(self, fold: Fold) -> bool:
        """Whether memory is contiguous along the fold and not along the vectors, which run across results."""
        vector, found = self.lanes.vector, False
        if vector is None or vector not in fold.outer or needs_order(fold.op.body.block):
            return False
        for op in fold.op.body.block.walk():
            if isinstance(op, LoadOp):
                offset = self.index.address(info_of(op.buffer), op.index.data)
                parts = linear_in(offset, [vector.symbol, fold.op.symbol])
                if parts is None or op.guard_exprs:
                    return False
                along = parts[0].get(fold.op.symbol, dim(0)).const == 1
                found = found or (along and parts[0].get(vector.symbol, dim(0)).const not in (0, 1))
        return found

    def _tiles(self, fold: Fold, start: str, end: str, totals: list[VectorValue]) -> tuple[str, list[VectorValue]]:
        """The fold by square tiles, transposed in registers: where it stopped, less than a tile from the end."""
        vector = self.lanes.vector
        assert vector is not None
        step = VectorAxis(fold.op.symbol, 1, vector.width, len(self.lanes.axes))

        def tile(totals: list[VectorValue]) -> list[VectorValue]:
            with self.lanes.along(step):
                rows = self.lanes.spread_all(self._elements(fold, step), (*fold.outer, step))
            for k in range(step.copies):
                element = [VectorValue(fold.outer, row.regs[k :: step.copies], row.dtype) for row in rows]
                totals = self.fold_in(fold, totals, element)
            return totals

        whole_end, _ = self.text.whole_end(start, end, step.copies)
        return self.loops.counted(
            fold.op.symbol, start, whole_end, str(step.copies), tile, totals, bound=bound_of(fold.op)
        )  # fmt: skip

    def _beside(self, fold: Fold, start: str, end: str) -> list[VectorValue]:
        """The fold where vectors run across results: one virtual lane of all of them after another, in registers.

        Lanes that are combined first come first (their numbers' bits run backwards), so few of them wait.
        """
        number, bits = Sym(f"{fold.op.symbol.name}.lane"), fold.lanes.bit_length() - 1
        counter = PairwiseStack(self, fold, bits + 1)

        def one_lane(_: list[VectorValue]) -> list[VectorValue]:
            here = self.index.symbols[number][0]
            backwards = self.text.intrinsic("bitreverse", "i64", "i64", [("i64", here)])
            first = self.text.add(start, self.text.ins(f"lshr i64 {backwards}, {64 - bits}"))
            total = self.loops.counted(
                fold.op.symbol, first, end, str(fold.lanes), lambda c: self.accumulate(fold, c, None),
                self.start(fold, fold.outer), bound=bound_of(fold.op),
            )[1]  # fmt: skip
            return counter.push(here, total)

        initial = self.start(fold, fold.outer)
        _, totals = self.loops.counted(number, "0", str(fold.lanes), "1", one_lane, initial, trips=fold.lanes)
        return totals

    # Lanes and blocks together

    def _combine(self, fold: Fold, totals: list[VectorValue]) -> list[VectorValue]:
        """The lanes combined by halves: lane ``l`` with lane ``l + lanes/2``, and so on."""
        groups, outer, width = fold.groups, fold.outer, fold.width
        depth = len(self.lanes.axes)
        totals = [t.spelled() for t in totals]
        while groups > 1:
            half = groups // 2
            lane = VectorAxis(fold.op.symbol, width, half, depth)
            rows = range(len(totals[0].regs) // groups)
            older = [[t.regs[r * groups + g] for r in rows for g in range(half)] for t in totals]
            newer = [[t.regs[r * groups + half + g] for r in rows for g in range(half)] for t in totals]
            totals = self._merge_rows(fold, (*outer, lane), older, newer)
            groups = half
        step = width
        while step > 1:
            step //= 2
            lane = VectorAxis(fold.op.symbol, width, 1, depth)
            order = "<" + ", ".join(f"i32 {k + step}" if k < step else "i32 poison" for k in range(width)) + ">"
            newer = []
            for t in totals:
                ty = t.type
                newer.append(
                    [self.text.ins(f"shufflevector {ty} {r}, {ty} poison, <{width} x i32> {order}") for r in t.regs]
                )
            totals = self._merge_rows(fold, (*outer, lane), [list(t.regs) for t in totals], newer)
        if width > 1:
            rows = [[self.text.ins(f"extractelement {t.type} {r}, i64 0") for r in t.regs] for t in totals]
            return [VectorValue(outer, row, d) for row, d in zip(rows, fold.dtypes)]
        return [VectorValue(outer, list(t.regs), d) for t, d in zip(totals, fold.dtypes)]

    def _merge_rows(
        self, fold: Fold, lanes: tuple[VectorAxis, ...], older: list[list[str]], newer: list[list[str]]
    ) -> list[VectorValue]:
        older_ones, newer_ones = ([VectorValue(lanes, r, d) for r, d in zip(x, fold.dtypes)] for x in (older, newer))
        with self.lanes.along(lanes[-1]):
            return self.lanes.spread_all(self.merge(fold, older_ones, newer_ones), lanes)

    def blocked_reduce(
        self, fold: Fold, extent: int | None, size: int, one: Callable[[str, str], list[VectorValue]]
    ) -> list[VectorValue]:
        """Blocks of `size` elements one after another (chain), or by a binary counter (tree).

        `one` gives the value of the elements from an i64 on and below another.
        """
        text = self.text
        op = fold.op
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
                return self.merge(fold, totals, one_block())

            initial = self.start(fold, fold.outer)
            _, totals = self.loops.counted(
                first, start, end, str(size), chained, initial, trips=trips, bound=block_bound
            )
            return totals

        initial = self.start(fold, fold.outer)
        waiting = PairwiseStack(self, fold, LEVELS)

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
        total = [r.spelled() for r in self.merge(fold, youngest, initial)]
        total = self.lanes.spread_all(total, fold.outer)
        return waiting.drain(count, total)


def number_of(attribute: Any) -> float | int:
    """The number that an identity is."""
    if isinstance(attribute, FloatAttr | IntegerAttr):
        return attribute.value.data
    raise EmitError(f"the identity {attribute} is not a number")
