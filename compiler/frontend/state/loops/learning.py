"""What one iteration teaches of a loop: how each location that it changed is handed on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from .....dialects.registry import OpError
from ....diagnostics import TxcError, user_loc
from ...staging.rewriting.break_lowering import GENERATED_PREFIX
from ...tensor.tensor import Tensor
from ...trace.context import require
from ...trace.symint import SymInt
from ...trace.undefined import Undefined, unset_name
from ..alternatives.mixed_numbers import MixedNumber, kinds_of
from ..alternatives.one_of import OneOf
from ..alternatives.resized import is_one_array
from ..containers.growing_lists import GrowingList
from ..containers.staged_dicts import StagedDict, in_one_order, may_miss
from ..iterators import PlacedIterator
from ..sharing import is_array
from ..state import UNSET, Location, State, a_kind, held, is_number, label_of, put_back
from ..values import described, same_value
from .beginning import held_at, is_boxed, is_keyed
from .copies import LoopCopies
from .forms import Form, NoForm, lists_in, options_in
from .outcomes import FirstApart, Learnt, MayNotRun, NeverRuns, Unrepeatable
from .references import referred

__all__ = ["LoopLearning"]


class LoopLearning(LoopCopies):
    """How locations are handed on, as it is found out."""

    def _begin_from(self, learnt: Learnt) -> None:
        super()._begin_from(learnt)
        for location in learnt.references:
            self._may_refer(location, is_wished=True)
        for location, (why, only_sizes) in learnt.given_up.items():
            if location not in self.local and location not in self.carried:
                self._without(location, why)
                self.given_up_sizes += [location] * only_sizes

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
        before = kinds_of(held_at(self.before, location))
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

    def _changed(self, location: Location, was: Any, now: Any) -> bool:
        """Learn from what an iteration did to a location that is not carried; whether that changes the next try."""
        if now is UNSET and (location in self.local or was is UNSET):
            return False
        name = location.label
        # The text of the loop says nothing of the variables of functions that it calls.
        asked = name in self.carries.after or not any(holder is location.holder for holder in self.roots.values())
        wanted = name not in self.own and (asked or name.startswith(GENERATED_PREFIX))
        if was is UNSET and location not in self.local and id(location.holder) in self.found_unset:
            return self._has_form(location, was, now) or self._cannot_change(location, was, now)
        if location.is_variable and (location in self.local or was is UNSET):
            return wanted and self._last(location, now)
        if was is now or same_value(was, now):
            return False
        if kinds_of(was) and kinds_of(now) and (kinds_of(was) != kinds_of(now) or isinstance(was, MixedNumber)):
            return self._has_form(location, was, now) or self._cannot_change(location, was, now)
        moved = isinstance(location.holder, PlacedIterator) and not location.holder.by_number
        if is_number(was) and is_number(now) and not moved:
            self.carried.append(location)
            return True
        return self._no_number(location, was, now)

    def _last(self, location: Location, value: Any) -> bool:
        """Learn what the last iteration leaves in a variable that each sets anew."""
        if location.label.startswith(GENERATED_PREFIX) and (isinstance(value, MixedNumber) or not is_number(value)):
            return self._has_form_of(location, value)
        if isinstance(value, MixedNumber) and self._has_form(location, UNSET, value):
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
            elsewhere = isinstance(value, Tensor) and is_boxed(value) and not self._is_own(value)
            if elsewhere or not is_number(value):
                if self.count is not None:
                    raise Unrepeatable(location.label)
                if not elsewhere:
                    if self._has_form(location, UNSET, value):
                        return True
                    text = f"{location.label!r} is {described(value)} behind a loop that may be left at any iteration"
                    self.local[location] = Undefined(location.label, text, "keep a number, or an array of its own")
                    return False
        self.local.pop(location, None)
        self.last.append(location)
        return True

    def _has_form_of(self, location: Location, value: Any) -> bool:
        """Let a location of which a flag says whether it has a value be carried by the form of one that it has."""
        if self._has_older_lists(value):
            return False
        try:
            self.forms[location] = Form.of(location.label, value)
        except NoForm:
            return False
        self.local.pop(location, None)
        return True

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
            raise OpError(
                f"{a_kind(location.holder)} changes in a loop of compiled code: {text}",
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

    def _has_form(self, location: Location, was: Any, now: Any) -> bool:
        """Let a location be carried by the form that what it holds before and after an iteration have in common."""
        if isinstance(location.holder, PlacedIterator):
            return False
        if referred(was) is not None and referred(now) is not None:
            return False  # arrays are carried as such
        known = is_keyed(location) or (location.is_variable and location.label not in self.unknown)
        if (was is UNSET or now is UNSET) and not known:
            return False  # a container changes its structure, or a variable holds something that nobody knows
        try:
            form = self.forms.get(location) or self._form_before(location.label, was)
            for value in options_in(now):
                if value is UNSET and location.label.startswith(GENERATED_PREFIX):
                    continue
                if location not in self.heads or value is not self.heads[location]:  # which is what there was before
                    form = form.joined(value, self.heads.get(location))
        except NoForm:
            return False
        if location.label.startswith(GENERATED_PREFIX):
            if self._has_older_lists(now):
                return False
        elif self._is_shared(was, self.references_before) or self._is_shared(now, self.references_after):
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

    def _form_before(self, label: str, was: Any) -> Form:
        """The form of what a location held before the loop, of lists and dicts as they were then."""
        now: dict[int, tuple[Any, dict[Any, Any]]] = {}
        try:
            while changed := [x for x in lists_in(was) if id(x) not in now and self._may_have_changed(x)]:
                for x in changed:
                    now[id(x)] = x, held(x) or {}
                    put_back(x, self.before.of(x))
            return Form.of(label, was)
        finally:
            for x, contents in now.values():
                put_back(x, contents)

    def _may_have_changed(self, x: Any) -> bool:
        """Whether an iteration may leave a list or dict with other contents than before, not longer ones alone."""
        return x in self.before and getattr(x, "appending", None) is None

    def _has_older_lists(self, value: Any) -> bool:
        """Whether what is returned is or has a list or dict from before the loop, which is given back itself."""
        return any(x in self.before or self.is_outside(x) for x in lists_in(value))

    def _is_shared(self, value: Any, references: Counter[int]) -> bool:
        """Whether others refer to a list or dict that a value is or holds."""
        return any(references[id(x)] > 1 or self.is_outside(x) for x in lists_in(value))

    def _as_long(self, location: Location, other: Location) -> bool:
        """Whether the arrays of two locations have a size in common before the loop."""
        first, second = (self.before.at(p) for p in (location, other))
        return is_array(first) and is_array(second) and bool({*first.dims} & {*second.dims})

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
