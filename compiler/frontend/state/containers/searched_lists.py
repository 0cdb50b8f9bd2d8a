"""Lists of numbers that compiled code knows, put in order and searched: as arrays, by the rules of Python's lists.

Python compares items as numbers, exactly, whichever types they are of.  An order with NaN among the items depends on
how a sort goes about it, and whether NaN is in a list on which object it is; so both are errors of the call.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .....dialects.registry import OpError
from ...numpy.creation import arange
from ...scalars.python_numbers import checked
from ...tensor.apply import apply
from ...tensor.tensor import Tensor
from .growing_lists import GrowingList, Item, Records, Stack, alike
from .item_kinds import Kinds

__all__ = ["count_in", "index_in", "is_in", "put_in_order", "without"]


def put_in_order(items: Stack, keys: Stack, reverse: bool) -> Stack:
    """The items in the order of their keys, numbers or tuples of numbers: those of equal keys stay as they are."""
    if reverse:
        turned = put_in_order(_turned(items), _turned(keys), False)
        return _turned(turned)
    columns = keys.columns if isinstance(keys, Records) and not isinstance(keys.form, Kinds) else [keys]
    order: Any = None
    for column in reversed(columns):
        values = _comparable(column.rows)
        again = (values if order is None else values[order]).argsort(kind="stable")
        order = again if order is None else order[again]
    return items.with_leaves(iter([Stack(leaf.rows[order], leaf.weak) for leaf in items.leaves]))


def _turned(items: Stack) -> Stack:
    return items.part(slice(None, None, -1))


def _comparable(values: Tensor) -> Tensor:
    if values.element.is_complex:
        raise TypeError("'<' not supported between instances of 'complex' and 'complex'")
    if not values.element.is_float:
        return values
    text = "the order of a list that has NaN depends on how it is sorted: leave NaN out of it"
    return checked(values, Tensor((values == values).all().value), ValueError, text)


def _equal(item: Any, items: GrowingList) -> Tensor:
    """Which of the items are equal to a number."""
    both = alike([Item.of(items.numbers()), Item.of(item)])
    if both is None:
        raise OpError(
            "a number is looked for in a list of others, and no dtype holds both exactly",
            "make one type of both before, as float(…) or int(…) do",
            "TX0315",
        )
    values, wanted = (found.leaves[0].array for found in both)
    if wanted.element.is_float or wanted.element.is_complex:
        text = "whether NaN is in a list depends on which object it is: test for it with math.isnan"
        wanted = checked(wanted, Tensor((wanted == wanted).value), ValueError, text)
    return Tensor(values.value) == Tensor(wanted.value)


def is_in(item: Any, items: GrowingList) -> Tensor:
    """``item in items``."""
    return Tensor(_equal(item, items).any().value, weak="bool")


def count_in(item: Any, items: GrowingList) -> Tensor:
    """``items.count(item)``."""
    return Tensor(_equal(item, items).sum().astype(np.int64).value, weak="int")


def without(item: Any, items: GrowingList) -> Stack:
    """The items that ``items.remove(item)`` leaves."""
    numbers, first = items.numbers(), index_in(item, items)
    kept = Tensor(apply("not_equal", arange(numbers.rows.shape[0]), Tensor(first.value)).value)
    return numbers.with_leaves(iter([Stack(leaf.rows[kept], leaf.weak) for leaf in numbers.leaves]))


def index_in(item: Any, items: GrowingList, text: str = "list.index(x): x not in list") -> Tensor:
    """``items.index(item)``, which raises ValueError, saying `text`, where there is none."""
    found = _equal(item, items)
    first = Tensor(found.argmax().value, weak="int")
    return checked(first, Tensor(found.any().value), ValueError, text)
