"""Elements picked and stored by indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....dialects.registry import OpError
from .. import indexing, methods
from ..apply import apply, as_tensor, broadcast_together, cast
from ..creation import iota
from ..tensor import Tensor
from .table import handles, into

__all__ = ["take", "take_along_axis"]


@handles(np.take)
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    """NumPy's take; an index out of bounds reads the nearest element, which is what ``mode="clip"`` asks for."""
    a, indices = as_tensor(a), as_tensor(indices)
    if axis is None:
        a, axis = methods.ravel(a), 0
    axis = methods._axis(axis, a.ndim)
    if mode == "wrap":
        indices = indices % a.shape[axis]
    elif mode == "clip":
        indices = apply("clip", cast(indices, as_tensor(0).element), 0, a.shape[axis] - 1)
    elif mode != "raise":
        raise OpError(f"np.take does not take mode={mode!r}", "it takes raise, wrap and clip", "TX0240")
    return into(out, apply("take", a, indices, axis=axis))


def _along(x: Tensor, indices: Tensor, axis: int) -> tuple[Tensor, ...]:
    """The index arrays, one a dim, that run along all other dims as they are."""
    if indices.ndim != x.ndim:
        raise OpError(f"indices of {indices.user_type} along an axis of {x.user_type}: ranks differ", code="TX0103")
    found = []
    for i, d in enumerate(x.dims):
        if i == axis:
            found.append(indices)
        else:
            places = methods.reshape(iota(d), [-1 if j == i else 1 for j in range(x.ndim)])
            found.append(places)
    return tuple(broadcast_together(found, "take_along_axis"))


@handles(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    arr, indices = as_tensor(arr), as_tensor(indices)
    if axis is None:
        arr, axis = methods.ravel(arr), 0
    axis = methods._axis(axis, arr.ndim)
    return indexing.get(arr, _along(arr, indices, axis))


@handles(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    if axis is None:
        raise OpError("np.put_along_axis takes an axis here", "use x.reshape(-1)", "TX0240")
    indexing.put(arr, _along(arr, as_tensor(indices), methods._axis(axis, arr.ndim)), values)


@handles(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    methods.checked_cast(as_tensor(src), dst.element, casting)
    dst.store(src if where is True else apply("select", where, src, dst))


@handles(np.putmask)
def putmask(a: Any, /, mask: Any, values: Any) -> None:
    """Values of another number of elements than `a` are not repeated."""
    a.store(apply("select", mask, cast(as_tensor(values), a.element), a))


@handles(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """The element of the choice that `a` numbers; one out of bounds is the nearest."""
    if mode not in ("raise", "clip"):
        raise OpError(f"np.choose does not take mode={mode!r}", "it takes raise and clip", "TX0240")
    a, tensors = as_tensor(a), [as_tensor(c) for c in choices]
    result = tensors[-1]
    for number in reversed(range(len(tensors) - 1)):
        result = apply("select", apply("less_equal", a, number), tensors[number], result)
    return into(out, result)
