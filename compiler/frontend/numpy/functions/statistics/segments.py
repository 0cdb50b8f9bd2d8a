"""``f.reduceat``: reductions of segments of an axis that begin at places known while compiling."""

from __future__ import annotations

from typing import Any

import numpy as np

from ......dialects.registry import OPS, OpError, Reduction
from ....indexing.advanced import IndexArrays, scatter
from ....tensor.apply import apply, as_tensor
from ....tensor.methods import elements, reshaping
from ....tensor.promotion import accumulator_dtype, cast
from ....tensor.tensor import Tensor
from ....trace.symint import SymInt
from ...out_arrays import into

__all__ = ["reduceat"]


def reduceat(
    f: np.ufunc, name: str, reduction: str, a: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """NumPy's of `f`, which is the op `name` of two elements and the `reduction` of all.

    Each segment goes up to the next place; where that is not behind it, there is its first element alone."""
    parts = indices if isinstance(indices, (list, tuple)) else [indices]
    if any(isinstance(i, (Tensor, SymInt)) for i in parts):
        raise OpError(
            f"np.{f.__name__}.reduceat at places that are known only at run time",
            "use the sums of a loop over slices",
            "TX0252",
        )
    a = as_tensor(a)
    axis = reshaping.axis_of(axis, a.ndim)
    op = OPS[reduction]
    assert issubclass(op, Reduction)
    element = accumulator_dtype(op, a.element) if dtype is None else elements.element_named(dtype)
    a = cast(a, element)
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
