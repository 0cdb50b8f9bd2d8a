"""Copies of arrays that iterations make: which of them may be another place's array as well.

A tuple, list or dict, or one value or another, that a loop hands on has its arrays as copies (`forms.Arrays`).  That is
Python's program as long as nobody stores into what two places hold.  Which places may hold one array is a relation:
what they have before the loop, and what an iteration leaves in two of them, an array of its own or one that they held
before it, until nothing is added.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .....dialects.registry import OpError
from ...staging.regions import is_inside
from ...tensor.composite_views import roots
from ...tensor.tensor import Tensor
from ...trace.context import require
from ...trace.graph import Block
from ..choice import PerhapsOfOthers
from ..state import Location, State, arrays_of
from .appending import LoopLists
from .beginning import among, held_at
from .forms import options_in
from .references import referred

__all__ = ["LoopCopies"]


class Place(NamedTuple):
    """Where a loop holds an array; `label` is how messages call it."""

    label: str
    #: What stands for its arrays at the begin of an iteration.
    stands: Sequence[Tensor]
    #: The arrays that it may hold a part of before the loop, and after an iteration.
    begins: Sequence[Tensor]
    ends: Sequence[Tensor]
    is_copy: bool = False
    #: Whether an iteration may read it before it sets it anew.
    is_read: bool = True


class Sharing:
    """Which of some places, and of the arrays from before the loop that they meet, may hold one array.

    What iterations make, in `block`, is at no place of its own: the next one has other ones.
    """

    def __init__(self, places: Sequence[Place], block: Block):
        met = [t for place in places for t in (*place.begins, *place.ends) if not is_inside(t, block)]
        stands = [t for place in places for t in place.stands]
        others = {id(t): t for t in met if not among(t, stands)}
        self.places = [*places, *(Place("an array from before the loop", [t], [t], [t]) for t in others.values())]
        self._at = {id(t): k for k, place in enumerate(self.places) for t in place.stands}
        numbers = range(len(self.places))
        pairs = [(a, b) for a in numbers for b in range(a)]
        self._pairs = {(a, b) for a, b in pairs if self._meet(self.places[a].begins, self.places[b].begins, set())}
        while True:
            rest = [pair for pair in pairs if pair not in self._pairs]
            found = {(a, b) for a, b in rest if self._meet(self.places[a].ends, self.places[b].ends, self._pairs)}
            if not found:
                return
            self._pairs |= found

    def _meet(self, some: Iterable[Tensor], others: Sequence[Tensor], pairs: set[tuple[int, int]]) -> bool:
        """Whether one of some arrays may be one of others, at the begin of an iteration of places that share so."""
        for one in some:
            for other in others:
                if one is other:
                    return True
                at = self._at.get(id(one)), self._at.get(id(other))
                if at in pairs or at[::-1] in pairs:
                    return True
        return False

    def with_copy(self, number: int) -> list[int]:
        """The places that may hold what one of them holds, where one of the two is a copy."""
        pairs = ((a, b) if a == number else (b, a) for a, b in self._pairs if number in (a, b))
        return [b for a, b in pairs if self.places[a].is_copy or self.places[b].is_copy]

    def refuse_stores(self, written: Iterable[Tensor]) -> None:
        """OpError where iterations store into what two places may hold, of which one is a copy."""
        for t in written:
            if (number := self._at.get(id(t))) is None:
                continue
            for other in self.with_copy(number):
                one, two = self.places[number], self.places[other]
                if not two.is_read:
                    continue
                copy, of = (one, two) if one.is_copy else (two, one)
                raise OpError(
                    f"{copy.label} may be {of.label} as well after an iteration, and the loop stores into one of both",
                    f"copy() the array that {copy.label} gets",
                    "TX0291",
                )


class LoopCopies(LoopLists):
    """The copies of arrays that a loop hands on in forms."""

    sharing: Sharing
    #: By the number of a place: the location and the number of the leaf that are a copy there.
    copy_places: dict[int, tuple[Location, int]]
    #: By the identity of a list: the number of its place.
    list_places: dict[int, int]
    #: By the number of a place: the arrays that it has behind the loop.
    held_behind: dict[int, list[Tensor]]

    def _find_copies(self, arguments: Sequence[Any], handed: Sequence[Any], after: State) -> None:
        """Find which places share arrays behind an iteration; OpError where it stores into what it has a copy of."""
        self.sharing, self.copy_places, self.list_places = Sharing([], require().region), {}, {}
        if not any(form.copies for form in self.forms.values()):
            return
        places = [self._place_of(i, arguments, handed[i]) for i in range(len(handed))]
        for location, form in self.forms.items():
            ends: dict[int, list[Tensor]] = {k: [] for k in form.copies}
            for value in options_in(held_at(after, location)):
                for k, array in form.copied(value):
                    ends[k] += roots(array)
            for k, of in ends.items():
                stands = arguments[self.leaves[location][k]]
                self.copy_places[len(places)] = location, self.leaves[location][k]
                places.append(Place(location.label, [stands] if isinstance(stands, Tensor) else [], [], of, True))
        for number, (label, items) in self.appended.items():
            of = [root for item in items for t in (item.array, *item.others) for root in roots(t)]
            self.list_places[number] = len(places)
            places.append(Place(label, [], [], of))
        self.sharing = Sharing(places, require().region)
        self.sharing.refuse_stores(require().writes[-1])

    def _place_of(self, i: int, arguments: Sequence[Any], value: Any) -> Place:
        """A location that has no form, and holds `value` after an iteration."""
        location = self.locations[i]
        is_read = self._is_read(i)
        reference = self.references.get(location)
        if reference is not None:
            own = reference.own_among([arguments[k] for k in self.which[location]])
            made = [array for array, _ in referred(value) or () if not reference.has(array)]
            of = [root for array in made for root in roots(array)]
            return Place(location.label, [t for t in own if isinstance(t, Tensor)], [], of, is_read=is_read)
        stands = [arguments[i]] if isinstance(arguments[i], Tensor) else []
        return Place(location.label, stands, [*arrays_of(self.given[i])], [*arrays_of(value)], is_read=is_read)

    def _behind_copies(self, found: Sequence[Any], values: Sequence[tuple[Location, Any]]) -> list[Any]:
        """What is carried behind the loop, of which copies know what they may be; `values` is what locations hold."""
        self.held_behind = {i: [*arrays_of(value)] for i, (_, value) in enumerate(values)}
        copies = {place: t for place, (_, n) in self.copy_places.items() if isinstance(t := found[n], Tensor)}
        self.held_behind |= {place: [t] for place, t in copies.items()}
        marked = [*found]
        for place, t in copies.items():
            location, n = self.copy_places[place]
            if others := self._others_behind(place):
                what = "an array that another variable, or another part of it, has as well"
                hint = f"copy() the array that {location.label} gets in the loop"
                marked[n] = PerhapsOfOthers(location.label, what, t, others, hint)
        return marked

    def _others_behind(self, place: int) -> list[Tensor]:
        """The arrays behind the loop that what a place holds there may be, where one of the two is a copy."""
        others = self.sharing.with_copy(place)
        return [t for other in others for t in self.held_behind.get(other, self.sharing.places[other].begins)]

    def _shared_with_list(self, number: int) -> list[Tensor]:
        """The copies behind the loop that the items of a list, by its identity, may be."""
        return self._others_behind(self.list_places[number]) if number in self.list_places else []
