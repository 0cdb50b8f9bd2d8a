"""Sorting values by networks of comparators across vectors, then by merges of runs (`loop.merge`).

A row is cut into blocks that the second cache holds.  A block is a grid whose columns are the lanes of a vector: a
network sorts all of them at once, and its comparators are one `min` and one `max` of two of the grid's rows, or what
finds the same.  The network is Batcher's bitonic one in the form whose first step of each level compares a row with its
mirror image, so that all comparators put the lesser element first, and rows of the largest value behind the last
element stay there.  As many steps of a level as fill half of the registers go through them at once.

The columns, transposed, are ascending runs, a power of two of them and all as long, which are merged in pairs: those of
a block at once, while the second cache holds them, and then those that blocks became, level by level.  Each of these
levels is cut into as many parts as there are blocks, and where a piece begins in both of its runs is found by a binary
search, so threads have equal work whatever the data are, and time does not depend on data at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Block, SSAValue

from ..dialects import kernel, loop
from ..dialects.dims import Dim, dim, maximum, minimum
from ..dialects.scalar import Value
from ..dialects.types import DTYPES, DType
from .costs import Costs
from .loop_code import Code
from .loop_writer import LoopWriter, buffer_info
from .schedule_map import Lanes
from .sort_keys import Key, as_number, comparable_key, of_number
from .sort_rows import RowSort

__all__ = ["ONE_PORT", "SortByNetwork", "time_by_network", "values_by_network"]

I64 = DTYPES["i64"]
#: Pieces of merges that go side by side, at most.
BESIDE = 4
#: Vectors of so many bits have one port that finds the lesser element, and another one that takes all functions of
#: three bits in one instruction: it finds the greater element as what is left of both.
ONE_PORT = 512
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


@dataclass(frozen=True)
class _Row:
    """A row: its number, and its number in the batch."""

    number: Dim
    here: Dim


class SortByNetwork(RowSort):
    """``sort`` of whole numbers and floats that are not complex."""

    def __init__(self, writer: LoopWriter, op: kernel.ForeignOp, lanes: Lanes):
        self.descending: bool = op.params["descending"]
        self.key = self.key_of(buffer_info(op.ins[0]).dtype)
        super().__init__(writer, op, lanes, [self.key])
        self.columns = self.width(self.key.dtype)
        #: Runs are of signed numbers.
        self.number = DTYPES[f"i{self.key.dtype.bits}"]
        #: Pieces of merges that go side by side.
        self.beside = min(BESIDE, self.columns)
        #: Steps of a network whose rows are in registers at once.
        self.steps = int(math.log2(writer.costs.machine.registers / 2))
        #: Rows of a grid are a multiple of this.
        self.rows_step = max(1 << self.steps, self.columns)
        self.block = block_elements(writer.costs, self.key.dtype)
        #: How many passes, of `steps` steps each, the rows that the first cache holds have from their first to their
        #: last step.
        row_bytes = self.columns * self.key.dtype.bytes
        self.chunk_passes = int(math.log2(writer.costs.machine.cache1 / row_bytes)) // self.steps

    def key_of(self, element: DType) -> Key:
        return comparable_key(element, self.descending)

    def key_at(self, code: Code, row: Dim, i: Dim) -> Value:
        """The key of an element of a row."""
        return self.key.make(code.b, code.load(self.x, self.place(row, i)))

    def put(self, code: Code, key: Value, row: Dim, i: Dim) -> None:
        """An element of the results, which has this key."""
        assert self.key.element is not None
        code.store(self.key.element(code.b, key), self.op.outs[0], self.place(row, i))

    def emit(self, block: Block) -> None:
        """Batches of rows that fill a block, or one row of several blocks; in a batch all blocks are independent, then
        all parts of a level of merges."""
        code = Code(self.writer, block, self.op.params["has_fma"])
        n = maximum(self.n, 1)
        batch = minimum(self.rows, maximum(1, self.block // n))
        memory = self._memory(code, n, batch)
        batch = code.bound(batch)
        with code.for_(0, (self.rows + (batch - 1)) // batch) as (inner, number):
            first = number * batch
            self._batch(inner, first, inner.bound(minimum(batch, self.rows - first)), memory)

    def _memory(self, code: Code, n: Dim, batch: Dim) -> _Memory:
        width = self.columns
        most = n // self.block * 2 + 2
        span = n + most * (width * (self.rows_step + width)) + width
        grid = minimum(self.block, n * 2 + 2 * self.rows_step * width)
        cell = self.allocate(code, I64, 1, shared=True)
        block_bits = _bits(code, cell, (n + (self.block - 1)) // self.block)
        blocks = _power(code, block_bits)
        unit = blocks * (width * self.rows_step)
        rows = code.bound((n + (unit - 1)) // unit * self.rows_step)
        return _Memory(
            grid=self.allocate(code, self.key.dtype, grid, shared=False),
            runs=self.allocate(code, self.number, span * batch * 2, shared=True),
            span=code.bound(span),
            whole=code.bound(span * batch),
            zeros=self.allocate(code, I64, most * batch, shared=True),
            nans=self.allocate(code, I64, most * batch, shared=True),
            cut=_Cut(block_bits, blocks, rows, _bits(code, cell, rows)),
        )

    def _batch(self, code: Code, first: Dim, count: Dim, memory: _Memory) -> None:
        cut, width = memory.cut, self.columns
        size = cut.rows * width

        def each(code: Code, parts: Dim, size: Dim, body: Callable[[Code, _Row, Dim], None]) -> None:
            """A part, of so many elements, of a row for a thread."""
            inner, i = code.inner(), self.writer.fresh()
            row = inner.bound(i // parts)
            body(inner, _Row(first + row, row), inner.bound(i - row * parts))
            inner.block.add_op(loop.YieldOp())
            costs = self.writer.costs
            grain = costs.grain(size * 16, costs.unit)
            code.block.add_op(loop.ParallelOp(str(i), 0, count * parts, inner.block, grain=grain))

        half = code.bound((cut.block_bits + (width.bit_length() - 1)) % 2)
        with code.for_(0, cut.block_bits + 1) as (inner, step):
            each(inner, cut.blocks, size, lambda c, row, block: self._part(c, row, block, step, half, memory))
        if self.key.negative_zero is not None:
            each(code, dim(1), self.n, lambda c, row, _: self._order_zeros(c, row, half, memory))

    def _largest(self, code: Code, dtype: DType) -> Value:
        return code.b.constant(math.inf if dtype.is_float else (1 << dtype.bits - 1) - 1, dtype)

    # Blocks

    def _part(self, code: Code, row: _Row, block: Dim, step: Dim, half: Dim, memory: _Memory) -> None:
        """First a block, as one run; then as many elements as it has of each level of merges of blocks, and at last
        those of the result, while the second cache still has them."""
        b, width, cut = code.b, self.columns, memory.cut
        later = code.bound(minimum(step, 1))
        code.if_(b.index(step).equals(0), lambda c: self._block(c, row, block, memory), lambda c: None)
        bits, groups = width.bit_length() - 1, width // self.beside
        # Blocks are merged in one group of long pieces: where each begins is a search through far memory.
        piece = code.bound(cut.rows * (1 + later * (groups - 1)))
        count = code.bound(groups - later * (groups - 1))
        lowest, end = code.bound(later * (bits - 1 + step)), code.bound(bits + step)
        with code.for_(lowest, end) as (outer, level), outer.for_(0, count) as (inner, group):
            self._merge(inner, row, block * count + group, piece, level, memory)
        code.if_(
            b.index(step).equals(b.index(cut.block_bits)),
            lambda c: self._leave(c, row, block, half, memory),
            lambda c: None,
        )

    def _block(self, code: Code, row: _Row, block: Dim, memory: _Memory) -> None:
        """The columns of a block, sorted, as runs."""
        cut, key, width = memory.cut, self.key, self.columns
        start = block * (cut.rows * width)
        count = code.bound(maximum(minimum(self.n - start, cut.rows * width), 0))
        with code.for_(0, count, width) as (c, i):
            c.store(self.key_at(c, row.number, start + i), memory.grid, [i])
        if key.negative_zero is not None:
            found = self.count_negative_zeros(code, lambda c, i: c.load(memory.grid, [i]), dim(0), count)
            code.store(found, memory.zeros, [row.here * cut.blocks + block])
        if key.dtype.is_float:
            nans = self._without_nans(code, count, memory)
            code.store(nans, memory.nans, [row.here * cut.blocks + block])
        with code.for_(count, _power(code, cut.row_bits) * width, width) as (c, i):
            c.store(self._largest(c, key.dtype), memory.grid, [i])
        self._sort_columns(code, memory)
        length = code.bound(cut.rows + width)
        first = code.bound(row.here * memory.span + block * (length * width))
        with code.for_(0, cut.rows // width) as (some, number), some.for_(0, width, width) as (c, i):
            with c.for_(0, width, unroll=width) as (d, column):
                value = d.load(memory.grid, [(number * width + i) * width + column])
                d.store(as_number(d.b, value), memory.runs, [first + column * length + number * width + i])
        with code.for_(0, width) as (c, run):
            self._end_run(c, first + run * length + cut.rows, memory)

    def _without_nans(self, code: Code, count: Dim, memory: _Memory) -> Value:
        """How many keys of a block are NaN, which comparators do not order: infinity stands for them, and gets them
        back when all is in order."""

        def is_nan(c: Code, i: Dim) -> Value:
            x = c.load(memory.grid, [i])
            return x.differs(x)

        def replace(c: Code) -> None:
            stands = -math.inf if self.descending else math.inf
            with c.for_(0, count, self.columns) as (d, i):
                x = d.load(memory.grid, [i])
                d.store(d.b.select(x.differs(x), d.b.constant(stands, x.dtype), x), memory.grid, [i])

        found = self.count(code, is_nan, dim(0), count)
        code.if_(found > 0, replace, lambda c: None)
        return found

    def _end_run(self, code: Code, end: Dim, memory: _Memory) -> None:
        """The largest value behind a run."""
        with code.for_(0, self.columns, self.columns) as (c, i):
            c.store(self._largest(c, self.number), memory.runs, [end + i])

    def _sort_columns(self, code: Code, memory: _Memory) -> None:
        """All columns of a grid.

        As much as can be is done in chunks that the first cache holds: the first levels, and the last steps of others.
        """
        cut, whole = memory.cut, 1 << self.steps
        with code.for_(0, cut.rows // whole) as (inner, group):
            self._step(inner, memory, [group * whole + i for i in range(whole)], _sorting(self.steps))
        bits = self.chunk_passes * self.steps
        chunk = 1 << bits
        chunks = code.bound((cut.rows + (chunk - 1)) // chunk)
        with code.for_(0, 2) as (outer, phase):
            parts = outer.bound(1 + (1 - phase) * (chunks - 1))
            with outer.for_(0, parts) as (part, number):
                start = number * chunk
                stop = part.bound(minimum(cut.rows, start + chunk + cut.rows * phase))
                lowest = self.steps + 1 + (bits - self.steps) * phase
                highest = minimum(cut.row_bits, bits + cut.row_bits * phase)
                with part.for_(lowest, highest + 1) as (inner, level):
                    self._level(inner, level, start, stop, memory)

    def _level(self, code: Code, bits: Dim, start: Dim, stop: Dim, memory: _Memory) -> None:
        """Sorted columns of ``2**bits`` rows from halves that are sorted: what is left of all steps but the first few
        goes through registers `steps` at a time."""
        rest = code.bound((bits - 1) // self.steps)
        first = code.b.index(bits - rest * self.steps)

        def steps(c: Code, count: int) -> None:
            if count == self.steps:
                self._mirror(c, bits, count, start, stop, memory)
                return
            c.if_(
                first.equals(count),
                lambda d: self._mirror(d, bits, count, start, stop, memory),
                lambda d: steps(d, count + 1),
            )

        steps(code, 1)
        chunk = 1 << self.chunk_passes * self.steps
        far = code.bound(maximum(0, rest - self.chunk_passes))
        chunks = code.bound((stop - start + (chunk - 1)) // chunk)
        # First passes over all rows, then all others over each chunk.
        with code.for_(0, 2) as (outer, phase):
            parts = outer.bound(1 + phase * (chunks - 1))
            with outer.for_(0, parts) as (part, number):
                begin = part.bound(start + number * chunk)
                end = part.bound(minimum(stop, begin + chunk + (1 - phase) * (stop - start)))
                with part.for_(far * phase, far + (rest - far) * phase) as (inner, done):
                    self._clean(inner, _power(inner, (rest - 1 - done) * self.steps), begin, end, memory)

    def _mirror(self, code: Code, bits: Dim, steps: int, start: Dim, stop: Dim, memory: _Memory) -> None:
        """The first steps of a level: a row and its mirror image, then rows of the same half."""
        half = 1 << steps - 1
        size, distance = _power(code, bits), _power(code, bits - steps)
        # Where there is no upper half, the lower one stays as it is.
        blocks = code.bind(code.b.index(stop - start + (distance * half - 1)) >> code.b.index(bits))
        with code.for_(0, blocks) as (outer, block), outer.for_(0, distance) as (inner, i):
            lower = [start + block * size + i + distance * j for j in range(half)]
            upper = [start + block * size + (size - 1) - i - distance * j for j in range(half)]
            self._step(inner, memory, lower + upper, _mirroring(half))

    def _clean(self, code: Code, distance: Dim, start: Dim, stop: Dim, memory: _Memory) -> None:
        """`steps` further steps of a level, the last of rows that are `distance` apart."""
        whole = 1 << self.steps
        size = distance * whole
        with code.for_(0, (stop - start + (size - 1)) // size) as (outer, block):
            first = start + block * size
            with outer.for_(0, minimum(distance, stop - first)) as (inner, i):
                self._step(inner, memory, [first + i + distance * j for j in range(whole)], _cleaning(whole))

    def _step(self, code: Code, memory: _Memory, rows: list[Dim], comparators: list[tuple[int, int]]) -> None:
        """Comparators of some rows: the lesser element goes to the first of each pair."""
        width = self.columns
        with code.for_(0, width, width) as (c, column):
            held = [c.load(memory.grid, [row * width + column]) for row in rows]
            for a, b in comparators:
                x, y = held[a], held[b]
                held[a], held[b] = self._exchanged(c, x, y)
            for row, value in zip(rows, held, strict=True):
                c.store(value, memory.grid, [row * width + column])

    def _exchanged(self, code: Code, x: Value, y: Value) -> tuple[Value, Value]:
        """The lesser and the greater one of two elements."""
        less = x < y
        low = code.b.select(less, x, y)
        if self.columns * x.dtype.bits < ONE_PORT:
            return low, code.b.select(less, y, x)
        bits = DTYPES[f"u{x.dtype.bits}"]
        x, y, least = (code.b.bitcast(v, bits) for v in (x, y, low))
        return low, code.b.bitcast(x ^ y ^ least, low.dtype)

    # Merges

    def _merge(self, code: Code, row: _Row, group: Dim, piece: Dim, level: Dim, memory: _Memory) -> None:
        """`beside` pieces, of `piece` elements, of the merges of runs, of ``rows * 2**level`` elements, in pairs."""
        rows, width = memory.cut.rows, self.columns
        length = code.bind(code.b.index(rows) << code.b.index(level))
        # What becomes of a block stays where it was: other threads are at other levels of the next one.
        place_size = code.bind(code.b.index(rows + width) << code.b.index(level))
        base = row.here * memory.span
        half = code.bound(level % 2)
        source, target = (code.bound(base + memory.whole * h) for h in (half, 1 - half))
        first_piece = group * self.beside
        end = code.bound(first_piece + self.beside)

        def place(c: Code, number: Dim) -> tuple[Dim, Dim]:
            """The pair that a piece is of, and how many of its elements come before."""
            before = c.bind(c.b.index(number * piece))
            pair = c.bind(c.b.index(before) / c.b.index(2 * length))
            return pair, before - pair * (2 * length)

        inner, number = code.inner(), self.writer.fresh()
        pair, done = place(inner, number)
        done = inner.bound(done)
        first = source + pair * (2 * place_size)
        second = first + place_size
        taken = self._split(inner, first, second, done, length, level, memory)
        at = target + pair * (2 * place_size) + done
        parts = (first + taken, first + length, second + (done - taken), second + length, at)
        inner.block.add_op(loop.YieldOp(*(inner.b.index(part).ref for part in parts)))
        buffers = memory.runs, memory.runs
        code.block.add_op(
            loop.MergeOp(str(number), first_piece, end, inner.block, buffers, piece, vector=width, unroll=self.beside)
        )
        with code.for_(first_piece, end) as (c, number):
            pair, done = place(c, number)
            behind = target + pair * (2 * place_size) + 2 * length
            is_last = (c.b.index(done + piece)).equals(c.b.index(2 * length))
            c.if_(is_last, lambda d: self._end_run(d, behind, memory), lambda d: None)

    def _split(self, code: Code, first: Dim, second: Dim, done: Dim, length: Dim, level: Dim, memory: _Memory) -> Dim:
        """How many of the `done` least elements of two runs are the first one's: found bit by bit, from the highest."""
        b, bits = code.b, memory.cut.row_bits + level + 1
        most = b.minimum(b.index(done), b.index(length))
        least = b.maximum(b.index(done - length), 0)

        def step(c: Code, number: Dim, found: Value) -> Value:
            further = found + (c.b.constant(1, I64) << c.b.index(bits - 1 - number))
            at = c.bind(c.b.maximum(c.b.minimum(further, most), 1))
            less = c.load(memory.runs, [first + at - 1]) < c.load(memory.runs, [second + done - at])
            return c.b.select((further <= most) & less, further, found)

        return code.bind(code.fold(0, bits, least, step))

    # Results

    def _leave(self, code: Code, row: _Row, block: Dim, half: Dim, memory: _Memory) -> None:
        """A part of the one run that is left, as elements."""
        size = memory.cut.rows * self.columns
        first = code.bound(memory.whole * half + row.here * memory.span)
        with code.for_(block * size, minimum(self.n, block * size + size), self.columns) as (c, i):
            key = of_number(c.b, c.load(memory.runs, [first + i]), self.key.dtype)
            self.put(c, key, row.number, i)
        if self.key.dtype.is_float:
            self._restore_nans(code, row, block * size, size, memory)

    def _restore_nans(self, code: Code, row: _Row, start: Dim, size: Dim, memory: _Memory) -> None:
        """NaN behind all other elements of a part, or before them."""
        (out,), bits = self.op.outs, self.element.bits

        def add(c: Code, block: Dim, sum_: Value) -> Value:
            return sum_ + c.load(memory.nans, [row.here * memory.cut.blocks + block])

        nans = code.bind(code.fold(0, memory.cut.blocks, code.b.constant(0, I64), add))
        stop = minimum(self.n, start + size)
        range_ = (start, minimum(stop, nans)) if self.descending else (maximum(start, self.n - nans), stop)
        with code.for_(*range_) as (c, i):
            nan = c.b.bitcast(c.b.constant((1 << bits - 1) - 1, DTYPES[f"u{bits}"]), self.element)
            c.store(nan, out, self.place(row.number, i))

    def _order_zeros(self, code: Code, row: _Row, half: Dim, memory: _Memory) -> None:
        first = code.bound(memory.whole * half + row.here * memory.span)
        counts = (memory.zeros, row.here * memory.cut.blocks, memory.cut.blocks)
        self.order_zeros(code, row.number, lambda c, i: c.load(memory.runs, [first + i]), *counts)


