"""Lazy expressions that were evaluated before: their code is found without making their graph again.

A graph of symbols (`generic_sizes`) serves every size, but making it takes much longer than small code runs.  Here an
expression is looked up by its *form*: the nodes as texts, how they hang together, and dtype, shape and strides of
its arrays.  Of one form there is one call, whose symbols, sizes of results and temporaries are known, so what is left
is to walk the nodes and to enter machine code.  Only the arrays are not in the form.
"""

from __future__ import annotations

import os
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..devices import device_here
from ..facts import walkable
from ..knobs import GDB, PASSES
from .bounded import keep_latest
from .graph import Node, Value

if TYPE_CHECKING:
    from ..graph_code import GraphCall

__all__ = ["Form", "forget", "form_of", "known", "remember"]

#: How many calls are kept; the oldest goes first.
MOST = 2048
#: What of the environment selects code, beside the device.
_SETTINGS = (PASSES.name, GDB.name)
_calls: dict[Any, GraphCall] = {}
_by_serial = attrgetter("serial")


class Form(NamedTuple):
    """What selects a call, and the arrays to call it with."""

    key: tuple[Any, ...]
    arrays: list[np.ndarray]


def form_of(output: Value, written: Value | None = None) -> Form | None:
    """The form of an expression whose value goes into the leaf `written`, where one is given.

    None for what is no plain expression of plain arrays on the CPU.
    """
    device = device_here()
    if device.is_gpu:  # its code knows the user's lines
        return None
    found: set[Node] = set() if written is None else {written.node}
    stack = [output.node]
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            for v in node.operands:
                stack.append(v.node)
    key: list[Any] = [device, *map(os.environ.get, _SETTINGS)]
    arrays: list[np.ndarray] = []
    numbers: dict[Value, int] = {}
    for node in sorted(found, key=_by_serial):
        for result in node.results:
            numbers[result] = len(numbers)
        if node.op is not None:
            if node.regions or node.block is not None:
                return None
            key.append(node.text)
            for v in node.operands:
                key.append(numbers[v])
            continue
        array, given = node.leaf, node.results[0].type
        if walkable(array) is not array:
            return None
        arrays.append(array)
        key += (given.dtype, given.dims, array.shape, array.strides, node.attrs.get("fixed"))
    key += (numbers[output], None if written is None else numbers[written])
    return Form(tuple(key), arrays)


def known(form: Form) -> GraphCall | None:
    """The call of a form that was evaluated before."""
    return _calls.get(form.key)


def remember(form: Form, call: GraphCall) -> None:
    """Keep a call for its form; without the arrays that it was made for."""
    executable = call.executable
    lasting = type(executable)(executable.signature.without_sources(), executable.code, executable.native)
    keep_latest(_calls, form.key, call._replace(executable=lasting), MOST)


def forget() -> None:
    """Keep no call any more."""
    _calls.clear()
