"""Partial results of a fold that wait in stack memory for others as old as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .....dialects.dims.dims import Sym
from .....dialects.types import DType
from ..text import llvm_type, vector_type
from ..values.registers import VectorValue, count_of, width_of

if TYPE_CHECKING:
    from .reduce import Fold, ReduceWriter

__all__ = ["PairwiseStack", "stored_type"]


def stored_type(dtype: DType) -> str:
    """The type of a state in memory."""
    scalar = llvm_type(dtype)
    return "i8" if scalar == "i1" else scalar


class PairwiseStack:
    """Partial results that wait for one as old as they are, a level of them for each power of two: a binary counter."""

    def __init__(self, writer: ReduceWriter, fold: Fold, levels: int):
        self.writer, self.fold = writer, fold
        self.copies, self.width = count_of(fold.outer), width_of(fold.outer)
        self.stacks = [writer.text.alloca(self._type(d), levels * self.copies) for d in fold.dtypes]

    def _type(self, dtype: DType) -> str:
        return vector_type(self.width, stored_type(dtype))

    def _slots(self, level: str) -> list[list[str]]:
        w, row = self.writer, self.writer.text.mul(level, str(self.copies))
        return [
            [
                w.text.ins(f"getelementptr {self._type(d)}, ptr {base}, i64 {w.text.add(row, str(c))}")
                for c in range(self.copies)
            ]
            for base, d in zip(self.stacks, self.fold.dtypes)
        ]

    def get(self, level: str) -> list[VectorValue]:
        """What waits at a level."""
        w = self.writer
        return [
            VectorValue(self.fold.outer, [w.get_state(p, d, self.width) for p in pointers], d)
            for pointers, d in zip(self._slots(level), self.fold.dtypes)
        ]

    def push(self, number: str, value: Sequence[VectorValue]) -> list[VectorValue]:
        """Merge the result with this number with those that waited for it; it waits in their place."""
        w, fold = self.writer, self.fold
        value = [v.spelled() for v in value]
        free = w.text.intrinsic("cttz", "i64", "i64", [("i64", w.text.ins(f"xor i64 {number}, -1")), ("i1", "true")])
        level = Sym(f"{fold.op.symbol.name}.level")
        _, value = w.counted(
            level, "0", free, "1", lambda v: w.merge(fold, self.get(w.index.symbols[level][0]), v), value
        )  # fmt: skip
        for pointers, v in zip(self._slots(free), value):
            for p, r in zip(pointers, v.operands()):
                w.put_state(p, r, v.dtype, self.width)
        return value

    def drain(self, number: str, value: list[VectorValue]) -> list[VectorValue]:
        """The youngest of so many results merged with all that waits: a level for each other bit that is set."""
        w, outer = self.writer, self.fold.outer
        bits = self._without_lowest(number)
        before, loop, after = w.text.block, w.text.label("loop"), w.text.label("done")
        w.text.branch_if(w.text.ins(f"icmp ne i64 {bits}, 0"), loop, after)
        w.text.start(loop)
        w.lanes.frames.append({})
        phis: list[Any] = []
        w.text.out.append(phis)
        left = w.text.fresh()
        carried = [VectorValue(v.lanes, [w.text.fresh() for _ in v.regs], v.dtype) for v in value]
        level = w.text.intrinsic("cttz", "i64", "i64", [("i64", left), ("i1", "true")])
        merged = w.lanes.spread_all(w.merge(self.fold, self.get(level), carried), outer)
        rest, latch = self._without_lowest(left), w.text.block
        w.text.branch_if(w.text.ins(f"icmp ne i64 {rest}, 0"), loop, after)
        w.lanes.frames.pop()
        phis.append(f"  {left} = phi i64 [{bits}, %{before}], [{rest}, %{latch}]")
        for c, start, end in zip(carried, value, merged):
            ty = c.type
            for name, x, y in zip(c.regs, start.operands(), end.operands()):
                phis.append(f"  {name} = phi {ty} [{x}, %{before}], [{y}, %{latch}]")
        w.text.start(after)
        return w.join(value, before, merged, latch)

    def _without_lowest(self, number: str) -> str:
        """A number without its lowest bit that is set."""
        w = self.writer
        return w.text.ins(f"and i64 {number}, {w.text.ins(f'sub i64 {number}, 1')}")
