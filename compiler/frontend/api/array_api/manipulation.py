"""Dims and places of elements changed."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....dialects.registry import OpError
from ....diagnostics import located
from ...numpy.functions.shaping import joining, manipulation
from ...tensor.apply import as_tensor
from ...tensor.broadcasting import broadcast_together as _together
from ...tensor.methods import elements, reshaping
from ...tensor.tensor import Tensor
from ...tensor.views.view_or_copy import as_numpy_gives

__all__ = [
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "concat", "expand_dims", "flip", "moveaxis", "permute_dims",
    "repeat", "reshape", "roll", "squeeze", "stack", "tile", "unstack",
]  # fmt: skip


def broadcast_arrays(*arrays: Any) -> tuple[Tensor, ...]:
    with located():
        return tuple(_together([as_tensor(a) for a in arrays], "broadcast_arrays")) if arrays else ()


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that all of these broadcast to."""
    rank = max(map(len, shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for i, n in enumerate(shape, rank - len(shape)):
            if n != 1 and result[i] not in (1, n):
                with located():
                    raise OpError(f"{', '.join(map(str, shapes))} do not broadcast", code="TX0211")
            result[i] = n if n != 1 else result[i]
    return tuple(result)


def broadcast_to(x: Any, /, shape: Any) -> Tensor:
    with located():
        return reshaping.broadcast(as_tensor(x), shape)


def concat(arrays: Any, /, *, axis: int | None = 0) -> Tensor:
    with located():
        return joining.concatenate(arrays, axis)


def expand_dims(x: Any, /, axis: Any) -> Tensor:
    with located():
        return reshaping.expand_dims(as_tensor(x), axis)


def flip(x: Any, /, *, axis: Any = None) -> Tensor:
    with located():
        return manipulation.flip(x, axis)


def moveaxis(x: Any, source: Any, destination: Any, /) -> Tensor:
    with located():
        return reshaping.moveaxis(as_tensor(x), source, destination)


def permute_dims(x: Any, /, axes: Any) -> Tensor:
    with located():
        return reshaping.transpose(as_tensor(x), tuple(axes))


def repeat(x: Any, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Each element so many times; counts that differ have their sum computed first, which is a size."""
    with located():
        if isinstance(repeats, Tensor):
            repeats = [int(n) for n in repeats] if repeats.ndim else int(repeats)
        return as_numpy_gives(np.repeat, manipulation.repeat(x, repeats, axis), (x,))


def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Tensor:
    """A view where that is possible.  TxcError for ``copy=False`` where it is not."""
    with located():
        made = reshaping.reshape(as_tensor(x), tuple(shape))
        if copy is False and not made.is_view and made is not x:
            raise OpError("this reshape makes a copy", "leave copy=False out", "TX0240")
        return elements.copy(made) if copy else made


def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Tensor:
    with located():
        return as_numpy_gives(np.roll, manipulation.roll(x, shift, axis), (x,))


def squeeze(x: Any, /, axis: Any = None) -> Tensor:
    with located():
        return reshaping.squeeze(as_tensor(x), axis)


def stack(arrays: Any, /, *, axis: int = 0) -> Tensor:
    with located():
        return joining.stack_(arrays, axis)


def tile(x: Any, repetitions: Any, /) -> Tensor:
    with located():
        return as_numpy_gives(np.tile, manipulation.tile(x, tuple(repetitions)), (x,))


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    with located():
        return joining.unstack(x, axis=axis)
