"""``x[key]`` and ``x[key] = value`` with NumPy's meaning; basic keys give views, bounds may be run-time integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dialects.dims import Dim, dim, maximum, minimum
from ...dialects.registry import OPS, OpError
from ...dialects.types import DTYPES
from ..diagnostics import located
from . import methods
from .apply import apply, as_tensor, emit
from .symint import SymInt, as_dim, is_integer
from .tensor import Tensor
from .trace import current, table

__all__ = ["Masked", "get", "put"]


@dataclass
class _Range:
    """A normalised slice: inside its dim."""

    start: Dim
    stop: Dim
    step: int


def get(x: Tensor, key: Any) -> Any:
    """The view, or the gathered copy, that a key selects."""
    items = _complete(x, key)
    if any(_is_mask(k) for k in items):
        return Masked(x, _mask(x, items))
    arrays = [i for i, k in enumerate(items) if _is_array(k)]
    if arrays:
        return _gather(x, items, arrays)
    return _view(x, items)


def put(x: Tensor, key: Any, new: Any) -> None:
    """Store `new` into what the key selects."""
    items = _complete(x, key)
    if any(_is_mask(k) for k in items):
        mask = _mask(x, items)
        if isinstance(new, Masked):
            new = new.full
        elif getattr(new, "ndim", 0) and as_tensor(new).ndim:
            raise OpError(
                f"x[mask] = {as_tensor(new).user_type} needs the number of true elements",
                "store a scalar, or use x[...] = np.where(mask, values, x) with values of x's shape",
                "TX0252",
            )
        x.store(apply("select", mask, apply("cast", new, dtype=x.element), x))
        return
    arrays = [i for i, k in enumerate(items) if _is_array(k)]
    if not arrays:
        _view(x, items).store(new)
        return
    if len(arrays) > 1 or as_tensor(items[arrays[0]]).ndim:
        raise OpError(
            "a store at integer-array indices is not supported", "loop over the indices, or use np.where", "TX0253"
        )
    # One position known only at run time: every element is either the new value or what it was.
    at = arrays[0]
    axis = sum(k is not None for k in items[:at])
    extent = x.dims[axis]
    (positions,) = emit(OPS["iota"], (), {"extent": extent, "dtype": DTYPES["i64"]})
    wanted = as_tensor(items[at])
    wanted = apply("select", wanted < 0, wanted + methods.count(x, [axis]), wanted)
    hit = apply("equal", Tensor(positions), wanted)
    hit = methods.reshape(hit, [extent if i == axis else 1 for i in range(x.ndim)])
    rest = [slice(None) if i == at else k for i, k in enumerate(items)]
    region = _view(x, rest)
    inside = methods.reshape(hit, [d if i == axis else 1 for i, d in enumerate(x.dims)])
    value = as_tensor(new)
    if value.ndim > region.ndim - 1:
        raise OpError(f"cannot store {value.user_type} at one position of {x.user_type}", code="TX0221")
    if any(k is None or not isinstance(k, slice) or k != slice(None) for i, k in enumerate(items) if i != at):
        raise OpError(
            "a store at a position known only at run time takes no other index but ':'",
            "take the row first: row = x[i]; row[...] = …",
            "TX0253",
        )
    if value.ndim:
        value = (
            methods.expand_dims(value, value.ndim - (x.ndim - 1 - axis)) if value.ndim >= x.ndim - 1 - axis else value
        )
    x.store(apply("select", inside, apply("cast", value, dtype=x.element), x))


def _complete(x: Tensor, key: Any) -> list[Any]:
    """One item for each dim (and None for each new one); Ellipsis replaced."""
    items = list(key) if isinstance(key, tuple) else [key]
    items = [np.asarray(k) if isinstance(k, list) else k for k in items]
    used = sum(_dims_used(k) for k in items)
    dots = [i for i, k in enumerate(items) if k is Ellipsis]
    if len(dots) > 1:
        raise OpError("an index can have only one '...'", code="TX0250")
    if used > x.ndim:
        raise OpError(f"too many indices: {used} for {x.user_type}", code="TX0250")
    at = dots[0] if dots else len(items)
    return items[:at] + [slice(None)] * (x.ndim - used) + items[at + 1 :]


def _dims_used(k: Any) -> int:
    if k is None or k is Ellipsis:
        return 0
    return as_tensor(k).ndim if _is_mask(k) else 1


def _is_mask(k: Any) -> bool:
    return isinstance(k, (Tensor, np.ndarray)) and k.dtype == np.bool_


def _is_array(k: Any) -> bool:
    return isinstance(k, (Tensor, np.ndarray)) and not (isinstance(k, np.ndarray) and k.ndim == 0)


def _view(x: Tensor, items: list[Any]) -> Tensor:
    """Basic indexing: one slice of all dims, then a chip for each integer, then the new dims."""
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
        extents = tuple(r.stop - r.start for r in ranges)
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
        raise OpError(text, f"the size there is {facts.describe(extent)}", "TX0251")
    return offset


def _check_iterations(i: Dim, extent: Dim, axis: int, x: Tensor) -> None:
    """Refuse an index that leaves the dim in some iteration of the loops around it.

    Where the index may not be used in each, in a branch or a while, nothing is said: there an index outside means an
    element inside, whichever.
    """
    facts, trace = table(), current()
    if trace is not None and trace.uncertain:
        return
    for room in (i + extent, extent - 1 - i):
        lowest = facts.lowest(room)
        if lowest is None:
            continue
        if facts.settle(dim(0), "<=", lowest, f"an index of dim {axis} in a loop") is False:
            text = f"index {i} is out of bounds for dim {axis} of {x.user_type} in some iteration of its loop"
            raise OpError(text, f"the size there is {facts.describe(extent)}", "TX0251")


def _bound(v: Any, extent: Dim, low: Dim, high: Dim, why: str) -> Dim:
    """One end of a slice, clipped into [low, high]."""
    facts = table()
    v = facts.resolve(as_dim(v))
    nonneg = facts.settle(dim(0), "<=", v, why)
    if nonneg is None:
        return maximum(low, minimum(high, v))
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


def _gather(x: Tensor, items: list[Any], arrays: list[int]) -> Tensor:
    """Integer arrays: one goes through `take`; several beside each other index the merged dims."""
    if any(k is None for k in items):
        raise OpError("None beside an index array is not supported", "use np.expand_dims", "TX0254")
    if arrays != list(range(arrays[0], arrays[0] + len(arrays))):
        raise OpError("index arrays must be beside each other", "transpose first", "TX0254")
    plain = [k if i not in arrays else slice(None) for i, k in enumerate(items)]
    source = x
    first = arrays[0]
    if any(k != slice(None) for k in plain if isinstance(k, slice)) or any(is_integer(k) for k in plain):
        if any(is_integer(k) for k in plain):
            # NumPy broadcasts integers with the arrays; here they are dims to drop where that means the same.
            if any(is_integer(k) for k in plain[first:]) or len(arrays) > 1:
                raise OpError("integers after an index array are not supported", "index in two steps", "TX0254")
            first -= sum(is_integer(k) for k in plain[:first])
        source = _view(x, plain)
    indices = [as_tensor(items[i]) for i in arrays]
    for t in indices:
        if not t.element.is_integer:
            raise OpError(f"index arrays are integers or bools, not {t.user_type}", code="TX0254")
    if len(indices) == 1:
        return apply("take", source, indices[0], axis=first)
    linear: Any = 0
    merged = dim(1)
    for offset, t in enumerate(indices):
        extent = source.dims[first + offset]
        wrapped = (
            apply("select", t < 0, t + SymInt(extent), t)
            if extent.const is None
            else apply("select", t < 0, t + extent.const, t)
        )
        linear = linear * (SymInt(extent) if extent.const is None else extent.const) + wrapped
        merged = merged * extent
    flat = (*source.dims[:first], merged, *source.dims[first + len(indices) :])
    return apply("take", apply("reshape", source, dims=flat), linear, axis=first)


def _mask(x: Tensor, items: list[Any]) -> Tensor:
    """A bool index as a mask of x's rank."""
    masks = [k for k in items if _is_mask(k)]
    if len(masks) != 1 or not _is_mask(items[0]) or any(k != slice(None) for k in items[1:]):
        raise OpError("a bool mask is the only index", "combine masks with &", "TX0255")
    mask = as_tensor(masks[0])
    for a, b in zip(mask.dims, x.dims):
        table().equate(a, b, "a mask")
    return methods.reshape(mask, [*mask.dims, *[dim(1)] * (x.ndim - mask.ndim)])


