"""Averages, spreads and correlations; the functions that leave NaN out."""

from __future__ import annotations

from typing import Any

import numpy as np

from ......dialects.registry import OpError
from ....tensor.apply import apply, as_tensor
from ....tensor.broadcasting import equally_long
from ....tensor.methods import elements, reducing, reshaping
from ....tensor.promotion import cast, common_dtype
from ....tensor.tensor import Tensor
from ....trace.context import table
from ...out_arrays import check_inexact, into, into_read
from ..linalg.products import matmul
from ..registry import FUNCTIONS, handles, required
from ..shaping.joining import concatenate

__all__ = ["average", "cov"]


def _spread(method: Any) -> Any:
    def spread(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *,
        where: Any = True, mean: Any = None, correction: Any = None,
    ) -> Any:  # fmt: skip
        return method(
            as_tensor(a), axis, dtype, out=out, ddof=ddof, keepdims=keepdims, where=where, mean=mean,
            correction=correction,
        )  # fmt: skip

    return spread


FUNCTIONS |= {np.var: _spread(reducing.variance), np.std: _spread(reducing.deviation)}


@handles(np.average)
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False) -> Any:
    """The mean, weighted; with `returned` the sum of weights too."""
    a = as_tensor(a)
    if weights is None:
        mean = reducing.reduce("mean", a, axis, keepdims=keepdims)
        count = cast(as_tensor(reducing.count(a, axis)), mean.element)
        return (mean, reshaping.broadcast(count, mean.shape)) if returned else mean
    weights = as_tensor(weights)
    weights, a = _along_axes(weights, a, axis)
    weights = reshaping.broadcast(weights, a.shape)
    if a.element.is_integer or a.element.kind == "bool":
        a = elements.astype(a, "f64")
    total = reducing.reduce("sum", cast(weights, common_dtype([a, weights])), axis, keepdims=keepdims)
    text = "Weights sum to zero, can't be normalized"
    total = apply("require", total, total != 0, text=text, error="ZeroDivisionError")
    mean = reducing.reduce("sum", a * weights, axis, keepdims=keepdims) / total
    return (mean, total) if returned else mean


def _along_axes(weights: Tensor, a: Tensor, axis: Any) -> tuple[Tensor, Tensor]:
    """Weights with a dim for each of `a`, of its shape or with a dim for each axis; and `a`, of the same sizes."""
    text = "Axis must be specified when shapes of a and weights differ."
    if weights.ndim == a.ndim:
        are_equal = [table().decide(b, "==", d, "np.average asks") for b, d in zip(weights.dims, a.dims)]
        if all(are_equal):
            return weights, a
        if axis is None and False not in are_equal:  # as values decide
            for i in range(a.ndim):
                weights, a = equally_long(weights, i, a, i, text, "TypeError")
            return weights, a
    if axis is None:
        raise TypeError(text)
    axes = tuple(reshaping.axis_of(i, a.ndim) for i in (axis if isinstance(axis, (tuple, list)) else [axis]))
    text = "Shape of weights must be consistent with shape of a along specified axis."
    if weights.ndim != len(axes):
        raise OpError(text, f"they are {weights.user_type} and {a.user_type}", "TX0201")
    for i, at in enumerate(axes):
        weights, a = equally_long(weights, i, a, at, text)
    ordered = reshaping.transpose(weights, sorted(range(len(axes)), key=axes.__getitem__)) if axes else weights
    return reshaping.expand_dims(ordered, tuple(i for i in range(a.ndim) if i not in axes)), a


def _without_nan(a: Any, neutral: Any) -> tuple[Tensor, Any]:
    """`a` with `neutral` in place of NaN, and where there was none."""
    a = as_tensor(a)
    if not (a.element.is_float or a.element.is_complex):
        return a, True
    nan = apply("isnan", a)
    return apply("select", nan, cast(as_tensor(neutral), a.element), a), apply("logical_not", nan)


def _nan_reduction(name: str, neutral: int) -> Any:
    def reduction(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = None,
        where: Any = True,
    ) -> Any:  # fmt: skip
        a = _without_nan(a, neutral)[0]
        return reducing.reduce(name, a, axis, dtype, out, keepdims, initial=initial, where=where)

    return reduction


