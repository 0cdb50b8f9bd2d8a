"""``item in container`` and ``a == b`` of what holds numbers that only the compiled function knows.

Whether one of some conditions is true, or all of them are.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import KeysView, Sequence, ValuesView
from typing import Any

from ...state.alternatives.mixed_numbers import MixedNumber, kinds_of
from ...state.containers.growing_lists import GrowingList
from ...state.containers.searched_lists import is_in
from ...state.containers.staged_dicts import StagedDict
from ...state.lookup.numbers import Numbers
from ...tensor.apply import apply
from ...tensor.methods.reducing import reduce
from ...tensor.operators import refuse_as_key
from ...tensor.tensor import Tensor
from ...trace.context import require
from ...trace.symint import SymInt
from ..iteration.iterables import StagedRange

__all__ = ["conditions_of_equality", "conditions_of_membership"]

#: Up to so many numbers are compared one by one.
_ONE_BY_ONE = 16
#: What no number is equal to.
_NO_NUMBERS = (str, bytes, type(None), tuple, list, dict, type)


def conditions_of_membership(item: Any, container: Any) -> Sequence[Any] | None:
    """What is true of an item, a number, or of one of a container's, if it is in that: a bool or a condition each.

    None where Python knows it, or what is compared is no number.  TypeError and TX0311 where it would be a key.
    """
    if isinstance(container, Tensor) and container.ndim and kinds_of(item):
        return [reduce("any", container == item)]
    if isinstance(container, (range, StagedRange)):
        return [_is_in_range(item, container)] if isinstance(item, (Tensor, SymInt)) and _is_asked(item) else None
    if isinstance(container, GrowingList) and container.stacked and container.commons() is not None and kinds_of(item):
        return [is_in(item, container)]
    if not isinstance(container, (tuple, list, set, frozenset, dict, KeysView, ValuesView)) or _is_unknown(container):
        return None
    items = [*container]
    if isinstance(item, (str, bytes, type(None))) and any(map(_is_asked, items)):  # which no number is equal to
        return [item is other or item == other for other in items if not _is_asked(other)]
    if len(items) > _ONE_BY_ONE and _is_asked(item) and (numbers := Numbers.of(items)) is not None:
        if kinds_of(item) == (numbers.kind,):
            return [reduce("any", numbers.values == item)]
    if kinds_of(item) and any(map(_is_asked, [item, *items])):
        if all(kinds_of(other) or isinstance(other, _NO_NUMBERS) for other in items):
            return [item is other or item == other for other in items if kinds_of(other)]
    if _is_sequence(item) and isinstance(container, (tuple, list)):
        equal = [conditions_of_equality(item, other) for other in items]
        if any(conds is not None for conds in equal):
            return [item == other if c is None else _all_of(c) for other, c in zip(items, equal)]
    keys = [*item] if isinstance(item, tuple) else [item]
    for key in keys if not isinstance(container, (tuple, list, ValuesView)) else ():
        if isinstance(key, Tensor):
            refuse_as_key(key)
    return None


def conditions_of_equality(a: Any, b: Any) -> Sequence[Any] | None:
    """What is true if two tuples or two lists are equal: a bool or a condition for each two items.

    None where that is for Python to say.
    """
    found: list[Any] = []
    return found if _compare(a, b, found) else None


def _kind_of(sequence: Any) -> type:
    """As what a sequence is compared: one kind equals no other."""
    return next(kind for kind in (tuple, deque, list) if isinstance(sequence, kind))


def _compare(a: Any, b: Any, found: list[Any]) -> bool:
    """Note whether the items of two sequences are equal; False where that is for Python to say."""
    if not (_is_sequence(a) and _is_sequence(b)):
        return False
    if _kind_of(a) is not _kind_of(b) or len(a) != len(b):
        found.append(False)
        return True
    for x, y in zip(a, b):
        if x is y:
            found.append(True)
        elif _is_sequence(x) and _is_sequence(y):
            if not _compare(x, y, found):
                return False
        elif (_is_asked(x) or _is_asked(y)) and kinds_of(x) and kinds_of(y):
            found.append(x == y)
        elif (isinstance(x, _NO_NUMBERS) and kinds_of(y)) or (isinstance(y, _NO_NUMBERS) and kinds_of(x)):
            found.append(False)
        elif isinstance(x, Tensor) or isinstance(y, Tensor):
            return False
        else:
            found.append(bool(x == y))
    return True


def _is_sequence(value: Any) -> bool:
    """Whether it is a tuple, or a list whose items are known as Python objects."""
    return isinstance(value, (tuple, list)) and not _is_unknown(value)


def _all_of(conditions: Sequence[Any]) -> Any:
    if any(cond is False for cond in conditions):
        return False
    unknown = [cond for cond in conditions if cond is not True]
    return functools.reduce(lambda a, b: apply("logical_and", a, b), unknown) if unknown else True


def _is_unknown(container: Any) -> bool:
    """Whether which items a container has is not known."""
    return (isinstance(container, GrowingList) and container.stacked) or (
        isinstance(container, StagedDict) and bool(container.missing)
    )


def _is_asked(value: Any) -> bool:
    """Whether only the compiled function knows a number."""
    if isinstance(value, SymInt):
        facts = require().table
        return facts.varies(facts.resolve(value.dim))
    return isinstance(value, MixedNumber) or (isinstance(value, Tensor) and bool(kinds_of(value)))


def _is_in_range(item: Any, of: range | StagedRange) -> Any:
    rises = of.step > 0 if isinstance(of, range) else of.rises
    first, last = (of.start <= item, item < of.stop) if rises else (of.start >= item, item > of.stop)
    met = apply("logical_and", first, last)
    return apply("logical_and", met, (item - of.start) % of.step == 0)
