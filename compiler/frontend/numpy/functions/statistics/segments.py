"""``f.reduceat``: reductions of segments of an axis that begin at some places."""

from __future__ import annotations

from typing import Any

import numpy as np

from ......dialects.registry import OPS, Reduction
from ......dialects.types import DTYPES
from ....indexing.advanced import IndexArrays, gather, scatter
from ....tensor.apply import apply, as_tensor
from ....tensor.methods import elements, reducing, reshaping
from ....tensor.promotion import accumulator_dtype, cast
from ....tensor.tensor import Tensor
from ....trace.symint import SymInt
from ...creation import iota, zeros
from ...out_arrays import into

__all__ = ["reduceat"]


def reduceat(
    f: np.ufunc, name: str, reduction: str, a: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """NumPy's of `f`, which is the op `name` of two elements and the `reduction` of all.

    Each segment goes up to the next place; where that is not behind it, there is its first element alone."""
    a = as_tensor(a)
    axis = reshaping.axis_of(axis, a.ndim)
    op = OPS[reduction]
    assert issubclass(op, Reduction)
    element = accumulator_dtype(op, a.element) if dtype is None else elements.element_named(dtype)
    a = cast(a, element)
    parts = indices if isinstance(indices, (list, tuple)) else [indices]
    if any(isinstance(i, (Tensor, SymInt)) for i in parts):
        return into(out, _at_run_time(f, name, reshaping.moveaxis(a, axis, 0), as_tensor(indices), axis))
    size = int(a.shape[axis])
    places = np.asarray(indices, None if np.size(indices) else np.intp)
    if places.dtype.kind not in "iu" or places.ndim != 1:
        raise TypeError(f"np.{f.__name__}.reduceat takes a vector of integers")
    for place in places[(places < 0) | (places >= size)]:
        raise IndexError(f"index {place} out-of-bounds in {f.__name__}.reduceat [0, {size})")
    # A segment begins as its first element, and each further one is combined with it.
    found = elements.copy(apply("take", a, as_tensor(places), axis=axis, mode=None))
    ends = [*places[1:], size]
    further = [np.arange(start + 1, end) for start, end in zip(places, ends)]
    sources = np.concatenate([*further, np.zeros(0, np.intp)]).astype(np.intp)
    if sources.size:
        runs = np.repeat(np.arange(len(places)), [len(f) for f in further])
        merged = reshaping.moveaxis(apply("take", a, as_tensor(sources), axis=axis, mode=None), axis, 0)
        front = elements.copy(reshaping.moveaxis(found, axis, 0))
        scatter(IndexArrays(front, [0], [as_tensor(runs)], 0, None), merged, name)
        found = reshaping.moveaxis(front, 0, axis)
    return into(out, found)


def _at_run_time(f: np.ufunc, name: str, a: Tensor, places: Tensor, axis: int) -> Tensor:
    """The same along the first axis, at places that compiled code knows; then segments along `axis`.

    Each element goes to one segment: a call whose places descend raises ValueError.
    """
    if places.ndim != 1 or not places.element.is_integer:
        raise TypeError(f"np.{f.__name__}.reduceat takes a vector of integers")
    size, count = a.shape[0], places.shape[0]
    places = cast(places, DTYPES["i64"])
    there = apply("logical_and", places >= 0, places < size)
    text = f"an index is out-of-bounds in {f.__name__}.reduceat"
    places = apply("require", places, there, text=text, error="IndexError")
    text = f"np.{f.__name__}.reduceat at places that descend is not compiled: use a loop over slices"
    places = apply("require", places, reducing.reduce("all", places[1:] >= places[:-1], 0), text=text)
    at = iota(a.dims[0])
    segment = apply("searchsorted", places, at, side="right") - 1
    # A segment begins as its first element, and each further one is combined with it; others go behind the last.
    begins = gather(IndexArrays(places, [0], [apply("cwise_max", segment, 0)], 0, None))
    further = apply("logical_and", segment >= 0, apply("not_equal", at, begins))
    front = zeros((count + 1, *a.shape[1:]), a.element)
    front[:count] = gather(IndexArrays(a, [0], [places], 0, None))
    scatter(IndexArrays(front, [0], [apply("select", further, segment, count)], 0, None), a, name)
    return reshaping.moveaxis(front[:count], 0, axis)
