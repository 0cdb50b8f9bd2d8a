"""One tensor into several, which are views of it, and several into one: the document's *Splitting and joining*."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from ......dialects.registry import OpError
from .....diagnostics import located
from ....tensor.apply import apply
from ....tensor.methods.reshaping import expand_dims
from ....tensor.tensor import Tensor
from ..arguments import axis_of, depth_of, integer, shape_text, tensor
from ..storage import wrapped
from .selection import selected

__all__ = ["columns", "join_along", "partition_along", "rows", "slices", "stack"]


def _selections(x: Tensor, axis: int, selection: Any) -> list[Any]:
    every: list[Any] = ["all"] * x.ndim
    every[axis] = selection
    return every


def _slices(a: Any, axis: Any, name: str) -> list[Tensor]:
    with located():
        x = tensor(a, name)
        at = axis_of(axis, x.ndim, name, x.shape)
        return [selected(x, _selections(x, at, i), name) for i in range(int(x.shape[at]))]


def _vectors(a: Any, from_end: int, name: str) -> list[Tensor]:
    """The vectors along the dim that is so far from the end, for each place of the other dims."""
    with located():
        x = tensor(a, name)
        if x.ndim == 0:
            raise OpError(f"{name}: a scalar has none", f"{name} takes tensors of one dim or more", "TX0804")
        along = x.ndim - from_end
        places: list[Iterable[Any]] = [["all"] if d == along else range(int(size)) for d, size in enumerate(x.shape)]
        return [selected(x, list(place), name) for place in itertools.product(*places)]


def slices(a: Any, axis: Any = 0) -> list[Tensor]:
    """Views of the slices of a tensor of f32 or f64 along dim `axis`, as a list: each has the other dims as its shape.

    TxcError for an axis that the tensor has not; a scalar has none.
    """
    return _slices(a, axis, "slices")


def rows(a: Any) -> list[Tensor]:
    """Views of the vectors of a tensor of f32 or f64 along its last dim, as a list: the rows of a matrix.

    They are in row-major order of the other dims; a vector is its only row.  TxcError for a scalar.
    """
    return _vectors(a, 1, "rows")


def columns(a: Any) -> list[Tensor]:
    """Views of the vectors of a tensor of f32 or f64 along its last dim but one, as a list: the columns of a matrix.

    They are in row-major order of the other dims; those of a vector are its elements, scalars.  TxcError for a scalar.
    """
    return _vectors(a, 2, "columns")


def partition_along(a: Any, axis: Any = 0, size: Any = 1, step: Any = None) -> list[Tensor]:
    """Views of chunks of a tensor of f32 or f64, of any shape, as a list.

    They are `size` slices along dim `axis`, from every `step`-th on; `step` is `size` unless given.  The last chunks
    have the slices that are left.  TxcError for an axis that the tensor has not, and for a size or step below 1.
    """
    with located():
        x = tensor(a, "partition_along")
        at = axis_of(axis, x.ndim, "partition_along", x.shape)
        length = int(integer(size, "partition_along", "the size"))
        by = length if step is None else int(integer(step, "partition_along", "the step"))
        if length < 1 or by < 1:
            raise OpError(f"partition_along: size {length} and step {by} are from 1", code="TX0813")
        extent = int(x.shape[at])
        return [
            selected(x, _selections(x, at, [start, min(start + length, extent)]), "partition_along")
            for start in range(0, extent, by)
        ]


def _joined(tensors: list[Tensor], axis: int, name: str) -> Tensor:
    first = tensors[0]
    for x in tensors[1:]:
        sizes = [(m.const, n.const) for i, (m, n) in enumerate(zip(first.dims, x.dims)) if i != axis]
        if x.ndim != first.ndim or any(None not in pair and pair[0] != pair[1] for pair in sizes):
            raise OpError(
                f"{name}: shapes {shape_text(first.shape)} and {shape_text(x.shape)} differ beside dim {axis}",
                "broadcast and reshape make them alike",
                "TX0814",
            )
    return apply("concatenate", *tensors, axis=axis)


def join_along(axis: Any, *tensors: Any) -> Tensor:
    """A new tensor: tensors of f32 or f64, whose shapes differ in dim `axis` only, one after the other along it.

    TxcError for scalars and no tensors, for other shapes, and for an axis that they have not.
    """
    with located():
        found = [tensor(t, "join_along", i) for i, t in enumerate(tensors, 1)]
        if not found:
            raise OpError("join_along takes an axis and at least one tensor", code="TX0801")
        at = axis_of(axis, found[0].ndim, "join_along", found[0].shape)
        depth = depth_of(*found)
        return wrapped(_joined(found, at, "join_along"), depth)


def stack(*arguments: Any) -> Tensor:
    """``stack(axis, a, b, …)`` or ``stack(a, b, …)``: a new tensor of tensors of one shape, along a new dim `axis` (0).

    Of f32 or f64; the new dim counts the tensors.  TxcError for no tensors, for other shapes, and for an axis that the
    result has not.
    """
    with located():
        numbered = bool(arguments) and isinstance(arguments[0], int)
        axis, tensors = (arguments[0], arguments[1:]) if numbered else (0, arguments)
        found = [tensor(t, "stack", i) for i, t in enumerate(tensors, int(numbered))]
        if not found:
            raise OpError("stack takes at least one tensor", code="TX0801")
        at = axis_of(axis, found[0].ndim + 1, "stack", [*found[0].shape, 1])
        for x in found[1:]:
            if x.ndim != found[0].ndim:
                shapes = f"{shape_text(found[0].shape)} and {shape_text(x.shape)}"
                raise OpError(f"stack: shapes {shapes} differ", "all tensors have one shape", "TX0814")
        depth = depth_of(*found)
        return wrapped(_joined([expand_dims(x, at) for x in found], at, "stack"), depth)
