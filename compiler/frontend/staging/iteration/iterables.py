"""What staged loops run over: ranges with run-time bounds, rows of tensors, numbered, side by side and backwards.

Anything here has a `length`, which may be a run-time int, and gives its item `at` a number, which a loop counts.  What
Python iterates over itself stays as it is.
"""

from __future__ import annotations

import itertools
import types
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from .....dialects.registry import OpError
from ....diagnostics import located
from ...numpy.creation import arange
from ...state.containers.growing_lists import GrowingList
from ...state.iterators import GoneThrough
from ...state.lookup.places import inside
from ...tensor.apply import apply
from ...tensor.as_array import AsArray
from ...tensor.tensor import Tensor
from ...trace.symint import is_integer, sym_max, sym_min

__all__ = [
    "Backwards", "Elements", "Numbered", "Some", "StagedIterable", "StagedRange", "Zipped", "as_staged",
]  # fmt: skip


class StagedIterable(GoneThrough, ABC):
    """A sequence whose items exist when the compiled function runs."""

    @property
    @abstractmethod
    def length(self) -> Any:
        """The number of items: an int, or a run-time one."""

    @abstractmethod
    def at(self, i: Any) -> Any:
        """Item number `i`, an int or a run-time one."""

    def arrays(self) -> Iterator[types.CellType]:
        """Variables of the loop's own that hold the arrays it goes through, which the program may store into."""
        return iter(())

    def known(self) -> Sequence[Any] | None:
        """The items where their number is known while staging, each as it is when the loop gets there."""
        n = self.length
        return _InTurn(self, n) if isinstance(n, int) else None

    def as_fact(self) -> Sequence[Any]:
        """The items as `known` gives them; their number becomes a fact."""
        return _InTurn(self, int(self.length))

    def __iter__(self) -> Iterator[Any]:
        """For Python's own loops, in comprehensions: the length becomes a fact."""
        return map(self.at, range(int(self.length)))


class _InTurn(Sequence[Any]):
    """So many first items of an iterable, which are looked at when they are asked for, as Python's loops do."""

    def __init__(self, items: StagedIterable, length: int):
        self.items, self.length = items, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, i: Any) -> Any:
        if not 0 <= i < self.length:
            raise IndexError(i)
        return self.items.at(i)


class StagedRange(AsArray, StagedIterable):
    """``range`` whose bounds may be run-time ints or tensors of rank 0."""

    def __init__(self, start: Any, stop: Any, step: Any):
        self.start, self.stop, self.step = start, stop, step

    @property
    def bounds(self) -> tuple[Any, Any, Any]:
        return self.start, self.stop, self.step

    @property
    def length(self) -> Any:
        one = 1 if self.rises else -1
        count = (self.stop - self.start + self.step - one) // self.step
        return Tensor(apply("cwise_max", 0, count).value, weak="int") if self.of_tensors else sym_max(0, count)

    @property
    def rises(self) -> bool:
        if isinstance(self.step, Tensor):
            with located():
                raise OpError(
                    "the step of a range is a tensor, whose sign is not known",
                    "go over the range with for, or pass the step as an int argument of the function",
                    "TX0316",
                )
        return bool(self.step > 0)

    @property
    def of_tensors(self) -> bool:
        """Whether a bound is known only to the compiled function itself."""
        return any(isinstance(x, Tensor) for x in self.bounds)

    def is_inside(self, i: Any) -> Any:
        """Whether the range does not end before `i`, which is one of its numbers or the one behind them."""
        if isinstance(self.step, Tensor):
            return apply("select", self.step > 0, i < self.stop, i > self.stop)
        return i < self.stop if self.rises else i > self.stop

    def at(self, i: Any) -> Any:
        return self.start + i * self.step

    def __bool__(self) -> bool:
        return bool(self.length > 0)

    def __eq__(self, other: object) -> bool:
        return self.as_python() == (other.as_python() if isinstance(other, StagedRange) else other)

    __hash__ = StagedIterable.__hash__

    def __getitem__(self, key: Any) -> Any:
        if not (isinstance(key, Tensor) or is_integer(key)):
            return self.as_python()[key]
        known = self.known()
        if known is not None and isinstance(key, int):
            return known[key]
        return self.at(inside(key, self.length, "range object"))

    def count(self, value: Any) -> int:
        return self.as_python().count(value)

    def index(self, value: Any) -> int:
        return self.as_python().index(value)

    def as_python(self) -> range:
        """Python's own, for what is seldom asked of one: its bounds become facts."""
        return range(*map(int, self.bounds))

    def as_array(self) -> Tensor:
        """What NumPy makes of it."""
        return arange(self.start, self.stop, self.step)

    def as_fact(self) -> range:
        return self.as_python()

    def known(self) -> range | None:
        if all(is_integer(x) and isinstance(x, int) for x in (self.start, self.stop, self.step)):
            return range(self.start, self.stop, self.step)
        return None


