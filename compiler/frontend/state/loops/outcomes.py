"""How a loop of compiled code is asked for, and what staging it comes to: it settles, or has to be staged otherwise."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from .....dialects.dims.dims import Dim, Sym
from ....diagnostics import TxcError, user_loc
from ...staging.regions.carried import Hints
from ...trace.captures import Captures
from ..state import Location
from .forms import Number

__all__ = [
    "Again", "AtLast", "Carries", "FirstApart", "Learnt", "MayNotRun", "NeverRuns", "Periodic", "Unrepeatable",
    "learnt_of",
]  # fmt: skip


class Carries(NamedTuple):
    """The names that a loop's statements bind; of these, those that an iteration may read from before it, and those
    that are read behind the loop."""

    bound: Sequence[str]
    at_head: Sequence[str]
    after: Sequence[str]


class AtLast(NamedTuple):
    """The counter of a loop, what it is in the last iteration, and the symbols that mean something behind the loop."""

    counter: Sym
    last: Dim
    outside: Collection[Sym]

    def of(self, d: Dim) -> Dim | None:
        """What a size of an iteration is in the last one; None where more than the counter decides that."""
        found = d.substitute({self.counter: self.last})
        return found if all(s in self.outside for s in found.symbols()) else None


class Learnt:
    """What is known of a loop from staging it before, in an earlier try of a loop around it: then it settles at once.

    Only a place to begin from: what does not fit any more is left out.
    """

    def __init__(self) -> None:
        self.carried: list[Location] = []
        self.last: list[Location] = []
        self.resizable: list[Location] = []
        #: Those that referred to one of several arrays, and those that no iteration read, with why none is handed on
        #: and whether its sizes alone changed.
        self.references: list[Location] = []
        self.given_up: dict[Location, tuple[TxcError, bool]] = {}
        #: The types of numbers that may be of several.
        self.numbers: dict[Location, Number] = {}
        #: By the names of what the loop carries.
        self.regions: dict[tuple[str, ...], Hints] = {}
        #: The nodes that a copy of the body adds.
        self.adds: float | None = None
        #: Of a `while`: whether its condition is known at first, and differs between calls behind the first iteration,
        #: and whether that iteration may be one of the loop's.
        self.peels = False
        self.all_in_one = True
        #: After how many iterations references come back.
        self.period = 1
        #: Why it was no loop of compiled code, as often as that was tried.
        self.refusals: list[Exception] = []

    def hints(self, names: Sequence[str]) -> Hints:
        """What is known of the loop's region where it carries what these names say."""
        return self.regions.setdefault(tuple(names), Hints())


def learnt_of(captures: Captures, carries: Carries) -> Learnt:
    """What is known of the loop that is staged now."""
    return captures.learnt.setdefault((user_loc(), *map(tuple, carries)), Learnt())


class Again(Exception):
    """Something was learnt: the body has to run once more."""


class Periodic(Exception):
    """References come back only after `period` iterations."""

    def __init__(self, period: int):
        self.period = period


class Unrepeatable(Exception):
    """What the last iteration leaves in a variable cannot be handed on: that iteration has to stand by itself."""

    def __init__(self, name: str):
        self.name = name


class FirstApart(Exception):
    """The first iteration begins from a state that no later one begins from; `error` is for who cannot run it apart.

    `refers`: it begins from an array that others see, to which variables may refer.
    """

    def __init__(self, error: TxcError, refers: bool = False):
        self.error, self.refers = error, refers


class NeverRuns(Exception):
    """The loop has no iteration, which is a fact of the call."""


class MayNotRun(Exception):
    """What the loop leaves depends on whether it has an iteration, which compiled code decides."""
