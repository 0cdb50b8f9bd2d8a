"""Stores of whole vectors, past the caches where a buffer is too large for them and only written.

Only whole lines go that way: what is left of one that is written in part waits for memory, and a line of which some is
in a cache is taken out of it first, which costs several times what it saves (`benchmarks/log/`).
"""

from __future__ import annotations

from collections.abc import Sequence

from .....dialects.attributes import BufferInfo
from .....dialects.dims.dims import dim
from .....dialects.loop import StoreOp
from ..text import IrText
from ..values.index import IndexValues

__all__ = ["LINE", "NontemporalStores", "alignment_of"]

#: Bytes of a line.
LINE = 64


def alignment_of(storage: str) -> int:
    """The bytes that an element of an LLVM type is aligned to; a complex one as its parts are."""
    known = {"float": 4, "double": 8, "<2 x float>": 4, "<2 x double>": 8}
    return known.get(storage) or max(1, int(storage[1:]) // 8)


class NontemporalStores:
    """Stores of whole vectors of `text`."""

    def __init__(self, text: IrText, index: IndexValues):
        self.text, self.index = text, index
        #: Whether a store was non-temporal: other threads see it after a fence only.
        self.needs_fence = False

    def store(
        self, ty: str, rows: Sequence[tuple[str, str]], align: int, alignment_mask: str | None, beside: int
    ) -> None:
        """Store whole vectors; non-temporal where the addresses have no bit of `alignment_mask` (see there).

        They do where so many `beside` each other, one after another, fill whole lines.
        """
        text = self.text

        def store(suffix: str) -> None:
            for value, pointer in rows:
                text.put(f"store {ty} {value}, ptr {pointer}, {suffix}")

        if alignment_mask is None:
            store(f"align {align}")
            return
        count, _, element = ty[1:-1].partition(" x ")
        size = int(count) * alignment_of(element)
        if beside * size % LINE:
            store(f"align {align}")
            return
        low = "0"
        for k, (_, pointer) in enumerate(rows):
            address = text.ins(f"ptrtoint ptr {pointer} to i64")
            start = text.ins(f"sub i64 {address}, {k * size}") if k else address
            low = text.ins(f"or i64 {low}, {start}") if k else start
        past, usual, after = text.label("past"), text.label("usual"), text.label("stored")
        text.branch_if(text.ins(f"icmp eq i64 {text.ins(f'and i64 {low}, {alignment_mask}')}, 0"), past, usual)
        text.start(past)
        store(f"align {size}, !nontemporal !{{i32 1}}")
        self.needs_fence = True
        text.branch(after)
        text.start(usual)
        store(f"align {align}")
        text.branch(after)
        text.start(after)

    def alignment_mask(self, op: StoreOp, info: BufferInfo, vector_bytes: int) -> str | None:
        """The address bits that must be 0 for non-temporal stores: those within a line, or all in small buffers.

        None where the operation or the target has no such stores.
        """
        has_vectors = self.text.target.has_nontemporal_stores and vector_bytes * 8 in (128, 256, 512)
        if op.nontemporal is None or not has_vectors:
            return None
        least = op.nontemporal.value.data
        size = dim(info.dtype.bytes)
        for extent in info.dims:
            size = size * extent
        aligned = str(LINE - 1)
        if size.const is not None:
            return aligned if size.const >= least else None
        scope = self.index.scopes[self.index.depth(size)]
        key = size, least
        found = scope.alignment_mask.get(key)
        if found is None:
            large = self.text.ins(f"icmp sge i64 {self.index.value(size)}, {least}", scope.prelude)
            found = self.text.ins(f"select i1 {large}, i64 {aligned}, i64 -1", scope.prelude)
            scope.alignment_mask[key] = found
        return found
