"""`loop.partition`: vectors whose elements of each group are stored one after another.

Instructions that compress a vector store the elements of a mask without gaps, so no branch depends on data.
"""

from __future__ import annotations

from .....dialects.loop import PartitionOp
from .....dialects.types import DTYPES
from ..memory.access import Memory, storage_type
from ..memory.nontemporal import alignment_of
from ..text import EmitError, IrText, lit, vector_type
from ..values.index import IndexValues
from ..values.lanes import Lanes
from ..values.registers import Values, VectorAxis, VectorValue
from .counted_loops import bound_of
from .loops import Loops

__all__ = ["Partitions"]

I64 = DTYPES["i64"]


class Partitions:
    """The partitions of `text`."""

    def __init__(self, text: IrText, lanes: Lanes, index: IndexValues, values: Values, memory: Memory, loops: Loops):
        self.text, self.lanes, self.index, self.values = text, lanes, index, values
        self.memory, self.loops, self.region = memory, loops, loops.region

    def partition(self, op: PartitionOp) -> None:
        if self.lanes.axes:
            raise EmitError("a partition inside a vector loop")
        width, lower, upper = op.vector.value.data, op.lower.data, op.upper.data
        start, end = self.index.value(lower), self.index.value(upper)
        first = self.index.value(op.low.data)
        places = [VectorValue((), [at], I64) for at in (first, self.index.value(op.high.data))]

        def step(places: list[VectorValue]) -> list[VectorValue]:
            return self._step_of_partition(op, width, places)

        stopped = start
        if width > 1:
            whole = self.text.add(start, self.text.whole(self.text.sub(end, start), width))
            stopped, places = self.loops.counted(op.symbol, start, whole, str(width), step, places, bound=bound_of(op))

        def rest(places: list[VectorValue]) -> list[VectorValue]:
            if width > 1:
                self.lanes.mask = self.lanes.below(self.text.sub(end, self.index.symbols[op.symbol][0]), width)
            places = step(places)
            self.lanes.mask = None
            return places

        _, places = self.loops.counted(op.symbol, stopped, end, str(width), rest, places, bound=bound_of(op))
        self.values[op.count] = VectorValue((), [self.text.sub(places[0].regs[0], first)], I64)

    def _step_of_partition(self, op: PartitionOp, width: int, places: list[VectorValue]) -> list[VectorValue]:
        """One vector, or what of it the mask has; where the next one's elements go."""
        lanes = (VectorAxis(op.symbol, width, 1, 0),)
        with self.lanes.along(lanes[0]):
            value, is_first = self.region(op.body.block)
        dtype = value.dtype
        storage, mask_type = storage_type(dtype), vector_type(width, "i1")
        (element,), (chosen,) = self.lanes.spread(value, lanes), self.lanes.spread(is_first, lanes)
        element, chosen = lit(element, width, storage), lit(chosen, width, "i1")
        others = self.text.ins(f"xor {mask_type} {chosen}, {self.lanes.splat('true', 'i1', width)}")
        if self.lanes.mask is not None:
            chosen, others = (self.text.ins(f"and {mask_type} {m}, {self.lanes.mask}") for m in (chosen, others))
        low, high = (place.regs[0] for place in places)
        after = self.text.add(low, self._count_of(chosen, width))
        high = self.text.sub(high, self._count_of(others, width))
        base, ty = self.memory.buffer(op.target), vector_type(width, storage)
        if (checks := self.memory.checks) is not None:
            checks.run(op, op.target, low, after)
            checks.run(op, op.target, high, places[1].regs[0])
        for at, mask in ((low, chosen), (high, others)):
            pointer = self.text.ins(f"getelementptr {storage}, ptr {base}, i64 {at}")
            self._compress(ty, storage, element, pointer, mask, width)
        return [VectorValue((), [at], I64) for at in (after, high)]

    def _count_of(self, mask: str, width: int) -> str:
        """How many lanes a mask has, as an i64."""
        if width == 1:
            return self.text.ins(f"zext i1 {mask} to i64")
        bits = self.text.ins(f"bitcast <{width} x i1> {mask} to i{width}")
        count = self.text.intrinsic("ctpop", f"i{width}", f"i{width}", [(f"i{width}", bits)])
        return count if width == 64 else self.text.ins(f"zext i{width} {count} to i64")

    def _compress(self, ty: str, storage: str, value: str, pointer: str, mask: str, width: int) -> None:
        """The elements of a mask, without gaps."""
        text = self.text
        if width == 1:
            self.memory.places.store_where(mask, pointer, lambda at: text.put(f"store {storage} {value}, ptr {at}"))
            return
        suffix = f"v{width}" + {"float": "f32", "double": "f64"}.get(storage, storage)
        name = f"llvm.masked.compressstore.{suffix}"
        text.declare(name, "void", [ty, "ptr", f"<{width} x i1>"])
        text.put(f"call void @{name}({ty} {value}, ptr align {alignment_of(storage)} {pointer}, <{width} x i1> {mask})")
