"""Aggregates of all elements, and along axes: the document's *Reducing*."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .....dialects.dims.dims import dim
from ....diagnostics import located
from ...tensor.apply import apply
from ...tensor.methods import reducing, reshaping
from ...tensor.promotion import cast
from ...tensor.tensor import Tensor
from .arguments import axes_of, depth_of, tensor
from .storage import wrapped

__all__ = [
    "argmax_along", "argmin_along", "emax", "emean", "emin", "estdev", "esum", "max_along", "min_along", "sum_along",
]  # fmt: skip


def _of_all(a: Any, name: str, reduce: Callable[[Tensor], Tensor]) -> Tensor:
    with located():
        x = tensor(a, name)
        depth = depth_of(x)
        return wrapped(reduce(x), depth)


def emax(a: Any) -> Tensor:
    """The largest element of a tensor, any shape, f32 or f64, as a scalar; NaN where there is one.

    TxcError for a tensor without elements, and for no tensor.
    """
    return _of_all(a, "emax", lambda x: reducing.reduce("maximum", x))


def emin(a: Any) -> Tensor:
    """The smallest element of a tensor, any shape, f32 or f64, as a scalar; NaN where there is one.

    TxcError for a tensor without elements, and for no tensor.
    """
    return _of_all(a, "emin", lambda x: reducing.reduce("minimum", x))


def esum(a: Any) -> Tensor:
    """The sum of the elements of a tensor, any shape, f32 or f64, as a scalar.  TxcError for no tensor."""
    return _of_all(a, "esum", lambda x: reducing.reduce("sum", x))


def emean(a: Any) -> Tensor:
    """The mean of the elements of a tensor, any shape, f32 or f64, a scalar; NaN of none.  TxcError for no tensor."""
    return _of_all(a, "emean", lambda x: reducing.reduce("mean", x))


def estdev(a: Any) -> Tensor:
    """The standard deviation of the elements of a tensor, any shape, f32 or f64, as a scalar.

    It is that of a sample, as the document's library computes it: the squares are divided by one less than the number
    of elements, so that a vector of one gives NaN; a scalar has no deviation: 0.  TxcError for no tensor.
    """
    return _of_all(a, "estdev", lambda x: reducing.deviation(x, ddof=1 if x.ndim else 0))


def _along(a: Any, axes: Any, collapse: bool, name: str, op: str) -> Any:
    with located():
        x = tensor(a, name)
        along = axes_of(axes, x, name)
        if not along:
            return a
        depth = depth_of(x)
        return wrapped(reducing.reduce(op, x, along, keepdims=not collapse), depth)


def sum_along(a: Any, axes: Any, collapse: bool = True) -> Any:
    """The sums of a tensor of f32 or f64 along one axis, a list of axes, or all (None).

    Along no axis ([], or None of a scalar) it is `a` itself.  The shape is that of `a` without these dims; with
    ``collapse=False`` they are kept, of size 1.  TxcError for axes that it has not.
    """
    return _along(a, axes, collapse, "sum_along", "sum")


def max_along(a: Any, axes: Any, collapse: bool = True) -> Any:
    """The largest elements of a tensor of f32 or f64 along one axis, a list of axes, or all (None).

    Along no axis ([], or None of a scalar) it is `a` itself.  The shape is that of `a` without these dims; with
    ``collapse=False`` they are kept, of size 1.  TxcError for axes that it has not, and for axes without elements.
    """
    return _along(a, axes, collapse, "max_along", "maximum")


def min_along(a: Any, axes: Any, collapse: bool = True) -> Any:
    """The smallest elements of a tensor of f32 or f64 along one axis, a list of axes, or all (None).

    Along no axis ([], or None of a scalar) it is `a` itself.  The shape is that of `a` without these dims; with
    ``collapse=False`` they are kept, of size 1.  TxcError for axes that it has not, and for axes without elements.
    """
    return _along(a, axes, collapse, "min_along", "minimum")


def _where(a: Any, axes: Any, name: str, op: str) -> Tensor:
    with located():
        x = tensor(a, name)
        along = axes_of(axes, x, name) or tuple(range(x.ndim))
        depth = depth_of(x)
        kept = [i for i in range(x.ndim) if i not in along]
        count = dim(1)
        for i in along:
            count = count * x.dims[i]
        # One dim, the last, numbers the elements of all reduced dims in row-major order.
        last = reshaping.transpose(x, [*kept, *along]) if x.ndim else x
        merged = apply("reshape", last, dims=(*(x.dims[i] for i in kept), count))
        return wrapped(cast(apply(op, merged, dims=(len(kept),)), x.element), depth)


def argmax_along(a: Any, axes: Any) -> Tensor:
    """Where the largest elements of a tensor of f32 or f64 are along one axis, or a list of axes ([], None: all).

    The shape is that of `a` without these dims.  Along several the index counts their elements in row-major order; of
    equal elements the first counts.  Indices are floats, of the dtype of `a`: those of f32 are exact up to 2**24.
    TxcError for axes that it has not, and for axes without elements.
    """
    return _where(a, axes, "argmax_along", "argmax")


def argmin_along(a: Any, axes: Any) -> Tensor:
    """Where the smallest elements of a tensor of f32 or f64 are along one axis, or a list of axes ([], None: all).

    The shape is that of `a` without these dims.  Along several the index counts their elements in row-major order; of
    equal elements the first counts.  Indices are floats, of the dtype of `a`: those of f32 are exact up to 2**24.
    TxcError for axes that it has not, and for axes without elements.
    """
    return _where(a, axes, "argmin_along", "argmin")
