"""Tensors that follow from others at any time, and whose stores reach these.

Parts of complex tensors, integers of the same bits, concatenations, and what integers select that only the compiled
function knows.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from .....dialects.dims.dims import Dim, dim, packed_strides
from .....dialects.registry import OPS, OpError
from .....dialects.types import DType, TensorType
from ....diagnostics import TxcError, user_loc
from ...indexing.advanced import IndexArrays, gather, scatter
from ...lazy.evaluate import evaluate_value
from ...trace.context import current, table
from ...trace.emit import emit
from ...trace.graph import Value
from ...trace.symint import is_integer
from ..apply import apply
from ..leaves import leaf
from ..promotion import cast
from ..tensor import Tensor
from .strides import Ask, laid_out, strides_of

__all__ = [
    "BitsView", "ComplexPartView", "ConcatView", "Derived", "IndexedView", "Perhaps", "concatenate", "in_scope",
    "roots",
]  # fmt: skip


def concatenate(x: Tensor, *others: Any, axis: int = 0) -> Tensor:
    """Eigen's concatenate, ``a.concatenate(b, axis)``; a view where all that is joined are tensors."""
    if others and is_integer(others[-1]):
        others, axis = others[:-1], others[-1]
    value = apply("concatenate", x, *others, axis=axis)
    parts = [p for p in (x, *others) if isinstance(p, Tensor)]
    return ConcatView(value, parts, axis % x.ndim) if len(parts) == 1 + len(others) else value


class Derived(Tensor):
    """A tensor without storage: subclasses say what its value is, and where a new one goes."""

    __slots__ = ()

    def __init__(self, value: Value, *, layout: str, boxed: bool):
        super().__init__(value, layout=layout, boxed=boxed)
        if (trace := current()) is not None:
            trace.views.append(weakref.ref(self))

    @property
    def is_view(self) -> bool:
        return True

    def set_memory(self, array: np.ndarray, known: TensorType | None = None) -> None:
        text = f"{self.user_type} follows from other tensors and has no memory of its own"
        raise OpError(text, "copy() it first", "TX0709")


def in_scope(value: Value) -> bool:
    """Whether a value was made where the trace is, or around it."""
    trace, block = current(), value.node.block
    return block is None or (trace is not None and block in trace.blocks)


class ComplexPartView(Derived):
    """The real or the imaginary part of a complex tensor; a store replaces that part."""

    __slots__ = ("which", "whole")

    def __init__(self, whole: Tensor, which: str):
        super().__init__(apply(which, whole).value, layout=whole.layout, boxed=whole.boxed)
        self.whole, self.which = whole, which

    @property
    def value(self) -> Value:
        return apply(self.which, self.whole).value

    def sources(self) -> Sequence[Tensor]:
        return (self.whole,)

    def own_strides(self) -> tuple[Dim, ...] | None:
        whole = strides_of(self.whole)
        return None if whole is None else tuple(2 * s for s in whole)

    def replace(self, after: Value, before: Value, through: Tensor) -> None:
        new = Tensor(after, layout=self.layout)
        parts = [new if which == self.which else apply(which, self.whole) for which in ("real", "imag")]
        self.whole.store(apply("complex", *parts))


class BitsView(Derived):
    """Integers or bools as integers of the same width: ``x.view(np.uint32)``."""

    __slots__ = ("whole",)

    def __init__(self, whole: Tensor, element: DType):
        super().__init__(cast(whole, element).value, layout=whole.layout, boxed=whole.boxed)
        self.whole = whole

    @property
    def value(self) -> Value:
        return cast(self.whole, self.element).value

    def sources(self) -> Sequence[Tensor]:
        return (self.whole,)

    def own_strides(self) -> tuple[Dim, ...] | None:
        return strides_of(self.whole)

    def replace(self, after: Value, before: Value, through: Tensor) -> None:
        if self.whole.element.kind == "bool":
            # NumPy keeps a byte of 2, which is neither of the two.
            text = f"a store into a view of {self.whole.user_type} as {self.element.numpy}"
            raise OpError(text, "store bools into the array itself", "TX0240")
        self.whole.store(cast(Tensor(after, layout=self.layout), self.whole.element))


class ConcatView(Derived):
    """The parts one after another along `axis` (the user's dims): what it is follows from them at any time."""

    __slots__ = ("_along", "_of", "_parts")

    def __init__(self, joined: Tensor, parts: list[Tensor], axis: int):
        super().__init__(joined.value, layout=joined.layout, boxed=True)
        self._parts, self._along = parts, axis
        self._of = [p.value for p in parts]

    @property
    def value(self) -> Value:
        present = [p.value for p in self._parts]
        if any(a is not b for a, b in zip(present, self._of)) or not in_scope(self._value):
            joined: Tensor = apply("concatenate", *self._parts, axis=self._along)
            self._value, self._of = joined.value, present
        return self._value

    def sources(self) -> Sequence[Tensor]:
        return self._parts

    def replace(self, after: Value, before: Value, through: Tensor) -> None:
        if any(p.has_memory for p in self._parts):
            # The new value may read parts that the first stores change.
            after = leaf(evaluate_value(after))
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

    __slots__ = ("places",)

    def __init__(self, places: IndexArrays):
        made = gather(places)
        super().__init__(made.value, layout=made.layout, boxed=True)
        # Where it is made is where Python raises: what is read and stored later need not be checked again.
        self.places = places if current() is None else replace(places, mode=None)

    @property
    def value(self) -> Value:
        return gather(self.places).value

    def sources(self) -> Sequence[Tensor]:
        return (self.places.source,)

    def own_strides(self) -> tuple[Dim, ...] | None:
        return None

    def replace(self, after: Value, before: Value, through: Tensor) -> None:
        scatter(self.places, Tensor(after, layout=self.layout))


class Perhaps(Derived):
    """What NumPy makes a view where strides allow it, else a copy: the elements are the same until one is stored into.

    `shares` tells which, asking for facts.  It is asked when a store goes through it or into what it may be a view of:
    a program without such stores does not depend on the answer.
    """

    __slots__ = ("_answered", "_either", "_shares", "_source", "_text", "_views", "_where", "shared")

    def __init__(self, source: Tensor, view: Tensor, shares: Callable[[Ask], bool | None], text: str, packed: bool):
        dims = view.type.dims
        strides = packed_strides(dims) if packed else None
        super().__init__(laid_out(view.value, strides), layout=view.layout, boxed=True)
        #: Its strides where they are the same for a view and for a copy.
        self._either = strides
        self._source, self.shared, self._shares, self._text = source, view, shares, text
        self._answered, self._views = False, None
        self._where = user_loc()
        for root in roots(source):
            root._dependents = (*root._dependents, weakref.ref(self))

    @property
    def value(self) -> Value:
        if self._answered and self._views is None:
            self._refuse()
        if self._views:
            return self.shared.value
        if not self._answered and not in_scope(self._value):  # and nobody has stored into what it may be a view of
            self._value = laid_out(self.shared.value, self._either)
        return self._value

    def settle(self) -> None:
        """Decide what it is."""
        if not self._answered:
            for root in roots(self._source):
                if isinstance(root, Perhaps):
                    root.settle()
            self._views, self._answered = self._shares(table().decide), True

    def shares_memory(self) -> bool:
        """Whether it is a view, `shared`.  OpError where that is known only at run time."""
        self.settle()
        if self._views is None:
            self._refuse()
        return bool(self._views)

    def sources(self) -> Sequence[Tensor]:
        return () if self._answered and self._views is False else (self._source,)

    def own_strides(self) -> tuple[Dim, ...] | None:
        if self._either is not None or not self._answered:
            return self._either
        return strides_of(self.shared) if self._views else packed_strides(self.type.dims)

    def replace(self, after: Value, before: Value, through: Tensor) -> None:
        if self.shares_memory():
            self.shared.store(Tensor(after, layout=self.layout))
        else:
            super().replace(after, before, through)

    def _refuse(self) -> NoReturn:
        text = f"whether {self._text} of {self._source.user_type} is a view depends on strides known only at run time"
        text += ", and one of the two is stored into, or both are results"
        # Behind the last line, where results are asked for, there is no line of the function.
        here, made = user_loc(), self._where
        place = made if made is not None and (here is None or here.filename != made.filename) else here
        raise TxcError(text, place, f"write {self._text}(…).copy()", "TX0223")


def roots(t: Tensor) -> Iterator[Tensor]:
    """The tensors through whose storage a store may change `t`, each once: sources may have sources in common."""
    waiting, found = [t], set[int]()
    while waiting:
        t = waiting.pop()
        while t._parent is not None:
            t = t._parent
        if id(t) not in found:
            found.add(id(t))
            yield t
            waiting += reversed(t.sources())
