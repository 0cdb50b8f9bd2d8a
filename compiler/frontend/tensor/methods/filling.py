"""Methods that give a tensor its content at once, and return it: Eigen's setConstant, setZero, setValues, operator=."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....dialects.registry import OpError
from ...lazy.evaluate import evaluate_value
from ..apply import as_tensor
from ..broadcasting import broadcast_to
from ..memory import memory_tensors
from ..promotion import cast
from ..tensor import Tensor

__all__ = ["FILLING"]


def set_constant(x: Tensor, value: Any) -> Tensor:
    """All elements become `value`."""
    x[...] = value
    return x


def set_zero(x: Tensor) -> Tensor:
    """All elements become 0."""
    return set_constant(x, 0)


def set_values(x: Tensor, values: Any) -> Tensor:
    """The elements of nested lists, one level a dim; where a list is short, the rest stays as it is."""
    _set(x, values, ())
    return x


def _set(x: Tensor, values: Any, at: tuple[int, ...]) -> None:
    depth = len(at)
    if isinstance(values, (list, tuple)) != (depth < x.ndim):
        found = "a list" if isinstance(values, (list, tuple)) else repr(values)
        raise OpError(
            f"set_values of {x.user_type}: {found} at depth {depth}",
            f"lists are nested {x.ndim} deep, one level a dim",
            "TX0705",
        )
    if depth == x.ndim:
        x[at] = values
        return
    if len(values) > x.shape[depth]:
        raise OpError(
            f"set_values of {x.user_type}: a list of {len(values)} for dim {depth}, which has {x.shape[depth]}",
            code="TX0705",
        )
    if depth == x.ndim - 1:
        _row(x, values, at)
        return
    for i, part in enumerate(values):
        _set(x, part, (*at, i))


def _row(x: Tensor, values: Any, at: tuple[int, ...]) -> None:
    """The innermost list: one store for all its numbers."""
    for v in values:
        if isinstance(v, (list, tuple)):
            _set(x, v, (*at, 0))
    if any(isinstance(v, Tensor) for v in values):
        for i, v in enumerate(values):
            x[(*at, i)] = v
    elif values:
        x[(*at, slice(0, len(values)))] = np.asarray(values).astype(x.dtype)


def assign(x: Tensor, expression: Any) -> Tensor:
    """Eigen's ``x = expression``: evaluated now; a `Tensor` takes its sizes where these are others, the rank is not."""
    source = as_tensor(expression)
    if source.ndim == x.ndim and source.shape != x.shape:
        if x.is_view or isinstance(x, (memory_tensors.TensorFixedSize, memory_tensors.TensorMap)):
            kind = "a view" if x.is_view else f"a {type(x).__name__}"
            raise OpError(f"cannot assign {source.user_type} to {x.user_type}: {kind} is not resized", code="TX0706")
        if source.ndim > 1 and source.layout != x.layout:
            raise OpError("a store mixes layouts", "put .swap_layout() on the value", "TX0210")
        x.set_memory(evaluate_value(cast(source, x.element).value))
        return x
    if source.ndim != x.ndim:
        raise OpError(f"cannot assign {source.user_type} to {x.user_type}: ranks differ", code="TX0706")
    x[...] = source
    return x


def constant(x: Tensor, value: Any) -> Tensor:
    """An operation, not a store: `value` in the dims and dtype of `x`."""
    number = cast(as_tensor(value), x.element)
    if number.ndim:
        raise OpError(f"constant of {x.user_type} takes a number, not {number.user_type}", code="TX0705")
    return broadcast_to(number, x.dims, x.layout)


FILLING = {
    "assign": assign, "constant": constant, "set_constant": set_constant, "set_values": set_values,
    "set_zero": set_zero,
}  # fmt: skip
