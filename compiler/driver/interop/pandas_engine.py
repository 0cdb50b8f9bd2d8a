"""``df.apply(f, engine=txc.jit, raw=True)`` and ``series.map(f, engine=txc.jit)``: pandas' protocol ``__pandas_udf__``.

Not `f` alone is compiled but the loop around it, so that all rows or elements are one call.  pandas itself is not
imported: it comes with the data.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

__all__ = ["PandasEngine"]


class PandasEngine:
    """What pandas calls, as `pandas.api.executors.BaseExecutionEngine` says it; `decorator` is what was given as
    ``engine=``."""

    @staticmethod
    def apply(
        data: Any, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], decorator: Callable[..., Any], axis: Any
    ) -> np.ndarray:
        """The results of `func` for each row (`axis` 1) or column (0) of an array, as `np.apply_along_axis` has them.

        TypeError for frames, of which it would get Series, and for arrays of objects.
        """
        if not callable(func):
            raise TypeError(f"engine=txc.jit compiles a function, not {func!r}: leave engine= out")
        if not isinstance(data, np.ndarray):
            raise TypeError("engine=txc.jit calls functions with arrays, not with Series: write raw=True")
        if data.dtype.kind not in "biufc":
            raise TypeError(
                f"engine=txc.jit computes with numbers, and the columns together are of dtype {data.dtype}: "
                "select those of numbers, or convert them with astype"
            )
        along = axis in (0, "index", "rows")
        made = _over_rows(func, decorator)(data.T if along else data, args, kwargs)
        return made.T if along else made

    @staticmethod
    def map(
        data: Any, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], decorator: Callable[..., Any],
        skip_na: bool,
    ) -> np.ndarray:  # fmt: skip
        """The results of `func`, which is called with Python's numbers, for each element of a Series; with `skip_na`
        NaN for those that are NaN.

        TypeError for what is no Series of NumPy's numbers.
        """
        dtype = getattr(data, "dtype", None)
        if not isinstance(dtype, np.dtype) or dtype.kind not in "biufc" or data.ndim != 1:
            raise TypeError(
                f"engine=txc.jit computes with NumPy's numbers, not with {type(data).__name__} of dtype {dtype}: "
                "convert it with astype, or leave engine= out"
            )
        values = np.asarray(data)
        if not len(values):
            return values.copy()
        each = _over_elements(func, decorator)
        missing = values != values
        if not skip_na or not missing.any():
            return each(values, args, kwargs)
        if missing.all():
            return values.copy()
        found = each(values[~missing], args, kwargs)
        made = np.full(len(values), np.nan, {"b": object, "c": np.complex128}.get(found.dtype.kind, np.float64))
        made[~missing] = found
        return made


@lru_cache(maxsize=64)
def _over_rows(func: Callable[..., Any], decorator: Callable[..., Any]) -> Any:
    """`func` for each row of an array with rows: what it gives first says which dtype and shape results have."""

    def over_rows(x: np.ndarray, args: tuple[Any, ...], kwargs: dict[str, Any]) -> np.ndarray:
        first = np.asarray(func(x[0], *args, **kwargs))
        made = np.empty((len(x), *first.shape), first.dtype)
        made[0] = first
        for i in range(1, len(x)):
            made[i] = func(x[i], *args, **kwargs)
        return made

    return decorator(over_rows)


@lru_cache(maxsize=64)
def _over_elements(func: Callable[..., Any], decorator: Callable[..., Any]) -> Any:
    """`func` for each number of an array."""

    def over_elements(x: np.ndarray, args: tuple[Any, ...], kwargs: dict[str, Any]) -> np.ndarray:
        return np.array([func(v.item(), *args, **kwargs) for v in x])

    return decorator(over_elements)
