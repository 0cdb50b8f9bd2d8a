"""Sorting all columns of a grid at once, by a network of comparators of its rows.

A comparator is one `min` and one `max` of two of the grid's rows, or what finds the same.  The network is Batcher's
bitonic one in the form whose first step of each level compares a row with its mirror image, so that all comparators put
the lesser element first, and rows of the largest value behind the last element stay there.  As many steps of a level as
fill half of the registers go through them at once; so many rows are sorted by odd-even merges before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from xdsl.ir import SSAValue

from .....dialects.dims.dims import Dim, dim, maximum, minimum
from .....dialects.scalar.hints import SINGLE_PORT
from .....dialects.scalar.language import Value
from .....dialects.types import DTYPES, DType
from ....cost.model import CostModel
from ...access import buffer_info
from ...builder import LoopBuilder

__all__ = ["Grid", "SortingNetwork", "bitonic_merge", "exponent", "largest_value", "odd_even_mergesort", "power_of_two"]

I64 = DTYPES["i64"]


@dataclass(frozen=True)
class Grid:
    """A buffer of rows, and how many: a multiple of ``2**steps`` (`SortingNetwork.steps`), at most ``2**row_bits``.

    There is memory for ``2**row_bits``, and those behind the last one are of the largest value.
    """

    buffer: SSAValue
    rows: Dim
    row_bits: Dim


class SortingNetwork:
    """Writes networks for grids of so many columns, the lanes of a vector."""

    def __init__(self, costs: CostModel, key: DType, columns: int):
        self.columns = columns
        #: Steps of a network whose rows are in registers at once.
        self.steps = int(math.log2(costs.machine.vector_registers / 2))
        #: Rows of a grid whose columns change places with lanes in squares are a multiple of this.
        self.rows_step = max(1 << self.steps, columns)
        #: How many passes, of `steps` steps each, the rows that the first cache holds have from their first to their
        #: last step.
        self.chunk_passes = int(math.log2(costs.machine.l1_bytes / (columns * key.bytes))) // self.steps

    def fill(self, code: LoopBuilder, grid: Grid, count: Dim) -> None:
        """The largest value behind the first `count` elements."""
        width, dtype = self.columns, buffer_info(grid.buffer).dtype
        with code.for_(count, power_of_two(code, grid.row_bits) * width, width) as (c, i):
            c.store(largest_value(c, dtype), grid.buffer, [i])

    def sort(self, code: LoopBuilder, grid: Grid) -> None:
        """All columns of a grid.

        As much as can be is done in chunks that the first cache holds: the first levels, and the last steps of others.
        """
        whole = 1 << self.steps
        with code.for_(0, grid.rows // whole) as (inner, group):
            self._step(inner, grid, [group * whole + i for i in range(whole)], odd_even_mergesort(self.steps))
        bits = self.chunk_passes * self.steps
        chunk = 1 << bits
        chunks = code.materialize_dim((grid.rows + (chunk - 1)) // chunk)
        with code.for_(0, 2) as (outer, phase):
            parts = outer.materialize_dim(1 + (1 - phase) * (chunks - 1))
            with outer.for_(0, parts) as (part, number):
                start = number * chunk
                stop = part.materialize_dim(minimum(grid.rows, start + chunk + grid.rows * phase))
                lowest = self.steps + 1 + (bits - self.steps) * phase
                highest = minimum(grid.row_bits, bits + grid.row_bits * phase)
                with part.for_(lowest, highest + 1) as (inner, level):
                    self._level(inner, level, start, stop, grid)

    def _level(self, code: LoopBuilder, bits: Dim, start: Dim, stop: Dim, grid: Grid) -> None:
        """Sorted columns of ``2**bits`` rows from halves that are sorted: what is left of all steps but the first few
        goes through registers `steps` at a time."""
        rest = code.materialize_dim((bits - 1) // self.steps)
        first = code.b.index(bits - rest * self.steps)

        def steps(c: LoopBuilder, count: int) -> None:
            if count == self.steps:
                self._mirror(c, bits, count, start, stop, grid)
                return
            c.if_(
                first.equals(count),
                lambda d: self._mirror(d, bits, count, start, stop, grid),
                lambda d: steps(d, count + 1),
            )

        steps(code, 1)
        chunk = 1 << self.chunk_passes * self.steps
        far = code.materialize_dim(maximum(0, rest - self.chunk_passes))
        chunks = code.materialize_dim((stop - start + (chunk - 1)) // chunk)
        # First passes over all rows, then all others over each chunk.
        with code.for_(0, 2) as (outer, phase):
            parts = outer.materialize_dim(1 + phase * (chunks - 1))
            with outer.for_(0, parts) as (part, number):
                begin = part.materialize_dim(start + number * chunk)
                end = part.materialize_dim(minimum(stop, begin + chunk + (1 - phase) * (stop - start)))
                with part.for_(far * phase, far + (rest - far) * phase) as (inner, done):
                    self._clean(
                        inner, power_of_two(inner, (rest - 1 - done) * self.steps), begin, end, grid, self.steps
                    )

    def clean(self, code: LoopBuilder, grid: Grid, three: Dim, done: int) -> None:
        """Bitonic columns sorted, of ``2**row_bits`` rows, or of three quarters as many where `three` is 1, and not 0.

        The first steps, so many, are `done`.  The last ones are those of the rows that registers hold, or of three
        quarters of them; where few rows are left, some of those come again, and change nothing.
        """
        whole, quarters = 1 << self.steps, 3 << self.steps - 2
        unit = code.materialize_dim(whole - three * (whole - quarters))
        bits = code.materialize_dim(maximum(self.steps, grid.row_bits - done))
        rest = code.materialize_dim(bits // self.steps - 1)
        first = code.b.index(bits - (rest + 1) * self.steps)
        start = dim(0)
        for count in range(1, self.steps):
            code.if_(
                first.equals(count),
                lambda c, count=count: self._clean(
                    c, unit * power_of_two(c, rest * self.steps), start, grid.rows, grid, count
                ),
                lambda c: None,
            )
        with code.for_(0, rest) as (inner, number):
            distance = inner.materialize_dim(unit * power_of_two(inner, (rest - 1 - number) * self.steps))
            self._clean(inner, distance, start, grid.rows, grid, self.steps)

        def last(c: LoopBuilder, count: int, comparators: list[tuple[int, int]]) -> None:
            with c.for_(0, grid.rows // count) as (inner, group):
                self._step(inner, grid, [group * count + i for i in range(count)], comparators)

        code.if_(
            code.b.index(three).equals(0),
            lambda c: last(c, whole, bitonic_merge(whole)),
            lambda c: last(c, quarters, bitonic_merge(quarters)),
        )

    def _mirror(self, code: LoopBuilder, bits: Dim, steps: int, start: Dim, stop: Dim, grid: Grid) -> None:
        """The first steps of a level: a row and its mirror image, then rows of the same half."""
        half = 1 << steps - 1
        size, distance = power_of_two(code, bits), power_of_two(code, bits - steps)
        # Where there is no upper half, the lower one stays as it is.
        blocks = code.bind(code.b.index(stop - start + (distance * half - 1)) >> code.b.index(bits))
        with code.for_(0, blocks) as (outer, block), outer.for_(0, distance) as (inner, i):
            lower = [start + block * size + i + distance * j for j in range(half)]
            upper = [start + block * size + (size - 1) - i - distance * j for j in range(half)]
            self._step(inner, grid, lower + upper, _mirroring(half))

    def _clean(self, code: LoopBuilder, distance: Dim, start: Dim, stop: Dim, grid: Grid, steps: int) -> None:
        """So many further steps of a level, the last of rows that are `distance` apart."""
        whole = 1 << steps
        size = distance * whole
        with code.for_(0, (stop - start + (size - 1)) // size) as (outer, block):
            first = start + block * size
            with outer.for_(0, minimum(distance, stop - first)) as (inner, i):
                self._step(inner, grid, [first + i + distance * j for j in range(whole)], bitonic_merge(whole))

    def _step(self, code: LoopBuilder, grid: Grid, rows: list[Dim], comparators: list[tuple[int, int]]) -> None:
        """Comparators of some rows: the lesser element goes to the first of each pair."""
        width = self.columns
        with code.for_(0, width, width) as (c, column):
            held = [c.load(grid.buffer, [row * width + column]) for row in rows]
            for a, b in comparators:
                x, y = held[a], held[b]
                held[a], held[b] = self.exchanged(c, x, y)
            for row, value in zip(rows, held, strict=True):
                c.store(value, grid.buffer, [row * width + column])

    def exchanged(self, code: LoopBuilder, x: Value, y: Value) -> tuple[Value, Value]:
        """The lesser and the greater one of two elements."""
        less = x < y
        low = code.b.select(less, x, y)
        if self.columns * x.dtype.bits < SINGLE_PORT:
            return low, code.b.select(less, y, x)
        bits = DTYPES[f"u{x.dtype.bits}"]
        x, y, least = (code.b.bitcast(v, bits) for v in (x, y, low))
        return low, code.b.bitcast(x ^ y ^ least, low.dtype)


def power_of_two(code: LoopBuilder, bits: Dim) -> Dim:
    return dim(1 << bits.const) if bits.const is not None else code.bind(code.b.constant(1, I64) << code.b.index(bits))


def exponent(code: LoopBuilder, cell: SSAValue, number: Dim) -> Dim:
    """The exponent of the least power of two that is not below a number."""
    if number.const is not None:
        return dim((number.const - 1).bit_length())
    index = [dim(0)]
    code.store(code.b.constant(0, I64), cell, index)
    code.while_(
        lambda c: c.b.constant(1, I64) << c.load(cell, index) < c.b.index(number),
        lambda c: c.store(c.load(cell, index) + 1, cell, index),
    )
    return code.bind(code.load(cell, index))


def largest_value(code: LoopBuilder, dtype: DType) -> Value:
    return code.b.constant(math.inf if dtype.is_float else (1 << dtype.bits - 1) - 1, dtype)


def bitonic_merge(count: int, offset: int = 0, falls: bool = False) -> list[tuple[int, int]]:
    """Comparators that sort a bitonic sequence, of a power of two or three times one.

    `falls`: one whose places are from the last to the first.
    """
    found: list[tuple[int, int]] = []
    size = count
    while size % 2 == 0:
        found += [(start + i, start + i + size // 2) for start in range(0, count, size) for i in range(size // 2)]
        size //= 2
    if size == 3:
        found += [(start + i, start + i + 1) for i in (0, 1, 0) for start in range(0, count, size)]
    return [(offset + high, offset + low) if falls else (offset + low, offset + high) for low, high in found]


def _mirroring(half: int) -> list[tuple[int, int]]:
    """Comparators of `half` rows and the mirror image of each; then of both halves on their own."""
    return [(i, half + i) for i in range(half)] + bitonic_merge(half) + bitonic_merge(half, half, True)


def odd_even_mergesort(bits: int) -> list[tuple[int, int]]:
    """Comparators that sort ``2**bits`` rows: Batcher's odd-even merges, which take fewer than bitonic ones but have
    rows of all distances, so they are for what registers hold."""
    found: list[tuple[int, int]] = []
    for merged in (1 << level for level in range(bits)):
        distance = merged
        while distance:
            for low in range(distance % merged, (1 << bits) - distance):
                is_first = (low - distance % merged) % (2 * distance) < distance
                if is_first and low // (2 * merged) == (low + distance) // (2 * merged):
                    found.append((low, low + distance))
            distance //= 2
    return found
