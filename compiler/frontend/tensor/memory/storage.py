"""Tensors that live in memory: what a view of one is there, and stores that go through to it.

A tensor has memory where it was made with it (`Tensor(dtype, sizes)`, `TensorFixedSize`, `TensorMap`) or where its
value was needed once (`give_memory`).  A leaf of the expression graph refers to that memory.  Expressions that wait
keep what is stored over; they see what others store into an array of NumPy's, of which nobody tells them.
Moving what is in memory takes no compiled code: NumPy copies it.
"""

from __future__ import annotations

import sys
from _thread import allocate_lock  # `threading.Lock`, without the rest of that module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .....dialects.dims.analysis import linear_in
from .....dialects.dims.dims import Dim, Sym, dim
from .....dialects.dims.index_map import IndexMap
from .....dialects.registry import OPS, OpError
from ...lazy.deferred import DeferredValue, array_of_leaf
from ...lazy.evaluate import evaluate_value, run_in_place
from ...lazy.materialize import keep
from ...lazy.structural_key import NO_KEY, changing
from ...trace.emit import emit
from ...trace.graph import Value

if TYPE_CHECKING:
    from ..tensor import Tensor

__all__ = ["array_of", "give_memory", "literal", "place", "readable", "update", "write"]

_giving = allocate_lock()


def place(t: Tensor) -> np.ndarray | None:
    """The elements of `t` in memory, in graph dims: a NumPy view; None where it has none, or no such view."""
    if not t.is_view:
        return t.memory
    if not t.has_memory:
        return None
    owner, index = t.owner()
    assert owner.memory is not None
    return owner.memory if index is None else strided(owner.memory, index)


def readable(t: Tensor) -> np.ndarray | None:
    """As `place`, of arrays that a lazy tensor refers to as well: to be read, and copied by who keeps it."""
    if t.reads_only:
        return None
    owner, index = t.owner()
    array = array_of_leaf(owner.deferred_value) if owner.memory is None else owner.memory
    return array if array is None or index is None else strided(array, index)


def strided(memory: np.ndarray, index: IndexMap) -> np.ndarray | None:
    """What an index map leads to, as a NumPy view; None where it is not linear, or has elements that are not there."""
    if index.guards:
        return None
    its = [Sym(f"d{i}") for i in range(index.rank)]
    start: list[int] = []
    strides = [0] * index.rank
    for expr, step in zip(index.exprs, memory.strides):
        split = linear_in(expr, its)
        if split is None:
            return None
        start.append(_number(split[1]))
        for i, it in enumerate(its):
            strides[i] += _number(split[0].get(it, dim(0))) * step
    shape = [_number(e) for e in index.extents]
    if 0 in shape:
        return np.empty(shape, memory.dtype)
    first = memory[(*(slice(at, at + 1) for at in start), ...)]
    return as_strided(first, shape, strides, writeable=memory.flags.writeable)


def _number(d: Dim) -> int:
    """The value of a dim of a lazy expression, where every dim has one."""
    assert d.const is not None
    return d.const


def give_memory(t: Tensor) -> np.ndarray:
    """Compute `t` where it is not in memory yet, and keep it there; its elements in graph dims.

    From then on it is a tensor with memory of its own: stores go there at once.  A view is computed with all of its
    owner, which gets the memory; OpError for one that is not an array in memory, such as a padded one.
    """
    if not t.is_view:
        return t.memory if t.memory is not None else _settled(t)
    found = place(t)
    if found is not None:
        return found
    owner, index = t.owner()
    if owner.memory is None:
        _settled(owner)
    found = place(t)
    if found is None:
        raise OpError(f"this view {t.user_type} is no array in memory: {index}", "copy() it first", "TX0709")
    return found


def _settled(owner: Tensor) -> np.ndarray:
    """Compute a tensor that is no view, and keep it in memory."""
    value = owner.deferred_value
    made = evaluate_value(value)
    if not made.flags.writeable:
        made = made.copy()
    if sys.getrefcount(value) > _UNREAD:
        keep([value], [made.copy()])  # for the expressions that read it, and see no stores
    with _giving:
        if owner.memory is None:
            owner.set_memory(made, value.type)
    assert owner.memory is not None
    return owner.memory


