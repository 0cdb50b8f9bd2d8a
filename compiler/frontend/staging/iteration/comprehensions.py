"""Comprehensions and generator expressions.

Where Python iterates, so do they, one item after another.  Over what only the compiled function knows, and over long
ranges, they are loops of the IR as `for` statements are: a list so made is one to which a loop appends (`growing`).
"""

from __future__ import annotations

import copy
import types
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...state.containers.growing_lists import GrowingList
from ...state.containers.list_errors import OF_COMPREHENSION
from ...state.containers.staged_dicts import StagedDict
from ...state.iterators import PlacedIterator
from ...state.state import Roots
from ...tensor.apply import as_tensor
from ...tensor.operators import refuse_as_key
from ...tensor.tensor import Tensor
from ...trace.context import require
from ...trace.demands import demand
from ...trace.graph import next_serial
from ...trace.symint import SymInt
from ..calls.builtins import staging_error
from ..control.unroll import WRITTEN_OUT, endless
from .generators import Generated
from .iterables import Some, StagedIterable, as_staged
from .iterators import begun, iterator_of, runs_in

if TYPE_CHECKING:
    from ..control.control_flow import ControlFlow

__all__ = ["Comprehension", "Generator", "dict_of", "listed", "set_of"]


class _Level(NamedTuple):
    """One ``for names in source() if test()``; the source of the first one is given."""

    source: Callable[[], Any] | None
    bind: Callable[[Any], Any]
    test: Callable[[], Any] | None
    names: Sequence[str]


class Comprehension:
    """What a comprehension goes through, and the function of its item.

    `outer` are variables around it that ``:=`` binds in it.
    """

    def __init__(
        self, runtime: ControlFlow, first: Any, levels: Sequence[Sequence[Any]], element: Callable[[], Any],
        outer: Sequence[str] = (),
    ):  # fmt: skip
        self.runtime, self.first, self.element, self.outer = runtime, first, element, outer
        self.levels = [_Level(*level) for level in levels]

    @staticmethod
    def of(runtime: ControlFlow, items: Any) -> Comprehension | None:
        """What goes through a generator expression nobody has begun, or something of the compiled function's.

        None for what only Python iterates over.
        """
        if isinstance(items, Generator):
            return items.begin()
        items = begun(items)
        if as_staged(items) is None and not isinstance(items, Generated):
            return None
        item = None

        def bind(value: Any) -> None:
            nonlocal item
            item = value

        return Comprehension(runtime, items, [(None, bind, None, ("item",))], lambda: item)

    def __iter__(self) -> Iterator[Any]:
        """The items one by one, as Python makes them: each adds to the program."""
        if isinstance(self.first, Generated):
            yield from listed(self)
            return
        adding, since = 0, next_serial()
        for item in Generator(self):
            adding += next_serial() > since + 1
            if adding > WRITTEN_OUT and as_staged(self.first) is not None:
                raise endless(WRITTEN_OUT)
            yield item
            since = next_serial()

    def keeps(self, test: Callable[[], Any]) -> bool:
        kept = self.runtime.truth(test())
        if isinstance(kept, Tensor):
            raise staging_error(
                "how many items a comprehension makes depends on a tensor, whose value is not known while the function "
                "is staged",
                "select from an array with a mask, as x[x > 0], or keep all items and use np.where",
                "TX0315",
            )
        return bool(kept)

    def source(self, number: int) -> Any:
        source = self.levels[number].source
        assert source is not None
        return source()

    @property
    def roots(self) -> Roots:
        parts = [p for level in self.levels for p in (level.source, level.bind, level.test) if p is not None]
        return self.runtime.roots(self.element, *parts)

    def tried(self, *ways: Callable[[], Any]) -> Any:
        """What the first way gives that raises no error.  Ways may go through all items, and each begins anew."""
        if isinstance(self.first, Generated):
            return ways[0]()
        if as_staged(self.first) is None:
            self.first = list(self.first)
        return self.runtime.tried(self.roots, *ways)

    def first_apart(self, empty: str | None = None) -> tuple[Any, StagedIterable]:
        """The first item, and what makes the others, of a comprehension that certainly makes one each time.

        Where values decide whether there is one, the call raises a ValueError of the text `empty` if there is none.
        """
        items = as_staged(self.first)
        (level,) = self.levels
        if items is None or level.test is not None:
            raise ValueError("no first item")
        if empty is not None and isinstance(items.length, SymInt) and require().is_bound(items.length.dim):
            demand(require(), as_tensor(items.length) > 0, ValueError(empty))
        elif not bool(items.length > 0):
            raise ValueError("no first item")
        level.bind(items.at(0))
        return self.element(), Some(items, 1, items.length)

    def loop(
        self, take: Callable[[Any], Any], into: Roots, stop: str | None = None, over: Any = None,
        carries: Sequence[Sequence[str]] | None = None,
    ) -> None:  # fmt: skip
        """Loops that give `take` each item, which it puts into some variables.

        They end once that called `stop` holds what is true.  `over`: only these.  `carries` is as in a `for`, where
        not all of the variables are read in each iteration and behind the loops.
        """
        names = tuple(into)
        kept = [(*self.outer, *given) for given in carries or (names, names, names)]
        self._loop(0, self.first if over is None else over, take, {**into, **self.roots}, stop, kept)

    def _loop(
        self, number: int, items: Any, take: Callable[[Any], Any], roots: Roots, stop: str | None,
        kept: Sequence[Sequence[str]],
    ) -> None:  # fmt: skip
        level, runtime = self.levels[number], self.runtime

        def proceed() -> None:
            if number + 1 == len(self.levels):
                take(self.element())
            else:
                self._loop(number + 1, self.source(number + 1), take, roots, stop, kept)

        def iteration(item: Any) -> None:
            level.bind(item)
            if level.test is None:
                proceed()
            else:
                runtime.if_(level.test(), proceed, _nothing, roots=roots)

        bound, at_head, after = kept
        own = [n for inner in self.levels[number:] for n in inner.names]
        runtime.for_(items, iteration, stop, ((*own, *bound), at_head, after), roots)


