"""What follows from inverses and solutions: condition numbers, and equations of tensors as those of matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ......dialects.registry import OpError
from ....tensor.apply import apply, as_tensor
from ....tensor.methods import reducing, reshaping
from ....tensor.tensor import Tensor
from ..registry import handles
from .factorizations import inv, inverse, matrices, solve, svdvals
from .norms import matrix_norm

__all__ = ["cond", "tensorinv", "tensorsolve"]


@handles(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Tensor:
    """How much larger relative errors of solutions may be than those of `x`, by the norm `p`; None is 2."""
    a = matrices(x, "cond", p not in (None, 2, -2))
    if p in (None, 2, -2):
        values = svdvals(a)
        largest, least = values[..., 0], values[..., -1]
        found = least / largest if p == -2 else largest / least
    else:
        found = matrix_norm(a, ord=p) * matrix_norm(inverse(a), ord=p)
    # What is not defined of numbers is infinite.
    unknown = apply("logical_and", apply("isnan", found), ~reducing.reduce("any", apply("isnan", a), (-2, -1)))
    return apply("select", unknown, np.inf, found)


@handles(np.linalg.tensorinv)
def tensorinv(a: Any, ind: Any = 2) -> Tensor:
    """The inverse of ``tensordot(a, ·, ind)``; sizes before `ind` have the product of those from there on."""
    a = as_tensor(a)
    if not 0 < ind <= a.ndim:
        raise OpError(
            f"np.linalg.tensorinv: ind={ind} splits no dims of {a.user_type}", "it is from 1 to the rank", "TX0240"
        )
    rows, columns = a.shape[:ind], a.shape[ind:]
    return reshaping.reshape(inv(reshaping.reshape(a, (math.prod(rows), math.prod(columns)))), (*columns, *rows))


@handles(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Tensor:
    """The x of ``tensordot(a, x, x.ndim) == b``; `axes` of `a` are moved to its end first."""
    a, b = as_tensor(a), as_tensor(b)
    for axis in axes or ():
        a = reshaping.moveaxis(a, axis, -1)
    unknown = a.shape[b.ndim :]
    count = math.prod(unknown)
    return reshaping.reshape(solve(reshaping.reshape(a, (count, count)), reshaping.ravel(b)), unknown)