def array_of(t: Tensor) -> np.ndarray:
    """The elements of a lazy tensor in the user's dims: its memory where it has some, else computed now.

    Of a view that is the view; `lazy/materialize.py` says when its owner is computed with it, once for all views.
    """
    if t.is_view:
        found = place(t)
        if found is None:
            there = readable(t)
            found = evaluate_value(t.value) if there is None else there.copy()
    else:
        found = _settled(t) if t.memory is None else t.memory
    return found.T if t.layout == "col" else found


def literal(t: Tensor) -> Any:
    """The number that all elements of `t` are, where it says so itself; else None."""
    if t.is_view:
        return None
    with changing:
        node = t.value.node
        while node.op in (OPS["expand"], OPS["reshape"]):
            node = node.operands[0].node
        return node.attrs["value"] if node.op is OPS["constant"] else None


def write(target: Tensor, source: Tensor, is_fresh: bool) -> None:
    """Store `source`, of the dtype and dims of `target`, into the memory of `target`.

    The source is read as it was before: where the two overlap the result is as if it had been computed aside.  It is,
    unless nobody else has it (`is_fresh`) and nothing else reads what is stored over.
    """
    owner, index = target.owner()
    _check_writeable(owner, target)
    here, number = place(target), literal(source)
    there = None if number is not None else readable(source)
    if here is not None and number is not None:
        _keep_for_readers(owner)
        here[...] = number
    elif here is not None and (there is not None or not (is_fresh and _is_alone(owner, source))):
        if there is None:
            there = array_of(source)
            there = there.T if source.layout == "col" else there
        _keep_for_readers(owner)
        here[...] = there
    else:
        before = owner.value
        (after,) = (source.value,) if index is None else _inserted(before, source.value, index)
        run_in_place(after, before)


def _references(owner: Any) -> int:
    """How often the value of a tensor is referred to, by itself and by this question."""
    value = owner.deferred_value
    return sys.getrefcount(value)


class _Unread:
    """Has a value, as a tensor has, that no expression reads."""

    def __init__(self) -> None:
        self.deferred_value = object()


#: What `_references` gives where no expression reads the value: releases of Python count themselves differently.
_UNREAD = _references(_Unread())
#: How many more there are at least where an op on the elements is to be stored: its operand, and two who call.  An
#: expression that reads them makes it two more.
_STORING = 3


def _is_alone(owner: Tensor, source: Tensor) -> bool:
    """Whether surely nothing reads the elements of `owner` but `source`, which nobody else has: one op of arrays."""
    value, found = owner.deferred_value, source.deferred_value
    if source.is_view or type(found) is not DeferredValue or any(array_of_leaf(v) is None for v in found.operands):
        return False
    leaves = (found.key or NO_KEY)[1] or ()
    reads = found.operands.count(value) * (1 + (found.made_value is not None)) + (value.node in leaves)
    return _references(owner) == _UNREAD + 1 + reads  # `value` is one more


def _keep_for_readers(owner: Tensor) -> None:
    """Let expressions that wait read the elements as they are now, before something is stored into the memory."""
    if owner.memory is not None and _references(owner) > _UNREAD:
        value = owner.deferred_value
        value.node.leaf = _copied(owner.memory)
        owner.set_memory(owner.memory, value.type)


def _copied(memory: np.ndarray) -> np.ndarray:
    """The elements in other memory, at the same strides: which code they are read by is known already."""
    if memory.flags.carray:
        return memory.copy()
    low, high = np.lib.array_utils.byte_bounds(memory)
    begin = memory.__array_interface__["data"][0] - low
    made = np.ndarray(memory.shape, memory.dtype, np.empty(high - low, np.uint8), begin, memory.strides)
    made[...] = memory
    return made


def update(owner: Tensor, after: Value, through: Tensor) -> None:
    """Give a tensor in memory other elements, computed from those it has, stored `through` it or a view of it."""
    _check_writeable(owner, through)
    if _references(owner) > _UNREAD + _STORING:
        _keep_for_readers(owner)
    run_in_place(after, owner.value)


def _check_writeable(owner: Tensor, target: Tensor) -> None:
    assert owner.memory is not None
    if not owner.memory.flags.writeable:
        raise OpError(f"a store into a {target.user_type} on read-only memory", "map a copy of it", "TX0700")


def _inserted(before: Value, new: Value, index: IndexMap) -> tuple[Value, ...]:
    return emit(OPS["insert"], (before, new), {"map": index})
