"""Tensors of the type of others, which stand where these may not: other values, other dims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....dialects.dims.dims import Dim
from ...indexing.data_dependent_sizes import empty
from ...tensor.apply import as_tensor
from ...tensor.broadcasting import broadcast_to, seen_as
from ...tensor.promotion import cast
from ...tensor.tensor import Tensor

if TYPE_CHECKING:
    pass

__all__ = ["anything_like", "of_dims", "zeros_like"]


def zeros_like(t: Tensor, dims: tuple[Dim, ...] | None = None) -> Tensor:
    """Zeros of a tensor's type, or of other (graph) dims, made where the trace is."""
    zero = cast(as_tensor(0), t.element)
    value = broadcast_to(zero, t.type.dims if dims is None else dims, "row").value
    return Tensor(value, layout=t.layout, weak=t.weak, boxed=t.boxed)


def anything_like(t: Tensor) -> Tensor:
    """Memory for a tensor of the same type."""
    return Tensor(empty(t.type).value, layout=t.layout, weak=t.weak, boxed=t.boxed)


def of_dims(t: Tensor, dims: tuple[Dim, ...]) -> Tensor:
    """`t` with the dims that another end of its place has: equal by guards, which need not have one expression."""
    return Tensor(seen_as(t, dims).value, layout=t.layout, weak=t.weak, boxed=t.boxed)
