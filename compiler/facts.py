"""The facts of a call: what is known of each argument before anything is compiled, and so may select a version.

For an array its dtype, rank and stride class; for a Python or NumPy scalar its kind; for anything else its value.
Sizes are not facts.  Arguments inside tuples, lists and dicts count one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..dialects.dims import Dim, dim, sym
from ..dialects.registry import OpError
from ..dialects.types import DType, dtype

__all__ = ["Argument", "StrideClass", "classify", "describe_strides", "stride_class", "stride_dims"]

#: ``None``: packed, row-major.  ``("packed", 1, 0)``: packed, dims stored in that order.  Else one of 0, 1, "s" a dim.
StrideClass: TypeAlias = tuple[Any, ...] | None

_INT_LIMIT = 1 << 63


@dataclass(slots=True)
class Argument:
    """One leaf of a call.  `kind`: ``array``, ``scalar``, ``int`` or ``static``; `key` is its facts, hashable.

    `value` is what the compiled code gets: the array in native, aligned form (`original` where that is a copy), its
    dims in the order of the graph (reversed for ``layout="col"``).
    """

    kind: str
    key: tuple[Any, ...]
    value: Any
    dtype: DType | None = None
    strides: StrideClass = None
    weak: str = ""
    layout: str = "row"
    original: Any = None


def classify(x: Any, name: str) -> Argument:
    """The facts of one leaf.  Raises OpError, which names the argument, for what compiled code cannot take."""
    if isinstance(x, np.ndarray):
        return _array(x, name)
    if isinstance(x, bool):
        return Argument("scalar", ("bool",), np.bool_(x), dtype(bool), weak="bool")
    if isinstance(x, int):
        if not -_INT_LIMIT <= x < _INT_LIMIT:
            raise OpError(f"argument {name!r} does not fit 64 bits", code="TX0302")
        return Argument("int", ("int",), x)
    if isinstance(x, float):
        return Argument("scalar", ("float",), np.float64(x), dtype(np.float64), weak="float")
    if isinstance(x, np.generic):
        element = _element(x.dtype, name)
        return Argument("scalar", ("scalar", element.name), x, element)
    if x is None or isinstance(x, (str, bytes, type, np.dtype, slice, type(Ellipsis))) or callable(x):
        return Argument("static", ("static", _static_key(x)), x)
    from .frontend.tensor import Tensor

    if isinstance(x, Tensor):
        made = _array(np.asarray(x.T if x.layout == "col" else x), name)
        made.layout, made.key = x.layout, ("tensor", x.layout, *made.key)
        return made
    raise OpError(
        f"argument {name!r} is a {type(x).__name__}, which compiled code cannot take",
        "it takes arrays, numbers, strings, None, functions, and tuples, lists and dicts of these",
        "TX0301",
    )


def _static_key(x: Any) -> Any:
    return (x.start, x.stop, x.step) if isinstance(x, slice) else x


def _array(x: np.ndarray, name: str) -> Argument:
    if type(x) is not np.ndarray:
        if isinstance(x, np.ma.MaskedArray):
            raise OpError(f"argument {name!r} is a masked array", "its mask would be lost; pass its data", "TX0303")
        x = x.view(np.ndarray)
    if not x.dtype.isnative or not x.flags.aligned or any(s % x.itemsize for s in x.strides):
        element = _element(x.dtype.newbyteorder("="), name)
        return Argument(
            "array", ("array", element.name, x.ndim, None), np.array(x, element.numpy, order="C"), element, original=x
        )
    element = _element(x.dtype, name)
    strides = stride_class(x)
    return Argument("array", ("array", element.name, x.ndim, strides), x, element, strides)


def _element(element: np.dtype[Any], name: str) -> DType:
    try:
        return dtype(element)
    except TypeError as error:
        raise OpError(f"argument {name!r}: {error}", code="TX0205") from error


def stride_class(x: np.ndarray) -> StrideClass:
    """How an aligned array is stored, sizes left out."""
    if x.flags.c_contiguous:
        return None
    steps = x.strides
    order = tuple(sorted(range(x.ndim), key=lambda d: -steps[d]))
    if x.transpose(order).flags.c_contiguous:
        return ("packed", *order)
    unit = x.itemsize
    return tuple(0 if s == 0 else 1 if s == unit else "s" for s in steps)


def stride_dims(name: str, strides: StrideClass, dims: tuple[Dim, ...]) -> tuple[Dim, ...] | None:
    """The strides, in elements, of an input of these dims: symbols ``$name.s0`` where only the call knows them."""
    if strides is None:
        return None
    if strides[0] == "packed":
        made: dict[int, Dim] = {}
        running = dim(1)
        for d in reversed(strides[1:]):
            made[d] = running
            running = running * dims[d]
        return tuple(made[d] for d in range(len(dims)))
    return tuple(sym(f"${name}.s{i}") if s == "s" else dim(s) for i, s in enumerate(strides))


def describe_strides(strides: StrideClass) -> str:
    """For `explain`."""
    if strides is None:
        return "packed"
    if strides[0] == "packed":
        return f"packed in the order {strides[1:]}"
    return f"strides ({', '.join('any' if s == 's' else str(s) for s in strides)})"
