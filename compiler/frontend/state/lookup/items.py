"""``items[key]`` where only the compiled function knows the key: of lists, tuples, texts, ranges and dicts.

Numbers are read from an array.  Of other things the item is one of them (`one_of`), or of arrays of one type a choice
of these (`choice`), so that stores reach the array that Python would store into.  A list in a list from outside, which
nobody can change, is its numbers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeGuard

import numpy as np

from ....call.signature import like
from ....diagnostics import TxcError, user_loc
from ...scalars.python_numbers import as_int, checked
from ...tensor.apply import apply, as_tensor
from ...tensor.tensor import Tensor
from ...trace.context import require, table
from ..alternatives.choice import Choice
from ..alternatives.mixed_numbers import kinds_of
from ..alternatives.one_of import MOST_OPTIONS, OneOf, any_of
from ..containers.growing_lists import FixedList, GrowingList
from ..containers.staged_dicts import StagedDict
from .numbers import Numbers, rows_of
from .places import inside, is_known_later, is_never_known

__all__ = ["is_dict", "item_of", "value_of"]

#: How Python calls what it counts from 0 on, in errors.
_NAMES: dict[type, str] = {
    list: "list", tuple: "tuple", str: "string", bytes: "", range: "range object", deque: "deque",
}  # fmt: skip
#: The most arrays of which an item is a choice, and the most keys that are tried one by one.
_MOST_ARRAYS, _MOST_KEYS = 16, 64


def item_of(items: Any, key: Any, is_fixed: Callable[[Any], bool]) -> Any:
    """``items[key]``; `is_fixed` says of a list that nobody can change it.

    IndexError and KeyError of the call, as Python's.  TxcError for what cannot be one of the items.
    """
    if isinstance(key, slice):
        return _part(items, key)
    name = _name(items)
    if isinstance(key, Tensor) and not is_known_later(key) and name is not None:
        return items[_like(key)]  # what is no int is an error of Python's
    if not is_known_later(key):
        return items[key]
    if is_dict(items):
        return value_of(items, key, is_fixed)
    if name is None:
        return items[key]
    if isinstance(items, range):
        return inside(key, len(items), name) * items.step + items.start
    if not items:
        return items[0]  # the error is Python's
    numbers = Numbers.of(items)
    if numbers is not None:
        return numbers.at(inside(key, len(items), name))
    if not is_never_known(key):
        return items[key]
    return _selected([*items], inside(key, len(items), name), is_fixed)


def _name(items: Any) -> str | None:
    """How errors call a sequence that is indexed as Python's own are; None for any other."""
    if isinstance(items, GrowingList):
        return None if items.stacked else items.__class__.__name__
    read = getattr(type(items), "__getitem__", None)
    return next((name for kind, name in _NAMES.items() if read is kind.__getitem__), None)


def _like(key: Tensor) -> Any:
    """A value of the type that a key is of."""
    if key.weak:
        return {"float": 0.0, "complex": 0j}[key.weak]
    made = np.zeros((0,) * key.ndim, key.element.numpy)
    return made if key.ndim or key.boxed else made[()]


def is_dict(items: Any) -> TypeGuard[dict[Any, Any]]:
    """Whether something looks up its keys as Python's dicts do."""
    kind = type(items)
    plain = getattr(kind, "__getitem__", None) in (dict.__getitem__, StagedDict.__getitem__)
    return plain and not hasattr(kind, "__missing__")


def _part(items: Any, key: slice) -> Any:
    """A part of a list, of whose ends only the compiled function knows one: where it has numbers."""
    later = any(map(is_known_later, (key.start, key.stop, key.step)))
    numbers = Numbers.of(items) if later and _name(items) == "list" and len(items) else None
    if numbers is None:
        return items[key]
    made = GrowingList()
    made.add(numbers.stack().part(key))
    return made


def _selected(items: Sequence[Any], place: Tensor, is_fixed: Callable[[Any], bool]) -> Any:
    """The item at a place, which is one of theirs."""
    if (numbers := Numbers.of(items)) is not None:
        return numbers.at(place)
    if (choice := _choice(items, place)) is not None:
        return choice
    kinds = {type(v) for v in items}
    of_lists = kinds == {list} and all(map(is_fixed, items))
    if of_lists and (row := rows_of(items, place)) is not None:
        return row
    if len(kinds) == 1 and (of_lists or isinstance(items[0], tuple)) and len({len(v) for v in items}) == 1:
        parts = [_selected(column, place, is_fixed) for column in zip(*items)]
        return FixedList(parts) if of_lists else like(items[0], parts)
    return _one_of(items, place)


