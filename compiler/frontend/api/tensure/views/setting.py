"""Functions that set elements, through any view of the data: the document's *Setting*."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ......dialects.registry import OpError
from .....diagnostics import located
from ....tensor.apply import apply, as_tensor
from ....tensor.memory.storage import strided
from ....tensor.tensor import Tensor
from ....trace.context import table
from ....trace.symint import as_dim
from ..arguments import axis_of, depth_of, integer, mutable, number, shape_text, tensor
from ..creation import clone
from ..elementwise.makers import assigned
from ..storage import storage_of
from .selection import selected

__all__ = ["assign_", "fill_", "mset", "mset_", "set_axis_range_", "set_range_"]


def _same_shape(target: Tensor, source: Tensor, name: str) -> None:
    facts = table()
    equal = target.ndim == source.ndim and all(
        facts.settle(m, "==", n, name) is not False for m, n in zip(target.dims, source.dims)
    )
    if not equal:
        raise OpError(
            f"{name} sets shape {shape_text(target.shape)}, and the source has {shape_text(source.shape)}",
            "broadcast_like(source, target) repeats it",
            "TX0814",
        )


def _set_part(target: Tensor, source: Any, name: str, position: int) -> None:
    """Set a selection, whose shape is that of the source but for dims of size 1: those hold nothing more or less."""
    x = tensor(source, name, position)
    if x.ndim != target.ndim and [d for d in x.dims if d.const != 1] == [d for d in target.dims if d.const != 1]:
        depth_of(x)
        x = apply("reshape", x, dims=target.dims)
    _set_tensor(target, x, name)


def _set(target: Tensor, source: Any, name: str, position: int) -> None:
    _set_tensor(target, tensor(source, name, position), name)


def _set_tensor(target: Tensor, x: Tensor, name: str) -> None:
    _same_shape(target, x, name)
    depth = depth_of(target, x)
    assigned(target, lambda: x, depth)


def assign_(a: Any, b: Any) -> Any:
    """Set the elements of `a` to those of `b`, a tensor of its shape, of f32 or f64; `a`, in its own dtype.

    TxcError for another shape, and for what is no tensor.
    """
    with located():
        target = mutable(a, "assign_", scalars=True)
        _set(target, b, "assign_", 1)
        return target


def fill_(a: Any, n: Any) -> Any:
    """Set every element of `a`, any shape, f32 or f64, to the number or scalar `n`; `a`.

    TxcError for what is no tensor, or no number.
    """
    with located():
        target = mutable(a, "fill_", scalars=True)
        value = number(n, "fill_")
        depth = depth_of(target)
        return assigned(target, lambda: as_tensor(value), depth)


def set_range_(a: Any, *arguments: Any) -> Any:
    """``set_range_(a, selection, …, source)``: set what `select_range` selects of `a` to `source`; `a`.

    `source` has the shape of the selection, whatever dims of size 1 there are, and is of f32 or f64, as `a` is.
    TxcError for another shape, and as `select_range`.
    """
    with located():
        target = mutable(a, "set_range_", scalars=True)
        if not arguments:
            raise OpError("set_range_ takes selections and a source", code="TX0813")
        _set_part(selected(target, arguments[:-1], "set_range_"), arguments[-1], "set_range_", len(arguments))
        return target


def set_axis_range_(a: Any, axis: Any, selection: Any, source: Any) -> Any:
    """Set what `select_axis_range` selects of `a` to `source`; `a`.

    `source` has the shape of the selection, whatever dims of size 1 there are, and is of f32 or f64, as `a` is.
    TxcError for another shape, and as `select_axis_range`.
    """
    with located():
        target = mutable(a, "set_axis_range_", scalars=True)
        every: list[Any] = ["all"] * target.ndim
        every[axis_of(axis, target.ndim, "set_axis_range_", target.shape)] = selection
        _set_part(selected(target, every, "set_axis_range_"), source, "set_axis_range_", 3)
        return target


def mset_(a: Any, *arguments: Any) -> Any:
    """``mset_(a, i, j, …, value)``: set one element of `a`, any shape, f32 or f64, to a number or scalar; `a`.

    TxcError for an index outside, for too few or too many, and for what is no number.
    """
    with located():
        target = mutable(a, "mset_", scalars=True)
        return _mset(target, arguments, "mset_")


def mset(a: Any, *arguments: Any) -> Any:
    """``mset(a, i, j, …, value)``: a copy of `a`, any shape, f32 or f64, with one element set to a number or scalar.

    TxcError for an index outside, for too few or too many, and for what is no number.
    """
    with located():
        return _mset(clone(tensor(a, "mset")), arguments, "mset")


def _mset(target: Tensor, arguments: Sequence[Any], name: str) -> Tensor:
    if len(arguments) != target.ndim + 1:
        raise OpError(
            f"{name} of shape {shape_text(target.shape)} takes {target.ndim} indices and a number, "
            f"not {len(arguments)} arguments",
            code="TX0813",
        )
    *at, value = arguments
    indices = [integer(i, name, "an index") for i in at]
    value = number(value, name)
    facts = table()
    for axis, (i, d) in enumerate(zip(indices, target.dims)):
        if facts.settle(0, "<=", as_dim(i), name) is False or facts.settle(as_dim(i), "<", d, name) is False:
            raise OpError(f"{name}: index {i} is not in dim {axis} of shape {shape_text(target.shape)}", code="TX0813")
    storage = storage_of(target)
    if storage is None:
        target[tuple(indices)] = value
        return target
    # One element is set in memory: as an expression, each index would be another program.
    index = target.owner()[1]
    memory = storage.writable()
    place = memory if index is None else strided(memory, index)
    if place is None:
        raise OpError(f"{name}: this view of {shape_text(target.shape)} is no array in memory", "clone it", "TX0709")
    place[tuple(indices)] = float(value)
    return target
