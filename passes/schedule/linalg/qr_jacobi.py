"""Orthogonal factorisations of stacks of matrices to loops: reflections (QR) and Jacobi's rotations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.ir import Block, SSAValue

from ....dialects import kernel
from ....dialects.dims.dims import Dim, dim, minimum
from ....dialects.scalar.language import ComplexValue, Value
from ....dialects.types import DTYPES
from ..access import buffer_info
from ..body import ScheduleContext
from ..builder import LoopBuilder
from ..map.schedule import VectorConfig
from .base import BatchedLinalg, conjugate, fma, inside, magnitude, real, square

__all__ = ["schedule_eigh", "schedule_qr", "schedule_svd"]

I64 = DTYPES["i64"]
#: Of the number of an element of a row or column: the matrix and its index there.
_ElementIndices = Callable[[Dim], tuple[SSAValue, list[Dim]]]
#: Sweeps over all pairs at most; ten are usual for matrices of some hundred rows, whatever their elements.
SWEEPS = 40
#: What an element must be, relative to what it is measured by, to be rotated away.
SMALL = {"f32": 2.0**-25, "f64": 2.0**-54}


def schedule_qr(context: ScheduleContext, op: kernel.CustomOp, block: Block, lanes: VectorConfig) -> None:
    """Loops for ``qr``: parameter ``complete``."""
    _Qr(context, op, lanes).emit(block)


def schedule_eigh(context: ScheduleContext, op: kernel.CustomOp, block: Block, lanes: VectorConfig) -> None:
    """Loops for ``jacobi_eigh``."""
    _Eigh(context, op, lanes).emit(block)


def schedule_svd(context: ScheduleContext, op: kernel.CustomOp, block: Block, lanes: VectorConfig) -> None:
    """Loops for ``jacobi_svd``."""
    _Svd(context, op, lanes).emit(block)


class _Qr(BatchedLinalg):
    """Reflection k, ``1 - v @ v.conj().T * scale``, makes column k zero below the diagonal."""

    def allocate(self, code: LoopBuilder) -> None:
        m, n = self.rows, self.columns
        self.count, self.q_columns = minimum(m, n), buffer_info(self.op.outs[0]).dims[-1]
        self.r = self.scratch(code, self.element, m, n)
        self.q = self.scratch(code, self.element, m, self.q_columns)
        self.v = self.scratch(code, self.element, self.count, m)
        self.scales = self.scratch(code, self.part, self.count)
        self.sums = self.scratch(code, self.element, m + n)
        self.units = self.scratch(code, self.part, 2)

    def one(self, code: LoopBuilder, at: list[Dim]) -> None:
        (a,), (q, r), m = self.op.ins, self.op.outs, self.rows
        self.copy(code, a, at, self.r, [], m, self.columns)
        with code.for_(0, self.count) as (c, k):
            self._find(c, k)
            self._reflect(c, k, self.r, k, self.columns)
        with code.for_(0, m) as (middle, i), self.lanes(middle, 0, self.q_columns) as (c, j):
            one = c.b.cast(c.b.index(i - j).equals(0), self.part)
            c.store(c.b.cast(one, self.element), self.q, [i, j])
        with code.for_(0, self.count) as (c, k):
            self._reflect(c, self.count - 1 - k, self.q, dim(0), self.q_columns)
        self.copy(code, self.q, [], q, at, m, self.q_columns)
        with code.for_(0, self.q_columns) as (middle, i), self.lanes(middle, 0, self.columns) as (c, j):
            upper = c.b.index(i) <= c.b.index(j)
            c.store(c.b.select(upper, c.load(self.r, [i, j]), self.zero(c, self.element)), r, [*at, i, j])

    def _find(self, code: LoopBuilder, k: Dim) -> None:
        """The vector and scale of the reflection that leaves only the first element of column `k` from there on."""
        b, r = code.b, self.r
        units = [b.cast(u, self.element) for u in self._units(code, k)]

        def scaled(c: LoopBuilder, x: Value) -> Value:
            return x * inside(c, units[0]) * inside(c, units[1])

        total = self._squares(code, k, scaled)
        norm, first = b.sqrt(total), scaled(code, code.load(r, [k, k]))
        size = magnitude(b, first)
        phase = b.select(size.equals(0), b.constant(1, self.element), first / b.cast(size, self.element))
        with code.for_(k, self.rows) as (c, i):
            c.store(scaled(c, c.load(r, [i, k])), self.v, [k, i])
        code.store(first + phase * b.cast(norm, self.element), self.v, [k, k])
        code.store(b.select(norm.equals(0), 0.0, 1.0 / (total + norm * size)), self.scales, [k])

    def _squares(self, code: LoopBuilder, k: Dim, scaled: Callable[[LoopBuilder, Value], Value]) -> Value:
        """The sum of the squares of column `k` from row `k` on."""
        zero = self.zero(code, self.part)
        return code.carried_loop(k, self.rows, zero, lambda c, i, s: s + square(scaled(c, c.load(self.r, [i, k]))))

    def _units(self, code: LoopBuilder, k: Dim) -> list[Value]:
        """Two factors for column `k`: 1, unless its squares overflow or lose digits, as in LAPACK's larfg.

        Two, because the inverse of a denormal number may be infinite.
        """
        limits = np.finfo(self.part.numpy)
        least = float(limits.tiny / limits.eps)
        indices = [[dim(0)], [dim(1)]]
        total = self._squares(code, k, lambda c, x: x)
        for at in indices:
            code.store(code.b.constant(1, self.part), self.units, at)

        def rescale(c: LoopBuilder) -> None:
            largest = c.carried_loop(
                k, self.rows, self.zero(c, self.part), lambda d, i, s: _larger(s, d.load(self.r, [i, k]))
            )
            first = c.b.select(largest < least, c.b.constant(1.0 / least, self.part), 1.0)
            c.store(first, self.units, indices[0])
            c.store(c.b.select(largest.equals(0), 1.0, 1.0 / (largest * first)), self.units, indices[1])

        usual = (total > least) & (total < float(limits.max))
        code.if_(usual, lambda c: None, rescale)
        return [code.load(self.units, at) for at in indices]

    def _reflect(self, code: LoopBuilder, k: Dim, matrix: SSAValue, lower: Dim, upper: Dim) -> None:
        """Reflection `k` of columns ``lower <= j < upper``."""
        with self.lanes(code, lower, upper) as (c, j):
            c.store(self.zero(c, self.element), self.sums, [j])
        with code.for_(k, self.rows) as (middle, i):
            factor = conjugate(middle.b, middle.load(self.v, [k, i]))
            with self.lanes(middle, lower, upper) as (c, j):
                x = c.load(matrix, [i, j])
                c.store(fma(c, inside(c, factor), x, c.load(self.sums, [j])), self.sums, [j])
        with code.for_(k, self.rows) as (middle, i):
            scale = middle.b.cast(middle.load(self.scales, [k]), self.element)
            factor = -(middle.load(self.v, [k, i]) * scale)
            with self.lanes(middle, lower, upper) as (c, j):
                x = c.load(self.sums, [j])
                c.store(fma(c, inside(c, factor), x, c.load(matrix, [i, j])), matrix, [i, j])


class _Jacobi(BatchedLinalg):
    """Sweeps of rotations of two rows, until one changes nothing."""

    cells: SSAValue

    def sweeps(
        self,
        code: LoopBuilder,
        count: Dim,
        rotate: Callable[[LoopBuilder, Dim, Dim, Callable[[LoopBuilder], None]], None],
    ) -> None:
        """``rotate(block, p, q, note)`` for all pairs, again while it notes changes."""
        changes, rounds = [dim(0)], [dim(1)]
        cells = self.cells
        code.store(code.b.constant(1, I64), cells, changes)
        code.store(code.b.constant(0, I64), cells, rounds)

        def note(c: LoopBuilder) -> None:
            c.store(c.b.constant(1, I64), cells, changes)

        def sweep(c: LoopBuilder) -> None:
            c.store(c.b.constant(0, I64), cells, changes)
            c.store(c.load(cells, rounds) + 1, cells, rounds)
            with c.for_(0, count) as (outer, p), outer.for_(p + 1, count) as (inner, q):
                rotate(inner, p, q, note)

        code.while_(lambda c: (c.load(cells, changes) > 0) & (c.load(cells, rounds) < SWEEPS), sweep)

    def rotation(self, code: LoopBuilder, first: Value, second: Value, between: Value) -> tuple[Value, Value, Value]:
        """Of ``[[first, between], [conj(between), second]]``: cosine, sine, and the phase that makes `between` real."""
        b = code.b
        size = magnitude(b, between)
        phase = conjugate(b, between / b.cast(size, self.element))
        slope = (second - first) / (size * 2.0)
        tangent = b.copysign(1.0 / (abs(slope) + b.sqrt(slope * slope + 1.0)), slope)
        cosine = 1.0 / b.sqrt(tangent * tangent + 1.0)
        return b.cast(cosine, self.element), b.cast(cosine * tangent, self.element), phase

    def rotate(
        self, code: LoopBuilder, found: tuple[Value, Value, Value], length: Dim, p: _ElementIndices, q: _ElementIndices
    ) -> None:  # fmt: skip
        """Two rows, or columns, rotated: ``p`` and ``q`` give the places of their elements."""
        with self.lanes(code, 0, length) as (c, i):
            cosine, sine, phase = (inside(c, x) for x in found)
            x, y = c.load(*p(i)), phase * c.load(*q(i))
            c.store(cosine * x - sine * y, *p(i))
            c.store(sine * x + cosine * y, *q(i))


class _Eigh(_Jacobi):
    def allocate(self, code: LoopBuilder) -> None:
        n = self.rows
        self.w, self.v = self.scratch(code, self.element, n, n), self.scratch(code, self.element, n, n)
        self.cells = self.scratch(code, I64, 2)

    def one(self, code: LoopBuilder, at: list[Dim]) -> None:
        (a,), (values, vectors), n, w, v = self.op.ins, self.op.outs, self.rows, self.w, self.v

        def size(c: LoopBuilder, i: Dim, sum_: Value) -> Value:
            return c.carried_loop(0, n, sum_, lambda d, j, s: s + square(d.load(w, [i, j])))

        with code.for_(0, n) as (c, i):
            with c.for_(0, i + 1) as (d, j):
                x = d.load(a, [*at, i, j])
                d.store(x, w, [i, j])
                d.store(conjugate(d.b, x), w, [j, i])
            with self.lanes(c, 0, n) as (d, j):
                d.store(d.b.cast(d.b.cast(d.b.index(i - j).equals(0), self.part), self.element), v, [i, j])
        norm = code.b.sqrt(code.carried_loop(0, n, self.zero(code, self.part), size))

        def rotate(c: LoopBuilder, p: Dim, q: Dim, note: Callable[[LoopBuilder], None]) -> None:
            between = c.load(w, [p, q])
            worth = magnitude(c.b, between) > inside(c, norm) * SMALL[self.part.name]
            c.if_(worth, lambda d: self._rotate(d, p, q, note), lambda d: None)

        self.sweeps(code, n, rotate)
        with code.for_(0, n) as (c, i):
            c.store(real(c.load(w, [i, i])), values, [*at, i])
            with self.lanes(c, 0, n) as (d, j):
                d.store(d.load(v, [j, i]), vectors, [*at, i, j])

    def _rotate(self, code: LoopBuilder, p: Dim, q: Dim, note: Callable[[LoopBuilder], None]) -> None:
        note(code)
        w, n = self.w, self.rows
        found = self.rotation(code, real(code.load(w, [p, p])), real(code.load(w, [q, q])), code.load(w, [p, q]))
        self.rotate(code, found, n, lambda i: (w, [i, p]), lambda i: (w, [i, q]))
        cosine, sine, phase = found
        self.rotate(code, (cosine, sine, conjugate(code.b, phase)), n, lambda i: (w, [p, i]), lambda i: (w, [q, i]))
        # What is zero now stays so, whatever was rounded.
        for at in ([p, q], [q, p]):
            code.store(self.zero(code, self.element), w, at)
        self.rotate(code, found, n, lambda i: (self.v, [p, i]), lambda i: (self.v, [q, i]))


class _Svd(_Jacobi):
    """Rows of scratch memory are the columns of the operand and of v."""

    def allocate(self, code: LoopBuilder) -> None:
        m, n = self.rows, self.columns
        self.w, self.v = self.scratch(code, self.element, n, m), self.scratch(code, self.element, n, n)
        self.cells = self.scratch(code, I64, 2)

    def one(self, code: LoopBuilder, at: list[Dim]) -> None:
        (a,), (rotated, v), m, n = self.op.ins, self.op.outs, self.rows, self.columns
        with code.for_(0, n) as (c, j):
            with self.lanes(c, 0, m) as (d, i):
                d.store(d.load(a, [*at, i, j]), self.w, [j, i])
            with self.lanes(c, 0, n) as (d, i):
                d.store(d.b.cast(d.b.cast(d.b.index(i - j).equals(0), self.part), self.element), self.v, [j, i])
        self.sweeps(code, n, self._rotate)
        for target, source, rows in ((rotated, self.w, m), (v, self.v, n)):
            with code.for_(0, rows) as (c, i), self.lanes(c, 0, n) as (d, j):
                d.store(d.load(source, [j, i]), target, [*at, i, j])

    def _rotate(self, code: LoopBuilder, p: Dim, q: Dim, note: Callable[[LoopBuilder], None]) -> None:
        b, w = code.b, self.w

        def sum_of(term: Callable[[Value, Value], Value]) -> Value:
            zero = self.zero(code, self.part)
            return code.carried_loop(0, self.rows, zero, lambda c, i, s: s + term(c.load(w, [p, i]), c.load(w, [q, i])))

        first, second = sum_of(lambda x, y: square(x)), sum_of(lambda x, y: square(y))
        between = sum_of(lambda x, y: real(conjugate(x.b, x) * y))
        if self.element.is_complex:
            between = b.complex_of(between, sum_of(lambda x, y: _imaginary(conjugate(x.b, x) * y)))
        worth = magnitude(b, between) > b.sqrt(first) * b.sqrt(second) * SMALL[self.part.name] * 4.0

        def rotate(c: LoopBuilder) -> None:
            note(c)
            found = self.rotation(c, inside(c, first), inside(c, second), inside(c, between))
            for matrix, length in ((w, self.rows), (self.v, self.columns)):
                self.rotate(c, found, length, lambda i, m=matrix: (m, [p, i]), lambda i, m=matrix: (m, [q, i]))

        code.if_(worth, rotate, lambda c: None)


def _larger(sum_: Value, x: Value) -> Value:
    """The larger of a bound and the parts of a number; NaN where one is."""
    parts = (x.re, x.im) if isinstance(x, ComplexValue) else (x,)
    for part in parts:
        size = abs(part)
        sum_ = sum_.b.select(size <= sum_, sum_, size)
    return sum_


def _imaginary(x: Value) -> Value:
    assert isinstance(x, ComplexValue)
    return x.im
