"""Elements put in and left out: np.insert and np.delete."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ......dialects.registry import OpError
from ......dialects.types import DTYPES
from ....indexing.advanced import IndexArrays, gather, scatter
from ....tensor.apply import apply, as_tensor
from ....tensor.methods import elements, reducing, reshaping
from ....tensor.promotion import cast
from ....tensor.tensor import Tensor
from ....trace.context import table
from ....trace.symint import SymInt, as_dim
from ... import creation
from ..registry import handles
from ..searching.data_dependent import places_of
from .joining import concatenate, slice_along

__all__: list[str] = []


def _taken(name: str, arr: Any, axis: Any) -> tuple[Tensor, int]:
    """The tensor, flattened where no axis is given, and the axis."""
    a = as_tensor(arr)
    if axis is None:
        return (a if a.ndim == 1 else reshaping.ravel(a)), 0
    if not a.ndim:
        raise OpError(f"np.{name} along axis {axis} of a tensor of rank 0", "leave the axis out", "TX0103")
    return a, reshaping.axis_of(axis, a.ndim)


def _of_values(obj: Any) -> bool:
    """Whether places are known only when the function runs."""
    parts = obj if isinstance(obj, (list, tuple)) else (obj.start, obj.stop, obj.step) if isinstance(obj, slice) else ()
    return any(isinstance(p, (Tensor, SymInt)) for p in (obj, *parts))


def _known(name: str, obj: Any) -> Any:
    """Places that are known now: a slice of numbers, an integer, or an array of integers or bools."""
    if isinstance(obj, slice):
        return obj
    places = np.asarray(obj)
    if places.size == 0 and not isinstance(obj, np.ndarray):
        places = places.astype(np.intp)
    if places.dtype.kind not in "iub":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    return places


def _size(a: Tensor, axis: int) -> int:
    """The size along the axis, as a fact of the compiled version: which places there are depends on it."""
    return int(a.shape[axis])


@handles(np.delete)
def delete(arr: Any, obj: Any, axis: Any = None) -> Tensor:
    """Without the slices along `axis` that `obj` names."""
    a, axis = _taken("delete", arr, axis)
    if _of_values(obj):
        return _without_those(a, obj, axis)
    obj = _known("delete", obj)
    if not isinstance(obj, slice) and obj.ndim == 0 and obj.dtype.kind != "b":
        return _without_one(a, int(obj), axis)
    kept = np.delete(np.arange(_size(a, axis)), obj)
    return apply("take", a, as_tensor(kept), axis=axis, mode=None)


def _without_those(a: Tensor, obj: Any, axis: int) -> Tensor:
    """Without the slices at places that data decides: chosen by a mask."""
    size = a.shape[axis]
    kept = elements.copy(creation.ones(size, np.bool_))
    if isinstance(obj, slice):
        kept[obj] = False
    else:
        places = reshaping.ravel(as_tensor(obj))
        if places.element.kind == "bool":
            table().equate(places.dims[0], kept.dims[0], "np.delete by a mask")
            kept = apply("logical_not", places)
        else:
            kept[places] = False
    return gather(IndexArrays(a, [axis], [places_of(kept)], axis, None))


def _without_one(a: Tensor, place: int, axis: int) -> Tensor:
    at = _counted_from_start(a, axis, place, operator.ge)
    return concatenate([slice_along(a, axis, None, at), slice_along(a, axis, at + 1, None)], axis)


def _counted_from_start(a: Tensor, axis: int, place: int, beyond: Callable[[Any, Any], bool]) -> Any:
    """A place along an axis, negative ones from its end on; NumPy's error where it is `beyond` that, or before it."""
    size: Any = a.shape[axis]
    if beyond(place, size) if place >= 0 else (-place > size):
        raise IndexError(f"index {place} is out of bounds for axis {axis} with size {size}")
    return place if place >= 0 else size + place


@handles(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Tensor:
    """With `values` before the slices along `axis` that `obj` names, places counted in the array as it was."""
    a, axis = _taken("insert", arr, axis)
    if _of_values(obj):
        return _with_those(a, obj, cast(as_tensor(values), a.element), axis)
    obj = _known("insert", obj)
    new = cast(as_tensor(values), a.element)
    if not isinstance(obj, slice) and obj.size == 1 and obj.dtype.kind != "b":
        return _with_block(a, obj, new, axis)
    size = _size(a, axis)
    # Where each element of the result comes from: its place in the array, or behind it in the values.
    count = len(np.insert(np.arange(size), obj, 0)) - size
    sources = np.insert(np.arange(size), obj, size + np.arange(count))
    shape = list(a.shape)
    shape[axis] = count
    new = reshaping.broadcast(new, shape)
    return apply("take", concatenate([a, new], axis), as_tensor(sources), axis=axis, mode=None)


def _with_those(a: Tensor, obj: Any, new: Tensor, axis: int) -> Tensor:
    """With slices before places that data decides, in the order that `obj` has them where these are equal."""
    size: Any = a.shape[axis]
    if isinstance(obj, slice):
        obj = creation.iota(a.dims[axis])[obj]
    places = as_tensor(obj)
    single = not places.ndim and places.element.kind != "bool"
    if places.element.kind == "bool":
        places = places_of(reshaping.ravel(places))
    if places.ndim > 1 or not places.element.is_integer:
        raise OpError(f"np.insert takes a vector of places, not {places.user_type}", code="TX0254")
    places = cast(places, DTYPES["i64"])
    places = apply("select", places < 0, places + size, places)
    inside = apply("logical_and", places >= 0, places <= size)
    places = apply("require", places, inside, text="index is out of bounds for its axis", error="IndexError")
    shape = list(a.shape)
    if single:  # all of the values, as many slices as they have, at one place
        new = reshaping.moveaxis(_of_rank(new, a.ndim), 0, axis)
        shape[axis] = new.shape[axis]
        places = reshaping.broadcast(reshaping.reshape(places, (1,)), [shape[axis]])
    else:
        if not places.ndim:
            places = reshaping.reshape(places, (1,))
        shape[axis] = places.shape[0]
    new = reshaping.broadcast(new, shape)
    count = places.shape[0]
    order = apply("argsort", places)
    at = gather(IndexArrays(places, [0], [order], 0, None)) + creation.iota(places.dims[0])
    total = size + count
    # Where each slice of the result comes from: its place in the array, or behind it in the values.
    is_new = elements.copy(creation.zeros(total, np.bool_))
    scatter(IndexArrays(is_new, [0], [at], 0, None), True)
    sources = elements.copy(creation.iota(as_dim(total)) - reducing.scan("cumsum", is_new, 0))
    scatter(IndexArrays(sources, [0], [at], 0, None), order + size)
    return gather(IndexArrays(concatenate([a, new], axis), [axis], [sources], axis, None))


def _with_block(a: Tensor, obj: np.ndarray, new: Tensor, axis: int) -> Tensor:
    """With all of `new` at one place, as many slices as it has."""
    place = int(obj.reshape(()))
    at, new = _counted_from_start(a, axis, place, operator.gt), _of_rank(new, a.ndim)
    if obj.ndim == 0:
        new = reshaping.moveaxis(new, 0, axis)
    shape = list(a.shape)
    shape[axis] = new.shape[axis]
    new = reshaping.broadcast(new, shape)
    return concatenate([slice_along(a, axis, None, at), new, slice_along(a, axis, at, None)], axis)


def _of_rank(x: Tensor, rank: int) -> Tensor:
    """`x` with dims of size 1 in front, of that rank at least."""
    return reshaping.expand_dims(x, tuple(range(rank - x.ndim))) if x.ndim < rank else x
