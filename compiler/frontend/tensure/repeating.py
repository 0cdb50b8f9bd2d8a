"""Calls that were made before, on tensors of the same types: their checks have passed, their nodes are known.

What an elementwise function makes of whole tensors depends on their dtypes and shapes, and on which of them are one;
of a literal it depends on the number too.  So the nodes of one call, from the data that it reads to the data that it
makes, serve the next one (`recipes`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ....dialects.registry import OPS
from .. import recipes
from ..graph import Value, moment
from ..trace import current
from ..unmade import Unmade, settled
from .storage import Storage, all_of, holding

__all__ = ["repeated", "repeated_in_place"]

_CONSTANT = OPS["constant"]


def repeated(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which makes new data of its operands."""
    return _repeated(function, mutates=False)


def repeated_in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which makes the next value of its first operand's data."""
    return _repeated(function, mutates=True)


def _repeated(function: Callable[..., Any], mutates: bool) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*operands: Any, **named: Any) -> Any:
        stores = None if named or current() is not None else _stores(operands)
        if stores is None:
            return function(*operands, **named)
        key: list[Any] = [function]
        values: list[Value] = []
        depth = 0
        for store in stores:
            depth = max(depth, store.read())
            value = store.present
            values.append(value)
            key += (value.type.dtype, value.type.dims, values.index(value))
            if type(value) is not Unmade and value.node.op is _CONSTANT:
                key.append(value.node.text)
        depth += max(1, len(stores) - 1)
        given = recipes.Operands(tuple(key), values)
        made = recipes.value_of(given)
        if made is None:
            since = moment()
            result = function(*operands)
            data = all_of(result)
            if data is not None and (mutates or not any(result is x for x in operands)):
                data.set(recipes.keep_value(given, since, settled(data.present)), data.depth)
            return result
        first = stores[0] if mutates else None
        for store in stores:
            if store is not first:
                store.share()
        if first is None:
            return holding(made, depth)
        first.set(made, depth)
        return operands[0]

    return call


def _stores(operands: tuple[Any, ...]) -> list[Storage] | None:
    """What the operands are all of; None where one is a view of a part, or no tensor of these."""
    stores = []
    for x in operands:
        store = all_of(x)
        if store is None:
            return None
        stores.append(store)
    return stores or None
