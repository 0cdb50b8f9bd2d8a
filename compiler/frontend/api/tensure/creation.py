"""Tensors from numbers, nested lists and other tensors: the document's *Creating tensors*."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....dialects.registry import OpError
from .....dialects.types import DType
from ....diagnostics import located
from ...numpy import creation
from ...tensor.apply import tensor_of_array
from ...tensor.promotion import cast
from ...tensor.tensor import Tensor
from ...trace.emit import constant
from ...trace.symint import SymInt
from .arguments import depth_of, element_of, number, sizes_of, tensor
from .storage import wrapped

__all__ = ["array", "clone", "filled", "matrix", "ones", "scalar", "scalar_array", "zeros"]

#: A whole number up to this is part of the compiled code, so that a power of 2 is a product.  Others are data: a rate
#: that changes from step to step must not compile anew.
_LITERAL = 16


def array(data: Any, dtype: Any = None) -> Tensor:
    """A new tensor of a number, of nested lists of numbers, of a NumPy array, or of a tensor, which is copied.

    The shape is that of `data`; the dtype f32 unless `dtype` says f64 (a tensor keeps its own).  TxcError for lists
    that are ragged, for what holds no real numbers, and for other dtypes.
    """
    with located():
        if isinstance(data, Tensor):
            made = tensor(data, "array")
            depth = depth_of(made)
            return wrapped(made if dtype is None else cast(made, element_of(dtype, "array")), depth)
        return wrapped(_data(data, element_of(dtype, "array"), "array"))


def _data(data: Any, element: DType, name: str) -> Tensor:
    if isinstance(data, SymInt):
        return cast(data.tensor(), element)
    if isinstance(data, (int, float)) and float(data).is_integer() and -_LITERAL <= data <= _LITERAL:
        return Tensor(constant(float(data), element))
    try:
        found = np.asarray(data)
    except ValueError as error:
        raise OpError(
            f"{name}: the nested lists are ragged: {error}", "give all of a level one length", "TX0807"
        ) from None
    if found.dtype.kind not in "biuf":
        raise OpError(f"{name} takes numbers, not {data!r}", "tensors and lists of real numbers", "TX0807")
    return tensor_of_array(found.astype(element.numpy))


def scalar(n: Any, dtype: Any = None) -> Tensor:
    """A new scalar, a tensor of shape [], of the number `n`; f32 unless `dtype` says f64.

    TxcError for what is no number.
    """
    with located():
        if isinstance(n, (Tensor, bool)) or not isinstance(n, (int, float, np.number, SymInt)):
            raise OpError(f"scalar takes a number, not a {type(n).__name__}", "array takes lists and tensors", "TX0803")
        return array(n, dtype)


#: The same function: the document has both names.
scalar_array = scalar


def matrix(data: Any, dtype: Any = None) -> Tensor:
    """A new tensor of two dims, of a list of lists of numbers or a NumPy array; f32 unless `dtype` says f64.

    TxcError for data of another rank, and as `array`.
    """
    with located():
        made = array(data, dtype)
        if made.ndim != 2:
            raise OpError(f"matrix takes data of 2 dims, not of {made.ndim}", "array takes any", "TX0807")
        return made


def _full(shape: Any, value: Any, dtype: Any, name: str) -> Tensor:
    return wrapped(creation.full(sizes_of(shape, name), value, element_of(dtype, name).numpy))


def zeros(shape: Any, dtype: Any = None) -> Tensor:
    """A new tensor of `shape` (a list of sizes; None or [] is a scalar's) full of 0; f32 unless `dtype` says f64.

    TxcError for what is no shape.
    """
    with located():
        return _full(shape, 0.0, dtype, "zeros")


def ones(shape: Any, dtype: Any = None) -> Tensor:
    """A new tensor of `shape` (a list of sizes; None or [] is a scalar's) full of 1; f32 unless `dtype` says f64.

    TxcError for what is no shape.
    """
    with located():
        return _full(shape, 1.0, dtype, "ones")


def filled(shape: Any, n: Any, dtype: Any = None) -> Tensor:
    """A new tensor of `shape` full of `n`, a number or a scalar; f32 unless `dtype` says f64.

    TxcError for what is no shape or no number.
    """
    with located():
        return _full(shape, number(n, "filled"), dtype, "filled")


def clone(a: Any) -> Tensor:
    """A new tensor with the elements, the shape and the dtype of `a`, and data of its own.  TxcError for no tensor."""
    with located():
        x = tensor(a, "clone")
        depth = depth_of(x)
        return wrapped(x, depth)
