"""What stands for values behind an `if` until its results are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .....dialects.dims.dims import Dim
from ...tensor.tensor import Tensor
from ..alternatives.mixed_numbers import Common
from ..containers.growing_lists import Stack

__all__ = ["Alternatives", "Gathered", "Inside", "Joined", "Mixed", "PerhapsAppended", "Reference", "Sized"]


class Joined(NamedTuple):
    """Stands for a result of the `if` until it is made."""

    number: int


class PerhapsAppended(NamedTuple):
    """Stands for what one branch appends to a list: `rows` in any case, and the bools that say whether they are there.

    Of items of several parts there are rows for each, and `of` is an `Item`; else what the branch `side` appends there.
    """

    rows: list[Joined | Sized]
    present: Joined | Sized | Tensor
    of: Any
    side: int
    label: str


class Gathered(NamedTuple):
    """Stands for the items `of` a loop as one side has them: what becomes of the leaves' room, and of the bools."""

    rooms: list[Any]
    present: Any
    of: Stack
    side: int


class Reference(NamedTuple):
    """Stands for an array of others as one side has it: what makes it, of what become of some parts."""

    make: Callable[..., Tensor]
    parts: list[Any]


class Alternatives(NamedTuple):
    """Stands for one of several values, each with its side and, where that has several, the place of a condition."""

    options: list[tuple[Any, int, Joined | None]]
    label: str
    text: str
    hint: str


class Mixed(NamedTuple):
    """Stands for a number of one type or another: its value, and for each type when it is of that, and what it is then.

    A condition is a place, or a bool for that of the `if` and its contrary.
    """

    common: Joined
    spec: Common
    conds: list[int | bool]
    values: list[Any]
    label: str


class Sized(NamedTuple):
    """Stands for an array of one side whose sizes are known inside it: memory for the largest, and the sizes."""

    room: Joined
    sizes: list[Joined]
    most: list[Dim]


class Inside(Exception):
    """A value is a branch's own, and there is no way to hand it on."""
