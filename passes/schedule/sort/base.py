"""What every way to sort shares: rows, their places, and zeros, whose signs do not count where keys are compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from ....dialects import kernel
from ....dialects.attributes import BufferInfo
from ....dialects.dims.dims import Dim, dim, packed_strides
from ....dialects.dims.index_map import product, unravel
from ....dialects.scalar.language import Value
from ....dialects.types import DTYPES, DType
from ..access import buffer_info
from ..body import ScheduleContext
from ..builder import LoopBuilder
from ..map.schedule import VectorConfig
from .keys.keys import Key

__all__ = ["ElementIndex", "SortBase"]

I64 = DTYPES["i64"]
#: The index, in the operand and in the results, of an element of one row.
ElementIndex = Callable[[Dim], list[Dim]]


class SortBase:
    """Loops for one `kernel.custom` that sorts what has `dims`, by the parts `keys` of an order, the least important
    first."""

    def __init__(
        self, context: ScheduleContext, op: kernel.CustomOp, dims: Sequence[Dim], lanes: VectorConfig, keys: list[Key]
    ):
        self.context, self.op, self.dims, self.lanes, self.keys = context, op, dims, lanes, keys
        (self.x,) = op.ins
        self.element = buffer_info(self.x).dtype
        axis: int = op.params["axis"]
        self.before, self.n, self.after = dims[:axis], dims[axis], dims[axis + 1 :]
        self.inner = product(self.after)
        self.rows = product(self.before) * self.inner

    def allocate(self, code: LoopBuilder, element: DType, *dims: Dim | int, shared: bool) -> SSAValue:
        """A temporary of all threads, or of each."""
        shape = tuple(dim(d) for d in dims)
        info = BufferInfo(element, shape, packed_strides(shape))
        return self.context.allocate(code.block, info, "arena" if shared else "thread")

    def index(self, row: Dim, i: Dim) -> list[Dim]:
        """The index of element `i` of a row in the operand and in the results."""
        return [*unravel(row // self.inner, self.before), i, *unravel(row % self.inner, self.after)]

    def indices(self, row: Dim) -> ElementIndex:
        """The places of a row."""
        return lambda i: self.index(row, i)

    def width(self, element: DType) -> int:
        return self.lanes.width(element.part.bits)

    # Zeros, whose sign has a key of its own where values are made of keys

    def count_negative_zeros(
        self, code: LoopBuilder, keys: Callable[[LoopBuilder, Dim], Value], start: Dim, stop: Dim
    ) -> Value:
        """How many of some keys are of zeros with a sign."""
        bits = self.keys[0].negative_zero
        assert bits is not None
        return self.count(
            code, lambda c, i: c.b.bitcast(keys(c, i), DTYPES[f"u{self.keys[0].dtype.bits}"]).equals(bits), start, stop
        )

    def count(self, code: LoopBuilder, holds: Callable[[LoopBuilder, Dim], Value], start: Dim, stop: Dim) -> Value:
        """For how many places something holds."""
        return code.count(start, stop, holds, self.width(self.element))

    def order_zeros(
        self,
        code: LoopBuilder,
        index: ElementIndex,
        keys: Callable[[LoopBuilder, Dim], Value],
        counts: SSAValue,
        first: Dim,
        number: Dim,
    ) -> None:
        """Zeros of both signs as they stood in the operand; nothing where none has a sign.

        `counts` has how many do, in so many chunks from `first` on; `keys` are those of the sorted row.
        """

        def add(c: LoopBuilder, number: Dim, sum_: Value) -> Value:
            return sum_ + c.load(counts, [first + number])

        signed = code.carried_loop(0, number, code.b.constant(0, I64), add)
        code.if_(signed > 0, lambda c: self.rewrite_zeros(c, index, keys), lambda c: None)

    def rewrite_zeros(self, code: LoopBuilder, index: ElementIndex, keys: Callable[[LoopBuilder, Dim], Value]) -> None:
        """Zeros of both signs, which are equal, as they stood in the operand."""
        (out,), (key,) = self.op.outs, self.keys

        def below(c: LoopBuilder, i: Dim, count: Value) -> Value:
            return count + c.b.cast(keys(c, i) < key.least_zero, I64)

        def put(c: LoopBuilder, i: Dim, at: Value) -> Value:
            x = c.load(self.x, index(i))
            zero = c.b.cast(x.equals(0), I64)
            c.store(x, out, index(c.bind(at)), [c.bind(zero) - 1])
            return at + zero

        code.carried_loop(0, self.n, code.carried_loop(0, self.n, code.b.constant(0, I64), below), put)
