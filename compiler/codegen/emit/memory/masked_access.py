"""Rows of adjacent elements from and to memory: whole, or under a mask where a guard or a loop's end cuts them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .shuffle_load import SpreadWriter

__all__ = ["PendingStores", "RowWriter"]


@dataclass
class PendingStores:
    """Rows of one store, each of `width` elements, not written yet: values and addresses.

    `streaming` is as `StreamingWriter.streaming` says.  So many after one another are neighbours in memory (`beside`).
    Those that are `cut` where the loop ends, or `guarded`, have masks of the elements that are there.
    """

    streaming: str | None
    align: int
    beside: int
    width: int
    type: str = ""
    whole: list[tuple[str, str]] = field(default_factory=list)
    cut: list[tuple[str, str, str]] = field(default_factory=list)
    guarded: list[tuple[str, str, str]] = field(default_factory=list)

    def alone(self) -> PendingStores:
        """For one row of the same store that has no neighbours."""
        return PendingStores(self.streaming, self.align, 1, self.width)

    def add(self, ty: str, value: str, pointer: str, mask: str | None, cut: bool) -> PendingStores:
        """One more; `cut` says that the loop's end alone makes its mask."""
        self.type = ty
        if mask is None:
            self.whole.append((value, pointer))
        else:
            (self.cut if cut else self.guarded).append((value, pointer, mask))
        return self


class RowWriter(SpreadWriter):
    """Adds `load_row`, `store_rows` and what is `masked`."""

    def load_row(self, ty: str, pointer: str, mask: str | None, backwards: bool, align: int, each: int = 1) -> str:
        """Adjacent elements of `each` numbers; zeros for the lanes that a mask leaves out."""
        total = int(ty[1:].partition(" ")[0])
        width = total // each
        if mask is None:
            return self.text.ins(f"load {ty}, ptr {pointer}, align {align}")
        mask = self.row_mask(mask, width, backwards, each)
        return self.masked("load", ty, ty, [("ptr", f"align {align} {pointer}"), (f"<{total} x i1>", mask),
                           (ty, "zeroinitializer")])  # fmt: skip

    def row_mask(self, mask: str, width: int, backwards: bool, each: int) -> str:
        """A mask of lanes in the order of memory, for elements of `each` numbers."""
        if not backwards and each == 1:
            return mask
        numbers = range(width)[::-1] if backwards else range(width)
        return self.text.shuffle(f"<{width} x i1>", mask, "poison", [k for k in numbers for _ in range(each)])

    def store_rows(self, rows: PendingStores) -> None:
        """The rows that have waited, all at once, so that one test serves them all."""
        text = self.text
        if rows.whole:
            self.store_nontemporal(rows.type, rows.whole, rows.align, rows.streaming, rows.beside)
        self._store_masked(rows, rows.guarded)
        if not rows.cut or self.lanes.rest is None:
            self._store_masked(rows, rows.cut)
            return
        # The processor foresees the branch; a store under a mask costs more.
        whole, partial, after = text.label("whole"), text.label("partial"), text.label("done")
        text.branch_if(text.ins(f"icmp sge i64 {self.lanes.rest}, {rows.width}"), whole, partial)
        text.start(whole)
        self.store_nontemporal(rows.type, [row[:2] for row in rows.cut], rows.align, rows.streaming, rows.beside)
        text.branch(after)
        text.start(partial)
        self._store_masked(rows, rows.cut)
        text.branch(after)
        text.start(after)

    def _store_masked(self, rows: PendingStores, masked: Sequence[tuple[str, str, str]]) -> None:
        """What masks leave out stays as it is."""
        for value, pointer, mask in masked:
            total, place = rows.type[1:].partition(" ")[0], f"align {rows.align} {pointer}"
            self.masked("store", rows.type, "void", [(rows.type, value), ("ptr", place), (f"<{total} x i1>", mask)])

    def masked(self, name: str, ty: str, result: str, arguments: Sequence[tuple[str, str]]) -> str:
        """A masked memory intrinsic; returns its result's name where it has one."""
        text = self.text
        width = ty[1:].partition(" ")[0]
        pointers = f"v{width}p0" if name in ("gather", "scatter") else "p0"
        element = ty[1:-1].partition(" x ")[2]
        suffix = f"v{width}" + {"float": "f32", "double": "f64"}.get(element, element)
        full = f"llvm.masked.{name}.{suffix}.{pointers}"
        text.declare(full, result, [t for t, _ in arguments])
        call = f"call {result} @{full}({', '.join(f'{t} {v}' for t, v in arguments)})"
        if result == "void":
            text.put(call)
            return ""
        return text.ins(call)
