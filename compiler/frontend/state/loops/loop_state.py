"""A loop of compiled code as a fixpoint over locations: which its iterations hand on, and what they hold behind it.

The body runs as often as it takes to settle that, each time from the state before the loop, with what is carried set to
stand-ins.  Behind it

* a number or array that changed is *carried*: `regions` makes it an argument of the loop
* an array that variables only pass around (``a, b = b, a``) asks for as many iterations in one as bring it back: then
  the references are Python's own
* a variable that each iteration sets before it reads it is *local* to the iteration and may hold anything
* an int that follows from the loop's counter is computed behind the loop
* anything else that changed cannot be an iteration's: a variable has no value then, a container is an error.
"""

from __future__ import annotations

import types
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import lcm
from typing import Any, NoReturn

from .....dialects.dims.dims import Dim
from .....dialects.registry import OpError
from ....diagnostics import TxcError, user_loc
from ...staging.break_lowering import GENERATED_PREFIX
from ...staging.regions import SharedStart, Unsettled, is_inside, is_seen
from ...tensor.composite_views import roots
from ...tensor.tensor import Tensor
from ...trace.captures import Captures
from ...trace.context import require
from ...trace.symint import SymInt, symint
from ...trace.undefined import Undefined, unset_name
from ..choice import Choice, PerhapsOfOthers
from ..growing_lists import (
    Appending,
    ByItems,
    GrowingList,
    Item,
    Stack,
    is_record,
    stack_for,
    together,
    unknown_length,
)  # fmt: skip
from ..iterators import KeptIterator
from ..merging import described, is_known_view, same_value
from ..mixed_numbers import Common, Kind, MixedNumber, kinds_of, of_one_type
from ..one_of import OneOf
from ..resized import as_arrays, is_one_array
from ..sharing import is_array, shared_again
from ..staged_dicts import StagedDict, in_one_order, is_missing, may_miss
from ..state import UNSET, Location, Names, Roots, State, arrays_of, is_number, kind_of, label_of, put_back
from .forms import Form, Items, NoForm, Number, lists_in, options_in
from .outcomes import Again, AtLast, Carries, FirstApart, Learnt, MayNotRun, NeverRuns, Periodic, Unrepeatable
from .references import Noted, Reference, referred

__all__ = ["LoopState"]

_ROUNDS = 64
#: The key of all that a list holds.
_ITEMS = object()
#: The most iterations in one that references may take to come back.
_LONGEST_PERIOD = 8


