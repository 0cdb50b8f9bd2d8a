"""`txc.vectorize`: a function of scalars, compiled for arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .jit import jit

__all__ = ["vectorize"]


def vectorize(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """``np.vectorize``, compiled: ``@txc.vectorize`` on a function of scalars makes one of arrays, which are broadcast.

    Branches and loops are taken element by element: a ``while`` goes round as often as each element needs.  The result
    has the dtype that the function gives.  Options are those of `jit`.
    """
    if function is None:
        return lambda f: vectorize(f, **options)
    each = np.vectorize(function)

    def on_arrays(*arrays: Any) -> Any:
        return each(*arrays)

    on_arrays.__name__, on_arrays.__doc__ = function.__name__, function.__doc__
    return jit(on_arrays, **options)
