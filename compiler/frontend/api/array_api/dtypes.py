"""Data types, their properties and conversions; constants."""

# The standard's names are those of builtins.
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from .....dialects.registry import OpError
from .....dialects.types import DTYPES
from .....dialects.types import dtype as element_of
from ....diagnostics import located
from ...tensor.apply import as_tensor
from ...tensor.methods import elements
from ...tensor.promotion import common_dtype
from ...tensor.tensor import Tensor
from .creation import on_device

__all__ = [
    "astype", "bool", "can_cast", "complex64", "complex128", "e", "finfo", "float16", "float32", "float64", "iinfo",
    "inf", "int8", "int16", "int32", "int64", "isdtype", "nan", "newaxis", "pi", "result_type", "uint8", "uint16",
    "uint32", "uint64",
]  # fmt: skip

e, inf, nan, pi, newaxis = math.e, math.inf, math.nan, math.pi, None

bool = DTYPES["bool"].numpy
int8, int16, int32, int64 = (DTYPES[f"i{n}"].numpy for n in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (DTYPES[f"u{n}"].numpy for n in (8, 16, 32, 64))
float16, float32, float64 = (DTYPES[f"f{n}"].numpy for n in (16, 32, 64))
complex64, complex128 = DTYPES["c64"].numpy, DTYPES["c128"].numpy

_KINDS = {
    "bool": ("bool",), "signed integer": ("int",), "unsigned integer": ("uint",), "integral": ("int", "uint"),
    "real floating": ("float",), "complex floating": ("complex",), "numeric": ("int", "uint", "float", "complex"),
}  # fmt: skip


@dataclass(frozen=True)
class FloatInfo:
    """Limits of a floating-point dtype; of a complex one, those of its parts."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class IntegerInfo:
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: np.dtype[Any]


def _element(type: Any) -> Any:
    return type.element if isinstance(type, Tensor) else elements.element_named(type)


def finfo(type: Any, /) -> FloatInfo:
    """Limits of a floating-point dtype, or of a tensor's.  TxcError for other dtypes."""
    with located():
        part = _element(type).part
        if not part.is_float:
            raise OpError(f"finfo is of floating-point dtypes, not of {part}", "iinfo is of integers", "TX0205")
        found = ml_dtypes.finfo(part.numpy)
        eps, largest, least, normal = (float(v) for v in (found.eps, found.max, found.min, found.smallest_normal))
        return FloatInfo(part.bits, eps, largest, least, normal, part.numpy)


def iinfo(type: Any, /) -> IntegerInfo:
    """Limits of an integer dtype, or of a tensor's.  TxcError for other dtypes."""
    with located():
        element = _element(type)
        if not element.is_integer:
            raise OpError(f"iinfo is of integer dtypes, not of {element}", "finfo is of floats", "TX0205")
        found = np.iinfo(element.numpy)
        return IntegerInfo(element.bits, int(found.max), int(found.min), element.numpy)


def isdtype(dtype: Any, kind: Any) -> Any:
    """Whether a dtype is another, or of a kind the standard names, or of any of a tuple of these."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    element = _element(dtype)
    if isinstance(kind, str):
        if kind not in _KINDS:
            with located():
                raise OpError(f"there is no kind {kind!r} of dtypes", f"there are {', '.join(_KINDS)}", "TX0205")
        return element.kind in _KINDS[kind]
    return element is _element(kind)


def _example(x: Any) -> Any:
    """A tensor to ask promotion about: of a dtype, of a Python scalar, or itself."""
    if isinstance(x, Tensor) or (type(x).__module__ == "builtins" and isinstance(x, (int, float, complex))):
        return as_tensor(x)
    return as_tensor(np.zeros((), _element(x).numpy))


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype that arithmetic of these gives; Python scalars are weak."""
    with located():
        return common_dtype([_example(x) for x in arrays_and_dtypes]).numpy


def can_cast(from_: Any, to: Any, /) -> Any:
    """Whether one dtype, or a tensor's, promotes to another: every value of it is one of the other."""
    with located():
        return np.can_cast(_element(from_).numpy, _element(to).numpy)


def astype(x: Any, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Tensor:
    """`x` in another dtype; with ``copy=False`` `x` itself, where it has that dtype already."""
    with located():
        on_device(device)
        x = as_tensor(x)
        if not copy and x.element is element_of(dtype):
            return x
        return elements.astype(x, dtype)