class LoopState:
    """What the iterations of one loop hand on, and what they leave.

    `again` is `ControlFlow.fork_value`, by which values of one kind or another are used.

    `runs` says whether it has an iteration, where that is known or can be made a fact of the call; it is asked where
    something depends on it; `ran` says it by a value of compiled code.  `count` is how many it has, where each one
    runs.  With `refers`, a variable may refer to arrays of others that the loop stores into (`references`), at the cost
    of stores into each of them.  `follows`: whether iterations may be put together where references take turns.  `own`
    are variables that the loop's head sets.
    """

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
        self.references_before = _references(self.everything, self.before)
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

    # The whole loop

    def run(self, loop: Callable[[list[Any], list[str]], Sequence[Any]]) -> None:
        """``loop(initial values, their names)`` until it settles: what is carried behind it; then the state is that.

        It calls `iteration` with what is carried.
        """
        for _ in range(_ROUNDS):
            self._join()
            self.locations = [*self.carried, *self.last]
            #: Passed on as it is, so that errors can say that they are of this loop.
            given = [Undefined(p.label) if p in self.last else self.before.at(p) for p in self.locations]
            self.given: list[Any] = [Undefined(p.label) if v is UNSET else v for p, v in zip(self.locations, given)]
            self.resized = {i for i, location in enumerate(self.locations) if location in self.resizable}
            self.vectors: set[int] = set()
            names = [p.label for p in self.locations]
            for i, location in enumerate(self.locations):
                if (reference := self.references.get(location)) is not None:
                    starts = reference.starts()
                    self.which[location] = range(len(self.given), len(self.given) + len(starts))
                    self.given[i] = Undefined(location.label)
                    self.given += starts
                    names += [f"which array {location.label} is"] * len(starts)
                    self.resized |= {len(self.given) - len(reference.own) + k for k in reference.resized}
            for number, (grown, item, each, stack) in self.grown.items():
                assert self.count is not None
                if stack is None:
                    alike = (s for _, other, _, s in self.grown.values() if s and other.present is item.present)
                    self.grown[number] = grown, item, each, stack_for(item, self.count() * each, next(alike, None))
                self.around.setdefault(number, grown.appending)
            for location, form in self.forms.items():
                self.leaves[location] = range(len(self.given), len(self.given) + form.size)
                self.vectors |= {len(self.given) + k for k in form.vectors}
                self.given += form.starts(_at(self.before, location), self.again)
                names += [location.label] * form.size
            self.resized |= self.vectors
            self.loops.append(self)
            try:
                found = loop(self.given, names)
            except Again:
                continue
            except NameError as error:
                self._read_for(error)
                continue
            except ByItems as found_out:
                if id(found_out.grown) not in self.grown:
                    raise  # a loop around this one appends to it
                if not self._carry_items(found_out.grown):
                    raise found_out.error from None
                continue
            except TxcError as error:
                cause = error.__cause__
                if not isinstance(cause, (SharedStart, Unsettled)) or cause.carried is not self.given:
                    raise
                if isinstance(cause, Unsettled) and cause.index >= len(self.locations):
                    raise
                if isinstance(cause, SharedStart):
                    location = next((p for p in self.locations if p.label == cause.name), None)
                    if location is None or not self._may_refer(location):
                        raise FirstApart(error, refers=True) from None
                    continue
                self._give_up(self.locations[cause.index], error, isinstance(cause, Unsettled) and cause.resized)
                continue
            finally:
                self.loops.pop()
                self.before.restore()
                for number, around in self.around.items():
                    self.grown[number][0].begin(around)
            self.learnt.carried, self.learnt.last = [*self.carried], [*self.last]
            self.learnt.resizable = [*self.resizable]
            self.learnt.numbers = {p: form for p, form in self.forms.items() if isinstance(form, Number)}
            self._leave(found)
            return
        text = "what the variables of a loop hold does not settle"
        raise TxcError(text, user_loc(), "give them values before it", "TX0292")

    def _join(self) -> None:
        """Make one array of what is one of several before the loop, where iterations let a variable hold another."""
        values = [self.before.at(location) for location in self.several]
        for location, value, made in zip(self.several, values, as_arrays(values)):
            of = [root for array, _ in value.options for root in roots(array)]
            seen = [root for root in of if is_seen(root, self.is_shared)]
            if seen:
                hint = f"copy() it before the loop: {location.label} = ….copy()"
                made = PerhapsOfOthers(location.label, "an array from before the loop", made, seen, hint)
            self.before.of(location.holder)[location.key] = made
        self.before.restore()
        self.several = []

    def _may_refer(self, location: Location, is_wished: bool = False) -> bool:
        """Let a location refer to one of several arrays; False where it does, or cannot.

        `is_wished`: the loop can do without, so where that fails it is tried without.
        """
        if location in self.wished:
            self.wished.remove(location)
            self.unreferable.add(location)
            del self.references[location]
            return True
        others = [*self.references, *self.unreferable, *self.last, *self.resizable, *self.forms]
        given = self.before.at(location)
        if not self.refers or location in others or referred(given) is None:
            return False
        if location not in self.carried:
            self.carried.append(location)
        self.references[location] = Reference(location.label, given, self.again)
        if is_wished:
            self.wished.add(location)
        return True

    def _is_resized(self, location: Location, value: Any) -> bool:
        """Whether a value is one of several arrays, and the sizes of the variable may change."""
        return location in self.resizable and is_one_array(value, self.before.at(location))

    def _which(self, i: int, arguments: Sequence[Any], handed: Sequence[Any]) -> list[Any]:
        """What the loop carries that says which array a location refers to.

        SharedStart where it is another variable's as well, or what no later iteration can refer to.
        """
        location = self.locations[i]
        reference, block = self.references[location], require().region
        noted, given = Noted(reference), [arguments[k] for k in self.which[location]]
        kept = reference.own_among(given)
        mine: list[Tensor] = []
        for array, cond in referred(handed[i]) or self._refuse_to_refer(location):
            if reference.note(noted, array, cond):
                continue
            if _among(array, kept) or self._is_its_own(array, arguments):
                mine += roots(array)
                if not reference.note_own(noted, array, cond):
                    if not reference.add_own(array):
                        self._refuse_to_refer(location)
                    raise Again
            elif reference.add(array, block):
                raise Again
            else:
                # What stands for the array of a variable is none of those from before: that refers to several as well.
                standing = (p for p, a in zip(self.locations, arguments) if _among(a, roots(array)))
                other = next(standing, location)
                self._refuse_to_refer(location if other in self.references else other)
        if any(_among(root, mine) for k, other in enumerate(handed) if k != i for root in _roots(other)):
            self._refuse_to_refer(location)
        return reference.carried(noted, kept)

    def _refuse_to_refer(self, location: Location) -> NoReturn:
        raise SharedStart(self.given, location.label)

    def _is_its_own(self, array: Tensor, arguments: Sequence[Any]) -> bool:
        """Whether an array came to be in iterations, and is no part of what a variable holds that others see."""
        given = dict(zip(map(id, arguments), self.given))
        return (
            self._is_own(array)
            and not _among(array, arguments)
            and not any(is_seen(given[id(root)], self.is_shared) for root in roots(array) if id(root) in given)
        )

    def is_shared(self, owner: Tensor) -> bool:
        """Whether more than one variable, or place that hangs on one, held an array or a view of it before the loop."""
        found = [location for location, value in self.everything.locations() if _among(owner, arrays_of(value))]
        return sum(location not in self.local for location in found) > 1

    def may_bind(self, cell: Any) -> bool:
        """Whether iterations may bind a variable that this one found without a value, which it may not be later."""
        location = Location(cell, "", "")
        if location in self.given_up:
            return True
        name = next((name for name, holder in self.roots.items() if holder is cell), None)
        unknown = location not in self.local and location not in self.last and location not in self.forms
        return name in self.carries.bound and unknown and self.before.at(location) is UNSET

    def found(self, cell: Any) -> None:
        """Note that the iteration that is staged uses that a variable holds nothing."""
        if self.may_bind(cell):
            self.found_unset.add(id(cell))

    def _read_for(self, error: NameError) -> None:
        """An iteration reads a variable that holds nothing: carry it where only its sizes change, or where others may
        have bound it; else say why."""
        name = unset_name(error)
        for location, why in self.given_up.items():
            if location.label == name:
                if location not in self.given_up_sizes or location in self.references:
                    raise FirstApart(why) if self.peels else why from error
                del self.given_up[location], self.local[location]
                self.given_up_sizes.remove(location)
                self.carried.append(location)
                self.resizable += [location, *(other for other in self.carried if self._as_long(other, location))]
                return
        cell = self.roots.get(name)
        if cell is None or not self.may_bind(cell):
            raise error
        if not self._has_form(Location(cell, "", name), UNSET, UNSET):
            raise error

    def _has_form(self, location: Location, was: Any, now: Any) -> bool:
        """Let a location be carried by the form that what it holds before and after an iteration have in common."""
        if isinstance(location.holder, KeptIterator):
            return False
        if referred(was) is not None and referred(now) is not None:
            return False  # arrays are carried as such
        known = _is_keyed(location) or (location.is_variable and location.label not in self.unknown)
        if (was is UNSET or now is UNSET) and not known:
            return False  # a container changes its structure, or a variable holds something that nobody knows
        try:
            form = self.forms.get(location) or Form.of(location.label, was)
            for value in options_in(now):
                if value is UNSET and location.label.startswith(GENERATED_PREFIX):
                    continue
                if location not in self.heads or value is not self.heads[location]:  # which is what there was before
                    form = form.joined(value, self.heads.get(location))
        except NoForm:
            return False
        if self._is_shared(was, self.references_before) or self._is_shared(now, self.references_after):
            return False
        if was is UNSET:
            for loop in self.loops:
                if loop is not self:
                    loop.found(location.holder)
        self.forms[location] = form
        for others in (self.carried, self.last):
            if location in others:
                others.remove(location)
        self.local.pop(location, None)
        return True

    def _is_shared(self, value: Any, references: Counter[int]) -> bool:
        """Whether others refer to a list or dict that a value is or holds."""
        return any(references[id(x)] > 1 or self.is_outside(x) for x in lists_in(value))

    def _as_long(self, location: Location, other: Location) -> bool:
        """Whether the arrays of two locations have a size in common before the loop."""
        first, second = (self.before.at(p) for p in (location, other))
        return is_array(first) and is_array(second) and bool({*first.dims} & {*second.dims})

    def _give_up(self, location: Location, error: TxcError, only_sizes: bool) -> None:
        """A variable whose type changes may be set anew by each iteration: then it needs nothing from before."""
        if self._may_refer(location, is_wished=True):
            return
        if not location.is_variable or location in self.last:
            raise error
        self.carried.remove(location)
        self._without(location, error)
        if only_sizes and require().binds:
            self.given_up_sizes.append(location)

    def _leave(self, found: Sequence[Any]) -> None:
        """The state behind the loop, of what is carried."""
        found, own = [*found], found
        shared_again(self.ends, found, [p.label for p in self.locations], "copy() one of the two in the loop")
        for i, value in enumerate(own):
            if found[i] is not value and not isinstance(found[i], PerhapsOfOthers) and (ran := self.ran()) is not True:
                # Where no iteration ran it is what it was.
                others = [t for t in (found[i], value) if isinstance(t, Tensor)]
                resized = self.locations[i] in self.resizable
                perhaps = self._perhaps_of_others(i, value, others) if resized else None
                found[i] = perhaps or Choice.where(ran, found[i], value, value)
        values = [(p, self._behind(i, found[i], found)) for i, p in enumerate(self.locations)]
        values += [(p, self._of_last_type(p, self._formed(p, found))) for p in self.forms]
        values += [(location, UNSET) for location in self.local]
        values += [(location, symint(d)) for location, d in self.closed.items()]
        self._fill(values)
        behind = dict(values)
        for number, (grown, item, _, stack) in self.grown.items():
            assert stack is not None
            if number in self.shared_items:
                label, others, carried = self.shared_items[number]
                final = [array for i in carried for array, _ in referred(behind[self.locations[i]]) or ()]
                stack.share([*others, *final], label)
            grown.add(stack.flattened() if item.several else stack)
        for location, reason in self.local.items():
            if location not in self.closed and location.label in self.carries.after:
                self.unset(reason)

    def _formed(self, location: Location, carried: Sequence[Any]) -> Any:
        """What a location holds that has a form, of what is carried."""
        leaves = (carried[k] for k in self.leaves[location])
        return self.forms[location].made(leaves, self.again)

    def _of_last_type(self, location: Location, value: Any) -> Any:
        """A number behind the loop: of the type that each iteration leaves, where there surely is one."""
        kinds = self.end_kinds.get(location, ())
        if isinstance(value, MixedNumber) and len(kinds) == 1 and self.runs():
            return value.of_kind(kinds[0])
        return value

    def _behind(self, i: int, value: Any, found: Sequence[Any]) -> Any:
        """What a location holds behind the loop: the array from before, which others see, where no iteration ran."""
        given = self.given[i]
        if (reference := self.references.get(self.locations[i])) is not None:
            return reference.value([found[k] for k in self.which[self.locations[i]]])
        if value is given or not isinstance(value, Tensor) or not (value.ndim or value.boxed):
            return value
        always = self.handed[i]
        if self._is_one(always, i) and ((ran := self.ran()) is True or is_array(given)):
            # Each iteration names one array from before the loop.
            return always if ran is True else Choice.where(ran, always, given, value)
        if self.aliases[i]:
            return self._perhaps_of_others(i, value, self.aliases[i])
        if not isinstance(given, Tensor):
            return value
        if not is_seen(given, self.is_shared) or (ran := self.ran()) is True:
            return value
        if self.locations[i] in self.resizable:
            return self._perhaps_of_others(i, value, [given])
        return Choice.where(ran, value, given, value)

    def _is_one(self, always: Any, i: int) -> bool:
        """Whether what an iteration leaves is one array from before the loop, or the same part of it in each."""
        if _among(always, self.aliases[i]):
            return True
        return isinstance(always, Tensor) and always._parent is not None and is_known_view(always) and all(
            _among(root, self.aliases[i]) for root in roots(always)
        )  # fmt: skip

    def _perhaps_of_others(self, i: int, value: Tensor, others: Sequence[Tensor]) -> Tensor:
        """An array behind the loop that may be one of others from before, or a part of one."""
        name = self.locations[i].label
        hint = f"give it an array of its own in the loop: {name} = ….copy()"
        return PerhapsOfOthers(name, "an array from before the loop", value, others, hint)

    def _fill(self, values: Iterable[tuple[Location, Any]]) -> None:
        """The state before the loop, with other values in some locations."""
        changed: dict[int, dict[Any, Any]] = {}
        for location, value in values:
            contents = changed.setdefault(id(location.holder), dict(self.before.of(location.holder)))
            if location.key is _ITEMS:
                changed[id(location.holder)] = dict(enumerate(value.parts()))
            elif value is UNSET or isinstance(value, Undefined) or (_is_keyed(location) and is_missing(value)):
                contents.pop(location.key, None)
            else:
                contents[location.key] = value
        for number, contents in changed.items():
            put_back(self.before.holders[number][0], contents)

    # One iteration

    #: What the loop's counter is in the last iteration, by its symbol.
    at_last: AtLast | None = None
    #: What locations hold at the begin of the iteration.
    heads: Mapping[Location, Any] = types.MappingProxyType({})
    #: Of which types the numbers are that an iteration leaves.
    end_kinds: Mapping[Location, Sequence[Kind]] = types.MappingProxyType({})

    def enter(self, arguments: Sequence[Any], number: Any = None) -> None:
        """The state at the begin of an iteration, before which a `number` of others is over."""
        self.number = number
        self.before.restore()
        given: list[tuple[Location, Any]] = [(location, UNSET) for location in self.local]
        for location, value in zip(self.locations, arguments):
            if (reference := self.references.get(location)) is not None:
                value = reference.value([arguments[k] for k in self.which[location]])
            unread = location in self.last and not location.label.startswith(GENERATED_PREFIX)
            given.append((location, UNSET if unread else value))
        given += [(location, self._formed(location, arguments)) for location in self.forms]
        self.heads = dict(given)
        self._fill(given)
        for key, (grown, item, each, stack) in self.grown.items():
            assert stack is not None
            items = symint(item.array.dims[0]) if item.several else each
            grown.begin(Appending(stack, len(grown.parts()), items, number, self.around[key]))

    def results(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """What an iteration that began with `arguments` hands on."""
        after = State(self.roots, self.is_outside, self.before)
        self.appended = {}
        learnt = False
        self.references_after = _references(self.everything, after)
        carried = {location: i for i, location in enumerate(self.locations)}
        for holder, label, _ in self.before.holders.values():
            items = Location(holder, _ITEMS, label)
            if items in self.forms:
                learnt |= self._keeps_form(items, _at(self.before, items), _at(after, items))
                continue
            try:
                learnt |= self._contents(holder, label, after, carried)
            except OpError as error:
                if error.code != "TX0315" or not self._carry_items(holder, _at(after, items)):
                    raise
                learnt = True
        if learnt:
            raise Again
        handed = [after.at(location) for location in self.locations]
        self.end_kinds = {location: kinds_of(_at(after, location)) for location in self.forms}
        self._keep_kinds([*zip(self.given, handed), *((_at(self.before, p), _at(after, p)) for p in self.forms)])
        self._follow(arguments, handed)
        which = {i: self._which(i, arguments, handed) for i, p in enumerate(self.locations) if p in self.references}
        self.handed = handed
        self.aliases = [[] if i in which else self._others_of(i, arguments, handed) for i in range(len(handed))]
        if any(
            others and not self._is_one(handed[i], i) and self._may_refer(self.locations[i], is_wished=True)
            for i, others in enumerate(self.aliases)
        ):
            raise Again
        self.ends = [[None if i in which else self._made(i, value)] for i, value in enumerate(handed)]
        self._share_items(arguments, handed)
        own = [v for i, v in enumerate(handed) if i not in which]
        sized = [v for v in own if isinstance(v, OneOf) and is_one_array(v, v.options[0][0])]
        made = dict(zip(map(id, sized), as_arrays(sized)))
        given = [Undefined(p.label) if v is UNSET else made.get(id(v), v) for p, v in zip(self.locations, handed)]
        for i, carried in which.items():
            given[i] = arguments[i]
            given += carried
        for location, form in self.forms.items():
            instead = iter([arguments[k] for k in self.leaves[location]])
            given += form.leaves(_at(after, location), instead, self.again)
        return tuple(given)

    def _contents(self, holder: Any, label: str, after: State, carried: dict[Location, int]) -> bool:
        """Learn from what an iteration leaves in the locations of a holder."""
        was, now = self.before.of(holder), dict(after.of(holder))
        learnt = False
        if isinstance(holder, StagedDict):
            self._refuse_orders(label, was, now)
        if isinstance(holder, GrowingList) and len(now) > len(was) and self.count is not None:
            learnt |= self._grow(holder, label, [now.pop(key) for key in range(len(was), len(now))])
        for key in dict.fromkeys([*was, *now]):
            location = Location(holder, key, label_of(holder, label, key))
            if location in self.forms:
                learnt |= self._keeps_form(location, was.get(key, UNSET), now.get(key, UNSET))
            elif location not in carried:
                learnt |= self._changed(location, was.get(key, UNSET), now.get(key, UNSET))
            elif self._is_of_other_type(location, now.get(key, UNSET)):
                ends = was[key], now[key]
                learnt |= self._has_form(location, *ends) or self._cannot_change(location, *ends)
            elif location not in self.references and not (
                is_number(now.get(key, UNSET)) or self._is_resized(location, now.get(key, UNSET))
            ):
                learnt |= self._no_number(location, was.get(key, UNSET), now.get(key, UNSET))
        return learnt

    def _is_of_other_type(self, location: Location, now: Any) -> bool:
        """Whether an iteration leaves a number of another type than what there was before."""
        before = kinds_of(_at(self.before, location))
        return bool(before) and bool(kinds_of(now)) and not {*kinds_of(now)} <= {*before}

    def _refuse_orders(self, label: str, was: dict[Any, Any], now: dict[Any, Any]) -> None:
        """FirstApart where each iteration gives a dict keys; an error where only some do, and so may in any order."""
        added = [key for key in now if key not in was]
        always = [key for key in added if not may_miss(now[key])]
        if always or len(added) > 1 or in_one_order(list(was), list(now)) is None:
            text = f"the dict {label} gets keys in a loop of compiled code, in an order that is not known"
            error = TxcError(text, user_loc(), "give it all of its keys where it is made", "TX0315")
            if always and self.peels:
                raise FirstApart(error)
            if len(added) > 1 or not always:
                raise error

    def _carry_items(self, holder: Any, now: Any = None) -> bool:
        """Carry the items of a list, which an iteration leaves as `now`, as one vector; False where they are no numbers
        of one type."""
        if not isinstance(holder, GrowingList) or holder not in self.before:
            return False
        label = self.before.holders[id(holder)][1]
        location, kind = Location(holder, _ITEMS, label), None
        around = holder.appending
        if id(holder) in self.grown:
            around = self.around.get(id(holder), around)
            _, item, _, _ = self.grown[id(holder)]
            if item.array.ndim > item.several or item.columns or item.depth > 1:
                return False
            kind = item.weak, item.array.element
        if around is not None:
            raise ByItems(holder, unknown_length())
        try:
            form = Items(label, kind).joined(_at(self.before, location)).joined(_listed([]) if now is None else now)
        except NoForm:
            return False
        if not isinstance(form, Items):
            return False
        if id(holder) in self.grown:
            del self.grown[id(holder)]
            self.around.pop(id(holder), None)
            holder.begin(None)
        for others in (self.carried, self.last):
            others[:] = [p for p in others if p.holder is not holder]
        self.forms = {p: form for p, form in self.forms.items() if p.holder is not holder}
        self.forms[location] = form
        return True

    def _keeps_form(self, location: Location, was: Any, now: Any) -> bool:
        """Learn from what an iteration leaves in a location that has a form."""
        form = self.forms[location]
        if not self._has_form(location, was, now):
            del self.forms[location]
            return self._cannot_change(location, was, now)
        return self.forms[location] is not form

    def _keep_kinds(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        """Ask whether there is an iteration, where one makes of a number one of another type."""
        for before, after in pairs:
            differs = kinds_of(before) and kinds_of(after) and kinds_of(before) != kinds_of(after)
            if differs and self.runs() is False:
                raise NeverRuns

    def _others_of(self, i: int, arguments: Sequence[Any], handed: Sequence[Any]) -> list[Tensor]:
        """The arrays from before the loop that a variable may refer to, or to a part of, after an iteration.

        SharedStart where the loop stores into one of them, or into one of two variables that are one array.
        """
        value = handed[i]
        if isinstance(value, OneOf):
            self._keep_apart(i, value, arguments, handed)
            return []
        if not isinstance(value, Tensor) or not (value.ndim or value.boxed) or value is arguments[i]:
            return []
        if self.locations[i].label.startswith(GENERATED_PREFIX):  # what is returned is not stored into any more
            return []
        trace = require()
        others: list[Tensor] = []
        shared: list[Tensor] = []
        for root in roots(value):
            at = next((j for j, a in enumerate(arguments) if a is root), None)
            if not is_inside(root, trace.region) and (at is None or handed[at] is root):
                others.append(root)
            elif at is not None and is_seen(self.given[at], self.is_shared):
                others.append(self.given[at])
            elif self._is_read(i):
                sharing = [k for k, v in enumerate(handed) if k != i and self._is_read(k) and _among(root, _roots(v))]
                # What such variables hold in the next iteration: the argument itself, or stand-ins of theirs.
                shared += [arguments[k] if at is None else root for k in sharing]
        if (others or shared) and any(w is t for w in trace.writes[-1] for t in (*others, *shared, arguments[i])):
            raise SharedStart(self.given, self.locations[i].label)
        return others

    def _keep_apart(self, i: int, value: OneOf, arguments: Sequence[Any], handed: Sequence[Any]) -> None:
        """OpError where one of the arrays that a variable may be is another's as well: what it hands on is a copy."""
        if self.locations[i].label.startswith(GENERATED_PREFIX):  # what is returned is not stored into any more
            return
        given, block = self.given[i], require().region
        is_apart = isinstance(given, Tensor) and not is_seen(given, self.is_shared)
        others = [root for k, v in enumerate(handed) if k != i for root in arrays_of(v)]
        for array, _ in value.options:
            of = [*roots(array)]
            as_it_is = array is arguments[i] or all(is_inside(r, block) and r is not arguments[i] for r in of)
            part = all(r is arguments[i] for r in of) and is_apart
            if not (as_it_is or part) or any(_among(r, others) for r in of):
                if self._may_refer(self.locations[i], is_wished=True):
                    raise Again
                name = self.locations[i].label
                raise OpError(
                    f"{name} is one of several arrays after an iteration, of which one is another variable's as well",
                    f"copy() it: {name} = ….copy()",
                    "TX0291",
                )

    def _is_read(self, i: int) -> bool:
        """Whether an iteration may read a location from before it."""
        return self.locations[i] not in self.last

    def _made(self, i: int, value: Any) -> Tensor | None:
        """What an iteration hands on, if it is an array that came to be in it, which others may hold."""
        if not is_array(value) or self.locations[i].label.startswith(GENERATED_PREFIX):
            return None
        return value if self._is_own(value) else None

    def _grow(self, grown: GrowingList, label: str, values: list[Any]) -> bool:
        """Gather what an iteration appends to a list; whether that was not known before."""
        items: list[Item] = []
        if len(values) > 1 and any(isinstance(value, Stack) for value in values):
            joined = together(values)
            if joined is None:
                self._refuse_items(label, "items of several types", "numbers or arrays of one dtype and shape")
            values = [joined]
        for value in map(of_one_type, values):
            known = is_number(value) or isinstance(value, Stack) or self._is_new_list(value)
            known = known or (type(value) is tuple and is_record(value))
            made = Item.of(value) if known else None
            if made is None or (made.several and len(values) > 1):
                raise OpError(
                    f"the list {label} gets {described(value)} in each iteration of a loop of compiled code",
                    "append numbers or arrays of one dtype and shape, or loop over what Python knows",
                    "TX0315",
                )
            items.append(made)
        known = self.grown.get(id(grown))
        if known is None:
            if any(require().table.varies(d) for d in items[0].array.dims):
                self._refuse_items(label, "arrays whose sizes vary with the loop", "an array of the largest size")
            self.grown[id(grown)] = grown, items[0], len(items), None
            return True
        _, first, each, stack = known
        assert stack is not None
        facts = require().table
        for k, item in enumerate(items):
            alike = item.depth == first.depth and (item.present is None) is (first.present is None)
            alike = alike and len(item.leaves) == len(first.leaves) and type(item.form) is type(first.form)
            for a, b in zip(item.leaves, first.leaves):
                alike = alike and a.array.element is b.array.element
                alike = alike and facts.resolve_all(a.array.type.dims) == facts.resolve_all(b.array.type.dims)
            if len(items) != each or not alike:
                kinds = f"{first.array.user_type} and {item.array.user_type}"
                self._refuse_items(label, kinds, "items of one dtype and shape, as many in each iteration")
            for leaf, into in zip(item.leaves, stack.leaves):
                into.room[self.number * each + k] = leaf.array
            if stack.present is not None:
                stack.present[self.number * each + k] = item.present
        self.appended[id(grown)] = label, items
        return False

    def _is_new_list(self, value: Any) -> bool:
        return isinstance(value, GrowingList) and value not in self.before and value.appending is None

    def _refuse_items(self, label: str, kinds: str, instead: str) -> NoReturn:
        raise OpError(f"the list {label} gets {kinds} in iterations of a loop", f"append {instead}", "TX0315")

    def given_to_lists(self) -> tuple[list[Tensor], list[Tensor]]:
        """What this iteration appends to lists, and the arrays that gather it."""
        items = [leaf.array for _, appended in self.appended.values() for item in appended for leaf in item.leaves]
        stacks = [leaf for _, _, _, stack in self.grown.values() if stack is not None for leaf in stack.leaves]
        return items, [t for stack in stacks for t in (stack.room, stack.present) if t is not None]

    def _share_items(self, arguments: Sequence[Any], handed: Sequence[Any]) -> None:
        """Find the lists whose items are arrays that others see too: those are copies while nobody stores into either.

        OpError where the loop itself does.
        """
        trace = require()
        arrays = {
            number: [
                root for item in items for t in (item.array, *item.others) if t.ndim or t.boxed for root in roots(t)
            ]
            for number, (_, items) in self.appended.items()
        }
        everywhere = [root for its in arrays.values() for root in its]
        for number, its in arrays.items():
            label = self.appended[number][0]
            before = [j for j, a in enumerate(arguments) if any(a is root for root in its)]
            outer = [root for root in its if not is_inside(root, trace.region) and not _among(root, arguments)]
            after = [k for k, value in enumerate(handed) if any(_among(root, its) for root in _roots(value))]
            # What variables that refer to several arrays hold in the next iteration stands behind the others.
            later = [k for i in after for k in (i, *self.which.get(self.locations[i], ()))]
            if any(_among(w, [*outer, *(arguments[i] for i in (*before, *later))]) for w in trace.writes[-1]):
                raise OpError(
                    f"the list {label} gets arrays that others see, and the loop stores into them",
                    f"append a copy: {label}.append(….copy())",
                    "TX0291",
                )
            twice = any(sum(root is other for other in everywhere) > 1 for root in its)
            if before or outer or after or twice:
                given = [value for j in before if isinstance(value := self.given[j], Tensor)]
                self.shared_items[number] = label, [*outer, *given], after

    def _changed(self, location: Location, was: Any, now: Any) -> bool:
        """Learn from what an iteration did to a location that is not carried; whether that changes the next try."""
        if now is UNSET and (location in self.local or was is UNSET):
            return False
        name = location.label
        wanted = name not in self.own and (name in self.carries.after or name.startswith(GENERATED_PREFIX))
        if was is UNSET and location not in self.local and id(location.holder) in self.found_unset:
            return self._has_form(location, was, now) or self._cannot_change(location, was, now)
        if location.is_variable and (location in self.local or was is UNSET):
            return wanted and self._last(location, now)
        if was is now or same_value(was, now):
            return False
        if kinds_of(was) and kinds_of(now) and (kinds_of(was) != kinds_of(now) or isinstance(was, MixedNumber)):
            return self._has_form(location, was, now) or self._cannot_change(location, was, now)
        if is_number(was) and is_number(now):
            self.carried.append(location)
            return True
        return self._no_number(location, was, now)

    def _last(self, location: Location, value: Any) -> bool:
        """Learn what the last iteration leaves in a variable that each sets anew."""
        if isinstance(value, MixedNumber):
            if location.label.startswith(GENERATED_PREFIX):  # a flag says whether it has a value
                self.forms[location] = Number(location.label, Common.of(value))
                self.local.pop(location, None)
                return True
            if self._has_form(location, UNSET, value):
                return True
        if not location.label.startswith(GENERATED_PREFIX):
            runs = self.runs()
            if runs is None:
                raise MayNotRun
            if not runs:
                raise NeverRuns
            closed = None if self.at_last is None or not isinstance(value, SymInt) else self.at_last.of(value.dim)
            if closed is not None:
                self.closed[location] = closed
                return False
            self.closed.pop(location, None)
            elsewhere = isinstance(value, Tensor) and _is_array(value) and not self._is_own(value)
            if elsewhere or not is_number(value):
                if self.count is not None:
                    raise Unrepeatable
                if not elsewhere:
                    if self._has_form(location, UNSET, value):
                        return True
                    text = f"{location.label!r} is {described(value)} behind a loop that may be left at any iteration"
                    self.local[location] = Undefined(location.label, text, "keep a number, or an array of its own")
                    return False
        elif not is_number(value):
            return False
        self.local.pop(location, None)
        self.last.append(location)
        return True

    def _is_own(self, value: Tensor) -> bool:
        """Whether the storage of an array came to be in the iteration."""
        block = require().region
        return all(is_inside(root, block) for root in roots(value))

    def _no_number(self, location: Location, was: Any, now: Any) -> bool:
        """A location changes to, or from, what is no number."""
        if referred(now) is not None and self._may_refer(location, is_wished=True):
            return True
        if location in self.last:
            generated = location.label.startswith(GENERATED_PREFIX) and not isinstance(now, MixedNumber)
            plain = now is UNSET or generated
            return not plain and self._has_form(location, UNSET, now)
        if isinstance(was, OneOf) and require().binds and location.is_variable:
            first = was.options[0][0]
            if is_one_array(was, first) and (is_one_array(now, first) or is_array(now)):
                self.several.append(location)
                return True
        live = location.label in self.carries.at_head or location.label in self.carries.after
        shared = self._is_shared(was, self.references_before)
        begins = was is not UNSET and location.label in self.carries.at_head and (is_number(now) or shared)
        if not (begins and self.peels) and (live or not location.is_variable) and self._has_form(location, was, now):
            return True
        return self._cannot_change(location, was, now, begins)

    def _cannot_change(self, location: Location, was: Any, now: Any, begins: bool = False) -> bool:
        """A location changes to, or from, what no loop of compiled code carries; whether the loop can do without.

        FirstApart where only the first iteration `begins` with what it holds before it.
        """
        text = f"{location.label!r} is {described(was)} before an iteration of the loop and {described(now)} after it"
        if not location.is_variable:
            kind = kind_of(location.holder)
            raise OpError(
                f"a {kind} changes in a loop of compiled code: {text}",
                "only numbers and arrays can change there; store into an array that is made before the loop",
                "TX0315",
            )
        if location in self.carried:
            self.carried.remove(location)
        hint = "only numbers and arrays can change in a loop of compiled code"
        error = TxcError(text, user_loc(), hint, "TX0315")
        if begins:
            raise FirstApart(error)
        if is_one_array(now, was) and require().binds:
            self.given_up_sizes.append(location)
        self._without(location, error)
        return True

    def _without(self, location: Location, error: TxcError) -> None:
        """Let a variable hold nothing that iterations hand on; `error` is for who reads it."""
        self.given_up[location] = error
        self.local[location] = Undefined(location.label, error.message, error.hint)
        self.unset(self.local[location])

    def _follow(self, arguments: Sequence[Any], handed: Sequence[Any]) -> None:
        """Find arrays that variables only pass around among each other."""
        if not self.follows:
            return
        arrays: dict[int, int] = {}
        for i, (given, value) in enumerate(zip(self.given, arguments)):
            if value is given and isinstance(value, Tensor) and (value.ndim or value.boxed):
                arrays[id(value)] = i
        moves = {i: arrays[id(v)] for i, v in enumerate(handed) if id(v) in arrays}
        moves = {i: j for i, j in moves.items() if i != j and i in arrays.values()}
        if not moves or set(moves) != set(moves.values()):
            return
        period = 1
        for start in moves:
            length, at = 1, moves[start]
            while at != start:
                length, at = length + 1, moves[at]
            period = lcm(period, length)
        if period <= _LONGEST_PERIOD:
            raise Periodic(period)


def _at(state: State, location: Location) -> Any:
    """What a location holds, where it may be all items of a list: a list of these."""
    return _listed(state.of(location.holder).values()) if location.key is _ITEMS else state.at(location)


def _is_keyed(location: Location) -> bool:
    """Whether it is a key of a dict that may have it or not."""
    return isinstance(location.holder, StagedDict)


def _listed(parts: Iterable[Any]) -> GrowingList:
    made = GrowingList()
    made.set_parts(parts)
    return made


def _references(*states: State) -> Counter[int]:
    """By identity, how often what locations hold refers to a list or dict; later states are of later times."""
    held: dict[tuple[int, Any], Any] = {}
    for state in states:
        held.update({(id(p.holder), p.key): value for p, value in state.locations()})
    return Counter(id(x) for value in held.values() for x in lists_in(value, deeply=False))


def _is_array(value: Tensor) -> bool:
    return bool(value.ndim) or value.boxed


def _among(t: Any, others: Iterable[Any]) -> bool:
    return any(t is other for other in others)


def _roots(value: Any) -> Iterable[Tensor]:
    return arrays_of(value)
