"""Functions of Python applied along axes: to all slices, or to the array itself, one axis after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....staging.calls.functional import scan
from ....tensor.apply import as_tensor
from ....tensor.methods import reshaping
from ....tensor.tensor import Tensor
from ..registry import handles

__all__: list[str] = []


@handles(np.apply_over_axes)
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """``func(a, axis)`` for one axis after another; a result of one rank less gets the axis back."""
    value = as_tensor(a)
    rank = value.ndim
    chosen = axes if isinstance(axes, (tuple, list)) else np.asarray(axes).reshape(-1).tolist()
    for axis in chosen:
        axis = rank + axis if axis < 0 else axis
        found = as_tensor(func(value, axis))
        if found.ndim != value.ndim:
            found = reshaping.expand_dims(found, axis)
            if found.ndim != value.ndim:
                raise ValueError("function is not returning an array of the correct shape")
        value = found
    return value


@handles(np.apply_along_axis)
def apply_along_axis(func1d: Callable[..., Any], axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """``func1d`` of each vector along the axis; the dims of what it gives stand where the axis was."""
    a = as_tensor(arr)
    axis = reshaping.axis_of(axis, a.ndim)
    front = reshaping.moveaxis(a, axis, -1)
    sizes = front.shape[:-1]
    if any(bool(n == 0) for n in sizes):
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    if not sizes:
        whole = as_tensor(func1d(a, *args, **kwargs))
        return Tensor(whole.value, layout=whole.layout, boxed=True)
    rows = reshaping.reshape(front, (-1, front.shape[-1]))
    found = as_tensor(scan(lambda none, row: (none, func1d(row, *args, **kwargs)), (), rows)[1])
    made = reshaping.reshape(found, (*sizes, *found.shape[1:]))
    return reshaping.moveaxis(made, tuple(range(len(sizes))), [*range(axis), *range(axis + found.ndim - 1, made.ndim)])
