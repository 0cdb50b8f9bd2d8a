"""Elements numbered in order, and the indices that the numbers stand for."""

from __future__ import annotations

from typing import Any

import numpy as np

from ......dialects.registry import OpError
from ....tensor.apply import apply, as_tensor
from ....tensor.broadcasting import broadcast_together
from ....tensor.methods import elements
from ....tensor.tensor import Tensor
from ....trace.symint import is_integer
from ...creation import arange
from ..registry import handles, required
from .indexing import take

__all__: list[str] = []


def _whole(name: str, x: Any) -> Tensor:
    t = as_tensor(x)
    if not t.element.is_integer:
        raise TypeError(f"np.{name}: only int indices permitted, not {t.user_type}")
    return elements.astype(t, "int64")


def _weights(shape: Any, order: str) -> list[tuple[Any, Any]]:
    """For each dim its size and how many elements are between neighbours along it."""
    sizes = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    if not all(is_integer(n) for n in sizes):
        raise OpError(f"sizes are integers, not {shape!r}", code="TX0280")
    if order not in ("C", "F"):
        raise ValueError("only 'C' or 'F' order is permitted")
    weight: Any = 1
    found = []
    for n in reversed(sizes) if order == "C" else sizes:
        found.append((n, weight))
        weight = weight * n
    return found[::-1] if order == "C" else found


def _inside(index: Tensor, size: Any) -> Tensor:
    """The index; the call raises IndexError (NumPy: ValueError) where it is negative or not below the size."""
    return take(arange(size), apply("select", index < 0, size, index))


@handles(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Tensor, ...]:
    weights = _weights(shape, order)
    number = _whole("unravel_index", indices)
    total: Any = 1
    for n, _ in weights:
        total = total * n
    text = f"index is out of bounds for array with size {total}"
    number = required(number, apply("logical_and", number >= 0, number < total), text)
    return tuple(number // weight % n for n, weight in weights)


@handles(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Tensor:
    weights = _weights(dims, order)
    parts = (
        list(multi_index) if isinstance(multi_index, (tuple, list)) else [multi_index[i] for i in range(len(weights))]
    )
    if len(parts) != len(weights):
        raise ValueError(f"parameter multi_index must be a sequence of length {len(weights)}")
    modes = list(mode) if isinstance(mode, (tuple, list)) else [mode] * len(parts)
    indices = broadcast_together([_whole("ravel_multi_index", p) for p in parts], "np.ravel_multi_index")
    total = apply("mul", indices[0], 0)
    for index, (size, weight), how in zip(indices, weights, modes):
        if how == "clip":
            index = apply("clip", index, 0, size - 1)
        elif how == "wrap":
            index = index % size
        elif how == "raise":
            index = _inside(index, size)
        else:
            raise OpError(f"np.ravel_multi_index does not take mode={how!r}", "raise, clip or wrap", "TX0240")
        total = total + index * weight
    return total