class Generator(PlacedIterator):
    """A generator expression: an iterator, of which what takes all its items can make a loop."""

    def __init__(self, comprehension: Comprehension):
        super().__init__()
        self.comprehension = comprehension
        #: The iterators of the levels that it is in, the outermost first.
        self.going = [iterator_of(comprehension.first)]
        #: The variables of its parts: its own go with it.
        self.variables = comprehension.roots
        #: Whether it has no place of its own: it is where the one iterator is that it goes through.
        self.follows = len(comprehension.levels) == 1 and isinstance(self.going[0], PlacedIterator)

    def runs(self) -> list[Any]:
        return [self.variables, *runs_in(*self.going)]

    def item(self, number: int) -> Any:
        while self.going:
            at = len(self.going)
            level = self.comprehension.levels[at - 1]
            try:
                level.bind(next(self.going[-1]))
            except StopIteration:
                if self.follows:
                    raise
                self.going.pop()
                continue
            if level.test is not None and not self.comprehension.keeps(level.test):
                continue
            if at == len(self.comprehension.levels):
                return self.comprehension.element()
            self.going.append(iterator_of(self.comprehension.source(at)))
        raise StopIteration

    def __next__(self) -> Any:
        if not self.follows:
            return super().__next__()
        self.number()
        return self.item(0)

    def end(self) -> None:
        if self.follows:
            self.place = 0
        else:
            super().end()
        for iterator in self.going:
            if isinstance(iterator, PlacedIterator):
                iterator.end()

    def taken(self) -> None:
        super().taken()
        for iterator in self.going:
            if isinstance(iterator, PlacedIterator):
                iterator.taken()

    def begin(self) -> Comprehension | None:
        """All that it has left, which nobody else gets from it; None where it stands in the middle of levels."""
        if not self.is_new:
            return None
        left = copy.copy(self.comprehension)
        left.first = begun(self.going[0])
        super().taken()  # who goes through what it goes through are loops, or Python, an item at a time
        return left

    def rest(self) -> Comprehension:
        """All that it has left, for loops that may end early: the iterator that it goes through is where they end."""
        if not self.follows:
            if (whole := self.begin()) is None:
                raise self.unknown()
            return whole
        self.number()
        left = copy.copy(self.comprehension)
        (left.first,) = self.going
        return left


def _nothing() -> None:
    pass


# Comprehensions


def listed(made: Comprehension) -> GrowingList:
    """``[… for … in …]``."""

    def loop() -> GrowingList:
        out = GrowingList().made_here()
        made.loop(out.append, {OF_COMPREHENSION: types.CellType(out)})
        return out

    return made.tried(loop, lambda: GrowingList(made))


def set_of(made: Comprehension) -> set[Any]:
    """``{… for … in …}``, of what Python knows."""
    return {_known(item) for item in made}


def dict_of(made: Comprehension) -> dict[Any, Any]:
    """``{…: … for … in …}``, with keys that Python knows."""
    return StagedDict((_known(key), value) for key, value in made)


def _known(key: Any) -> Any:
    if isinstance(key, (Tensor, SymInt)):
        refuse_as_key(as_tensor(key))
    return key
