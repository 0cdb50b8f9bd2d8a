"""Scales of keys of 64 bits: what is taken from them so that their positions go beside them in a number.

Keys that are sorted together begin at the least of them, and lose as many of their lowest bits as leave room for a
position.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from xdsl.ir import SSAValue

from .....dialects.dims.dims import Dim, dim
from .....dialects.scalar.builder import BodyBuilder
from .....dialects.scalar.language import ScalarBuilder, Value
from .....dialects.types import DTYPES
from ...builder import LoopBuilder

__all__ = ["BITS", "NUMBERS", "RANGE", "SIGN", "KeyRange", "both_ranges", "no_range"]

I64, U64 = DTYPES["i64"], DTYPES["u64"]
#: The bits of a key, and the one of its sign.
BITS, SIGN = 64, 1 << 63
#: What the range of some keys is: the least, the greatest, what all have in common and what any of them has.
RANGE: tuple[tuple[Callable[[ScalarBuilder, Value, Value], Value], int], ...] = (
    (lambda b, x, y: b.minimum(x, y), SIGN - 1),
    (lambda b, x, y: b.maximum(x, y), -SIGN),
    (lambda b, x, y: x & y, -1),
    (lambda b, x, y: x | y, 0),
)
#: The numbers of a scale: the least key, how many bits keys lose, and whether that may matter (1, else 0).
LEAST, SHIFT, LOST, NUMBERS = 0, 1, 2, 3


@dataclass(frozen=True)
class KeyRange:
    """What is known of keys that are sorted together: `cells` for its numbers, and the bits of a position.

    `held` are the numbers, where they have been read.
    """

    cells: SSAValue
    bits: Dim
    held: tuple[Dim, ...] = ()

    def read(self, code: LoopBuilder) -> KeyRange:
        return replace(self, held=tuple(code.bind(code.load(self.cells, [dim(k)])) for k in range(NUMBERS)))

    def set(self, code: LoopBuilder, range_: list[Value]) -> None:
        """The numbers, for keys of this range."""
        b = code.b
        least, greatest, common, any_ = range_
        rest, bits = b.cast(greatest - least, U64), b.constant(0, I64)
        for k in (32, 16, 8, 4, 2, 1):
            more = rest >= 1 << k
            bits = b.select(more, bits + k, bits)
            rest = b.select(more, rest >> k, rest)
        bits = bits + b.cast(rest, I64)
        shift = b.maximum(bits + b.index(self.bits) - BITS, b.constant(0, I64))
        low = (b.constant(1, U64) << (b.cast(shift, U64) & BITS - 1)) - 1
        differs = (b.cast(any_ & ~common, U64) & low) > 0
        for k, number in ((LEAST, least), (SHIFT, shift), (LOST, b.cast(differs, I64))):
            code.store(number, self.cells, [dim(k)])

    def above(self, code: LoopBuilder, key: Value) -> Value:
        """How far a key is above the least one."""
        return code.b.cast(key - code.b.index(self.held[LEAST]), U64)

    def high(self, code: LoopBuilder, key: Value) -> Value:
        """What a number has of a key."""
        return self.above(code, key) >> _times(code.b, self.held[SHIFT])

    def low(self, code: LoopBuilder, key: Value) -> Value:
        """What a key loses."""
        return self.above(code, key) & _ones(code.b, self.held[SHIFT])

    def number(self, code: LoopBuilder, part: Value, position: Value) -> Value:
        """A part of a key and a position: a signed number, in the order of unsigned parts."""
        return code.b.bitcast(part << _times(code.b, self.bits) ^ SIGN, I64) | position

    def position(self, code: LoopBuilder, number: Value) -> Value:
        return code.b.bitcast(_ones(code.b, self.bits), I64) & number

    def are_equal(self, code: LoopBuilder, x: Value, y: Value) -> Value:
        """Whether two numbers have the same part of a key."""
        return code.b.cast(x ^ y, U64) <= _ones(code.b, self.bits)

    @property
    def dropped_bits(self) -> Dim:
        return self.held[LOST]


def both_ranges(code: LoopBuilder, one: list[Value], other: list[Value]) -> list[Value]:
    """The range of all that are in either of two."""
    return [merge(code.b, x, y) for (merge, _), x, y in zip(RANGE, one, other, strict=True)]


def no_range(code: LoopBuilder) -> list[Value]:
    """The range of no keys."""
    return [code.b.constant(number, I64) for _, number in RANGE]


def _times(b: BodyBuilder, number: Dim) -> Value:
    """A number of bits to shift by, which is less than 64."""
    return b.cast(b.index(number), U64) & BITS - 1


def _ones(b: BodyBuilder, number: Dim) -> Value:
    """So many low bits."""
    return (b.constant(1, U64) << _times(b, number)) - 1
