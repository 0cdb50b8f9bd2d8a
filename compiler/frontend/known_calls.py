"""Lazy expressions that were evaluated before: their code is found without making their graph again.

A graph of symbols (`generic_sizes`) serves every size, but making it takes much longer than small code runs.  Here an
expression is looked up by its *form*: the nodes as texts, or as recipes where they are not made yet, how they hang
together, and dtype, shape and strides of its arrays.  Of one form there is one call, whose symbols, sizes of results
and temporaries are known, so what is left is to walk the nodes and to enter machine code.  Only the arrays are not in
the form.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...runtime.variables import variable
from ..devices import device_here
from ..facts import walkable
from ..knobs import GDB, PASSES
from .bounded import keep_latest
from .graph import Node, Single, Value
from .unmade import Unmade

if TYPE_CHECKING:
    from ..graph_code import GraphCall

__all__ = ["Form", "forget", "form_of", "known", "remember"]

#: How many calls are kept; the oldest goes first.
MOST = 2048
#: What of the environment selects code, beside the device.
_passes, _gdb = variable(PASSES.name), variable(GDB.name)
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
    key: list[Any] = [device, _passes(), _gdb(), output.index, written is not None]
    stack: list[Unmade | Node] = [output if type(output) is Unmade else output.node]
    if written is not None:
        stack.append(written.node)
    numbers = {made: number for number, made in enumerate(stack)}
    leaves: list[Any] = []
    while stack:
        made = stack.pop()
        if type(made) is Unmade:
            key.append(made.recipe)
        elif made.op is not None:
            if made.regions or made.block is not None:
                return None
            key.append(made.text)
        else:
            array, kind = made.leaf, made.type
            if type(array) is np.ndarray and array.dtype is kind.dtype.numpy and array.flags.carray:
                strides = None  # as its shape says
            elif walkable(array) is array:
                strides = array.strides
            else:
                return None
            key += (kind.dtype, kind.dims, array.shape, strides, made.attrs.get("fixed"))
            leaves.append(made)
        for v in made.operands:
            source = v if type(v) is Unmade or type(v) is Single else v.node
            at = numbers.get(source)
            if at is None:
                at = numbers[source] = len(numbers)
                stack.append(source)
            key.append(at if source is v else (at, v.index))
    if len(leaves) > 1:  # a graph's inputs are in the order in which they were made
        leaves.sort(key=_by_serial)
        key += [numbers[x] for x in leaves]
    return Form(tuple(key), [x.leaf for x in leaves])


def known(form: Form) -> GraphCall | None:
    """The call of a form that was evaluated before."""
    return _calls.get(form.key)


def remember(form: Form, call: GraphCall) -> None:
    """Keep a call for its form; without the arrays that it was made for."""
    executable = call.executable
    lasting = type(executable)(executable.signature.without_sources(), executable.code, executable.native)
    keep_latest(_calls, form.key, call._replace(executable=lasting, direct=lasting.repeated(call.prepared)), MOST)


def forget() -> None:
    """Keep no call any more."""
    _calls.clear()
