"""Iterators in a staged function: how far one is is part of the function's state, so that it can be put back.

A part of a statement runs several times while it is staged, and takes from an iterator each time what Python would take
there: what is stored meanwhile is seen.  So an iterator has a place, a text, as no compiled code can carry it: a loop
that moves an iterator is none of compiled code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from ...diagnostics import TxcError, user_loc

__all__ = ["Consumer", "GoneThrough", "PlacedIterator"]

#: The place of an iterator that has no more items.
_ENDED = "ended"
#: Of one that a loop of compiled code, or another iterator, goes through.
_TAKEN = "taken"


class GoneThrough:
    """What loops go through: it holds arrays and lists, as a list does."""


class Consumer:
    """The body of a loop over what a generator yields, and the variables that it shares with the function around it.

    `take` is called with each item, and says whether the loop is over behind it.
    """

    def __init__(self, take: Callable[[Any], Any], roots: Mapping[str, Any]):
        self.take, self.roots = take, roots


class PlacedIterator(ABC):
    """An iterator that can be put back: its attributes are state."""

    def __init__(self) -> None:
        self.place = "0"

    @abstractmethod
    def runs(self) -> list[Any]:
        """What of the program's runs when an item is taken: functions, and iterators of its own classes."""

    @abstractmethod
    def item(self, number: int) -> Any:
        """The item of a number, which follows the one before; StopIteration behind the last one."""

    def __iter__(self) -> PlacedIterator:
        return self

    def __next__(self) -> Any:
        number = self.number()
        try:
            item = self.item(number)
        except StopIteration:
            self.end()
            raise
        self.place = str(number + 1)
        return item

    def number(self) -> int:
        """The number of the next item; StopIteration where there is none."""
        if self.place == _ENDED:
            raise StopIteration
        if self.place == _TAKEN:
            raise TxcError(
                "how far a loop of compiled code has gone through an iterator is not known",
                user_loc(),
                "make a new iterator, or a list of its items first",
                "TX0315",
            )
        return int(self.place)

    def end(self) -> None:
        """Leave no items."""
        self.place = _ENDED

    def taken(self) -> None:
        """Let nobody but who goes through it ask for items."""
        self.place = _TAKEN
