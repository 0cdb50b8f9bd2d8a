"""Arrays as sets: what is there, once each, in order.  How much that is values decide (`data_dependent.py`)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ......dialects.registry import OpError
from ....indexing.advanced import IndexArrays, scatter
from ....tensor.apply import apply, as_tensor
from ....tensor.memory import storage
from ....tensor.methods import reducing, reshaping
from ....tensor.promotion import cast, common_dtype, strong
from ....tensor.tensor import Tensor
from ....trace.context import current
from ...creation import iota, zeros
from ..elementwise import isin
from ..registry import handles
from ..shaping.indexing import inside
from .data_dependent import places_of

__all__ = ["unique", "unique_all", "unique_counts", "unique_inverse", "unique_values"]


#: The most elements of slices that are compared.
_MOST_COLUMNS = 64


class UniqueAll(NamedTuple):
    """What `np.unique_all` gives: the different elements, where each comes first, which each is, how often it comes."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What `np.unique_counts` gives: the different elements, and how often each comes."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What `np.unique_inverse` gives: the different elements, and which of them each element is."""

    values: Tensor
    inverse_indices: Tensor


def _found(x: Any, equal_nan: bool) -> UniqueAll:
    """All that there is to know of the different elements."""
    x = as_tensor(x)
    flat = reshaping.ravel(x)
    order = _computed(apply("argsort", flat))
    ordered = inside(flat, order)
    found = _in_order(ordered, order, _differing(ordered, equal_nan))
    return found._replace(inverse_indices=reshaping.reshape(found.inverse_indices, x.shape))


def _slices_found(x: Tensor, axis: int) -> UniqueAll:
    """The same of the slices along an axis, in the order of their first elements, then the second ones, and so on."""
    moved = reshaping.moveaxis(x, axis, 0)
    size, *rest = moved.shape
    columns = int(math.prod(rest))
    if columns > _MOST_COLUMNS:
        raise OpError(
            f"np.unique of slices of {columns} elements, which are compared one after another",
            f"compare numbers that stand for them, or slices of up to {_MOST_COLUMNS} elements",
            "TX0240",
        )
    rows = reshaping.reshape(moved, (size, columns))
    order: Any = None
    for k in reversed(range(columns)):
        values = rows[:, k] if order is None else inside(rows[:, k], order)
        again = apply("argsort", values)
        order = _computed(again if order is None else inside(order, again))
    order = iota(moved.dims[0]) if order is None else order
    ordered = _computed(inside(rows, order))
    differs = reducing.reduce("any", apply("not_equal", ordered[1:], ordered[:-1]), 1)
    found = _in_order(ordered, order, differs)
    values = reshaping.reshape(found.values, (found.values.shape[0], *rest))
    return found._replace(values=reshaping.moveaxis(values, 0, axis))


def _counted(x: Any, equal_nan: bool) -> UniqueCounts:
    """The different elements and how often each is there, for which no positions are sorted."""
    flat = reshaping.ravel(as_tensor(x))
    ordered = _computed(apply("sort", flat))
    starts, _ = _starts(_differing(ordered, equal_nan), flat)
    return UniqueCounts(inside(ordered, starts), _lengths(starts, flat))


def _in_order(ordered: Tensor, order: Tensor, differs: Tensor) -> UniqueAll:
    """All of elements or rows in order, of which those behind the first differ from the one before or do not."""
    starts, is_new = _starts(differs, order)
    numbers = zeros(order.shape, "i64")
    scatter(IndexArrays(numbers, [0], [order], 0, None), reducing.scan("cumsum", is_new, 0) - 1)
    return UniqueAll(inside(ordered, starts), inside(order, starts), numbers, _lengths(starts, order))


def _differing(ordered: Tensor, equal_nan: bool) -> Tensor:
    """Which sorted elements behind the first differ from the one before."""
    differs = apply("not_equal", ordered[1:], ordered[:-1])
    if equal_nan and (ordered.element.is_float or ordered.element.is_complex):
        both = apply("logical_and", apply("isnan", ordered[1:]), apply("isnan", ordered[:-1]))
        differs = apply("logical_and", differs, apply("logical_not", both))
    return differs


def _starts(differs: Tensor, flat: Tensor) -> tuple[Tensor, Tensor]:
    """Where in what is in order each different one begins, and which of all, as many as in `flat`, that are."""
    first = apply("equal", zeros(flat[:1].shape, "i64"), 0)
    is_new = _computed(apply("concatenate", first, differs, axis=0))
    return places_of(is_new), is_new


def _lengths(starts: Tensor, flat: Tensor) -> Tensor:
    """How many elements there are from each start to the next one."""
    end = reshaping.reshape(as_tensor(flat.shape[0]), (1,))[: starts[:1].shape[0]]
    return apply("concatenate", starts[1:], end, axis=0) - starts


def _computed(t: Tensor) -> Tensor:
    """A lazy tensor in memory, since its elements decide about a size and are used again."""
    if current() is None:
        storage.give_memory(t)
    return t


@handles(np.unique)
def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: Any = None, *,
    equal_nan: bool = True, sorted: bool = True,
) -> Any:  # fmt: skip
    """The different elements in order, those asked for of: first places, number of each element, how often each is."""
    x = as_tensor(ar)
    if axis is not None:
        axis = reshaping.axis_of(axis, x.ndim)
    if axis is not None and x.ndim != 1:
        found = _slices_found(x, axis)
    elif return_index or return_inverse:
        found = _found(x, equal_nan)
    else:
        values, counts = _counted(x, equal_nan)
        return (values, counts) if return_counts else values
    wanted = [found.values]
    for asked, result in ((return_index, found.indices), (return_inverse, found.inverse_indices)):
        wanted += [result] if asked else []
    wanted += [found.counts] if return_counts else []
    return wanted[0] if len(wanted) == 1 else tuple(wanted)


@handles(np.unique_all)
def unique_all(x: Any, /) -> UniqueAll:
    return _found(x, False)


@handles(np.unique_counts)
def unique_counts(x: Any, /) -> UniqueCounts:
    return _counted(x, False)


@handles(np.unique_inverse)
def unique_inverse(x: Any, /) -> UniqueInverse:
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


@handles(np.unique_values)
def unique_values(x: Any, /) -> Tensor:
    return _counted(x, False).values


def _together(ar1: Any, ar2: Any) -> tuple[Tensor, Tensor]:
    """Both flattened, in their common dtype."""
    a, b = as_tensor(ar1), as_tensor(ar2)
    element = common_dtype([a, b])
    return reshaping.ravel(cast(a, element)), reshaping.ravel(cast(b, element))


def _as_array(x: Any) -> Tensor:
    """As an array of NumPy's: one of a number of Python's has its dtype, and is not weak."""
    return strong(as_tensor(x))


@handles(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Tensor:
    return unique(apply("concatenate", *_together(ar1, ar2), axis=0))


@handles(np.intersect1d)
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    a, b = _together(*map(_as_array, (ar1, ar2)))
    if not return_indices:
        return _those(unique(a), b, False)
    found: list[Tensor] = []
    for one, other in ((a, b), (b, a)):
        values, first = unique(one, return_index=True)
        places = places_of(_computed(isin(values, other)))
        found += [inside(values, places), inside(first, places)]
    return found[0], found[1], found[3]


@handles(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    a, b = (reshaping.ravel(as_tensor(x)) for x in (ar1, ar2))
    return _those(a if assume_unique else unique(a), b, True)


@handles(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    a, b = _together(*map(_as_array, (ar1, ar2)))
    one, other = _those(unique(a), b, True), _those(unique(b), a, True)
    return apply("sort", apply("concatenate", one, other, axis=0))


def _those(a: Tensor, b: Tensor, outside: bool) -> Tensor:
    """The elements of `a` that are in `b`, or not."""
    mask = _computed(isin(a, b, invert=outside))
    return inside(a, places_of(mask))
