"""Iterators in a staged function: how far one is is part of the function's state, so that it can be put back.

A part of a statement runs several times while it is staged, and takes from an iterator each time what Python would take
there: what is stored meanwhile is seen.  The place of an iterator is the number of its next item, which branches merge
as they merge other ints, and loops carry where compiled code can find an item by a number that it computes.  A loop
that moves any other iterator is none of compiled code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from ...diagnostics import TxcError, user_loc

__all__ = ["ENDED", "Consumer", "GoneThrough", "PlacedIterator"]

#: The place of an iterator that has no more items.
ENDED = -1
#: Of one that a loop of compiled code, or another iterator, goes through: a text, which nothing carries.
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

    #: Whether `item` takes a number that only the compiled function knows.
    by_number = False

    def __init__(self) -> None:
        self.place: Any = 0

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
        self.place = number + 1
        return item

    def number(self) -> int:
        """The number of the next item, where that is known; StopIteration where there is none."""
        if not isinstance(self.place, int):
            raise self.unknown()
        if self.place == ENDED:
            raise StopIteration
        return self.place

    def unknown(self) -> TxcError:
        """The error of who asks for an item whose number is not known."""
        text = "how far a loop or branch of compiled code has gone through an iterator is not known"
        return TxcError(text, user_loc(), "make a new iterator, or a list of its items first", "TX0315")

    @property
    def is_new(self) -> bool:
        """Whether nobody took an item."""
        return isinstance(self.place, int) and self.place == 0

    def end(self) -> None:
        """Leave no items."""
        self.place = ENDED

    def taken(self) -> None:
        """Let nobody but who goes through it ask for items."""
        self.place = _TAKEN
