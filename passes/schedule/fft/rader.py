"""Transforms of a prime length p as cyclic convolutions of p - 1 elements, by Rader's method.

The elements but the first are numbered by the powers of a primitive root g: ``X[g**-k] = x[0] + sum_j x[g**j] *
w[g**(j - k)]`` where ``w[t] = exp(-2*pi*i * t / p)``.  The sum is a convolution, whose transforms have the length p - 1
and no zeros; the first element of the row's is ``X[0] - x[0]``.  What is added to the first element of the product is
added to all results: x[0].
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Block, SSAValue

from ....dialects.attributes import BufferInfo
from ....dialects.dims.dims import Dim, dim
from ....dialects.scalar.dft_butterflies import Pair
from ....dialects.scalar.language import ComplexValue, Value
from ....dialects.types import DTYPES
from ..builder import LoopBuilder
from .plan import LengthPlan, primitive_root
from .prime_radix import LARGEST
from .stockham import I64, angle, within

__all__ = ["SUMS", "Rader"]

I32 = DTYPES["i32"]
#: The third half of the scratch memory: here the first elements of a row and of its transform.
SUMS = 2
#: The rows of `indices`.
THERE, BACK = range(2)
#: Elements of a row that are copied together.
COPIES = 8
#: Cells of the search for a root: the number that is tried, whether it is one, and a power of it.
TRIED, FOUND, BASE, EXPONENT, POWER = range(5)


class Rader(LengthPlan):
    """The steps of a transform around its passes, which run there and back."""

    #: ``w``, parts apart.
    roots: SSAValue
    #: Where elements are: ``g**j`` for ``0 <= j < p``, and for each result k the j for which it is ``g**-j``.
    indices: SSAValue
    #: For a thread, a row's elements in the order of the convolution: copies of whole numbers are the cheapest.
    ordered: SSAValue
    #: For a thread, the transforms of the filters: of this one there is one.
    filters: SSAValue

    def _make_powers(self, code: LoopBuilder, block: Block) -> None:
        count = self.powers * self.n
        self.indices = self.context.allocate(block, BufferInfo(I32, (dim(2), self.n), (self.n, dim(1))))
        self.roots = self.context.allocate(block, BufferInfo(self.part, (dim(2), self.n), (self.n, dim(1))))
        with self._angles(code, count) as (c, k):
            for part, value in enumerate(angle(c.b, k, self.n)):
                c.store(c.b.cast(value, self.part), self.roots, [dim(part), k])
        if self.along_rows:
            info = BufferInfo(self.part.as_complex, (self.n,), (dim(1),))
            self.ordered = self.context.allocate(block, info, "thread")
        known = self.n.const
        root = self._find_root(code, block) if known is None else dim(primitive_root(known))

        def step(c: LoopBuilder, j: Dim, power: Value) -> Value:
            c.store(c.b.cast(power, I32), self.indices, [dim(THERE), j])
            c.store(c.b.cast(c.b.index(self.n - 1 - j), I32), self.indices, [dim(BACK), c.bind(power)])
            return c.b.rem(power * c.b.index(root), c.b.index(self.n))

        code.carried_loop(0, count, code.b.constant(1, I64), step)

    def _find_root(self, code: LoopBuilder, block: Block) -> Dim:
        """The least primitive root, whose powers by ``(p - 1) / q`` are not 1 for any q that divides p - 1."""
        cells = self.context.allocate(block, BufferInfo(I64, (dim(5),), (dim(1),)))

        def get(c: LoopBuilder, cell: int) -> Value:
            return c.load(cells, [dim(cell)])

        def put(c: LoopBuilder, cell: int, value: Value | int) -> None:
            c.store(value if isinstance(value, Value) else c.b.constant(value, I64), cells, [dim(cell)])

        def multiply(c: LoopBuilder) -> None:
            base, power, left, n = get(c, BASE), get(c, POWER), get(c, EXPONENT), c.b.index(self.n)
            put(c, POWER, c.b.select((left & 1).equals(1), c.b.rem(power * base, n), power))
            put(c, BASE, c.b.rem(base * base, n))
            put(c, EXPONENT, left >> 1)

        def ask(c: LoopBuilder, q: Dim) -> None:
            put(c, BASE, get(c, TRIED))
            put(c, EXPONENT, c.b.index((self.n - 1) // q))
            put(c, POWER, 1)
            c.while_(lambda c: get(c, EXPONENT) > 0, multiply)
            put(c, FOUND, c.b.select(get(c, POWER).equals(1), c.b.constant(0, I64), get(c, FOUND)))

        def attempt(c: LoopBuilder) -> None:
            put(c, TRIED, get(c, TRIED) + 1)
            put(c, FOUND, 1)
            with c.for_(2, LARGEST + 1) as (each, q):
                each.if_(each.b.index((self.n - 1) % q).equals(0), lambda c: ask(c, q), lambda _: None)

        put(code, TRIED, 1)
        put(code, FOUND, code.b.index(1 - self.powers))
        code.while_(lambda c: get(c, FOUND).equals(0), attempt)
        return code.bind(get(code, TRIED))

    def _at(self, code: LoopBuilder, way: int, k: Dim) -> Dim:
        return code.bind(code.b.cast(code.load(self.indices, [dim(way), k]), I64))

    # Around passes

    def _enter_powers(self, code: LoopBuilder, row: Dim) -> None:
        def move(c: LoopBuilder, j: Dim, lane: Dim, guards: list[Dim]) -> None:
            self._put(c, 0, j, lane, self._read(c, row, self._at(c, THERE, j), lane, guards))

        if not self.along_rows:
            self._for_each_element(code, row, 1, move, self.length)
            return
        with code.for_(0, self.length, 1, COPIES) as (c, j):
            c.store(c.load(self.x, self._index(row, self._at(c, THERE, j), dim(0))), self.ordered, [j])
        with self._elements(code, self.length) as (c, j, lane):
            z = c.load(self.ordered, [j])
            assert isinstance(z, ComplexValue)
            self._put(c, 0, j, lane, self._swapped((z.re, z.im)))
        self._begin(code)
        if self.fetches:
            self._fetch_results(code, row)

    def _enter_roots(self, code: LoopBuilder) -> None:
        """The filter: element j is ``w[g**-j]``."""

        with code.for_(0, self.length) as (middle, j):
            z = self._factor(middle, self.roots, self._at(middle, THERE, self.length - j))
            with middle.for_(0, self.v, self.width) as (c, lane):
                self._put(c, 0, j, lane, within(c, z))
        if self.along_rows:
            self._begin(code)

    def _store_roots(self, code: LoopBuilder) -> None:
        """The filter's transform, scaled for the passes there and back."""
        half = self._half(code)
        with self._elements(code, self.length) as (c, j, lane):
            scale = c.b.cast(c.b.index(self.length), self.part)
            for part, value in enumerate(self._get(c, half, j, lane)):
                c.store(value / scale, self.filters, [dim(0), *self._part(part, j, lane)])

    def _multiply(self, code: LoopBuilder, row: Dim, filtered: Callable[[LoopBuilder, Dim, Dim, Pair], Pair]) -> None:
        """The product with the filter, with the first elements, which are no part of it, on the way."""
        half = self._half(code)

        def store(c: LoopBuilder, lane: Dim, guards: list[Dim]) -> None:
            self._put(c, SUMS, dim(0), lane, self._read(c, row, dim(0), lane, guards))
            self._put(c, SUMS, dim(1), lane, self._get(c, half, dim(0), lane))

        def add(c: LoopBuilder, lane: Dim, guards: list[Dim]) -> None:
            (re, im), (rest_re, rest_im) = (self._get(c, dim(SUMS), dim(k), lane) for k in (0, 1))
            self._write(c, row, dim(0), lane, (re + rest_re, im + rest_im), guards)
            first = self._get(c, dim(0), dim(0), lane)
            self._put(c, 0, dim(0), lane, (first[0] + im, first[1] + re))

        self._in_lanes(code, row, store)
        with self._elements(code, self.length) as (c, j, lane):
            self._put(c, 0, j, lane, filtered(c, j, lane, self._get(c, half, j, lane)))
        self._in_lanes(code, row, add)
        if self.along_rows:
            self._begin(code)

    def _leave_powers(self, code: LoopBuilder, row: Dim) -> None:
        half = self._half(code)

        def move(c: LoopBuilder, j: Dim, lane: Dim, guards: list[Dim]) -> None:
            re, im = self._get(c, half, self._at(c, BACK, j + 1), lane)
            self._write(c, row, j + 1, lane, (im, re), guards)

        if not self.along_rows:
            self._for_each_element(code, row, 1, move, self.length)
            return
        with self._elements(code, self.length) as (c, j, lane):
            re, im = self._get(c, half, j, lane)
            c.store(c.b.complex_of(*self._swapped((im, re))), self.ordered, [j])
        with code.for_(1, self.n, 1, COPIES) as (c, k):
            c.store(c.load(self.ordered, [self._at(c, BACK, k)]), self.y, self._index(row, k, dim(0)))

    def _in_lanes(self, code: LoopBuilder, row: Dim, move: Callable[[LoopBuilder, Dim, list[Dim]], None]) -> None:
        if self.along_rows:
            move(code, dim(0), [])
            return
        with code.for_(0, self.v, self.width) as (c, lane):
            move(c, lane, self._there(row, lane))
