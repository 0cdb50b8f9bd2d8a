"""Calls that were made before, on tensors of the same types: their checks have passed, their nodes are known.

What an elementwise function makes of whole tensors depends on their dtypes and shapes, and on which of them are one;
of a literal it depends on the number too.  So the nodes of one call, from the data that it reads to the data that it
makes, serve the next one (`op_templates`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ......dialects.registry import OPS
from ....lazy import op_templates
from ....lazy.deferred import DeferredValue, force
from ....trace.context import current
from ....trace.graph import Value, next_serial
from ..storage import Storage, Tensure, all_of, from_array

__all__ = ["repeated", "repeated_in_place"]

_CONSTANT = OPS["constant"]


def repeated(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which makes new data of its operands."""
    return _repeated(function, mutates=False)


def repeated_in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which makes the next value of its first operand's data."""
    return _repeated(function, mutates=True)


def _repeated(function: Callable[..., Any], mutates: bool) -> Callable[..., Any]:
    head = (function,)

    @functools.wraps(function)
    def call(*operands: Any, **named: Any) -> Any:
        if named or current() is not None:
            return function(*operands, **named)
        stores: list[Storage] = []
        values: list[Value] = []
        depth = 0
        for x in operands:
            store = x._parent if type(x) is Tensure and x.layout == "row" else None
            if type(store) is not Storage or store.memory is not None:
                return function(*operands)
            value = store._value
            if value.operands:
                value = store.read()
            stores.append(store)
            values.append(value)
            if store.depth > depth:
                depth = store.depth
        made = op_templates.lookup_value(head, values, 2)
        if made is None:
            made, result = _worked_out(function, operands, values, mutates)
            if made is None:
                return result
        depth += len(stores) - 1 or 1
        if mutates:
            first = stores[0]
            for store in stores:
                if store is not first:
                    store.shared = True
            first.set(made, depth)
            return operands[0]
        for store in stores:
            store.shared = True
        return from_array(made, depth)

    return call


def _worked_out(
    function: Callable[..., Any], operands: tuple[Any, ...], values: list[Value], mutates: bool
) -> tuple[Value | None, Any]:
    """What the function makes of values of which it was not asked for before: a value of known nodes, or its result."""
    if not values:
        return None, function()
    given = op_templates.Operands((function,), values, [_literal(v) for v in values])
    made = op_templates.instantiate_value(given)
    if made is not None:
        return made, None
    since = next_serial()
    result = function(*operands)
    data = all_of(result)
    if data is not None and (mutates or not any(result is x for x in operands)):
        made = force(data.present)
        op_templates.record_value(given, since, made)
        data.set(made, data.depth)
    return None, result


def _literal(value: Value) -> str:
    """The literal that a value is; empty for any other."""
    return value.node.text if type(value) is not DeferredValue and value.node.op is _CONSTANT else ""