def _choice(items: Sequence[Any], place: Tensor) -> Choice | None:
    """One of some arrays of one type; None where they are none such."""
    first, facts = items[0], table()
    if not all(isinstance(v, Tensor) and (v.ndim or v.boxed) for v in items):
        return None
    form = [(v.ndim, v.element, v.layout) for v in items]
    if len(set(form)) > 1 or len({*map(id, items)}) > _MOST_ARRAYS:
        return None
    for other in items[1:]:
        if not all(facts.decide(a, "==", b, "arrays of one list") for a, b in zip(first.dims, other.dims)):
            return None
    places: dict[int, list[int]] = {}
    for k, array in enumerate(items):
        places.setdefault(id(array), []).append(k)
    options = [(items[at[0]], _is_one_of(place, at)) for at in places.values()]
    return Choice(options, reduce(lambda rest, one: apply("select", one[1], one[0], rest), options[1:], first))


def _is_one_of(place: Tensor, places: Sequence[int]) -> Any:
    return any_of([apply("equal", place, k) for k in places])


def _one_of(items: Sequence[Any], place: Tensor) -> Any:
    """One of some values of any kind."""
    groups: dict[Any, list[int]] = {}
    for k, item in enumerate(items):
        groups.setdefault(_group(item), []).append(k)
    fork = require().fork_value
    if len(groups) > MOST_OPTIONS or fork is None:
        raise _refusal(items)
    values = [_of_group(items, places, place) for places in groups.values()]
    if len(values) == 1:
        return values[0]
    which = np.empty(len(items), np.uint8)
    for number, places in enumerate(groups.values()):
        which[places] = number
    found = Numbers.of([*which])
    assert found is not None
    option = found.at(place)
    text = "an item of a list, of which only the compiled function knows the index, is of one kind or another"
    conds = [apply("equal", option, np.uint8(number)) for number in range(len(values))]
    return OneOf("an item of a list", text, "test which it is where it is used", [*zip(values, conds)], fork)


def _group(item: Any) -> Any:
    """What items have in common of which the one that is meant needs no test."""
    kinds = kinds_of(item)
    if len(kinds) == 1:
        return kinds
    return (type(item), item) if isinstance(item, (str, bytes, type(None))) else id(item)


def _of_group(items: Sequence[Any], places: Sequence[int], place: Tensor) -> Any:
    """The item at a place, which is one of some that have one group."""
    first = items[places[0]]
    if not kinds_of(first) or len(places) == 1:
        return first
    among = {*places}
    numbers = Numbers.of([item if k in among else first for k, item in enumerate(items)])
    if numbers is None:
        raise _refusal(items)
    return numbers.at(place)


def _refusal(items: Sequence[Any]) -> TxcError:
    arrays = all(isinstance(v, Tensor) for v in items)
    return TxcError(
        f"an index that only the compiled function knows selects one of {len(items)} things, which are no numbers of "
        "64 bits",
        user_loc(),
        "make one array of them before: np.stack(…)[i]" if arrays else "index a list of numbers, or an array",
        "TX0231",
    )


def value_of(items: dict[Any, Any], key: Any, is_fixed: Callable[[Any], bool], *default: Any) -> Any:
    """The value that a dict has for a key, else the default; KeyError of the call where there is none."""
    keys = [k for k in dict.keys(items) if kinds_of(k) and isinstance(k, (int, float, np.integer))]
    if not keys or len(keys) > _MOST_KEYS or (isinstance(items, StagedDict) and items.missing):
        return items.get(key, *default) if default else items[key]
    if not default:
        key = checked(as_int(as_tensor(key)), any_of([as_tensor(key == k) for k in keys]), KeyError, "{}")
    place = as_tensor(len(keys))
    for number, k in enumerate(keys):
        place = apply("select", as_tensor(key == k), number, place)
    values = [*(dict.__getitem__(items, k) for k in keys), *default]
    return _selected(values, Tensor(place.value, weak="int"), is_fixed)
