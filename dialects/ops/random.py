"""Random bits by counting: no state, so element `i` has the same bits for any number of threads and any device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..registry import Map, op
from ..scalar import ScalarBuilder, Value
from ..types import DTYPES

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
