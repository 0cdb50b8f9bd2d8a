"""NumPy's functions on running totals, shifts and windows, in terms of ops and methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....dialects.registry import OpError
from .. import methods
from ..apply import apply, as_tensor
from ..creation import full
from .table import FUNCTIONS, into

__all__ = []


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
            return methods.scan(name, x, axis, dtype, out)
        axis = methods._axis(axis, x.ndim)
        shape = list(x.shape)
        shape[axis] = 1
        running = methods.scan(name, x, axis, dtype)
        start = full(shape, {"cumsum": 0, "cumprod": 1}[name], running.dtype)
        return into(out, apply("concatenate", start, running, axis=axis))

    return cumulative


FUNCTIONS[np.cumulative_sum] = _cumulative("cumsum")
FUNCTIONS[np.cumulative_prod] = _cumulative("cumprod")
