"""Ends of a function before its end: for the sake of an index that is outside of a buffer, or of a signal."""

from __future__ import annotations

from ..emit.text import IrText
from .frame import BOUNDS, SIGNALS, Frame

__all__ = ["CpuExits"]


class CpuExits:
    """The ways out of `text`; they go to the block `label`, "" where there are none."""

    def __init__(self, text: IrText, frame: Frame):
        self.text, self.frame, self.label = text, frame, ""
        #: Whether there is a way out for indices, and for signals.
        self._checks = self._polls = False

    def bounds_record(self) -> str:
        return self.frame.runtime(BOUNDS, "ptr")

    def leave(self) -> None:
        self._checks = True
        self.text.branch(self._early())

    def _early(self) -> str:
        self.label = self.label or self.text.label("leave")
        return self.label

    def poll(self) -> None:
        """Leave if a signal asks for it."""
        text = self.text
        self._polls = True
        pair = self.frame.runtime(SIGNALS, "ptr")
        word = text.ins(f"load atomic i64, ptr {pair} monotonic, align 8")
        ask, on = text.label("ask"), text.label("on")
        text.branch_if(text.ins(f"icmp ne i64 {word}, 0"), ask, on)
        text.start(ask)
        resolve = text.ins(f"load ptr, ptr {text.ins(f'getelementptr i8, ptr {pair}, i64 8')}, align 8")
        text.branch_if(text.ins(f"call i1 {resolve}(ptr {pair})"), self._early(), on)
        text.start(on)

    def leave_after(self, called: CpuExits) -> None:
        """Leave where a function that was called, once or for chunks, ended before its end."""
        if called._checks:
            self._leave_where_noted()
        if called._polls:
            self.poll()

    def _leave_where_noted(self) -> None:
        text = self.text
        noted = text.ins(f"load atomic ptr, ptr {self.bounds_record()} monotonic, align 8")
        leaving, after = text.label("noted"), text.label("fine")
        text.branch_if(text.ins(f"icmp ne ptr {noted}, null"), leaving, after)
        text.start(leaving)
        self.leave()
        text.start(after)
