"""Lists to which loops of compiled code append: each iteration the same number of items of one type.

Behind such a loop the list has a `Stack` among its parts: the items that the loop appended, as the rows of one array.
It still is the list that it was, to which Python appends more; but how long it is only the compiled function knows, so
what Python would ask item by item is asked of all items as one array (`whole`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ...dialects.dims import dim
from ...dialects.registry import OpError
from ..diagnostics import located
from .apply import apply, as_tensor, stack
from .creation import empty
from .symint import is_integer, symint
from .tensor import Tensor

__all__ = ["GrowingList", "Stack", "stack_for"]


class Stack:
    """Items that a loop appends to a list, as the rows of an array."""

    def __init__(self, rows: Tensor, weak: str):
        self.rows, self.weak = rows, weak

    def at(self, i: Any) -> Any:
        """An item: a number, or a view of its row."""
        row = self.rows[i]
        return Tensor(row.value, weak=self.weak) if not row.ndim else row


def stack_for(item: Tensor, count: Any) -> Stack:
    """Room for `count` items like one, which a loop fills."""
    rows = empty((count, *item.shape), item.dtype)
    return Stack(rows, item.weak if not item.ndim else "")


class Appending(NamedTuple):
    """A list while a loop is staged that appends to it: `each` items an iteration, of which `number` are over."""

    stack: Stack
    before: int
    each: int
    number: Any

    def previous(self, first: Any) -> Any:
        """The last item of the iteration before; of the first one `first`."""
        at = self.number * self.each - 1
        inside = apply("cwise_max", as_tensor(at), 0)
        return apply("select", as_tensor(at) < 0, first, self.stack.at(inside))


class GrowingList(list[Any]):
    """A list that a staged function makes.  Its parts are items, and stacks of items where `stacked`."""

    stacked = False
    appending: Appending | None = None

    def add(self, part: Stack) -> None:
        """Append the items of a loop."""
        super().append(part)
        self.stacked = True

    def set_parts(self, parts: Iterable[Any]) -> None:
        """Hold just these parts."""
        super().__setitem__(slice(None), parts)
        self.appending = None
        self.stacked = any(type(part) is Stack for part in super().__iter__())

    def begin(self, appending: Appending) -> None:
        """Be the list at the begin of an iteration that appends to it."""
        self.stacked, self.appending = True, appending

    def parts(self) -> list[Any]:
        return [*super().__iter__()]

    @property
    def length(self) -> Any:
        """The number of items."""
        if self.appending is not None:
            return self.appending.number * self.appending.each + len(self.parts())
        total = dim(0)
        for part in self.parts():
            total = total + (part.rows.dims[0] if type(part) is Stack else 1)
        return symint(total)

    def whole(self) -> Tensor:
        """All items as the rows of one array."""
        if self.appending is not None:
            self._unknown()
        rows: list[Tensor] = []
        single: list[Tensor] = []
        for part in [*self.parts(), None]:
            if single and (part is None or type(part) is Stack):
                rows.append(stack(single))
                single = []
            if type(part) is Stack:
                rows.append(part.rows)
            elif part is not None:
                single.append(as_tensor(part))
        return rows[0] if len(rows) == 1 else apply("concatenate", *rows, axis=0)

    @property
    def weak(self) -> str:
        """How weak all items are, where they are Python's numbers of one kind."""
        kinds = {part.weak if type(part) is Stack else as_tensor(part).weak for part in self.parts()}
        return kinds.pop() if len(kinds) == 1 else ""

    def at(self, i: Any) -> Any:
        """Item number `i`, which may be a run-time int."""
        parts = self.parts()
        if self.appending is not None:
            if i != -1 or not parts:
                self._unknown()
            return parts[-1] if len(parts) > self.appending.before else self.appending.previous(parts[-1])
        if len(parts) == 1:
            return parts[0].at(i)
        row = self.whole()[i]
        return row if row.ndim else Tensor(row.value, weak=self.weak)

    def __getitem__(self, key: Any) -> Any:
        if not self.stacked:
            return super().__getitem__(key)
        return self.at(key) if is_integer(key) or isinstance(key, Tensor) else self._unknown()

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function(*map(_plain, args), **{name: _plain(value) for name, value in kwargs.items()})

    def _unknown(self) -> Any:
        with located():
            raise OpError(
                "a list that a compiled loop appends to is as long as only the compiled function knows",
                "make one array of it with np.array, loop over it with for, or return it",
                "TX0315",
            )


def _plain(argument: Any) -> Any:
    if not isinstance(argument, GrowingList):
        return argument
    return argument.whole() if argument.stacked else argument.parts()


def _of_items(name: str) -> Callable[..., Any]:
    plain = getattr(list, name)

    def method(self: GrowingList, *args: Any, **kwargs: Any) -> Any:
        return self._unknown() if self.stacked else plain(self, *args, **kwargs)

    return method


for _name in (
    "__add__", "__contains__", "__delitem__", "__eq__", "__ge__", "__gt__", "__iadd__", "__imul__", "__iter__",
    "__le__", "__len__", "__lt__", "__mul__", "__ne__", "__reversed__", "__rmul__", "__setitem__", "copy", "count",
    "index", "insert", "pop", "remove", "reverse", "sort",
):  # fmt: skip
    setattr(GrowingList, _name, _of_items(_name))
