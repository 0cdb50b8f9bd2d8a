"""Rows of adjacent elements from and to memory: whole, or under a mask where a guard or a loop's end cuts them.

Where stores under masks are slow, rows that the end of a loop cuts go to memory by halves, quarters, … where it is
known how many elements are left, and in short loops, by a branch for each bit of their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith

from .....dialects.loop import LoadOp, StoreOp
from ..text import IrText
from ..values.lanes import Lanes
from .nontemporal import NontemporalStores

__all__ = ["MaskedRows", "PendingStores", "row_mask", "stores_what_is_there"]


@dataclass
class PendingStores:
    """Rows of one store, each of `width` elements, not written yet: values and addresses.

    `alignment_mask` is as `NontemporalStores.streaming` says.  So many after one another are neighbours in memory
    (`beside`).  Those that are `cut` where the loop ends, or `guarded`, have masks of the elements that are there,
    which are the last ones of rows that are `backwards`.
    """

    alignment_mask: str | None
    align: int
    beside: int
    width: int
    backwards: bool = False
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


def stores_what_is_there(op: StoreOp) -> bool:
    """Whether lanes of a store choose between a new value and what they loaded from there.

    LLVM makes that a store under a mask, unless something that it cannot see through (``freeze``) is in between.
    """
    chosen = op.value.owner
    if not isinstance(chosen, arith.SelectOp):
        return False
    sources = (choice.owner for choice in (chosen.lhs, chosen.rhs))
    return any(isinstance(source, LoadOp) and source.buffer is op.buffer for source in sources)


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
            self._store_cut(rows)
            return
        # The processor foresees the branch; a store under a mask costs more.
        whole, partial, after = text.label("whole"), text.label("partial"), text.label("done")
        text.branch_if(text.ins(f"icmp sge i64 {self.lanes.rest}, {rows.width}"), whole, partial)
        text.start(whole)
        self.nontemporal.store(rows.type, [row[:2] for row in rows.cut], rows.align, rows.alignment_mask, rows.beside)
        text.branch(after)
        text.start(partial)
        self._store_cut(rows)
        text.branch(after)
        text.start(after)

    def _store_cut(self, rows: PendingStores) -> None:
        """The first elements of rows that the loop's end cuts."""
        count = self.lanes.left
        if not rows.cut or count is None or rows.backwards or self.text.target.has_fast_masked_stores:
            self._store_masked(rows, rows.cut)
        elif count.isdigit():
            self._store_first(rows, int(count))
        elif self.lanes.is_short:
            self._store_halves(rows, count)
        else:
            self._store_masked(rows, rows.cut)

    def _store_first(self, rows: PendingStores, count: int) -> None:
        """So many first elements of rows, by the halves, quarters, … that make them up."""
        text, total = self.text, int(rows.type[1:].partition(" ")[0])
        scalar, each, start = rows.type[1:-1].partition(" x ")[2], total // rows.width, 0
        for size in (rows.width >> k for k in range(rows.width.bit_length())):
            if start + size > count:
                continue
            part = range(start * each, (start + size) * each)
            for value, pointer, _ in rows.cut:
                place = text.ins(f"getelementptr {scalar}, ptr {pointer}, i64 {part.start}")
                chosen = text.shuffle(rows.type, value, "poison", part)
                text.put(f"store <{len(part)} x {scalar}> {chosen}, ptr {place}, align {rows.align}")
            start += size

    def _store_halves(self, rows: PendingStores, count: str) -> None:
        """Whole rows, or those of their halves, quarters, … that make up the first `count` elements."""
        text, total = self.text, int(rows.type[1:].partition(" ")[0])
        scalar, each = rows.type[1:-1].partition(" x ")[2], total // rows.width
        left = text.call("smin", 1, "i64", count, str(rows.width))
        here = [value for value, _, _ in rows.cut]
        low, high, ty, done = here, here, rows.type, text.label("stored")
        for size in (rows.width >> k for k in range(rows.width.bit_length())):
            if size < rows.width:
                halves = range(0, size * each), range(size * each, 2 * size * each)
                low, high = ([text.shuffle(ty, v, "poison", half) for v in here] for half in halves)
            ty, around, part, after = f"<{size * each} x {scalar}>", text.block, text.label("part"), text.label("after")
            first = text.ins(f"mul i64 {text.ins(f'and i64 {left}, {-2 * size}')}, {each}")
            text.branch_if(text.ins(f"icmp ne i64 {text.ins(f'and i64 {left}, {size}')}, 0"), part, after)
            text.start(part)
            for value, (_, pointer, _) in zip(low, rows.cut):
                place = text.ins(f"getelementptr {scalar}, ptr {pointer}, i64 {first}")
                text.put(f"store {ty} {value}, ptr {place}, align {rows.align}")
            text.branch(done if size == rows.width else after)
            text.start(after)
            if 1 < size < rows.width:
                here = [text.ins(f"phi {ty} [{h}, %{part}], [{v}, %{around}]") for v, h in zip(low, high)]
        text.branch(done)
        text.start(done)

    def _store_masked(self, rows: PendingStores, masked: Sequence[tuple[str, str, str]]) -> None:
        """What masks leave out stays as it is."""
        for value, pointer, mask in masked:
            total, place = rows.type[1:].partition(" ")[0], f"align {rows.align} {pointer}"
            self.text.masked(
                "store", rows.type, "void", [(rows.type, value), ("ptr", place), (f"<{total} x i1>", mask)]
            )
