"""``sorted``, and methods of containers that look something up, of what only the compiled function knows."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...state.alternatives.mixed_numbers import MixedNumber
from ...state.containers.growing_lists import GrowingList
from ...state.containers.searched_lists import count_in, index_in, put_in_order, without
from ...state.iterators import PlacedIterator
from ...state.lookup.items import is_dict, value_of
from ...state.lookup.numbers import Numbers
from ...state.lookup.places import is_known_later
from ...tensor.tensor import Tensor
from ..iteration.comprehensions import Comprehension, listed
from ..iteration.iterables import as_staged
from .builtins import staging_error

if TYPE_CHECKING:
    from ..runtime import StagedRuntime

__all__ = ["method_of_container", "sorted_"]


def _is_computed(items: Any) -> bool:
    """Whether the order of some items is known only when the compiled function runs."""
    if isinstance(items, GrowingList) and items.stacked:
        return True
    return isinstance(items, (tuple, list)) and any(
        isinstance(v, (Tensor, MixedNumber)) or (isinstance(v, (tuple, list)) and _is_computed(v)) for v in items
    )


def sorted_(runtime: StagedRuntime, items: Any, /, *, key: Any = None, reverse: bool = False) -> Any:
    """``sorted``: by the values themselves, or by what `key` makes of them."""
    made = Comprehension.of(runtime, items)
    if made is not None:
        found = listed(made)
        if isinstance(items, PlacedIterator):
            items.end()
    else:
        found = items if as_staged(items) is not None else [*items]
    keys = found if key is None else _keys(runtime, found, key)
    if not _is_computed(keys):
        if key is None:
            return sorted(found, reverse=reverse)
        # By the keys that there are: Python asks for the key of an item once.
        return [found[i] for i in sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)]
    ordered = GrowingList()
    ordered.set_parts(found.parts() if isinstance(found, GrowingList) else found)
    _put_in_order(ordered, keys, reverse)
    return ordered


def _keys(runtime: StagedRuntime, items: Any, key: Callable[[Any], Any]) -> Any:
    """What a function makes of each item."""
    of = runtime.fn(key)
    if as_staged(items) is None:
        return [of(item) for item in items]
    item = types.CellType()

    def bind(value: Any) -> None:
        item.cell_contents = value

    return listed(Comprehension(runtime, items, [(None, bind, None, ())], lambda: of(item.cell_contents)))


def _put_in_order(items: GrowingList, keys: Any, reverse: bool) -> None:
    by = GrowingList()
    by.set_parts(keys.parts() if isinstance(keys, GrowingList) else keys)
    if not by.are_records and by.commons() is None:
        text = "a list is put in the order of items that are no numbers, which only the compiled function knows"
        raise staging_error(text, "sort by numbers: sorted(…, key=…)", "TX0315")
    size = None if items.stacked else len(items)
    ordered = put_in_order(items.all_items(), by.all_items(), bool(reverse))
    items.set_parts([ordered] if size is None else [ordered.at(i) for i in range(size)])


def method_of_container(runtime: StagedRuntime, called: Any) -> Callable[..., Any] | None:
    """What to call instead of a method that looks something up; None where that is the method itself."""
    items, name = getattr(called, "__self__", None), getattr(called, "__name__", "")
    if name == "__getitem__":
        return lambda key: runtime.item(items, key)
    if name == "get" and is_dict(items):
        is_fixed = runtime.captures.is_outside
        return lambda key, default=None: (
            value_of(items, key, is_fixed, default) if is_known_later(key) else called(key, default)
        )
    if name in ("count", "index") and type(items) in (list, tuple):
        return functools.partial(_searched, items, called)
    if isinstance(items, GrowingList) and name in ("count", "index", "remove", "sort"):
        return _method_of_list(runtime, items, called)
    return None


def _searched(items: Any, called: Callable[..., Any], value: Any, *rest: Any) -> Any:
    """What ``index`` or ``count`` gives of what the program does not change."""
    if rest or not (is_known_later(value) or isinstance(value, (Tensor, MixedNumber))):
        return called(value, *rest)
    if (numbers := Numbers.of(items)) is None:
        return called(value)
    searched = GrowingList()
    searched.add(numbers.stack())
    if called.__name__ == "count":
        return count_in(value, searched)
    return index_in(value, searched, f"{type(items).__name__}.index(x): x not in {type(items).__name__}")


def _method_of_list(runtime: StagedRuntime, items: GrowingList, called: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a list whose items may be computed."""
    name = called.__name__

    def sort(*, key: Any = None, reverse: bool = False) -> None:
        keys = items if key is None else _keys(runtime, items, key)
        if _is_computed(keys):
            _put_in_order(items, keys, reverse)
        elif key is None:
            called(reverse=reverse)
        else:
            items[:] = [items[i] for i in sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)]

    def search(value: Any, *rest: Any) -> Any:
        if rest or items.commons() is None or not (items.stacked or _is_computed([value, *items])):
            return called(value, *rest)
        if name == "remove":
            left, size = without(value, items), None if items.stacked else len(items) - 1
            return items.set_parts([left] if size is None else [left.at(i) for i in range(size)])
        return (count_in if name == "count" else index_in)(value, items)

    return sort if name == "sort" else search
