"""Deques that a staged function makes: lists that get longer and shorter at both ends, up to a largest length."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from .growing_lists import GrowingList

__all__ = ["StagedDeque"]


class StagedDeque(GrowingList):
    """A deque, of which compiled code may know alone how long it is.  Its parts are as those of a list."""

    #: What Python says that it is.
    __class__ = property(lambda self: deque)  # type: ignore[assignment]
    empty_text = "pop from an empty deque"

    def __init__(self, iterable: Iterable[Any] = (), maxlen: Any = None):
        """Sizes become facts: how long a deque may be at most is a number of the program."""
        if maxlen is not None:
            maxlen = operator.index(maxlen)
            if maxlen < 0:
                raise ValueError("maxlen must be non-negative")
        super().__init__()
        self._most = maxlen
        self.extend(iterable)

    @property
    def maxlen(self) -> int | None:
        return self._most

    def append(self, item: Any) -> None:
        super().append(item)
        self._shorten(at_begin=True)

    def appendleft(self, item: Any) -> None:
        super().insert(0, item)
        self._shorten(at_begin=False)

    def insert(self, at: Any, item: Any) -> None:
        if self._most is not None:
            if self.stacked:
                self._unknown()
            if len(self) >= self._most:
                raise IndexError("deque already at its maximum size")
        super().insert(at, item)

    def extend(self, items: Any) -> None:
        if getattr(items, "stacked", False):
            super().extend(items)
            self._shorten(at_begin=True)
            return
        for item in [*items]:
            self.append(item)

    def extendleft(self, items: Any) -> None:
        for item in [*items]:
            self.appendleft(item)

    def popleft(self) -> Any:
        return self._taken(0)

    def pop(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._taken(-1)

    def _taken(self, at: int) -> Any:
        if not self.stacked and not len(self):
            raise IndexError(self.empty_text)
        return super().pop(at)

    def rotate(self, n: Any = 1) -> None:
        if self.stacked:
            self._unknown()
        if len(self):
            at = -operator.index(n) % len(self)
            parts = self.parts()
            self.set_parts([*parts[at:], *parts[:at]])

    def copy(self) -> StagedDeque:
        made = StagedDeque((), self._most)
        made.set_parts(super().copy().parts())
        return made

    @property
    def sort(self) -> NoReturn:  # pyright: ignore[reportIncompatibleMethodOverride]
        raise AttributeError("'collections.deque' object has no attribute 'sort'")

    def __mul__(self, times: Any) -> StagedDeque:  # pyright: ignore[reportIncompatibleMethodOverride]
        made = self.copy()
        made *= times
        return made

    __rmul__ = __mul__  # pyright: ignore[reportAssignmentType]

    def __imul__(self, times: Any) -> StagedDeque:  # pyright: ignore[reportIncompatibleMethodOverride]
        if self.stacked:
            self._unknown()
        self.set_parts(self.parts() * operator.index(times))
        self._shorten(at_begin=True)
        return self

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, deque):
            raise TypeError(f'can only concatenate deque (not "{other.__class__.__name__}") to deque')
        made = self.copy()
        made.extend(other)
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, deque) and super().__eq__([*other])

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            raise TypeError("sequence index must be integer, not 'slice'")
        return super().__getitem__(key)

    def _shorten(self, *, at_begin: bool) -> None:
        """Leave out, at an end, what is more than there may be."""
        if self._most is None:
            return
        if not self.stacked:
            parts = self.parts()
            keep = max(len(parts) - self._most, 0)
            self.set_parts(parts[keep:] if at_begin else parts[: len(parts) - keep])
            return
        items = self.movable()
        part = slice(-self._most, None) if at_begin else slice(None, self._most)
        self.set_parts([items.part(part)] if self._most else [])


def _order(name: str, sign: str) -> Callable[..., Any]:
    """A comparison by order, which there is of two deques only."""
    of_lists = getattr(GrowingList, name)

    def compare(self: StagedDeque, other: Any) -> Any:
        if not isinstance(other, deque):
            kind = other.__class__.__name__
            raise TypeError(f"'{sign}' not supported between instances of 'collections.deque' and '{kind}'")
        return of_lists(self, other)

    compare.__name__ = name
    return compare


for _name, _sign in (("__lt__", "<"), ("__le__", "<="), ("__gt__", ">"), ("__ge__", ">=")):
    setattr(StagedDeque, _name, _order(_name, _sign))
