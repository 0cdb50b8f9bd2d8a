"""Norms and products of `np.linalg`."""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from ......dialects.registry import OpError
from ....tensor.apply import apply, as_tensor
from ....tensor.methods import elements, reducing, reshaping
from ....tensor.tensor import Tensor
from ...creation import eye
from ...out_arrays import into_acceptable
from ..registry import handles
from .einsum import einsum
from .factorizations import inv, svdvals
from .products import matmul, outer

__all__ = ["matrix_norm", "norm", "vector_norm"]


def _inexact(x: Any) -> Tensor:
    x = as_tensor(x)
    return x if x.element.is_float or x.element.is_complex else elements.astype(x, "f64")


def _vector_norm(x: Tensor, ord: Any, axis: Any, keepdims: bool) -> Tensor:
    magnitude = apply("abs", x)
    if ord in (np.inf, -np.inf):
        return reducing.reduce("maximum" if ord > 0 else "minimum", magnitude, axis, keepdims=keepdims)
    if ord == 0:
        count = reducing.reduce("sum", apply("not_equal", x, 0), axis, keepdims=keepdims)
        return apply("cast", count, dtype=magnitude.element)
    if ord == 1:
        return reducing.reduce("sum", magnitude, axis, keepdims=keepdims)
    if ord is None or ord == 2:
        return apply("sqrt", reducing.reduce("sum", apply("square", magnitude), axis, keepdims=keepdims))
    if isinstance(ord, str):
        raise OpError(f"np.linalg.norm does not take ord={ord!r} for vectors", code="TX0240")
    return reducing.reduce("sum", apply("pow", magnitude, ord), axis, keepdims=keepdims) ** (1.0 / ord)


def _matrix_norm(x: Tensor, ord: Any, axis: tuple[int, int], keepdims: bool) -> Tensor:
    rows, columns = (reshaping.axis_of(a, x.ndim) for a in axis)
    if ord is None or ord == "fro":
        return _vector_norm(x, 2, (rows, columns), keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        # The sums along one dim of the two, and of these the largest or smallest.
        along, across = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = reducing.reduce("sum", apply("abs", x), along, keepdims=True)
        found = reducing.reduce("maximum" if ord > 0 else "minimum", sums, across, keepdims=True)
        return found if keepdims else reshaping.squeeze(found, (rows, columns))
    if ord in (2, -2, "nuc"):
        last = reshaping.moveaxis(x, (rows, columns), (-2, -1))
        name = "sum" if ord == "nuc" else "maximum" if ord == 2 else "minimum"
        found = reducing.reduce(name, svdvals(last), -1)
        return reshaping.expand_dims(found, (rows, columns)) if keepdims else found
    raise OpError(f"np.linalg.norm does not take ord={ord!r} for matrices",
                  "it takes 'fro', 'nuc', 1, -1, 2, -2, inf and -inf", "TX0240")  # fmt: skip


@handles(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x = _inexact(x)
    if axis is None and (ord is None or (ord in ("fro", 2) and x.ndim == (2 if ord == "fro" else 1))):
        return _vector_norm(x, 2, None, keepdims)
    axes = tuple(range(x.ndim)) if axis is None else tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    if len(axes) == 1:
        return _vector_norm(x, ord, axes[0], keepdims)
    if len(axes) == 2:
        return _matrix_norm(x, ord, (axes[0], axes[1]), keepdims)
    raise OpError(f"np.linalg.norm of {len(axes)} dims of {x.user_type}", "give it one axis or two", "TX0101")


@handles(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, ord: Any = 2, keepdims: bool = False) -> Any:
    return _vector_norm(_inexact(x), ord, axis, keepdims)


@handles(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, ord: Any = "fro", keepdims: bool = False) -> Any:
    return _matrix_norm(_inexact(x), ord, (-2, -1), keepdims)


@handles(np.linalg.matrix_power)
def matrix_power(a: Any, n: int) -> Any:
    """A matrix to a power by squaring; its inverse to the opposite one where that is negative."""
    a = as_tensor(a)
    if n < 0:
        return matrix_power(inv(a), -n)
    if n == 0:
        one = eye(a.shape[-1], dtype=a.dtype)
        return reshaping.broadcast(one, a.shape)
    result = None
    while n:
        if n & 1:
            result = a if result is None else matmul(result, a)
        n >>= 1
        a = matmul(a, a) if n else a
    return result


@handles(np.linalg.multi_dot)
def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    """Products in an order that costs little: see `einsum` for what it is chosen by."""
    tensors = [as_tensor(a) for a in arrays]
    if len(tensors) < 2:
        raise OpError("np.linalg.multi_dot needs at least two arrays", code="TX0133")
    ranks = [t.ndim for t in tensors]
    if not {ranks[0], ranks[-1]} <= {1, 2} or set(ranks[1:-1]) - {2}:
        listed = ", ".join(str(t.user_type) for t in tensors)
        raise OpError(f"np.linalg.multi_dot takes matrices, and vectors at its ends, not {listed}", code="TX0103")
    letters = [string.ascii_letters[i : i + 2] for i in range(len(tensors))]
    letters[0], letters[-1] = letters[0][-ranks[0] :], letters[-1][: ranks[-1]]
    ends = letters[0][: ranks[0] - 1] + letters[-1][1:]
    return into_acceptable(out, einsum(f"{','.join(letters)}->{ends}", *tensors))


@handles(np.linalg.outer)
def vector_outer(x1: Any, x2: Any, /) -> Any:
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise OpError(f"np.linalg.outer takes vectors, not {x1.user_type} and {x2.user_type}", code="TX0103")
    return outer(x1, x2)
