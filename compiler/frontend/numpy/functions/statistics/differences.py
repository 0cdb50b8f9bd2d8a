"""Differences of neighbours, and what is made of them: gradients, integrals, interpolation, unwrapping."""

from __future__ import annotations

from typing import Any

import numpy as np

from ......dialects.registry import OpError
from ....tensor.apply import apply, as_tensor
from ....tensor.broadcasting import equally_long
from ....tensor.methods import elements, reducing, reshaping
from ....tensor.promotion import cast
from ....tensor.tensor import Tensor
from ....trace.context import table
from ..registry import handles
from ..shaping.indexing import inside
from ..shaping.joining import concatenate, slice_along

__all__ = ["diff", "gradient", "interp", "trapezoid"]


def _one_beside(value: Any, x: Tensor, axis: int) -> Tensor:
    """What `prepend` and `append` of `np.diff` mean: a scalar is one element along the axis."""
    value = as_tensor(value)
    if value.ndim:
        return value
    shape = list(x.shape)
    shape[axis] = 1
    return reshaping.broadcast(value, shape)


@handles(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    a = as_tensor(a)
    if n < 0:
        raise OpError(f"np.diff: n is not negative, and {n} is", code="TX0240")
    if n == 0:
        return a
    if not a.ndim:
        raise OpError("np.diff of a tensor of rank 0", code="TX0103")
    at = reshaping.axis_of(axis, a.ndim)
    parts = [None if prepend is None else _one_beside(prepend, a, at), a]
    parts.append(None if append is None else _one_beside(append, a, at))
    whole = [p for p in parts if p is not None]
    a = concatenate(whole, at) if len(whole) > 1 else a
    for _ in range(n):
        name = "not_equal" if a.element.kind == "bool" else "sub"
        a = apply(name, slice_along(a, at, 1, None), slice_along(a, at, None, -1))
    return a


@handles(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    ary = reshaping.ravel(as_tensor(ary))
    middle = apply("sub", ary[1:], ary[:-1])
    ends = [None if e is None else reshaping.ravel(cast(as_tensor(e), ary.element)) for e in (to_begin, to_end)]
    parts = [p for p in (ends[0], middle, ends[1]) if p is not None]
    return concatenate(parts) if len(parts) > 1 else middle


@handles(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences inside, one-sided ones of order 1 or 2 at the edges."""
    f = as_tensor(f)
    axes = range(f.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else [axis]
    axes = [reshaping.axis_of(a, f.ndim) for a in axes]
    if edge_order not in (1, 2):
        raise OpError(f"np.gradient: edge_order is 1 or 2, not {edge_order!r}", code="TX0240")
    spacings = list(varargs) * (len(axes) if len(varargs) == 1 else 1) or [1.0] * len(axes)
    if len(spacings) != len(axes):
        raise OpError(f"np.gradient: {len(spacings)} spacings for {len(axes)} axes", code="TX0101")
    for at in axes:
        if table().settle(edge_order, "<", f.dims[at], "np.gradient of enough elements") is False:
            raise OpError(f"np.gradient along dim {at} of {f.user_type}: it has too few elements", code="TX0113")
    if f.element.kind == "bool":
        apply("sub", f, f)  # which raises as NumPy's own differences do
    if not f.element.is_float and not f.element.is_complex:
        f = elements.astype(f, "f64")
    found = [_slopes(f, a, as_tensor(h), edge_order) for a, h in zip(axes, spacings)]
    return found[0] if len(found) == 1 else tuple(found)


def _slopes(f: Tensor, axis: int, h: Tensor, edge_order: int) -> Tensor:
    part = lambda start, stop: slice_along(f, axis, start, stop)  # noqa: E731
    if h.ndim:
        return _uneven_slopes(f, axis, diff(h), edge_order)
    inside = (part(2, None) - part(None, -2)) / (2.0 * h)
    if edge_order == 1:
        first, last = (part(1, 2) - part(0, 1)) / h, (part(-1, None) - part(-2, -1)) / h
    else:
        a, b, c = -1.5 / h, 2.0 / h, -0.5 / h
        first = a * part(0, 1) + b * part(1, 2) + c * part(2, 3)
        a, b, c = 0.5 / h, -2.0 / h, 1.5 / h
        last = a * part(-3, -2) + b * part(-2, -1) + c * part(-1, None)
    return concatenate([first, inside, last], axis)


def _uneven_slopes(f: Tensor, axis: int, steps: Tensor, edge_order: int) -> Tensor:
    """The same for distances that differ."""
    shape = [1] * f.ndim
    shape[axis] = -1
    steps = reshaping.reshape(steps, shape)
    part = lambda start, stop: slice_along(f, axis, start, stop)  # noqa: E731
    step = lambda start, stop: slice_along(steps, axis, start, stop)  # noqa: E731
    low, high = step(None, -1), step(1, None)
    a, b, c = -high / (low * (low + high)), (high - low) / (low * high), low / (high * (low + high))
    inside = a * part(None, -2) + b * part(1, -1) + c * part(2, None)
    if edge_order == 1:
        first = (part(1, 2) - part(0, 1)) / step(0, 1)
        last = (part(-1, None) - part(-2, -1)) / step(-1, None)
    else:
        p, q = step(0, 1), step(1, 2)
        a, b, c = -(2.0 * p + q) / (p * (p + q)), (p + q) / (p * q), -p / (q * (p + q))
        first = a * part(0, 1) + b * part(1, 2) + c * part(2, 3)
        p, q = step(-2, -1), step(-1, None)
        a, b, c = q / (p * (p + q)), -(q + p) / (p * q), (2.0 * q + p) / (q * (p + q))
        last = a * part(-3, -2) + b * part(-2, -1) + c * part(-1, None)
    return concatenate([first, inside, last], axis)


@handles(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    y = as_tensor(y)
    at = reshaping.axis_of(axis, y.ndim)
    if x is None:
        width = dx
    else:
        width = diff(x, axis=-1 if as_tensor(x).ndim == 1 else axis)
        if width.ndim == 1:
            shape = [1] * y.ndim
            shape[at] = -1
            width = reshaping.reshape(width, shape)
    # `axis` is that of the products, too, which have more dims than y where x has.
    return reducing.reduce("sum", width * (slice_along(y, at, 1, None) + slice_along(y, at, None, -1)) / 2.0, axis)


@handles(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Piecewise linear interpolation at increasing `xp`, found by bisection.

    With a `period` the nodes may stand in any order, and nothing lies to the left or right of them.  Of complex values
    the parts are interpolated.
    """
    (x, xp), fp = _as_floats("np.interp", x, xp), as_tensor(fp)
    if table().settle(0, "<", xp.dims[0], "np.interp of at least one point") is False:
        raise OpError("np.interp: array of sample points is empty", code="TX0113")
    xp, fp = equally_long(xp, 0, fp, 0, "fp and xp are not of the same length.")
    # Of more than one point NaN has no value; of one every number that is not beside it has that point's.
    nowhere = apply("logical_and", apply("isnan", x), as_tensor(xp.shape[0]) > 1)
    if fp.element.is_complex:
        ends = [[end if end is None else part(as_tensor(end)) for end in (left, right)] for part in (_real, _imag)]
        parts = [_interpolated(x, xp, part(fp), end[0], end[1], period) for part, end in zip((_real, _imag), ends)]
        return apply("select", nowhere, x, apply("complex", *parts))
    return apply("select", nowhere, x, _interpolated(x, xp, fp, left, right, period))


def _interpolated(x: Tensor, xp: Tensor, fp: Tensor, left: Any, right: Any, period: Any) -> Tensor:
    fp = elements.astype(fp, "f64")
    if period is not None:
        if not isinstance(period, Tensor) and period == 0:
            raise OpError("np.interp: the period is not 0", code="TX0240")
        period, left, right = abs(period), None, None
        x, xp = x % period, xp % period
        order = apply("argsort", xp)
        xp, fp = inside(xp, order), inside(fp, order)
        xp = concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = concatenate([fp[-1:], fp, fp[:1]])
    count = apply("searchsorted", xp, x, side="right")
    low = apply("clip", count - 1, 0, apply("cwise_max", as_tensor(xp.shape[0] - 2), 0))
    high = apply("cwise_min", low + 1, xp.shape[0] - 1)
    x0, x1, y0, y1 = (apply("take", t, at, axis=0) for t in (xp, fp) for at in (low, high))
    found = _on_line(x, x0, x1, y0, y1)
    # At a node the value is the node's own, whatever rounding makes of the line.
    found = apply("select", apply("equal", x, x0), y0, found)
    found = apply("select", apply("less", x, xp[-1]), found, fp[-1])
    found = apply("select", apply("less", x, xp[0]), fp[0] if left is None else left, found)
    return apply("select", apply("greater", x, xp[-1]), fp[-1] if right is None else right, found)


def _on_line(x: Tensor, x0: Tensor, x1: Tensor, y0: Tensor, y1: Tensor) -> Tensor:
    """A value between two nodes, from the left one, or where that is NaN from the right one; theirs if it is one."""
    slope = (y1 - y0) / (x1 - x0)
    found = slope * (x - x0) + y0
    from_right = slope * (x - x1) + y1
    from_right = apply("select", apply("logical_and", apply("isnan", from_right), y0 == y1), y0, from_right)
    return apply("select", apply("isnan", found), from_right, found)


def _real(x: Tensor) -> Tensor:
    return x.real


def _imag(x: Tensor) -> Tensor:
    return x.imag


def _as_floats(f: str, *values: Any) -> list[Tensor]:
    """Values as f64, of a function that takes no complex ones."""
    tensors = [as_tensor(v) for v in values]
    for t in tensors:
        if t.element.is_complex:
            raise OpError(f"{f} takes no {t.user_type} there", "take its .real or .imag", "TX0112")
    return [elements.astype(t, "f64") for t in tensors]


@handles(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Any:
    """Whole periods added where neighbours differ by more than half of one."""
    p = as_tensor(p)
    axis = reshaping.axis_of(axis, p.ndim)
    steps = diff(p, axis=axis)
    if not p.element.is_float and (p.element.is_complex or not isinstance(period, int)):
        (p,) = _as_floats("np.unwrap", p)
    half = period // 2 if p.element.is_integer else period / 2
    steps = cast(steps, p.element)
    reduced = (steps + half) % period - half
    if not (p.element.is_integer and period % 2):  # half a period is as far up as down
        reduced = apply("select", apply("logical_and", apply("equal", reduced, -half), steps > 0), half, reduced)
    correction = apply("select", abs(steps) < (half if discont is None else apply("cwise_max", discont, half)), 0,
                       reduced - steps)  # fmt: skip
    total = reducing.scan("cumsum", correction, axis)
    return concatenate([slice_along(p, axis, None, 1), cast(slice_along(p, axis, 1, None) + total, p.element)], axis)
