"""NumPy's functions on running totals, shifts and windows, in terms of ops and methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from ......dialects.dims.dims import Dim, dim
from ......dialects.registry import OpError
from ....staging.calls.functional import cond
from ....tensor.apply import apply, as_tensor
from ....tensor.methods import reducing, reshaping
from ....tensor.tensor import Tensor
from ....trace.context import current, table
from ....trace.symint import as_dim
from ...creation import full
from ...out_arrays import into
from ..registry import FUNCTIONS, handles

__all__ = ["cumulative_prod", "cumulative_sum"]


def _cumulative(name: str) -> Any:
    def cumulative(
        x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: Any = False
    ) -> Any:
        x = as_tensor(x)
        if axis is None:
            if x.ndim != 1:
                raise OpError(f"{name} of {x.user_type} needs an axis", code="TX0101")
            axis = 0
        if not include_initial:
            return reducing.scan(name, x, axis, dtype, out)
        axis = reshaping.axis_of(axis, x.ndim)
        shape = list(x.shape)
        shape[axis] = 1
        running = reducing.scan(name, x, axis, dtype)
        start = full(shape, {"cumsum": 0, "cumprod": 1}[name], running.dtype)
        return into(out, apply("concatenate", start, running, axis=axis))

    return cumulative


cumulative_sum, cumulative_prod = _cumulative("cumsum"), _cumulative("cumprod")
FUNCTIONS |= {np.cumulative_sum: cumulative_sum, np.cumulative_prod: cumulative_prod}


@handles(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """NumPy's: the kernel reversed, so that both sides may change places; the longer one is the input."""
    a, v = as_tensor(a), as_tensor(v)
    if a.ndim != 1 or v.ndim != 1:
        raise OpError(f"np.convolve takes vectors, got {a.user_type} and {v.user_type}", code="TX0120")
    if mode not in ("full", "same", "valid"):
        raise OpError(f"np.convolve does not take mode={mode!r}", "it is full, same or valid", "TX0240")
    for name, x in (("a", a), ("v", v)):
        if table().decide(x.dims[0], "==", dim(0), "np.convolve"):
            raise ValueError(f"{name} cannot be empty")
    if table().decide(a.dims[0], "<", v.dims[0], "np.convolve") is True:
        a, v = v, a
    around = {"full": (v.dims[0] - 1,) * 2, "same": (v.dims[0] // 2, (v.dims[0] - 1) // 2), "valid": (0, 0)}[mode]
    if not (v.element.is_float or v.element.is_complex) or all(n == 0 for n in around):
        return _over_padding(a, v, around)
    if current() is None:  # which of the two it is, is asked now: of the elements that it then goes by
        v = as_tensor(np.array(v))
    return cond(
        reducing.reduce("all", apply("isfinite", v)), lambda: _over_padding(a, v, around), lambda: _inside(a, v, around)
    )


def _over_padding(a: Tensor, v: Tensor, around: tuple[Dim, Dim]) -> Any:
    """The convolution of `a` with zeros around it: for kernels of which no element times zero is anything else."""
    return apply("convolve", apply("pad", a, pairs=around), apply("reverse", v, flags=(True,)), dims=(0,))


def _inside(a: Tensor, v: Tensor, around: tuple[Dim, Dim]) -> Any:
    """The same without the products of zeros around `a`, which takes a comparison an element."""
    sizes = (v.dims[0],)
    inside = full(a.shape, True, "bool")
    under, counts = (apply("windows", apply("pad", x, pairs=around), sizes=sizes, dims=(0,)) for x in (a, inside))
    kernel = reshaping.expand_dims(apply("reverse", v, flags=(True,)), 1)
    return reducing.reduce("sum", apply("select", counts, apply("mul", under, kernel), 0), 0)


@handles(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """NumPy's: where `v` is the longer one, the result with the two exchanged, reversed and conjugated."""
    a, v = as_tensor(a), as_tensor(v)
    if a.ndim != 1 or v.ndim != 1:
        raise OpError(f"np.correlate takes vectors, got {a.user_type} and {v.user_type}", code="TX0120")
    if table().decide(a.dims[0], "<", v.dims[0], "np.correlate") is True:
        found = apply("reverse", correlate(v, a, mode), flags=(True,))
        return apply("conjugate", found) if found.element.is_complex else found
    v = apply("conjugate", v) if v.element.is_complex else v
    return convolve(a, apply("reverse", v, flags=(True,)), mode)


@handles(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: Any = False, writeable: Any = False
) -> Any:
    x = as_tensor(x)
    if writeable:
        raise OpError("sliding_window_view does not take 'writeable' here", "make a copy first", "TX0240")
    sizes = window_shape if isinstance(window_shape, (tuple, list)) else (window_shape,)
    along = range(x.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    dims = tuple(reshaping.axis_of(d, x.ndim) for d in along)
    if any(table().decide(x.dims[d], "<", as_dim(n), "sliding_window_view") for d, n in zip(dims, sizes)):
        raise ValueError("window shape cannot be larger than input array shape")
    windows = apply("windows", x, sizes=tuple(sizes), dims=dims)
    return reshaping.moveaxis(windows, tuple(range(len(dims))), tuple(range(x.ndim, x.ndim + len(dims))))
