"""Items of a list that are numbers of one type or another: how they are kept, and the dtype of NumPy's array of them.

A list that a compiled loop fills has its items in arrays.  Of numbers of several types there are two: the values, in a
dtype that holds each exactly, and for each item the number of its type among `Kinds.spec.kinds`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .....dialects.dims.dims import Dim
from .....dialects.types import DTYPES, DType, dtype
from ...scalars.python_numbers import as_float, checked
from ...tensor.apply import apply, as_tensor
from ...tensor.broadcasting import broadcast_to
from ...tensor.promotion import cast
from ...tensor.tensor import Tensor
from ..alternatives.mixed_numbers import Common, MixedNumber, common_value, is_of

__all__ = ["Kinds", "Outcomes", "outcomes"]

#: The most types that may or may not occur, of which the dtype of an array is found out.
_MOST_UNSURE = 6


class Kinds(NamedTuple):
    """Of which types items may be; `fork` is `ControlFlow.fork_value`, and `name` is how messages call an item."""

    spec: Common
    name: str
    fork: Callable[..., Any]

    def parts(self, number: Any) -> tuple[Tensor, Tensor]:
        """The value of a number of one of the types, and which of them it is of."""
        first, *others = range(len(self.spec.kinds))
        tag = as_tensor(np.uint8(first))
        for k in others:
            of = is_of(number, self.spec.kinds[k])
            if of is not False:
                tag = as_tensor(np.uint8(k)) if of is True else apply("select", of, np.uint8(k), tag)
        return common_value(number, self.spec.element), tag

    def number(self, value: Tensor, tag: Tensor) -> MixedNumber:
        """The number that has these parts."""
        conds = [self.is_kind(tag, k) for k in range(len(self.spec.kinds))]
        return MixedNumber(self.name, value, self.spec, conds, self.fork)

    @staticmethod
    def is_kind(tags: Tensor, k: int) -> Tensor:
        """Which items are of the type number `k`."""
        return apply("equal", tags, np.uint8(k))

    def columns(
        self, values: Tensor, common: Common, tags: Tensor | None, dims: tuple[Dim, ...]
    ) -> tuple[Tensor, Tensor]:
        """The parts of items that are kept as `common` says, of which there are as many as `dims` says; None: all are
        of its only type."""
        made = _as_element(values, common, self.spec.element)
        numbers = [self.spec.kinds.index(kind) for kind in common.kinds]
        if tags is None:
            alike = as_tensor(np.uint8(numbers[0]))
            return made, broadcast_to(alike, dims, "row") if dims else alike
        if numbers == [*range(len(numbers))]:
            return made, tags
        of = as_tensor(np.uint8(numbers[0]))
        for k, number in enumerate(numbers[1:], 1):
            of = apply("select", self.is_kind(tags, k), np.uint8(number), of)
        return made, of


def _as_element(values: Tensor, common: Common, element: DType) -> Tensor:
    """Values in a dtype that holds them: OverflowError where a float does not hold a Python int."""
    made = cast(Tensor(values.value), element)
    if element.part is not DTYPES["f64"] or not any(kind.weak == "int" for kind in common.kinds):
        return made
    if not common.element.is_integer:
        return made
    if not values.ndim:
        return cast(as_float(Tensor(values.value, weak="int"), exactly=True), element)
    back = cast(cast(made, DTYPES["f64"]), DTYPES["i64"])
    exact = apply("logical_and", back == values, values < 2**62)
    return checked(made, Tensor(exact.all().value), OverflowError, _INEXACT)


_INEXACT = "an int beyond 2**53 in a list that has floats too: compiled code keeps both as floats, which do not hold it"


class Outcomes(NamedTuple):
    """The dtypes that NumPy's array of a list may have; `which` is the number of the one it has, where there are
    several."""

    elements: Sequence[DType]
    which: Tensor | None


def outcomes(present: Mapping[DType, Any]) -> Outcomes | None:
    """Of items of some dtypes, each of which there is where its condition is true; None where NumPy has no dtype for
    them, or their order decides about it."""
    sure = [element for element, cond in present.items() if cond is True]
    unsure = [(element, cond) for element, cond in present.items() if cond is not True]
    if len(unsure) > _MOST_UNSURE:
        return None
    found: list[DType | None] = []
    for chosen in itertools.product((False, True), repeat=len(unsure)):
        here = [*sure, *(element for (element, _), there in zip(unsure, chosen) if there)]
        made = _array_dtype(here)
        if here and made is None:
            return None
        found.append(made)
    elements = [*dict.fromkeys(element for element in found if element is not None)]
    if len(elements) == 1:
        return Outcomes(elements, None)
    # Of no items NumPy makes float64; where that is none of these, the call asks that there are some.
    empty = elements.index(DTYPES["f64"]) if DTYPES["f64"] in elements else 0
    numbers = np.array([empty if element is None else elements.index(element) for element in found])
    code = as_tensor(0)
    for _, cond in unsure:
        code = code * 2 + cast(as_tensor(cond), DTYPES["i64"])
    return Outcomes(elements, as_tensor(numbers)[Tensor(code.value)])


def _array_dtype(elements: Iterable[DType]) -> DType | None:
    """The dtype of NumPy's array of a list that has items of these; None where that depends on their order, or is none
    of ours."""
    found: set[np.dtype[Any]] = set()
    for some in ([*elements], [*elements][::-1]):
        if not some:
            return None
        found.add(np.array([np.zeros((), element.numpy)[()] for element in some]).dtype)
    try:
        return dtype(found.pop()) if len(found) == 1 else None
    except TypeError:
        return None