def values_by_network(element: DType, lanes: Lanes) -> bool:
    """Whether values of a type can be sorted so."""
    return element.bits > 1 and lanes.width(element.bits) > 1 and lanes.crossing


def time_by_network(costs: Costs, element: DType, columns: int, n: float) -> float:
    """Nanoseconds an element of rows of `n`, shorter ones being filled up."""
    least = columns * max(columns, costs.machine.registers / 2)
    if n < least:
        return time_by_network(costs, element, columns, least) * least / max(1.0, n)
    blocks = max(1.0, n / block_elements(costs, element))
    bits = math.ceil(math.log2(max(2.0, n / blocks / columns)))
    merges = math.ceil(math.log2(columns * blocks))
    return costs.computing(bits * (bits + 1) / 2 + merges * MERGE, element.bits)


def block_elements(costs: Costs, element: DType) -> int:
    """Elements of a block at most, a power of two: half of the second cache holds them."""
    return 1 << (int(costs.machine.cache2) // 2 // element.bytes).bit_length() - 1


def _power(code: Code, bits: Dim) -> Dim:
    return dim(1 << bits.const) if bits.const is not None else code.bind(code.b.constant(1, I64) << code.b.index(bits))


def _bits(code: Code, cell: SSAValue, number: Dim) -> Dim:
    """The exponent of the least power of two that is not below a number."""
    if number.const is not None:
        return dim((number.const - 1).bit_length())
    place = [dim(0)]
    code.store(code.b.constant(0, I64), cell, place)
    code.while_(
        lambda c: c.b.constant(1, I64) << c.load(cell, place) < c.b.index(number),
        lambda c: c.store(c.load(cell, place) + 1, cell, place),
    )
    return code.bind(code.load(cell, place))


def _cleaning(count: int, offset: int = 0, falls: bool = False) -> list[tuple[int, int]]:
    """Comparators that sort a bitonic sequence; `falls`: one whose places are from the last to the first."""
    found: list[tuple[int, int]] = []
    distance = count // 2
    while distance:
        for i in range(count):
            if not i & distance:
                low, high = offset + i, offset + i + distance
                found.append((high, low) if falls else (low, high))
        distance //= 2
    return found


def _mirroring(half: int) -> list[tuple[int, int]]:
    """Comparators of `half` rows and the mirror image of each; then of both halves on their own."""
    return [(i, half + i) for i in range(half)] + _cleaning(half) + _cleaning(half, half, True)


def _sorting(bits: int) -> list[tuple[int, int]]:
    """Comparators that sort ``2**bits`` rows."""
    found: list[tuple[int, int]] = []
    for level in range(1, bits + 1):
        size = 1 << level
        for start in range(0, 1 << bits, size):
            found += [(start + i, start + size - 1 - i) for i in range(size // 2)]
            for half in (start, start + size // 2):
                found += _cleaning(size // 2, half)
    return found
