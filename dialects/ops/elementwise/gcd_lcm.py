"""The greatest common divisor and the least common multiple of integers: Euclid's algorithm in every lane."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...registry import Map, op
from ...scalar.language import ScalarBuilder, Value


def divisor(b: ScalarBuilder, x: Value, y: Value) -> Value:
    """The greatest common divisor of two magnitudes; that of the smallest signed integer wraps, as NumPy's."""

    def step(*states: Value) -> tuple[Value, Sequence[Value]]:
        large, small = states
        rest = b.rem(large, small)
        return rest.differs(0), (small, rest)

    x, y = abs(x), abs(y)
    # Each two steps halve the larger number.
    found, _ = b.iterate(y.differs(0), (x, y), step, 2 * x.dtype.bits)
    return abs(found)


class _Divisors(Map):
    arity = 2
    dtypes = frozenset({"int", "uint"})
    commutative = True
    cost = 200.0


@op
class Gcd(_Divisors):
    """The greatest common divisor, not negative; that of zeros is 0."""

    numpy = np.gcd

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return divisor(b, *xs)


@op
class Lcm(_Divisors):
    """The least common multiple of the magnitudes; 0 where either is, modulo 2**bits where it does not fit."""

    numpy = np.lcm

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        found = divisor(b, x, y)
        return abs(x) / found * abs(y)
