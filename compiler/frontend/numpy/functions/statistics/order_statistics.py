"""Medians, percentiles, quantiles: elements at places of what is sorted, and between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ......dialects.registry import OpError
from ......dialects.types import DTYPES, DType
from ....scalars.python_numbers import checked
from ....tensor.apply import apply, as_tensor
from ....tensor.methods import reducing, reshaping
from ....tensor.promotion import cast, common_dtype
from ....tensor.tensor import Tensor
from ....trace.context import table
from ... import creation
from ...out_arrays import into
from ..registry import handles

__all__ = ["median", "quantile"]

#: NumPy's continuous methods (Hyndman and Fan's 4 to 9): where between elements a quantile lies.
_CONTINUOUS = {
    "interpolated_inverted_cdf": (0.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0), "linear": (1.0, 1.0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip
#: Those that take one of two neighbours, or the middle between them, at the place of ``linear``.
_CHOICES = ("lower", "higher", "midpoint", "nearest")


def _in_rows(a: Any, axis: Any) -> tuple[Tensor, tuple[int, ...], int]:
    """The dims of `axis` as one dim behind the others; which they were, and the rank."""
    a = as_tensor(a)
    if a.element.is_complex:
        raise OpError(f"quantiles are of real numbers, not of {a.user_type}", code="TX0112")
    given = range(a.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple(sorted(reshaping.axis_of(i, a.ndim) for i in given))
    kept = [i for i in range(a.ndim) if i not in axes]
    moved = reshaping.transpose(a, [*kept, *axes]) if a.ndim else a
    return reshaping.reshape(moved, [*(a.shape[i] for i in kept), -1]), axes, a.ndim


def _kept(found: Tensor, axes: tuple[int, ...], keepdims: Any, leading: int = 0) -> Tensor:
    return reshaping.expand_dims(found, tuple(i + leading for i in axes)) if keepdims else found


def _counted(rows: Tensor, without_nan: bool) -> Any:
    """The elements of each row that count: all, or those that are numbers, which are sorted before NaN."""
    if without_nan and rows.element.is_float:
        return reducing.reduce("sum", apply("logical_not", apply("isnan", rows)), -1, keepdims=True)
    return rows.shape[-1]


def _elements_at(rows: Tensor, places: Sequence[Any], several: Any = None) -> list[Tensor]:
    """The elements that sorted rows have at places, which are numbers or one a row, behind a dim of `several`."""
    own, first = rows.shape[:-1], () if several is None else (several,)
    wide = [reshaping.broadcast(cast(as_tensor(place), DTYPES["i64"]), (*first, *own, 1)) for place in places]
    if first:  # those of one number are neighbours: they are found together
        wide = [reshaping.transpose(x, [*range(1, rows.ndim), 0, rows.ndim]) for x in wide]
    numbers = apply("concatenate", *wide, axis=-1)
    found = apply("kth_elements", rows, reshaping.reshape(numbers, [*own, -1]))
    found = reshaping.reshape(found, [*own, *first, len(places)])
    if first:
        found = reshaping.transpose(found, [rows.ndim - 1, *range(rows.ndim - 1), rows.ndim])
    return [found[..., i] for i in range(len(places))]


def _has_nan(rows: Tensor) -> Tensor:
    """Whether a row has one."""
    return reducing.reduce("any", apply("isnan", rows), -1)


def _median(a: Any, axis: Any, keepdims: Any, without_nan: bool) -> Tensor:
    rows, axes, _ = _in_rows(a, axis)
    if not rows.element.is_float:
        rows = cast(rows, DTYPES["f64"])
    count, spoilt = _counted(rows, without_nan), _has_nan(rows)
    if table().decide(0, "<", rows.dims[-1]) is not True:
        # What may have no elements has NaN behind them, which is also the one before the first.
        nothing = creation.full((*rows.shape[:-1], 1), np.nan, rows.dtype)
        rows = apply("concatenate", rows, nothing, axis=-1)
    low, high = _elements_at(rows, ((count - 1) // 2, count // 2))
    wide = low.element.computes_in
    middle = cast((cast(low, wide) + cast(high, wide)) / 2, low.element)
    odd = as_tensor(count % 2) == 1
    odd = reshaping.squeeze(odd, -1) if odd.ndim else odd
    found = apply("select", odd, low, middle)
    return _kept(found if without_nan else apply("select", spoilt, np.nan, found), axes, keepdims)


@handles(np.median)
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    """The middle element, or the mean of the two; NaN where there is one.  The input is never overwritten."""
    return into(out, _median(a, axis, keepdims, False), casting="unsafe")


@handles(np.nanmedian)
def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    """The median of what is not NaN; NaN where nothing else is."""
    return into(out, _median(a, axis, keepdims is True, True), casting="unsafe", broadcasts=True)


def _quantile(a: Any, q: Any, axis: Any, method: str, keepdims: Any, without_nan: bool, name: str) -> Tensor:
    if method not in _CONTINUOUS and method not in _CHOICES:
        known = ", ".join((*_CONTINUOUS, *_CHOICES))
        raise OpError(f"np.{name} does not take method={method!r}", f"it takes {known}", "TX0240")
    rows, axes, _ = _in_rows(a, axis)
    if rows.element.kind == "bool" and method in _CONTINUOUS:
        apply("sub", rows, rows)  # as NumPy does to interpolate, which raises
    rows = cast(rows, DTYPES["u8"]) if rows.element.kind == "bool" else rows
    q = as_tensor(q)
    # What is between two elements has the dtype that these have with the number.
    element = common_dtype([rows, q]) if method in _CONTINUOUS else rows.element
    element = element if element.is_float else DTYPES["f64"]
    if q.ndim > 1:
        raise OpError(f"np.{name} takes a number or a vector of them, not {q.user_type}", code="TX0103")
    count, spoilt = _counted(rows, without_nan), None if without_nan else _has_nan(rows)
    several, numbers, shape = None, q, rows.shape[:-1]
    if q.ndim:  # a dim of one for the numbers, before those of the rows
        several, numbers = q.shape[0], reshaping.reshape(q, [-1, *[1] * rows.ndim])
        shape = (several, *shape)
    found = _one_quantile(lambda at: _elements_at(rows, at, several), numbers, count, method, shape, element)
    if spoilt is not None:
        found = apply("select", reshaping.expand_dims(spoilt, 0) if q.ndim else spoilt, np.nan, found)
    return _kept(found, axes, keepdims, q.ndim)


def _one_quantile(
    elements: Callable[[Sequence[Tensor]], list[Tensor]], q: Tensor, count: Any, method: str, shape: Sequence[Any],
    element: DType,
) -> Tensor:  # fmt: skip
    """The quantile of rows, by NumPy's own steps: a place between two elements in order, and what is between them, as
    an `element`: their distance is one of theirs.  `shape` is that of the result."""
    f64 = DTYPES["f64"]
    q, count = cast(q, f64), cast(as_tensor(count), f64)
    alpha, beta = _CONTINUOUS.get(method, (1.0, 1.0))
    place = (count - 1) * q if (alpha, beta) == (1.0, 1.0) else count * q + (alpha + q * (1 - alpha - beta)) - 1
    place = apply("clip", place, 0.0, apply("cwise_max_propagate", count - 1, 0.0))
    low, high = apply("floor", place), apply("ceil", place)
    share = place - low
    if method == "nearest":
        low = high = apply("rint", place)
    found = elements((high if method == "higher" else low, low if method == "lower" else high))
    below, above = (x if x.element.is_float else cast(x, element) for x in found)
    if method == "midpoint":
        share = apply("select", share > 0, 0.5, 0.0)
    if method in ("lower", "higher", "nearest"):
        share = share * 0
    share = reshaping.broadcast(share, (*shape, 1))
    return _between(below, above, cast(reshaping.squeeze(share, -1), element))


def _between(a: Tensor, b: Tensor, t: Tensor) -> Tensor:
    """NumPy's interpolation, from the nearer end; exact where both ends are equal."""
    distance = b - a
    found = apply("select", t >= 0.5, b - distance * (1 - t), a + distance * t)
    return apply("select", apply("equal", a, b), a, found)


def _handler(name: str, per: int, without_nan: bool) -> Any:
    def handler(
        a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
        keepdims: Any = False,
    ) -> Any:  # fmt: skip
        shares = as_tensor(q)
        outside = "Percentiles must be in the range [0, 100]" if per == 100 else "Quantiles must be in the range [0, 1]"
        inside = apply("logical_and", shares >= 0, shares <= per)
        shares = checked(shares, inside, ValueError, outside)
        shares = shares if per == 1 else apply("div", shares, per)
        found = _quantile(a, shares, axis, method, keepdims is True, without_nan, name)
        if method in ("lower", "higher", "nearest") and not as_tensor(a).element.is_float:
            found = cast(found, as_tensor(a).element)
        return into(out, found, np.add, broadcasts=True)

    handler.__name__ = name
    return handler


quantile = _handler("quantile", 1, False)
handles(np.quantile)(quantile)
handles(np.percentile)(_handler("percentile", 100, False))
handles(np.nanquantile)(_handler("nanquantile", 1, True))
handles(np.nanpercentile)(_handler("nanpercentile", 100, True))
