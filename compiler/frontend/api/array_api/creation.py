"""Creation functions, which make tensors in memory or expressions of sizes alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....dialects.registry import OpError
from ....diagnostics import located
from ...numpy import creation
from ...numpy.functions.creation import arrays as creation_functions
from ...numpy.functions.creation import diagonals
from ...tensor.apply import as_tensor
from ...tensor.conversion import asarray
from ...tensor.memory.memory_tensors import TensorMap
from ...tensor.methods import elements
from ...tensor.tensor import Tensor

__all__ = [
    "arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like", "linspace", "meshgrid",
    "ones", "ones_like", "tril", "triu", "zeros", "zeros_like",
]  # fmt: skip


def on_device(device: Any) -> None:
    """OpError for a device that tensors cannot live on."""
    if device not in (None, "cpu"):
        raise OpError(f"tensors live on 'cpu', not on {device!r}", "with txc.device(…) says what computes", "TX0701")


def _made(tensor: Tensor, device: Any) -> Tensor:
    on_device(device)
    return tensor


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None
) -> Tensor:  # fmt: skip
    """``start, start + step, …`` before `stop`; with one number that is `stop`."""
    with located():
        return _made(creation.arange(start, stop, step, dtype=dtype), device)


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Zeros: an expression never reads memory that nothing wrote."""
    return zeros(shape, dtype=dtype, device=device)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    with located():
        return _made(creation.zeros(shape, dtype), device)


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    with located():
        return _made(creation.ones(shape, dtype), device)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    with located():
        return _made(creation.full(shape, fill_value, dtype), device)


def _like(x: Any, value: Any, dtype: Any, device: Any) -> Tensor:
    with located():
        x = as_tensor(x)
        return _made(creation.full(x.shape, value, x.dtype if dtype is None else dtype), device)


def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    return _like(x, 0, dtype, device)


def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    return _like(x, 0, dtype, device)


def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Tensor:
    return _like(x, 1, dtype, device)


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    return _like(x, fill_value, dtype, device)


def eye(n_rows: Any, n_cols: Any = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Tensor:
    with located():
        return _made(creation.eye(n_rows, n_cols, k, dtype), device)


def linspace(
    start: Any, stop: Any, /, num: Any, *, dtype: Any = None, device: Any = None, endpoint: bool = True
) -> Tensor:
    with located():
        return _made(creation.linspace(start, stop, num, endpoint, dtype=dtype), device)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on the memory of another library's array, or on a copy of it."""
    with located():
        on_device(device)
        if isinstance(x, Tensor):
            return elements.copy(x) if copy else x
        found = np.from_dlpack(x)
        return asarray(found, copy=True) if copy else TensorMap(found)


def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Tensor, ...]:
    with located():
        return creation_functions.meshgrid(*arrays, indexing=indexing)


def tril(x: Any, /, *, k: int = 0) -> Tensor:
    with located():
        return diagonals.tril(x, k)


def triu(x: Any, /, *, k: int = 0) -> Tensor:
    with located():
        return diagonals.triu(x, k)
