"""The key of a lazy expression: what it computes of its leaves, one object for all expressions that are alike.

Leaves are arrays.  They are not in a form; dtype, shape and strides of each are, and which of the operands' leaves are
the same.  A value has its key, a form and its leaves in the order in which they are met, from when it is made, of those
of its operands: so an expression that was evaluated before is found without walking it.  Operands that are shared look
like such that are there twice; the compiler makes one of them again.

A key stays right for as long as its value lives: it may say more than it has to, where a value inside became an array
since then, until its key is found again (`materialize.fresh_keys`).
"""

from __future__ import annotations

from _thread import RLock
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ...call.facts import as_dense_strided
from .bounded import lru_put

if TYPE_CHECKING:
    from ..trace.graph import Node, Value
    from .deferred import OpTemplate

__all__ = [
    "NO_KEY", "Key", "StructuralKey", "changing", "combine_keys", "forget", "insert_key", "key_of", "lookup_key",
    "merge_leaves", "sources",
]  # fmt: skip

#: How many forms are kept.
MOST = 8192
#: An expression of more leaves has no form: each of its values has a tuple of them.
MOST_LEAVES = 256
#: Held while values become arrays, and by who reads several facts of a node that belong together.
changing = RLock()


class StructuralKey:
    """The form of an expression; equal where it is the same object.  `template` says how it is made, where one does."""

    __slots__ = ("template",)

    def __init__(self, template: OpTemplate | None = None):
        self.template = template


#: A form, and the leaves; None for those of a leaf, which does not list itself.
Key: TypeAlias = "tuple[StructuralKey | None, tuple[Node, ...] | None]"
#: Of what is no plain expression of plain arrays, or of too many.
NO_KEY: Key = (None, ())

_forms: dict[tuple[Any, ...], StructuralKey] = {}


#: The form of what is described; None where there is none.
lookup_key = _forms.get


def insert_key(described: tuple[Any, ...], template: OpTemplate | None = None) -> StructuralKey:
    """A form for what none is known for."""
    made = StructuralKey(template)
    lru_put(_forms, described, made, MOST)
    return made


def forget() -> None:
    """Know no form any more."""
    _forms.clear()


def combine_keys(values: Sequence[Value]) -> tuple[Any, tuple[Node, ...]] | None:
    """What values compute, with the places that the leaves of each have among those before; and all leaves.

    None where one has no form, or where there are too many leaves.
    """
    parts: Any = None
    leaves: tuple[Node, ...] | None = None
    for value in values:
        form, more = value.key or key_of(value)
        if form is None:
            return None
        if leaves is None:
            parts, leaves = form, (value.node,) if more is None else more
        else:
            place, leaves = merge_leaves(leaves, value, more)
            parts = parts, form, place
            if len(leaves) > MOST_LEAVES:
                return None
    return parts, leaves or ()


def merge_leaves(leaves: tuple[Node, ...], value: Value, more: tuple[Node, ...] | None) -> tuple[Any, tuple[Node, ...]]:
    """Where the leaves of a value, `more`, are among others, and all of them."""
    if more is None:
        leaf = value.node
        return (leaves.index(leaf), leaves) if leaf in leaves else (-1, (*leaves, leaf))
    if more is leaves:
        return None, leaves
    places = {leaf: number for number, leaf in enumerate(leaves)}
    return tuple([places.setdefault(leaf, len(places)) for leaf in more]), tuple(places)


def key_of(value: Value) -> Key:
    """The key of a value; `NO_KEY` for what has none."""
    with changing:
        stack = [value]
        while stack:
            found = stack[-1]
            if found.key is None:
                waiting = [v for v in sources(found) if v.key is None]
                if waiting:
                    stack += waiting
                    continue
                found.key = _found(found)
            stack.pop()
        assert value.key is not None
        return value.key


def sources(value: Value) -> Sequence[Value]:
    """The values that its key is found by."""
    origin = value.origin
    return value.operands if origin is None else origin[1]


def _found(value: Value) -> Key:
    """The key of a value whose sources have theirs."""
    origin, template = value.origin, None
    if origin is not None:
        template, sources = origin
        found = combine_keys(sources)
        described, leaves = (None, ()) if found is None else ((template.head, found[0]), found[1])
    elif value.node.op is None:
        described, leaves = _of_array(value), None
    elif value.node.regions or value.node.block is not None:
        return NO_KEY
    else:
        found = combine_keys(value.operands)
        described, leaves = (None, ()) if found is None else ((value.node.text, value.index, found[0]), found[1])
    return NO_KEY if described is None else (lookup_key(described) or insert_key(described, template), leaves)


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
