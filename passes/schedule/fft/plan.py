"""How a length is transformed: by passes alone, or as a convolution, in the compiler or in loops at run time.

A length that has small primes only has passes of its own.  A prime p has those of p - 1 where that is such a length:
numbered by the powers of a primitive root, the elements but the first are a cyclic convolution (Rader's method,
`rader.py`).  Every other length is a longer convolution (`bluestein.py`).
"""

from __future__ import annotations

from itertools import count

from xdsl.ir import SSAValue

from ....dialects.attributes import BufferInfo
from ....dialects.dims.dims import Dim, ceil_div, dim, maximum
from ....dialects.scalar.language import Value
from ....dialects.types import DTYPES
from ..builder import LoopBuilder
from .prime_radix import LARGEST, ROWS, PrimeRadix
from .stockham import ENDS, I64, LEAST, MIN_ROW_LENGTH

__all__ = ["LengthPlan", "has_small_primes", "primitive_root", "uses_rader"]

BOOL = DTYPES["bool"]
#: The least prime for which rows take Rader's method: from here on their first pass, of 8, has whole vectors.
LONG_ROWS = 128
#: The primes of `RADICES`.
PRIMES = (2, 3, 5, 7)


def rough_factor(n: int) -> int:
    """What the primes of `RADICES` leave of a number."""
    for prime in PRIMES:
        while n and n % prime == 0:
            n //= prime
    return n


def has_small_primes(n: int, over_rows: bool) -> bool:
    """Whether there are passes for all primes of a length."""
    rest = rough_factor(n)
    if over_rows and rest > 1 and n >= MIN_ROW_LENGTH and n < ROWS * rest:
        return False
    for p in range(LEAST, LARGEST + 1, 2):
        while rest and rest % p == 0:
            rest //= p
    return rest <= 1


def uses_rader(n: int, over_rows: bool) -> bool:
    """Whether a length is a prime p such that passes for p - 1 are fast."""
    if over_rows and ((n - 1) % max(ENDS) or n < LONG_ROWS):
        return False
    return has_small_primes(n - 1, over_rows) and all(n % d for d in range(2, int(n**0.5) + 1))


def primitive_root(n: int) -> int:
    """The least one of a prime n where passes take n - 1."""
    divisors = [d for d in range(2, LARGEST + 1) if (n - 1) % d == 0]
    return next(g for g in count(2) if all(pow(g, (n - 1) // d, n) != 1 for d in divisors))


class LengthPlan(PrimeRadix):
    """What is known of the length: `flag` is 1 where it becomes a convolution, `powers`, too, where it is Rader's."""

    flag: Dim
    powers: Dim
    #: What divides the length of Bluestein's passes.
    unit: int

    def _longest(self) -> Dim:
        """The elements that tables and scratch memory have room for."""
        n = self.n.const
        if n is None:
            return maximum(self.unit, self.n * 2)
        return dim(self._known(n)[0])

    def _known(self, n: int) -> tuple[int, int, int]:
        """`length`, `flag` and `powers` of a known length."""
        if has_small_primes(n, self.along_rows):
            return n, 0, 0
        return (n - 1, 1, 1) if uses_rader(n, self.along_rows) else (self._units(n) * self.unit, 1, 0)

    def _units(self, n: int) -> int:
        least = -(-n // self.unit)
        return next(k for k in range(least, 2 * least + 1) if rough_factor(k) == 1)

    def _set_length(self, code: LoopBuilder) -> None:
        """`length`, `flag` and `powers`.

        Bluestein's length is the least of so many units that has no other primes than radices have; a power of two is
        one.
        """
        if self.n.const is not None:
            self.length, self.flag, self.powers = map(dim, self._known(self.n.const))
            return
        cells = self.context.allocate(code.block, BufferInfo(I64, (dim(2),), (dim(1),)))
        rest, found = [dim(0)], [dim(1)]
        self.flag = code.bind(1 - code.b.cast(self._ask_passes(code, self.n, cells), I64))
        self.powers = self._ask_powers(code, cells)
        units = code.b.index(ceil_div(self.n, self.unit))
        code.store(units, cells, found)
        searches = code.b.index(self.flag - self.powers).differs(0)
        code.store(code.b.select(searches, units, code.b.constant(1, I64)), cells, rest)

        def more(c: LoopBuilder) -> None:
            c.store(c.load(cells, found) + 1, cells, found)
            c.store(c.load(cells, found), cells, rest)

        def attempt(c: LoopBuilder) -> None:
            self._make_rough(c, cells, rest)
            c.if_(c.load(cells, rest) > 1, more, lambda _: None)

        code.while_(lambda c: c.load(cells, rest) > 1, attempt)
        plain = code.b.index(self.n - self.powers)
        self.length = code.bind(code.b.select(searches, code.load(cells, found) * self.unit, plain))

    def _ask_passes(self, code: LoopBuilder, n: Dim, cells: SSAValue) -> Value:
        """`has_small_primes` of a length that is known at run time only."""
        rest = [dim(0)]
        code.store(code.b.index(n), cells, rest)
        self._make_rough(code, cells, rest)
        fits = code.b.constant(True, BOOL)
        if self.along_rows:
            left, length = code.load(cells, rest), code.b.index(n)
            fits = (left <= 1) | (length < MIN_ROW_LENGTH) | (length >= left * ROWS)

        def divide(c: LoopBuilder, p: Dim) -> None:
            c.store(c.load(cells, rest) / c.b.index(p), cells, rest)

        def goes_on(c: LoopBuilder, p: Dim) -> Value:
            left = c.load(cells, rest)
            return (left > 1) & c.b.rem(left, c.b.index(p)).equals(0)

        def by_primes(c: LoopBuilder) -> None:
            with c.for_(LEAST // 2, LARGEST // 2 + 1) as (each, half):
                each.while_(lambda c: goes_on(c, half * 2 + 1), lambda c: divide(c, half * 2 + 1))

        code.if_(code.load(cells, rest) > 1, by_primes, lambda _: None)
        return fits & (code.load(cells, rest) <= 1)

    def _ask_powers(self, code: LoopBuilder, cells: SSAValue) -> Dim:
        """`uses_rader` of a length that is known at run time only; 0 for one that has passes of its own."""
        divisor = [dim(1)]
        ask = self._ask_passes(code, self.n - 1, cells) & code.b.index(self.flag).equals(1)
        if self.along_rows:
            fits = code.b.rem(code.b.index(self.n - 1), max(ENDS)).equals(0)
            ask = ask & fits & (code.b.index(self.n) >= LONG_ROWS)
        code.store(code.b.constant(2, I64), cells, divisor)

        def goes_on(c: LoopBuilder) -> Value:
            d, n = c.load(cells, divisor), c.b.index(self.n)
            return (d * d <= n) & c.b.rem(n, d).differs(0)

        def search(c: LoopBuilder) -> None:
            c.while_(goes_on, lambda c: c.store(c.load(cells, divisor) + 1, cells, divisor))

        code.if_(ask, search, lambda _: None)
        d = code.load(cells, divisor)
        return code.bind(code.b.cast(ask & (d * d > code.b.index(self.n)), I64))

    def _make_rough(self, code: LoopBuilder, cells: SSAValue, at: list[Dim]) -> None:
        """`rough_factor` of a number in a cell."""
        for prime in PRIMES:
            code.while_(
                lambda c, prime=prime: c.load(cells, at).differs(0) & c.b.rem(c.load(cells, at), prime).equals(0),
                lambda c, prime=prime: c.store(c.load(cells, at) / prime, cells, at),
            )
