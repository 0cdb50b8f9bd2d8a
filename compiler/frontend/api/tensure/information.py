"""What tensors are, and whether two of them are equal or view the same data.

The source is the Tensure document, *Getting information about tensors*, *Views and mutation*, *Equality semantics*.
"""

from __future__ import annotations

from typing import Any

from .....dialects.registry import OpError
from ....diagnostics import located
from ...tensor.apply import apply
from ...tensor.methods import elements, reducing
from ...tensor.tensor import Tensor
from ...trace.context import current, table
from ...trace.symint import symint
from .arguments import axis_of, depth_of, tensor
from .storage import wrapped

__all__ = [
    "column_count", "dimension_count", "dimensionality", "ecount", "equals", "is_array", "is_matrix", "is_scalar",
    "is_vec", "rank", "row_count", "same_data", "shape",
]  # fmt: skip


def is_array(x: Any) -> bool:
    """Whether `x`, any object, is a tensor of f32 or f64 that these functions take."""
    try:
        tensor(x, "is_array")
    except OpError:
        return False
    return True


def rank(a: Any) -> int:
    """The number of dims of a tensor of any shape and dtype.  TxcError for no tensor."""
    with located():
        return tensor(a, "rank").ndim


def dimensionality(a: Any) -> int:
    """The number of dims of a tensor of any shape and dtype: `rank` by another name.  TxcError for no tensor."""
    with located():
        return tensor(a, "dimensionality").ndim


def shape(a: Any) -> list[Any]:
    """The sizes of a tensor of any shape and dtype as a list of ints, [] for a scalar.  TxcError for no tensor."""
    with located():
        return list(tensor(a, "shape").shape)


def is_scalar(a: Any) -> bool:
    """Whether a tensor, of any dtype, has the shape [].  TxcError for no tensor."""
    with located():
        return tensor(a, "is_scalar").ndim == 0


def is_vec(a: Any) -> bool:
    """Whether a tensor, of any dtype, has a shape of one dim.  TxcError for no tensor."""
    with located():
        return tensor(a, "is_vec").ndim == 1


def is_matrix(a: Any) -> bool:
    """Whether a tensor, of any dtype, has a shape of two dims.  TxcError for no tensor."""
    with located():
        return tensor(a, "is_matrix").ndim == 2


def _size(a: Any, axis: Any, name: str) -> Any:
    with located():
        x = tensor(a, name)
        return x.shape[axis_of(axis, x.ndim, name, x.shape)]


def dimension_count(a: Any, axis: Any) -> Any:
    """The size of dim `axis` of a tensor of any shape and dtype.  TxcError for an axis that it has not."""
    return _size(a, axis, "dimension_count")


def row_count(a: Any) -> Any:
    """The size of dim 0 of a tensor of any shape and dtype.  TxcError for a scalar, which has none."""
    return _size(a, 0, "row_count")


def column_count(a: Any) -> Any:
    """The size of dim 1 of a tensor of any shape and dtype.  TxcError where there is none."""
    return _size(a, 1, "column_count")


def ecount(a: Any) -> Any:
    """The number of elements of a tensor of any shape and dtype; 1 of a scalar.  TxcError for no tensor."""
    with located():
        return symint(tensor(a, "ecount").type.size)


def same_data(*tensors: Any) -> bool:
    """Whether tensors of any shapes and dtypes are views of one and the same data.

    TxcError for no tensors, and for what is none.
    """
    with located():
        if not tensors:
            raise OpError("same_data takes at least one tensor", code="TX0801")
        owners = [tensor(t, "same_data", i).owner()[0] for i, t in enumerate(tensors)]
        return all(o is owners[0] for o in owners)


def equals(a: Any, b: Any, eps: float | None = None) -> Any:
    """Whether two tensors have one shape and equal elements, or, given `eps`, elements that differ by `eps` at most.

    Of f32 or f64 and any shapes; a bool.  Inside a traced function a scalar tensor, 1.0 or 0.0.  NaN equals nothing.
    TxcError for what is no tensor.
    """
    with located():
        x, y = tensor(a, "equals"), tensor(b, "equals", 1)
        depth_of(x, y)
        facts = table()
        same_shape = x.ndim == y.ndim and all(
            facts.settle(m, "==", n, "equals") is not False for m, n in zip(x.dims, y.dims)
        )
        if not same_shape:
            return False if current() is None else elements.astype(apply("not_equal", 0.0, 0.0), "f32")
        if eps is None:
            near = apply("equal", x, y)
        else:
            near = apply("less_equal", apply("abs", apply("sub", x, y)), eps)
        every: Tensor = reducing.reduce("all", near)
        return bool(wrapped(every)._number("equals")) if current() is None else elements.astype(every, x.dtype)
