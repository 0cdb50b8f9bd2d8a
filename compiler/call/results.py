"""What a call returns, from the arrays that compiled code made, wrote, or was given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...runtime.buffers.array_view import array_view
from .made_objects import MadeOutput
from .signature import (
    BoxedOutput,
    ChainedOutput,
    ColumnMajorOutput,
    EitherOutput,
    GivenOutput,
    IntOutput,
    ListOutput,
    Literal,
    MixedOutput,
    NumberOutput,
    NumbersOutput,
    SizedOutput,
    ViewOutput,
    ZippedOutput,
    like,
)

__all__ = ["Results"]

_PYTHONS: dict[str, Any] = {"bool": bool, "int": int, "float": float, "complex": complex}


class Results:
    """``Results(outputs).of(structure)``: the function's result in the form the user wrote.

    Outputs of rank 0 become scalars where NumPy has them; those in `places`, which the caller gave, and those on a
    device stay arrays.  `given` are the caller's arrays in the order of the graph's inputs, `named` those by name that
    share memory; `views` has sizes, strides and offset of each `ViewOutput`.  With `lazy`, a class, arrays are tensors
    of that.
    """

    def __init__(
        self, outputs: Sequence[Any], places: Mapping[Any, Any] | None = None, lazy: Any = None,
        given: Sequence[Any] = (), views: Sequence[tuple[Any, ...]] = (), named: Mapping[str, Any] | None = None,
    ):  # fmt: skip
        self._outputs, self._places, self._lazy = outputs, places or {}, lazy
        self._given, self._views, self._named = given, views, named or {}
        #: The arrays of the caller, which tensors of them share.
        self._shared = {id(array) for array in (*given, *self._named.values())}
        self._made: dict[Any, Any] = {}
        #: By the identity of their structures.
        self._objects: dict[int, Any] = {}

    def of(self, structure: Any) -> Any:
        """The part of the result that a structure stands for; what is in it twice is one object."""
        if structure is None:
            return None
        if isinstance(structure, IntOutput):
            return self._views[structure.number][0][0]
        if isinstance(structure, (int, ViewOutput, GivenOutput)):
            if structure not in self._made:
                self._made[structure] = self._part(structure)
            return self._made[structure]
        if isinstance(structure, Literal):
            return structure.value
        if isinstance(structure, EitherOutput):
            return self.of(structure.of(self._outputs))
        if isinstance(structure, MadeOutput):
            if id(structure) not in self._objects:
                self._objects[id(structure)] = structure.make([self.of(part) for part in structure])
            return self._objects[id(structure)]
        if isinstance(structure, ChainedOutput):
            return [item for part in structure for item in self.of(part)]
        if isinstance(structure, MixedOutput):
            makers = [_PYTHONS[name] if name in _PYTHONS else np.dtype(name).type for name in structure.types]
            values, numbers = (np.asarray(self.of(column)).tolist() for column in structure)
            real = {"complex", "complex64", "complex128"}.isdisjoint

            def number(v: Any, n: int) -> Any:
                return makers[n](v.real if real([structure.types[n]]) else v)

            return _each(number, values, numbers)
        if isinstance(structure, ZippedOutput):
            return [structure.form(item) for item in zip(*map(self.of, structure))]
        if isinstance(structure, dict):
            return {k: self.of(v) for k, v in structure.items()}
        return like(structure, [self.of(v) for v in structure])

    def _part(self, x: Any) -> Any:
        if isinstance(x, int):
            array = x.of(self._outputs) if isinstance(x, SizedOutput) else self._outputs[x]
        else:
            array = self._named[x] if isinstance(x, GivenOutput) else self._view(x)
            if x in self._places:
                self._places[x][...] = array
                return self._places[x]
        if self._lazy is not None:
            is_column = isinstance(x, ColumnMajorOutput) or (isinstance(x, ViewOutput) and x.column)
            shares = not isinstance(x, int) or id(array) in self._shared
            return self._lazy.from_array(array, "col" if is_column else "row", shares)
        items = x.items if isinstance(x, SizedOutput) else type(x).__name__
        if items in (ListOutput.__name__, NumbersOutput.__name__):
            return array.tolist() if items == NumbersOutput.__name__ else list(array)
        is_array = not isinstance(x, int) or isinstance(x, BoxedOutput) or x in self._places
        if is_array or not isinstance(array, np.ndarray) or array.ndim:
            return array
        return array.item() if isinstance(x, NumberOutput) else array[()]

    def _view(self, view: ViewOutput) -> np.ndarray:
        kind, number = view.base
        base = np.asarray(self._given[number]) if kind == "input" else self._outputs[number]
        # NumPy has two names for some types: the view's is that of its base.
        element = base.dtype if base.dtype.name == view.element else np.dtype(view.element)
        shape, strides, offset = self._views[view.number]
        return array_view(base, element, shape, strides, offset, view.read_only)


def _each(number: Callable[[Any, Any], Any], values: list[Any], numbers: list[Any]) -> list[Any]:
    """What a function makes of each value, and of what another list has in its place, in lists of lists as they are."""
    return [_each(number, v, n) if isinstance(v, list) else number(v, n) for v, n in zip(values, numbers)]
