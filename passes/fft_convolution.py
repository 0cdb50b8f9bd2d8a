"""Transforms of any length as cyclic convolutions with a chirp, by Bluestein's method.

``X[k] = c[k] * sum_j (x[j] * c[j]) * conj(c[k - j])`` where ``c[j] = exp(-pi*i * j*j / n)``.  The sum is a product of
polynomials modulo ``z**(2*M) - 1`` for a power of two ``M >= n``, which is one modulo ``z**M - 1`` and one modulo
``z**M + 1``: these are the two *residues*.  The second is a cyclic convolution, too, where element j is turned by
``exp(-pi*i * j / M)`` before and back behind.  So all passes are of M elements, half as much memory as of 2M, and none
is about the zeros behind x.

Rows have no sweep over scratch memory but passes: the first one reads the operand, the last one of the way there
multiplies by the filter and is the first one of the way back, and the last one writes the result.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Block, SSAValue

from ..dialects.attributes import BufferInfo
from ..dialects.butterflies import Pair, butterfly
from ..dialects.dims import Dim, dim, packed_strides
from .fft_passes import HALF, LEFT, SPAN, Passes, angle, times
from .loop_code import Code

__all__ = ["END", "Convolution"]

#: The radix of the first and of the last pass over rows.
END = 8
#: What `chirps` has: the chirp, and it turned by ``exp(-pi*i * j / M)`` and back.
PLAIN, TURNED, BACK = range(3)
#: The third half of the scratch memory: results of the first residue.
SUMS = 2


class Convolution(Passes):
    """The steps of a transform around its passes, which run twice a residue: there and back."""

    #: ``[3][2][length]`` and, for a thread, the filters' transforms ``[residue]``, over twice the length.
    chirps: SSAValue
    filters: SSAValue

    def _make_chirps(self, code: Code, block: Block, count: Dim, longest: Dim, data: tuple[Dim, ...]) -> None:
        shape = (dim(3), dim(2), longest)
        self.chirps = self.writer.allocate(block, BufferInfo(self.part, shape, packed_strides(shape)))
        with self._angles(code, count) as (c, j):
            chirp, (re, im) = angle(c.b, j * j % (self.n * 2), self.n * 2), angle(c.b, j, self.length * 2)
            for kind, z in (
                (PLAIN, chirp),
                (TURNED, times(c.b, chirp, (re, im))),
                (BACK, times(c.b, chirp, (re, -im))),
            ):
                for part, value in enumerate(z):
                    c.store(c.b.cast(value, self.part), self.chirps, [dim(kind), dim(part), j])
        shape = (dim(2), *data)
        self.filters = self.writer.allocate(block, BufferInfo(self.part, shape, packed_strides(shape)), "thread")

    def _chirp(self, code: Code, kind: Dim, at: Dim, guards: tuple[Dim, ...] = ()) -> Pair:
        re, im = (code.load(self.chirps, [kind, dim(part), at], guards) for part in (0, 1))
        return re, im

    # What the passes there begin with

    def _enter_product(self, code: Code, row: Dim, residue: Dim) -> None:
        """The operand times the chirp, and zeros behind."""
        if self.v == 1:
            self._first_of(
                code,
                lambda c, j: times(
                    c.b, self._read(c, row, j, dim(0), [self.n - 1 - j]), self._chirp(c, residue * TURNED, j)
                ),
            )
            return

        def move(c: Code, j: Dim, lane: Dim, guards: list[Dim]) -> None:
            z = self._read(c, row, j, lane, guards)
            self._put(c, 0, j, lane, times(c.b, z, self._chirp(c, residue * TURNED, j)))

        self._cross(code, row, 1, move)
        with self._elements(code, self.length, self.n) as (c, j, lane):
            zero = c.b.constant(0.0, self.part)
            self._put(c, 0, j, lane, (zero, zero))

    def _enter_filter(self, code: Code, residue: Dim) -> None:
        """The conjugate of the chirp around 0: elements j and, of -j, M - j with the sign that the residue gives."""

        def element(c: Code, j: Dim) -> Pair:
            behind = self.length - j
            ahead = self._chirp(c, residue * BACK, j, (self.n - 1 - j,))
            back = self._chirp(c, residue * TURNED, behind, (self.n - 1 - behind,))
            return ahead[0] + back[0], -(ahead[1] + back[1])

        if self.v == 1:
            self._first_of(code, element)
            return
        with self._elements(code, self.length) as (c, j, lane):
            self._put(c, 0, j, lane, element(c, j))

    def _first_of(self, code: Code, element: Callable[[Code, Dim], Pair]) -> None:
        m = self.length // END
        self._from(code, dim(0), dim(1), lambda c, p: [element(c, p + m * k) for k in range(END)])

    def _from(self, code: Code, source: Dim, target: Dim, given: Callable[[Code, Dim], list[Pair]]) -> None:
        """The first pass over rows, and what is left to the others."""
        self._first(code, END, code.bind(code.b.index(self.length // END)), source, target, given)
        for cell, value in ((LEFT, self.length // END**2), (SPAN, dim(END)), (HALF, source)):
            code.store(code.b.index(value), self.cells, [dim(cell)])

    # Between the passes there and back, whose parts are exchanged

    def _filtered(self, code: Code, residue: Dim, at: Dim, lane: Dim, z: Pair) -> Pair:
        kept = self._pair(code, self.filters, [[residue, *self._part(part, at, lane)] for part in (0, 1)])
        re, im = times(code.b, z, kept)
        return im, re

    def _turn_around(self, code: Code, residue: Dim) -> None:
        half = self._half(code)
        if self.v == 1:
            m = self.length // END

            def given(c: Code, p: Dim) -> list[Pair]:
                there = butterfly(c.b, self._apart(c, half, p, m, END))
                return [self._filtered(c, residue, p + m * k, dim(0), z) for k, z in enumerate(there)]

            self._from(code, half, code.bind(code.b.index(1 - half)), given)
            return
        with self._elements(code, self.length) as (c, j, lane):
            self._put(c, 0, j, lane, self._filtered(c, residue, j, lane, self._get(c, half, j, lane)))

    # What they end with

    def _each_result(self, code: Code, finish: Callable[[Code, Dim, Dim, Pair], None]) -> None:
        """``finish(block, position, lane, result)`` for all of the passes."""
        if self.v == 1:
            self._last(code, END, lambda c, at, z: finish(c, at, dim(0), z))
            return
        half = self._half(code)
        with self._elements(code, self.length) as (c, j, lane):
            finish(c, j, lane, self._get(c, half, j, lane))

    def _keep_filter(self, code: Code, residue: Dim) -> None:
        """The filter's transform, scaled for both passes and the two residues."""

        def finish(c: Code, at: Dim, lane: Dim, z: Pair) -> None:
            scale = c.b.cast(c.b.index(self.length * 2), self.part)
            for part, value in enumerate(z):
                c.store(value / scale, self.filters, [residue, *self._part(part, at, lane)])

        self._each_result(code, finish)

    def _leave_product(self, code: Code, row: Dim, residue: Dim) -> None:
        """Results of the first residue stay in scratch memory; the sum goes to the result with those of the second."""

        def back(c: Code, at: Dim, z: Pair) -> Pair:
            return times(c.b, (z[1], z[0]), self._chirp(c, residue * BACK, at))

        def keep(c: Code, at: Dim, lane: Dim, z: Pair) -> None:
            self._put(c, SUMS, at, lane, back(c, at, z))

        def whole(c: Code, at: Dim, lane: Dim, z: Pair, guards: list[Dim]) -> None:
            (re, im), (more_re, more_im) = self._get(c, dim(SUMS), at, lane), back(c, at, z)
            self._write(c, row, at, lane, (re + more_re, im + more_im), guards)

        def last(c: Code) -> None:
            if self.v == 1:
                self._last(c, END, lambda c, at, z: whole(c, at, dim(0), z, [self.n - 1 - at]))
                return
            half = self._half(c)
            self._cross(c, row, 1, lambda c, j, lane, guards: whole(c, j, lane, self._get(c, half, j, lane), guards))

        code.if_(code.b.index(residue).equals(0), lambda c: self._each_result(c, keep), last)
