"""Where elements of a left operand lie that was packed for tiles of rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from xdsl.ir import SSAValue

from ....dialects.dims.dims import Dim, dim

__all__ = ["PackedLhs"]


@dataclass(frozen=True)
class PackedLhs:
    """Tiles in memory, from the one numbered `first`; `before` are the indices that stand before a tile's.

    In a tile rows lie side by side for each place along K (`across`), or each row by itself.
    """

    memory: SSAValue
    before: tuple[Dim, ...] = ()
    first: Dim = field(default_factory=lambda: dim(0))
    across: bool = False

    def index(self, tile: Dim, row: Dim, k: Dim) -> list[Dim]:
        """The indices of an element: tile, row of it, place in a block of K."""
        return [*self.before, self.first + tile, *((k, row) if self.across else (row, k))]

    def of(self, block: Dim, first: Dim) -> PackedLhs:
        """The tiles of a block of K from one on."""
        return replace(self, before=(block,), first=first)
