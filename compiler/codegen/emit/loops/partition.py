"""`loop.partition`: vectors whose elements of each group are stored one after another.

Instructions that compress a vector store the elements of a mask without gaps, so no branch depends on data.
"""

from __future__ import annotations

from .....dialects.loop import PartitionOp
from .....dialects.types import DTYPES
from ..memory.access import storage_type
from ..memory.bounds_check import check_run
from ..memory.nontemporal import alignment_of
from ..text import EmitError, vector_type
from ..values.registers import VectorAxis, VectorValue
from .merge import MergeWriter

__all__ = ["PartitionWriter"]

I64 = DTYPES["i64"]


class PartitionWriter(MergeWriter):
    """Adds `partition`."""

    def partition(self, op: PartitionOp) -> None:
        if self.lanes:
            raise EmitError("a partition inside a vector loop")
        width, lower, upper = op.vector.value.data, op.lower.data, op.upper.data
        bound = upper if lower.nonneg else None
        start, end = self.index(lower), self.index(upper)
        first = self.index(op.low.data)
        places = [VectorValue((), [at], I64) for at in (first, self.index(op.high.data))]

        def step(places: list[VectorValue]) -> list[VectorValue]:
            return self._step_of_partition(op, width, places)

        stopped = start
        if width > 1:
            whole = self.add(start, self.whole(self.sub(end, start), width))
            stopped, places = self.counted(op.symbol, start, whole, str(width), step, places, bound=bound)

        def rest(places: list[VectorValue]) -> list[VectorValue]:
            if width > 1:
                self.mask = self.lanes_below(self.sub(end, self.symbols[op.symbol][0]), width)
            places = step(places)
            self.mask = None
            return places

        _, places = self.counted(op.symbol, stopped, end, str(width), rest, places, bound=bound)
        self.values[op.count] = VectorValue((), [self.sub(places[0].regs[0], first)], I64)

    def _step_of_partition(self, op: PartitionOp, width: int, places: list[VectorValue]) -> list[VectorValue]:
        """One vector, or what of it the mask has; where the next one's elements go."""
        lanes = (VectorAxis(op.symbol, width, 1, 0),)
        self.lanes = lanes
        value, is_first = self.region(op.body.block)
        self.lanes = ()
        dtype = value.dtype
        storage, mask_type = storage_type(dtype), vector_type(width, "i1")
        (element,), (chosen,) = self.spread(value, lanes), self.spread(is_first, lanes)
        element, chosen = self.lit(element, width, storage), self.lit(chosen, width, "i1")
        others = self.ins(f"xor {mask_type} {chosen}, {self.splat('true', 'i1', width)}")
        if self.mask is not None:
            chosen, others = (self.ins(f"and {mask_type} {m}, {self.mask}") for m in (chosen, others))
        low, high = (place.regs[0] for place in places)
        after = self.add(low, self._count_of(chosen, width))
        high = self.sub(high, self._count_of(others, width))
        base, ty = self.buffer(op.target), vector_type(width, storage)
        if self.module.checked:
            check_run(self, op, op.target, low, after)
            check_run(self, op, op.target, high, places[1].regs[0])
        for at, mask in ((low, chosen), (high, others)):
            pointer = self.ins(f"getelementptr {storage}, ptr {base}, i64 {at}")
            self._compress(ty, storage, element, pointer, mask, width)
        return [VectorValue((), [at], I64) for at in (after, high)]

    def _count_of(self, mask: str, width: int) -> str:
        """How many lanes a mask has, as an i64."""
        if width == 1:
            return self.ins(f"zext i1 {mask} to i64")
        bits = self.ins(f"bitcast <{width} x i1> {mask} to i{width}")
        count = self.intrinsic("ctpop", f"i{width}", f"i{width}", [(f"i{width}", bits)])
        return count if width == 64 else self.ins(f"zext i{width} {count} to i64")

    def _compress(self, ty: str, storage: str, value: str, pointer: str, mask: str, width: int) -> None:
        """The elements of a mask, without gaps."""
        if width == 1:
            self.store_where(mask, pointer, lambda at: self.put(f"store {storage} {value}, ptr {at}"))
            return
        suffix = f"v{width}" + {"float": "f32", "double": "f64"}.get(storage, storage)
        name = f"llvm.masked.compressstore.{suffix}"
        self.declare(name, "void", [ty, "ptr", f"<{width} x i1>"])
        self.put(f"call void @{name}({ty} {value}, ptr align {alignment_of(storage)} {pointer}, <{width} x i1> {mask})")
