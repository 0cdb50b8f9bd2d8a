"""What takes the items of an iterable one by one: `list`, `sum`, `any`, `next`, `filter` and `map`.

Where Python can ask for an item at a time, so do they.  Where only the compiled function knows whether there is one, or
which, they are loops of the IR as `for` statements are, which end where Python would ask for no more.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ....diagnostics import located
from ...state.alternatives.mixed_numbers import MixedNumber
from ...state.alternatives.one_of import OneOf
from ...state.containers.growing_lists import GrowingList
from ...state.iterators import Consumer, PlacedIterator
from ...tensor.promotion import truth
from ...tensor.tensor import Tensor
from ...trace.context import require
from ...trace.demands import demand
from ..rewriting.break_lowering import GENERATED_PREFIX
from .comprehensions import Comprehension, Generator, listed
from .extremes import extreme
from .generators import Generated
from .iterables import as_staged
from .iterators import Whole, next_of, through

if TYPE_CHECKING:
    from ..runtime import StagedRuntime

__all__ = ["BY_ITEM", "of_each_item", "with_list"]

_FOUND, _ITEM = f"{GENERATED_PREFIX}found", f"{GENERATED_PREFIX}item"


def with_list(runtime: StagedRuntime, items: Any) -> Any:
    """A list of what a generator yields, or of what an expression makes of that, for who takes all at once.

    Anything else as it is.
    """
    if isinstance(items, Generated) or (
        isinstance(items, Generator) and isinstance(items.comprehension.first, Generated)
    ):
        return BY_ITEM[list](runtime, items)
    return items


def _list(runtime: StagedRuntime, items: Any = ()) -> GrowingList:
    made = Comprehension.of(runtime, items)
    return GrowingList(items) if made is None else listed(made)


def _sum(runtime: StagedRuntime, items: Any, /, start: Any = 0) -> Any:
    made = Comprehension.of(runtime, items)
    if made is None:
        return sum(items, start)
    total = types.CellType(start)

    def take(item: Any) -> None:
        total.cell_contents = total.cell_contents + item

    def whole() -> Any:
        made.loop(take, {"the sum": total})
        return total.cell_contents

    def apart() -> Any:
        first, others = made.first_apart()
        total.cell_contents = start + first
        made.loop(take, {"the sum": total}, over=others)
        return total.cell_contents

    return made.tried(whole, apart, lambda: sum(made, start))


def _found(what: bool) -> Callable[..., Any]:
    """`any`, which looks for what is true, or `all`, for what is false."""

    def search(runtime: StagedRuntime, items: Any, /) -> Any:
        if isinstance(items, Tensor) and items.ndim == 1:
            return Tensor((items.any() if what else items.all()).value, weak="bool")
        made = None if isinstance(items, Generator) else Comprehension.of(runtime, items)
        if made is None and not isinstance(items, Generator):
            return any(items) if what else all(items)

        def loop() -> Any:
            left = items.rest() if made is None else made
            found = types.CellType(False)

            def take(item: Any) -> None:
                value = runtime.truth(item)
                if isinstance(value, Tensor):
                    value = Tensor(truth(value).value, weak="bool")
                else:
                    value = bool(value)
                found.cell_contents = value if what else runtime.not_(value)

            left.loop(take, {_FOUND: found}, stop=_FOUND)
            value = found.cell_contents if what else runtime.not_(found.cell_contents)
            return Tensor(value.value, weak="bool") if isinstance(value, Tensor) else value

        if made is None:
            return runtime.tried({"the iterator": items}, loop, lambda: any(items) if what else all(items))
        if as_staged(made.first) is None:
            return loop()
        return made.tried(loop, lambda: any(made) if what else all(made))

    return search


def _next(runtime: StagedRuntime, items: Any, /, *default: Any) -> Any:
    """`next`: what Python takes, or the first item of a loop that ends behind it."""
    if isinstance(items, Generated):
        return _first(runtime, lambda take, into: items.run(Consumer(take, into), True), default)
    if not isinstance(items, (Generator, Whole)):
        return next_of(items, *default)
    source = items

    def loop() -> Any:
        if isinstance(source, Generator):
            left = source.rest()
            return _first(runtime, lambda take, into: left.loop(take, into, _FOUND, carries=_READ), default)
        over = lambda take, into: runtime.for_(source, take, _FOUND, _READ, into)  # noqa: E731
        return _first(runtime, over, default)

    roots = {"the iterator": source, **{f"the default {i}": value for i, value in enumerate(default)}}
    return runtime.tried(roots, lambda: next_of(source, *default), loop)


#: Which variables of a search its loops bind, which iterations read of the one before, and which are read behind them.
_READ = (_FOUND, _ITEM), (_FOUND,), (_FOUND, _ITEM)


def _first(runtime: StagedRuntime, loop: Callable[[Callable[[Any], bool], Any], None], default: tuple[Any, ...]) -> Any:
    """The first item that a loop gives what takes it, or the default; a check that there is one without."""
    found, kept = types.CellType(False), types.CellType()

    def take(item: Any) -> bool:
        kept.cell_contents = item
        found.cell_contents = True
        return True

    loop(take, {_FOUND: found, _ITEM: kept})
    there = found.cell_contents
    if default:
        return runtime.if_exp(there, lambda: kept.cell_contents, lambda: default[0])
    if isinstance(there, Tensor):
        with located():
            demand(require(), there, StopIteration())
    elif not there:
        raise StopIteration
    return kept.cell_contents


def _filter(runtime: StagedRuntime, function: Any, items: Any, /) -> Generator:
    """``filter(function, items)``, which is ``(item for item in items if function(item))``."""
    of = None if function is None else runtime.fn(function)
    return of_each_item(runtime, items, lambda item: item, lambda item: item if of is None else of(item))


def _map(runtime: StagedRuntime, function: Any, *parts: Any) -> Generator:
    """``map(function, *parts)``, which is ``(function(*items) for items in zip(*parts))``."""
    if not parts:
        raise TypeError("map() must have at least two arguments.")
    of = runtime.fn(function)
    if len(parts) == 1:
        return of_each_item(runtime, parts[0], of)
    return of_each_item(runtime, runtime.fn(zip)(*parts), lambda items: of(*items))


def of_each_item(
    runtime: StagedRuntime, items: Any, element: Callable[[Any], Any], test: Callable[[Any], Any] | None = None
) -> Generator:
    """``(element(item) for item in items if test(item))``."""
    item = None

    def bind(value: Any) -> None:
        nonlocal item
        item = value

    level = None, bind, None if test is None else lambda: test(item), ("item",)
    return Generator(Comprehension(runtime, items, [level], lambda: element(item)))


def _of_each(function: Callable[..., Any], to_the_end: bool) -> Callable[..., Any]:
    """The function, which of one of several iterables takes the items of each; all of them where it is `to_the_end`."""

    def called(runtime: StagedRuntime, *given: Any, **named: Any) -> Any:
        values = tuple(map(through, given[:1])) + given[1:]
        if not values or not isinstance(values[0], OneOf) or isinstance(values[0], MixedNumber):
            result = function(runtime, *values, **named)
            if to_the_end and values and isinstance(values[0], PlacedIterator):
                values[0].end()
            return result
        items, *rest = values
        return items.each(lambda v: function(runtime, v, *rest, **named), *rest)

    return called


#: What staged code calls in place of functions that take items of an iterable; each gets the runtime first.
BY_ITEM: dict[Any, Callable[..., Any]] = {
    **{plain: _of_each(function, True) for plain, function in (
        (list, _list), (sum, _sum), (max, extreme(max)), (min, extreme(min)),
    )},
    **{plain: _of_each(function, False) for plain, function in (
        (any, _found(True)), (all, _found(False)), (next, _next),
    )},
    filter: _filter,
    map: _map,
}  # fmt: skip
