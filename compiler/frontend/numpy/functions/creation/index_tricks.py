"""``np.mgrid``, ``np.ogrid``, ``np.r_`` and ``np.c_``: objects that are indexed, which no protocol of NumPy hands over.

Staged code finds these where it names NumPy's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ......dialects.registry import OpError
from .....diagnostics import located
from ....scalars.size_numbers import known_number
from ....tensor.apply import apply, as_tensor, stack
from ....tensor.broadcasting import broadcast_to
from ....tensor.methods import elements, reshaping
from ....tensor.promotion import cast, common_dtype
from ....tensor.tensor import Tensor
from ....trace.context import require
from ....trace.symint import SymInt
from ...creation import arange, linspace

__all__ = ["INDEXED"]


def _known(key: Any) -> bool:
    """Whether NumPy's own object can be asked: nothing in the key is part of the compiled function."""
    items = key if isinstance(key, tuple) else (key,)
    parts = [p for k in items for p in ((k.start, k.stop, k.step) if isinstance(k, slice) else (k,))]
    return not any(isinstance(p, (Tensor, SymInt)) for p in parts)


def _captured(made: Any) -> Any:
    """Arrays that NumPy makes while the function is compiled, as the function's own."""
    return type(made)(map(_captured, made)) if isinstance(made, (tuple, list)) else require().capture(made)


def _range(key: slice) -> Tensor:
    """The numbers of a slice; with a step of ``5j`` that many, both ends among them."""
    start, step = 0 if key.start is None else key.start, 1 if key.step is None else key.step
    if key.stop is None:
        raise OpError(f"a grid of {key} has no end", "give each slice a stop", "TX0280")
    if isinstance(step, Tensor) and (number := known_number(step)) is not None:
        step = number
    if isinstance(step, complex):
        return linspace(start, key.stop, int(abs(step)))
    return arange(start, key.stop, step)


class Grid:
    """NumPy's ``mgrid``, or with `sparse` its ``ogrid``; sizes may be known only at run time."""

    def __init__(self, own: Any, sparse: bool):
        self.own, self.sparse = own, sparse

    def __getitem__(self, key: Any) -> Any:
        if _known(key):
            return _captured(self.own[key])
        with located():
            if isinstance(key, slice):
                return _range(key)
            ranges = [_range(k) for k in key]
            element = common_dtype(ranges)
            others = [tuple(j for j in range(len(ranges)) if j != i) for i in range(len(ranges))]
            along = [reshaping.expand_dims(cast(t, element), o) if o else t for t, o in zip(ranges, others)]
            if self.sparse:
                return tuple(elements.copy(t) for t in along)
            dims = tuple(t.dims[0] for t in ranges)
            return elements.copy(stack([broadcast_to(t, dims) for t in along]))  # row-major, as NumPy makes it


class Joined:
    """NumPy's ``r_`` and ``c_``: slices, numbers and arrays along dim `axis` of results of at least `rank` dims."""

    def __init__(self, own: Any, axis: int, rank: int):
        self.own, self.axis, self.rank = own, axis, rank

    def __getitem__(self, key: Any) -> Any:
        if _known(key):
            return _captured(self.own[key])
        with located():
            return apply("concatenate", *self._parts(key if isinstance(key, tuple) else (key,)), axis=self.axis)

    def _parts(self, items: Sequence[Any]) -> list[Tensor]:
        parts = []
        for item in items:
            if isinstance(item, str):
                raise OpError(f"np.r_ does not take {item!r} in compiled code", "np.concatenate names axes", "TX0240")
            part = _range(item) if isinstance(item, slice) else as_tensor(item)
            if part.ndim < self.rank:
                # One of rank 1 stands along the first dim.
                part = reshaping.reshape(part, (*(part.shape or (1,)), *(1,) * (self.rank - max(1, part.ndim))))
            parts.append(part)
        return parts


#: What staged code indexes instead, by NumPy's object.
INDEXED: dict[int, Any] = {
    id(np.mgrid): Grid(np.mgrid, False),
    id(np.ogrid): Grid(np.ogrid, True),
    id(np.r_): Joined(np.r_, 0, 1),
    id(np.c_): Joined(np.c_, -1, 2),
}
