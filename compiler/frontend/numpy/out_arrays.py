"""``out=`` of NumPy's functions: where a result goes, and what NumPy raises where it does not fit.

A ufunc writes what its loop gives, cast by the rule `casting`, and lets the result broadcast to the array.  A reduction
takes an array of just its dims, and computes in that one's dtype.  Others take an array that could be read as their
result: one that casts to it safely.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy._core import _exceptions as ufunc_errors

from ....dialects.dims.dims import Dim
from ....dialects.types import DType
from ..tensor.apply import apply, as_tensor
from ..tensor.promotion import cast
from ..tensor.tensor import Tensor
from ..trace.context import current, table

__all__ = ["check_fits", "check_inexact", "fits", "into", "into_acceptable", "into_read", "reduced_as", "target_of"]


def target_of(out: Any) -> Tensor | None:
    """The array that results go to, from ``out=``: None, an array, or a tuple of one."""
    if isinstance(out, tuple) and len(out) == 1:
        (out,) = out
    if out is None or isinstance(out, Tensor):
        return out
    if not isinstance(out, np.ndarray):
        raise TypeError("return arrays must be of ArrayType")
    return as_tensor(out)


def into(
    out: Any, result: Any, f: Any = None, *, casting: str = "same_kind", where: Any = True, broadcasts: bool = False
) -> Any:
    """`result`, stored into `out` where there is one, and where `where` is true; then `out`.

    Raises TypeError where `casting` does not let the result become the array's dtype, a `UFuncTypeError` of a ufunc
    `f`, and ValueError where the array has other dims; where it `broadcasts`, dims of the result may be 1.
    """
    target = target_of(out)
    if target is None:
        return result
    result = as_tensor(result)
    if broadcasts:  # as ufuncs do, which look at dtypes first
        _check_cast(result, target.element, casting, f)
    check_fits(result, out, broadcasts)
    _check_cast(result, target.element, casting, f)
    return _stored(out, target, result, where)


def check_fits(result: Tensor, out: Any, broadcasts: bool = False) -> None:
    """ValueError where an array has other dims than a result that is to go there."""
    target = target_of(out)
    if target is not None and not _fits(result.dims, target.dims, broadcasts):
        shapes = f"{_shape(target)} doesn't match the broadcast shape {_shape(result)}"
        raise ValueError(f"non-broadcastable output operand with shape {shapes}")


def into_read(out: Any, result: Any, name: str) -> Any:
    """As `into`, of a function that takes `out` for an array of its result's dtype, and casts it back."""
    target = target_of(out)
    if target is None:
        return result
    result = as_tensor(result)
    if not _fits(result.dims, target.dims, False):
        raise ValueError(f"output array does not match result of {name}")
    if not np.can_cast(target.dtype, result.dtype, "safe"):
        rule = f"{target.dtype!r} to {result.dtype!r} according to the rule 'safe'"
        raise TypeError(f"Cannot cast array data from {rule}")
    return _stored(out, target, result, True)


def into_acceptable(out: Any, result: Any) -> Any:
    """As `into`, of a product, which takes an array that its own result could be."""
    target = target_of(out)
    if target is None:
        return result
    result = as_tensor(result)
    if target.element is not result.element or not _fits(result.dims, target.dims, False):
        text = "it must have the right type, nr dimensions, and be a C-Array"
        raise ValueError(f"output array is not acceptable ({text})")
    return _stored(out, target, result, True)


def reduced_as(x: Tensor, out: Any) -> Tensor:
    """The operand of a reduction that goes into `out`: NumPy computes in that one's dtype, whatever it is."""
    target = target_of(out)
    return x if target is None else cast(x, target.element)


def check_inexact(x: Tensor, out: Any) -> None:
    """TypeError where what leaves NaN out would go from floats into integers."""
    target = target_of(out)
    if target is not None and x.dtype.kind in "fc" and target.dtype.kind not in "fc":
        raise TypeError("If a is inexact, then out must be inexact")


def fits(result: Tensor, target: Tensor) -> bool:
    """Whether an array has just the dims of a result, as a fact of the call."""
    return _fits(result.dims, target.dims, False)


def _stored(out: Any, target: Tensor, result: Tensor, where: Any) -> Any:
    if current() is None and isinstance(out, np.ndarray):
        chosen = where if where is True else np.asarray(where, bool)
        np.copyto(out, np.asarray(result), casting="unsafe", where=chosen)
        return out
    target.store(result if where is True else apply("select", where, cast(result, target.element), target))
    return out if isinstance(out, Tensor) else target


def _check_cast(result: Tensor, element: DType, casting: str, f: Any) -> None:
    if np.can_cast(result.dtype, element.numpy, casting):  # pyright: ignore[reportArgumentType]
        return
    if isinstance(f, np.ufunc):
        rule: Any = casting
        raise ufunc_errors._UFuncOutputCastingError(f, rule, result.dtype, element.numpy, 0)
    raise TypeError(f"Cannot cast array data from {result.dtype!r} to {element.numpy!r} according to '{casting}'")


def _fits(result: tuple[Dim, ...], target: tuple[Dim, ...], broadcasts: bool) -> bool:
    """Whether a result of these dims can be stored, as a fact of the call; what varies with a loop the store checks."""
    facts = table()
    if len(result) > len(target) or (len(result) < len(target) and not broadcasts):
        return False
    for have, want in zip(result[::-1], target[::-1]):
        if have is not want and facts.decide(have, "==", want, "out=") is False:
            if not broadcasts or facts.decide(have, "==", 1, "out=") is False:
                return False
    return True


def _shape(t: Tensor) -> str:
    return str(tuple(table().hint(d) for d in t.dims)).replace(" ", "")