class Elements(StagedIterable):
    """The rows of a tensor, each a view."""

    def __init__(self, tensor: Tensor):
        self._tensor = types.CellType(tensor)

    @property
    def length(self) -> Any:
        return self._tensor.cell_contents.shape[0]

    def at(self, i: Any) -> Any:
        return self._tensor.cell_contents[i]

    def arrays(self) -> Iterator[types.CellType]:
        yield self._tensor


class Some(StagedIterable):
    """Items of another iterable: from a first one up to, and without, a last one."""

    def __init__(self, items: StagedIterable, first: Any, last: Any):
        self.items, self.first, self.last = items, first, last

    @property
    def length(self) -> Any:
        return self.last - self.first

    def at(self, i: Any) -> Any:
        return self.items.at(self.first + i)

    def arrays(self) -> Iterator[types.CellType]:
        return self.items.arrays()


class Numbered(StagedIterable):
    """Items with their numbers, from a first one on (`enumerate`)."""

    def __init__(self, items: StagedIterable, start: Any):
        self.items, self.start = items, start

    @property
    def length(self) -> Any:
        return self.items.length

    def at(self, i: Any) -> Any:
        return self.start + i, self.items.at(i)

    def arrays(self) -> Iterator[types.CellType]:
        return self.items.arrays()


class Zipped(StagedIterable):
    """Tuples of the items of several, as many as the shortest has (`zip`)."""

    def __init__(self, parts: tuple[StagedIterable, ...]):
        self.parts = parts

    @property
    def length(self) -> Any:
        shortest = self.parts[0].length
        for part in self.parts[1:]:
            shortest = sym_min(shortest, part.length)
        return shortest

    def at(self, i: Any) -> Any:
        return tuple(part.at(i) for part in self.parts)

    def arrays(self) -> Iterator[types.CellType]:
        return itertools.chain.from_iterable(part.arrays() for part in self.parts)


class Backwards(StagedIterable):
    """Items from the last one that there is now to the first one (`reversed`)."""

    def __init__(self, items: StagedIterable):
        self.items, self._length = items, items.length

    @property
    def length(self) -> Any:
        return self._length

    def at(self, i: Any) -> Any:
        return self.items.at(self._length - 1 - i)

    def arrays(self) -> Iterator[types.CellType]:
        return self.items.arrays()


class _Items(StagedIterable):
    """The items of a list to which loops of compiled code have appended."""

    def __init__(self, items: GrowingList):
        self.items = items

    @property
    def length(self) -> Any:
        return self.items.length

    def at(self, i: Any) -> Any:
        return self.items.at(i)


def as_staged(x: Any) -> StagedIterable | None:
    """What a loop of compiled code can go through; None for what Python iterates over itself."""
    if isinstance(x, GrowingList) and x.stacked:
        return _Items(x)
    if isinstance(x, Tensor) and x.ndim:
        return Elements(x)
    return x if isinstance(x, StagedIterable) else None
