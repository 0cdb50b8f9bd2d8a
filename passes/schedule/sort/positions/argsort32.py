"""Sorting positions by networks: the key of an element and its position are one number of 64 bits.

These numbers are all different, so their order is that of the keys in which equal ones keep their order, and what moves
values alone, as networks of comparators and merges do, moves positions with them.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Block

from .....dialects.dims.dims import Dim
from .....dialects.scalar.language import Value
from .....dialects.types import DTYPES, DType
from ...builder import LoopBuilder
from ...map.schedule import VectorConfig
from ..base import ElementIndex
from ..comparison.mergesort import NetworkMergeSort
from ..distribution.radix import RadixSort
from ..keys.key_range import KeyRange
from ..keys.keys import LEAST_BITS, Key, keys_of

__all__ = ["PackedArgsort", "positions_by_network", "positions_in_columns"]

I64, U64 = DTYPES["i64"], DTYPES["u64"]
#: The low bits of a number, which are the position.
POSITION_BITS = 32
#: How many elements a row has at most.
MOST = 1 << POSITION_BITS


class PackedArgsort(NetworkMergeSort):
    """``argsort`` and ``sort_with_positions`` of elements whose keys leave room for positions."""

    def key_of(self, element: DType, lanes: VectorConfig) -> Key:
        (key,) = keys_of(element, self.descending, False)
        assert key.bits <= 64 - POSITION_BITS
        self.part = key
        return Key(64, I64, key.make)

    def key_at(self, code: LoopBuilder, index: ElementIndex, i: Dim, scale: KeyRange | None = None) -> Value:
        b, part = code.b, self.part
        key = b.cast(part.make(b, code.load(self.x, index(i))), U64) << POSITION_BITS
        return b.bitcast(key ^ (1 << 63), I64) | b.index(i)

    def put(self, code: LoopBuilder, key: Value, index: ElementIndex, i: Dim, scale: KeyRange | None = None) -> None:
        self.put_position(code, key & (1 << POSITION_BITS) - 1, index, i)

    def put_position(self, code: LoopBuilder, position: Value, index: ElementIndex, i: Dim) -> None:
        """What the results have of the element at a position."""
        *values, positions = self.op.outs
        code.store(position, positions, index(i))
        for out in values:
            code.store(code.load(self.x, index(code.bind(position))), out, index(i))

    def try_emit(self, block: Block, write: Callable[[Block], None]) -> None:
        """Rows of more elements than positions can tell apart go by digits."""
        n = self.n.const
        if n is not None and n <= MOST:
            write(block)
            return
        code = LoopBuilder(self.context, block, self.op.params["has_fma"])
        code.if_(
            code.b.index(self.n) <= MOST,
            lambda c: write(c.block),
            lambda c: RadixSort(self.context, self.op, self.dims, self.lanes, False).emit_longer(c.block, MOST),
        )


def positions_in_columns(element: DType, lanes: VectorConfig) -> bool:
    """Whether positions of elements of a type can be sorted so without merges, which need more of vectors."""
    fits = not element.is_complex and element.bits <= 64 - POSITION_BITS
    return fits and lanes.width(I64.bits) > 1 and lanes.lanes_can_shuffle


def positions_by_network(element: DType, lanes: VectorConfig) -> bool:
    """Whether positions of elements of a type can be sorted so, in as few operations as their values."""
    return positions_in_columns(element, lanes) and lanes.vector_bits >= LEAST_BITS
