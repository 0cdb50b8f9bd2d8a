"""Rows of adjacent elements from and to memory: whole, or under a mask where a guard or a loop's end cuts them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..text import IrText
from ..values.lanes import Lanes
from .nontemporal import NontemporalStores

__all__ = ["MaskedRows", "PendingStores", "row_mask"]


@dataclass
class PendingStores:
    """Rows of one store, each of `width` elements, not written yet: values and addresses.

    `alignment_mask` is as `NontemporalStores.streaming` says.  So many after one another are neighbours in memory
    (`beside`).  Those that are `cut` where the loop ends, or `guarded`, have masks of the elements that are there.
    """

    alignment_mask: str | None
    align: int
    beside: int
    width: int
    type: str = ""
    whole: list[tuple[str, str]] = field(default_factory=list)
    cut: list[tuple[str, str, str]] = field(default_factory=list)
    guarded: list[tuple[str, str, str]] = field(default_factory=list)

    def alone(self) -> PendingStores:
        """For one row of the same store that has no neighbours."""
        return PendingStores(self.alignment_mask, self.align, 1, self.width)

    def add(self, ty: str, value: str, pointer: str, mask: str | None, cut: bool) -> PendingStores:
        """One more; `cut` says that the loop's end alone makes its mask."""
        self.type = ty
        if mask is None:
            self.whole.append((value, pointer))
        else:
            (self.cut if cut else self.guarded).append((value, pointer, mask))
        return self


def row_mask(text: IrText, mask: str, width: int, backwards: bool, each: int) -> str:
    """A mask of lanes in the order of memory, for elements of `each` numbers."""
    if not backwards and each == 1:
        return mask
    numbers = range(width)[::-1] if backwards else range(width)
    return text.shuffle(f"<{width} x i1>", mask, "poison", [k for k in numbers for _ in range(each)])


class MaskedRows:
    """Rows in memory, of `text`; whole ones go there by `nontemporal`."""

    def __init__(self, text: IrText, lanes: Lanes, nontemporal: NontemporalStores):
        self.text, self.lanes, self.nontemporal = text, lanes, nontemporal

    def load(self, ty: str, pointer: str, mask: str | None, backwards: bool, align: int, each: int = 1) -> str:
        """Adjacent elements of `each` numbers; zeros for the lanes that a mask leaves out."""
        total = int(ty[1:].partition(" ")[0])
        width = total // each
        if mask is None:
            return self.text.ins(f"load {ty}, ptr {pointer}, align {align}")
        mask = row_mask(self.text, mask, width, backwards, each)
        return self.text.masked("load", ty, ty, [("ptr", f"align {align} {pointer}"), (f"<{total} x i1>", mask),
                           (ty, "zeroinitializer")])  # fmt: skip

    def store(self, rows: PendingStores) -> None:
        """The rows that have waited, all at once, so that one test serves them all."""
        text = self.text
        if rows.whole:
            self.nontemporal.store(rows.type, rows.whole, rows.align, rows.alignment_mask, rows.beside)
        self._store_masked(rows, rows.guarded)
        if not rows.cut or self.lanes.rest is None:
            self._store_masked(rows, rows.cut)
            return
        # The processor foresees the branch; a store under a mask costs more.
        whole, partial, after = text.label("whole"), text.label("partial"), text.label("done")
        text.branch_if(text.ins(f"icmp sge i64 {self.lanes.rest}, {rows.width}"), whole, partial)
        text.start(whole)
        self.nontemporal.store(rows.type, [row[:2] for row in rows.cut], rows.align, rows.alignment_mask, rows.beside)
        text.branch(after)
        text.start(partial)
        self._store_masked(rows, rows.cut)
        text.branch(after)
        text.start(after)

    def _store_masked(self, rows: PendingStores, masked: Sequence[tuple[str, str, str]]) -> None:
        """What masks leave out stays as it is."""
        for value, pointer, mask in masked:
            total, place = rows.type[1:].partition(" ")[0], f"align {rows.align} {pointer}"
            self.text.masked(
                "store", rows.type, "void", [(rows.type, value), ("ptr", place), (f"<{total} x i1>", mask)]
            )
