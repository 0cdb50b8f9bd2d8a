"""Least squares by singular values: np.linalg.lstsq, and np.polyfit over it."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np

from ......dialects.registry import RAISE, OpError
from ......dialects.types import DTYPES
from ....tensor.apply import apply, as_tensor
from ....tensor.broadcasting import equally_long
from ....tensor.methods import elements, reducing, reshaping
from ....tensor.promotion import cast, common_dtype
from ....tensor.tensor import Tensor
from ....trace.context import current
from ...creation import zeros
from ..creation.arrays import vander
from ..registry import handles
from .factorizations import matrices, svd, usual_share
from .products import matmul

__all__: list[str] = []


def _solved(a: Tensor, b: Tensor, share: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The shortest of the best solutions, the rank and the singular values.

    Values up to that share of the largest count as zero.
    """
    u, values, vh = svd(a, False)
    share = cast(as_tensor(share), values.element)
    above = values > reducing.reduce("maximum", values, -1, keepdims=True) * share
    inverse = apply("select", above, 1 / values, cast(as_tensor(0.0), values.element))
    turned = matmul(apply("conjugate", reshaping.swapaxes(u, -1, -2)), b) * reshaping.expand_dims(inverse, -1)
    solution = matmul(apply("conjugate", reshaping.swapaxes(vh, -1, -2)), turned)
    return solution, reducing.reduce("sum", above, -1), values


@handles(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Solution, residuals, rank and singular values, computed in double precision as NumPy does.

    NumPy has no residuals of matrices of lower rank, a size that is a value: a program that uses them raises then.
    """
    a, b = matrices(a, "lstsq", False), as_tensor(b)
    if a.ndim != 2 or b.ndim not in (1, 2):
        raise OpError(f"np.linalg.lstsq takes a matrix, and a vector or matrix, not {a.user_type} and {b.user_type}",
                      "write a loop over the matrices of a stack", "TX0103")  # fmt: skip
    element, vector = common_dtype([a, b]), b.ndim == 1
    wide = DTYPES["c128" if element.is_complex else "f64"]
    a, b = cast(a, wide), cast(reshaping.expand_dims(b, 1) if vector else b, wide)
    a, b = equally_long(a, 0, b, 0, "Incompatible dimensions", "LinAlgError")
    if rcond is None:
        rcond = usual_share(a)
    elif isinstance(rcond, (int, float)) and rcond < 0:
        rcond = float(np.finfo(np.float64).eps)
    solution, rank, values = _solved(a, b, rcond)
    residuals = _residuals(a, b, solution, rank)
    solution = cast(reshaping.squeeze(solution, 1) if vector else solution, element)
    return solution, cast(residuals, element.part), cast(rank, DTYPES["i32"]), cast(values, element.part)


def _residuals(a: Tensor, b: Tensor, solution: Tensor, rank: Tensor) -> Tensor:
    """The sums of squares, of each column of `b`; none where `a` has no more rows than columns."""
    more_rows = a.shape[0] > a.shape[1]
    at_run_time = isinstance(more_rows, Tensor)
    if not at_run_time and not more_rows:
        return zeros(0, b.element.part)
    sums, full_rank = _squares(b - matmul(a, solution)), apply("equal", rank, a.shape[1])
    if not at_run_time:
        return sums + _zero_where(full_rank)
    sums = sums + _zero_where(apply("logical_or", full_rank, apply("logical_not", more_rows)))
    return sums[: apply("select", more_rows, b.shape[1], 0)]


def _squares(rest: Tensor) -> Tensor:
    return reducing.reduce("sum", apply("square", apply("abs", rest)), 0)


def _zero_where(full_rank: Tensor) -> Tensor:
    """0 where it holds; else there is no solution x of ``0 * x = 0``, and a call that uses it raises LinAlgError."""
    factor = reshaping.reshape(cast(full_rank, DTYPES["f64"]), (1, 1))
    trace = current()
    with nullcontext() if trace is None else trace.only_if_used():
        return reshaping.reshape(apply("eliminate", factor, zeros((1, 1)), mode=RAISE)[0], ())


@handles(np.polyfit)
def polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: Any = False, w: Any = None, cov: Any = False) -> Any:
    """The coefficients of the polynomial that fits best, the highest power first."""
    if full or cov:
        name, value = ("full", full) if full else ("cov", cov)
        raise OpError(f"np.polyfit does not take {name}={value!r} here", "use np.linalg.lstsq of np.vander", "TX0240")
    if not isinstance(deg, (int, np.integer)):
        raise OpError(
            "np.polyfit of a degree that is known only at run time or is a list", "give it a number", "TX0240"
        )
    if deg < 0:
        raise ValueError("expected deg >= 0")
    x, y = (
        t if t.element.is_float or t.element.is_complex else elements.astype(t, "f64") for t in map(as_tensor, (x, y))
    )
    if x.ndim != 1 or y.ndim not in (1, 2):
        raise TypeError("expected 1D vector for x" if x.ndim != 1 else "expected 1D or 2D array for y")
    empty = x.shape[0] == 0
    if isinstance(empty, Tensor):
        x = apply("require", x, apply("logical_not", empty), text="expected non-empty vector for x", error="TypeError")
    elif empty:
        raise TypeError("expected non-empty vector for x")
    x, y = equally_long(x, 0, y, 0, "expected x and y to have same length", "TypeError")
    share = x.shape[0] * float(np.finfo(x.element.part.numpy).eps) if rcond is None else rcond
    left, right = vander(x, int(deg) + 1), y
    if w is not None:
        weights = as_tensor(w)
        weights = weights if weights.element.is_float else elements.astype(weights, "f64")
        if weights.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        weights, right = equally_long(weights, 0, right, 0, "expected w and y to have the same length", "TypeError")
        left = left * reshaping.expand_dims(weights, 1)
        right = right * (reshaping.expand_dims(weights, 1) if y.ndim == 2 else weights)
    scale = apply("sqrt", reducing.reduce("sum", left * left, 0))
    vector = right.ndim == 1
    element = common_dtype([left, right])
    right = cast(reshaping.expand_dims(right, 1) if vector else right, element)
    found = _solved(cast(left / scale, element), right, share)[0] / reshaping.expand_dims(scale, 1)
    return reshaping.squeeze(found, 1) if vector else found
