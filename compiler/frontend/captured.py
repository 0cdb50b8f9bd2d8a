"""What a traced function took from around itself, and how to see that it still means the same."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["MISSING", "Captured", "Place", "cell_content", "place_of"]

#: Stands for a variable without a value.
MISSING: Any = type("Missing", (), {"__repr__": lambda _: "<no value>"})()


@dataclass(frozen=True, eq=False)
class Place:
    """The content of a cell, or what a dict of globals has under `name`; from there along attributes."""

    container: types.CellType | dict[str, Any]
    name: str | None
    attributes: tuple[str, ...] = ()

    @staticmethod
    def inside(owner: Any, attribute: str) -> Place:
        """An attribute of an object that is known."""
        return Place(types.CellType(owner), None, (attribute,))

    def value(self) -> Any:
        """What is there now; MISSING where nothing is."""
        if isinstance(self.container, dict):
            found = self.container.get(self.name or "", MISSING)
        else:
            found = cell_content(self.container)
        for attribute in self.attributes:
            found = getattr(found, attribute, MISSING)
        return found


@dataclass(frozen=True, eq=False)
class Captured:
    """A value that a function read under the dotted name `text`.

    Where `identical`, only the same object is the same; otherwise an equal one of the same type is, too.
    """

    text: str
    place: Place
    value: Any
    identical: bool

    def holds(self) -> bool:
        """Whether the name still stands for that value."""
        now = self.place.value()
        if self.identical:
            return now is self.value
        same = type(now) is type(self.value)
        return same and bool(now == self.value or (now != now and self.value != self.value))

    def __str__(self) -> str:
        if self.identical:
            return f"{self.text} is the same {type(self.value).__name__}"
        return f"{self.text} == {self.value!r}"


def place_of(function: Callable[..., Any], text: str) -> Place | None:
    """Where a function finds a dotted name; None where that begins with no global or closure variable."""
    name, *attributes = text.split(".")
    if not all(part.isidentifier() for part in (name, *attributes)):
        return None
    code = function.__code__
    if name in code.co_freevars:
        cell = (function.__closure__ or ())[code.co_freevars.index(name)]
        return Place(cell, None, tuple(attributes))
    if name in code.co_varnames or name in code.co_cellvars:
        return None
    return Place(function.__globals__, name, tuple(attributes))


def cell_content(cell: types.CellType) -> Any:
    """The value of a closure variable, or MISSING."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING
