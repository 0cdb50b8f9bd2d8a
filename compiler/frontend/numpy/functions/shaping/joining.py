"""Arrays joined, and cut into pieces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ......dialects.registry import OpError
from ....tensor.apply import apply, as_tensor, stack
from ....tensor.methods import elements, reshaping
from ....tensor.tensor import Tensor
from ....trace.symint import SymInt
from ...out_arrays import into
from ..registry import handles

__all__ = ["concatenate", "slice_along", "stack_"]


def slice_along(x: Tensor, axis: int, start: Any, stop: Any, step: Any = None) -> Tensor:
    """``x[start:stop:step]``, along an axis."""
    return x[(slice(None),) * axis + (slice(start, stop, step),)]


@handles(np.concatenate)
def concatenate(
    arrays: Sequence[Any], axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = None
) -> Any:
    tensors = [as_tensor(x) for x in arrays]
    if not tensors:
        raise OpError("np.concatenate needs at least one array", code="TX0133")
    if dtype is not None:
        tensors = [elements.astype(t, dtype, casting=casting or "same_kind") for t in tensors]
    if axis is None:
        tensors, axis = [reshaping.ravel(t) for t in tensors], 0
    return into(out, apply("concatenate", *tensors, axis=axis))


@handles(np.stack)
def stack_(arrays: Sequence[Any], axis: int = 0, out: Any = None, *, dtype: Any = None, casting: Any = None) -> Any:
    tensors = [as_tensor(x) for x in arrays]
    if not tensors:
        raise OpError("np.stack needs at least one array", code="TX0133")
    if dtype is not None:
        tensors = [elements.astype(t, dtype, casting=casting or "same_kind") for t in tensors]
    return into(out, stack(tensors, axis))


def at_least(x: Any, rank: int) -> Tensor:
    """`x` with dims of size 1 added as `np.atleast_1d`, `2d` and `3d` add them."""
    x = as_tensor(x)
    added = {1: [(0,)], 2: [(0, 1), (0,)], 3: [(0, 1, 2), (0, 2), (2,)]}[rank]
    return reshaping.expand_dims(x, added[x.ndim]) if x.ndim < rank else x


@handles(np.atleast_1d)
def atleast_1d(*arys: Any) -> Any:
    return _one_or_all([at_least(x, 1) for x in arys])


@handles(np.atleast_2d)
def atleast_2d(*arys: Any) -> Any:
    return _one_or_all([at_least(x, 2) for x in arys])


@handles(np.atleast_3d)
def atleast_3d(*arys: Any) -> Any:
    return _one_or_all([at_least(x, 3) for x in arys])


def _one_or_all(tensors: list[Tensor]) -> Any:
    return tensors[0] if len(tensors) == 1 else tuple(tensors)


@handles(np.vstack)
def vstack(tup: Sequence[Any], *, dtype: Any = None, casting: Any = None) -> Any:
    return concatenate([at_least(x, 2) for x in tup], 0, dtype=dtype, casting=casting)


@handles(np.hstack)
def hstack(tup: Sequence[Any], *, dtype: Any = None, casting: Any = None) -> Any:
    tensors = [at_least(x, 1) for x in tup]
    return concatenate(tensors, 0 if tensors[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@handles(np.dstack)
def dstack(tup: Sequence[Any]) -> Any:
    return concatenate([at_least(x, 3) for x in tup], 2)


@handles(np.column_stack)
def column_stack(tup: Sequence[Any]) -> Any:
    tensors = [as_tensor(x) for x in tup]
    return concatenate([reshaping.reshape(t, -1, 1) if t.ndim < 2 else t for t in tensors], 1)


@handles(np.append)
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    return concatenate([arr, values], axis)


@handles(np.block)
def block(arrays: Any) -> Any:
    """Blocks nested as lists, the innermost list along the last axis."""

    def depth(x: Any) -> int:
        return 1 + max(map(depth, x)) if isinstance(x, list) and x else 0

    def leaves(x: Any) -> Any:
        return [y for part in x for y in leaves(part)] if isinstance(x, list) else [as_tensor(x)]

    levels = depth(arrays)
    rank = max([levels, *(t.ndim for t in leaves(arrays))])

    def joined(x: Any, level: int) -> Tensor:
        if not isinstance(x, list):
            t = as_tensor(x)
            return reshaping.expand_dims(t, tuple(range(rank - t.ndim))) if t.ndim < rank else t
        return concatenate([joined(part, level + 1) for part in x], rank - levels + level)

    return joined(arrays, 0)


def _cuts(x: Tensor, sections: Any, axis: int, equal: bool) -> list[Any]:
    """Where the pieces begin, after the first; their number is a fact of the call, as there are as many results."""
    if isinstance(sections, SymInt):
        sections = int(sections)
    if not isinstance(sections, (int, np.integer)):
        return list(sections)
    size = x.shape[axis]
    if isinstance(size, SymInt):
        size = int(size)
    each, more = divmod(size, int(sections))
    if more and equal:
        raise OpError(f"np.split: {size} elements along axis {axis} of {x.user_type} are no {sections} equal parts",
                      "np.array_split takes unequal ones", "TX0282")  # fmt: skip
    return [i * each + min(i, more) for i in range(1, int(sections))]


def _sections(x: Tensor, sections: Any, axis: Any, equal: bool) -> list[Tensor]:
    axis = reshaping.axis_of(axis, x.ndim)
    cuts = _cuts(x, sections, axis, equal)
    return [slice_along(x, axis, a, b) for a, b in zip([None, *cuts], [*cuts, None])]


@handles(np.split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    return _sections(as_tensor(ary), indices_or_sections, axis, True)


@handles(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    return _sections(as_tensor(ary), indices_or_sections, axis, False)


def _split_along(name: str, axis: int) -> Any:
    def along(ary: Any, indices_or_sections: Any) -> list[Tensor]:
        ary = as_tensor(ary)
        least = {0: 2, 1: 1, 2: 3}[axis]
        if ary.ndim < least:
            raise OpError(f"np.{name} takes a tensor of {least} dims or more, not {ary.user_type}", code="TX0103")
        return _sections(ary, indices_or_sections, 0 if axis == 1 and ary.ndim == 1 else axis, True)

    return along


for _f, _axis in {np.vsplit: 0, np.hsplit: 1, np.dsplit: 2}.items():
    handles(_f)(_split_along(_f.__name__, _axis))


@handles(*filter(None, [getattr(np, "unstack", None)]))
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    x = as_tensor(x)
    axis = reshaping.axis_of(axis, x.ndim)
    return tuple(x[(slice(None),) * axis + (i,)] for i in range(int(x.shape[axis])))
