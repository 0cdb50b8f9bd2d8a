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

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .....dialects.registry import OpError
from ....diagnostics import TxcError, user_loc
from ...staging.regions.carried import SharedStart, Unsettled
from ...staging.regions.region import is_seen
from ...staging.rewriting.break_lowering import GENERATED_PREFIX
from ...tensor.apply import as_tensor
from ...tensor.tensor import Tensor
from ...tensor.views.composite_views import roots
from ...trace.symint import symint
from ...trace.undefined import Undefined
from ..alternatives.choice import Choice, PerhapsOfOthers
from ..alternatives.mixed_numbers import MixedNumber, kinds_of
from ..alternatives.one_of import OneOf
from ..alternatives.resized import as_arrays, is_one_array
from ..containers.growing_lists import Appending, stack_for
from ..containers.list_errors import ByItems
from ..containers.staged_dicts import is_missing
from ..sharing import is_array, shared_again
from ..state import UNSET, Location, State, put_back
from .beginning import ITEMS, held_at, is_keyed, references_to
from .forms import NoForm, Number, lacks_leaves, options_in
from .learning import LoopLearning
from .outcomes import Again, FirstApart
from .references import referred

__all__ = ["LoopState"]

_ROUNDS = 64


class LoopState(LoopLearning):
    """What the iterations of one loop hand on, and what they leave."""

    # The whole loop

    def run(self, loop: Callable[[list[Any], list[str]], Sequence[Any]]) -> None:
        """``loop(initial values, their names)`` until it settles: what is carried behind it; then the state is that.

        It calls `iteration` with what is carried.
        """
        for _ in range(_ROUNDS):
            self._join()
            names = self._begin()
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
                if not self._learn_from(error):
                    raise
                continue
            finally:
                self.loops.pop()
                self.before.restore()
                for number, around in self.around.items():
                    self.grown[number][0].begin(around)
            self._note_learnt()
            self._leave(found)
            return
        text = "what the variables of a loop hold does not settle"
        raise TxcError(text, user_loc(), "give them values before it", "TX0292")

    def _begin(self) -> list[str]:
        """What the first iteration is given, by what is known of the loop so far; the names of that."""
        self.locations = [*self.carried, *self.last]
        #: Passed on as it is, so that errors can say that they are of this loop.
        given = [Undefined(p.label) if p in self.last else self.before.at(p) for p in self.locations]
        self.given = [Undefined(p.label) if v is UNSET else v for p, v in zip(self.locations, given)]
        self.resized = {i for i, location in enumerate(self.locations) if location in self.resizable}
        self.vectors = set()
        names = [p.label for p in self.locations]
        for i, location in enumerate(self.locations):
            if (reference := self.references.get(location)) is not None:
                starts = reference.starts(self.again)
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
            self.resized |= {len(self.given) + k for k in form.resized}
            self.given += form.starts(held_at(self.before, location), self.again)
            names += [location.label] * form.size
        self.resized |= self.vectors
        self._expect_types(names)
        return names

    def _learn_from(self, error: TxcError) -> bool:
        """Take up what an error of the loop says of what it carries; whether it says anything of that."""
        cause = error.__cause__
        if not isinstance(cause, (SharedStart, Unsettled)) or cause.carried is not self.given:
            return False
        if isinstance(cause, Unsettled) and cause.index >= len(self.locations):
            return False
        if isinstance(cause, SharedStart):
            location = next((p for p in self.locations if p.label == cause.name), None)
            if location is None or not self._may_refer(location):
                raise FirstApart(error, refers=True) from None
            for other in self.passed_on:
                if other not in self.references:
                    self._may_refer(other, is_wished=True)
            return True
        self._give_up(self.locations[cause.index], error, isinstance(cause, Unsettled) and cause.resized)
        return True

    def _note_learnt(self) -> None:
        """Keep what was learnt of the loop, for when loops around it stage it again."""
        self.learnt.carried, self.learnt.last = [*self.carried], [*self.last]
        self.learnt.resizable, self.learnt.references = [*self.resizable], [*self.references]
        self.learnt.given_up = {p: (why, p in self.given_up_sizes) for p, why in self.given_up.items()}
        self.learnt.numbers = {p: form for p, form in self.forms.items() if isinstance(form, Number)}

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
        self._mark_shared(found)
        values = [(p, self._behind(i, found[i], found)) for i, p in enumerate(self.locations)]
        copies = self._behind_copies(found, values)
        values += [(p, self._of_last_type(p, self._formed(p, copies))) for p in self.forms]
        values += [(location, UNSET) for location in self.local]
        values += [(location, symint(d)) for location, d in self.closed.items()]
        self._fill(values)
        behind = dict(values)
        for number, (grown, item, _, stack) in self.grown.items():
            assert stack is not None
            formed = self._shared_with_list(number)
            if formed or number in self.shared_items:
                label, others, carried = self.shared_items.get(number, (self.appended[number][0], [], []))
                final = [array for i in carried for array, _ in referred(behind[self.locations[i]]) or ()]
                stack.share([*others, *final, *formed], label)
            grown.add(stack.flattened() if item.several else stack)
        for location, reason in self.local.items():
            if location not in self.closed and location.label in self.carries.after:
                self.unset(reason)

    def _formed(self, location: Location, carried: Sequence[Any]) -> Any:
        """What a location holds that has a form, of what is carried; nothing as long as no iteration gave it that."""
        leaves = (carried[k] for k in self.leaves[location])
        value = self.forms[location].made(leaves, self.again)
        return UNSET if lacks_leaves(value) else value

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
            return reference.value([found[k] for k in self.which[self.locations[i]]], self.again)
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

    def _fill(self, values: Iterable[tuple[Location, Any]]) -> None:
        """The state before the loop, with other values in some locations."""
        changed: dict[int, dict[Any, Any]] = {}
        for location, value in values:
            contents = changed.setdefault(id(location.holder), dict(self.before.of(location.holder)))
            if location.key is ITEMS:
                changed[id(location.holder)] = dict(enumerate(value.parts()))
            elif value is UNSET or isinstance(value, Undefined) or (is_keyed(location) and is_missing(value)):
                contents.pop(location.key, None)
            else:
                contents[location.key] = value
        for number, contents in changed.items():
            put_back(self.before.holders[number][0], contents)

    def _note_types(self, after: State) -> None:
        """Note what iterations leave in the leaves of forms, which there is nothing in before the loop."""
        for location, form in self.forms.items():
            value = held_at(after, location)
            try:
                if any(form.joined(option) is not form for option in options_in(value)):
                    continue  # the next iteration begins with another value
                leaves = form.leaves(value, iter([Undefined(location.label)] * form.size), self.again)
                # Here, where the counter of the loop means something.
                self.seen[location] = form, [x if isinstance(x, Undefined) else as_tensor(x) for x in leaves]
            except (NoForm, OpError):
                continue

    def _expect_types(self, names: Sequence[str]) -> None:
        """Let what nothing is in before the loop be of the type that iterations were seen to leave there."""
        hints = self.learnt.hints(names)
        if hints.names != names:
            hints.__init__()
            hints.names = [*names]
        for location, (form, leaves) in self.seen.items():
            if self.forms.get(location) is form:
                for k, leaf in zip(self.leaves[location], leaves):
                    if isinstance(self.given[k], Undefined) and not isinstance(leaf, Undefined):
                        hints.found[k] = leaf

    # One iteration

    def enter(self, arguments: Sequence[Any], number: Any = None) -> None:
        """The state at the begin of an iteration, before which a `number` of others is over."""
        self.number = number
        self.before.restore()
        given: list[tuple[Location, Any]] = [(location, UNSET) for location in self.local]
        for location, value in zip(self.locations, arguments):
            if (reference := self.references.get(location)) is not None:
                value = reference.value([arguments[k] for k in self.which[location]], self.again)
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
        self.references_after = references_to(self.everything, after)
        carried = {location: i for i, location in enumerate(self.locations)}
        for holder, label, _ in self.before.holders.values():
            items = Location(holder, ITEMS, label)
            if items in self.forms:
                learnt |= self._keeps_form(items, held_at(self.before, items), held_at(after, items))
                continue
            try:
                learnt |= self._contents(holder, label, after, carried)
            except OpError as error:
                if error.code != "TX0315" or not self._carry_items(holder, held_at(after, items)):
                    raise
                learnt = True
        if learnt:
            self._note_types(after)
            raise Again
        handed = [after.at(location) for location in self.locations]
        self.end_kinds = {location: kinds_of(held_at(after, location)) for location in self.forms}
        self._keep_kinds(
            [*zip(self.given, handed), *((held_at(self.before, p), held_at(after, p)) for p in self.forms)]
        )
        self._follow(arguments, handed)
        self.passed_on = self._passed_on(arguments, handed)
        which = self._carried_of_references(arguments, handed)
        self.handed = handed
        self.aliases = [[] if i in which else self._others_of(i, arguments, handed) for i in range(len(handed))]
        if any(
            others and not self._is_one(handed[i], i) and self._may_refer(self.locations[i], is_wished=True)
            for i, others in enumerate(self.aliases)
        ):
            raise Again
        self.ends = [[None if i in which else self._made(i, value)] for i, value in enumerate(handed)]
        self._share_items(arguments, handed)
        self._find_sharing(arguments, handed, after)
        own = [v for i, v in enumerate(handed) if i not in which]
        sized = [v for v in own if isinstance(v, OneOf) and is_one_array(v, v.options[0][0])]
        made = dict(zip(map(id, sized), as_arrays(sized)))
        given = [Undefined(p.label) if v is UNSET else made.get(id(v), v) for p, v in zip(self.locations, handed)]
        for i, carried in which.items():
            given[i] = arguments[i]
            given += carried
        for location, form in self.forms.items():
            instead = iter([arguments[k] for k in self.leaves[location]])
            given += form.leaves(held_at(after, location), instead, self.again)
        return tuple(given)
