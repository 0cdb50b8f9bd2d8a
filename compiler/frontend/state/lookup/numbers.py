"""Numbers, one of which is looked up: an array that is a part of the program, or of those that it computes.

Of numbers of several types there are two arrays, as of the items of a list (`item_kinds`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from .....dialects.dims.dims import Dim
from .....dialects.types import DType
from ...numpy.creation import arange
from ...tensor.apply import apply, as_tensor
from ...tensor.tensor import Tensor
from ...trace.context import require
from ..alternatives.mixed_numbers import Common, Kind, kinds_of
from ..containers.growing_lists import FixedList, Records, Stack, together
from ..containers.item_kinds import Kinds
from .places import inside, taken

__all__ = ["Numbers", "Row", "rows_of"]


class Numbers:
    """Numbers of the types that `common` has: the vector of their values, and of several types that of their types."""

    def __init__(self, common: Common, values: Tensor, types: Tensor | None):
        self.common, self.values, self.types = common, values, types

    @property
    def kind(self) -> Kind | None:
        """The type of all; None where there are several."""
        return self.common.kinds[0] if self.types is None else None

    def at(self, place: Tensor) -> Any:
        """The one at a place, which is one of theirs."""
        value = taken(self.values, place)
        if self.types is None:
            return Tensor(value.value, weak=self.common.kinds[0].weak)
        return self._kinds.number(value, taken(self.types, place))

    def stack(self) -> Stack:
        """The items of a list that are these."""
        if self.types is None:
            return Stack(self.values, self.common.kinds[0].weak)
        return Records(self._kinds, [Stack(self.values, ""), Stack(self.types, "")])

    @property
    def _kinds(self) -> Kinds:
        fork = require().fork_value
        assert fork is not None
        return Kinds(self.common, "an item of a list", fork)

    @staticmethod
    def of(items: Sequence[Any]) -> Numbers | None:
        """What is in a list or tuple; None where that is not all numbers, or no dtype holds them."""
        if all(_is_literal(v) for v in items):
            return _literals(items)
        if not all(map(kinds_of, items)) or (found := together(items)) is None:
            return None
        if isinstance(found, Records):
            assert isinstance(found.form, Kinds)
            values, types = (column.rows for column in found.columns)
            return Numbers(found.form.spec, values, types)
        return Numbers(Common.of_kind(Kind(found.weak, found.rows.element)), found.rows, None)


def _is_literal(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex, np.generic)) and bool(kinds_of(value))


def _literals(items: Sequence[Any]) -> Numbers | None:
    """Numbers that are known: one array, or two, however many they are."""
    kinds = [kinds_of(v)[0] for v in items]
    common: Common | None = None
    for kind in dict.fromkeys(kinds):
        of = Common.of_kind(kind)
        common = of if common is None else common.joined_with(of)
        if common is None:
            return None
    if common is None or (len(common.kinds) > 1 and require().fork_value is None):
        return None
    values = _exactly(items, common.element)
    if values is None:
        return None
    if len(common.kinds) == 1:
        return Numbers(common, _literal_array(values), None)
    types = np.array([common.kinds.index(kind) for kind in kinds], np.uint8)
    return Numbers(common, _literal_array(values), _literal_array(types))


def _exactly(items: Sequence[Any], element: DType) -> np.ndarray | None:
    """Numbers as an array of a dtype; None where it does not hold all of them exactly."""
    plain = [v.item() if isinstance(v, np.generic) else v for v in items]
    try:
        made = np.array(plain, element.numpy)
    except OverflowError:
        return None
    return made if all(a == b or b != b for a, b in zip(made.tolist(), plain)) else None


def _literal_array(array: np.ndarray) -> Tensor:
    """An array of the program's, one for all that has the same elements."""
    return as_tensor(require().literals.setdefault((array.dtype.str, array.tobytes()), array))


class Row(Stack):
    """The numbers of a list that is an item of another one: of all of these, those from a place on.

    `sizes` are those of the lists in lists that it is made of; the only one of a list of numbers may be an int that
    only the compiled function knows.
    """

    def __init__(self, numbers: Numbers, start: Tensor, sizes: tuple[Any, ...]):
        kind = numbers.kind
        assert kind is not None
        self._numbers, self._start, self._sizes = numbers, start, sizes
        self.weak, self.depth, self.present = kind.weak, len(sizes), None
        self.shared_in, self.others, self._of = "", [], []

    @property
    def room(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        size, *more = self._sizes
        if isinstance(size, Tensor):
            return self._numbers.values[self._start : self._start + size]
        for other in more:
            size = size * other
        return taken(self._numbers.values, self._start + arange(size)).reshape(self._sizes)

    @property
    def count(self) -> Dim:
        return self.rows.dims[0]

    def at(self, i: Any) -> Any:
        first, *more = self._sizes
        place = inside(i, first, "list")
        for size in more:
            place = apply("mul", place, size)
        start = apply("add", self._start, place)
        return as_list(Row(self._numbers, start, tuple(more))) if more else self._numbers.at(start)


def as_list(row: Row) -> FixedList:
    made = FixedList()
    made.add(row)
    return made


def rows_of(items: Sequence[Any], place: Tensor) -> FixedList | None:
    """The item at a place of a list of lists of known numbers, all of one type; None where it is no such list."""
    sizes = _sizes(items)
    flat = [*_flat(items)]
    numbers = _literals(flat) if flat and all(map(_is_literal, flat)) else None
    if numbers is None or numbers.kind is None:
        return None
    if sizes is not None:
        each = reduce(lambda a, b: a * b, sizes[1:])
        return as_list(Row(numbers, apply("mul", place, each), sizes[1:]))
    if any(isinstance(v, list) for row in items for v in row):
        return None
    lengths = np.array([len(row) for row in items])
    starts = np.cumsum(lengths) - lengths
    size, start = (taken(_literal_array(array), place) for array in (lengths, starts))
    return as_list(Row(numbers, start, (Tensor(size.value, weak="int"),)))


def _sizes(items: Any) -> tuple[int, ...] | None:
    """The sizes of lists in lists as those of an array; None where they are none."""
    if not isinstance(items, list):
        return ()
    inner = {_sizes(item) for item in items}
    below = inner.pop() if len(inner) == 1 else None
    return None if below is None else (len(items), *below)


def _flat(items: Any) -> Any:
    for item in items:
        if isinstance(item, list):
            yield from _flat(item)
        else:
            yield item
