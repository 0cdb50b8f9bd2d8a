"""Transforms of any length as cyclic convolutions with a chirp, by Bluestein's method.

``X[k] = c[k] * sum_j (x[j] * c[j]) * conj(c[k - j])`` where ``c[j] = exp(-pi*i * j*j / n)``.  The sum is a product of
polynomials modulo ``z**(2*M) - 1`` for any ``M >= n``, which is one modulo ``z**M - 1`` and one modulo
``z**M + 1``: these are the two *residues*.  The second is a cyclic convolution, too, where element j is rotated by
``exp(-pi*i * j / M)`` before and back behind.  So all passes are of M elements, half as much memory as of 2M, and none
is about the zeros behind x.

Rows have no sweep over scratch memory but passes: the first one reads the operand, the last one of the way there
multiplies by the filter and is the first one of the way back, and the last one writes the result.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from xdsl.ir import Block, SSAValue

from ....dialects.attributes import BufferInfo
from ....dialects.dims.dims import Dim, dim
from ....dialects.scalar.dft_butterflies import Pair, butterfly
from ....dialects.scalar.language import Value
from ..builder import LoopBuilder
from .rader import SUMS, Rader
from .stockham import HALF, LEFT, SPAN, angle, times

__all__ = ["END", "Bluestein", "Write"]

#: What writes some steps into a block.
Write: TypeAlias = Callable[[LoopBuilder], None]

#: The radix of the first and of the last pass over rows.
END = 8
#: What `chirps` has: the chirp, and it rotated by ``exp(-pi*i * j / M)`` and back.
PLAIN, ROTATED, BACK = range(3)


class Bluestein(Rader):
    """The steps of a transform around its passes, which run twice a residue: there and back."""

    #: ``[3][2][length]``.  The filters' transforms are ``[residue]``, over twice the length.
    chirps: SSAValue

    def _make_filters(self, code: LoopBuilder, block: Block, longest: Dim, data: tuple[Dim, ...]) -> None:
        """Tables, and memory for the filters of whichever convolution there is."""
        if self.powers.const != 0:
            self._make_powers(code, block)
        if self.powers.const != 1:
            self._make_chirps(code, block, longest)
        shape = (dim(1 if self.powers.const == 1 else 2), *data)
        self.filters = self.context.allocate(block, BufferInfo.packed(self.part, shape), "thread")

    def _make_chirps(self, code: LoopBuilder, block: Block, longest: Dim) -> None:
        shape = (dim(3), dim(2), longest)
        self.chirps = self.context.allocate(block, BufferInfo.packed(self.part, shape))
        with self._angles(code, (self.flag - self.powers) * self.length) as (c, j):
            chirp, (re, im) = angle(c.b, j * j % (self.n * 2), self.n * 2), angle(c.b, j, self.length * 2)
            for kind, z in (
                (PLAIN, chirp),
                (ROTATED, times(c.b, chirp, (re, im))),
                (BACK, times(c.b, chirp, (re, -im))),
            ):
                for part, value in enumerate(z):
                    c.store(c.b.cast(value, self.part), self.chirps, [dim(kind), dim(part), j])

    def _chirp(self, code: LoopBuilder, kind: Dim, at: Dim, guards: tuple[Dim, ...] = ()) -> Pair:
        re, im = (code.load(self.chirps, [kind, dim(part), at], guards) for part in (0, 1))
        return re, im

    def _by_method(self, code: LoopBuilder, powers: Write, chirps: Write) -> None:
        if self.powers.const is not None:
            (powers if self.powers.const else chirps)(code)
            return
        code.if_(code.b.index(self.powers).equals(1), powers, chirps)

    # Around passes: the filter goes there only (`real` is 0), those of a row there (`back` is 0) and back

    def _enter_convolution(self, code: LoopBuilder, row: Dim, real: Dim, residue: Dim, back: Dim) -> None:
        def enter(c: LoopBuilder, filter_there: Write, row_there: Write) -> None:
            c.if_(c.b.index(real).equals(0), filter_there, row_there)

        def by_chirps(c: LoopBuilder) -> None:
            enter(c, lambda c: self._enter_filter(c, residue), lambda c: self._enter_product(c, row, residue))
            if self.along_rows:
                m = self.length // END
                self._begin_rows(c, dim(0), lambda c, p: self._apart(c, dim(0), p, m, END))

        def there(c: LoopBuilder) -> None:
            self._by_method(c, lambda c: enter(c, self._enter_roots, lambda c: self._enter_powers(c, row)), by_chirps)

        def multiply_filter(c: LoopBuilder) -> None:
            filtered = partial(self._filtered, residue=residue)
            self._by_method(c, lambda c: self._multiply(c, row, filtered), lambda c: self._multiply_filter(c, residue))

        code.if_(code.b.index(back).equals(0), there, multiply_filter)

    def _leave_convolution(self, code: LoopBuilder, row: Dim, real: Dim, residue: Dim, back: Dim) -> None:
        def of_row(c: LoopBuilder) -> None:
            c.if_(c.b.index(back).equals(0), lambda _: None, row_back)

        def row_back(c: LoopBuilder) -> None:
            self._by_method(c, lambda c: self._leave_powers(c, row), lambda c: self._leave_product(c, row, residue))

        def of_filter(c: LoopBuilder) -> None:
            self._by_method(c, self._store_roots, lambda c: self._store_filter(c, residue))

        code.if_(code.b.index(real).equals(0), of_filter, of_row)

    # What the passes there begin with

    def _enter_product(self, code: LoopBuilder, row: Dim, residue: Dim) -> None:
        """The operand times the chirp, and zeros behind."""

        def move(c: LoopBuilder, j: Dim, lane: Dim, guards: list[Dim]) -> None:
            z = self._read(c, row, j, lane, guards)
            self._put(c, 0, j, lane, times(c.b, z, self._chirp(c, residue * ROTATED, j)))

        self._for_each_element(code, row, 1, move)
        with self._elements(code, self.length, self.n) as (c, j, lane):
            zero = c.b.constant(0.0, self.part)
            self._put(c, 0, j, lane, (zero, zero))

    def _enter_filter(self, code: LoopBuilder, residue: Dim) -> None:
        """The conjugate of the chirp around 0: elements j and, of -j, M - j with the sign that the residue gives."""
        with self._elements(code, self.length) as (c, j, lane):
            behind = self.length - j
            ahead = self._chirp(c, residue * BACK, j, (self.n - 1 - j,))
            back = self._chirp(c, residue * ROTATED, behind, (self.n - 1 - behind,))
            self._put(c, 0, j, lane, (ahead[0] + back[0], -(ahead[1] + back[1])))

    def _begin_rows(self, code: LoopBuilder, source: Dim, given: Callable[[LoopBuilder, Dim], list[Pair]]) -> None:
        """The first pass over rows, from and to `source`, and what is left to the others."""
        m, target = (code.materialize_dim(expr) for expr in (self.length // END, 1 - source))
        self._first(code, END, m, source, target, self.end, given)
        for cell, value in ((LEFT, self.length // END**2), (SPAN, dim(END)), (HALF, source)):
            code.store(code.b.index(value), self.cells, [dim(cell)])

    # Between the passes there and back, whose parts are exchanged

    def _filtered(self, code: LoopBuilder, at: Dim, lane: Dim, z: Pair, residue: Dim) -> Pair:
        filter_value = self._pair(code, self.filters, [[residue, *self._part(part, at, lane)] for part in (0, 1)])
        re, im = times(code.b, z, filter_value)
        return im, re

    def _multiply_filter(self, code: LoopBuilder, residue: Dim) -> None:
        half = self._half(code)
        if self.along_rows:
            m = self.length // END

            def given(c: LoopBuilder, p: Dim) -> list[Pair]:
                there = butterfly(c.b, self._apart(c, half, p, m, END))
                return [self._filtered(c, p + m * k, dim(0), z, residue) for k, z in enumerate(there)]

            self._begin_rows(code, half, given)
            return
        with self._elements(code, self.length) as (c, j, lane):
            self._put(c, 0, j, lane, self._filtered(c, j, lane, self._get(c, half, j, lane), residue))

    # What they end with

    def _results(self, code: LoopBuilder, finish: Callable[[LoopBuilder, Dim, Dim, Pair], None]) -> None:
        """``finish(block, position, lane, result)`` for all of the passes."""
        if self.along_rows:
            self._last(code, END, self.end, lambda c, at, z: finish(c, at, dim(0), z))
            return
        half = self._half(code)
        with self._elements(code, self.length) as (c, j, lane):
            finish(c, j, lane, self._get(c, half, j, lane))

    def _store_filter(self, code: LoopBuilder, residue: Dim) -> None:
        """The filter's transform, scaled for both passes and the two residues."""

        def finish(c: LoopBuilder, at: Dim, lane: Dim, z: Pair) -> None:
            scale = c.b.cast(c.b.index(self.length * 2), self.part)
            for part, value in enumerate(z):
                c.store(value / scale, self.filters, [residue, *self._part(part, at, lane)])

        self._results(code, finish)

    def _leave_product(self, code: LoopBuilder, row: Dim, residue: Dim) -> None:
        """The sum of the results of both residues, which is complete with those of the second."""
        first = code.b.index(residue).equals(0)

        def add(c: LoopBuilder, at: Dim, lane: Dim, z: Pair) -> None:
            back = times(c.b, (z[1], z[0]), self._chirp(c, residue * BACK, at))
            sums = zip(back, self._get(c, dim(SUMS), at, lane, (residue - 1,)))
            re, im = (c.b.select(Value(c.b, first.ref, first.dtype), x, x + y) for x, y in sums)
            self._put(c, SUMS, at, lane, (re, im))

        def move(c: LoopBuilder, j: Dim, lane: Dim, guards: list[Dim]) -> None:
            self._write(c, row, j, lane, self._get(c, dim(SUMS), j, lane), guards)

        self._results(code, add)
        code.if_(first, lambda _: None, lambda c: self._for_each_element(c, row, 1, move))
