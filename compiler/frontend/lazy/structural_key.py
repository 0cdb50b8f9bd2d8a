"""The form of a lazy expression: what it computes of its leaves, one object for all expressions that are alike.

Leaves are arrays.  They are not in a form; dtype, shape and strides of each are, and which of the operands' leaves are
the same.  A value has its form from when it is made, of those of its operands, and its leaves in the order in which
they are met: so an expression that was evaluated before is found without walking it.  Operands that are shared look
like such that are there twice; the compiler makes one of them again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...call.facts import as_dense_strided
from .bounded import lru_put

if TYPE_CHECKING:
    from ..trace.graph import Value
    from .deferred import OpTemplate

__all__ = ["StructuralKey", "combine_keys", "forget", "insert_key", "key_of", "lookup_key", "merge_leaves"]

#: How many forms are kept.
MOST = 8192
#: An expression of more leaves has no form: each of its values has a tuple of them.
MOST_LEAVES = 256


class StructuralKey:
    """What an expression computes; equal where it is the same object.  `template` says how, where one does."""

    __slots__ = ("template",)

    def __init__(self, template: OpTemplate | None = None):
        self.template = template


_forms: dict[tuple[Any, ...], StructuralKey] = {}


#: The form that has a key; None where there is none.
lookup_key = _forms.get


def insert_key(key: tuple[Any, ...], template: OpTemplate | None = None) -> StructuralKey:
    """A form for a key that none is known for."""
    made = StructuralKey(template)
    lru_put(_forms, key, made, MOST)
    return made


def forget() -> None:
    """Know no form any more."""
    _forms.clear()


def combine_keys(values: Sequence[Value]) -> tuple[Any, tuple[Value, ...]] | None:
    """What values compute, with the places that the leaves of each have among those before; and all leaves.

    None where one has no form, or where there are too many leaves.
    """
    parts: Any = None
    leaves: tuple[Value, ...] | None = None
    for value in values:
        form = value.form or key_of(value)
        if form is None:
            return None
        if leaves is None:
            parts, leaves = form, value.leaves
            if leaves is None:
                leaves = (value,)
        else:
            place, leaves = merge_leaves(leaves, value)
            parts = parts, form, place
            if len(leaves) > MOST_LEAVES:
                return None
    return parts, leaves or ()


def merge_leaves(leaves: tuple[Value, ...], value: Value) -> tuple[Any, tuple[Value, ...]]:
    """Where the leaves of a value are among others, and all of them."""
    more = value.leaves
    if more is None:
        return (leaves.index(value), leaves) if value in leaves else (-1, (*leaves, value))
    if more is leaves:
        return None, leaves
    places = {leaf: number for number, leaf in enumerate(leaves)}
    return tuple([places.setdefault(leaf, len(places)) for leaf in more]), tuple(places)


def key_of(value: Value) -> StructuralKey | None:
    """The form of a value; None for what is no plain expression of plain arrays."""
    stack = [value]
    while stack:
        found = stack[-1]
        if found.form is None and found.leaves is None:
            waiting = [v for v in found.node.operands if v.form is None and v.leaves is None]
            if waiting:
                stack += waiting
                continue
            _find(found)
        stack.pop()
    return value.form


def _find(value: Value) -> None:
    """Give a value, whose operands have their forms, its own; no form and no leaves where it cannot have one."""
    node = value.node
    if node.regions or node.block is not None:
        value.leaves = ()
        return
    leaves: tuple[Value, ...] | None
    if node.op is None:
        key = _of_array(value)
        leaves = () if key is None else None
    else:
        found = combine_keys(node.operands)
        key, leaves = (None, ()) if found is None else ((node.text, value.index, found[0]), found[1])
    # The form last: another thread that finds it finds the leaves.
    value.leaves = leaves
    value.form = None if key is None else lookup_key(key) or insert_key(key)


def _of_array(value: Value) -> tuple[Any, ...] | None:
    """What a leaf's array is; None for one that code cannot walk as it is."""
    array, kind = value.node.leaf, value.type
    if type(array) is np.ndarray and array.dtype is kind.dtype.numpy and array.flags.carray:
        strides = None  # as its shape says
    elif as_dense_strided(array) is array:
        strides = array.strides
    else:
        return None
    return kind.dtype, kind.dims, strides, bool(value.node.attrs.get("fixed"))
