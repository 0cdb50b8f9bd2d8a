"""Factorisations by blocks of columns: what a block takes from the columns behind it, as a product in register tiles.

An element's steps are those of the elimination column by column, in the same order, so that its bits are too:
``w[i, j]`` loses its products with column ``k`` for one ``k`` after another.  Within a block that is done column by
column, behind it for all columns of the block together: an element is loaded and stored once a block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ....dialects.dims.dims import Dim, dim, maximum, minimum
from ....dialects.scalar.language import Value
from ..builder import LoopBuilder
from ..matmul.register_tile import register_tile
from .base import BatchedLinalg, fma

__all__ = ["BLOCK", "ColumnBlocks", "Columns"]

#: Columns of a block: as many rows of the factor are packed in the first cache, a panel at a time.
BLOCK = 64


@dataclass(frozen=True)
class Columns:
    """The columns of a block, from a first to a last one, and where those behind it that it changes end."""

    first: Dim
    last: Dim
    end: Dim


class ColumnBlocks(BatchedLinalg):
    """Loops over blocks of columns of `w`; a block's rows behind it are packed in panels as wide as a register tile."""

    w: SSAValue
    packed: SSAValue

    def allocate_panels(self, code: LoopBuilder, columns: Dim) -> None:
        """Memory for rows of a block that are as long as all columns."""
        registers = int(self.context.costs.machine.vector_registers)
        parts = 2 if self.element.is_complex else 1
        self.tile = register_tile(self.rows, columns, self.width, max(4, registers // parts))
        self.panel = self.width * self.tile.vectors
        self.packed = self.scratch(code, self.element, (columns + (self.panel - 1)) // self.panel, BLOCK, self.panel)

    def by_blocks(self, code: LoopBuilder, end: Dim, write: Callable[[LoopBuilder, Columns], None]) -> None:
        """What `write` adds for one block of the matrix's columns after another, where all columns end before `end`."""
        with code.for_(0, (self.rows + (BLOCK - 1)) // BLOCK) as (c, number):
            first = c.materialize_dim(number * BLOCK)
            last = c.materialize_dim(minimum(self.rows, first + BLOCK))
            write(c, Columns(first, last, end))

    def pack_rows(self, code: LoopBuilder, columns: Columns) -> None:
        """``packed[k, j] = w[k, j]`` for the rows of a block, behind it."""
        wide = code.materialize_dim(maximum(0, columns.end - columns.last))
        with code.for_(0, (wide + (self.panel - 1)) // self.panel) as (c, panel):
            across = c.materialize_dim(minimum(wide - panel * self.panel, self.panel))
            with c.for_(0, columns.last - columns.first) as (d, k), self.lanes(d, 0, across) as (e, j):
                found = e.load(self.w, [columns.first + k, columns.last + panel * self.panel + j])
                e.store(found, self.packed, [panel, k, j])

    def place(self, columns: Columns, k: Dim, j: Dim) -> list[Dim]:
        """Where the element of row `k` of a block and column `j` behind it is packed."""
        behind = j - columns.last
        return [behind // self.panel, k - columns.first, behind % self.panel]

    def update(
        self, code: LoopBuilder, columns: Columns, factor: Callable[[LoopBuilder, Dim, Dim], Value], is_lower: bool
    ) -> None:
        """``w[i, j] += factor(i, k) * packed[k, j]`` behind a block, for one of its columns `k` after another.

        Of what `is_lower`, only the tiles that have elements on the diagonal or below it.
        """
        tile, w, n = self.tile, self.w, self.rows
        wide = code.materialize_dim(maximum(0, columns.end - columns.last))
        with code.for_(0, (wide + (self.panel - 1)) // self.panel) as (c, panel):
            across = c.materialize_dim(minimum(wide - panel * self.panel, self.panel))
            above = panel * self.panel // tile.rows if is_lower else dim(0)
            with c.for_(above, (n - columns.last + (tile.rows - 1)) // tile.rows) as (d, number):
                top = d.materialize_dim(columns.last + number * tile.rows)
                with (
                    d.for_(0, minimum(n - top, tile.rows), unroll=tile.rows) as (e, r),
                    e.for_(0, across, self.width, tile.vectors) as (f, j),
                ):
                    at = [top + r, columns.last + panel * self.panel + j]

                    def step(g: LoopBuilder, k: Dim, total: Value) -> Value:
                        taken = factor(g, top + r, columns.first + k)
                        return fma(g, taken, g.load(self.packed, [panel, k, j]), total)

                    f.store(f.carried_loop(0, columns.last - columns.first, f.load(w, at), step), w, at)