def _nan_scan(name: str, neutral: int) -> Any:
    def scan(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return reducing.scan(name, _without_nan(a, neutral)[0], axis, dtype, out)

    return scan


def _both(mask: Any, where: Any) -> Any:
    return mask if where is True else where if mask is True else apply("logical_and", mask, where)


@handles(np.nanmean)
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    check_inexact(as_tensor(a), out)
    a, mask = _without_nan(a, 0)
    return reducing.reduce("mean", a, axis, dtype, out, keepdims, where=_both(mask, where))


def _nan_spread(method: Any) -> Any:
    def spread(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *,
        where: Any = True, mean: Any = None, correction: Any = None,
    ) -> Any:  # fmt: skip
        check_inexact(as_tensor(a), out)
        a, mask = _without_nan(a, 0)
        mask = _both(mask, where)
        less = ddof if correction is None else correction
        found = method(a, axis, dtype, None, less, keepdims, where=mask, mean=mean)
        if mask is not True:
            enough = apply("greater", reducing.counted(mask, a, axis, keepdims), less)
            found = apply("select", enough, found, np.nan)
            found = cast(found, a.element.part if dtype is None else found.element)
        return into(out, found, casting="unsafe")

    return spread


def _nan_place(name: str, worst: float) -> Any:
    def place(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        numbers, mask = _without_nan(a, worst)
        found = reducing.reduce(name, numbers, axis, None, None, keepdims)
        if mask is not True:
            any_number = reducing.reduce("any", mask, axis, keepdims=keepdims)
            found = required(found, any_number, "All-NaN slice encountered")
        return into_read(out, found, f"np.{name}") if name.startswith("arg") else into(out, found)

    return place


FUNCTIONS |= {
    np.nansum: _nan_reduction("sum", 0), np.nanprod: _nan_reduction("prod", 1),
    np.nancumsum: _nan_scan("cumsum", 0), np.nancumprod: _nan_scan("cumprod", 1),
    np.nanvar: _nan_spread(reducing.variance), np.nanstd: _nan_spread(reducing.deviation),
    np.nanargmax: _nan_place("argmax", -np.inf), np.nanargmin: _nan_place("argmin", np.inf),
}  # fmt: skip


@handles(np.cov)
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, fweights: Any = None,
    aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    """Covariances of variables, one a row; weights are not taken."""
    if fweights is not None or aweights is not None:
        raise OpError("np.cov does not take weights here", "weight the variables first", "TX0240")
    variables = _variables(m, rowvar) if y is None else concatenate([_variables(m, rowvar), _variables(y, rowvar)], 0)
    wide = common_dtype([variables, as_tensor(np.float64(0))])
    variables = cast(variables, wide) if dtype is None else elements.astype(variables, dtype)
    centred = variables - reducing.reduce("mean", variables, 1, keepdims=True)
    less = (0 if bias else 1) if ddof is None else ddof
    product = matmul(centred, apply("conjugate", reshaping.swapaxes(centred, 0, 1)))
    # Without degrees of freedom it is infinite, and NaN times zero.
    freedom = apply("cwise_max", cast(as_tensor(variables.shape[1] - less), wide.part), 0)
    found = reshaping.squeeze(product, _ones(product)) * cast(apply("div", 1.0, freedom), product.element.part)
    found.boxed = True
    return found


def _variables(m: Any, rowvar: bool) -> Tensor:
    m = as_tensor(m)
    if m.ndim > 2:
        raise OpError(f"np.cov takes a vector or a matrix, not {m.user_type}", code="TX0103")
    if m.ndim < 2:
        return reshaping.reshape(m, 1, -1)
    return m if rowvar else reshaping.swapaxes(m, 0, 1)


def _ones(t: Tensor) -> tuple[int, ...]:
    """The dims of the covariance of one variable with itself, which NumPy gives as a scalar."""
    return (0, 1) if t.dims[0].const == 1 else ()


@handles(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return c / c
    deviations = apply("sqrt", apply("real", c.diagonal()))
    found = c / reshaping.expand_dims(deviations, 1) / deviations
    return found if found.element.is_complex else apply("clip", found, -1, 1)
