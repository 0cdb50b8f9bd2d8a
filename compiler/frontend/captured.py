"""What a traced function took from around itself, and how to see that it still means the same."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["MISSING", "Captured", "cell_content", "look_up"]

#: Stands for a variable without a value.
MISSING: Any = type("Missing", (), {"__repr__": lambda _: "<no value>"})()


def cell_content(cell: types.CellType) -> Any:
    """The value of a closure variable, or MISSING."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


@dataclass(frozen=True, eq=False)
class Captured:
    """A value that `function` read under the dotted name `text`.

    Where `identical`, only the same object is the same; otherwise an equal one of the same type is, too.
    """

    function: Callable[..., Any]
    text: str
    value: Any
    identical: bool

    def holds(self) -> bool:
        """Whether the name still stands for that value."""
        now = look_up(self.function, self.text)
        if self.identical:
            return now is self.value
        same = type(now) is type(self.value)
        return same and bool(now == self.value or (now != now and self.value != self.value))

    @property
    def place(self) -> tuple[types.CellType | dict[str, Any], str | None, tuple[str, ...]]:
        """Where it was found: a cell, or a dict and the name in it; then names of attributes."""
        name, *attributes = self.text.split(".")
        free = self.function.__code__.co_freevars
        if name in free:
            return (self.function.__closure__ or ())[free.index(name)], None, tuple(attributes)
        return self.function.__globals__, name, tuple(attributes)

    def __str__(self) -> str:
        relation = "is the same" if self.identical else "=="
        shown = type(self.value).__name__ if self.identical else repr(self.value)
        return f"{self.text} {relation} {shown}"


def look_up(function: Callable[..., Any], text: str) -> Any:
    """What a dotted name means now to a function, as a global or closure variable; MISSING where it means nothing."""
    name, *attributes = text.split(".")
    code = function.__code__
    if name in code.co_freevars:
        value = cell_content((function.__closure__ or ())[code.co_freevars.index(name)])
    else:
        value = function.__globals__.get(name, MISSING)
    for attribute in attributes:
        value = getattr(value, attribute, MISSING)
    return value
