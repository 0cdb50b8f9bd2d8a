"""How a length is transformed: by passes alone, or as a convolution, in the compiler or in loops at run time.

A length whose primes all are radices has passes of its own.  A prime p has those of p - 1 where that is such a length:
numbered by the powers of a primitive root, the elements but the first are a cyclic convolution (Rader's method,
`fft_powers.py`).  Every other length is a longer convolution (`fft_convolution.py`).
"""

from __future__ import annotations

from itertools import count

from xdsl.ir import SSAValue

from ..dialects.attributes import BufferInfo
from ..dialects.dims import Dim, dim, maximum
from ..dialects.scalar import Value
from .fft_passes import I64, Passes
from .loop_code import Code

__all__ = ["PRIMES", "Lengths", "primitive_root"]

#: The primes of `RADICES`.
PRIMES = (2, 3, 5, 7)


def rough(n: int) -> int:
    """What the primes of `RADICES` leave of a number."""
    for prime in PRIMES:
        while n and n % prime == 0:
            n //= prime
    return n


def by_powers(n: int) -> bool:
    """Whether a length that has no passes of its own is a prime p such that p - 1 has."""
    return rough(n - 1) == 1 and all(n % d for d in range(2, int(n**0.5) + 1))


def primitive_root(n: int) -> int:
    """The least one of a prime n where passes take n - 1."""
    primes = [prime for prime in PRIMES if (n - 1) % prime == 0]
    return next(g for g in count(2) if all(pow(g, (n - 1) // prime, n) != 1 for prime in primes))


class Lengths(Passes):
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
        if rough(n) <= 1 or by_powers(n):
            return self.n
        return dim(self._units(n) * self.unit)

    def _units(self, n: int) -> int:
        least = -(-n // self.unit)
        return next(k for k in range(least, 2 * least + 1) if rough(k) == 1)

    def _set_length(self, code: Code) -> None:
        """`length`, `flag` and `powers`.

        Bluestein's length is the least of so many units that has no other primes than radices have; a power of two is
        one.
        """
        n = self.n.const
        if n is not None:
            self.flag = dim(int(rough(n) > 1))
            self.powers = dim(int(rough(n) > 1 and by_powers(n)))
            if self.flag.const == 0:
                self.length = self.n
            else:
                self.length = dim(n - 1 if self.powers.const else self._units(n) * self.unit)
            return
        cells = self.writer.allocate(code.block, BufferInfo(I64, (dim(2),), (dim(1),)))
        rest, found = [dim(0)], [dim(1)]
        code.store(code.b.index(self.n), cells, rest)
        self._make_rough(code, cells, rest)
        self.flag = code.bind(code.b.cast(code.load(cells, rest) > 1, I64))
        self.powers = self._ask_powers(code, cells, rest, found)
        units = code.b.index((self.n + (self.unit - 1)) // self.unit)
        code.store(units, cells, found)
        searches = code.b.index(self.flag - self.powers).differs(0)
        code.store(code.b.select(searches, units, code.b.constant(1, I64)), cells, rest)

        def more(c: Code) -> None:
            c.store(c.load(cells, found) + 1, cells, found)
            c.store(c.load(cells, found), cells, rest)

        def attempt(c: Code) -> None:
            self._make_rough(c, cells, rest)
            c.if_(c.load(cells, rest) > 1, more, lambda _: None)

        code.while_(lambda c: c.load(cells, rest) > 1, attempt)
        plain = code.b.index(self.n - self.powers)
        self.length = code.bind(code.b.select(searches, code.load(cells, found) * self.unit, plain))

    def _ask_powers(self, code: Code, cells: SSAValue, rest: list[Dim], found: list[Dim]) -> Dim:
        """`by_powers` of a length that is known at run time only; 0 for one that has passes of its own."""
        n = code.b.index(self.n)
        code.store(n - 1, cells, rest)
        self._make_rough(code, cells, rest)
        smooth = code.load(cells, rest).equals(1) & code.b.index(self.flag).equals(1)
        code.store(code.b.constant(2, I64), cells, found)

        def goes_on(c: Code) -> Value:
            d, n = c.load(cells, found), c.b.index(self.n)
            return (d * d <= n) & c.b.rem(n, d).differs(0)

        def search(c: Code) -> None:
            c.while_(goes_on, lambda c: c.store(c.load(cells, found) + 1, cells, found))

        code.if_(smooth, search, lambda _: None)
        d = code.load(cells, found)
        return code.bind(code.b.cast(smooth & (d * d > n), I64))

    def _make_rough(self, code: Code, cells: SSAValue, at: list[Dim]) -> None:
        """`rough` of a number in a cell."""
        for prime in PRIMES:
            code.while_(
                lambda c, prime=prime: c.load(cells, at).differs(0) & c.b.rem(c.load(cells, at), prime).equals(0),
                lambda c, prime=prime: c.store(c.load(cells, at) / prime, cells, at),
            )
