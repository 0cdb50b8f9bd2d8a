"""Python's iterators in a staged function: how far they are is part of its state, so that it can be put back.

A part of a statement runs several times while it is staged, and what it takes from an iterator has to be there again.
So what it takes is kept; where it stands is an attribute (`state.held`), and a text, as no compiled code can carry it:
a loop that moves an iterator is none of compiled code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = ["GoneThrough", "KeptIterator", "makes_iterator", "with_kept_items"]


class GoneThrough:
    """What loops go through: it holds arrays and lists, as a list does."""


class _Taken:
    """What was taken from an iterator so far; never put back."""

    def __init__(self, source: Iterator[Any]):
        self.source, self.items = source, []

    def at(self, number: int) -> Any:
        while len(self.items) <= number:
            self.items.append(next(self.source))
        return self.items[number]


class KeptIterator:
    """An iterator whose place is a text, and whose items are kept."""

    def __init__(self, source: Iterable[Any]):
        self._taken = _Taken(iter(source))
        self.place = "0"

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        number = int(self.place)
        item = self._taken.at(number)
        self.place = str(number + 1)
        return item


def makes_iterator(called: Any) -> bool:
    """Whether a call gives an iterator of Python's: `iter`, `zip`, `map`, what is in `itertools`."""
    owner = getattr(called, "__self__", None)
    return called is iter or any(isinstance(c, type) and hasattr(c, "__next__") for c in (called, owner))


def with_kept_items(make: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives iterators, giving such whose place can be put back."""

    def made(*args: Any, **kwargs: Any) -> Any:
        found = make(*args, **kwargs)
        keeps = isinstance(found, KeptIterator) or not isinstance(found, Iterator)
        return found if keeps else KeptIterator(found)

    return made
