"""``f.reduce`` and ``f.accumulate`` of ufuncs that no reduction is named after: folds by the function itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from ......dialects.registry import OpError
from ....tensor.apply import as_tensor
from ....tensor.methods.elements import element_named
from ....tensor.methods.reshaping import axis_of, expand_dims
from ....tensor.promotion import cast, truth
from ....tensor.tensor import Tensor
from ...out_arrays import into

__all__ = ["folded"]

#: Functions whose results for parts may be merged in any order, and that have a neutral element.
_FOLDED = frozenset({np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.logical_xor, np.gcd})


def folded(
    f: np.ufunc, method: str, x: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: Any = False,
    initial: Any = None, where: Any = True,
) -> Tensor:  # fmt: skip
    """``f.reduce`` or ``f.accumulate`` with NumPy's arguments; of no elements it is the neutral one.

    OpError (TX0270) for other functions.
    """
    if f not in _FOLDED:
        raise OpError(f"np.{f.__name__}.{method} is not supported", code="TX0270")
    if where is not True:
        raise OpError(f"np.{f.__name__}.{method} does not take 'where' here", "use np.where first", "TX0240")
    x = as_tensor(x)
    x = truth(x) if f is np.logical_xor else x if dtype is None else cast(x, element_named(dtype))
    neutral = np.asarray(f.identity).astype(x.element.numpy)[()]
    if method == "accumulate":
        return into(out, x.scan(axis_of(axis, x.ndim), f, neutral), casting="unsafe")
    given = range(x.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else [axis]
    dims = sorted({axis_of(a, x.ndim) for a in given})
    result = x.reduce(dims, f, neutral, order="tree")
    if initial is not None and initial is not np._NoValue:
        result = f(result, initial)
    if keepdims and keepdims is not np._NoValue:
        result = expand_dims(result, tuple(dims))
    return into(out, result, casting="unsafe")
