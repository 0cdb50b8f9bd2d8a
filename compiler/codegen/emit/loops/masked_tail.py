"""The last step of a reduction whose lanes are in registers, where there is not an element for each lane: under
masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .....dialects.types import DTYPES
from ..values.registers import VectorAxis, VectorValue, count_of

if TYPE_CHECKING:
    from .reduce import ReductionPlan, Reductions

__all__ = ["incomplete_step"]


def incomplete_step(
    reductions: Reductions, plan: ReductionPlan, totals: Sequence[VectorValue], first: str, end: str
) -> list[VectorValue]:
    """`totals` with the elements from `first` on combined, fewer than there are lanes.

    All of them at once, but for the upper half of the lanes only where any element is left for it.
    """
    left = reductions.text.ins(f"trunc i64 {reductions.text.sub(end, first)} to i32")
    upper = plan.groups // 2
    lower = plan.groups - upper
    low = _step(reductions, plan, _part(plan, totals, 0, lower), first, left, 0)
    if not upper:
        return low
    begin = lower * plan.width
    high = _part(plan, totals, lower, upper)
    high = reductions.loops.where(
        f"icmp sgt i32 {left}, {begin}", "more",
        lambda: _step(reductions, plan, high, reductions.text.add(first, str(begin)), left, begin), high,
    )  # fmt: skip
    return [
        VectorValue(t.lanes, _together(x.regs, y.regs, lower, upper), t.dtype) for t, x, y in zip(totals, low, high)
    ]


def _part(plan: ReductionPlan, totals: Sequence[VectorValue], begin: int, groups: int) -> list[VectorValue]:
    """Some groups of vectors of each copy's lanes."""
    copies = range(count_of(plan.outer))
    lane = VectorAxis(plan.op.symbol, plan.width, groups, totals[0].lanes[-1].depth)
    rows = [[t.regs[c * plan.groups + begin + g] for c in copies for g in range(groups)] for t in totals]
    return [VectorValue((*plan.outer, lane), row, t.dtype) for row, t in zip(rows, totals)]


def _together(low: Sequence[str], high: Sequence[str], lower: int, upper: int) -> list[str]:
    """The registers of all groups, copy by copy, from those of the lower and of the upper groups."""
    copies = range(len(low) // lower)
    return [r for c in copies for r in (*low[c * lower : (c + 1) * lower], *high[c * upper : (c + 1) * upper])]


def _step(
    reductions: Reductions, plan: ReductionPlan, totals: list[VectorValue], first: str, left: str, begin: int
) -> list[VectorValue]:
    """The groups from lane number `begin` on, their first element being `first`, where `left` are left in all."""
    lane, width = totals[0].lanes[-1], plan.width
    wide, masks = reductions.lanes.splat(left, "i32", width), []
    for group in range(lane.copies):
        numbers = ", ".join(f"i32 {begin + group * width + k}" for k in range(width))
        masks.append(reductions.text.ins(f"icmp slt <{width} x i32> <{numbers}>, {wide}"))
    inside = reductions.lanes.inside = VectorValue((lane,), masks, DTYPES["bool"])
    size = str(lane.copies * width)
    _, new = reductions.loops.counted(
        plan.op.symbol, first, size, size, lambda _: reductions.accumulate(plan, totals, lane), totals, trips=1
    )
    reductions.lanes.inside = None
    return [reductions.lanes.select(inside, n, t) for n, t in zip(new, totals)]
