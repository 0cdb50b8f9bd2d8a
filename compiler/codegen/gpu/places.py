"""Memory that is touched, or not, where a condition holds: stores by a branch, which threads take or leave."""

from __future__ import annotations

from collections.abc import Callable

from ..emit.text import IrText

__all__ = ["BranchedPlaces"]


class BranchedPlaces:
    """Stores in blocks of their own, loads of zeros."""

    def __init__(self, text: IrText):
        self.text = text

    def store_where(self, condition: str | None, pointer: str, write: Callable[[str], None]) -> None:
        if condition is None:
            write(pointer)
            return
        inside, after = self.text.label("where"), self.text.label("done")
        self.text.branch_if(condition, inside, after)
        self.text.start(inside)
        self.text.frames.append({})
        write(pointer)
        self.text.frames.pop()
        self.text.branch(after)
        self.text.start(after)

    def or_zeros(self, condition: str, pointer: str) -> str:
        zeros = "@zeros = private addrspace(1) constant [64 x i8] zeroinitializer, align 64"
        self.text.module.globals["zeros"] = zeros
        chosen = f"select i1 {condition}, ptr {pointer}, ptr addrspacecast (ptr addrspace(1) @zeros to ptr)"
        return self.text.ins(chosen)
