"""Passes whose radix is a prime beyond those of `RADICES`: sums over sums and differences, as many as the prime.

Results k and -k of a prime p come from the sums and the differences of elements j and -j, as those of a butterfly do
(`dialects/scalar/dft_butterflies.py`), in loops over j and k: ``p*p`` products of vectors for p of them.  Side by side
that is less than a convolution takes up to `LARGEST`.  Over rows vectors run along what other passes have done before,
so lengths with a large prime need other factors, too (`ROWS`).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence

from xdsl.ir import SSAValue

from ....dialects.attributes import BufferInfo
from ....dialects.dims.dims import Dim, ceil_div, dim, minimum
from ....dialects.scalar.dft_butterflies import RADICES, Pair
from ....dialects.scalar.language import Value
from ..builder import LoopBuilder
from .stockham import HALF, LEAST, StockhamPasses, times, within

__all__ = ["LARGEST", "ROWS", "PrimeRadix"]

#: The largest prime of passes.
LARGEST = 127
#: Of a row's length that has passes for such primes, the least product of its other factors, or the row is short
#: (`MIN_ROW_LENGTH`): vectors run along that many elements.
ROWS = 8
#: Results k, and as many -k, that are summed up together.
TRANSFORMS_IN_FLIGHT = 4


def _squares(m: Dim) -> Dim:
    """The sum of the squares up to that of m."""
    return m * (m + 1) * (m * 2 + 1) // 6


class PrimeRadix(StockhamPasses):
    """What `StockhamPasses` asks for where no radix divides what is left of a length."""

    #: ``exp(-2*pi*i * j*k / p)`` at ``[k - 1][j - 1]``, parts apart, for each p from `_table_of` on.
    roots_of_primes: SSAValue
    #: The primes of a known length that have such passes, and what else is odd and divides it.
    primes: Sequence[Dim]

    def _make_primes(self, code: LoopBuilder) -> None:
        """Factors for the primes of the length, and of a length known at run time for its other odd divisors."""
        if self.length.const is not None:
            self.primes = [dim(p) for p in range(LEAST, LARGEST + 1, 2) if self.length.const % p == 0]
            size = sum(((p // 2) * (p // 2) for p in self.primes), dim(0))
            if not self.primes:
                return
        else:
            size = _squares(minimum(self.n, LARGEST) // 2)
        shape = (dim(2), size)
        self.roots_of_primes = self.context.allocate(code.block, BufferInfo.packed(self.part, shape))
        if self.length.const is not None:
            for p in self.primes:
                self._fill(code, p)
            return
        with code.for_(LEAST // 2, LARGEST // 2 + 1) as (c, half):
            p = half * 2 + 1
            is_there = c.b.index(self.length % p).equals(0) & (c.b.index(p) <= c.b.index(self.n))
            c.if_(is_there, lambda c: self._fill_prime(c, p), lambda _: None)

    def _fill_prime(self, code: LoopBuilder, p: Dim) -> None:
        """No factors for multiples of a radix, which the passes that find them never come to."""
        first, *others = (code.b.index(p % radix).differs(0) for radix in RADICES if radix % 2)
        comes = functools.reduce(operator.and_, others, first)
        code.if_(comes, lambda c: self._fill(c, p), lambda _: None)

    def _table_of(self, p: Dim) -> Dim:
        if p.const is None:
            return _squares(p // 2 - 1)
        return sum(((q // 2) * (q // 2) for q in self.primes if (q.const or 0) < p.const), dim(0))

    def _fill(self, code: LoopBuilder, p: Dim) -> None:
        half = code.materialize_dim(p // 2)
        with code.for_(0, half) as (middle, k), middle.for_(0, half) as (c, j):
            exponent = (k + 1) * (j + 1) % p * (self.length // p)
            for part in (0, 1):
                to = [dim(part), self._table_of(p) + k * half + j]
                c.store(c.load(self.table, [dim(part), exponent]), self.roots_of_primes, to)

    def _prime(self, code: LoopBuilder, radix: Dim, m: Dim, s: Dim, source: Dim, target: Dim, wide: bool) -> None:
        half, table = code.materialize_dim(radix // 2), code.materialize_dim(self._table_of(radix))
        with code.for_(0, m) as (middle, p), self._along(middle, s, wide) as (c, q, lane):

            def given(c: LoopBuilder, k: Dim) -> Pair:
                return self._get(c, source, q + s * (p + m * k), lane)

            def put(c: LoopBuilder, k: Dim, z: Pair) -> None:
                twiddled = times(c.b, z, self._factor(c, self.table, p * s * k))
                self._put(c, target, q + s * (p * radix + k), lane, twiddled)

            first = given(c, dim(0))
            total = c.carried_loops(1, radix, first, lambda c, j, z: [x + y for x, y in zip(z, given(c, j))])
            self._put(c, target, q + s * p * radix, lane, (total[0], total[1]))
            with c.for_(0, ceil_div(half, TRANSFORMS_IN_FLIGHT)) as (each, number):
                ks = [
                    each.materialize_dim(minimum(number * TRANSFORMS_IN_FLIGHT, half - TRANSFORMS_IN_FLIGHT) + k)
                    for k in range(1, TRANSFORMS_IN_FLIGHT + 1)
                ]
                zero = each.b.constant(0.0, self.part)

                def step(c: LoopBuilder, j: Dim, sums: list[Value]) -> list[Value]:
                    one, other = given(c, j), given(c, radix - j)
                    return self._rotated(c, [(k - 1) * half + (j - 1) + table for k in ks], one, other, sums)

                sums = each.carried_loops(1, half + 1, [*within(each, first), zero, zero] * TRANSFORMS_IN_FLIGHT, step)
                for i, k in enumerate(ks):
                    re, im, across_re, across_im = sums[4 * i : 4 * i + 4]
                    put(each, k, (re - across_im, im + across_re))
                    put(each, radix - k, (re + across_im, im - across_re))
        code.store(code.b.index(target), self.cells, [dim(HALF)])

    def _rotated(
        self, code: LoopBuilder, exponents: Sequence[Dim], one: Pair, other: Pair, sums: Sequence[Value]
    ) -> list[Value]:
        """The sums for some k with what elements j and -j add: cosines by their sum, sines by their difference."""
        together, apart = [x + y for x, y in zip(one, other)], [x - y for x, y in zip(one, other)]
        result: list[Value] = []
        for i, exponent in enumerate(exponents):
            cosine, sine = (code.load(self.roots_of_primes, [dim(part), exponent]) for part in (0, 1))
            factors = (cosine, cosine, sine, sine)
            for x, factor, so_far in zip((*together, *apart), factors, sums[4 * i : 4 * i + 4]):
                result.append(code.b.fma(x, factor, so_far))
        return result
