"""Memory that is touched, or not, where a condition holds: by choosing a pointer, so that no branch depends on data."""

from __future__ import annotations

from collections.abc import Callable

from ..emit.text import IrText

__all__ = ["ChosenPlaces"]


class ChosenPlaces:
    """Pointers, or places that nobody cares for."""

    def __init__(self, text: IrText):
        self.text = text
        self._scratch: str | None = None

    def store_where(self, condition: str | None, pointer: str, write: Callable[[str], None]) -> None:
        """Write to `pointer` where an i1 holds, else to the stack, where nobody reads."""
        if condition is not None:
            if self._scratch is None:
                self._scratch = self.text.alloca("i8", 1024)
            pointer = self.text.ins(f"select i1 {condition}, ptr {pointer}, ptr {self._scratch}")
        write(pointer)

    def or_zeros(self, condition: str, pointer: str) -> str:
        zeros = "@zeros = private unnamed_addr constant [1024 x i8] zeroinitializer, align 64"
        self.text.module.globals["zeros"] = zeros
        return self.text.ins(f"select i1 {condition}, ptr {pointer}, ptr @zeros")
