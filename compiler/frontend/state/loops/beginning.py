"""What is known of a loop of compiled code before it is staged: what its locations hold, and what surely is carried."""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .....dialects.dims.dims import Dim
from ....diagnostics import TxcError
from ...staging.rewriting.break_lowering import GENERATED_PREFIX
from ...tensor.tensor import Tensor
from ...trace.captures import Captures
from ...trace.undefined import Undefined
from ..alternatives.mixed_numbers import Common, Kind, kinds_of
from ..containers.growing_lists import Appending, GrowingList, Item, Stack
from ..containers.staged_dicts import StagedDict
from ..state import UNSET, Location, Names, Roots, State, is_number
from .forms import Form, Number, lists_in
from .outcomes import AtLast, Carries, Learnt
from .references import Reference

__all__ = ["ITEMS", "LoopBefore", "among", "held_at", "is_boxed", "is_keyed", "listed", "references_to"]

#: The key of all that a list holds.
ITEMS = object()


class LoopBefore:
    """A loop as it is before its first iteration.

    `again` is `ControlFlow.fork_value`, by which values of one kind or another are used.

    `runs` says whether it has an iteration, where that is known or can be made a fact of the call; it is asked where
    something depends on it; `ran` says it by a value of compiled code.  `count` is how many it has, where each one
    runs.  With `refers`, a variable may refer to arrays of others that the loop stores into (`references`), at the cost
    of stores into each of them.  `follows`: whether iterations may be put together where references take turns.  `own`
    are variables that the loop's head sets.
    """

    locations: list[Location]
    #: What the locations hold before the loop, and what else the loop carries from there.
    given: list[Any]
    #: The numbers of what is carried of sizes that may change, and of vectors whose sizes do.
    resized: set[int]
    vectors: set[int]
    #: What an iteration leaves in the locations, and the arrays from before that each of these may refer to.
    handed: list[Any]
    aliases: list[list[Tensor]]
    #: How many iterations are over before the one that is staged, where each one runs.
    number: Any
    #: What the loop's counter is in the last iteration, by its symbol.
    at_last: AtLast | None = None
    #: What locations hold at the begin of the iteration.
    heads: Mapping[Location, Any] = types.MappingProxyType({})
    #: Of which types the numbers are that an iteration leaves.
    end_kinds: Mapping[Location, Sequence[Kind]] = types.MappingProxyType({})

    def __init__(
        self, roots: Roots, captures: Captures, carries: Carries, unset: Callable[[Undefined], None],
        *, runs: Callable[[], bool | None], follows: bool = False, own: Iterable[str] = (),
        count: Callable[[], Any] | None = None, ran: Callable[[], Any] = lambda: True, learnt: Learnt | None = None,
        refers: bool = False, peels: bool = False, again: Callable[..., Any],
    ):  # fmt: skip
        self.learnt = Learnt() if learnt is None else learnt
        self.roots, self.is_outside, self.carries, self.unset = roots, captures.is_outside, carries, unset
        self.runs, self.follows, self.own, self.count, self.ran = runs, follows, tuple(own), count, ran
        self.refers, self.peels, self.again = refers or captures.refers, peels, again
        self.loops, self.unknown = captures.loops, captures.unset
        #: What iterations hand on that is no number, and the numbers of its leaves among what is carried.
        self.forms: dict[Location, Form] = {}
        self.leaves: dict[Location, range] = {}
        #: What an iteration left in these, by the form that there was.
        self.seen: dict[Location, tuple[Form, Sequence[Any]]] = {}
        #: By identity, how often lists and dicts are referred to before the loop, and behind an iteration.
        self.references_before = self.references_after = Counter[int]()
        #: The variables, by identity, that an iteration found without a value, and used as such.
        self.found_unset: set[int] = set()
        #: What refers to one of several arrays, and the numbers of what is carried that says to which.
        self.references: dict[Location, Reference] = {}
        self.which: dict[Location, range] = {}
        #: Of these, those that a loop may do without; and what turned out to refer to no such arrays.
        self.wished: set[Location] = set()
        self.unreferable: set[Location] = set()
        #: What the latest iteration left with what another location held before it.
        self.passed_on: list[Location] = []
        #: By identity: a list that each iteration appends to, an item, how many, and where they are gathered.
        self.grown: dict[int, tuple[GrowingList, Item, int, Stack | None]] = {}
        #: What loops around this one append to it.
        self.around: dict[int, Appending | None] = {}
        #: What this iteration appends to each, with the label of the list.
        self.appended: dict[int, tuple[str, list[Item]]] = {}
        #: Of those whose arrays others see: what these were before the loop, and the numbers of carried ones.
        self.shared_items: dict[int, tuple[str, list[Tensor], list[int]]] = {}
        self.before = State(roots, captures.is_outside)
        self.everything = captures.everything()
        self.references_before = references_to(self.everything, self.before)
        #: Variables that hold nothing at the begin of an iteration, with why they hold nothing behind the loop.
        self.local: dict[Location, Undefined] = {}
        #: What is to be said of a local variable that an iteration turns out to read from before it.
        self.given_up: dict[Location, TxcError] = {}
        #: Those of them whose sizes only are others, and those arrays that are carried though their sizes change.
        self.given_up_sizes: list[Location] = []
        self.resizable: list[Location] = []
        #: Those that hold one of several arrays before the loop, and others after an iteration.
        self.several: list[Location] = []
        #: Variables of which only what the last iteration leaves is asked.
        self.last: list[Location] = []
        #: Ints of the last iteration, in terms of the loop's counter.
        self.closed: dict[Location, Dim] = {}
        self.carried: list[Location] = []
        for label, holder in roots.items():
            variables = holder if isinstance(holder, Names) else [label]
            for name in variables:
                location = Location(holder, name if isinstance(holder, Names) else "", name)
                self._classify(location, self.before.at(location))
        self._begin_from(self.learnt)

    def _begin_from(self, learnt: Learnt) -> None:
        for location in learnt.carried:
            if location not in self.carried and location not in self.local and is_number(self.before.at(location)):
                self.carried.append(location)
        self.resizable += [location for location in learnt.resizable if location in self.carried]
        for location, form in learnt.numbers.items():
            value = self.before.at(location) if location.holder in self.before else UNSET
            common = Common.of(value).of_kinds(form.common.kinds) if kinds_of(value) else None
            if common is not None and location not in self.local:
                self.forms[location] = Number(location.label, common)
                if location in self.carried:
                    self.carried.remove(location)
        for location in learnt.last:
            unset = location in self.local or (location.holder in self.before and self.before.at(location) is UNSET)
            if unset and (location.label.startswith(GENERATED_PREFIX) or self.runs()):
                self.local.pop(location, None)
                self.last.append(location)

    def _classify(self, location: Location, value: Any) -> None:
        name = location.label
        anew = name in self.carries.bound and name not in self.carries.at_head
        if name in self.own or (anew and (name not in self.carries.after or value is UNSET)):
            self.local[location] = Undefined(name)
        elif name in self.carries.bound and is_number(value):
            self.carried.append(location)


def held_at(state: State, location: Location) -> Any:
    """What a location holds, where it may be all items of a list: a list of these."""
    return listed(state.of(location.holder).values()) if location.key is ITEMS else state.at(location)


def is_keyed(location: Location) -> bool:
    """Whether it is a key of a dict that may have it or not."""
    return isinstance(location.holder, StagedDict)


def listed(parts: Iterable[Any]) -> GrowingList:
    made = GrowingList()
    made.set_parts(parts)
    return made


def references_to(*states: State) -> Counter[int]:
    """By identity, how often what locations hold refers to a list or dict; later states are of later times."""
    held: dict[tuple[int, Any], Any] = {}
    for state in states:
        for holder, _, contents in state.holders.values():
            held.update({(id(holder), key): value for key, value in contents.items()})
    return Counter(id(x) for value in held.values() for x in lists_in(value, deeply=False))


def is_boxed(value: Tensor) -> bool:
    return bool(value.ndim) or value.boxed


def among(t: Any, others: Iterable[Any]) -> bool:
    return any(t is other for other in others)
