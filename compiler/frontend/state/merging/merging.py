"""What locations hold behind an `if` that compiled code decides, from what they held at the end of its two branches.

Places are merged one by one, and objects keep their identity:

* the same object, or equal values: that
* numbers, and arrays that came to be in the branches: a result of the `if`
* arrays of which one was there before: a *choice* of references, read as the `if` decided and stored into where it did
* tuples, and containers made in both branches: part by part
* a container that was there before: part by part, in location; one that changed its structure is an error, but for a
  list to which a branch appends: what it appends is there where that branch is taken (`growing.Stack`)
* values of two kinds, as arrays of two shapes or lists of two lengths: one of the two (`one_of.OneOf`)
* anything else: the variable has no value behind the `if`, with the reason for who reads it.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from .....dialects.dims.dims import Dim
from .....dialects.dims.index_map import dims_in
from .....dialects.registry import OpError
from ....call.signature import like
from ...indexing.data_dependent_sizes import given_out, largest, leaves
from ...staging.regions.fork import Fork
from ...staging.regions.region import is_inside
from ...staging.rewriting.break_lowering import GENERATED_PREFIX
from ...tensor.apply import apply
from ...tensor.tensor import Tensor
from ...tensor.views.composite_views import IndexedView, Perhaps, in_scope, roots
from ...trace.symint import SymInt
from ...trace.undefined import Undefined
from ..alternatives.choice import Choice, PerhapsOfOthers, is_same_place, options_of
from ..alternatives.mixed_numbers import Common, Kind, MixedNumber, common_value, is_of, kinds_of
from ..alternatives.one_of import MOST_OPTIONS, Method, OneOf
from ..containers.growing_lists import GrowingList, Item, Stack, is_record
from ..containers.list_errors import instead_of_item
from ..containers.staged_dicts import StagedDict, in_one_order
from ..sharing import NOWHERE, is_array
from ..state import UNSET, Location, State, held, is_number, is_ours, kind_of, label_of
from ..values import PLAIN, are_one, described, same_value
from .completion import Completion
from .known_views import first_of, is_known_view, is_outside
from .planned import Alternatives, Gathered, Inside, Joined, Mixed, PerhapsAppended, Reference, Sized

__all__ = ["UNNAMED", "Merge"]

#: How messages call what no variable holds.
UNNAMED = ("the value", "the result")


class Merge:
    """``merge = Merge(…); value = merge.value(then, otherwise, name); …; merge.finish()``.

    What is done later with a value of one kind or another is done in branches: ``again(cond, then, otherwise, roots)``.
    ``live(variable, name)``: whether a variable that only one branch binds may be read behind the `if`; without it,
    reading such a one is an error.
    """

    def __init__(
        self, fork: Fork, before: State, sides: Sequence[State], again: Callable[..., Any],
        rest: Sequence[Tensor] = (), live: Callable[[Any, str], bool] | None = None,
    ):  # fmt: skip
        self.fork, self.before, self.sides, self.again, self.rest = fork, before, sides, again, rest
        self.live = live
        #: Places that are results of the `if`: what each side leaves there (NOWHERE: it is not there), and a name.
        self.pairs: list[tuple[Any, Any, str]] = []
        #: By number of a place: the values that are no one of one type.
        self.apart: dict[int, Alternatives | Undefined] = {}
        #: By identity: the arrays of a side whose sizes are known inside it, and what became of them.
        self.sized: dict[int, tuple[Tensor, Sized]] = {}
        #: The sizes of such, by side.
        self.sizes: dict[tuple[int, Dim], Tensor] = {}
        #: By identity of a new object: the object that it becomes, and those that became one.
        self.becomes: dict[int, Any] = {}
        self.merged: set[tuple[int, int]] = set()
        #: Objects that one side made, which are there where that was taken.
        self.kept: list[Any] = []
        #: By number of a place: the arrays that it may refer to, from before or, by its number, of a place; with the
        #: place of the condition of each, or a bool for that of the `if` and its contrary.
        self.options: dict[int, list[tuple[Tensor | int, int | bool]]] = {}
        #: By number of a place: the array that both sides have there, by one view or another.
        self.same: dict[int, Tensor] = {}
        #: Those that are views of which only a side knows where they begin.
        self.unplaced: list[int] = []
        self.contents: list[tuple[Any, dict[Any, Any]]] = []
        #: By branch: whether it is taken, where a list is longer behind it than behind the other.
        self.taken: dict[int, Tensor] = {}

    def locations(self) -> None:
        """Merge all that was there before."""
        for holder, label, _ in list(self.before.holders.values()):
            then, otherwise = (side.of(holder) for side in self.sides)
            only = self._only_side(holder)
            if only is None:
                self._contents(holder, then, otherwise, label)
            else:
                self._contents_there(holder, only, label)

    def _only_side(self, holder: Any) -> int | None:
        """The side that is taken wherever an object is there at all, which was made in a branch; None: any may be."""
        _, cond = self.fork.trace.made_where.get(id(holder), (holder, None))
        if cond is None:
            return None
        if cond.value is self.fork.cond.value:
            return 0
        others = [other.value for other in self.rest] or [self.fork.trace.opposites.get(self.fork.cond.value)]
        return 1 if any(cond.value is other for other in others) else None

    def _contents_there(self, holder: Any, side: int, label: str) -> None:
        """Let an object hold what it does at the end of one side."""
        try:
            contents = self.sides[side].of(holder).items()
            planned = {k: self._handed_on(part, side, label_of(holder, label, k)) for k, part in contents}
        except Inside:
            text = f"what the {kind_of(holder)} {label} holds in a branch of an if cannot be handed on"
            raise OpError(text, "let both branches give values of one kind", "TX0315") from None
        self.contents.append((holder, planned))

    def _contents(self, holder: Any, then: dict[Any, Any], otherwise: dict[Any, Any], label: str) -> None:
        merged: dict[Any, Any] = {}
        appended = self._appended(holder, then, otherwise, label)
        order = in_one_order(list(then), list(otherwise)) if isinstance(holder, StagedDict) else None
        if order is None and isinstance(holder, StagedDict):
            text = f"the dict {label} holds its values in one order in one branch of an if and in another in the other"
            raise OpError(text, "give it all of its keys where it is made", "TX0315")
        for key in dict.fromkeys([*then, *otherwise]) if order is None else order:
            location = Location(holder, key, label_of(holder, label, key))
            a, b = then.get(key, UNSET), otherwise.get(key, UNSET)
            if (a is UNSET or b is UNSET) and order is not None:
                none = Undefined(location.label)
                merged[key] = self._one_of(a, b, location.label, none.reason, none.hint)
                if not isinstance(merged[key], Undefined):
                    continue
            if (a is UNSET or b is UNSET) and not location.is_variable:
                raise OpError(
                    f"the {kind_of(holder)} {label} holds {len(then)} values in one branch of an if and "
                    f"{len(otherwise)} in the other",
                    "let both branches change it alike, or store into an array and count what is in it",
                    "TX0315",
                )
            if (a is UNSET or b is UNSET) and self.live is not None and not location.label.startswith(GENERATED_PREFIX):
                if self.live(holder, location.label):
                    none = Undefined(location.label)
                    merged[key] = self._one_of(a, b, location.label, none.reason, none.hint)
                continue
            merged[key] = self.value(a, b, location.label)
        merged.update(enumerate(appended, len(merged)))
        self.contents.append((holder, merged))

    def _appended(
        self, holder: Any, then: dict[Any, Any], otherwise: dict[Any, Any], label: str
    ) -> list[PerhapsAppended]:
        """What the branches append to a list, each for itself, taken from what it holds; empty where they do it alike.

        Those of one branch are there where the other's are not, so their order is that of a run of either.
        """
        if not isinstance(holder, GrowingList) or holder not in self.before:
            return []
        sides = then, otherwise
        if len(then) == len(otherwise) and not any(_stacked(side.values()) for side in sides):
            return []
        # What was there and one of them took away is there where it did not.
        length = min(map(len, (self.before.of(holder), *sides)))
        pairs = [(then[key], otherwise[key]) for key in range(length)]
        length = next((k for k, (a, b) in enumerate(pairs) if a is not b and _stacked((a, b))), length)
        made: list[PerhapsAppended] = []
        for side, contents in enumerate(sides):
            for key in range(length, len(contents)):
                value = contents[key]
                if not is_number(value) and not isinstance(value, (MixedNumber, Stack)) and not is_record(value):
                    raise OpError(
                        f"the list {label} gets {described(value)} in one branch of an if",
                        instead_of_item(value, "append numbers or arrays there, or let both branches change it alike"),
                        "TX0315",
                    )
                made.append(self._perhaps(value, side, label))
                del contents[key]
        return made

    def _perhaps(self, value: Any, side: int, label: str) -> PerhapsAppended:
        def only_there(x: Any) -> Joined:
            """`x` as the branch has it; zeros, or False, behind the other one."""
            none = Undefined(label)
            then, otherwise = (x, none) if side == 0 else (none, x)
            return self._pair(then, otherwise, f"{GENERATED_PREFIX}{label}")

        def of_any_size(x: Tensor) -> Joined | Sized:
            try:
                known = all(map(self.fork.trace.table.knows, x.dims))
                return only_there(x) if known else self._sized(x, side, label)
            except Inside:
                raise leaves(x.type) from None

        if isinstance(value, Stack):
            present = self._taken(side) if value.present is None else of_any_size(value.present)
            return PerhapsAppended([of_any_size(leaf.room) for leaf in value.leaves], present, value, side, label)
        item, parts = None, [value]
        if isinstance(value, MixedNumber) or is_record(value):
            with self.fork.at_end(side):
                item = Item.of(value)
            assert item is not None
            parts = [leaf.array for leaf in item.leaves]
        return PerhapsAppended([*map(only_there, parts)], self._taken(side), item or value, side, label)

    def _taken(self, side: int) -> Tensor:
        """Whether that branch is taken, as an array of one bool; the same one for all that is appended there."""
        if side not in self.taken:
            cond = self.fork.cond
            self.taken[side] = (cond if side == 0 else apply("logical_not", cond)).reshape(1)
        return self.taken[side]

    def value(self, a: Any, b: Any, label: str) -> Any:
        """What a location holds that held `a` in one branch and `b` in the other; complete once all is finished."""
        if a is b:
            return a
        if label.startswith(GENERATED_PREFIX) and (a is UNSET or b is UNSET):
            side, there = (1, b) if a is UNSET else (0, a)
            if is_array(there) and not all(map(self.fork.trace.table.knows, there.dims)):
                try:
                    return self._sized(there, side, label)
                except Inside:
                    pass
            if isinstance(there, MixedNumber) or not is_number(there):
                try:
                    return self._handed_on(there, side, label)
                except Inside:
                    pass
            a, b = (Undefined(label) if x is UNSET else x for x in (a, b))
            return self._pair(a, b, label)
        if a is UNSET or b is UNSET:
            return Undefined(label)
        a, b = self._known(a, 0), self._known(b, 1)
        if a is UNSET or b is UNSET:
            none = Undefined(label)
            return self._one_of(a, b, label, none.reason, none.hint)
        if a is b or same_value(a, b):
            return a
        if is_number(a) and is_number(b) and (not (kinds_of(a) and kinds_of(b)) or kinds_of(a) == kinds_of(b)):
            return self._pair(a, b, label)
        if kinds_of(a) and kinds_of(b) and (common := Common.of(a).joined(b)) is not None:
            return self._mixed(a, b, common, label)
        if isinstance(a, tuple) and type(a) is type(b) and len(a) == len(b):
            return like(a, [self.value(x, y, f"{label}[{i}]") for i, (x, y) in enumerate(zip(a, b))])
        if type(a) is type(b) and self._is_new(a) and self._is_new(b):
            if (id(a), id(b)) in self.merged:
                return a
            then, otherwise = (side.of(x) for side, x in zip(self.sides, (a, b)))
            alike = list(then) == list(otherwise) and not any(_stacked(of.values()) for of in (then, otherwise))
            if alike and not {id(a), id(b)} & self.becomes.keys():
                self.becomes[id(a)] = self.becomes[id(b)] = a
                self.merged.add((id(a), id(b)))
                self._contents(a, then, otherwise, label)
                return a
        name = label if label in UNNAMED else repr(label)
        text = f"{name} is {described(a)} in one branch of an if and {described(b)} in the other"
        return self._one_of(a, b, label, text, "let both give the same kind of value")

    def _mixed(self, a: Any, b: Any, common: Common, label: str) -> Mixed:
        """One of two numbers of different types, by their value."""
        ends: list[Tensor] = []
        for side, x in enumerate((a, b)):
            with self.fork.at_end(side):
                ends.append(common_value(x, common.element))
        conds = [self._condition(is_of(a, kind), is_of(b, kind)) for kind in common.kinds]
        values = [self._only_value(kind, a, b) for kind in common.kinds]
        then, otherwise = ends
        return Mixed(self._pair(then, otherwise, label), common, conds, values, label)

    def _only_value(self, kind: Kind, *ends: Any) -> Any:
        """The one number of a type, where that is a literal or a size; else None."""
        of = [x for x in ends if kind in kinds_of(x)]
        if len(of) > 1 or isinstance(of[0], MixedNumber):
            return None
        plain = self.fork.trace.table.knows(of[0].dim) if isinstance(of[0], SymInt) else isinstance(of[0], PLAIN)
        return of[0] if plain else None

    def _known(self, x: Any, side: int) -> Any:
        """What a value of one kind or another is on a side, by the condition of the `if`."""
        if not isinstance(x, OneOf) or isinstance(x, Method):
            return x
        cond = self.fork.cond.value
        true, false = (cond, self.fork.trace.opposites.get(cond))[:: -1 if side else 1]
        for value, of in x.options:
            if of.value is true:
                return value
        return x.among([(value, of) for value, of in x.options if of.value is not false])

    def _one_of(self, a: Any, b: Any, label: str, text: str, hint: str) -> Alternatives | Undefined:
        """One of two values of different kinds; Undefined where one cannot be handed on."""
        options: list[tuple[Any, int, Joined | None]] = []
        try:
            if isinstance(a, Method) or isinstance(b, Method):
                raise Inside
            several = (isinstance(x, OneOf) and not isinstance(x, MixedNumber) for x in (a, b))
            there, others = (x.options if many else [(x, None)] for x, many in zip((a, b), several))
            others = [*others]
            for value, cond in there:
                peer = next((k for k, (other, _) in enumerate(others) if are_one(value, other)), None)
                if peer is None:
                    chosen = None if cond is None else self._only_there(cond, 0, label)
                    options.append((self._handed_on(value, 0, label), 0, chosen))
                else:
                    other, of = others.pop(peer)
                    self.pairs.append((True if cond is None else cond, True if of is None else of, "the condition"))
                    chosen = Joined(len(self.pairs) - 1)
                    options.append((self.value(value, other, label), 0, chosen))
            for value, cond in others:
                chosen = None if cond is None else self._only_there(cond, 1, label)
                options.append((self._handed_on(value, 1, label), 1, chosen))
        except Inside:
            options = []
        if not 0 < len(options) <= MOST_OPTIONS:
            return Undefined(label, text, hint)
        return Alternatives(options, label, text, hint)

    def _only_there(self, x: Any, side: int, label: str) -> Joined:
        """A place that is only on one side."""
        a, b = (x, NOWHERE) if side == 0 else (NOWHERE, x)
        for k, (then, otherwise, _) in enumerate(self.pairs):
            if then is a and otherwise is b:
                return Joined(k)
        self.pairs.append((a, b, label))
        return Joined(len(self.pairs) - 1)

    def _handed_on(self, x: Any, side: int, label: str) -> Any:
        """What a side holds as it is behind the `if`, of use where that side was taken.  Inside where it cannot be."""
        if isinstance(x, Tensor):
            is_copy = isinstance(x, Perhaps) and not x.shares_memory()
            if isinstance(x, Perhaps) and not is_copy:
                x = x.shared
            if is_copy or (self.fork.is_fresh(x, side) if is_array(x) else not in_scope(x.value)):
                known = all(map(self.fork.trace.table.knows, x.dims))
                return self._only_there(x, side, label) if known else self._sized(x, side, label)
            return x if is_known_view(x) and is_outside(x) else self._referred(x, side, label)
        if isinstance(x, SymInt):
            return x if self.fork.trace.table.knows(x.dim) else self._only_there(x, side, label)
        if isinstance(x, tuple):
            return like(x, [self._handed_on(part, side, f"{label}[{i}]") for i, part in enumerate(x)])
        if x is None or x is UNSET or isinstance(x, PLAIN):
            return x
        if isinstance(x, Stack):
            present = None if x.present is None else self._handed_on(x.present, side, label)
            return Gathered([self._handed_on(leaf.room, side, label) for leaf in x.leaves], present, x, side)
        if isinstance(x, MixedNumber):
            conds = [self._only_there(cond, side, label).number for _, cond in x.options]
            return Mixed(self._only_there(x.common, side, label), x.spec, conds, [None] * len(conds), label)
        if isinstance(x, OneOf) and not isinstance(x, Method):
            options: list[tuple[Any, int, Joined | None]] = [
                (self._handed_on(v, side, label), side, self._only_there(of, side, label)) for v, of in x.options
            ]
            return Alternatives(options, label, x.reason, x.hint)
        if isinstance(x, types.MethodType) and x.__self__ in self.before:
            return x
        if isinstance(x, types.FunctionType) and all(cell in self.before for cell in x.__closure__ or ()):
            return x
        if not self._is_new(x):
            if x not in self.before:
                raise Inside
            return x
        if id(x) not in self.becomes:
            self.becomes[id(x)] = x
            contents = self.sides[side].of(x)
            if x not in self.sides[side]:
                raise Inside
            planned = {k: self._handed_on(part, side, label_of(x, label, k)) for k, part in contents.items()}
            self.contents.append((x, planned))
            self.kept.append(x)
        return self.becomes[id(x)]

    def _referred(self, x: Tensor, side: int, label: str) -> Any:
        """An array of others as a side has it, which only that side knows.  Inside where it cannot be handed on."""
        known = all(map(self.fork.trace.table.knows, x.dims))
        if isinstance(x, PerhapsOfOthers):
            place = self._only_there(x, side, label) if known else self._sized(x, side, label)
            return Reference(lambda done, made: x.again(made, done.seen_by_others(x, side)), [place])
        if not known or (x._parent is not None and not is_known_view(x) and not isinstance(first_of(x), IndexedView)):
            what, hint = "an array that others refer to", f"copy() it in the branch: {label} = ….copy()"
            of = lambda done, made: PerhapsOfOthers(label, what, made, done.seen_by_others(x, side), hint)  # noqa: E731
            return Reference(of, [self._only_there(x, side, label) if known else self._sized(x, side, label)])
        if isinstance(x, IndexedView):
            indices = [self._only_there(index, side, label) for index in x.places.indices]
            source = self._handed_on(x.places.source, side, label)
            placed = lambda _, of, *at: IndexedView(replace(x.places, source=of, indices=at, mode=None))  # noqa: E731
            return Reference(placed, [source, *indices])
        if isinstance(x, Choice):
            arrays = [self._handed_on(array, side, label) for array, _ in x.options]
            conds = [self._only_there(cond, side, label) for _, cond in x.options]
            chosen = self._only_there(x, side, label)
            return Reference(lambda _, value, *parts: _chosen_again(value, parts), [chosen, *arrays, *conds])
        if x._parent is None or x._op is None or not all(map(self.fork.trace.table.knows, dims_in(x._attrs))):
            raise Inside
        return Reference(lambda _, of: of._view(x._op, x.view_attrs), [self._handed_on(x._parent, side, label)])

    def _pair(self, a: Any, b: Any, label: str) -> Joined:
        number = len(self.pairs)
        if is_array(a) and is_array(b):
            for k, (x, y, _) in enumerate(self.pairs):
                if x is a and y is b:
                    return Joined(k)
        self.pairs.append((a, b, label))
        self._choose(number, a, b)
        return Joined(number)

    def _choose(self, number: int, *ends: Any) -> None:
        """Note what a place may refer to that is not its own: arrays from before, and those of other places."""
        holds: dict[Tensor | int, list[Any]] = {}
        for end in ends:
            if not is_array(end):
                return
        for side, end in enumerate(ends):
            for option, cond in options_of(end):
                fresh = self.fork.is_fresh(option, side)
                known = next((x for x in holds if not isinstance(x, int) and is_same_place(x, option)), option)
                if not fresh and not is_known_view(option):
                    self.unplaced.append(number)
                    return
                of = holds.setdefault(self._place(number, side, option, end) if fresh else known, [False, False])
                with self.fork.at_end(side):
                    of[side] = cond if of[side] is False else apply("logical_or", of[side], cond)
        (first, sides), *others = holds.items()
        if not others and all(side is True for side in sides) and not isinstance(first, int):
            self.same[number] = first
        elif any(not isinstance(option, int) or option != number for option in holds):
            self.options[number] = [(option, self._condition(*sides)) for option, sides in holds.items()]

    def _place(self, number: int, side: int, made: Tensor, end: Tensor) -> int:
        """The first place that holds an array which a side made; of one among several, a place of its own."""
        found = next((k for k in range(number) if self.fresh(k, side) is made), None)
        if found is not None:
            return found
        label = self.pairs[number][2]
        apart = made is not end and not label.startswith(GENERATED_PREFIX)
        return self._only_there(made, side, label).number if apart else number

    def _condition(self, first: Any, second: Any) -> int | bool:
        """The place of a condition; a bool where it is that of the `if`, or its contrary."""
        if isinstance(first, bool) and isinstance(second, bool):
            return first
        self.pairs.append((first, second, "the condition"))
        return len(self.pairs) - 1

    def _sized(self, x: Tensor, side: int, label: str) -> Sized:
        """An array of a side whose sizes are known inside it."""
        if id(x) not in self.sized:
            trace = self.fork.trace
            if not trace.binds:
                raise Inside
            with self.fork.at_end(side):
                room, sizes = given_out(trace, x)
                most = [trace.table.resolve(largest(trace, d)) for d in x.dims]
            if not all(map(trace.table.knows, most)):
                raise Inside
            known = [self.sizes.setdefault((side, trace.table.resolve(d)), n) for d, n in zip(x.dims, sizes)]
            places = [self._only_there(size, side, label) for size in known]
            self.sized[id(x)] = x, Sized(self._only_there(room, side, label), places, most)
        return self.sized[id(x)][1]

    def _refuse_parts_of_sized(self) -> None:
        """OpError where a place has a part of an array that leaves a side as a copy."""
        for x, _ in self.sized.values():
            # A copy of a part of what was there before is kept apart from it otherwise.
            own = [root for root in roots(x) if any(is_inside(root, block) for block in self.fork.blocks)]
            others = [end for a, b, _ in self.pairs for end in (a, b) if is_array(end) and end is not x]
            others += [other for other, _ in self.sized.values() if other is not x]
            if any(root is mine for other in others for root in roots(other) for mine in own):
                raise leaves(x.type)

    def _is_new(self, x: Any) -> bool:
        return held(x) is not None and x not in self.before and not is_ours(x) and not self.before.is_outside(x)

    def finish(self, unset: Callable[[Undefined], None], value: Any = None) -> Any:
        """Make the `if` and let all locations hold what they do behind it; the merged `value`, complete.

        `unset` is told of the variables that have no value.
        """
        typed: list[tuple[Tensor, Tensor] | OpError] = []
        for number, (a, b, label) in enumerate(self.pairs):  # it gets more on the way
            typed.append(_unplaced(label) if number in self.unplaced else self.fork.typed(a, b, label))
            error = typed[-1]
            arrays = is_array(a) and is_array(b)
            if isinstance(error, OpError) and (
                arrays or not (a is NOWHERE or b is NOWHERE or label.startswith(GENERATED_PREFIX))
            ):
                self.options.pop(number, None)
                self.same.pop(number, None)
                self.apart[number] = self._one_of(a, b, label, error.message, error.hint)
        self._refuse_parts_of_sized()
        return Completion(self, self.fork.join(typed)).finish(unset, value)

    def alone(self, a: Any, b: Any, joined: Any) -> Any:
        """What `a` or `b`, which are no choices, come to where that is all: `joined` has the value."""
        if a is b:
            return a
        self._pair(a, b, "the value")
        return Completion(self, [joined]).only()

    def fresh(self, number: int, side: int) -> Any:
        """What a place holds at the end of a side, if it is an array that came to be there, which others may hold."""
        then, otherwise, label = self.pairs[number]
        end = otherwise if side else then
        if end is NOWHERE:
            return end
        if not is_array(end) or label.startswith(GENERATED_PREFIX):  # what is returned is not stored into any more
            return None
        return end if self.fork.is_fresh(end, side) else None


def _unplaced(label: str) -> OpError:
    text = f"{label} is a view whose place is known only in a branch of an if"
    return OpError(text, "copy() it in the branch, or take it behind the if")


def _stacked(parts: Iterable[Any]) -> bool:
    """Whether some parts of a list are the items of loops."""
    return any(isinstance(part, Stack) for part in parts)


def _chosen_again(value: Tensor, parts: Sequence[Tensor]) -> Choice:
    """One of some arrays, behind which their conditions are, and its value."""
    half = len(parts) // 2
    return Choice([*zip(parts[:half], parts[half:])], value)
