"""What lies outside of a function for the CPU: its arguments, the runtime, and values of a function around it."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from ..emit.text import IrText

__all__ = ["ARENA", "BOUNDS", "PARALLEL", "POOL", "SIGNALS", "THREADS", "THREAD_ARENA", "THREAD_STRIDE", "Frame"]

#: Where the fields of the runtime lie (`function.py`).
PARALLEL, POOL, THREADS, ARENA, THREAD_ARENA, THREAD_STRIDE, BOUNDS, SIGNALS = (8 * i for i in range(8))


class Frame:
    """Loads of `text` when it begins: from ``%args``, ``%symbols`` and ``%runtime``, or, of a function inside another,
    from the ``%context`` that `parent` fills."""

    def __init__(self, text: IrText, parent: Frame | None):
        self.text, self.parent = text, parent
        #: The fields of the context: types, and registers of the parent.
        self._captured: list[tuple[str, str]] = []
        self._capture_of: dict[Hashable, str] = {}
        self._runtime: dict[int, str] = {}

    def field(self, base: str, offset: int, type_: str) -> str:
        """A field of a struct, loaded at the function's entry."""
        entry = self.text.entry
        at = self.text.ins(f"getelementptr i8, ptr {base}, i64 {offset}", entry) if offset else base
        return self.text.ins(f"load {type_}, ptr {at}, align 8", entry)

    def capture(self, key: Hashable, type_: str, outside: Callable[[], str]) -> str:
        """A value of the parent, passed through the context."""
        found = self._capture_of.get(key)
        if found is None:
            self._captured.append((type_, outside()))
            found = self._capture_of[key] = self.field("%context", 8 * (len(self._captured) - 1), type_)
        return found

    def runtime(self, offset: int, type_: str) -> str:
        """A field of the runtime."""
        found = self._runtime.get(offset)
        if found is None:
            found = self._runtime[offset] = self.field(self.runtime_pointer(), offset, type_)
        return found

    def runtime_pointer(self) -> str:
        return "%runtime" if self.parent is None else self.capture("runtime", "ptr", self.parent.runtime_pointer)

    def context(self, child: Frame) -> str:
        """Memory with what a child takes from here."""
        context = self.text.alloca("i64", max(1, len(child._captured)))
        for i, (type_, value) in enumerate(child._captured):
            at = self.text.ins(f"getelementptr i64, ptr {context}, i64 {i}") if i else context
            self.text.put(f"store {type_} {value}, ptr {at}, align 8")
        return context
