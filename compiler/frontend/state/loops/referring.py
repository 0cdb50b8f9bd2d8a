"""Arrays of others that variables refer to behind an iteration, and what may be a copy of one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import lcm
from typing import Any, NoReturn

from .....dialects.registry import OpError
from ...staging.regions.carried import SharedStart
from ...staging.regions.region import is_inside, is_seen
from ...staging.rewriting.break_lowering import GENERATED_PREFIX
from ...tensor.tensor import Tensor
from ...tensor.views.composite_views import roots
from ...trace.context import require
from ..alternatives.choice import PerhapsOfOthers
from ..alternatives.one_of import OneOf
from ..alternatives.resized import is_one_array
from ..merging.known_views import is_known_view
from ..sharing import is_array
from ..state import Location, arrays_of
from .beginning import LoopBefore, among
from .outcomes import Again, Periodic
from .references import Noted, Reference, referred

__all__ = ["LoopReferences"]

#: The most iterations in one that references may take to come back.
_LONGEST_PERIOD = 8


class LoopReferences(LoopBefore):
    """Which arrays iterations let variables refer to."""

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
        self.references[location] = Reference(location.label, given)
        if is_wished:
            self.wished.add(location)
        return True

    def _passed_on(self, arguments: Sequence[Any], handed: Sequence[Any]) -> list[Location]:
        """The locations that an iteration may leave with what another one held before it."""
        found = []
        for i, (location, value) in enumerate(zip(self.locations, handed)):
            others = [a for k, a in enumerate(arguments) if k != i and isinstance(a, Tensor) and is_array(a)]
            if any(among(root, others) for array, _ in referred(value) or () for root in roots(array)):
                found.append(location)
        return found

    def _is_resized(self, location: Location, value: Any) -> bool:
        """Whether a value is one of several arrays, and the sizes of the variable may change."""
        return location in self.resizable and is_one_array(value, self.before.at(location))

    def _carried_of_references(self, arguments: Sequence[Any], handed: Sequence[Any]) -> dict[int, list[Any]]:
        """What the loop carries that says which array each location refers to that may be several, by its number.

        Again where one refers to an array that was not known before.
        """
        found = {i: self._which(i, arguments, handed) for i, p in enumerate(self.locations) if p in self.references}
        carried = {i: which for i, which in found.items() if which is not None}
        if len(carried) < len(found):
            raise Again
        return carried

    def _which(self, i: int, arguments: Sequence[Any], handed: Sequence[Any]) -> list[Any] | None:
        """What the loop carries that says which array a location refers to; None where that is a new one.

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
            if among(array, kept) or self._is_its_own(array, arguments):
                mine += roots(array)
                if not reference.note_own(noted, array, cond):
                    if not reference.add_own(array):
                        self._refuse_to_refer(location)
                    return None
            elif reference.add(array, block):
                return None
            else:
                # What stands for the array of a variable is none of those from before: that refers to several as well.
                standing = (p for p, a in zip(self.locations, arguments) if among(a, roots(array)))
                other = next(standing, location)
                self._refuse_to_refer(location if other in self.references else other)
        if any(among(root, mine) for k, other in enumerate(handed) if k != i for root in arrays_of(other)):
            self._refuse_to_refer(location)
        return reference.carried(noted, kept, self.again)

    def _refuse_to_refer(self, location: Location) -> NoReturn:
        raise SharedStart(self.given, location.label)

    def _is_its_own(self, array: Tensor, arguments: Sequence[Any]) -> bool:
        """Whether an array came to be in iterations, and is no part of what a variable holds that others see.

        It may have been another variable's before this iteration.
        """
        given = dict(zip(map(id, arguments), self.given))
        made = [a for p, of in self.references.items() for a in of.own_among([arguments[k] for k in self.which[p]])]
        return (
            self._is_own(array)
            and (among(array, made) or not among(array, arguments))
            and not any(is_seen(given[id(root)], self.is_shared) for root in roots(array) if id(root) in given)
        )

    def is_shared(self, owner: Tensor) -> bool:
        """Whether more than one variable, or place that hangs on one, held an array or a view of it before the loop.

        What stands for an array in an iteration of a loop around this one may be that very array.
        """
        found, stands_for = [*self._holders.get(id(owner), ())], require().stands_for
        while isinstance(owner, Tensor) and owner in stands_for:
            owner = stands_for[owner]
            found += self._holders.get(id(owner), ())
        return sum(location not in self.local for location in found) > 1

    @cached_property
    def _holders(self) -> dict[int, list[Location]]:
        """By the identity of an array, which a location before the loop keeps alive: where it is held, or a part."""
        found: dict[int, list[Location]] = {}
        for location, value in self.everything.locations():
            for number in {id(array) for array in arrays_of(value)}:
                found.setdefault(number, []).append(location)
        return found

    def _is_one(self, always: Any, i: int) -> bool:
        """Whether what an iteration leaves is one array from before the loop, or the same part of it in each."""
        if among(always, self.aliases[i]):
            return True
        return isinstance(always, Tensor) and always._parent is not None and is_known_view(always) and all(
            among(root, self.aliases[i]) for root in roots(always)
        )  # fmt: skip

    def _perhaps_of_others(self, i: int, value: Tensor, others: Sequence[Tensor]) -> Tensor:
        """An array behind the loop that may be one of others from before, or a part of one."""
        name = self.locations[i].label
        hint = f"give it an array of its own in the loop: {name} = ….copy()"
        return PerhapsOfOthers(name, "an array from before the loop", value, others, hint)

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
                sharing = [k for k, v in enumerate(handed) if k != i and self._is_read(k) and among(root, arrays_of(v))]
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
            if not (as_it_is or part) or any(among(r, others) for r in of):
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

    def _is_own(self, value: Tensor) -> bool:
        """Whether the storage of an array came to be in the iteration."""
        block = require().region
        return all(is_inside(root, block) for root in roots(value))

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
