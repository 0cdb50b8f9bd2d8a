"""Sorting a grid whose columns are sorted: the columns, which are the lanes of vectors, become one ascending run.

Runs of one, two, four … columns are merged in pairs, bitonically.  The first exchange of such a merge compares an
element with its mirror image in both runs; those that follow compare columns; what they leave in each column is
bitonic, so the last steps of a network of rows sort all columns at once.

An exchange between columns takes two rows, a row and its mirror image: lanes change places between them such that of
each pair of elements one is in each row, in the same lane, and one comparator of both rows orders all of them.  What
was the number of the row is that of a column then, and is so for the next exchange too; all go back after the last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .....dialects.dims.dims import Dim
from .....dialects.scalar.language import Value
from .....dialects.types import DTYPES
from ...builder import LoopBuilder
from .network import Grid, SortingNetwork, bitonic_merge, power_of_two

__all__ = ["ROWS", "CrossLaneMerge"]

I64 = DTYPES["i64"]
#: Steps of rows that follow the exchanges of columns in the same registers: they hold twice ``2**STEPS`` rows.
STEPS = 3
#: What divides the number of a grid's rows.
ROWS = 2 << STEPS


class CrossLaneMerge:
    """Writes what follows a `SortingNetwork`, for grids of ``2**row_bits`` rows, or of three quarters as many.

    Whoever has few registers makes their rows a multiple of `ROWS`.

    `rows` are those that have elements.
    """

    def __init__(self, network: SortingNetwork, grid: Grid, code: LoopBuilder):
        whole = power_of_two(code, grid.row_bits)
        fits = code.b.index(grid.rows * 4) <= code.b.index(whole * 3)
        self.three = code.bind(code.b.cast(fits, I64))
        self.network = network
        self.grid = replace(grid, rows=code.materialize_dim(whole - whole // 4 * self.three))
        self.width = network.columns
        self.levels = self.width.bit_length() - 1

    def sort(self, code: LoopBuilder, to: Dim) -> None:
        """From sorted columns to one run, whose elements lie one after another from element `to` of the buffer on."""
        with code.for_(0, self.levels) as (outer, level):
            number = outer.b.index(level)
            for k in range(self.levels):
                outer.if_(number.equals(k), lambda c, k=k: self._exchanges(c, k), lambda c: None)
            self.network.clean(outer, self.grid, self.three, STEPS)
        self._leave(code, to)

    def _exchanges(self, code: LoopBuilder, level: int) -> None:
        """Those of the columns of a pair of runs of ``2**level`` columns each, and the first steps of rows."""
        rows, many = self.grid.rows, 1 << STEPS
        apart = code.materialize_dim(rows // many)
        with code.for_(0, apart // 2) as (some, number), some.for_(0, self.width, self.width) as (c, column):
            here = [number + apart * i for i in range(many)]
            there = [apart - 1 - number + apart * i for i in range(many)]
            held = {row: self._load(c, row, column) for row in (*here, *there)}
            for i in range(many):
                pair = (here[i], there[many - 1 - i])
                lower, upper = pair if i < many // 2 else pair[::-1]
                held[lower], held[upper] = self._merged(c, held[lower], held[upper], column, level)
            for group in (here, there):
                for a, b in bitonic_merge(many):
                    low, high = group[a], group[b]
                    held[low], held[high] = self.network.exchanged(c, held[low], held[high])
            for row, value in held.items():
                self._store(c, value, row, column)

    def _merged(self, code: LoopBuilder, x: Value, y: Value, column: Dim, level: int) -> tuple[Value, Value]:
        """The exchanges of all columns of two rows that mirror each other."""

        def swapped(x: Value, y: Value, indices: list[Callable[[int], int]]) -> tuple[Value, ...]:
            return tuple(code.shuffle(x, y, column, [index(lane) for lane in range(self.width)]) for index in indices)

        for bit in range(level, -1, -1):
            first, second = swapped(x, y, self._mirrored(bit) if bit == level else self._beside(bit))
            x, y = self.network.exchanged(code, first, second)
        low, high = swapped(x, y, self._back(level))
        return low, high

    def _mirrored(self, bit: int) -> list[Callable[[int], int]]:
        """Where lanes come from that have the first exchange of a pair of runs: the lesser elements of the first row
        have places whose `bit` is 0, and those of the second row the others; greater ones as the lesser ones that they
        meet."""
        width, this = self.width, 1 << bit
        return [
            lambda p: width + (p ^ this) if p & this else p,
            lambda p: p ^ (this - 1) if p & this else width + (p ^ (2 * this - 1)),
        ]

    def _beside(self, bit: int) -> list[Callable[[int], int]]:
        """Where lanes come from that have an exchange of columns whose numbers differ in a bit."""
        width, this = self.width, 1 << bit
        return [lambda p: width + (p ^ this) if p & this else p, lambda p: width + p if p & this else p ^ this]

    def _back(self, level: int) -> list[Callable[[int], int]]:
        """Where lanes come from that go back: each exchange put the number of the row in place of a bit of a column's
        number, and that bit in place of the row's."""
        bits = list(range(self.levels + 1))
        for bit in range(level, -1, -1):
            bits[bit], bits[-1] = bits[-1], bits[bit]

        def index(wanted: int) -> int:
            return sum((wanted >> held & 1) << at for at, held in enumerate(bits))

        return [index, lambda lane: index(self.width + lane)]

    def _leave(self, code: LoopBuilder, to: Dim) -> None:
        """Columns one after another, a square at a time."""
        width, rows = self.width, self.grid.rows
        with code.for_(0, rows // width) as (some, number), some.for_(0, width, width) as (each, i):
            with each.for_(0, width, unroll=width) as (c, column):
                row = number * width + i
                c.store(self._load(c, row, column), self.grid.buffer, [to + column * rows + row])

    def _load(self, code: LoopBuilder, row: Dim, column: Dim) -> Value:
        return code.load(self.grid.buffer, [row * self.width + column])

    def _store(self, code: LoopBuilder, value: Value, row: Dim, column: Dim) -> None:
        code.store(value, self.grid.buffer, [row * self.width + column])
