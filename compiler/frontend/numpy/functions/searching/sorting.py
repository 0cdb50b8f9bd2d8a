"""Sorting, and searching in what is sorted.  Every kind of NumPy's is the stable one, which satisfies them all."""

from __future__ import annotations

from typing import Any

import numpy as np

from ......dialects.registry import OpError
from ......dialects.types import DTYPES
from ....tensor.apply import apply, as_tensor
from ....tensor.broadcasting import equally_long
from ....tensor.methods import reducing, reshaping
from ....tensor.promotion import cast, common_dtype
from ....tensor.tensor import Tensor
from ..registry import handles, required
from ..shaping.indexing import permuted, take

__all__ = ["METHODS", "argsort", "lexsort", "searchsorted", "sort", "topk"]

_OUTSIDE = "kth is out of bounds"
_KINDS = (None, "quicksort", "mergesort", "heapsort", "stable")


def _operand(name: str, a: Any, axis: Any, kind: Any) -> tuple[Tensor, int]:
    if kind not in _KINDS:
        raise OpError(f"np.{name} does not take kind={kind!r}", "leave it out: every sort is stable", "TX0240")
    a = as_tensor(a)
    if axis is None:
        return reshaping.ravel(a), 0
    return a, reshaping.axis_of(axis, a.ndim)


@handles(np.sort)
def sort(a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> Tensor:
    a, axis = _operand("sort", a, axis, kind)
    return apply("sort", a, axis=axis)


@handles(np.argsort)
def argsort(a: Any, axis: Any = -1, kind: Any = None, *, stable: Any = None) -> Tensor:
    a, axis = _operand("argsort", a, axis, kind)
    return apply("argsort", a, axis=axis)


@handles(np.sort_complex)
def sort_complex(a: Any) -> Tensor:
    a = as_tensor(a)
    if not a.element.is_complex:
        a = cast(a, DTYPES["c64" if a.element.bits <= 16 and a.element.is_integer else "c128"])
    return apply("sort", a)


@handles(np.partition)
def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect") -> Tensor:
    """Sorted altogether, which is one of the results that NumPy's may be."""
    a, axis, _, inside = _selected("partition", a, kth, axis, kind)
    return required(apply("sort", a, axis=axis), inside, _OUTSIDE)


@handles(np.argpartition)
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect") -> Tensor:
    """The positions of what comes before the element that is at `kth` in order, of its equals, and of the others, which
    is one of the results that NumPy's may be; of all in order where there are several `kth`."""
    a, axis, place, inside = _selected("argpartition", a, kth, axis, kind)
    if place.ndim or a.element.is_complex or a.element.kind == "bool":
        return required(apply("argsort", a, axis=axis), inside, _OUTSIDE)
    place = required(place, inside, _OUTSIDE)
    rows = reshaping.moveaxis(a, axis, -1)
    pivot = apply("kth_elements", rows, reshaping.broadcast(place, (*rows.shape[:-1], 1)))
    return reshaping.moveaxis(apply("partition_positions", rows, pivot), -1, axis)


def _selected(name: str, a: Any, kth: Any, axis: Any, kind: str) -> tuple[Tensor, int, Tensor, Tensor]:
    """The tensor, its axis, the places from the first element on, and whether all are inside."""
    if kind != "introselect":
        raise OpError(f"np.{name} does not take kind={kind!r}", "leave it out", "TX0240")
    a, axis = _operand(name, a, axis, None)
    kth = as_tensor(kth)
    if not kth.element.is_integer:
        raise OpError(f"np.{name} takes integers for kth, not {kth.user_type}", code="TX0112")
    n = a.shape[axis]
    place = cast(kth, DTYPES["i64"])
    inside = apply("logical_and", apply("greater_equal", place, -n), apply("less", place, n))
    place = apply("select", apply("less", place, 0), place + n, place)
    return a, axis, place, reducing.reduce("all", inside) if inside.ndim else inside


@handles(np.lexsort)
def lexsort(keys: Any, axis: Any = -1) -> Tensor:
    """Positions in the order of the last key, where that is equal of the one before, and so on."""
    given = list(keys) if isinstance(keys, (tuple, list)) else [keys[i] for i in range(int(as_tensor(keys).shape[0]))]
    if not given:
        raise OpError("np.lexsort needs at least one key", code="TX0101")
    first, *others = (as_tensor(k) for k in given)
    axis = reshaping.axis_of(axis, first.ndim)
    text = "all keys need to be the same shape"
    for n, key in enumerate(others):
        if key.ndim != first.ndim:
            raise OpError(text, code="TX0201")
        for i in range(first.ndim):
            first, others[n] = equally_long(first, i, others[n], i, text)
    found = apply("argsort", first, axis=axis)
    for key in others:
        found = permuted(found, apply("argsort", permuted(key, found, axis), axis=axis), axis)
    return found


@handles(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
    a, v = as_tensor(a), as_tensor(v)
    if sorter is not None:
        a = take(a, sorter)
    element = common_dtype([a, v])
    return apply("searchsorted", cast(a, element), cast(v, element), side=side)


@handles(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Tensor:
    """The bin of each element, of edges that rise or fall."""
    x, bins = as_tensor(x), as_tensor(bins)
    if x.element.is_complex:
        raise OpError(f"np.digitize takes real numbers, not {x.user_type}", code="TX0112")
    before, behind = bins[:-1], bins[1:]
    rises, falls = (reducing.reduce("all", apply(name, before, behind)) for name in ("less_equal", "greater_equal"))
    bins = required(bins, apply("logical_or", rises, falls), "bins must be monotonically increasing or decreasing")
    side = "left" if right else "right"
    rising = searchsorted(bins, x, side)
    falling = bins.shape[0] - searchsorted(bins[::-1], x, side)
    return apply("select", bins[-1] >= bins[0], rising, falling)


def topk(x: Any, k: Any, axis: Any = -1, largest: bool = True) -> tuple[Tensor, Tensor]:
    """The `k` largest (or smallest) elements along `axis`, from the most extreme on, and their positions."""
    x = as_tensor(x)
    axis = reshaping.axis_of(axis, x.ndim)
    values, found = apply("sort_with_positions", x, axis=axis, descending=largest)
    first = (*[slice(None)] * axis, slice(None, k))
    return values[first], found[first]


def _sort_in_place(x: Tensor, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    """``ndarray.sort``: the tensor's own elements, in order."""
    if order is not None:
        raise OpError(f"sort does not take order={order!r}: there are no fields", "leave it out", "TX0240")
    x.store(sort(x, axis, kind))


def _argsort(x: Tensor, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Tensor:
    if order is not None:
        raise OpError(f"argsort does not take order={order!r}: there are no fields", "leave it out", "TX0240")
    return argsort(x, axis, kind)


#: Methods of tensors.
METHODS: dict[str, Any] = {
    "sort": _sort_in_place, "argsort": _argsort, "topk": topk,
}  # fmt: skip
