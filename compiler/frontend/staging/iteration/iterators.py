"""Python's iterators in staged code: `iter`, `enumerate`, `zip`, `reversed`, and those of `itertools`.

Each takes its items from what it goes through when it is asked for them, as Python's do, and can be put back
(`state.iterators`).  What only the compiled function goes through, a loop takes as a whole (`Whole.begin`), and where
loops or branches of compiled code have moved it, `next` of it is a branch on whether there is an item.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ....diagnostics import TxcError, located, user_loc
from ...indexing.data_dependent_sizes import bind
from ...state.iterators import PlacedIterator
from ...state.state import held
from ...tensor.apply import apply, as_tensor
from ...tensor.tensor import Tensor
from ...tensor.views.view_or_copy import Flat
from ...trace.context import require
from ...trace.demands import demand
from ...trace.symint import SymInt, as_dim
from .generators import Generated
from .iterables import Backwards, Elements, Numbered, Some, StagedIterable, Zipped, as_staged

__all__ = [
    "ITERATORS",
    "Whole",
    "begun",
    "iterator_of",
    "makes_iterator",
    "next_of",
    "remembering",
    "runs_in",
    "through",
]

#: What a dict shows of itself.
_KEYS, _VALUES, _PAIRS = type({}.keys()), type({}.values()), type({}.items())
#: Of so many things that an iterator of Python's was given it is known at each item whether they have changed.
_FEW = 64


class Whole(PlacedIterator):
    """Through what only the compiled function goes through; Python's own loops make the number of its items a fact."""

    by_number = True

    def __init__(self, items: StagedIterable):
        super().__init__()
        self.items = items

    @property
    def holder(self) -> Any:
        """What has the place."""
        return self

    def runs(self) -> list[Any]:
        return []

    def item(self, number: int) -> Any:
        there = number < self.items.length
        if isinstance(there, Tensor):  # values decide how many there are: what needs the number is refused
            there = number < int(self.items.length)
        if not there:
            raise StopIteration
        return self.items.at(number)

    def begin(self) -> StagedIterable:
        """All items that are left, for who goes through them: nobody else then knows which is the next."""
        try:
            number = self._first()
        except StopIteration:
            return Some(self.items, 0, 0)
        self.taken()
        return self.items if isinstance(number, int) and not number else Some(self.items, number, self.items.length)

    def _first(self) -> int | SymInt:
        """The number of the next item, as a size where values decide it; StopIteration where there surely is none."""
        if not isinstance(self.place, Tensor):
            return self.place if isinstance(self.place, SymInt) else self.number()
        with located():
            length = self.items.length
            first = apply("select", self._is_over(), as_tensor(length), self.place)
            return bind(require(), first, as_dim(length))

    def _is_over(self) -> Tensor:
        """Whether there is no next item, where compiled code knows how far it is."""
        return apply("logical_or", self.place < 0, as_tensor(self.place >= self.items.length))

    def step(self, *default: Any) -> Any:
        """``next(self, *default)`` where compiled code knows how far it is."""

        def take() -> Any:
            item = self.items.at(self.place)
            self.place = self.place + 1
            return item

        def give_up() -> Any:
            self.end()
            return default[0]

        with located():
            over = self._is_over()
            if not default:
                demand(require(), apply("logical_not", over), StopIteration())
                return take()
            roots = {"the iterator": self, "the default": default[0]}
            fork = require().fork_value
            assert fork is not None  # functions of scalars have no iterators over arrays
            return fork(over, give_up, take, roots, ())


class _OfFlat(Whole):
    """Through ``x.flat``, which has the place: whoever goes through it goes on where others are."""

    def __init__(self, flat: Flat):
        self.flat, self.items = flat, Elements(flat.elements())

    @property
    def holder(self) -> Any:
        return self.flat

    @property
    def place(self) -> Any:
        return self.flat.place

    @place.setter
    def place(self, place: Any) -> None:
        self.flat.place = place


class _OfSequence(PlacedIterator):
    """Through a list, tuple, text or range, by its indices."""

    def __init__(self, items: Sequence[Any], backwards: bool = False):
        super().__init__()
        self.items, self.last = items, len(items) - 1 if backwards else None

    def runs(self) -> list[Any]:
        return []

    def item(self, number: int) -> Any:
        at = number if self.last is None else self.last - number
        if not 0 <= at < len(self.items):
            raise StopIteration
        return self.items[at]


