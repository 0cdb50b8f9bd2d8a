"""Functions whose result has as many elements as a value says: counted first, and filled then.

Of lazy tensors the positions are computed at once, as their count is a size: an array that any number of elements has
the same code for.  In a function that is being compiled the count becomes a size for what follows
(`data_dependent_sizes`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ......dialects.dims.dims import Dim
from ......dialects.registry import RAISE, OpError
from ....indexing import data_dependent_sizes
from ....indexing.advanced import IndexArrays, gather
from ....tensor.apply import apply, as_tensor
from ....tensor.leaves import leaf
from ....tensor.methods import reducing, reshaping
from ....tensor.promotion import truth
from ....tensor.tensor import Tensor
from ....trace.context import current, table
from ....trace.symint import SymInt, as_dim
from ...creation import zeros
from ...out_arrays import into_read
from ..registry import handles

__all__ = ["count_of", "nonzero", "places_of", "selected"]


def count_of(mask: Tensor) -> int | SymInt:
    """The number of true elements of a mask, as a size."""
    return sized(reducing.reduce("sum", mask), mask.type.size)


def sized(count: Tensor, most: Dim) -> int | SymInt:
    """A number from 0 to `most`, which a tensor has, as a size."""
    trace = current()
    return int(count) if trace is None else data_dependent_sizes.bind(trace, count, most)


def places_of(mask: Tensor) -> Tensor:
    """The positions of the true elements of a mask of rank 1."""
    trace = current()
    if trace is None:
        return Tensor(leaf(np.flatnonzero(np.asarray(mask))))
    known = data_dependent_sizes.known_places(trace, mask.value)
    if known is not None:
        return Tensor(known)
    found = apply("flatnonzero", mask, extent=as_dim(count_of(mask)))
    trace.places.append((mask.value, found.value))
    return found


@handles(np.nonzero)
def nonzero(a: Any) -> tuple[Tensor, ...]:
    """The indices of what is not zero, one tensor a dim."""
    a = as_tensor(a)
    if not a.ndim:
        raise OpError("nonzero of a tensor of rank 0", "reshape it to (1,)", "TX0103")
    flat = places_of(reshaping.ravel(truth(a)))
    found = []
    for size in reversed(a.shape[1:]):
        found.append(flat % size)
        flat = flat // size
    return (flat, *reversed(found))


@handles(np.flatnonzero)
def flatnonzero(a: Any) -> Tensor:
    return nonzero(reshaping.ravel(as_tensor(a)))[0]


@handles(np.argwhere)
def argwhere(a: Any) -> Tensor:
    """The indices of what is not zero, one row an element."""
    a = as_tensor(a)
    if not a.ndim:
        return zeros((count_of(truth(a)), 0), "i64")
    found = nonzero(a)
    return apply("concatenate", *(reshaping.expand_dims(f, 1) for f in found), axis=1)


@handles(np.compress)
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """The slices along `axis` whose number `condition` says; it may be shorter than the dim."""
    a, condition = as_tensor(a), as_tensor(condition)
    if axis is None:
        a, axis = reshaping.ravel(a), 0
    if condition.ndim != 1:
        raise OpError(f"np.compress takes a condition of rank 1, not {condition.user_type}", code="TX0103")
    axis = reshaping.axis_of(axis, a.ndim)
    fits = table().settle(condition.dims[0], "<=", a.dims[axis], "np.compress has no more conditions") is True
    chosen = places_of(truth(condition))
    return into_read(out, gather(IndexArrays(a, [axis], [chosen], axis, None if fits else RAISE)), "np.compress")


@handles(np.extract)
def extract(condition: Any, arr: Any) -> Tensor:
    return compress(reshaping.ravel(as_tensor(condition)), reshaping.ravel(as_tensor(arr)), 0)


def selected(key: Any) -> list[Any]:
    """A bool index of a lazy tensor as index arrays, one a dim."""
    mask = truth(as_tensor(key))
    return list(nonzero(mask))
