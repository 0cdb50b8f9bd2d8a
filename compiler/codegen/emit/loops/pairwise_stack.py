"""Partial accumulators of a pairwise reduction, in stack memory until others of as many elements exist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .....dialects.dims.dims import Sym
from .....dialects.types import DType
from ..text import IrText, llvm_type, vector_type
from ..values.registers import VectorValue, count_of, width_of

if TYPE_CHECKING:
    from .reduce import ReductionPlan, Reductions

__all__ = ["PairwiseStack", "load_accumulator", "store_accumulator", "stored_type"]


def stored_type(dtype: DType) -> str:
    """The type of a state in memory."""
    scalar = llvm_type(dtype)
    return "i8" if scalar == "i1" else scalar


def store_accumulator(text: IrText, pointer: str, value: str, dtype: DType, width: int) -> None:
    """Store a state."""
    scalar = llvm_type(dtype)
    if scalar == "i1":
        value, scalar = text.to("zext", width, value, "i1", "i8"), "i8"
    text.put(f"store {vector_type(width, scalar)} {value}, ptr {pointer}, align {_bytes(scalar)}")


def load_accumulator(text: IrText, pointer: str, dtype: DType, width: int) -> str:
    """Load a state."""
    stored = stored_type(dtype)
    value = text.ins(f"load {vector_type(width, stored)}, ptr {pointer}, align {_bytes(stored)}")
    return text.to("trunc", width, value, "i8", "i1") if llvm_type(dtype) == "i1" else value


def _bytes(scalar: str) -> int:
    return {"float": 4, "double": 8}.get(scalar) or int(scalar[1:]) // 8


class PairwiseStack:
    """Partial results that wait for one as old as they are, a level of them for each power of two: a binary counter."""

    def __init__(self, reductions: Reductions, plan: ReductionPlan, levels: int):
        self.reductions, self.plan = reductions, plan
        self.copies, self.width = count_of(plan.outer), width_of(plan.outer)
        self.stacks = [reductions.text.alloca(self._type(d), levels * self.copies) for d in plan.dtypes]

    def _type(self, dtype: DType) -> str:
        return vector_type(self.width, stored_type(dtype))

    def _slots(self, level: str) -> list[list[str]]:
        r, row = self.reductions, self.reductions.text.mul(level, str(self.copies))
        return [
            [
                r.text.ins(f"getelementptr {self._type(d)}, ptr {base}, i64 {r.text.add(row, str(c))}")
                for c in range(self.copies)
            ]
            for base, d in zip(self.stacks, self.plan.dtypes)
        ]

    def get(self, level: str) -> list[VectorValue]:
        """What waits at a level."""
        r = self.reductions
        return [
            VectorValue(self.plan.outer, [load_accumulator(r.text, p, d, self.width) for p in pointers], d)
            for pointers, d in zip(self._slots(level), self.plan.dtypes)
        ]

    def push(self, number: str, value: Sequence[VectorValue]) -> list[VectorValue]:
        """Merge the result with this number with those that waited for it; it waits in their place."""
        r, plan = self.reductions, self.plan
        value = [v.spelled() for v in value]
        free = r.text.intrinsic("cttz", "i64", "i64", [("i64", r.text.ins(f"xor i64 {number}, -1")), ("i1", "true")])
        level = Sym(f"{plan.op.symbol.name}.level")
        _, value = r.loops.counted(
            level, "0", free, "1", lambda v: r.merge(plan, self.get(r.index.symbols[level][0]), v), value
        )
        for pointers, v in zip(self._slots(free), value):
            for p, x in zip(pointers, v.operands()):
                store_accumulator(r.text, p, x, v.dtype, self.width)
        return value

    def drain(self, number: str, value: list[VectorValue]) -> list[VectorValue]:
        """The youngest of so many results merged with all that waits: a level for each other bit that is set."""
        r, outer = self.reductions, self.plan.outer
        bits = self._without_lowest(number)
        before, loop, after = r.text.block, r.text.label("loop"), r.text.label("done")
        r.text.branch_if(r.text.ins(f"icmp ne i64 {bits}, 0"), loop, after)
        r.text.start(loop)
        r.text.frames.append({})
        phis: list[Any] = []
        r.text.out.append(phis)
        left = r.text.fresh()
        carried = [VectorValue(v.lanes, [r.text.fresh() for _ in v.regs], v.dtype) for v in value]
        level = r.text.intrinsic("cttz", "i64", "i64", [("i64", left), ("i1", "true")])
        merged = r.lanes.spread_all(r.merge(self.plan, self.get(level), carried), outer)
        rest, latch = self._without_lowest(left), r.text.block
        r.text.branch_if(r.text.ins(f"icmp ne i64 {rest}, 0"), loop, after)
        r.text.frames.pop()
        phis.append(f"  {left} = phi i64 [{bits}, %{before}], [{rest}, %{latch}]")
        for c, start, end in zip(carried, value, merged):
            ty = c.type
            for name, x, y in zip(c.regs, start.operands(), end.operands()):
                phis.append(f"  {name} = phi {ty} [{x}, %{before}], [{y}, %{latch}]")
        r.text.start(after)
        return r.loops.join(value, before, merged, latch)

    def _without_lowest(self, number: str) -> str:
        """A number without its lowest bit that is set."""
        r = self.reductions
        return r.text.ins(f"and i64 {number}, {r.text.ins(f'sub i64 {number}, 1')}")
