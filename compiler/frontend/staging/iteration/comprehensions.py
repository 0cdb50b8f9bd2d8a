"""Comprehensions, generator expressions, and what takes the items of a sequence one by one: `sum`, `any`, `max`.

Where Python iterates, so do they, one item after another.  Over what only the compiled function knows, and over long
ranges, they are loops of the IR as `for` statements are: a list so made is one to which a loop appends (`growing`).
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ....diagnostics import TxcError, located
from ...state.growing_lists import GrowingList
from ...state.iterators import PlacedIterator
from ...state.list_errors import OF_COMPREHENSION
from ...state.mixed_numbers import MixedNumber
from ...state.one_of import OneOf
from ...state.staged_dicts import StagedDict
from ...state.state import Roots
from ...tensor.apply import as_tensor, truth
from ...tensor.operators import refuse_as_key
from ...tensor.tensor import Tensor
from ...trace.context import require
from ...trace.demands import demand
from ...trace.graph import next_serial
from ...trace.symint import SymInt
from ..break_lowering import GENERATED_PREFIX
from ..builtins import REPLACED, staging_error
from ..regions.fork import not_one_bool
from ..unroll import WRITTEN_OUT, endless
from .generators import Generated
from .iterables import Some, StagedIterable, as_staged
from .iterators import Whole, begun, iterator_of, runs_in, through

if TYPE_CHECKING:
    from ..control.control_flow import ControlFlow

__all__ = ["BY_ITEM", "Comprehension", "Generator", "dict_of", "listed", "set_of", "with_list"]


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
        self, take: Callable[[Any], None], into: types.CellType, name: str, stop: str | None = None, over: Any = None
    ) -> None:
        """Loops that give `take` each item, which it puts into a cell; this is called `name`.

        They end once that holds what is true, where it is called `stop`.  `over`: only these.
        """
        self._loop(0, self.first if over is None else over, take, {name: into, **self.roots}, name, stop)

    def _loop(
        self, number: int, items: Any, take: Callable[[Any], None], roots: Roots, name: str, stop: str | None
    ) -> None:
        level, runtime = self.levels[number], self.runtime

        def proceed() -> None:
            if number + 1 == len(self.levels):
                take(self.element())
            else:
                self._loop(number + 1, self.source(number + 1), take, roots, name, stop)

        def iteration(item: Any) -> None:
            level.bind(item)
            if level.test is None:
                proceed()
            else:
                runtime.if_(level.test(), proceed, _nothing, roots=roots)

        kept = (*self.outer, name)
        own = [n for inner in self.levels[number:] for n in inner.names]
        runtime.for_(items, iteration, stop, ((*own, *kept), kept, kept), roots)


class Generator(PlacedIterator):
    """A generator expression: an iterator, of which what takes all its items can make a loop."""

    def __init__(self, comprehension: Comprehension):
        super().__init__()
        self.comprehension = comprehension
        #: The iterators of the levels that it is in, the outermost first.
        self.going = [iterator_of(comprehension.first)]
        #: The variables of its parts: its own go with it.
        self.variables = comprehension.roots

    def runs(self) -> list[Any]:
        return [self.variables, *runs_in(*self.going)]

    def item(self, number: int) -> Any:
        while self.going:
            at = len(self.going)
            level = self.comprehension.levels[at - 1]
            try:
                level.bind(next(self.going[-1]))
            except StopIteration:
                self.going.pop()
                continue
            if level.test is not None and not self.comprehension.keeps(level.test):
                continue
            if at == len(self.comprehension.levels):
                return self.comprehension.element()
            self.going.append(iterator_of(self.comprehension.source(at)))
        raise StopIteration

    def end(self) -> None:
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
        """All that it makes, which nobody else gets from it; None where an item was taken from it before."""
        if not self.is_new:
            return None
        if isinstance(self.going[0], Whole):
            self.comprehension.first = self.going[0].begin()
        super().taken()  # who goes through what it goes through are loops, or Python, an item at a time
        return self.comprehension


def _nothing() -> None:
    pass


# Comprehensions


def listed(made: Comprehension) -> GrowingList:
    """``[… for … in …]``."""

    def loop() -> GrowingList:
        out = GrowingList()
        made.loop(out.append, types.CellType(out), OF_COMPREHENSION)
        return out

    return made.tried(loop, lambda: GrowingList(made))


def with_list(runtime: ControlFlow, items: Any) -> Any:
    """A list of what a generator yields, or of what an expression makes of that, for who takes all at once.

    Anything else as it is.
    """
    if isinstance(items, Generated) or (
        isinstance(items, Generator) and isinstance(items.comprehension.first, Generated)
    ):
        return BY_ITEM[list](runtime, items)
    return items


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


# What takes the items of a sequence


def _list(runtime: ControlFlow, items: Any = ()) -> GrowingList:
    made = Comprehension.of(runtime, items)
    return GrowingList(items) if made is None else listed(made)


def _sum(runtime: ControlFlow, items: Any, /, start: Any = 0) -> Any:
    made = Comprehension.of(runtime, items)
    if made is None:
        return sum(items, start)
    total = types.CellType(start)

    def take(item: Any) -> None:
        total.cell_contents = total.cell_contents + item

    def whole() -> Any:
        made.loop(take, total, "the sum")
        return total.cell_contents

    def apart() -> Any:
        first, others = made.first_apart()
        total.cell_contents = start + first
        made.loop(take, total, "the sum", over=others)
        return total.cell_contents

    return made.tried(whole, apart, lambda: sum(made, start))


def _found(what: bool) -> Callable[..., Any]:
    """`any`, which looks for what is true, or `all`, for what is false."""

    def search(runtime: ControlFlow, items: Any, /) -> Any:
        if isinstance(items, Tensor) and items.ndim == 1:
            return Tensor((items.any() if what else items.all()).value, weak="bool")
        made = Comprehension.of(runtime, items)
        if made is None:
            return any(items) if what else all(items)
        name = f"{GENERATED_PREFIX}found"

        def loop() -> Any:
            found = types.CellType(False)

            def take(item: Any) -> None:
                value = runtime.truth(item)
                if isinstance(value, Tensor):
                    value = Tensor(truth(value).value, weak="bool")
                else:
                    value = bool(value)
                found.cell_contents = value if what else runtime.not_(value)

            made.loop(take, found, name, stop=name)
            value = found.cell_contents if what else runtime.not_(found.cell_contents)
            return Tensor(value.value, weak="bool") if isinstance(value, Tensor) else value

        if as_staged(made.first) is None:
            return loop()
        return made.tried(loop, lambda: any(made) if what else all(made))

    return search


def _text_of_none(plain: Any) -> str:
    """What Python says of `max` or `min` of nothing."""
    try:
        plain(())
    except ValueError as error:
        return str(error)
    raise AssertionError(plain)


def _extreme(plain: Any) -> Callable[..., Any]:
    """`max` or `min`: the first item that no later one beats; of NaN none does."""

    def better(runtime: ControlFlow, kept: Any, other: Any) -> Any:
        for v in (kept, other):
            if isinstance(v, Tensor) and v.ndim:
                raise not_one_bool(plain.__name__, v)
        return runtime.if_exp(other > kept if plain is max else other < kept, lambda: other, lambda: kept)

    def pick(runtime: ControlFlow, *values: Any, **named: Any) -> Any:
        made = Comprehension.of(runtime, values[0]) if len(values) == 1 and not named else None
        if made is None:
            items = values[0] if len(values) == 1 and isinstance(values[0], (tuple, list)) else values
            if named or len(items) < 2 or not any(isinstance(v, (Tensor, MixedNumber)) for v in items):
                return _by_python(plain, values, named)
            with located():
                return functools.reduce(lambda kept, other: better(runtime, kept, other), items)
        if isinstance(made.first, Generated):
            return pick(runtime, listed(made))
        best = types.CellType()

        def take(item: Any) -> None:
            best.cell_contents = better(runtime, best.cell_contents, item)

        def loop() -> Any:
            best.cell_contents, others = made.first_apart(_text_of_none(plain))
            made.loop(take, best, f"the {plain.__name__}", over=others)
            return best.cell_contents

        return made.tried(loop, lambda: REPLACED[plain]([*made]))

    return pick


def _by_python(plain: Any, values: Sequence[Any], named: dict[str, Any]) -> Any:
    """`max` or `min` of what Python compares."""
    try:
        return REPLACED[plain](*values, **named)
    except TxcError as error:
        if error.code != "TX0230" or named.get("key") is None:
            raise
        text = f"{plain.__name__}() by a key whose values are known only when the function runs"
        turned = ", reverse=True" if plain is max else ""
        raise staging_error(text, f"write sorted(…, key=…{turned})[0]", "TX0317") from None


def _of_each(function: Callable[..., Any], to_the_end: bool) -> Callable[..., Any]:
    """The function, which of one of several iterables takes the items of each; all of them where it is `to_the_end`."""

    def called(runtime: ControlFlow, *given: Any, **named: Any) -> Any:
        values = tuple(map(through, given[:1])) + given[1:]
        if not values or not isinstance(values[0], OneOf) or isinstance(values[0], MixedNumber):
            result = function(runtime, *values, **named)
            if to_the_end and values and isinstance(values[0], PlacedIterator):
                values[0].end()
            return result
        items, *rest = values
        return items.each(lambda v: function(runtime, v, *rest, **named), *rest)

    return called


#: What staged code calls in place of functions that go through all items of an iterable; each gets the runtime first.
BY_ITEM: dict[Any, Callable[..., Any]] = {
    plain: _of_each(function, plain not in (any, all))
    for plain, function in (
        (list, _list), (sum, _sum), (any, _found(True)), (all, _found(False)), (max, _extreme(max)),
        (min, _extreme(min)),
    )
}  # fmt: skip
