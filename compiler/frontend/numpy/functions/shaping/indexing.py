"""NumPy's functions on index arrays and masks: take, along an axis, counting into bins, stores where a mask is true."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ......dialects.registry import RAISE, OpError
from ......dialects.types import DTYPES
from ....indexing.advanced import IndexArrays, gather, scatter
from ....indexing.data_dependent_sizes import size_of
from ....tensor.apply import apply, as_tensor
from ....tensor.broadcasting import broadcast_together, equally_long
from ....tensor.methods import elements, reducing, reshaping
from ....tensor.promotion import cast, common_dtype
from ....tensor.tensor import Tensor
from ....trace.context import current, table
from ....trace.symint import is_integer
from ... import creation
from ...out_arrays import fits, into, into_read, target_of
from ..registry import handles, required

__all__ = ["inside", "permuted", "take"]


@handles(np.take)
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    """NumPy's `take`; in mode ``raise`` the call raises IndexError where an index is outside."""
    a, indices = as_tensor(a), _as_indices(indices)
    if axis is None:
        a, axis = reshaping.ravel(a), 0
    axis = reshaping.axis_of(axis, a.ndim)
    last = a.shape[axis] - 1
    if mode in ("clip", "wrap") and table().settle(0, "<", a.dims[axis], "np.take of some elements") is False:
        raise OpError("cannot do a non-empty take from an empty axes.", code="TX0250")
    if mode == "clip":
        indices = np.clip(indices, 0, last)
    elif mode == "wrap":
        indices = apply("remainder", indices, last + 1)
    elif mode != "raise":
        raise OpError(f"np.take does not take mode={mode!r}", "raise, clip or wrap", "TX0240")
    return into_read(
        out, gather(IndexArrays(a, [axis], [indices], axis, RAISE if mode == "raise" else None)), "np.take"
    )


def _as_indices(x: Any) -> Tensor:
    """Indices of a function: of bools, which are no mask there, 0 and 1."""
    x = as_tensor(x)
    return cast(x, DTYPES["i64"]) if x.element.kind == "bool" else x


def inside(a: Tensor, indices: Tensor) -> Tensor:
    """Elements of a vector at indices that are inside by construction."""
    return gather(IndexArrays(a, [0], [indices], 0, None))


def _along(name: str, a: Tensor, indices: Tensor, axis: Any) -> IndexArrays:
    """Each element of `indices` for the place that it stands at, along an axis."""
    axis = reshaping.axis_of(axis, a.ndim)
    if indices.ndim != a.ndim:
        raise OpError(f"np.{name} takes indices of rank {a.ndim}, not {indices.user_type}", code="TX0254")
    found: list[Tensor] = []
    for i in range(a.ndim):
        if i == axis:
            found.append(indices)
            continue
        here = creation.arange(indices.shape[i])
        found.append(reshaping.reshape(here, [-1 if k == i else 1 for k in range(a.ndim)]))
    return IndexArrays(a, range(a.ndim), found, 0)


