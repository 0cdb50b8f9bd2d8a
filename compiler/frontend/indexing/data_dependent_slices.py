"""``x[a:b:c]`` of bounds and steps that are values: its begin and length become sizes (`data_dependent_sizes`).

What they are follows Python's `slice.indices`: bounds below zero count from the end, and are clipped to the dim.
"""

from __future__ import annotations

from typing import Any

from ....dialects.dims.dims import dim, iterator, iterators
from ....dialects.dims.index_map import IndexMap
from ....dialects.registry import OpError
from ....dialects.tx_internal import GenericView
from ..tensor.apply import apply, as_tensor
from ..tensor.tensor import Tensor
from ..trace.context import current, require
from ..trace.symint import SymInt, as_dim, is_integer, symint
from .data_dependent_sizes import bind

__all__ = ["is_of_values", "sliced"]


def is_of_values(k: Any) -> bool:
    """Whether an item of a key is a slice that values decide about, in a function that is being compiled."""
    trace = current()
    if not isinstance(k, slice) or trace is None:
        return False
    if any(isinstance(part, Tensor) for part in (k.start, k.stop, k.step)):
        return True
    return isinstance(k.step, SymInt) and trace.table.varies(trace.table.resolve(k.step.dim))


def sliced(x: Tensor, axis: int, k: slice) -> Tensor:
    """The view of `x` that such a slice of one of its dims is.

    ValueError of the call where the step is zero.
    """
    trace = require()
    if x.layout == "col":
        raise OpError("a slice by values of a column-major tensor", "put .swap_layout() on it", "TX0210")
    size = x.dims[axis]
    n = as_tensor(symint(size))
    one = 1 if k.step is None else k.step if is_integer(k.step) else _number(k.step)
    step = as_tensor(one)
    known = one if isinstance(one, int) else None
    if known == 0:
        raise OpError("slice step cannot be zero", code="TX0127")
    if known is None:
        step = apply("require", step, apply("not_equal", step, 0), text="slice step cannot be zero")
    up = apply("less", 0, step)

    def bound(given: Any, rising: Any, falling: Any) -> Tensor:
        low, high = apply("select", up, 0, -1), apply("select", up, n, n - 1)
        if given is None:
            return apply("select", up, rising, falling)
        at = as_tensor(given if is_integer(given) else _number(given))
        at = apply("select", apply("less", at, 0), at + n, at)
        return apply("cwise_min", apply("cwise_max", at, low), high)

    start, stop = bound(k.start, 0, n - 1), bound(k.stop, n, -1)
    # A step beyond the size leads out of it, as the size itself does.
    by = apply("cwise_min", apply("cwise_max", step, -n - 1), n + 1)
    length = apply("select", up, (stop - start + by - 1), (start - stop - by - 1))
    width = apply("cwise_max", apply("abs", by), 1)
    count = apply("cwise_max", apply("floor_divide", length, width), 0)
    first = apply("select", apply("less", 0, count), start, 0)
    extent, begin = as_dim(bind(trace, count, size)), as_dim(bind(trace, first, size))
    if known is not None:
        stride = dim(known)
    elif is_integer(one):
        stride = as_dim(one)
    else:
        stride = as_dim(bind(trace, by + n + 1, 2 * size + 2)) - size - 1
    dims = (*x.dims[:axis], extent, *x.dims[axis + 1 :])
    exprs = list(iterators(len(dims)))
    exprs[axis] = begin + stride * iterator(axis)
    return Tensor.view_of(x, GenericView, {"map": IndexMap(dims, tuple(exprs)), "fill": 0})


def _number(x: Any) -> Tensor:
    """An integer that has a value, as a tensor of 64 bits."""
    if not isinstance(x, Tensor) or x.ndim or not x.element.is_integer:
        raise OpError("slice indices must be integers or None or have an __index__ method", code="TX0254")
    return apply("cast", x, dtype="i64")
