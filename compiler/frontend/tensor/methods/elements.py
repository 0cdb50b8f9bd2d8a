"""Methods on elements: other dtypes and copies of them, one of them as a number, and what they are limited to."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....dialects.dims.dims import dim
from .....dialects.registry import OpError
from .....dialects.types import DType, dtype
from ...numpy.out_arrays import into
from ...scalars.python_numbers import as_float, as_int
from ...trace.context import current, table
from ..apply import apply, as_tensor
from ..broadcasting import data_dependent_sizes
from ..promotion import cast
from ..tensor import Tensor
from ..views import view_or_copy
from .reshaping import ravel, with_dims

__all__ = ["astype", "checked_cast", "clip", "conjugate", "copy", "element_named", "fill", "item", "view"]


def element_named(spec: Any) -> DType:
    """An element type as the user gives it.  OpError for what is none, and for texts that NumPy reads otherwise."""
    if isinstance(spec, str) and spec in ("i8", "u8"):
        kind = "int" if spec == "i8" else "uint"
        hint = f"pass np.{kind}8 or np.{kind}64"
        raise OpError(f"{spec!r} is of 8 bits in txc's names and of 8 bytes in NumPy's", hint, "TX0205")
    try:
        return dtype(spec)
    except TypeError as error:
        raise OpError(str(error), code="TX0205") from error


def astype(
    x: Tensor, dtype: Any, order: Any = None, casting: str = "unsafe", subok: Any = None, copy: Any = None
) -> Tensor:
    element = checked_cast(x, element_named(dtype), casting)
    if view_or_copy.is_number(x):
        return cast(x, element)
    if copy is not None and not copy and element is x.element and not x.weak and order in (None, "K"):
        return x
    return view_or_copy.copied(cast(x, element), "K" if order is None else order)


def checked_cast(x: Tensor, element: DType, casting: str) -> DType:
    """`element`, where NumPy's rule `casting` lets `x` become it; else OpError."""
    try:
        allowed = np.can_cast(x.element.numpy, element.numpy, casting)  # pyright: ignore[reportArgumentType]
    except ValueError as error:
        raise OpError(str(error), code="TX0240") from error
    if not allowed:
        raise OpError(f"casting {x.element} to {element} is not {casting!r}", 'casting="unsafe" allows it', "TX0222")
    return element


def view(x: Tensor, dtype: Any = None) -> Tensor:
    """All of it under another name, which may get another shape, or see integers of the same width in the same bits."""
    if dtype is not None and (element := element_named(dtype)) is not x.element:
        if not element.is_integer or not (x.element.is_integer or x.element.kind == "bool"):
            raise _no_view(x, dtype)
        if element.bytes != x.element.bytes:
            raise _no_view(x, dtype)
        return cast(x, element) if view_or_copy.is_number(x) else x.functions.BitsView(x, element)
    return x if view_or_copy.is_number(x) else x._view(None, {})


def _no_view(x: Tensor, dtype: Any) -> OpError:
    text = f"view of {x.user_type} as {dtype!r} is not supported"
    return OpError(text, "astype converts the numbers", "TX0240")


def copy(x: Tensor, order: Any = "C") -> Tensor:
    """The same value with storage of its own; numbers have none."""
    return x if view_or_copy.is_number(x) else view_or_copy.copied(x, order)


def item(x: Tensor, *at: Any) -> Any:
    """The element of an array that has one, or the one at a place, as a number of Python's.

    The place is an index for each dim, a tuple of such, or the number of the element in row-major order.
    """
    if at:
        place = at[0] if len(at) == 1 else at
        return item(x[place] if isinstance(place, tuple) else ravel(x)[place])
    trace = current()
    if not x.ndim:
        if trace is None or x.weak:
            return x
        if x.element.kind == "bool":
            return Tensor(x.value, weak="bool")
        if x.element.is_complex:
            return Tensor(cast(x, dtype("c128")).value, weak="complex")
        return as_int(x) if x.element.is_integer else as_float(x)
    if trace is not None and trace.is_bound(x.type.size):
        one = data_dependent_sizes().stored(
            ravel(x), (dim(1),), "can only convert an array of size 1 to a Python scalar", ones=False
        )
        return item(with_dims(one, ()))
    if all(table().decide(d, "==", 1, "item() of one element") for d in x.dims):
        return item(with_dims(x, ()))
    raise OpError(f"item() takes a tensor of one element, not {x.user_type}", code="TX0242")


def fill(x: Tensor, value: Any) -> None:
    x[...] = value


def conjugate(x: Tensor) -> Tensor:
    """NumPy's method, which gives an array of real numbers itself."""
    return apply("conjugate", x) if x.element.is_complex or not (x.ndim or x.boxed) else x


#: The ufunc that np.clip is.
_CLIP = np._core.umath.clip  # pyright: ignore[reportAttributeAccessIssue]


def clip(x: Tensor, min: Any = None, max: Any = None, out: Any = None, lo: Any = None, hi: Any = None) -> Any:
    lo, hi = lo if min is None else min, hi if max is None else max
    if lo is None and hi is None:
        return into(out, apply("positive", x), np.positive, broadcasts=True)
    f = np.maximum if hi is None else np.minimum if lo is None else _CLIP
    if lo is None or hi is None:
        name = "cwise_max_propagate" if hi is None else "cwise_min_propagate"
        result = apply(name, x, lo if hi is None else hi)
    else:
        bools = all(as_tensor(t).element.kind == "bool" for t in (x, lo, hi))
        within = apply("cwise_max_propagate", x, lo) if bools else x
        result = apply("cwise_min_propagate", within, hi) if bools else apply("clip", x, lo, hi)
        if result.element.is_float and not as_tensor(lo).ndim and not as_tensor(hi).ndim:
            # A zero that equals a bound keeps its sign, as in NumPy and Eigen; bounds that are arrays give theirs.
            result = apply("select", apply("equal", result, x), x, result)
    return into(out, result, f, broadcasts=True)
