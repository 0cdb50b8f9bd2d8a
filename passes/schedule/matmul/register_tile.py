"""Which rows by which vectors of a contraction's results are summed up in registers.

A step of K of a tile of ``rows * vectors`` sums takes a fused operation for each, of which two ports do one a cycle;
none can begin before that of the step before has ended.  Besides, the tile reads each of its vectors, which come from
the second cache, and a number for each of its rows, which the first one has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ....dialects.dims.dims import Dim
from ...cost.model import assumed_number

__all__ = ["FMA_RECIPROCAL_THROUGHPUT", "LATENCY", "RegisterTile", "register_tile"]

#: Cycles from one fused operation to the next on the same sum, and of as many on others.
LATENCY, FMA_RECIPROCAL_THROUGHPUT = 4.0, 0.5
#: Cycles of a step that reading takes where arithmetic does not hide it (`benchmarks/log/`): a vector, a row.
VECTOR_READ, ROW_READ = 0.75, 0.35
#: More rows than these need more addresses than there are registers for.
MOST_ROWS = 8
#: Vectors of the widest tiles.
MOST_VECTORS = 5


@dataclass(frozen=True)
class RegisterTile:
    """Rows of a tile, lanes of a vector, and vectors beside each other."""

    rows: int
    lanes: int
    vectors: int

    def cycles(self, vectors: int) -> float:
        """A step of K where the tile has so many of its vectors."""
        return (
            max(LATENCY, FMA_RECIPROCAL_THROUGHPUT * self.rows * vectors) + VECTOR_READ * vectors + ROW_READ * self.rows
        )

    def row_cycles(self, vectors: int) -> float:
        """A step of K for one row of so many vectors: of what fills no tile a half of one goes first, if that is more
        than a vector, then one by one."""
        whole, left = divmod(vectors, self.vectors)
        halves, single = divmod(left, half) if (half := self.vectors // 2) > 1 else (0, left)
        cycles = whole * self.cycles(self.vectors) + halves * self.cycles(half) + single * self.cycles(1)
        return cycles / self.rows

    def total_cycles(self, rows: int, vectors: int) -> float:
        """A step of K for so many rows; those that fill no tile take as long as one that is full."""
        return -(-rows // self.rows) * self.rows * self.row_cycles(vectors)


def register_tile(rows: Dim, columns: Dim, lanes: int, registers: int) -> RegisterTile:
    """The tile by which so many rows and columns take the fewest cycles; what is not known is assumed.

    Registers hold its sums beside a row of its vectors and a number.
    """
    wide = max(1, math.ceil(assumed_number(columns)))
    tiles = [
        RegisterTile(min(MOST_ROWS, most), lanes, vectors)
        for vectors in range(1, MOST_VECTORS + 1)
        if (most := (registers - 1 - vectors) // vectors) > 0
    ]
    vectors = -(-wide // lanes)
    if rows.const is None:  # as if they filled their tiles
        return min(tiles, key=lambda tile: tile.row_cycles(vectors))
    tall = max(1, rows.const)
    return min(tiles, key=lambda tile: tile.total_cycles(tall, vectors))
