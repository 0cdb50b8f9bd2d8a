"""Elements of long rows by their number in order, without sorting: a range of keys around each is narrowed.

Keys of the range lie one after another.  A sample of them says where in it the element probably is (Floyd and Rivest):
one pass counts those before and copies those within, by stores whose place a comparison moves on, so no branch depends
on data.  Where that misses, the next pass takes what is before or behind.  Where many keys are equal and little was
left out, the next pass halves the range of numbers that keys are in, which ends whatever the data are.

Short rows are sorted, and those of which many elements are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from xdsl.ir import Block, SSAValue

from ....dialects import kernel
from ....dialects.attributes import BufferInfo
from ....dialects.dims.dims import Dim, dim, minimum, packed_strides
from ....dialects.dims.index_map import product, unravel
from ....dialects.scalar.language import Value
from ....dialects.types import DTYPES, DType
from ..access import buffer_info
from ..body import ScheduleContext
from ..builder import LoopBuilder
from ..map.schedule import VectorConfig
from .base import ElementIndex
from .keys.keys import keys_of
from .schedule import schedule_sort

__all__ = ["pick", "schedule_selection", "sort_rows"]

I64 = DTYPES["i64"]
#: Keys of a sample, and how many of it are in a range before and behind the place of an element: two standard
#: deviations.
SAMPLES, AROUND = 64, 8
#: Longer rows are not sorted.
LONGEST_SORTED = 2048
#: Nor are longer rows of which so many elements are asked for: each takes about a tenth of what sorting does.
MOST_PLACES = 16
#: Units of work of picking from a sorted row.
SORTED_ROW = 64
#: How the next range is found: around a place in a sample, as the lower half, or it is what there is.
BY_SAMPLE, BY_HALVES, AS_IT_IS = range(3)


def schedule_selection(context: ScheduleContext, op: kernel.CustomOp, block: Block, lanes: VectorConfig) -> None:
    """Loops for ``kth_elements``."""
    with context.bounded(block, buffer_info(op.ins[0]).dims) as dims:

        def sort(inner: Block) -> None:
            pick(context, op, dims, inner, sort_rows(context, op, dims, inner, lambda s: by_network(s, inner)))

        def by_network(sort: kernel.CustomOp, inner: Block) -> None:
            schedule_sort(context, sort, inner, lanes)

        few, long = MOST_PLACES + 1 - buffer_info(op.outs[0]).dims[-1], dims[-1] - LONGEST_SORTED
        selection = _Selection(context, op, dims, lanes)
        context.if_positive(block, minimum(few, long), selection.emit, sort)


def sort_rows(
    context: ScheduleContext, op: kernel.CustomOp, dims: Sequence[Dim], block: Block,
    schedule: Callable[[kernel.CustomOp], None],
) -> SSAValue:  # fmt: skip
    """The rows of the operand in order, as `schedule` sorts them."""
    ordered = context.allocate(block, BufferInfo(buffer_info(op.ins[0]).dtype, tuple(dims), packed_strides(dims)))
    params = {"axis": len(dims) - 1, "descending": False, "has_fma": op.params["has_fma"]}
    schedule(kernel.CustomOp("sort", op.ins[:1], [ordered], params))
    return ordered


def pick(
    context: ScheduleContext, op: kernel.CustomOp, dims: Sequence[Dim], block: Block, ordered: SSAValue
) -> None:  # fmt: skip
    """The results, from rows in order."""
    code, rows = LoopBuilder(context, block, op.params["has_fma"]), product(dims[:-1])
    with code.parallel_(rows, dim(SORTED_ROW)) as (c, row), _each_place(c, op, dims, row) as (d, place, k):
        d.store(d.load(ordered, [*place[:-1], k], [dims[-1] - 1 - k]), op.outs[0], place)


@contextmanager
def _each_place(
    code: LoopBuilder, op: kernel.CustomOp, dims: Sequence[Dim], row: Dim
) -> Iterator[tuple[LoopBuilder, list[Dim], Dim]]:
    """A loop over the results of a row: the indices of each, and which element in order it is."""
    with code.for_(0, buffer_info(op.outs[0]).dims[-1]) as (c, i):
        place = [*unravel(row, dims[:-1]), i]
        k = c.b.minimum(c.load(op.ins[1], place), c.b.index(dims[-1] - 1))
        yield c, place, c.bind(c.b.maximum(k, 0))


class _Cell:
    """A number in memory."""

    def __init__(self, memory: SSAValue, place: int):
        self.memory, self.place = memory, [dim(place)]

    def load(self, code: LoopBuilder) -> Value:
        return code.load(self.memory, self.place)

    def bind(self, code: LoopBuilder) -> Dim:
        return code.bind(self.load(code))

    def store(self, code: LoopBuilder, value: Value) -> None:
        code.store(value, self.memory, self.place)


class _Selection:
    """The loops for rows that are not sorted.

    Of a row there are `count` keys from `low` to `high` in one `half` of memory, and `below` are less.  The element is
    in the part of them from `first` to `last`; `way` says how the next part is found, and `goes_on` whether one is.
    """

    def __init__(self, context: ScheduleContext, op: kernel.CustomOp, dims: Sequence[Dim], lanes: VectorConfig):
        self.context, self.op, self.dims, self.n = context, op, dims, dims[-1]
        self.x = op.ins[0]
        self.element = buffer_info(self.x).dtype
        (key,) = keys_of(self.element, False, True)
        self.key, self.width = key.signed, lanes.width(max(64, key.dtype.bits))
        self.wide = lanes.width(self.element.bits)

    def emit(self, block: Block) -> None:
        code = LoopBuilder(self.context, block, self.op.params["has_fma"])
        self.keys, self.sample = (self._allocate(code, self.key.dtype, size) for size in (self.n * 2, dim(2 * SAMPLES)))
        numbers, bounds = self._allocate(code, I64, dim(5)), self._allocate(code, self.key.dtype, dim(4))
        self.half, self.count, self.below, self.way, self.goes_on = (_Cell(numbers, i) for i in range(5))
        self.low, self.high, self.first, self.last = (_Cell(bounds, i) for i in range(4))
        with code.parallel_(product(self.dims[:-1]), self.n * 8) as (c, row):
            self._row(c, row)

    def _allocate(self, code: LoopBuilder, element: DType, size: Dim) -> SSAValue:
        return self.context.allocate(code.block, BufferInfo(element, (size,), (dim(1),)), "thread")

    def _row(self, code: LoopBuilder, row: Dim) -> None:
        before = unravel(row, self.dims[:-1])

        def index(i: Dim) -> list[Dim]:
            return [*before, i]

        self.count.store(code, code.b.constant(0, I64))
        with _each_place(code, self.op, self.dims, row) as (c, place, k):
            here = c.b.index(k) - self.below.load(c)
            there = (here >= 0) & (here < self.count.load(c))
            c.if_(there, self._reuse, lambda d: self._enter(d, index))
            c.while_(lambda d: self.goes_on.load(d) > 0, lambda d: self._narrow(d, k))
            assert self.key.element is not None
            value = self.key.element(c.b, self.first.load(c))
            c.store(value, self.op.outs[0], place)
            if self.element.is_float:
                c.if_(value.equals(0), lambda d: self._put_zero(d, index, k, place), lambda d: None)

    def _enter(self, code: LoopBuilder, index: ElementIndex) -> None:
        """All keys of a row."""
        b, bits = code.b, self.key.dtype.bits
        with code.for_(0, self.n, self.wide) as (c, i):
            c.store(self.key.make(c.b, c.load(self.x, index(i))), self.keys, [i])
        for cell, value in ((self.half, dim(0)), (self.count, self.n), (self.below, dim(0))):
            cell.store(code, b.index(value))
        self.low.store(code, b.constant(-(1 << bits - 1), self.key.dtype))
        self.high.store(code, b.constant((1 << bits - 1) - 1, self.key.dtype))
        self._reuse(code)

    def _reuse(self, code: LoopBuilder) -> None:
        """The keys that there are, from the start."""
        self.first.store(code, self.low.load(code))
        self.last.store(code, self.high.load(code))
        self.way.store(code, code.b.constant(BY_SAMPLE, I64))
        self.goes_on.store(code, code.b.constant(1, I64))

    def _narrow(self, code: LoopBuilder, k: Dim) -> None:
        """A smaller part that has the element, or the element as the only one."""
        b, count = code.b, self.count.bind(code)
        samples = code.materialize_dim(minimum(count, SAMPLES))
        self._take_sample(code, count, samples)
        here = code.bind(b.index(k) - self.below.load(code))
        is_one = self.first.load(code).equals(self.last.load(code))

        def found(c: LoopBuilder) -> None:
            at = c.bind(c.b.maximum(c.b.minimum(c.b.index(here), c.b.index(samples - 1)), 0))
            value = c.b.select(is_one, self.first.load(c), c.load(self.sample, [at + SAMPLES]))
            self.first.store(c, value)
            self.goes_on.store(c, c.b.constant(0, I64))

        done = is_one | (b.index(count) <= SAMPLES)
        code.if_(done, found, lambda c: self._part(c, here, count))

    def _take_sample(self, code: LoopBuilder, count: Dim, samples: Dim) -> None:
        """So many keys, and the same in order: each finds its number by comparing itself with all others."""
        start = code.materialize_dim(self.half.bind(code) * self.n)
        with code.for_(0, samples) as (c, i):
            c.store(c.load(self.keys, [start + c.materialize_dim(i * count // samples)]), self.sample, [i])
        with code.for_(0, samples, self.width) as (c, i):
            own = c.load(self.sample, [i])

            def add(d: LoopBuilder, j: Dim, before: Value, own: Value = own, i: Dim = i) -> Value:
                other = d.load(self.sample, [j])
                earlier = other.equals(own) & (d.b.index(j) < d.b.index(i))
                return before + d.b.cast((other < own) | earlier, I64)

            place = c.bind(c.carried_loop(0, samples, c.b.constant(0, I64), add))
            c.store(own, self.sample, [place + SAMPLES])

    def _part(self, code: LoopBuilder, here: Dim, count: Dim) -> None:
        """The keys of a part of the range, copied, where the element is one; else the part is before or behind."""
        b, way = code.b, self.way.load(code)
        first, last = self.first.load(code), self.last.load(code)
        by_sample, at = way.equals(BY_SAMPLE), code.materialize_dim(here * SAMPLES // count)
        lower, upper = (code.bind(b.maximum(b.minimum(b.index(e), SAMPLES - 1), 0)) for e in (at - AROUND, at + AROUND))
        low = b.select(by_sample & (b.index(at) >= AROUND), code.load(self.sample, [lower + SAMPLES]), first)
        high = b.select(by_sample & (b.index(at) < SAMPLES - AROUND), code.load(self.sample, [upper + SAMPLES]), last)
        middle = (first & last) + ((first ^ last) >> 1)
        high = b.select(way.equals(BY_HALVES), middle, high)
        half = self.half.bind(code)
        source, target = code.materialize_dim(half * self.n), code.materialize_dim((1 - half) * self.n)

        def move(c: LoopBuilder, i: Dim, numbers: list[Value]) -> list[Value]:
            before, to = numbers
            key = c.load(self.keys, [source + i])
            c.store(key, self.keys, [target + c.bind(to)])
            return [before + c.b.cast(key < low, I64), to + c.b.cast((key >= low) & (key <= high), I64)]

        zero = b.constant(0, I64)
        before, within = code.carried_loops(0, count, [zero, zero], move)
        place = b.index(here)

        def take(c: LoopBuilder) -> None:
            self.half.store(c, c.b.index(1 - half))
            self.count.store(c, within)
            self.below.store(c, self.below.load(c) + before)
            poor = c.b.index(count) < within * 2
            self.way.store(c, c.b.select(poor, c.b.constant(BY_HALVES, I64), c.b.constant(BY_SAMPLE, I64)))
            for value, cells in ((low, (self.low, self.first)), (high, (self.high, self.last))):
                for cell in cells:
                    cell.store(c, value)

        def miss(c: LoopBuilder) -> None:
            is_before = place < before
            self.first.store(c, c.b.select(is_before, first, high + 1))
            self.last.store(c, c.b.select(is_before, low - 1, last))
            self.way.store(c, c.b.constant(AS_IT_IS, I64))

        code.if_((before <= place) & (place < before + within), take, miss)

    def _put_zero(self, code: LoopBuilder, index: ElementIndex, k: Dim, place: list[Dim]) -> None:
        """A zero with the sign that the one of this number has: they are equal, and keep their order."""

        def is_negative(c: LoopBuilder, i: Dim) -> Value:
            return c.load(self.x, index(i)) < 0

        number = code.bind(code.b.index(k) - code.count(0, self.n, is_negative, self.wide))

        def put(c: LoopBuilder, i: Dim, before: Value) -> Value:
            x, here = c.load(self.x, index(i)), c.bind(before)
            is_zero = c.b.cast(x.equals(0), I64)
            c.store(x, self.op.outs[0], place, [c.bind(is_zero) - 1, number - here, here - number])
            return before + is_zero

        code.carried_loop(0, self.n, code.b.constant(0, I64), put)
