"""NumPy's statistics of several variables, in terms of ops and methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dialects.registry import OpError
from ...dialects.types import DTYPES
from . import methods
from .apply import apply, as_tensor, cast
from .numpy_dispatch import matmul
from .numpy_functions import handles

__all__ = []


@handles(np.cov)
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, fweights: Any = None,
    aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    """The covariance of variables, each a row of `m` (``rowvar=False``: a column)."""
    for name, given in (("y", y), ("fweights", fweights), ("aweights", aweights)):
        if given is not None:
            raise OpError(f"np.cov does not take {name!r} here", "leave it out", "TX0240")
    x = as_tensor(m)
    element = methods._dtype(dtype) if dtype is not None else x.element if x.element.is_float else DTYPES["f64"]
    x = cast(x, element)
    if x.ndim > 2:
        raise OpError(f"np.cov takes a vector or a matrix, not {x.user_type}", code="TX0240")
    x = x if x.ndim == 2 else methods.reshape(x, [1, -1])
    x = x if rowvar else methods.transpose(x)
    count = x.shape[1] - ((0 if bias else 1) if ddof is None else ddof)
    apart = apply("sub", x, methods.reduce("mean", x, 1, keepdims=True))
    result = apply("div", matmul(apart, methods.transpose(apart)), count)
    return methods.squeeze(result) if as_tensor(m).ndim < 2 else result
