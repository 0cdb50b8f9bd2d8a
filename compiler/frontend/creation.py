"""Tensors made from nothing, of sizes that may be known only at run time: ``np.zeros`` and kin in staged code."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dialects.dims import Dim, dim, maximum
from ...dialects.registry import OPS, OpError
from ...dialects.types import DTYPES, DType, dtype
from ..diagnostics import located
from .apply import apply, as_tensor, broadcast_to, cast, constant, emit
from .symint import SymInt, as_dim, is_integer
from .tensor import Tensor
from .trace import table

__all__ = ["arange", "array", "empty", "eye", "full", "identity", "linspace", "ones", "zeros"]


def _sizes(shape: Any) -> tuple[Dim, ...]:
    given = shape if isinstance(shape, (tuple, list)) else (shape,)
    if any(not is_integer(s) and not isinstance(s, Dim) for s in given):
        raise OpError(f"sizes are integers, not {shape!r}", code="TX0280")
    dims = tuple(table().resolve(as_dim(s)) for s in given)
    for d in dims:
        if (d.const or 0) < 0 or (table().hint(d) or 0) < 0:
            raise OpError(f"negative sizes are not allowed: {table().describe(d)}", code="TX0280")
    return dims


def _element(spec: Any) -> DType:
    try:
        return dtype(spec)
    except TypeError as error:
        raise OpError(str(error), code="TX0205") from error


def _filled(shape: Any, value: Tensor) -> Tensor:
    # An array of its own: storing into it must be possible, which an expanded view refuses.
    made = broadcast_to(value, _sizes(shape))
    return Tensor(made.value, boxed=True)


def full(shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C") -> Tensor:
    with located():
        value = as_tensor(fill_value)
        return _filled(shape, cast(value, value.element if dtype is None else _element(dtype)))


def zeros(shape: Any, dtype: Any = float, order: Any = "C") -> Tensor:
    with located():
        return _filled(shape, Tensor(constant(0, _element(dtype))))


def ones(shape: Any, dtype: Any = float, order: Any = "C") -> Tensor:
    with located():
        return _filled(shape, Tensor(constant(1, _element(dtype))))


#: The elements of an empty array are zero here: compiled code never reads memory that nothing wrote.
empty = zeros


def _iota(extent: Dim, element: DType) -> Tensor:
    return Tensor(emit(OPS["iota"], (), {"extent": extent, "dtype": element})[0], boxed=True)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    """NumPy's arange; the number of elements must be a whole-number expression or known now."""
    with located():
        if stop is None:
            start, stop = 0, start
        if not any(isinstance(v, (SymInt, Tensor)) for v in (start, stop, step)):
            return as_tensor(np.arange(start, stop, step, dtype=dtype))
        if not all(is_integer(v) for v in (start, stop, step)):
            raise OpError("np.arange of a size known only at run time takes integers", "scale np.arange(n)", "TX0281")
        by = int(step)
        if by == 0:
            raise OpError("the step of np.arange is zero", code="TX0281")
        first, last = as_dim(start), as_dim(stop)
        length = (last - first + (by - 1)) // by if by > 0 else (first - last + (-by - 1)) // -by
        result = _iota(
            maximum(0, length) if table().decide(0, "<=", length, "np.arange") is not True else length, DTYPES["i64"]
        )
        if by != 1:
            result = apply("mul", result, by)
        if first.const != 0:
            result = apply("add", result, start)
        return result if dtype is None else cast(result, _element(dtype))


def linspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None) -> Any:
    with located():
        if not any(isinstance(v, (SymInt, Tensor)) for v in (start, stop, num)):
            return as_tensor(np.linspace(start, stop, num, endpoint, dtype=dtype))
        steps = _iota(_sizes(num)[0], DTYPES["f64"])
        parts = num - 1 if endpoint else num
        if table().decide(as_dim(parts), "<=", 0, "np.linspace"):
            parts = 1
        spread = apply("div", apply("sub", apply("mul", stop, 1.0), start), parts)
        result = apply("add", apply("mul", steps, spread), start)
        return result if dtype is None else cast(result, _element(dtype))


def eye(N: Any, M: Any = None, k: int = 0, dtype: Any = float) -> Tensor:
    with located():
        rows, columns = _sizes((N, N if M is None else M))
        down = apply("reshape", _iota(rows, DTYPES["i64"]), dims=(rows, dim(1)))
        hit = apply("equal", _iota(columns, DTYPES["i64"]), apply("add", down, k))
        return Tensor(cast(hit, _element(dtype)).value, boxed=True)


def identity(n: Any, dtype: Any = float) -> Tensor:
    return eye(n, dtype=dtype)


def array(object: Any, dtype: Any = None, copy: Any = True) -> Tensor:
    """``np.array`` of tensors, numbers and nested lists of them."""
    with located():
        made = as_tensor(object)
        if dtype is not None:
            made = cast(made, _element(dtype))
        return Tensor(made.value, layout=made.layout, boxed=True)