class _OfKeys(PlacedIterator):
    """Through a dict, what it shows of itself, or a set, whose keys may not change meanwhile; its values may."""

    def __init__(self, items: Any, backwards: bool = False):
        super().__init__()
        self.items = items
        self.keys = tuple(items if isinstance(items, (dict, set, frozenset)) else items.mapping)
        if backwards:
            self.keys = self.keys[::-1]

    def runs(self) -> list[Any]:
        return []

    def item(self, number: int) -> Any:
        if len(self.items) != len(self.keys):
            kind = "Set" if isinstance(self.items, (set, frozenset)) else "dictionary"
            raise RuntimeError(f"{kind} changed size during iteration")
        if number == len(self.keys):
            raise StopIteration
        key = self.keys[number]
        if isinstance(self.items, _VALUES):
            return self.items.mapping[key]
        return (key, self.items.mapping[key]) if isinstance(self.items, _PAIRS) else key


class _Numbers(PlacedIterator):
    def __init__(self, items: Iterable[Any], start: Any):
        super().__init__()
        self.items, self.start = iterator_of(items), start

    def runs(self) -> list[Any]:
        return runs_in(self.items)

    def taken(self) -> None:
        super().taken()
        _take(self.items)

    def item(self, number: int) -> Any:
        return self.start + number, next(self.items)


class _Tuples(PlacedIterator):
    def __init__(self, parts: Sequence[Iterable[Any]], strict: bool):
        super().__init__()
        self.parts, self.strict = [iterator_of(p) for p in parts], strict

    def runs(self) -> list[Any]:
        return runs_in(*self.parts)

    def taken(self) -> None:
        super().taken()
        _take(*self.parts)

    def item(self, number: int) -> Any:
        made: list[Any] = []
        for part in self.parts:
            try:
                made.append(next(part))
            except StopIteration:
                if self.strict:
                    self._check(len(made))
                raise
        if not made:
            raise StopIteration
        return tuple(made)

    def _check(self, ended: int) -> None:
        """Python's error where a part has other items than the first one, of which one is at its end."""
        at, word = ended, "shorter"
        if not ended:
            longer = (i for i, part in enumerate(self.parts[1:], 1) if next(part, self) is not self)
            at, word = next(longer, 0), "longer"
        if at:
            others = "argument 1" if at == 1 else f"arguments 1-{at}"
            raise ValueError(f"zip() argument {at + 1} is {word} than {others}")


def runs_in(*iterators: Any) -> list[Any]:
    """What of the program's runs when an item is taken from some iterators."""
    found: list[Any] = []
    for it in iterators:
        if isinstance(it, PlacedIterator):
            found += it.runs()
        elif _steps_itself(type(it)):
            found.append(it)
    return found


def _take(*parts: Any) -> None:
    for part in parts:
        if isinstance(part, PlacedIterator):
            part.taken()


class _Remembered(PlacedIterator):
    """An iterator of which nobody can see how it goes through what it was given: what it gave is kept.

    That is what it gives again only where nothing has changed since.
    """

    def __init__(self, source: Iterator[Any], given: Sequence[Any]):
        super().__init__()
        self.source = _Source(source, given)

    def runs(self) -> list[Any]:
        return [given for given in self.source.given if callable(given)]

    def item(self, number: int) -> Any:
        return self.source.at(number)


class _Source:
    """What was taken from an iterator so far, which nobody puts back, and what it went through when it was taken."""

    def __init__(self, source: Iterator[Any], given: Sequence[Any]):
        self.source, self.given = source, given
        self.items: list[tuple[Any, list[Any] | None]] = []

    def at(self, number: int) -> Any:
        if number == len(self.items):
            item = next(self.source)
            self.items.append((item, _leaves(self.given)))
            return item
        item, then = self.items[number]
        now = _leaves(self.given)
        if then is None or now is None or len(then) != len(now) or any(a is not b for a, b in zip(then, now)):
            raise TxcError(
                "an iterator is gone through again, in another branch or iteration, whose items may be others now",
                user_loc(),
                "make a list of its items first: list(…)",
                "TX0315",
            )
        return item


def _leaves(given: Any) -> list[Any] | None:
    """What stands in containers, deeply; None where there is much, or something can change that is no container."""
    found: list[Any] = []
    waiting = [given]
    while waiting:
        value = waiting.pop()
        if isinstance(value, (list, tuple, dict, set, frozenset)):
            waiting += value.items() if isinstance(value, dict) else value
        elif isinstance(value, types.FunctionType) and not value.__closure__:
            found.append(value)
        elif isinstance(value, (Tensor, PlacedIterator, types.FunctionType)) or held(value) is not None:
            return None
        else:
            found.append(value)
        if len(found) + len(waiting) > _FEW:
            return None
    return found


