"""Loops that count, carrying registers, with polls between strips of them; and code under a condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .....dialects.dims.dims import Dim, Sym
from .....dialects.loop import (
    AmxOp,
    ForOp,
    MergeOp,
    ParallelOp,
    PartitionOp,
    ReduceOp,
    ScanOp,
)
from ..polling import Polling
from ..text import EmitError, IrText
from ..values.index import IndexValues
from ..values.lanes import Lanes
from ..values.registers import VectorValue

__all__ = ["CountedLoops", "bound_of", "uniform"]


class CountedLoops:
    """Loops of `text` around bodies that callers emit."""

    def __init__(self, text: IrText, lanes: Lanes, index: IndexValues, polling: Polling):
        self.text, self.lanes, self.index, self.polling = text, lanes, index, polling

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
        ends = given[-1] if until else None
        more = self._goes_on(next_, stop, ends)
        entries, end_of_loop = [latch], latch
        if strip:
            end_of_loop, polling = text.label("strip"), text.label("poll")
            text.branch_if(more, loop, end_of_loop)
            text.start(end_of_loop)
            text.branch_if(self._goes_on(next_, upper, ends), polling, after)
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

        values = [(iv, "i64", lower, next_)]
        for c, start, end in zip(carried, first, last):
            values += [(name, c.type, s, e) for name, s, e in zip(c.regs, start.operands(), end.operands())]
        for name, type_, start, end in values:
            later = "".join(f", [{end}, %{entry}]" for entry in entries)
            phis.append(f"  {name} = phi {type_} [{start}, %{before}]{later}")
        text.start(after)
        if trips is not None:
            return next_, last
        stopped = text.ins(f"phi i64 [{lower}, %{before}], [{next_}, %{end_of_loop}]")
        return stopped, self.join(first, before, last, end_of_loop)

    def _goes_on(self, number: str, stop: str, ends: VectorValue | None) -> str:
        """Whether a loop goes on at a number: below `stop`, unless a condition `ends` it."""
        below = self.text.ins(f"icmp slt i64 {number}, {stop}")
        return below if ends is None else self.text.ins(f"select i1 {uniform(ends)}, i1 false, i1 {below}")

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

    def held(self, symbol: Sym, copies: int, width: int, last: str) -> list[Sym]:
        """The first elements of copies side by side from an iterator on, none later than `last`."""
        here, starts = self.index.symbols[symbol][0], [Sym(f"{symbol.name}~{c}") for c in range(1, copies)]
        moved = [self.text.add(here, str(c * width)) for c in range(1, copies)]
        values = [self.text.call("smin", 1, "i64", m, last) for m in moved]
        self.index.push_scope()
        for name, value in zip(starts, values):
            self.index.define(name, value)
        return [symbol, *starts]


def bound_of(op: ForOp | ReduceOp | ScanOp | MergeOp | PartitionOp | ParallelOp | AmxOp) -> Dim | None:
    """The upper bound of a loop's iterator, if the lower is not negative."""
    return op.upper.data if op.lower.data.nonneg else None


def uniform(condition: VectorValue) -> str:
    """The register of a condition that is the same in all lanes."""
    if not condition.uniform:
        raise EmitError("a branch in lanes must not depend on them")
    return condition.regs[0]
