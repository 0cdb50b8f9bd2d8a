"""Random bits by counting, without a state: element `i` has the same ones for any number of threads and any device.

What turns such bits into numbers in [0, 1) stands beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...registry import Map, op
from ...scalar.language import ScalarBuilder, Value
from ...types import DTYPES, DType

U64 = DTYPES["u64"]
LOW = (1 << 32) - 1
MULTIPLIER, WEYL, ROUNDS = 0xD256D193, 0x9E3779B9, 10


@op
class Philox(Map):
    """64 random bits for a counter and a seed, both u64: Philox2x32-10.

    Of Salmon, Moraes, Dror and Shaw, *Parallel random numbers: as easy as 1, 2, 3* (SC 2011).  The counter's words are
    its input, the second one exclusive-or the seed's high word; the seed's low word is its key.  The result's low word
    is its first output.
    """

    arity = 2
    dtypes = frozenset({"uint"})
    cost = 60.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        # Words stay in 64 bits, where what is above them is of no account: one multiplication gives both halves.
        counter, seed = (b.cast(x, U64) for x in xs)
        first, second, key = counter, (counter >> 32) ^ (seed >> 32), seed
        for number in range(ROUNDS):
            if number:
                key = key + WEYL
            product = (first & LOW) * MULTIPLIER
            first, second = (product >> 32) ^ (key ^ second), product
        return b.cast((first & LOW) | (second << 32), xs[0].dtype)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        counter, seed = (a.astype(np.uint64) for a in arrays)
        word = np.uint64(32)
        first, second, key = counter & LOW, (counter >> word) ^ (seed >> word), seed & LOW
        for number in range(ROUNDS):
            key = (key + WEYL) & LOW if number else key
            product = first * np.uint64(MULTIPLIER)
            first, second = (product >> word) ^ key ^ second, product & LOW
        return (np.asarray(first | second << word).astype(arrays[0].dtype),)


#: The float whose numbers are made of whole numbers of so many bits, and how many leading bits it takes.
FRACTIONS = {8: ("f16", 8), 16: ("f16", 11), 32: ("f32", 24), 64: ("f64", 53)}


def _fraction(x: Any) -> Any:
    """In NumPy, by exact steps."""
    bits = np.asarray(x).dtype.itemsize * 8
    name, precision = FRACTIONS[bits]
    leading = np.right_shift(x, bits - precision).astype(DTYPES[name].numpy)
    return leading * leading.dtype.type(2.0**-precision)


@op
class Fraction(Map):
    """The leading bits of an unsigned number over what they count to, in [0, 1): as many as a float has, exactly.

    The float is as wide as the number: f64 of u64, f32 of u32, f16 of u16 and u8.
    """

    numpy = staticmethod(_fraction)
    dtypes = frozenset({"uint"})
    cost = 6.0

    @classmethod
    def result_dtype(cls, operand: DType) -> DType:
        return DTYPES[FRACTIONS[operand.bits][0]]

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        element, precision = cls.result_dtype(x.dtype), FRACTIONS[x.dtype.bits][1]
        leading = x >> x.dtype.bits - precision
        if x.dtype.bits < 64:
            wide = element.computes_in
            return b.cast(b.cast(b.cast(leading, DTYPES["i32"]), wide) * 2.0**-precision, element)
        # Processors convert vectors of 32-bit integers only.  As the low bits of 2**-1 and of 2**31 the halves are
        # floats already, scaled too, and their sum without what they were added to is exact.
        low = b.bitcast(leading & LOW | 0x3FE0 << 48, element)
        high = b.bitcast(leading >> 32 | 0x41E0 << 48, element)
        return (high - (2.0**31 + 2.0**-1)) + low