def through(items: Any) -> Any:
    """What takes items from what is an iterator itself; anything else as it is."""
    return _OfFlat(items) if isinstance(items, Flat) else items


def iterator_of(items: Any) -> Iterator[Any]:
    """``iter(items)``."""
    items = through(items)
    if isinstance(items, PlacedIterator):
        return items
    if (staged := as_staged(items)) is not None:
        return Whole(staged)
    if isinstance(items, (list, tuple, str, range)):
        return _OfSequence(items)
    if isinstance(items, (dict, set, frozenset, _KEYS, _VALUES, _PAIRS)):
        return _OfKeys(items)
    found = iter(items)
    # One of a class of the program's has its place among its attributes.
    if isinstance(found, PlacedIterator) or _steps_itself(type(found)):
        return found
    return _Remembered(found, (items,))


def _steps_itself(kind: type) -> bool:
    """Whether a class of the program says what the next item is."""
    return isinstance(getattr(kind, "__next__", None), types.FunctionType)


def begun(items: Any) -> Any:
    """What a loop goes through, of which it takes all items that are left."""
    return items.begin() if isinstance(items, Whole) else items


def _whole(*parts: Any) -> list[StagedIterable] | None:
    """What an iterator goes through that is made of some; None where Python steps through one of them."""
    parts = tuple(map(through, parts))
    if len({id(p) for p in parts if isinstance(p, Whole)}) < sum(isinstance(p, Whole) for p in parts):
        return None  # one that is taken from twice a time
    if not all(isinstance(p, Whole) or as_staged(p) is not None for p in parts):
        return None
    return [found for p in parts if (found := as_staged(begun(p))) is not None]


def _iter(items: Any, *end: Any) -> Iterator[Any]:
    if end:
        return _Remembered(iter(items, *end), (items,))
    return items if isinstance(items, Flat) else iterator_of(items)


def next_of(items: Any, *default: Any) -> Any:
    """``next(items, *default)`` of what says which item is the next one."""
    items = through(items)
    stepped = isinstance(items, Whole) and isinstance(items.place, (SymInt, Tensor))
    return items.step(*default) if stepped else next(items, *default)


def _enumerate(items: Any, start: Any = 0) -> Iterator[Any]:
    if isinstance(items, Generated):
        return items.numbered(start)
    whole = _whole(items)
    return _Numbers(items, start) if whole is None else Whole(Numbered(whole[0], start))


def _zip(*parts: Any, strict: bool = False) -> Iterator[Any]:
    whole = _whole(*parts) if parts else None
    if whole is None:
        return _Tuples(parts, strict)
    if strict:
        for part in whole[1:]:
            if whole[0].length != part.length:
                raise ValueError("zip() arguments have different lengths")
    return Whole(Zipped(tuple(whole)))


def _reversed(items: Any) -> Iterator[Any]:
    if isinstance(items, PlacedIterator):
        raise TypeError("'iterator' object is not reversible")
    if isinstance(items, Flat):
        raise TypeError("'numpy.flatiter' object is not reversible")
    if (staged := as_staged(items)) is not None:
        return Whole(Backwards(staged))
    if isinstance(items, (list, tuple, str, range)):
        return _OfSequence(items, backwards=True)
    if isinstance(items, (dict, _KEYS, _VALUES, _PAIRS)):
        return _OfKeys(items, backwards=True)
    return _Remembered(iter(reversed(items)), (items,))


def is_endless(items: Any) -> bool:
    """Whether an iterator of Python's has an item whenever it is asked for one."""
    return isinstance(items, _Remembered) and isinstance(items.source.source, (itertools.count, itertools.cycle))


#: What staged code calls in place of Python's builtins that give iterators.
ITERATORS: dict[Any, Callable[..., Any]] = {iter: _iter, enumerate: _enumerate, zip: _zip, reversed: _reversed}


def makes_iterator(called: Any) -> bool:
    """Whether a call gives another iterator of Python's: what is in `itertools`."""
    owner = getattr(called, "__self__", None)
    return any(isinstance(c, type) and hasattr(c, "__next__") and not _steps_itself(c) for c in (called, owner))


def remembering(make: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives iterators, giving such whose place can be put back."""

    def made(*args: Any, **kwargs: Any) -> Any:
        found = make(*args, **kwargs)
        keeps = isinstance(found, PlacedIterator) or not isinstance(found, Iterator)
        return found if keeps else _Remembered(found, (*args, *kwargs.values()))

    return made