@handles(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    a, indices = as_tensor(arr), as_tensor(indices)
    if axis is None:
        a, axis = reshaping.ravel(a), 0
    return gather(_along("take_along_axis", a, indices, axis))


def permuted(a: Tensor, order: Tensor, axis: int) -> Tensor:
    """The elements of each vector along an axis in an order: at indices that are inside by construction."""
    return gather(replace(_along("take_along_axis", a, order, axis), mode=None))


@handles(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    if axis is None:
        raise OpError("np.put_along_axis with axis=None is not supported", "give it an axis", "TX0240")
    scatter(_along("put_along_axis", arr, as_tensor(indices), axis), values)


@handles(np.put)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Stores into the elements of `a` counted in row-major order; fewer values than places are repeated."""
    if mode not in ("raise", "clip", "wrap"):
        raise OpError(f"np.put does not take mode={mode!r}", "raise, clip or wrap", "TX0240")
    places: Any
    values: Any
    flat, places, values = reshaping.reshape(a, -1), reshaping.ravel(_as_indices(ind)), reshaping.ravel(as_tensor(v))
    if mode == "clip":
        places = np.clip(places, 0, flat.shape[0] - 1)
    elif mode == "wrap":
        places = apply("remainder", places, flat.shape[0])
    if table().settle(0, "<", values.dims[0], "np.put of some values") is False:
        return
    if values.dims[0] is not places.dims[0]:
        values = np.resize(values, places.shape)
    scatter(IndexArrays(flat, [0], [places], 0, RAISE if mode == "raise" else None), values)


@handles(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    """Counts, or sums of weights, of the numbers from 0 on.

    In a compiled function a `minlength` is the size of the result, and a number that is not below it an error; NumPy's
    result is longer then.
    """
    x = _as_indices(x)
    if x.ndim != 1 or not x.element.is_integer:
        raise OpError(f"np.bincount takes a vector of integers, not {x.user_type}", code="TX0254")
    if isinstance(minlength, int) and minlength < 0:
        raise OpError("np.bincount: 'minlength' must not be negative", code="TX0240")
    if current() is None:
        largest = int(reducing.reduce("maximum", x, initial=0)) + 1 if bool(x.shape[0] > 0) else 0
        minlength = max(int(minlength), largest)
    elif not is_integer(minlength) or (isinstance(minlength, int) and minlength < 1):
        wide = reducing.reduce("maximum", cast(x, DTYPES["i64"]), initial=-1) + 1
        minlength = size_of(apply("cwise_max", wide, minlength))
    if x.element.is_signed:
        x = required(x, x >= 0, "'list' argument must have no negative elements")
    text = "np.bincount: a number is not below minlength, the number of bins; give it a larger minlength="
    bins = required(x, x < minlength, text)
    if weights is None:
        return _counted(bins, 1, minlength, "i64")
    each, bins = _weights(weights, bins)
    return _counted(bins, each, minlength, "f64")


def _weights(weights: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    """A weight for each element of a vector, in f64; and the vector, of as many elements."""
    found = reshaping.ravel(as_tensor(weights))
    if found.element.is_complex:
        raise OpError(f"weights are real numbers, not {found.user_type}", "weigh by both parts apart", "TX0112")
    found, x = equally_long(found, 0, x, 0, "The weights and list don't have the same length.")
    return cast(found, DTYPES["f64"]), x


def _counted(bins: Tensor, weights: Any, count: Any, element: str) -> Tensor:
    totals = creation.zeros(count, DTYPES[element].numpy)
    scatter(IndexArrays(totals, [0], [bins], 0, None), weights, "add")
    return totals


@handles(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """Counts of values in bins, and the bins' edges, by NumPy's own rules for values near edges.

    `bins` is a number of bins of equal width, or their edges, which ascend.
    """
    found, edges = (_in_equal_bins if is_integer(bins) else _between_edges)(a, bins, range, weights)
    if not density:
        return found, edges
    widths = cast(edges[1:] - edges[:-1], DTYPES["f64"])
    return found / widths / reducing.reduce("sum", found), edges


def _alike(*tensors: Tensor) -> list[Tensor]:
    element = common_dtype(tensors)
    return [cast(t, element) for t in tensors]


def _between_edges(a: Any, bins: Any, range: Any, weights: Any) -> tuple[Tensor, Tensor]:
    if isinstance(bins, str) or as_tensor(bins).ndim != 1:
        raise OpError(
            f"np.histogram does not take bins={bins!r}", "it takes their number, or a vector of edges", "TX0240"
        )
    x, edges = reshaping.ravel(as_tensor(a)), as_tensor(bins)
    ascend = apply("logical_not", apply("greater", edges[:-1], edges[1:]))
    edges = required(edges, ascend, "`bins` must increase monotonically, when an array")
    count = edges.shape[0] - 1
    # Bins hold their left edge, the last one its right edge too; bin number `count` takes what is outside.
    at = apply("searchsorted", *_alike(edges, x), side="right") - 1
    at = apply("select", x == edges[-1], count - 1, at)
    at = apply("select", apply("logical_and", edges[0] <= x, x <= edges[-1]), at, count)
    return _weighed(at, count, weights), edges


def _in_equal_bins(a: Any, bins: Any, range: Any, weights: Any) -> tuple[Tensor, Tensor]:
    """In the dtype of floats, as NumPy does; integers are f64."""
    x = reshaping.ravel(as_tensor(a))
    element = x.element if x.element.is_float else DTYPES["f64"]
    x = cast(x, element)
    if range is None:
        low, high = x.min(), x.max()
        finite = apply("logical_and", apply("isfinite", low), apply("isfinite", high))
        low = required(low, finite, "autodetected range of the values is not finite")
    else:
        low, high = _bounds(*range)
    empty = low == high
    low, high = apply("select", empty, low - 0.5, low), apply("select", empty, high + 0.5, high)
    edges = creation.linspace(low, high, bins + 1)
    edges = cast(apply("select", creation.arange(bins + 1) == bins, high, edges), element)
    low, high = cast(low, element), cast(high, element)
    counted = apply("logical_and", low <= x, x <= high)
    position = (x - low) / (high - low) * bins
    at = cast(apply("select", counted, position, 0.0), DTYPES["i64"])
    at = at - cast(at == bins, DTYPES["i64"])
    at = at - cast(x < inside(edges, at), DTYPES["i64"])
    above = apply("logical_and", x >= inside(edges, at + 1), at != bins - 1)
    at = apply("select", counted, at + cast(above, DTYPES["i64"]), bins)
    return _weighed(at, bins, weights), edges


def _bounds(low: Any, high: Any) -> tuple[Tensor, Tensor]:
    """A range that is given, in f64."""
    low, high = (cast(as_tensor(v), DTYPES["f64"]) for v in (low, high))
    low = required(low, apply("greater_equal", high, low), "max must be larger than min in range parameter.")
    finite = apply("logical_and", apply("isfinite", low), apply("isfinite", high))
    return required(low, finite, "supplied range is not finite"), high


def _weighed(at: Tensor, bins: Any, weights: Any) -> Tensor:
    """How many elements, or what weights of theirs, are in each bin, `at` being the bin of each."""
    if weights is None:
        return _counted(at, 1, bins, "i64")
    each, at = _weights(weights, at)
    return cast(_counted(at, each, bins, "f64"), as_tensor(weights).element)


@handles(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Tensor, Tensor, Tensor]:
    """How many points are in each cell of a grid, or what weights of theirs, and the edges of its two sides.

    Edges are not checked to ascend.
    """
    x, y = broadcast_together([reshaping.ravel(as_tensor(x)), reshaping.ravel(as_tensor(y))], "np.histogram2d")
    element = common_dtype([x, y])
    given = bins if isinstance(bins, (tuple, list)) and len(bins) == 2 else (bins, bins)
    ranges = (None, None) if range is None else range
    (at, edges), (at_y, edges_y) = (_side(cast(t, element), b, r) for t, b, r in zip((x, y), given, ranges))
    rows, columns = (e.shape[0] - 1 for e in (edges, edges_y))
    inside_rows = apply("logical_and", at >= 0, at < rows)
    counts = apply("logical_and", inside_rows, apply("logical_and", at_y >= 0, at_y < columns))
    cell = apply("select", counts, at * columns + at_y, rows * columns)
    found = reshaping.reshape(cast(_weighed(cell, rows * columns, weights), DTYPES["f64"]), (rows, columns))
    if density:
        widths, heights = edges[1:] - edges[:-1], edges_y[1:] - edges_y[:-1]
        found = found / reshaping.expand_dims(widths, 1) / heights / reducing.reduce("sum", found)
    return found, edges, edges_y


def _side(x: Tensor, bins: Any, range: Any) -> tuple[Tensor, Tensor]:
    """The bin of each element along one side of a grid, negative or too large outside, and the edges."""
    if is_integer(bins):
        if range is not None:
            low, high = (as_tensor(float(v)) for v in range)
        else:
            low, high = (as_tensor(v) for v in ((0, 1) if bool(x.shape[0] == 0) else (x.min(), x.max())))
        low, high = (t if t.element.is_float else cast(t, DTYPES["f64"]) for t in (low, high))
        empty = low == high
        low, high = apply("select", empty, low - 0.5, low), apply("select", empty, high + 0.5, high)
        edges = creation.linspace(low, high, bins + 1)
    else:
        edges = as_tensor(bins)
        if edges.ndim != 1:
            raise OpError(
                f"np.histogram2d does not take bins={bins!r}", "it takes numbers, or vectors of edges", "TX0240"
            )
    element = common_dtype([x, edges])
    at = apply("searchsorted", cast(edges, element), cast(x, element), side="right") - 1
    return at - cast(x == edges[-1], DTYPES["i64"]), edges


@handles(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    elements.checked_cast(as_tensor(src), dst.element, casting)
    dst.store(src if where is True else apply("select", where, src, dst))


@handles(np.putmask)
def putmask(a: Any, /, mask: Any, values: Any) -> None:
    """Values of another number of elements than `a` are not repeated."""
    a.store(apply("select", mask, cast(as_tensor(values), a.element), a))


@handles(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """The element of the choice that `a` numbers; one out of bounds is the nearest, unless numbers wrap."""
    if mode not in ("raise", "clip", "wrap"):
        raise OpError(f"np.choose does not take mode={mode!r}", "it takes raise, clip and wrap", "TX0240")
    a, tensors = as_tensor(a), [as_tensor(c) for c in choices]
    a = a % len(tensors) if mode == "wrap" else a
    result = tensors[-1]
    for number in reversed(range(len(tensors) - 1)):
        result = apply("select", apply("less_equal", a, number), tensors[number], result)
    target = target_of(out)
    if target is not None and not fits(result, target):
        raise TypeError("choose: invalid shape for output array.")
    return into(out, result, casting="unsafe")
