"""`loop.merge`: runs merged a vector at a time, several iterations side by side.

A vector is loaded from the run whose next element is less, and bitonically merged with the greatest ones so far, which
are held in descending order: the lower half is final and the upper half waits.  That is a chain of some fifteen steps
for a vector, and which run comes next is known before the chain is through, so iterations side by side fill the ports.
No branch depends on data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .....dialects.dims.dims import Sym
from .....dialects.loop import MergeOp
from .....dialects.scalar.hints import SINGLE_PORT
from .....dialects.types import DTYPES, DType
from ..memory.access import Memory
from ..text import EmitError, IrText, llvm_type, vector_type
from ..values.index import IndexValues
from ..values.lanes import Lanes
from ..values.registers import VectorAxis, VectorValue, info_of
from .counted_loops import bound_of
from .loops import Loops

__all__ = ["Merges"]

I64 = DTYPES["i64"]
#: Bytes ahead that runs are fetched: pieces are over before the processor has found out how they go on.
AHEAD = 512


@dataclass
class _Merge:
    """A merge being emitted, and the iterations that go side by side: the ends of their second runs, and how many
    elements were taken from both before the first step."""

    op: MergeOp
    source: str
    dtype: DType
    width: int
    second_ends: Sequence[str]
    taken: Sequence[str]

    @property
    def type(self) -> str:
        return vector_type(self.width, llvm_type(self.dtype))


class Merges:
    """The merges of `text`."""

    def __init__(self, text: IrText, lanes: Lanes, index: IndexValues, memory: Memory, loops: Loops):
        self.text, self.lanes, self.index = text, lanes, index
        self.memory, self.loops, self.region = memory, loops, loops.region

    def merge(self, op: MergeOp) -> None:
        if self.lanes.axes:
            raise EmitError("a merge inside a vector loop")
        lower, upper, beside = op.lower.data, op.upper.data, op.unroll.value.data
        if (extent := (upper - lower).const) is not None:
            beside = max(1, min(beside, extent))
        end = self.index.value(upper)

        def group(_: list[VectorValue]) -> list[VectorValue]:
            self._side_by_side(op, beside, end)
            return []

        self.loops.counted(op.symbol, self.index.value(lower), end, str(beside), group, bound=bound_of(op))

    def _side_by_side(self, op: MergeOp, beside: int, end: str) -> None:
        """So many iterations; where fewer are left, the last one several times, which stores the same each time."""
        text = self.text
        starts = self.loops.held(op.symbol, beside, 1, text.sub(end, "1"))
        iterations = (VectorAxis(op.symbol, 1, beside, 0, starts),)
        with self.lanes.along(iterations[0]):
            places = [self.lanes.spread(reg, iterations) for reg in self.region(op.body.block)]
        first, _, second, second_end, target = places
        dtype = info_of(op.source).dtype
        width = op.vector.value.data
        taken = [text.add(a, b) for a, b in zip(first, second)]
        merge = _Merge(op, self.memory.buffer(op.source), dtype, width, second_end, taken)
        to = [self._pointer_to(self.memory.buffer(op.target), dtype, place) for place in target]
        loaded, first, second = self._next(merge, first, second, str(width))
        waiting = [self._permuted(merge, vector, vector, range(width)[::-1]) for vector in loaded]
        step = Sym(f"{op.symbol.name}.step")
        vectors = (VectorAxis(step, width, beside, 0),)
        carried = [
            VectorValue(vectors, waiting, dtype),
            VectorValue(iterations, first, I64),
            VectorValue(iterations, second, I64),
        ]

        def body(carried: list[VectorValue]) -> list[VectorValue]:
            waiting, first, second = (reg.regs for reg in carried)
            done = self.index.symbols[step][0]
            if (checks := self.memory.checks) is not None:
                checks.rows(op, op.target, [text.add(place, done) for place in target], width)
            loaded, first, second = self._next(merge, first, second, text.add(done, str(2 * width)))
            kept: list[str] = []
            for old, new, base in zip(waiting, loaded, to):
                low, high = self._merged_in_order(merge, new, old)
                place = self._pointer_to(base, dtype, done)
                self._fetch(merge, place, writes=True)
                text.put(f"store {merge.type} {low}, ptr {place}, align {dtype.bytes}")
                kept.append(high)
            return [
                VectorValue(vectors, kept, dtype),
                VectorValue(iterations, first, I64),
                VectorValue(iterations, second, I64),
            ]

        self.loops.counted(step, "0", self.index.value(op.length.data), str(width), body, carried)

    def _next(
        self, merge: _Merge, first: Sequence[str], second: Sequence[str], taken: str
    ) -> tuple[list[str], list[str], list[str]]:
        """A vector from one of both runs of each iteration, and where these go on; `taken` counts this one, too.

        Of equal elements the second run's is taken: the first run then ends where the largest value begins, and never
        leaves what lies behind its end, but the second one has to be held there.
        """
        text = self.text
        vectors, firsts, seconds = list[str](), list[str](), list[str]()
        if (checks := self.memory.checks) is not None:
            checks.rows(merge.op, merge.op.source, (*first, *second), 1)
        element = llvm_type(merge.dtype)
        for a, b, before, second_end in zip(first, second, merge.taken, merge.second_ends):
            x, y = (text.ins(f"load {element}, ptr {self._pointer_to(merge.source, merge.dtype, at)}, "
                             f"align {merge.dtype.bytes}") for at in (a, b))  # fmt: skip
            less = text.ins(f"icmp slt {element} {x}, {y}")
            # Data decide, so a branch would be foreseen half of the time.
            at = text.ins(f"select i1 {less}, i64 {a}, i64 {b}, !unpredictable !{{}}")
            a = text.ins(f"select i1 {less}, i64 {text.add(a, str(merge.width))}, i64 {a}, !unpredictable !{{}}")
            b = text.sub(text.add(before, taken), a)
            b = text.call("smin", 1, "i64", b, second_end)
            if (checks := self.memory.checks) is not None:
                checks.rows(merge.op, merge.op.source, [at], merge.width)
            source = self._pointer_to(merge.source, merge.dtype, at)
            self._fetch(merge, source, writes=False)
            vectors.append(text.ins(f"load {merge.type}, ptr {source}, align {merge.dtype.bytes}"))
            firsts.append(a)
            seconds.append(b)
        return vectors, firsts, seconds

    def _merged_in_order(self, merge: _Merge, ascending: str, descending: str) -> tuple[str, str]:
        """The lower half of both vectors' elements, ascending, and the upper half, descending.

        Comparators of elements `distance` apart, in both halves, are one exchange of two vectors: one has of each lane
        an element of the half that the lane's bit `distance` says, the other the element that it is compared with.
        """
        width = merge.width
        low, high = self._exchanged(merge, ascending, descending)
        # The place, among the elements of both halves, of the one in each lane of both vectors.
        places = list(range(2 * width))
        distance = width // 2
        while distance:
            lanes = [lane + width * bool(lane & distance) for lane in range(width)]
            others = [lane ^ distance for lane in lanes]
            pair = self._permuted(merge, low, high, lanes), self._permuted(merge, low, high, others)
            low, high = self._exchanged(merge, *pair)
            places = [min(places[a], places[b]) for a, b in zip(lanes, others)] + [
                max(places[a], places[b]) for a, b in zip(lanes, others)
            ]
            distance //= 2
        order = [places.index(place) for place in range(2 * width)]
        return (self._permuted(merge, low, high, order[:width]), self._permuted(merge, low, high, order[width:][::-1]))

    def _exchanged(self, merge: _Merge, a: str, b: str) -> tuple[str, str]:
        """The lesser and the greater elements of two vectors, lane by lane."""
        ty = merge.type
        low = self.text.intrinsic("smin", ty, ty, [(ty, a), (ty, b)])
        if merge.width * merge.dtype.bits < SINGLE_PORT:
            return low, self.text.intrinsic("smax", ty, ty, [(ty, a), (ty, b)])
        return low, self.text.ins(f"xor {ty} {self.text.ins(f'xor {ty} {a}, {b}')}, {low}")

    def _fetch(self, merge: _Merge, pointer: str, writes: bool) -> None:
        """Have a line that comes later ready to read, or to write."""
        self.memory.ask_for(self._pointer_to(pointer, merge.dtype, str(AHEAD // merge.dtype.bytes)), writes=writes)

    def _permuted(self, merge: _Merge, a: str, b: str, lanes: Sequence[int]) -> str:
        if merge.width == 1:
            return a
        return self.text.shuffle(merge.type, a, b, lanes)

    def _pointer_to(self, base: str, dtype: DType, at: str) -> str:
        return self.text.ins(f"getelementptr {llvm_type(dtype)}, ptr {base}, i64 {at}")
