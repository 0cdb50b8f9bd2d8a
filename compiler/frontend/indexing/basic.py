"""``x[key]`` and ``x[key] = value`` with NumPy's meaning; basic keys give views, bounds may be run-time integers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....dialects.dims.dims import Dim, dim, maximum, minimum, only_call
from ....dialects.registry import CertainError, OpError
from ..numpy.functions.searching.data_dependent import nonzero
from ..scalars.python_numbers import as_int
from ..tensor.apply import apply, as_tensor, is_traced
from ..tensor.as_array import AsArray
from ..tensor.leaves import leaf
from ..tensor.memory.storage import readable
from ..tensor.tensor import Tensor
from ..tensor.views.composite_views import IndexedView
from ..trace.context import current, table
from ..trace.symint import as_dim, is_integer
from .advanced import IndexArrays, gather, is_array, is_mask, scatter
from .data_dependent_slices import is_of_values, sliced
from .masked import fitting, mask_of, masked, put_masked

if TYPE_CHECKING:
    from ..trace.trace import Trace

__all__ = ["accumulate", "get", "put", "view"]


@dataclass
class _Range:
    """A normalised slice: inside its dim."""

    start: Dim
    stop: Dim
    step: int

    @property
    def length(self) -> Dim:
        """How many there are with step 1; ``x[1:]`` and ``x[:-1]`` of one size have one expression for it.

        The form says that it is not negative: what is built on it needs to know.
        """
        for fn, end, other in (("min", self.start, self.stop), ("max", self.stop, self.start)):
            clipped = only_call(end)
            if clipped is not None and clipped.fn == fn and other in (clipped.a, clipped.b):
                unclipped = clipped.b if clipped.a is other else clipped.a
                return maximum(0, other - unclipped if fn == "min" else unclipped - other)
        return self.stop - self.start


def get(x: Tensor, key: Any) -> Any:
    """The view, or the gathered copy, that a key selects."""
    items = complete(x, key)
    mask = _leading_mask(x, items)
    if mask is not None:
        return masked(x, mask)
    x, items = _counted_masks(x, items)
    items = _checked_by_call(x, items)
    element = _names_an_element(key, items)
    if any(is_array(k) for k in items):
        found = places(x, items)
        return gather(found) if element or any(map(_is_array_object, items)) else IndexedView(found)
    made = view(x, items)
    if element or any(map(_is_array_object, items)):
        return _read_now(made)
    made.boxed = not made.ndim  # ``x[0, ...]`` of a vector is an array, not a number
    return made


def _is_array_object(k: Any) -> bool:
    """Whether an item is an array, of rank 0 too, for which NumPy copies; a number gives a view."""
    return bool(k.ndim or k.boxed) if isinstance(k, Tensor) else isinstance(k, np.ndarray)


def _names_an_element(key: Any, items: list[Any]) -> bool:
    """Whether a key is an integer for each dim: NumPy gives a number for it, but a view where it has an Ellipsis."""
    dots = any(k is Ellipsis for k in key) if isinstance(key, tuple) else key is Ellipsis
    return not dots and not any(k is None or isinstance(k, slice) for k in items)


def _read_now(place: Tensor) -> Tensor:
    """What is at a place now, as a number or copy: a later store there is not seen."""
    trace = current()
    if trace is not None:
        return (trace.capture_lazy(place) if place.is_lazy else place).snapshot()
    there = readable(place)
    return place.snapshot() if there is None else Tensor(leaf(there.copy()))


def put(x: Tensor, key: Any, new: Any) -> None:
    """Store `new` into what the key selects."""
    new = _whole(x, new)
    items = complete(x, key)
    mask = _leading_mask(x, items)
    if mask is not None:
        put_masked(x, mask, new)
        return
    x, items = _counted_masks(x, items)
    items = _checked_by_call(x, items)
    if any(is_array(k) for k in items):
        scatter(places(x, items), new)
    else:
        view(x, items).store(new)


def _whole(x: Tensor, new: Any) -> Any:
    """What is stored into `x`: of a float of Python's, where `x` has integers, the int, which has to fit, as in NumPy.

    A float of NumPy's is cast.
    """
    if not x.element.is_integer:
        return new
    if type(new) is float:
        np.empty((), x.element.numpy)[...] = new  # raises NumPy's error
        return int(new)
    return as_int(new) if isinstance(new, Tensor) and new.weak == "float" and not new.ndim else new


def accumulate(x: Tensor, key: Any, op: str, new: Any) -> None:
    """``np.<op>.at(x, key, new)``: every one of several values for an element counts, in order."""
    items = complete(x, key)
    mask = _leading_mask(x, items)
    if mask is not None:
        put_masked(x, mask, apply(op, masked(x, mask), new))
        return
    x, items = _counted_masks(x, items)
    items = _checked_by_call(x, items)
    if any(is_array(k) for k in items):
        scatter(places(x, items), new, op)
    else:
        target = view(x, items)
        target.store(apply(op, target, new))


def places(x: Tensor, items: list[Any]) -> IndexArrays:
    """Where a key with index arrays leads: slices, ints and new axes as a view, the arrays for dims of that."""
    if any(k is None for k in items):
        x = view(x, [None if k is None else slice(None) for k in items])
        items = [slice(None) if k is None else k for k in items]
    chosen = [i for i, k in enumerate(items) if is_array(k) or is_integer(k)]
    # NumPy: index arrays, and ints beside them, with a slice in between put their dims first.
    first = chosen != list(range(chosen[0], chosen[-1] + 1))
    source = view(x, [slice(None) if is_array(k) else k for k in items])
    dims = [k for k in items if not is_integer(k)]
    axes = [i for i, k in enumerate(dims) if is_array(k)]
    return IndexArrays(source, axes, [as_tensor(dims[i]) for i in axes], 0 if first else axes[0])


def complete(x: Tensor, key: Any) -> list[Any]:
    """One item for each dim (and None for each new one); Ellipsis replaced."""
    items = list(key) if isinstance(key, tuple) else [key]
    items = [_places_in(k) if isinstance(k, (list, range, AsArray, bool, np.bool_)) else k for k in items]
    used = sum(_dims_used(k) for k in items)
    dots = [i for i, k in enumerate(items) if k is Ellipsis]
    if len(dots) > 1:
        raise OpError("an index can have only one '...'", code="TX0250")
    if used > x.ndim:
        raise OpError(f"too many indices: {used} for {x.user_type}", code="TX0250")
    at = dots[0] if dots else len(items)
    return items[:at] + [slice(None)] * (x.ndim - used) + items[at + 1 :]


def _places_in(key: Any) -> Any:
    """A list or range as an index array, a bool as a mask of rank 0; a list to which a loop appended is one of its
    items, also where there is none."""
    if getattr(key, "stacked", False):
        return key.whole()  # pyright: ignore[reportAttributeAccessIssue]  (a `growing.GrowingList`)
    if isinstance(key, AsArray):
        return key.as_array()
    return as_tensor(key) if is_traced(key) else np.asarray(key, np.intp if isinstance(key, range) else None)


def _leading_mask(x: Tensor, items: list[Any]) -> Tensor | None:
    """The mask of the first dims that is all of a key, in a function that is being compiled."""
    return mask_of(x, items) if items and current() is not None else None


def _counted_masks(x: Tensor, items: list[Any]) -> tuple[Tensor, list[Any]]:
    """Masks become the indices of their true elements, whose number is computed."""
    if not any(is_mask(k) for k in items):
        return x, items
    if any(is_mask(k) and not as_tensor(k).ndim for k in items):
        # A mask of rank 0 is one of a new dim.
        dims = [None if k is None or (is_mask(k) and not as_tensor(k).ndim) else slice(None) for k in items]
        x = view(x, [d for d, k in zip(dims, items) for d in [d] * max(1, _dims_used(k))])
        items = [slice(None) if k is None else k for k in items]
        items = [as_tensor(k).reshape(1) if is_mask(k) and not as_tensor(k).ndim else k for k in items]
    axis, found = 0, []
    for k in items:
        found += nonzero(_fitting(as_tensor(k), x, axis)) if is_mask(k) else [k]
        axis += _dims_used(k)
    return x, found


def _checked_by_call(x: Tensor, items: list[Any]) -> list[Any]:
    """Integers that nobody knows to be inside while compiling, as index arrays: calls check them.

    They belong to dims whose size values decide, follow from such a size, or count iterations of which some are
    outside, or may be, where a branch or another loop may keep them from it.
    """
    trace = current()
    if trace is None or not (trace.bound or table().loops):
        return items
    sizes = iter(x.dims)
    found = []
    for k in items:
        size = None if k is None else next(sizes)
        known = not is_integer(k) or size is None or not _is_checked(as_dim(k), size, trace)
        found.append(k if known else Tensor(as_tensor(k).value))
    return found


def _is_checked(i: Dim, extent: Dim, trace: Trace) -> bool:
    """Whether a call has to check an index of a dim."""
    if trace.bound and (trace.is_bound(extent) or trace.is_bound(i)):
        return True
    facts = table()
    i, extent = facts.resolve(i), facts.resolve(extent)
    if not facts.varies(i) and not facts.varies(extent):
        return False
    why = "an index in a loop"
    if facts.decide(-extent, "<=", i, why) and facts.decide(i, "<", extent, why):
        return False
    return bool(trace.conditional_depth) or not all(
        lowest is not None and facts.settle(dim(0), "<=", lowest, why) for lowest in _rooms(i, extent)
    )


def _fitting(mask: Tensor, x: Tensor, axis: int) -> Tensor:
    """The mask, with the sizes of the dims of `x` from `axis` on; one without elements may have 0.

    OpError where it has not.
    """
    if current() is not None and not any(size.const == 0 for size in mask.dims):
        return fitting(mask, x.dims[axis:])
    for i, (size, extent) in enumerate(zip(mask.dims, x.dims[axis:]), axis):
        if size is not extent and size.const != 0:
            text = f"a mask {mask.user_type} does not fit dim {i} of {x.user_type}"
            raise OpError(text, f"the sizes there are {size} and {extent}", "TX0250")
    return mask


def _dims_used(k: Any) -> int:
    if k is None or k is Ellipsis:
        return 0
    return as_tensor(k).ndim if is_mask(k) else 1


def view(x: Tensor, items: list[Any]) -> Tensor:
    """Basic indexing: one slice of all dims, then a chip for each integer, then the new dims."""
    items = list(items)
    axis = 0
    for i, k in enumerate(items):
        if is_of_values(k):
            x, items[i] = sliced(x, axis, k), slice(None)
        axis += k is not None
    ranges: list[_Range] = []
    chips: list[tuple[int, Dim]] = []
    for k in (k for k in items if k is not None):
        axis = len(ranges)
        extent = x.dims[axis]
        if isinstance(k, slice):
            ranges.append(_range(k, extent, axis, x))
        elif is_integer(k) or isinstance(k, np.ndarray):
            at = k if is_integer(k) else int(k)
            chips.append((axis, _position(as_dim(at), extent, axis, x)))
            ranges.append(_Range(dim(0), extent, 1))
        else:
            raise OpError(
                f"{k!r} is no index", "indices are integers, slices, '...', None, and integer or bool arrays", "TX0250"
            )
    if any(r.step != 1 for r in ranges):
        x = apply(
            "strided_slice", x, start=tuple(r.start for r in ranges), stop=tuple(r.stop for r in ranges),
            strides=tuple(r.step for r in ranges),
        )  # fmt: skip
    elif any(r.start.const != 0 or r.stop is not d for r, d in zip(ranges, x.dims)) or not chips:
        extents = tuple(r.length for r in ranges)
        x = apply("slice", x, offsets=tuple(r.start for r in ranges), extents=extents) if ranges else _same(x)
    for axis, offset in reversed(chips):
        x = apply("chip", x, offset=(offset,), dim=axis)
    if any(k is None for k in items):
        kept = iter(x.dims)
        full = tuple(dim(1) if k is None else next(kept) for k in items if k is None or isinstance(k, slice))
        x = apply("reshape", x, dims=full)
    return x


def _same(x: Tensor) -> Tensor:
    """``x[...]`` of rank 0: a view of all of it."""
    return apply("reshape", x, dims=())


def _position(i: Dim, extent: Dim, axis: int, x: Tensor) -> Dim:
    """An integer index as an offset from 0; negative ones count from the end."""
    facts = table()
    i = facts.resolve(i)
    why = f"an index of dim {axis}"
    below = facts.settle(dim(0), "<=", i, why)
    if below is None:  # varies with a loop and may be on either side of zero
        _check_iterations(i, extent, axis, x)
        return i % extent
    offset = i if below else i + extent
    inside = facts.settle(offset, "<", extent, why) if below else facts.settle(dim(0), "<=", offset, why)
    if inside is None:
        _check_iterations(i, extent, axis, x)
        return offset % extent
    if not inside:
        text = f"index {facts.describe(i)} is out of bounds for dim {axis} of {x.user_type}"
        raise CertainError(text, f"the size there is {facts.describe(extent)}", "TX0251")
    return offset


def _check_iterations(i: Dim, extent: Dim, axis: int, x: Tensor) -> None:
    """Refuse an index of a function of txc's that leaves the dim in some iteration of the loops around it.

    Others are checked by calls (`_checked_by_call`).
    """
    facts, trace = table(), current()
    if trace is not None and trace.conditional_depth:
        return
    for lowest in _rooms(i, extent):
        if lowest is not None and not facts.settle(dim(0), "<=", lowest, f"an index of dim {axis} in a loop"):
            text = f"index {i} is out of bounds for dim {axis} of {x.user_type} in some iteration of its loop"
            raise OpError(text, f"the size there is {facts.describe(extent)}", "TX0251")


def _rooms(i: Dim, extent: Dim) -> Iterator[Dim | None]:
    """How far an index is inside of each end of a dim in the iteration where that is least; None: it is not known."""
    return map(table().lowest, (i + extent, extent - 1 - i))


def _bound(v: Any, extent: Dim, low: Dim, high: Dim, why: str) -> Dim:
    """One end of a slice, clipped into [low, high]."""
    facts = table()
    v = facts.resolve(as_dim(v))
    nonneg = facts.settle(dim(0), "<=", v, why)
    if nonneg is None:  # it counts from the end in some iterations of a loop: -1 there, and 0 in the others
        from_end = minimum(dim(0), maximum(dim(-1), v))
        return maximum(low, minimum(high, v - from_end * extent))
    if nonneg:
        fits = facts.settle(v, "<=", high, why)
        return minimum(v, high) if fits is None else v if fits else high
    v = v + extent
    fits = facts.settle(low, "<=", v, why)
    return maximum(low, v) if fits is None else v if fits else low


def _range(k: slice, extent: Dim, axis: int, x: Tensor) -> _Range:
    why = f"a slice of dim {axis}"
    step = 1 if k.step is None else int(k.step)
    if step == 0:
        raise OpError("slice step cannot be zero", code="TX0127")
    facts = table()
    extent = facts.resolve(extent)
    if step > 0:
        start = dim(0) if k.start is None else _bound(k.start, extent, dim(0), extent, why)
        stop = extent if k.stop is None else _bound(k.stop, extent, dim(0), extent, why)
        some = facts.settle(start, "<=", stop, why)
        return _Range(start, maximum(start, stop) if some is None else stop if some else start, step)
    start = extent - 1 if k.start is None else _bound(k.start, extent, dim(-1), extent - 1, why)
    stop = dim(-1) if k.stop is None else _bound(k.stop, extent, dim(-1), extent - 1, why)
    some = facts.settle(stop, "<=", start, why)
    return _Range(start, minimum(start, stop) if some is None else stop if some else start, step)
