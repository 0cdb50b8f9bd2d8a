"""Lists to which the iterations of a loop append: the arrays that gather their items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from .....dialects.registry import OpError
from ...staging.regions.region import is_inside
from ...tensor.tensor import Tensor
from ...tensor.views.composite_views import roots
from ...trace.context import require
from ..alternatives.mixed_numbers import MixedNumber
from ..containers.growing_lists import GrowingList, Item, ItemTypes, Stack, alike, is_record, together
from ..containers.list_errors import ByItems, copying, instead_of_item, unknown_length
from ..state import Location, arrays_of, is_number
from ..values import described
from .beginning import ITEMS, among, held_at, listed
from .forms import Items, NoForm
from .referring import LoopReferences

__all__ = ["LoopLists"]


class LoopLists(LoopReferences):
    """The lists that iterations make longer."""

    def _carry_items(self, holder: Any, now: Any = None) -> bool:
        """Carry the items of a list, which an iteration leaves as `now`, as one vector; False where they are neither
        numbers nor tuples or lists of numbers."""
        if not isinstance(holder, GrowingList) or holder not in self.before:
            return False
        label = self.before.holders[id(holder)][1]
        location, kind = Location(holder, ITEMS, label), ItemTypes(None, ())
        around = holder.appending
        if id(holder) in self.grown:
            around = self.around.get(id(holder), around)
            _, item, _, _ = self.grown[id(holder)]
            kind = item.types
            if kind is None:
                return False
        if around is not None:
            raise ByItems(holder, unknown_length())
        try:
            form = Items(label, kind).joined(held_at(self.before, location)).joined(listed([]) if now is None else now)
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

    def _grow(self, grown: GrowingList, label: str, values: list[Any]) -> bool:
        """Gather what an iteration appends to a list; whether that was not known before."""
        items: list[Item] = []
        if len(values) > 1 and any(isinstance(value, Stack) for value in values):
            joined = together(values)
            if joined is None:
                self._refuse_items(label, "items of several types", "numbers or arrays of one dtype and shape")
            values = [joined]
        for value in values:
            known = is_number(value) or isinstance(value, (MixedNumber, Stack)) or self._is_new_list(value)
            known = known or (type(value) is tuple and is_record(value))
            made = (Item.row_of(value, grown) or Item.of(value)) if known else None
            if made is None or (made.several and len(values) > 1):
                raise OpError(
                    f"the list {label} gets {described(value)} in each iteration of a loop of compiled code",
                    instead_of_item(
                        value, "append numbers or arrays of one dtype and shape, or loop over what Python knows"
                    ),
                    "TX0315",
                )
            items.append(made)
        known = self.grown.get(id(grown))
        same = alike([*([] if known is None else [known[1]]), *items])
        if same is not None:
            if known is not None and same[0] is not known[1]:
                self.grown[id(grown)] = grown, same[0], known[2], None
                return True
            items = same[-len(items) :]
        if known is None:
            if any(require().table.varies(d) for d in items[0].array.dims):
                self._refuse_items(label, "arrays whose sizes vary with the loop", "an array of the largest size")
            self.grown[id(grown)] = grown, items[0], len(items), None
            return True
        _, first, each, stack = known
        assert stack is not None
        facts = require().table
        for k, item in enumerate(items):
            fits = item.depth == first.depth and (item.present is None) is (first.present is None)
            fits = fits and len(item.leaves) == len(first.leaves) and type(item.form) is type(first.form)
            for a, b in zip(item.leaves, first.leaves):
                fits = fits and a.array.element is b.array.element
                fits = fits and facts.resolve_all(a.array.type.dims) == facts.resolve_all(b.array.type.dims)
            if len(items) != each or not fits:
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
            outer = [root for root in its if not is_inside(root, trace.region) and not among(root, arguments)]
            after = [k for k, value in enumerate(handed) if any(among(root, its) for root in arrays_of(value))]
            # What variables that refer to several arrays hold in the next iteration stands behind the others.
            later = [k for i in after for k in (i, *self.which.get(self.locations[i], ()))]
            if any(among(w, [*outer, *(arguments[i] for i in (*before, *later))]) for w in trace.writes[-1]):
                raise OpError(
                    f"the list {label} gets arrays that others see, and the loop stores into them",
                    copying(label),
                    "TX0291",
                )
            twice = any(sum(root is other for other in everywhere) > 1 for root in its)
            if before or outer or after or twice:
                given = [value for j in before if isinstance(value := self.given[j], Tensor)]
                self.shared_items[number] = label, [*outer, *given], after
