"""Functions whose result has as many elements as a value says: of lazy tensors, counted first and filled then.

The count is computed at once, the elements when they are needed.  A compiled function has no sizes that are values, so
there each of them is an error that says what to write instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....dialects.registry import OpError
from .. import methods
from ..advanced_indexing import Places, gather, scatter
from ..apply import apply, as_tensor, truth
from ..context import current
from ..creation import iota, zeros
from ..tensor import Tensor
from .table import handles, into

__all__ = ["count_of", "nonzero", "places_of", "selected"]


def count_of(mask: Tensor, what: str, hint: str) -> int:
    """The number of true elements, now.  OpError, for `what`, in a function that is being compiled."""
    if current() is not None:
        raise OpError(f"{what}, which is known only at run time", hint, "TX0252")
    return int(methods.reduce("sum", mask))


def places_of(mask: Tensor, what: str, hint: str) -> Tensor:
    """The positions of the true elements of a mask of rank 1."""
    count = count_of(mask, what, hint)
    # Element k of those that are true goes to place k, all others to one place behind.
    place = apply("select", mask, methods.scan("cumsum", mask, 0) - 1, count)
    found = zeros(count + 1, "i64")
    scatter(Places(found, [0], [place], 0, None), iota(mask.dims[0]))
    return found[:count]


_WHERE = "use np.where(condition, a, b), or call it outside the compiled function"


@handles(np.nonzero)
def nonzero(a: Any) -> tuple[Tensor, ...]:
    """The indices of what is not zero, one tensor a dim."""
    a = as_tensor(a)
    if not a.ndim:
        raise OpError("nonzero of a tensor of rank 0", "reshape it to (1,)", "TX0103")
    what = "np.nonzero has as many results as there are elements that are not zero"
    flat = places_of(methods.ravel(truth(a)), what, _WHERE)
    found = []
    for size in reversed(a.shape):
        found.append(flat % size)
        flat = flat // size
    return tuple(reversed(found))


@handles(np.flatnonzero)
def flatnonzero(a: Any) -> Tensor:
    return nonzero(methods.ravel(as_tensor(a)))[0]


@handles(np.argwhere)
def argwhere(a: Any) -> Tensor:
    """The indices of what is not zero, one row an element."""
    a = as_tensor(a)
    if not a.ndim:
        return zeros((count_of(truth(a), "np.argwhere has a row for each element that is not zero", _WHERE), 0), "i64")
    found = nonzero(a)
    return apply("concatenate", *(methods.expand_dims(f, 1) for f in found), axis=1)


@handles(np.compress)
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """The slices along `axis` whose number `condition` says; it may be shorter than the dim."""
    a, condition = as_tensor(a), as_tensor(condition)
    if axis is None:
        a, axis = methods.ravel(a), 0
    if condition.ndim != 1:
        raise OpError(f"np.compress takes a condition of rank 1, not {condition.user_type}", code="TX0103")
    axis = methods._axis(axis, a.ndim)
    what = "np.compress has as many results as its condition has true elements"
    return into(out, gather(Places(a, [axis], [places_of(truth(condition), what, _WHERE)], axis, None)))


@handles(np.extract)
def extract(condition: Any, arr: Any) -> Tensor:
    return compress(methods.ravel(as_tensor(condition)), methods.ravel(as_tensor(arr)), 0)


def selected(key: Any) -> list[Any]:
    """A bool index of a lazy tensor as index arrays, one a dim."""
    mask = truth(as_tensor(key))
    return list(nonzero(mask))
