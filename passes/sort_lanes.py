"""Sorting a grid whose columns are sorted: the columns, which are the lanes of vectors, become one ascending run.

Runs of one, two, four … columns are merged in pairs, bitonically.  The first exchange of such a merge compares an
element with its mirror image in both runs; those that follow compare columns, which change places by one shuffle of a
vector; what they leave in each column is bitonic, so the last steps of a network of rows sort all columns at once.
"""

from __future__ import annotations

from dataclasses import replace

from ..dialects.dims import Dim
from ..dialects.scalar import Value
from ..dialects.types import DTYPES
from .loop_code import Code
from .sort_grid import Grid, GridSort, power_of_two

__all__ = ["LaneSort"]

I64 = DTYPES["i64"]


class LaneSort:
    """Writes what follows a `GridSort`, for grids of ``2**row_bits`` rows, or of three quarters as many.

    `rows` are those that have elements.
    """

    def __init__(self, network: GridSort, grid: Grid, code: Code):
        whole = power_of_two(code, grid.row_bits)
        fits = code.b.index(grid.rows * 4) <= code.b.index(whole * 3)
        self.three = code.bind(code.b.cast(fits, I64))
        self.network = network
        self.grid = replace(grid, rows=code.bound(whole - whole // 4 * self.three))
        self.width = network.columns
        self.levels = self.width.bit_length() - 1

    def sort(self, code: Code, to: Dim) -> None:
        """From sorted columns to one run, whose elements lie one after another from element `to` of the buffer on."""
        with code.for_(0, self.levels) as (outer, level):
            number = outer.b.index(level)
            for k in range(self.levels):
                outer.if_(number.equals(k), lambda c, k=k: self._exchanges(c, k), lambda c: None)
            self.network.clean(outer, self.grid, self.three)
        self._leave(code, to)

    def _exchanges(self, code: Code, level: int) -> None:
        """Those of the columns of a pair of runs of ``2**level`` columns each."""
        rows, mask = self.grid.rows, (2 << level) - 1
        with code.for_(0, rows // 2, unroll=2) as (some, row), some.for_(0, self.width, self.width) as (c, column):
            pair = (row, rows - 1 - row)
            found = [self._exchanged(c, here, other, column, mask) for here, other in (pair, pair[::-1])]
            for here, value in zip(pair, found):
                self._store(c, value, here, column)
        for mask in (1 << k for k in range(level - 1, -1, -1)):
            with code.for_(0, rows, unroll=4) as (some, row), some.for_(0, self.width, self.width) as (c, column):
                self._store(c, self._exchanged(c, row, row, column, mask), row, column)

    def _exchanged(self, code: Code, row: Dim, other: Dim, column: Dim, mask: int) -> Value:
        """An element, or that of another row and a column whose number differs in some bits: the lesser one of both
        where it is the column with the lower number."""
        b = code.b
        x, y = self._load(code, row, column), self._load(code, other, column ^ mask)
        less = x < y
        is_upper = (b.index(column) & 1 << mask.bit_length() - 1).differs(0)
        return b.select(is_upper, b.select(less, y, x), b.select(less, x, y))

    def _leave(self, code: Code, to: Dim) -> None:
        """Columns one after another, a square at a time."""
        width, rows = self.width, self.grid.rows
        with code.for_(0, rows // width) as (some, number), some.for_(0, width, width) as (each, i):
            with each.for_(0, width, unroll=width) as (c, column):
                row = number * width + i
                c.store(self._load(c, row, column), self.grid.buffer, [to + column * rows + row])

    def _load(self, code: Code, row: Dim, column: Dim) -> Value:
        return code.load(self.grid.buffer, [row * self.width + column])

    def _store(self, code: Code, value: Value, row: Dim, column: Dim) -> None:
        code.store(value, self.grid.buffer, [row * self.width + column])
