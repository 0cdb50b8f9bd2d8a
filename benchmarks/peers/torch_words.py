"""The words of `programs.py` in PyTorch: a namespace that stands for ``np``."""

from __future__ import annotations

import importlib
from typing import Any

torch: Any = importlib.import_module("torch")
functional: Any = torch.nn.functional

abs, exp, log, matmul, sqrt, tanh, sum, mean = (
    torch.abs, torch.exp, torch.log, torch.matmul, torch.sqrt, torch.tanh, torch.sum, torch.mean,
)  # fmt: skip
erf, cumsum, power = torch.special.erf, torch.cumsum, torch.pow


def asarray(x: Any, dtype: Any) -> Any:
    return torch.tensor(x, dtype=dtype)


def max(x: Any, axis: int, keepdims: bool) -> Any:
    return torch.amax(x, dim=axis, keepdim=keepdims)


def argmax(x: Any, axis: int) -> Any:
    return torch.argmax(x, dim=axis)


def swapaxes(x: Any, a: int, b: int) -> Any:
    return torch.transpose(x, a, b)


def roll(x: Any, by: int, axis: int) -> Any:
    return torch.roll(x, by, axis)


def concatenate(arrays: Any, axis: int) -> Any:
    return torch.cat(arrays, dim=axis)


def pad(x: Any, by: int) -> Any:
    return functional.pad(x, (by,) * 4)
