"""Tensors that follow from others at any time, and whose stores reach these.

Parts of complex tensors, concatenations, and what integers select that only the compiled function knows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dialects.dims import dim
from ...dialects.registry import OPS, OpError
from ...dialects.types import TensorType
from .advanced_indexing import Places, gather, scatter
from .apply import apply, emit
from .evaluation import computed
from .graph import Value
from .memory import leaf
from .symint import is_integer
from .tensor import Tensor

__all__ = ["Derived", "IndexedView", "Joined", "Part", "concatenate"]


def concatenate(x: Tensor, *others: Any, axis: int = 0) -> Tensor:
    """Eigen's concatenate, ``a.concatenate(b, axis)``; a view where all that is joined are tensors."""
    if others and is_integer(others[-1]):
        others, axis = others[:-1], others[-1]
    value = apply("concatenate", x, *others, axis=axis)
    parts = [p for p in (x, *others) if isinstance(p, Tensor)]
    return Joined(value, parts, axis % x.ndim) if len(parts) == 1 + len(others) else value


class Derived(Tensor):
    """A tensor without storage: subclasses say what its value is, and where a new one goes."""

    __slots__ = ()

    @property
    def is_view(self) -> bool:
        return True

    def settle_in(self, array: np.ndarray, known: TensorType | None = None) -> None:
        text = f"{self.user_type} follows from other tensors and has no memory of its own"
        raise OpError(text, "copy() it first", "TX0709")


class Part(Derived):
    """The real or the imaginary part of a complex tensor; a store replaces that part."""

    __slots__ = ("_which", "_whole")

    def __init__(self, whole: Tensor, which: str):
        super().__init__(apply(which, whole).value, layout=whole.layout, boxed=whole.boxed)
        self._whole, self._which = whole, which

    @property
    def value(self) -> Value:
        return apply(self._which, self._whole).value

    def replace(self, after: Value, before: Value, through: Tensor) -> None:
        new = Tensor(after, layout=self.layout)
        parts = [new if which == self._which else apply(which, self._whole) for which in ("real", "imag")]
        self._whole.store(apply("complex", *parts))


class Joined(Derived):
    """The parts one after another along `axis` (the user's dims): what it is follows from them at any time."""

    __slots__ = ("_along", "_of", "_parts")

    def __init__(self, joined: Tensor, parts: list[Tensor], axis: int):
        super().__init__(joined.value, layout=joined.layout, boxed=True)
        self._parts, self._along = parts, axis
        self._of = [p.value for p in parts]

    @property
    def value(self) -> Value:
        present = [p.value for p in self._parts]
        if any(a is not b for a, b in zip(present, self._of)):
            self._value, self._of = apply("concatenate", *self._parts, axis=self._along).value, present
        assert self._value is not None
        return self._value

    def replace(self, after: Value, before: Value, through: Tensor) -> None:
        if any(p.has_memory for p in self._parts):
            # The new value may read parts that the first stores change.
            after = leaf(computed(after))
        start, axis = dim(0), self.ndim - 1 - self._along if self.layout == "col" else self._along
        for part in self._parts:
            size = part.type.dims[axis]
            offsets = tuple(start if i == axis else dim(0) for i in range(self.ndim))
            extents = tuple(size if i == axis else d for i, d in enumerate(self.type.dims))
            (piece,) = emit(OPS["slice"], (after,), {"offsets": offsets, "extents": extents})
            part.store(Tensor(piece, layout=self.layout))
            start = start + size


class IndexedView(Derived):
    """What integers known at run time select, as ``x[k]`` and ``x[k, 1:]`` do: a view of where they led when made."""

    __slots__ = ("_places",)

    def __init__(self, places: Places):
        made = gather(places)
        super().__init__(made.value, layout=made.layout, boxed=True)
        self._places = places

    @property
    def value(self) -> Value:
        return gather(self._places).value

    def replace(self, after: Value, before: Value, through: Tensor) -> None:
        scatter(self._places, Tensor(after, layout=self.layout))
