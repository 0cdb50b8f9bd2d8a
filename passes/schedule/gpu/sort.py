"""Sorting by the whole device: tiles of a row in shared memory, then merges of sorted runs.

An element is known by its keys and its position, which is the last thing that decides: so no two are equal, what is
found is the stable order, and comparators may take elements in any order.  A block sorts a tile by a bitonic network.
In a merge each element finds its place by itself: the number of elements before it in the other run of its pair, by
bisection, beside its number in its own.  So no thread waits for another, however runs differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, SSAValue

from ....dialects import kernel, loop
from ....dialects.attributes import BufferInfo
from ....dialects.dims.dims import Dim, dim, maximum, minimum
from ....dialects.scalar.language import Value
from ....dialects.types import DTYPES, DType
from ..access import buffer_info
from ..body import ScheduleContext
from ..builder import LoopBuilder
from ..map.schedule import VectorConfig
from ..sort.base import SortBase
from ..sort.keys.keys import keys_of
from .builder import SharedMemory, grid_loop, thread_grid, thread_loop

__all__ = ["SHORT_ROW", "schedule_gpu_sort"]

I64 = DTYPES["i64"]
#: Rows of more elements are sorted by blocks; of fewer each by a thread.
SHORT_ROW = 32
#: Bits of the number of elements of a tile, and the threads that sort it.
TILE_BITS, THREADS = 10, 256
TILE = 1 << TILE_BITS
#: Bits of the number of elements that a row may have.
MOST_BITS = 40


def schedule_gpu_sort(context: ScheduleContext, op: kernel.CustomOp, block: Block) -> None:
    """Grids for a foreign kernel that sorts."""
    _Sort(context, op).emit(block)


@dataclass(frozen=True)
class _Copies:
    """Memory for two copies of all rows: by part of the key, then positions; the first index says which copy."""

    parts: Sequence[SSAValue]

    def at(self, code: LoopBuilder, index: Sequence[Dim]) -> list[Value]:
        return [code.load(part, index) for part in self.parts]

    def put(self, code: LoopBuilder, values: Sequence[Value], index: Sequence[Dim]) -> None:
        for value, part in zip(values, self.parts, strict=True):
            code.store(value, part, index)


class _Sort(SortBase):
    def __init__(self, context: ScheduleContext, op: kernel.CustomOp):
        info = buffer_info(op.ins[0])
        keys = keys_of(info.dtype, op.params["descending"], False)
        super().__init__(context, op, info.dims, VectorConfig(128), keys)
        self.types = [*(key.dtype for key in self.keys), I64]
        self.tiles = (self.n + (TILE - 1)) // TILE

    def emit(self, block: Block) -> None:
        code = LoopBuilder(self.context, block, self.op.params["has_fma"])
        copies = _Copies([self.allocate(code, t, 2, self.rows, self.n, shared=True) for t in self.types])
        self._sort_tiles(code, copies)
        passes = _bits(self.tiles, MOST_BITS - TILE_BITS)
        with code.for_(0, passes) as (each, number):
            self._merge(each, number, copies)
        self._leave(code, passes % 2, copies)

    def _grid(self, code: LoopBuilder, write: Callable[[LoopBuilder, Dim, Dim], None]) -> None:
        """A thread for each element of each row."""
        with thread_grid(self.context, code.block, self.rows * self.n, THREADS) as (thread, number):
            inner = code.inner(thread)
            row, i = (inner.bind(inner.b.index(e)) for e in (number // self.n, number % self.n))
            write(inner, row, i)

    # Tiles

    def _sort_tiles(self, code: LoopBuilder, copies: _Copies) -> None:
        shared = SharedMemory()
        with grid_loop(self.context, code.block, self.rows * self.tiles, THREADS, shared=shared) as (block, number):
            inner, info = code.inner(block), ((dim(TILE),), (dim(1),))
            row, tile = (inner.bind(inner.b.index(e)) for e in (number // self.tiles, number % self.tiles))
            here = _Copies([shared.allocate(block, BufferInfo(element, *info)) for element in self.types])
            first, levels = tile * TILE, _bits(minimum(self.n, TILE), TILE_BITS)
            size = inner.bind(inner.b.constant(1, I64) << inner.b.index(levels))
            self._each(inner, size, lambda c, i: here.put(c, self._element(c, row, first + i), [i]))
            with inner.for_(1, levels + 1) as (outer, level), outer.for_(0, level) as (step, done):
                self._each(step, size // 2, lambda c, pair: self._compare(c, pair, level - 1 - done, done, here))
            stop = minimum(TILE, self.n - first)
            self._each(inner, stop, lambda c, i: copies.put(c, here.at(c, [i]), [dim(0), row, first + i]))

    def _each(self, code: LoopBuilder, count: Dim, write: Callable[[LoopBuilder, Dim], None]) -> None:
        """So many places, shared by the threads of a block, which then wait for each other."""
        with thread_loop(self.context, code.block, 0, count) as (thread, index):
            write(code.inner(thread), index)
        code.block.add_op(loop.BarrierOp())

    def _element(self, code: LoopBuilder, row: Dim, i: Dim) -> list[Value]:
        """Keys and position of an element; behind the end of a row what comes after all others."""
        x, there = code.load(self.x, self.index(row, minimum(i, self.n - 1))), code.b.index(self.n - 1 - i) >= 0
        keys = [
            code.b.select(there, key.make(code.b, x), code.b.constant(_largest(key.dtype), key.dtype))
            for key in self.keys
        ]
        return [*keys, code.b.index(i)]

    def _compare(self, code: LoopBuilder, pair: Dim, bit: Dim, done: Dim, here: _Copies) -> None:
        """A comparator: of an element and its mirror image first, then of those that differ in one bit."""
        b = code.b
        p, shift, one = b.index(pair), b.index(bit), b.constant(1, I64)
        low = ((p >> shift) << (shift + 1)) | (p & ((one << shift) - 1))
        mask = b.select(b.index(done).equals(0), (one << (shift + 1)) - 1, one << shift)
        indices = [[code.bind(low)], [code.bind(low ^ mask)]]
        x, y = (here.at(code, index) for index in indices)
        swapped = self._less(y, x)
        here.put(code, [b.select(swapped, v, u) for u, v in zip(x, y, strict=True)], indices[0])
        here.put(code, [b.select(swapped, u, v) for u, v in zip(x, y, strict=True)], indices[1])

    def _less(self, x: Sequence[Value], y: Sequence[Value]) -> Value:
        """Whether an element comes before another one: by keys, the last of them first, then by positions."""
        *keys, (a, b) = zip(x, y, strict=True)
        less = a < b
        for u, v in keys:
            less = (u < v) | (u.equals(v) & less)
        return less

    # Merges

    def _merge(self, code: LoopBuilder, number: Dim, copies: _Copies) -> None:
        """Runs of ``TILE * 2**number`` elements, in pairs, from one copy to the other."""
        half = number % 2

        def index(c: LoopBuilder, row: Dim, i: Dim) -> None:
            b = c.b
            bits = b.index(number + TILE_BITS)
            run = b.index(i) >> bits
            start = c.bind((run ^ 1) << bits)
            size = c.bind(b.maximum(b.minimum(b.index(self.n - start), b.constant(1, I64) << bits), 0))
            own = copies.at(c, [half, row, i])

            def step(d: LoopBuilder, at: Dim, found: Value) -> Value:
                further = found + (d.b.constant(1, I64) << d.b.index(number + TILE_BITS - at))
                where = d.bind(d.b.maximum(d.b.minimum(further, d.b.index(size)), 1))
                last = d.bind(d.b.minimum(d.b.index(start + where - 1), d.b.index(self.n - 1)))
                before = self._less(copies.at(d, [half, row, last]), own)
                return d.b.select((further <= d.b.index(size)) & before, further, found)

            found = c.carried_loop(0, number + (TILE_BITS + 1), b.constant(0, I64), step)
            # Of its own run and of the other one come so many before it, and all pairs before these runs.
            first = (run >> 1) << (bits + 1)
            target = c.bind(first + (b.index(i) - (run << bits)) + found)
            copies.put(c, own, [1 - half, row, target])

        self._grid(code, index)

    # Results

    def _leave(self, code: LoopBuilder, half: Dim, copies: _Copies) -> None:
        name = self.op.fn.data
        wanted = {"sort": "v", "argsort": "p"}.get(name, "vp")

        def write(c: LoopBuilder, row: Dim, i: Dim) -> None:
            position = c.load(copies.parts[-1], [half, row, i])
            for out, what in zip(self.op.outs, wanted, strict=True):
                value = position if what == "p" else self._value(c, row, c.bind(position))
                c.store(value, out, self.index(row, i))

        self._grid(code, write)

    def _value(self, code: LoopBuilder, row: Dim, position: Dim) -> Value:
        """An element of the operand; where only values are wanted all NaNs are one, as on a CPU."""
        x = code.load(self.x, self.index(row, position))
        if self.op.fn.data != "sort" or not self.element.is_float or self.element.is_complex:
            return x
        bits = DTYPES[f"u{self.element.bits}"]
        nan = code.b.bitcast(code.b.constant((1 << bits.bits - 1) - 1, bits), self.element)
        return code.b.select(x.differs(x), nan, x)


def _bits(count: Dim, most: int) -> Dim:
    """The exponent of the least power of two that is not below a number, which is at most ``2**most``."""
    if count.const is not None:
        return dim(max(0, count.const - 1).bit_length())
    last = maximum(1, count) - 1
    return sum((minimum(1, last // (1 << bit)) for bit in range(most)), dim(0))


def _largest(dtype: DType) -> int:
    return (1 << dtype.bits) - 1
