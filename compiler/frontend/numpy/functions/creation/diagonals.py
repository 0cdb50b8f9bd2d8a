"""Diagonals and triangles."""

from __future__ import annotations

from typing import Any

import numpy as np

from ......dialects.registry import OPS, OpError
from ....tensor.apply import apply, as_tensor
from ....tensor.broadcasting import broadcast_to
from ....tensor.methods import reducing, reshaping
from ....tensor.tensor import Tensor
from ...creation import iota
from ..registry import handles

__all__ = ["diag", "diagonal", "trace", "tril", "triu"]


@handles(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return reshaping.diagonal(as_tensor(a), offset, axis1, axis2)


@handles(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    return reducing.reduce("sum", diagonal(a, offset, axis1, axis2), -1, dtype, out)


@handles(np.linalg.diagonal)
def last_diagonal(x: Any, /, *, offset: int = 0) -> Any:
    return diagonal(x, offset, -2, -1)


@handles(np.linalg.trace)
def last_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return trace(x, offset, -2, -1, dtype)


def _offsets(x: Tensor) -> Tensor:
    """How far right of the main diagonal each element of the last two dims is."""
    rows, columns = x.dims[-2:]
    return apply("sub", iota(columns), reshaping.expand_dims(iota(rows), 1))


def _triangle(m: Any, relation: str, k: Any) -> Tensor:
    m = as_tensor(m)
    if m.ndim == 1:  # NumPy makes a matrix of equal rows
        m = broadcast_to(m, (m.dims[0], m.dims[0]))
    if not m.ndim:
        raise OpError("a triangle of a tensor of rank 0", code="TX0103")
    zero = apply("cast", 0, dtype=m.element)
    return apply("select", apply(relation, _offsets(m), k), m, zero)


@handles(np.tril)
def tril(m: Any, k: Any = 0) -> Tensor:
    return _triangle(m, "less_equal", k)


@handles(np.triu)
def triu(m: Any, k: Any = 0) -> Tensor:
    return _triangle(m, "greater_equal", k)


@handles(np.diag)
def diag(v: Any, k: int = 0) -> Tensor:
    """The matrix of a diagonal; of a matrix its diagonal."""
    v = as_tensor(v)
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise OpError(f"np.diag takes a vector or a matrix, not {v.user_type}", code="TX0103")
    # Row i holds element i: a vector padded on one side, repeated down the columns and cut by the diagonal.
    before, after = (0, k) if k >= 0 else (-k, 0)
    padded = apply("pad", v, pairs=((before, after),), fill=0)
    rows = reshaping.expand_dims(padded, 1)
    matrix = broadcast_to(rows, (padded.dims[0], padded.dims[0]))
    zero = apply("cast", 0, dtype=v.element)
    return apply("select", apply("equal", _offsets(matrix), k), matrix, zero)


@handles(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Tensor:
    return diag(reshaping.ravel(as_tensor(v)), k)


@handles(np.fill_diagonal)
def fill_diagonal(a: Any, val: Any) -> None:
    """Store a scalar along the main diagonal of a matrix."""
    if a.ndim != 2:
        raise OpError(f"np.fill_diagonal takes matrices here, not {a.user_type}", code="TX0240")
    Tensor.view_of(a, OPS["diagonal"], {"offset": 0})[...] = val


@handles(np.tril_indices_from)
def tril_indices_from(arr: Any, k: int = 0) -> Any:
    return _places(as_tensor(arr), np.tril_indices, k)


@handles(np.triu_indices_from)
def triu_indices_from(arr: Any, k: int = 0) -> Any:
    return _places(as_tensor(arr), np.triu_indices, k)


def _places(x: Tensor, indices: Any, k: int) -> tuple[Tensor, ...]:
    """The indices of a triangle, whose number follows from sizes: these become facts."""
    rows, columns = (int(n) for n in x.shape)
    return tuple(as_tensor(i) for i in indices(rows, k, columns))
