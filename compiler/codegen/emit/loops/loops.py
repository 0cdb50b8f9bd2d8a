"""Loops, plain and in lanes, loops without a count, and branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import gcd
from typing import Any

from xdsl.dialects import scf
from xdsl.ir import Block

from .....dialects.loop import (
    ForOp,
    IfOp,
    IndexOp,
    LoadOp,
    WhileOp,
)
from ...cpu.reciprocal_divide import inverses_before
from ..polling import Polling
from ..text import IrText
from ..values.index import IndexValues
from ..values.lanes import Lanes
from ..values.registers import Values, VectorAxis, VectorValue, union
from ..values.scalar import ScalarBodies
from .counted_loops import CountedLoops, bound_of, uniform
from .lane_loops import LaneLoops
from .loop_bodies import needs_order

__all__ = ["Loops", "Region"]

#: Emits a block with registers for its arguments; the registers that it yields.
Region = Callable[..., list[VectorValue]]


class Loops(CountedLoops):
    """Loops and branches of `text` around the ops of blocks, which `region` emits."""

    def __init__(
        self, text: IrText, lanes: Lanes, index: IndexValues, values: Values, scalars: ScalarBodies, polling: Polling,
        region: Region,
    ):  # fmt: skip
        super().__init__(text, lanes, index, polling)
        self.values, self.scalars, self.region = values, scalars, region
        self.laned = LaneLoops(self, region)

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

    def for_loop(self, op: ForOp) -> None:
        lower, upper, step = op.lower.data, op.upper.data, op.step.data
        bound = bound_of(op)
        if op.lanes > 1 and not needs_order(op.block, lanes_beside=True):
            vector = op.vector.value.data if self.lanes.vector is None else 1
            if vector * op.unroll.value.data > 1:
                self.scalars.inverses = inverses_before(self.scalars, self.values, op.block)
                self.laned.write(op, vector, op.unroll.value.data, bound)
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

    def branch(self, op: IfOp) -> None:
        text = self.text
        condition = uniform(self.values[op.condition])
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
        text.branch_if(uniform(condition), body, after)
        text.start(body)
        every = self.polling.every(op.condition.block, op.body.block)
        left, next_ = self.polling.at_last(every) if every else ("", "")
        self.region(op.body.block)
        if every:
            phis.append(f"  {left} = phi i64 [{every}, %{before}], [{next_}, %{text.block}]")
        text.branch(test)
        self.text.frames.pop()
        text.start(after)
