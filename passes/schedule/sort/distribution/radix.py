"""Sorting by digits of the keys, from the lowest up (least-significant-digit radix sort).

A key is an unsigned number made of an element's bits such that comparing keys is the order of `dialects.ops.sort`.
A pass counts how often each value of a digit occurs, makes of the counts the places where elements with it begin, and
moves every key, with its position where that is asked for, to its place.  So a pass keeps the order of equal digits,
has no branch that depends on data, and finds the same on any number of threads; one in which all elements have the same
digit moves nothing.  An order of several parts (of complex numbers) takes the keys of the least important part first.

Digits are wider where there are more elements, since a pass costs ``2**width`` beside what it costs an element.  Rows
of elements up to `LONG` are sorted one by a thread; of longer ones every pass is split into chunks with counts of their
own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.ir import Block, SSAValue

from .....dialects import kernel, loop
from .....dialects.dims.dims import Dim, dim, maximum, minimum
from .....dialects.scalar.language import Value
from .....dialects.types import DTYPES, DType
from ....cost.model import CostModel
from ...access import buffer_info
from ...body import ScheduleContext
from ...builder import LoopBuilder
from ...map.schedule import VectorConfig
from ..base import SortBase
from ..keys.keys import Key, keys_of

__all__ = ["RadixSort", "radix_sort_time"]

I64, U64 = DTYPES["i64"], DTYPES["u64"]
#: Rows of more elements are sorted by all threads together.
LONG = 1 << 16
#: Elements of a chunk of a row that all threads sort, and how many chunks there are at most.
CHUNK, CHUNKS = 1 << 15, 64
#: Numbers of elements from which on a digit may have so many bits.
WIDTHS = ((5000, 11), (320, 8), (128, 6), (0, 4))
#: What counting and moving an element takes, one after another, in operations of vectors.
PASS = 90
#: What moving its position along takes.
POSITIONS = 30
#: Counts of one chunk; some more than digits have values, so that chunks do not conflict in one set of a cache.
COUNTS = 2048 + 8


@dataclass(frozen=True)
class _Memory:
    """What a row is sorted in.

    Two copies of the keys, and of the positions, taken in turns; counts of each chunk and of all; which copy is the
    current one; how many keys of each chunk are of zeros with a sign.
    """

    keys: SSAValue
    positions: SSAValue | None
    counts: SSAValue
    totals: SSAValue
    half: SSAValue
    zeros: SSAValue
    in_chunks: bool


@dataclass(frozen=True)
class _Digits:
    """How a key is cut: so many digits, the bits of one, the values that it has."""

    count: Dim
    width: Dim
    values: Dim


class RadixSort(SortBase):
    """``sort``, ``argsort`` and ``sort_with_positions``; `only_values`: values are what their keys say."""

    def __init__(
        self,
        context: ScheduleContext,
        op: kernel.CustomOp,
        dims: Sequence[Dim],
        lanes: VectorConfig,
        only_values: bool,
    ):
        element = buffer_info(op.ins[0]).dtype
        super().__init__(context, op, dims, lanes, keys_of(element, op.params["descending"], only_values))
        self.only_values = only_values

    def emit(self, block: Block) -> None:
        code = LoopBuilder(self.context, block, self.op.params["has_fma"])
        most = self.n.const
        if most is not None:
            in_chunks = most > LONG
            (self._one_by_one if in_chunks else self._each_by_a_thread)(code, self._memory(code, self.n, in_chunks))
            return
        short = self._memory(code, minimum(self.n, LONG), False)
        long = self._memory_of_longer(code, LONG)
        code.if_(
            code.b.index(self.n) <= LONG,
            lambda c: self._each_by_a_thread(c, short),
            lambda c: self._one_by_one(c, long),
        )

    def emit_longer(self, block: Block, least: int) -> None:
        """For a place where rows have more elements than `least`, which are no fewer than `LONG`."""
        code = LoopBuilder(self.context, block, self.op.params["has_fma"])
        self._one_by_one(code, self._memory_of_longer(code, least))

    def _memory_of_longer(self, code: LoopBuilder, least: int) -> _Memory:
        """No memory where rows have no more elements than that."""
        return self._memory(code, self.n * minimum(1, self.n // (least + 1)), True)

    def _memory(self, code: LoopBuilder, size: Dim, in_chunks: bool) -> _Memory:
        def allocate(element: DType, *dims: Dim | int) -> SSAValue:
            return self.allocate(code, element, *dims, shared=in_chunks)

        chunks = CHUNKS if in_chunks else 1
        counts = allocate(I64, chunks, COUNTS)
        return _Memory(
            keys=allocate(self.keys[0].dtype, 2, size),
            positions=None if self.only_values else allocate(I64, 2, size),
            counts=counts,
            totals=allocate(I64, 1, COUNTS) if in_chunks else counts,
            half=allocate(I64, 1),
            zeros=allocate(I64, chunks),
            in_chunks=in_chunks,
        )

    def _row(self, code: LoopBuilder, row: Dim, memory: _Memory) -> None:
        self._enter(code, row, memory)
        for key in self.keys:
            if key is not self.keys[0]:
                self._next_keys(code, row, key, memory)
            digits = self._digits(code, key)
            with code.for_(0, digits.count) as (inner, number):
                self._pass(inner, digits, number * digits.width, memory)
        self._leave(code, row, memory)

    def _each_by_a_thread(self, code: LoopBuilder, memory: _Memory) -> None:
        with code.parallel_(self.rows, self.n * 16) as (inner, row):
            self._row(inner, row, memory)

    def _one_by_one(self, code: LoopBuilder, memory: _Memory) -> None:
        with code.for_(0, self.rows) as (inner, row):
            self._row(inner, row, memory)

    @contextmanager
    def _chunks(self, code: LoopBuilder, memory: _Memory) -> Iterator[tuple[LoopBuilder, Dim, Dim, Dim]]:
        """The chunks of a row, by threads where there are several: numbers, starts and ends."""
        if not memory.in_chunks:
            yield code, dim(0), dim(0), self.n
            return
        body, chunk, size = code.inner(), self.context.new_iv(), self._chunk_size()
        start = chunk * size
        yield body, chunk, start, minimum(self.n, start + size)
        body.block.add_op(loop.YieldOp())
        code.block.add_op(loop.ParallelOp(str(chunk), 0, self._chunk_count(memory), body.block))

    def _chunk_size(self) -> Dim:
        return maximum(CHUNK, (self.n + (CHUNKS - 1)) // CHUNKS)

    def _chunk_count(self, memory: _Memory) -> Dim:
        return (self.n + (self._chunk_size() - 1)) // self._chunk_size() if memory.in_chunks else dim(1)

    def _half(self, code: LoopBuilder, memory: _Memory) -> Dim:
        return code.bind(code.load(memory.half, [dim(0)]))

    def _enter(self, code: LoopBuilder, row: Dim, memory: _Memory) -> None:
        """Keys of the first part, and positions as they are."""
        key = self.keys[0]
        with self._chunks(code, memory) as (chunk, number, start, stop):
            with chunk.for_(start, stop, self.width(self.element)) as (c, i):
                c.store(key.make(c.b, c.load(self.x, self.index(row, i))), memory.keys, [dim(0), i])
            if memory.positions is not None:
                with chunk.for_(start, stop, self.width(I64)) as (c, i):
                    c.store(c.b.index(i), memory.positions, [dim(0), i])
            if key.negative_zero is not None:
                found = self.count_negative_zeros(chunk, lambda c, i: c.load(memory.keys, [dim(0), i]), start, stop)
                chunk.store(found, memory.zeros, [number])
        code.store(code.b.constant(0, I64), memory.half, [dim(0)])

    def _next_keys(self, code: LoopBuilder, row: Dim, key: Key, memory: _Memory) -> None:
        """Keys of a further part, in the order that was found so far."""
        assert memory.positions is not None
        half = self._half(code, memory)
        with self._chunks(code, memory) as (chunk, _, start, stop), chunk.for_(start, stop) as (c, i):
            at = c.bind(c.load(memory.positions, [half, i]))
            c.store(key.make(c.b, c.load(self.x, self.index(row, at))), memory.keys, [half, i])

    def _leave(self, code: LoopBuilder, row: Dim, memory: _Memory) -> None:
        half = self._half(code, memory)
        with self._chunks(code, memory) as (chunk, _, start, stop):
            for out, find in zip(self.op.outs, self._results(), strict=True):
                with chunk.for_(start, stop, self.width(buffer_info(out).dtype)) as (c, i):
                    c.store(find(c, row, [half, i], memory), out, self.index(row, i))
        if self.keys[0].negative_zero is not None:
            chunks = self._chunk_count(memory)
            keys = self.indices(row), lambda c, i: c.load(memory.keys, [half, i])
            self.order_zeros(code, *keys, memory.zeros, dim(0), chunks)

    def _results(self) -> list[Callable[[LoopBuilder, Dim, list[Dim], _Memory], Value]]:
        """What gives an element of each result."""
        if self.only_values:
            return [self._from_key]
        by_name = {"sort": [self._from_operand], "argsort": [self._position]}
        return by_name.get(self.op.fn.data, [self._from_operand, self._position])

    def _from_key(self, code: LoopBuilder, row: Dim, at: list[Dim], memory: _Memory) -> Value:
        (key,) = self.keys
        assert key.element is not None
        return key.element(code.b, code.load(memory.keys, at))

    def _position(self, code: LoopBuilder, row: Dim, at: list[Dim], memory: _Memory) -> Value:
        assert memory.positions is not None
        return code.load(memory.positions, at)

    def _from_operand(self, code: LoopBuilder, row: Dim, at: list[Dim], memory: _Memory) -> Value:
        return code.load(self.x, self.index(row, code.bind(self._position(code, row, at, memory))))

    # Passes

    def _digits(self, code: LoopBuilder, key: Key) -> _Digits:
        """Digits of equal widths, as few as the widest that pays for so many elements makes them."""
        if self.n.const is not None:
            widest = next(width for least, width in WIDTHS if self.n.const >= least)
            count = -(-key.bits // widest) if self.n.const > 1 else 0
            width = -(-key.bits // max(1, count))
            return _Digits(dim(count), dim(width), dim(1 << width))
        b, n = code.b, code.b.index(self.n)
        widest = b.constant(WIDTHS[-1][1], I64)
        for least, width in reversed(WIDTHS[:-1]):
            widest = b.select(n >= least, b.constant(width, I64), widest)
        count = (widest + (key.bits - 1)) / widest
        width = (count + (key.bits - 1)) / count
        values = b.constant(1, I64) << (width & 63)
        return _Digits(code.bind(b.select(n > 1, count, 0)), code.bind(width), code.bind(values))

    def _digit(self, code: LoopBuilder, key: Value, digits: _Digits, shift: Dim) -> Dim:
        """The digit of a key from bit `shift` on."""
        b = code.b
        moved = b.cast(key, U64) >> (b.cast(b.index(shift), U64) & 63)
        return code.bind(b.cast(moved & b.cast(b.index(digits.values - 1), U64), I64))

    def _pass(self, code: LoopBuilder, digits: _Digits, shift: Dim, memory: _Memory) -> None:
        half, counts = self._half(code, memory), memory.counts
        with self._chunks(code, memory) as (chunk, number, start, stop):
            with chunk.for_(0, digits.values, self.width(I64)) as (c, value):
                c.store(c.b.constant(0, I64), counts, [number, value])
            with chunk.for_(start, stop) as (c, i):
                index = [number, self._digit(c, c.load(memory.keys, [half, i]), digits, shift)]
                c.store(c.load(counts, index) + 1, counts, index)
        if memory.in_chunks:
            self._add_up(code, digits, memory)
        first = self._digit(code, code.load(memory.keys, [half, dim(0)]), digits, shift)
        code.if_(
            code.load(memory.totals, [dim(0), first]).differs(code.b.index(self.n)),
            lambda c: self._move(c, digits, shift, half, memory),
            lambda c: None,
        )

    def _add_up(self, code: LoopBuilder, digits: _Digits, memory: _Memory) -> None:
        """Counts of a chunk become those of the chunks before it, and the counts of all chunks the totals."""
        width, totals = self.width(I64), memory.totals
        with code.for_(0, digits.values, width) as (c, value):
            c.store(c.b.constant(0, I64), totals, [dim(0), value])
        count = self._chunk_count(memory)
        with code.for_(0, count) as (each, number), each.for_(0, digits.values, width) as (c, value):
            before, here = c.load(totals, [dim(0), value]), c.load(memory.counts, [number, value])
            c.store(before, memory.counts, [number, value])
            c.store(before + here, totals, [dim(0), value])

    def _move(self, code: LoopBuilder, digits: _Digits, shift: Dim, half: Dim, memory: _Memory) -> None:
        """Every key, and its position, to its place in the other copy."""
        counts, totals = memory.counts, memory.totals

        def begin(c: LoopBuilder, value: Dim, sum_: Value) -> Value:
            count = c.load(totals, [dim(0), value])
            c.store(sum_, totals, [dim(0), value])
            return sum_ + count

        code.carried_loop(0, digits.values, code.b.constant(0, I64), begin)
        with self._chunks(code, memory) as (chunk, number, start, stop):
            if memory.in_chunks:
                with chunk.for_(0, digits.values, self.width(I64)) as (c, value):
                    begins = c.load(counts, [number, value]) + c.load(totals, [dim(0), value])
                    c.store(begins, counts, [number, value])
            with chunk.for_(start, stop) as (c, i):
                key = c.load(memory.keys, [half, i])
                index = [number, self._digit(c, key, digits, shift)]
                to = c.load(counts, index)
                c.store(to + 1, counts, index)
                target = c.bind(to)
                c.store(key, memory.keys, [1 - half, target])
                if memory.positions is not None:
                    c.store(c.load(memory.positions, [half, i]), memory.positions, [1 - half, target])
        code.store(code.b.index(1 - half), memory.half, [dim(0)])


def radix_sort_time(costs: CostModel, element: DType, n: float, with_positions: bool) -> float:
    """Nanoseconds an element of rows of `n`; where no cache holds them, what is stored goes to lines far apart."""
    widest = next(width for least, width in WIDTHS if n >= least)
    each = costs.compute_ns(PASS)
    if with_positions:
        each += costs.compute_ns(POSITIONS)
        if n * 2 * (element.bytes + I64.bytes) > costs.machine.l2_bytes:
            each += costs.transfer_ns(2 * costs.machine.cache_line, in_l2=False)
    return -(-element.bits // widest) * each
