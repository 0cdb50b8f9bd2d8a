"""Eigenvalues and eigenvectors of stacks of complex matrices to loops: Hessenberg's form, then shifted QR steps.

A unitary similarity by plane rotations of neighbouring rows and columns makes the matrix upper triangular (Schur's
form, as LAPACK's zlahqr): first zeros below the subdiagonal, then the elements of that, which steps with Wilkinson's
shift drive to zero from the end.  Eigenvectors of the triangle follow by substitution (ztrevc).
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from xdsl.ir import Block

from ....dialects import kernel
from ....dialects.dims.dims import Dim, dim, minimum
from ....dialects.scalar.language import ComplexValue, ScalarBuilder, Value
from ....dialects.types import DTYPES
from ..body import ScheduleContext
from ..builder import LoopBuilder
from ..map.schedule import VectorConfig
from .base import BatchedLinalg, conjugate, inside, magnitude, square

__all__ = ["schedule_eigenvalues", "schedule_eigenvectors"]

I64 = DTYPES["i64"]
#: QR steps for each row at most; two or three are usual.
STEPS = 30
#: Every so many steps without success the shift is another one.
PATIENCE = 10
#: What is kept in the integers of scratch memory, and in the real ones.
_LAST, _TRIED, _LEFT = ([dim(i)] for i in range(3))
_UNIT, _NORM = ([dim(i)] for i in range(2))


def schedule_eigenvalues(context: ScheduleContext, op: kernel.CustomOp, block: Block, lanes: VectorConfig) -> None:
    """Loops for ``eigenvalues``."""
    _Eigenvalues(context, op, lanes).emit(block)


def schedule_eigenvectors(context: ScheduleContext, op: kernel.CustomOp, block: Block, lanes: VectorConfig) -> None:
    """Loops for ``eigenvectors``: of eigenvalues, and unit vectors as columns."""
    _Eigenvectors(context, op, lanes).emit(block)


class Givens(NamedTuple):
    """``[[cosine, sine], [-conj(sine), cosine]]``: a real and a complex number."""

    cosine: Value
    sine: Value

    def inside(self, code: LoopBuilder) -> Givens:
        return Givens(inside(code, self.cosine), inside(code, self.sine))


def _rotation(b: ScalarBuilder, x: Value, y: Value) -> Givens:
    """The one that rotates ``(x, y)`` to ``(·, 0)``; the identity where both are zero."""
    length, size = b.sqrt(square(x) + square(y)), magnitude(b, x)
    none = length.equals(0)
    phase = b.select(size.equals(0), b.constant(1, x.dtype), _times(x, 1.0 / size))
    cosine = b.select(none, 1.0, size / length)
    return Givens(cosine, b.select(none, b.constant(0, x.dtype), _times(phase * conjugate(b, y), 1.0 / length)))


def _times(x: Value, factor: Value) -> Value:
    """A complex number times a real one."""
    assert isinstance(x, ComplexValue)
    return x.b.complex_of(x.re * factor, x.im * factor)


def _size(x: Value) -> Value:
    """About the absolute value of a complex number: of its parts the sum."""
    assert isinstance(x, ComplexValue)
    return abs(x.re) + abs(x.im)


def _root(b: ScalarBuilder, z: Value) -> Value:
    """The square root of a complex number, its real part positive."""
    assert isinstance(z, ComplexValue)
    larger = b.sqrt((magnitude(b, z) + abs(z.re)) * 0.5)
    smaller = b.select(larger.equals(0), 0.0, abs(z.im) / (larger * 2.0))
    right = z.re >= 0
    return b.complex_of(b.select(right, larger, smaller), b.copysign(b.select(right, smaller, larger), z.im))


class _Eigenvalues(BatchedLinalg):
    """`h` becomes the triangle, of which only the diagonal blocks that are worked on are kept up to date."""

    def allocate(self, code: LoopBuilder) -> None:
        n = self.rows
        limits = np.finfo(self.part.numpy)
        self.eps = float(limits.eps)
        self.least = float(np.sqrt(limits.tiny) / limits.eps)
        self.h = self.scratch(code, self.element, n, n)
        self.cells, self.sizes = self.scratch(code, I64, 3), self.scratch(code, self.part, 2)

    def one(self, code: LoopBuilder, at: list[Dim]) -> None:
        self._take(code, at)
        self._zeros_below_the_subdiagonal(code)
        self._triangle(code)
        # Numbers that are not finite, and whatever has not converged, are NaN.
        unit, left = code.load(self.sizes, _UNIT), code.load(self.cells, _LAST)
        back = code.b.select(left <= 0, 1.0 / unit, code.b.constant(float("nan"), self.part))
        with code.for_(0, self.rows) as (c, i):
            c.store(_times(c.load(self.h, [i, i]), inside(c, back)), self.op.outs[0], [*at, i])

    def _take(self, code: LoopBuilder, at: list[Dim]) -> None:
        """The matrix, by a factor that keeps squares of its elements finite, and digits in them."""
        b, n, a = code.b, self.rows, self.op.ins[0]

        def largest(c: LoopBuilder, i: Dim, found: Value) -> Value:
            def larger(d: LoopBuilder, j: Dim, most: Value) -> Value:
                size = _size(d.load(a, [*at, i, j]))
                return d.b.select(size <= most, most, size)

            return c.carried_loop(0, n, found, larger)

        norm = code.carried_loop(0, n, self.zero(code, self.part), largest)
        usual = norm.equals(0) | ((norm > self.least) & (norm < 1.0 / self.least))
        limits = np.finfo(self.part.numpy)
        unit = b.select(usual, 1.0, b.select(norm < float(limits.tiny), 1.0 / float(limits.tiny), 1.0 / norm))
        code.store(unit, self.sizes, _UNIT)
        code.store(b.select(norm.equals(0), 1.0, norm * unit), self.sizes, _NORM)
        finite = norm < float("inf")
        code.store(code.b.index(n - 1), self.cells, _LAST)
        code.store(code.b.constant(0, I64), self.cells, _TRIED)
        code.store(b.select(finite, b.index(n * STEPS), 0), self.cells, _LEFT)
        with code.for_(0, n) as (middle, i), self.lanes(middle, 0, n) as (c, j):
            c.store(_times(c.load(a, [*at, i, j]), inside(c, unit)), self.h, [i, j])

    def _zeros_below_the_subdiagonal(self, code: LoopBuilder) -> None:
        n, h = self.rows, self.h
        with code.for_(0, n - 2) as (column, k), column.for_(0, n - 2 - k) as (c, up):
            i = n - 1 - up
            found = _rotation(c.b, c.load(h, [i - 1, k]), c.load(h, [i, k]))
            self._rotate(c, found, i - 1, k, n, dim(0), n)
            c.store(self.zero(c, self.element), h, [i, k])

    def _rotate(self, code: LoopBuilder, found: Givens, p: Dim, left: Dim, right: Dim, top: Dim, bottom: Dim) -> None:
        """Rows `p` and ``p + 1`` rotated in columns `left` to `right`, then the columns in rows `top` to `bottom`."""
        h, q = self.h, p + 1
        with self.lanes(code, left, right) as (c, j):
            cosine, sine = found.inside(c)
            x, y = c.load(h, [p, j]), c.load(h, [q, j])
            c.store(_times(x, cosine) + sine * y, h, [p, j])
            c.store(_times(y, cosine) - conjugate(c.b, sine) * x, h, [q, j])
        with self.lanes(code, top, bottom) as (c, i):
            cosine, sine = found.inside(c)
            x, y = c.load(h, [i, p]), c.load(h, [i, q])
            c.store(_times(x, cosine) + conjugate(c.b, sine) * y, h, [i, p])
            c.store(_times(y, cosine) - sine * x, h, [i, q])

    def _triangle(self, code: LoopBuilder) -> None:
        """QR steps until nothing is left below the diagonal, or too many were made."""
        cells, h = self.cells, self.h

        def step(c: LoopBuilder) -> None:
            c.store(c.load(cells, _LEFT) - 1, cells, _LEFT)
            last = c.bind(c.load(cells, _LAST))
            first = c.bind(c.carried_loop(1, last + 1, c.b.constant(0, I64), self._after_a_zero))
            c.if_(c.b.index(first) > 0, lambda d: d.store(self.zero(d, self.element), h, [first, first - 1]), _nothing)
            c.if_(c.b.index(last - first).equals(0), found, lambda d: self._step(d, first, last))

        def found(c: LoopBuilder) -> None:
            c.store(c.load(cells, _LAST) - 1, cells, _LAST)
            c.store(c.b.constant(0, I64), cells, _TRIED)

        code.while_(lambda c: (c.load(cells, _LAST) > 0) & (c.load(cells, _LEFT) > 0), step)

    def _after_a_zero(self, code: LoopBuilder, i: Dim, found: Value) -> Value:
        """`i` where the element on the subdiagonal in its row is as good as zero, else what was found."""
        h = self.h
        near = _size(code.load(h, [i - 1, i - 1])) + _size(code.load(h, [i, i]))
        near = code.b.select(near.equals(0), code.load(self.sizes, _NORM), near)
        return code.b.select(_size(code.load(h, [i, i - 1])) <= near * self.eps, code.b.index(i), found)

    def _step(self, code: LoopBuilder, first: Dim, last: Dim) -> None:
        """One QR step of rows and columns `first` to `last`: a shift, and the rotations that follow from it."""
        h = self.h
        shift = self._shift(code, last)
        code.store(code.load(self.cells, _TRIED) + 1, self.cells, _TRIED)
        found = _rotation(code.b, code.load(h, [first, first]) - shift, code.load(h, [first + 1, first]))
        self._similar(code, found, first, first, first, last)
        with code.for_(first + 1, last) as (c, k):
            found = _rotation(c.b, c.load(h, [k, k - 1]), c.load(h, [k + 1, k - 1]))
            self._similar(c, found, k, k - 1, first, last)
            c.store(self.zero(c, self.element), h, [k + 1, k - 1])

    def _similar(self, code: LoopBuilder, found: Givens, p: Dim, left: Dim, first: Dim, last: Dim) -> None:
        """A rotation of a QR step, where it changes what is read later."""
        right, top = self._reach(first, last)
        self._rotate(code, found, p, left, right, top, minimum(p + 3, last + 1))

    def _reach(self, first: Dim, last: Dim) -> tuple[Dim, Dim]:
        """Up to which columns, and from which rows on, a step changes the triangle: of the block that is worked on."""
        return last + 1, first

    def _shift(self, code: LoopBuilder, last: Dim) -> Value:
        """The eigenvalue of the last two rows and columns closer to the last element; at times another number."""
        b, h = code.b, self.h
        x, above = code.load(h, [last - 1, last - 1]), code.load(h, [last - 1, last])
        below, y = code.load(h, [last, last - 1]), code.load(h, [last, last])
        half = _times(x - y, b.constant(0.5, self.part))
        product = above * below
        root = _root(b, half * half + product)
        root = b.select(_size(half + root) >= _size(half - root), root, -root)
        pivot = half + root
        shift = b.select(_size(pivot).equals(0), y, y - product / pivot)
        stuck = b.rem(code.load(self.cells, _TRIED), PATIENCE).equals(PATIENCE - 1)
        return b.select(stuck, y + b.cast(_size(below) * 0.75, self.element), shift)


def _nothing(_: LoopBuilder) -> None:
    pass


class _Eigenvectors(_Eigenvalues):
    """Rows of `y` are the columns of the unitary matrix; `x` is a vector of the triangle, `v` one of the operand."""

    def allocate(self, code: LoopBuilder) -> None:
        super().allocate(code)
        n = self.rows
        self.y, self.x, self.v = (self.scratch(code, self.element, *s) for s in ((n, n), (n,), (n,)))

    def _take(self, code: LoopBuilder, at: list[Dim]) -> None:
        super()._take(code, at)
        with code.for_(0, self.rows) as (middle, i), self.lanes(middle, 0, self.rows) as (c, j):
            one = c.b.cast(c.b.index(i - j).equals(0), self.part)
            c.store(c.b.cast(one, self.element), self.y, [i, j])

    def _rotate(self, code: LoopBuilder, found: Givens, p: Dim, left: Dim, right: Dim, top: Dim, bottom: Dim) -> None:
        super()._rotate(code, found, p, left, right, top, bottom)
        with self.lanes(code, 0, self.rows) as (c, j):
            cosine, sine = found.inside(c)
            x, y = c.load(self.y, [p, j]), c.load(self.y, [p + 1, j])
            c.store(_times(x, cosine) + conjugate(c.b, sine) * y, self.y, [p, j])
            c.store(_times(y, cosine) - sine * x, self.y, [p + 1, j])

    def _reach(self, first: Dim, last: Dim) -> tuple[Dim, Dim]:
        """The whole triangle, of which the vectors are."""
        return self.rows, dim(0)

    def one(self, code: LoopBuilder, at: list[Dim]) -> None:
        super().one(code, at)
        with code.for_(0, self.rows) as (c, k):
            self._of_the_triangle(c, k)
            self._of_the_operand(c, k, at)

    def _of_the_triangle(self, code: LoopBuilder, k: Dim) -> None:
        """Its eigenvector to the eigenvalue in row `k`, of any length: by substitution upwards."""
        h, x = self.h, self.x
        with self.lanes(code, 0, k) as (c, j):
            c.store(-c.load(h, [j, k]), x, [j])
        code.store(code.b.constant(1, self.element), x, [k])
        least = code.load(self.sizes, _NORM) * self.eps
        with code.for_(0, k) as (middle, up):
            i = k - 1 - up
            apart = middle.load(h, [i, i]) - middle.load(h, [k, k])
            close = _size(apart) < inside(middle, least)
            apart = middle.b.select(close, middle.b.cast(inside(middle, least), self.element), apart)
            found = middle.load(x, [i]) / apart
            middle.store(found, x, [i])
            # What grows with each row of a matrix with too few vectors stays finite.
            much = _size(found)
            shrink = partial(self._shrink, count=k + 1, by=much)
            middle.if_(much > 1.0 / self.least, shrink, _nothing)
            factor = middle.load(x, [i])
            with self.lanes(middle, 0, i) as (c, j):
                c.store(c.load(x, [j]) - inside(c, factor) * c.load(h, [j, i]), x, [j])

    def _shrink(self, code: LoopBuilder, count: Dim, by: Value) -> None:
        """The first elements of the triangle's vector, so that one of that size has size 1."""
        factor = 1.0 / inside(code, by)
        with self.lanes(code, 0, count) as (c, j):
            c.store(_times(c.load(self.x, [j]), inside(c, factor)), self.x, [j])

    def _of_the_operand(self, code: LoopBuilder, k: Dim, at: list[Dim]) -> None:
        """The operand's vector: of length one, its largest element real, as LAPACK's geev gives it."""
        n, v = self.rows, self.v
        with self.lanes(code, 0, n) as (c, j):
            c.store(self.zero(c, self.element), v, [j])
        with code.for_(0, k + 1) as (middle, i):
            factor = middle.load(self.x, [i])
            with self.lanes(middle, 0, n) as (c, j):
                c.store(inside(c, factor) * c.load(self.y, [i, j]) + c.load(v, [j]), v, [j])
        total = code.carried_loop(0, n, self.zero(code, self.part), lambda c, j, s: s + square(c.load(v, [j])))

        def larger(c: LoopBuilder, j: Dim, best: Value) -> Value:
            return c.b.select(square(c.load(v, [j])) > square(c.load(v, [c.bind(best)])), c.b.index(j), best)

        largest = code.load(v, [code.bind(code.carried_loop(1, n, code.b.constant(0, I64), larger))])
        factor = _times(conjugate(code.b, largest), 1.0 / (magnitude(code.b, largest) * code.b.sqrt(total)))
        with self.lanes(code, 0, n) as (c, j):
            c.store(c.load(v, [j]) * inside(c, factor), self.op.outs[1], [*at, j, k])
