"""Python functions of numbers on whole tensors, compiled: the document's *Mapping*."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ......dialects.dims.dims import dim
from ......dialects.registry import OPS, OpError
from ......dialects.types import DTYPES
from .....diagnostics import located
from ....scalars.custom_functions import elementwise
from ....tensor.apply import apply
from ....tensor.broadcasting import broadcast_to
from ....tensor.promotion import cast, common_dtype
from ....tensor.tensor import Tensor
from ....trace.context import table
from ....trace.emit import emit
from ..arguments import depth_of, shape_text, tensor
from ..storage import wrapped

__all__ = ["emap", "emap_indexed"]


def _operands(tensors: tuple[Any, ...], name: str) -> list[Tensor]:
    if not tensors:
        raise OpError(f"{name} takes a function and at least one tensor", code="TX0801")
    found = [tensor(t, name, i) for i, t in enumerate(tensors, 1)]
    facts = table()
    for x in found[1:]:
        if x.ndim != found[0].ndim or any(
            facts.settle(m, "==", n, name) is False for m, n in zip(x.dims, found[0].dims)
        ):
            raise OpError(
                f"{name}: shapes {shape_text(found[0].shape)} and {shape_text(x.shape)} differ",
                "broadcast_like makes them alike",
                "TX0814",
            )
    return found


def emap(f: Callable[..., Any], *tensors: Any) -> Tensor:
    """A new tensor of ``f(x, y, …)`` for the elements of tensors of one shape, of f32 or f64.

    `f` is traced once, on scalars, and compiled: it may branch on them, and is not called for each element.  The dtype
    is the widest of the tensors'.  TxcError for other shapes, no tensors, and what `f` may not do.
    """
    with located():
        found = _operands(tensors, "emap")
        depth = depth_of(*found)
        return wrapped(cast(elementwise(f, *found), common_dtype(found)), depth)


def emap_indexed(f: Callable[..., Any], *tensors: Any) -> Tensor:
    """A new tensor of ``f([i, j, …], x, y, …)`` for the indices and elements of tensors of one shape, of f32 or f64.

    As `emap`; the indices are a list of integers, one a dim.  TxcError as there.
    """
    with located():
        found = _operands(tensors, "emap_indexed")
        depth = depth_of(*found)
        places = [_indices(found[0], axis) for axis in range(found[0].ndim)]

        def of_indices(given: tuple[Any, ...]) -> Any:
            return f([*given[: len(places)]], *given[len(places) :])

        result = elementwise(of_indices, *places, *found, together=True)
        return wrapped(cast(result, common_dtype(found)), depth)


def _indices(x: Tensor, axis: int) -> Tensor:
    """The index along an axis, for each element."""
    counted = Tensor(emit(OPS["iota"], (), {"extent": x.dims[axis], "dtype": DTYPES["i64"]})[0])
    column = apply("reshape", counted, dims=tuple(d if i == axis else dim(1) for i, d in enumerate(x.dims)))
    return broadcast_to(column, x.dims)
