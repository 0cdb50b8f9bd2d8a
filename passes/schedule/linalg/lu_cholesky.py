"""Elimination of stacks of matrices to loops: by rows with the largest pivot of a column, and Cholesky's.

Both go by blocks of columns (`blocks.py`), but for stacks of small matrices (`across_matrices.py`).
"""

from __future__ import annotations

from xdsl.ir import Block

from ....dialects import kernel
from ....dialects.dims.dims import Dim
from ....dialects.scalar.language import Value
from ....dialects.types import DTYPES
from ..access import buffer_info
from ..body import ScheduleContext
from ..builder import LoopBuilder
from ..map.schedule import VectorConfig
from .across_matrices import CholeskyInLanes, EliminationInLanes, is_small
from .base import conjugate, inside, real, square
from .blocks import ColumnBlocks, Columns

__all__ = ["schedule_cholesky", "schedule_elimination"]

I64 = DTYPES["i64"]


def schedule_elimination(context: ScheduleContext, op: kernel.CustomOp, block: Block, lanes: VectorConfig) -> None:
    """Loops for ``eliminate``: of a and b the solutions of ``a @ x = b``, the pivots, and the sign of their order."""
    (EliminationInLanes if is_small(op, lanes) else _Elimination)(context, op, lanes).emit(block)


def schedule_cholesky(context: ScheduleContext, op: kernel.CustomOp, block: Block, lanes: VectorConfig) -> None:
    """Loops for ``cholesky``: the lower factor."""
    (CholeskyInLanes if is_small(op, lanes) else _Cholesky)(context, op, lanes).emit(block)


class _Elimination(ColumnBlocks):
    """Rows of `w` are those of both operands; below the diagonal stays, negated, what a row took of the pivot's."""

    def allocate(self, code: LoopBuilder) -> None:
        self.n, self.m = self.rows, buffer_info(self.op.ins[1]).dims[-1]
        self.w = self.scratch(code, self.element, self.n, self.n + self.m)
        self.allocate_panels(code, self.n + self.m)

    def one(self, code: LoopBuilder, at: list[Dim]) -> None:
        (a, b), (x, _, signs), n = self.op.ins, self.op.outs, self.n
        self.copy(code, a, at, self.w, [], n, n)
        self.copy(code, b, at if len(buffer_info(b).dims) > 2 else [], self.w, [], n, self.m, n)
        code.store(code.b.constant(1, self.part), signs, at)
        self.by_blocks(code, n + self.m, lambda c, columns: self._block(c, at, columns))
        with code.for_(0, n) as (c, k):
            self._substitute(c, n - 1 - k)
        with code.for_(0, n) as (middle, i), self.lanes(middle, 0, self.m) as (c, j):
            c.store(c.load(self.w, [i, j + n]), x, [*at, i, j])

    def _block(self, code: LoopBuilder, at: list[Dim], columns: Columns) -> None:
        """The columns of a block, the rest of its rows, and what those take from the rows below."""
        with code.for_(columns.first, columns.last) as (c, k):
            self._eliminate(c, at, k, columns.last)
        with code.for_(columns.first, columns.last) as (c, i), c.for_(columns.first, i) as (d, k):
            self.add_row(d, self.w, i, d.load(self.w, [i, k]), k, columns.last, columns.end)
        self.pack_rows(code, columns)
        self.update(code, columns, lambda c, i, k: c.load(self.w, [i, k]), is_lower=False)

    def _eliminate(self, code: LoopBuilder, at: list[Dim], k: Dim, last: Dim) -> None:
        """Column `k` below the diagonal is eliminated by the row of its largest element, up to a `last` column."""
        n, w = self.n, self.w
        _, pivots, signs = self.op.outs

        def larger(c: LoopBuilder, i: Dim, best: Value) -> Value:
            beyond = square(c.load(w, [i, k])) > square(c.load(w, [c.bind(best), k]))
            return c.b.select(beyond, c.b.index(i), best)

        p = code.bind(code.carried_loop(k + 1, n, code.b.index(k), larger))
        with self.lanes(code, 0, n + self.m) as (c, j):
            upper, lower = c.load(w, [k, j]), c.load(w, [p, j])
            c.store(lower, w, [k, j])
            c.store(upper, w, [p, j])
        sign = code.load(signs, at)
        code.store(code.b.select(code.b.index(p - k).differs(0), -sign, sign), signs, at)
        pivot = code.load(w, [k, k])
        code.store(pivot, pivots, [*at, k])
        # Below a largest element of zero the column is zero already: nothing is taken, as LAPACK's getrf takes nothing.
        divisor = code.b.select(pivot.equals(0), code.b.constant(1, self.element), pivot)
        with code.for_(k + 1, n) as (c, i):
            factor = -(c.load(w, [i, k]) / inside(c, divisor))
            c.store(factor, w, [i, k])
            self.add_row(c, w, i, factor, k, k + 1, last)

    def _substitute(self, code: LoopBuilder, k: Dim) -> None:
        """Row `k` of the solution, taken out of those above."""
        n, w = self.n, self.w
        pivot = code.load(w, [k, k])
        with self.lanes(code, n, n + self.m) as (c, j):
            c.store(c.load(w, [k, j]) / inside(c, pivot), w, [k, j])
        with code.for_(0, k) as (c, i):
            self.add_row(c, w, i, -c.load(w, [i, k]), k, n, n + self.m)


class _Cholesky(ColumnBlocks):
    def allocate(self, code: LoopBuilder) -> None:
        self.w = self.scratch(code, self.element, self.rows, self.rows)
        self.allocate_panels(code, self.rows)

    def one(self, code: LoopBuilder, at: list[Dim]) -> None:
        n, w = self.rows, self.w
        self.copy(code, self.op.ins[0], at, w, [], n, n)
        self.by_blocks(code, n, self._block)
        with code.for_(0, n) as (middle, i), self.lanes(middle, 0, n) as (c, j):
            lower = c.b.index(j) <= c.b.index(i)
            found = c.b.select(lower, c.load(w, [i, j]), self.zero(c, self.element))
            c.store(found, self.op.outs[0], [*at, i, j])

    def _block(self, code: LoopBuilder, columns: Columns) -> None:
        """The triangle of a block, the rows below, and what those take from the columns behind."""
        w, n = self.w, self.rows
        with code.for_(columns.first, columns.last) as (c, k):
            self._column(c, k, columns.last)
        with code.for_(columns.last, n) as (c, i), c.for_(columns.first, columns.last) as (d, k):
            scaled = d.load(w, [i, k]) / d.b.cast(real(d.load(w, [k, k])), self.element)
            d.store(scaled, w, [i, k])
            d.store(conjugate(d.b, scaled), self.packed, self.place(columns, k, i))
            self.add_row(d, w, i, -scaled, k, k + 1, columns.last)
        self.update(code, columns, lambda c, i, k: -c.load(w, [i, k]), is_lower=True)

    def _column(self, code: LoopBuilder, k: Dim, last: Dim) -> None:
        """Column `k` of a block's triangle, and what it takes from those behind; its conjugate stays as row `k`."""
        w = self.w
        root = code.b.sqrt(real(code.load(w, [k, k])))
        code.store(code.b.cast(root, self.element), w, [k, k])
        with code.for_(k + 1, last) as (c, i):
            scaled = c.load(w, [i, k]) / c.b.cast(inside(c, root), self.element)
            c.store(scaled, w, [i, k])
            c.store(conjugate(c.b, scaled), w, [k, i])
        with code.for_(k + 1, last) as (c, i):
            self.add_row(c, w, i, -c.load(w, [i, k]), k, k + 1, i + 1)
