"""Which places of a loop may hold one array: each carries a copy, and a store into one would miss the others.

A variable that is rebound, a list that grows, and a form (`forms.Arrays`) has its arrays as copies.  That is Python's
program as long as nobody stores into what two places hold.  Which places may hold one array is a relation: what they
have before the loop, and what an iteration leaves in two of them, an array of its own or one that they held before it,
until nothing is added.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from .....dialects.registry import OpError
from ...staging.regions.region import is_inside, is_seen
from ...staging.rewriting.break_lowering import GENERATED_PREFIX
from ...tensor.tensor import Tensor
from ...tensor.views.composite_views import roots
from ...trace.context import require
from ...trace.graph import Block
from ..alternatives.choice import PerhapsOfOthers
from ..sharing import is_array
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
        self.count, self.places = len(places), [*places]
        self.places += [Place("an array from before the loop", [t], [t], [t]) for t in others.values()]
        self._at = {id(t): k for k, place in enumerate(self.places) for t in place.stands}
        pairs = [(a, b) for a in range(len(self.places)) for b in range(a)]
        #: Pairs of places that share before the loop, and behind an iteration.
        self._before = {(a, b) for a, b in pairs if self._meet(self.places[a].begins, self.places[b].begins)}
        self._behind: set[tuple[int, int]] = set()
        while True:
            rest = [pair for pair in pairs if pair not in self._behind]
            found = {(a, b) for a, b in rest if self._meet(self.places[a].ends, self.places[b].ends, self._behind)}
            if not found:
                return
            self._behind |= found

    def _meet(
        self, some: Iterable[Tensor], others: Sequence[Tensor], shared: Container[tuple[int, int]] | None = None
    ) -> bool:
        """Whether one of some arrays is one of others; with `shared`, or may be, at the begin of an iteration."""
        for one in some:
            for other in others:
                if one is other:
                    return True
                a, b = self._at.get(id(one)), self._at.get(id(other))
                if shared is not None and a is not None and b is not None:
                    pair = max(a, b), min(a, b)
                    if pair in shared or pair in self._before:
                        return True
        return False

    def others(self, number: int) -> list[int]:
        """The places that may hold what one of them holds behind an iteration."""
        return sorted(a + b - number for a, b in self._behind if number in (a, b))

    def is_direct(self, a: int, b: int) -> bool:
        """Whether two places hold one array behind an iteration wherever they held which ones before it."""
        return self._meet(self.places[a].ends, self.places[b].ends)

    def stored(self, written: Iterable[Tensor]) -> Iterator[tuple[Place, Place]]:
        """Places that iterations store into, with what holds the same array at their begin."""
        for t in written:
            number = self._at.get(id(t))
            if number is not None and self.places[number].is_read:
                others = (self.places[other] for other in self.others(number))
                yield from ((self.places[number], other) for other in others if other.is_read)


class LoopCopies(LoopLists):
    """The copies of arrays that a loop hands on."""

    sharing: Sharing
    #: By the number of a place: the location and the number of the leaf that are a copy there.
    copy_places: dict[int, tuple[Location, int]]
    #: By the identity of a list: the number of its place.
    list_places: dict[int, int]
    #: By the number of a place: the arrays that it has behind the loop.
    held_behind: dict[int, list[Tensor]]

    def _find_sharing(self, arguments: Sequence[Any], handed: Sequence[Any], after: State) -> None:
        """Find which places share arrays behind an iteration; an error where it stores into one of two such."""
        self.copy_places, self.list_places = {}, {}
        places = [self._place_of(i, arguments, handed[i]) for i in range(len(handed))]
        for location, form in self.forms.items():
            if location.label.startswith(GENERATED_PREFIX):  # what is returned is not stored into any more
                continue
            ends: dict[int, list[Tensor]] = {k: [] for k in form.copies}
            for value in options_in(held_at(after, location)) if form.copies else ():
                for k, array in form.copied(value):
                    ends[k] += roots(array)
            for k, of in ends.items():
                stands = arguments[self.leaves[location][k]]
                self.copy_places[len(places)] = location, self.leaves[location][k]
                places.append(Place(location.label, [stands] if isinstance(stands, Tensor) else [], [], of, True))
        for number, (label, items) in self.appended.items():
            of = [root for item in items for t in (item.array, *item.others) if is_array(t) for root in roots(t)]
            self.list_places[number] = len(places)
            places.append(Place(label, [], [], of))
        self.sharing = Sharing(places, require().region)
        for one, other in self.sharing.stored(require().writes[-1]):
            copy, of = (one, other) if one.is_copy else (other, one)
            if copy.is_copy:
                raise OpError(
                    f"{copy.label} may be {of.label} as well after an iteration, and the loop stores into one of both",
                    f"copy() the array that {copy.label} gets",
                    "TX0291",
                )
            location = next((p for p in self.locations if p.label in (one.label, other.label)), None)
            if location is not None:
                self._refuse_to_refer(location)

    def _place_of(self, i: int, arguments: Sequence[Any], value: Any) -> Place:
        """A location that has no form, and holds `value` after an iteration."""
        location, given, at_begin = self.locations[i], self.given[i], arguments[i]
        is_read = self._is_read(i)
        reference = self.references.get(location)
        if reference is not None:
            own = reference.own_among([arguments[k] for k in self.which[location]])
            made = [array for array, _ in referred(value) or () if not reference.has(array)]
            of = [root for array in made for root in roots(array)]
            return Place(location.label, [t for t in own if isinstance(t, Tensor)], [], of, is_read=is_read)
        if location.label.startswith(GENERATED_PREFIX) or (isinstance(value, Tensor) and not is_array(value)):
            return Place(location.label, [], [], [], is_read=is_read)
        if at_begin is given and value is given:  # it stays that array
            return Place(location.label, [], [], [], is_read=is_read)
        stands = [at_begin] if isinstance(at_begin, Tensor) else []
        seen = [t for t in arrays_of(given) if is_seen(t, self.is_shared)]
        return Place(location.label, stands, seen, [*arrays_of(value)], is_read=is_read)

    def _mark_shared(self, found: list[Any]) -> None:
        """Let what is carried behind the loop know what else it may be than `shared_again` and `aliases` say."""
        own = [*found]
        for i, location in enumerate(self.locations):
            others = [] if location in self.references else self.sharing.others(i)
            outer = [t for k in others if k >= self.sharing.count for t in self.sharing.places[k].begins]
            more = [t for t in outer if not among(t, self.aliases[i])]
            given = self.given[i]
            if (more or self.aliases[i]) and is_array(given) and is_seen(given, self.is_shared):
                more += [] if self.ran() is True else [given]
            self.aliases[i] += more
            for k in others:
                if k < i and not self.sharing.is_direct(i, k) and is_array(found[i]) and is_array(own[k]):
                    what = "an array that another variable refers to as well"
                    hint = "copy() one of the two in the loop"
                    found[i] = PerhapsOfOthers(location.label, what, found[i], [own[k]], hint)

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
        """The arrays behind the loop that what a place holds there may be."""
        others = self.sharing.others(place)
        return [t for other in others for t in self.held_behind.get(other, self.sharing.places[other].begins)]

    def _shared_with_list(self, number: int) -> list[Tensor]:
        """The arrays behind the loop that the items of a list, by its identity, may be."""
        return self._others_behind(self.list_places[number]) if number in self.list_places else []
