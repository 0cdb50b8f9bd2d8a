"""Sorting values by networks of comparators across vectors, then by merges of runs (`loop.merge`).

A row is cut into blocks that the second cache holds.  A block is a grid whose columns are the lanes of a vector: a
network sorts all of them at once (`network`).

The columns, transposed, are ascending runs, a power of two of them and all as long, which are merged in pairs: those of
a block at once, while the second cache holds them, and then those that blocks became, level by level.  Each of these
levels is cut into as many parts as there are blocks, and where a chunk begins in both of its runs is found by a binary
search, so threads have equal work whatever the data are, and time does not depend on data at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
from ..base import ElementIndex, SortBase
from ..keys.key_range import KeyRange
from ..keys.keys import Key, as_number, from_ordered_key, to_ordered_key
from .network import Grid, SortingNetwork, exponent, largest_value, power_of_two

__all__ = ["NetworkMergeSort", "merge_sort_time", "values_by_network"]

I64 = DTYPES["i64"]
#: Chunks of merges in flight at once, at most.
CHUNKS_IN_FLIGHT = 4
#: What an element takes in a level of merges, in operations of vectors; in a step of a network it takes one.
MERGE = 24


@dataclass(frozen=True)
class _Cut:
    """How a row is cut: ``2**block_bits`` blocks of `rows` rows of the grid each, of which there are at most
    ``2**row_bits``."""

    block_bits: Dim
    blocks: Dim
    rows: Dim
    row_bits: Dim


@dataclass(frozen=True)
class _Memory:
    """What a batch of rows is sorted in.

    The grid of one block; two copies of the runs of each row, taken in turns, a row's `span` elements long and all of
    them `whole`; how many keys of each block are of zeros with a sign, and how many are NaN.
    """

    grid: SSAValue
    runs: SSAValue
    span: Dim
    whole: Dim
    zeros: SSAValue
    nans: SSAValue
    cut: _Cut

    @property
    def columns(self) -> Grid:
        return Grid(self.grid, self.cut.rows, self.cut.row_bits)


@dataclass(frozen=True)
class _Row:
    """A row: its number, and its number in the batch."""

    number: Dim
    here: Dim


class NetworkMergeSort(SortBase):
    """``sort`` of whole numbers and floats that are not complex."""

    def __init__(self, context: ScheduleContext, op: kernel.CustomOp, dims: Sequence[Dim], lanes: VectorConfig):
        self.descending: bool = op.params["descending"]
        self.key = self.key_of(buffer_info(op.ins[0]).dtype, lanes)
        #: What is in the order of keys where NaN is in that of elements.
        self.nan_sentinel = -math.inf if self.descending else math.inf
        super().__init__(context, op, dims, lanes, [self.key])
        self.columns = self.width(self.key.dtype)
        #: Runs are of signed numbers.
        self.number = DTYPES[f"i{self.key.dtype.bits}"]
        #: Chunks of merges in flight at once.
        self.beside = min(CHUNKS_IN_FLIGHT, self.columns)
        self.network = SortingNetwork(context.costs, self.key.dtype, self.columns)
        self.block = block_elements(context.costs, self.key.dtype)

    def key_of(self, element: DType, lanes: VectorConfig) -> Key:
        return to_ordered_key(element, self.descending, lanes.vector_bits)

    def key_at(self, code: LoopBuilder, index: ElementIndex, i: Dim, scale: KeyRange | None = None) -> Value:
        """The key of an element of a row."""
        return self.key.make(code.b, code.load(self.x, index(i)))

    def put(self, code: LoopBuilder, key: Value, index: ElementIndex, i: Dim, scale: KeyRange | None = None) -> None:
        """An element of the results, which has this key."""
        assert self.key.element is not None
        code.store(self.key.element(code.b, key), self.op.outs[0], index(i))

    def try_emit(self, block: Block, write: Callable[[Block], None]) -> None:
        """Loops for rows that keys can order; others in another way."""
        write(block)

    def emit(self, block: Block) -> None:
        """Batches of rows that fill a block, or one row of several blocks; in a batch all blocks are independent, then
        all parts of a level of merges."""
        code = LoopBuilder(self.context, block, self.op.params["has_fma"])
        n = maximum(self.n, 1)
        batch = minimum(self.rows, maximum(1, self.block // n))
        memory = self._memory(code, n, batch)
        batch = code.materialize_dim(batch)
        with code.for_(0, (self.rows + (batch - 1)) // batch) as (inner, number):
            first = number * batch
            self._batch(inner, first, inner.materialize_dim(minimum(batch, self.rows - first)), memory)

    def _memory(self, code: LoopBuilder, n: Dim, batch: Dim) -> _Memory:
        width = self.columns
        most = n // self.block * 2 + 2
        span = n + most * (width * (self.network.rows_step + width)) + width
        grid = minimum(self.block, n * 2 + 2 * self.network.rows_step * width)
        cell = self.allocate(code, I64, 1, shared=True)
        block_bits = exponent(code, cell, (n + (self.block - 1)) // self.block)
        blocks = power_of_two(code, block_bits)
        unit = blocks * (width * self.network.rows_step)
        rows = code.materialize_dim((n + (unit - 1)) // unit * self.network.rows_step)
        return _Memory(
            grid=self.allocate(code, self.key.dtype, grid, shared=False),
            runs=self.allocate(code, self.number, span * batch * 2, shared=True),
            span=code.materialize_dim(span),
            whole=code.materialize_dim(span * batch),
            zeros=self.allocate(code, I64, most * batch, shared=True),
            nans=self.allocate(code, I64, most * batch, shared=True),
            cut=_Cut(block_bits, blocks, rows, exponent(code, cell, rows)),
        )

    def _batch(self, code: LoopBuilder, first: Dim, count: Dim, memory: _Memory) -> None:
        cut, width = memory.cut, self.columns
        size = cut.rows * width

        def each(code: LoopBuilder, parts: Dim, size: Dim, body: Callable[[LoopBuilder, _Row, Dim], None]) -> None:
            """A part, of so many elements, of a row for a thread."""
            with code.parallel_(count * parts, size * 16) as (inner, i):
                row = inner.materialize_dim(i // parts)
                body(inner, _Row(first + row, row), inner.materialize_dim(i - row * parts))

        half = code.materialize_dim((cut.block_bits + (width.bit_length() - 1)) % 2)
        with code.for_(0, cut.block_bits + 1) as (inner, step):
            each(inner, cut.blocks, size, lambda c, row, block: self._part(c, row, block, step, half, memory))
        if self.key.negative_zero is not None:
            each(code, dim(1), self.n, lambda c, row, _: self._order_zeros(c, row, half, memory))

    # Blocks

    def _part(self, code: LoopBuilder, row: _Row, block: Dim, step: Dim, half: Dim, memory: _Memory) -> None:
        """First a block, as one run; then as many elements as it has of each level of merges of blocks, and at last
        those of the result, while the second cache still has them."""
        b, width, cut = code.b, self.columns, memory.cut
        later = code.materialize_dim(minimum(step, 1))
        code.if_(b.index(step).equals(0), lambda c: self._block(c, row, block, memory), lambda c: None)
        bits, groups = width.bit_length() - 1, width // self.beside
        # Blocks are merged in one group of long chunks: where each begins is a search through far memory.
        chunk = code.materialize_dim(cut.rows * (1 + later * (groups - 1)))
        count = code.materialize_dim(groups - later * (groups - 1))
        lowest, end = code.materialize_dim(later * (bits - 1 + step)), code.materialize_dim(bits + step)
        with code.for_(lowest, end) as (outer, level), outer.for_(0, count) as (inner, group):
            self._merge(inner, row, block * count + group, chunk, level, memory)
        code.if_(
            b.index(step).equals(b.index(cut.block_bits)),
            lambda c: self._leave(c, row, block, half, memory),
            lambda c: None,
        )

    def _block(self, code: LoopBuilder, row: _Row, block: Dim, memory: _Memory) -> None:
        """The columns of a block, sorted, as runs."""
        cut, key, width = memory.cut, self.key, self.columns
        start = block * (cut.rows * width)
        count = code.materialize_dim(maximum(minimum(self.n - start, cut.rows * width), 0))
        with code.for_(0, count, width) as (c, i):
            c.store(self.key_at(c, self.indices(row.number), start + i), memory.grid, [i])
        if key.negative_zero is not None:
            found = self.count_negative_zeros(code, lambda c, i: c.load(memory.grid, [i]), dim(0), count)
            code.store(found, memory.zeros, [row.here * cut.blocks + block])
        if key.dtype.is_float:
            nans = self.without_nans(code, memory.grid, count)
            code.store(nans, memory.nans, [row.here * cut.blocks + block])
        self.network.fill(code, memory.columns, count)
        self.network.sort(code, memory.columns)
        length = code.materialize_dim(cut.rows + width)
        first = code.materialize_dim(row.here * memory.span + block * (length * width))
        with code.for_(0, cut.rows // width) as (some, number), some.for_(0, width, width) as (c, i):
            with c.for_(0, width, unroll=width) as (d, column):
                value = d.load(memory.grid, [(number * width + i) * width + column])
                d.store(as_number(d.b, value), memory.runs, [first + column * length + number * width + i])
        with code.for_(0, width) as (c, run):
            self._end_run(c, first + run * length + cut.rows, memory)

    def without_nans(self, code: LoopBuilder, keys: SSAValue, count: Dim) -> Value:
        """How many of some keys are NaN, which comparators do not order: infinity stands for them, and gets them
        back when all is in order."""

        def is_nan(c: LoopBuilder, i: Dim) -> Value:
            x = c.load(keys, [i])
            return x.differs(x)

        def replace(c: LoopBuilder) -> None:
            with c.for_(0, count, self.columns) as (d, i):
                x = d.load(keys, [i])
                d.store(d.b.select(x.differs(x), d.b.constant(self.nan_sentinel, x.dtype), x), keys, [i])

        found = self.count(code, is_nan, dim(0), count)
        code.if_(found > 0, replace, lambda c: None)
        return found

    def _end_run(self, code: LoopBuilder, end: Dim, memory: _Memory) -> None:
        """The largest value behind a run."""
        with code.for_(0, self.columns, self.columns) as (c, i):
            c.store(largest_value(c, self.number), memory.runs, [end + i])

    # Merges

    def _merge(self, code: LoopBuilder, row: _Row, group: Dim, chunk: Dim, level: Dim, memory: _Memory) -> None:
        """`beside` chunks, of `chunk` elements, of the merges of runs, of ``rows * 2**level`` elements, in pairs."""
        rows, width = memory.cut.rows, self.columns
        length = code.bind(code.b.index(rows) << code.b.index(level))
        # What becomes of a block stays where it was: other threads are at other levels of the next one.
        run_length = code.bind(code.b.index(rows + width) << code.b.index(level))
        base = row.here * memory.span
        half = code.materialize_dim(level % 2)
        source, target = (code.materialize_dim(base + memory.whole * h) for h in (half, 1 - half))
        first_chunk = group * self.beside
        end = code.materialize_dim(first_chunk + self.beside)

        def locate(c: LoopBuilder, number: Dim) -> tuple[Dim, Dim]:
            """The pair that a chunk is of, and how many of its elements come before."""
            before = c.bind(c.b.index(number * chunk))
            pair = c.bind(c.b.index(before) / c.b.index(2 * length))
            return pair, before - pair * (2 * length)

        inner, number = code.inner(), self.context.new_iv()
        pair, done = locate(inner, number)
        done = inner.materialize_dim(done)
        first = source + pair * (2 * run_length)
        second = first + run_length
        taken = self._split(inner, first, second, done, length, level, memory)
        at = target + pair * (2 * run_length) + done
        parts = (first + taken, first + length, second + (done - taken), second + length, at)
        inner.block.add_op(loop.YieldOp(*(inner.b.index(part).ref for part in parts)))
        buffers = memory.runs, memory.runs
        code.block.add_op(
            loop.MergeOp(str(number), first_chunk, end, inner.block, buffers, chunk, vector=width, unroll=self.beside)
        )
        with code.for_(first_chunk, end) as (c, number):
            pair, done = locate(c, number)
            behind = target + pair * (2 * run_length) + 2 * length
            is_last = (c.b.index(done + chunk)).equals(c.b.index(2 * length))
            c.if_(is_last, lambda d: self._end_run(d, behind, memory), lambda d: None)

    def _split(
        self, code: LoopBuilder, first: Dim, second: Dim, done: Dim, length: Dim, level: Dim, memory: _Memory
    ) -> Dim:
        """How many of the `done` least elements of two runs are the first one's: found bit by bit, from the highest."""
        b, bits = code.b, memory.cut.row_bits + level + 1
        most = b.minimum(b.index(done), b.index(length))
        least = b.maximum(b.index(done - length), 0)

        def step(c: LoopBuilder, number: Dim, found: Value) -> Value:
            further = found + (c.b.constant(1, I64) << c.b.index(bits - 1 - number))
            at = c.bind(c.b.maximum(c.b.minimum(further, most), 1))
            less = c.load(memory.runs, [first + at - 1]) < c.load(memory.runs, [second + done - at])
            return c.b.select((further <= most) & less, further, found)

        return code.bind(code.carried_loop(0, bits, least, step))

    # Results

    def _leave(self, code: LoopBuilder, row: _Row, block: Dim, half: Dim, memory: _Memory) -> None:
        """A part of the one run that is left, as elements."""
        size = memory.cut.rows * self.columns
        first = code.materialize_dim(memory.whole * half + row.here * memory.span)
        with code.for_(block * size, minimum(self.n, block * size + size), self.columns) as (c, i):
            key = from_ordered_key(c.b, c.load(memory.runs, [first + i]), self.key.dtype)
            self.put(c, key, self.indices(row.number), i)
        if self.key.dtype.is_float:
            self._restore_nans(code, row, block * size, size, memory)

    def _restore_nans(self, code: LoopBuilder, row: _Row, start: Dim, size: Dim, memory: _Memory) -> None:
        """NaN behind all other elements of a part, or before them."""

        def add(c: LoopBuilder, block: Dim, sum_: Value) -> Value:
            return sum_ + c.load(memory.nans, [row.here * memory.cut.blocks + block])

        nans = code.bind(code.carried_loop(0, memory.cut.blocks, code.b.constant(0, I64), add))
        self.put_nans(code, self.indices(row.number), nans, start, minimum(self.n, start + size))

    def put_nans(self, code: LoopBuilder, index: ElementIndex, nans: Dim, start: Dim, stop: Dim) -> None:
        """NaN, of which a row has so many, in a part of it."""
        (out,), bits = self.op.outs, self.element.bits
        range_ = (start, minimum(stop, nans)) if self.descending else (maximum(start, self.n - nans), stop)
        with code.for_(*range_) as (c, i):
            nan = c.b.bitcast(c.b.constant((1 << bits - 1) - 1, DTYPES[f"u{bits}"]), self.element)
            c.store(nan, out, index(i))

    def _order_zeros(self, code: LoopBuilder, row: _Row, half: Dim, memory: _Memory) -> None:
        first = code.materialize_dim(memory.whole * half + row.here * memory.span)
        counts = (memory.zeros, row.here * memory.cut.blocks, memory.cut.blocks)
        self.order_zeros(code, self.indices(row.number), lambda c, i: c.load(memory.runs, [first + i]), *counts)


def values_by_network(element: DType, lanes: VectorConfig) -> bool:
    """Whether values of a type can be sorted so."""
    return element.bits > 1 and lanes.width(element.bits) > 1 and lanes.lanes_can_shuffle


def merge_sort_time(costs: CostModel, element: DType, columns: int, n: float) -> float:
    """Nanoseconds an element of rows of `n`, shorter ones being filled up."""
    least = columns * max(columns, costs.machine.vector_registers / 2)
    if n < least:
        return merge_sort_time(costs, element, columns, least) * least / max(1.0, n)
    blocks = max(1.0, n / block_elements(costs, element))
    bits = math.ceil(math.log2(max(2.0, n / blocks / columns)))
    merges = math.ceil(math.log2(columns * blocks))
    return costs.compute_ns(bits * (bits + 1) / 2 + merges * MERGE, element.bits)


def block_elements(costs: CostModel, element: DType) -> int:
    """Elements of a block at most, a power of two: half of the second cache holds them."""
    return 1 << (int(costs.machine.l2_bytes) // 2 // element.bytes).bit_length() - 1