class Masked:
    """``x[mask]``: its number of elements is known only at run time, so it can be reduced, updated and stored back."""

    __array_ufunc__ = None

    def __init__(self, full: Tensor, mask: Tensor):
        self.full, self.mask = full, mask

    def sum(self) -> Any:
        return methods.reduce("sum", self.full, where=self.mask)

    def mean(self) -> Any:
        return methods.reduce("mean", self.full, where=self.mask)

    def prod(self) -> Any:
        return methods.reduce("prod", self.full, where=self.mask)

    def _updated(self, name: str, other: Any) -> Masked:
        if isinstance(other, Masked) or getattr(other, "ndim", 0):
            self._refuse()
        return Masked(apply(name, self.full, other), self.mask)

    def _refuse(self) -> Any:
        with located():
            raise OpError(
                "x[mask] has as many elements as the mask has true ones, which is known only at run time",
                "use np.where(mask, x, other), x[mask] = scalar, x[mask] += scalar or x[mask].sum()",
                "TX0252",
            )

    def __getattr__(self, name: str) -> Any:
        return self._refuse()


for _python, _name in {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder",
}.items():  # fmt: skip
    for _prefix in ("", "i"):
        setattr(Masked, f"__{_prefix}{_python}__", lambda self, other, _name=_name: self._updated(_name, other))
