"""Dims permuted, merged, added, repeated and reversed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ......dialects.dims.dims import maximum
from ......dialects.registry import OpError
from ......dialects.types import DTYPES
from ....indexing.advanced import IndexArrays, gather
from ....indexing.data_dependent_sizes import size_of, stored
from ....tensor.apply import apply, as_tensor
from ....tensor.broadcasting import broadcast_together
from ....tensor.methods import elements, reducing, reshaping
from ....tensor.promotion import cast
from ....tensor.tensor import Tensor
from ....trace.context import table
from ....trace.symint import as_dim, is_integer, symint
from ...creation import iota, zeros
from ..registry import handles, required

__all__ = ["flip", "roll", "tile"]


def _array(a: Any) -> Tensor:
    """An array, which NumPy makes of a number of Python's before it asks it for a view; NumPy's have views."""
    t = as_tensor(a)
    return Tensor(t.value, boxed=True) if t.weak else t


@handles(np.transpose, np.permute_dims)
def transpose(a: Any, axes: Any = None) -> Any:
    return reshaping.transpose(_array(a), axes)


@handles(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(x: Any, /) -> Any:
    x = as_tensor(x)
    if x.ndim < 2:
        raise OpError(f"np.matrix_transpose takes matrices, not {x.user_type}", code="TX0103")
    return reshaping.swapaxes(x, -1, -2)


@handles(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    return reshaping.swapaxes(as_tensor(a), axis1, axis2)


@handles(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    return reshaping.moveaxis(as_tensor(a), source, destination)


@handles(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    a = as_tensor(a)
    axis, start = reshaping.axis_of(axis, a.ndim), reshaping.axis_of(start, a.ndim + 1)
    return reshaping.moveaxis(a, axis, start - 1 if axis < start else start)


@handles(np.squeeze)
def squeeze(a: Any, axis: Any = None) -> Any:
    return reshaping.squeeze(_array(a), axis)


@handles(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Any:
    return reshaping.expand_dims(as_tensor(a), axis)


@handles(np.reshape)
def reshape(a: Any, /, shape: Any = None, order: Any = "C", *, newshape: Any = None, copy: Any = None) -> Any:
    return reshaping.reshape(as_tensor(a), shape if newshape is None else newshape, order=order, copy=copy)


@handles(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    """The elements in order, over and over, until there are enough; zeros where there are none."""
    sizes = tuple(new_shape) if isinstance(new_shape, (tuple, list)) else (new_shape,)
    flat = reshaping.ravel(as_tensor(a))
    wanted, have = int(np.prod([int(n) for n in sizes])), int(flat.shape[0])
    if not have:
        return zeros(sizes, flat.dtype)
    return reshaping.reshape(tile(flat, -(-wanted // have))[:wanted], sizes)


@handles(np.ravel)
def ravel(a: Any, order: Any = "C") -> Any:
    return reshaping.ravel(as_tensor(a), order)


@handles(np.broadcast_to)
def broadcast_to(array: Any, shape: Any) -> Any:
    return reshaping.broadcast(as_tensor(array), shape)


@handles(np.broadcast_arrays)
def broadcast_arrays(*args: Any) -> Any:
    tensors = [as_tensor(a) for a in args]
    shape = next(iter(broadcast_together(tensors, "broadcast_arrays")), None)
    if shape is None or all(t.dims == shape.dims for t in tensors):
        return tuple(tensors)
    return tuple(reshaping.broadcast(t, shape.dims) for t in tensors)


@handles(np.flip)
def flip(m: Any, axis: Any = None) -> Any:
    m = as_tensor(m)
    chosen = range(m.ndim) if axis is None else [axis] if not isinstance(axis, (tuple, list)) else axis
    flipped = {reshaping.axis_of(a, m.ndim) for a in chosen}
    if len(flipped) < len(chosen):
        raise OpError("repeated axis", "name each axis once", "TX0103")
    if not m.ndim:  # NumPy indexes with an empty tuple, which gives a number
        return Tensor(m.value, layout=m.layout)
    return apply("reverse", m, flags=tuple(i in flipped for i in range(m.ndim)))


@handles(np.flipud)
def flipud(m: Any) -> Any:
    return flip(m, 0)


@handles(np.fliplr)
def fliplr(m: Any) -> Any:
    return flip(m, 1)


@handles(np.rot90)
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """Quarter turns, from the first of two axes towards the second."""
    m = as_tensor(m)
    first, second = (reshaping.axis_of(a, m.ndim) for a in axes)
    if first == second:
        raise OpError(f"np.rot90 turns two different axes, not {tuple(axes)}", code="TX0103")
    turns = k % 4
    if turns == 2:
        return flip(m, (first, second))
    if turns == 1:
        return reshaping.swapaxes(flip(m, second), first, second)
    return flip(reshaping.swapaxes(m, first, second), second) if turns else m[:]


@handles(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    a = as_tensor(a)
    shifts = list(shift) if isinstance(shift, (tuple, list)) or (isinstance(shift, Tensor) and shift.ndim) else [shift]
    if axis is None:
        return reshaping.reshape(_rolled(reshaping.ravel(a), [(sum(shifts), 0)]), a.shape)
    axes = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
        raise OpError(f"np.roll: {len(shifts)} shifts and {len(axes)} axes", "give one of each a dim", "TX0101")
    count = max(len(shifts), len(axes))
    pairs = zip(shifts * (count // len(shifts)), axes * (count // len(axes)))
    return _rolled(a, [(by, reshaping.axis_of(at, a.ndim)) for by, at in pairs])


def _rolled(x: Tensor, shifts: Sequence[tuple[Any, int]]) -> Tensor:
    """Rolled by numbers along axes, then by what arrays hold."""
    known: dict[int, int] = {}
    for shift, axis in shifts:
        if not isinstance(shift, Tensor):
            known[axis] = known.get(axis, 0) + shift
    x = reshaping.rolled(x, known)
    for shift, axis in shifts:
        if isinstance(shift, Tensor):
            x = _rolled_by_element(x, shift, axis)
    return x


def _rolled_by_element(x: Tensor, shift: Tensor, axis: int) -> Tensor:
    """Rolled along an axis by what an array holds: each element is looked up where it comes from."""
    if shift.ndim or not (shift.element.is_integer or shift.element.kind == "bool"):
        raise OpError(f"np.roll by {shift.user_type}", "give an integer, or one for each axis", "TX0240")
    extent = x.dims[axis]
    around = symint(maximum(1, extent))
    shift = cast(shift, DTYPES["u64" if shift.element is DTYPES["u64"] else "i64"])
    places = (iota(extent) - cast(shift % around, DTYPES["i64"])) % around
    return gather(IndexArrays(x, [axis], [places], axis, None))


@handles(np.tile)
def tile(A: Any, reps: Any) -> Any:
    A = as_tensor(A)
    factors = [size_of(n) for n in reps] if isinstance(reps, (tuple, list)) else [size_of(reps)]
    factors = [1] * (A.ndim - len(factors)) + factors
    return apply("broadcast", reshaping.reshape(A, (1,) * (len(factors) - A.ndim) + A.shape), factors=tuple(factors))


@handles(np.repeat)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    a = as_tensor(a)
    if axis is None:
        a, axis = reshaping.ravel(a), 0
    axis = reshaping.axis_of(axis, a.ndim)
    if isinstance(repeats, (tuple, list)) and len(repeats) == 1:
        (repeats,) = repeats
    repeats = size_of(repeats)
    if is_integer(repeats):
        return reshaping.repeat_rows(a, repeats, axis)
    if isinstance(repeats, (tuple, list)) or not getattr(repeats, "ndim", 1):
        if not np.ndim(repeats):
            return reshaping.repeat_rows(a, np.repeat(0, repeats).size, axis)
        numbers = np.asarray(repeats, None if np.size(repeats) else np.intp)
        places = np.repeat(np.arange(numbers.size), numbers)  # which raises for what are no counts
        table().equate(numbers.size, a.dims[axis], "np.repeat has a count for each")
        return apply("take", a, as_tensor(places), axis=axis)
    return _repeated(a, as_tensor(repeats), axis)


def _repeated(a: Tensor, counts: Tensor, axis: int) -> Tensor:
    """Each slice along `axis` as often as its count says."""
    if counts.ndim > 1 or not counts.element.is_integer:
        raise OpError(f"np.repeat takes a vector of integers, not {counts.user_type}", code="TX0254")
    counts = required(counts, counts >= 0, "repeats may not contain negative values.")
    if counts.ndim:
        counts = stored(counts, (a.dims[axis],), "operands could not be broadcast together: their sizes differ")
    counts = reshaping.broadcast(cast(counts, DTYPES["i64"]), [a.shape[axis]])
    ends = reducing.scan("cumsum", counts, 0)
    size = size_of(reducing.reduce("sum", counts))
    # The first element whose copies end behind a place is there.
    sources = apply("searchsorted", ends, iota(as_dim(size)), side="right")
    return gather(IndexArrays(a, [axis], [sources], axis, None))


@handles(np.shape)
def shape(a: Any) -> Any:
    return as_tensor(a).shape


@handles(np.ndim)
def ndim(a: Any) -> Any:
    return as_tensor(a).ndim


@handles(np.size)
def size(a: Any, axis: Any = None) -> Any:
    a = as_tensor(a)
    return a.size if axis is None else reducing.count(a, [axis] if not isinstance(axis, (tuple, list)) else axis)


@handles(np.copy)
def copy(a: Any, order: Any = "K") -> Any:
    return elements.copy(as_tensor(a), order)
