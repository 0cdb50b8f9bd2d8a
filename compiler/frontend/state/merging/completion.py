"""The second half of a merge: objects and values behind an `if`, of what was planned and the results that it has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .....dialects.dims.dims import dim
from .....dialects.dims.index_map import product
from .....dialects.registry import OpError
from ....call.signature import like
from ...indexing.data_dependent_sizes import bind
from ...staging.rewriting.break_lowering import GENERATED_PREFIX
from ...tensor.apply import apply
from ...tensor.broadcasting import broadcast_to
from ...tensor.tensor import Tensor
from ...tensor.views.composite_views import in_scope, roots
from ...trace.symint import as_dim
from ...trace.undefined import Undefined
from ..alternatives.choice import Choice, PerhapsOfOthers
from ..alternatives.mixed_numbers import MixedNumber
from ..alternatives.one_of import OneOf
from ..containers.growing_lists import Item, Stack
from ..sharing import is_array, shared_again
from ..state import Location, put_back
from ..values import same_value
from .planned import Alternatives, Gathered, Joined, Mixed, PerhapsAppended, Reference, Sized

if TYPE_CHECKING:
    from .merging import Merge

__all__ = ["Completion"]


class Completion:
    """Makes what a `plan` says; `joined` has a result for each of its pairs, or the error why there is none."""

    def __init__(self, plan: Merge, joined: Sequence[Any]):
        self.plan, self.joined = plan, joined
        self.results: list[Any] = []
        self.made: dict[int, Tensor | Undefined] = {}
        self.taken_sides: list[Tensor] = []
        for (_, _, label), one in zip(plan.pairs, joined):
            no_value = isinstance(one, OpError)
            self.results.append(Undefined(label, one.message, one.hint) if no_value else one)

    def finish(self, unset: Callable[[Undefined], None], value: Any = None) -> Any:
        """Let all locations hold what they do behind the `if`; the merged `value`, complete."""
        self._choices()
        ends = [[self.plan.fresh(k, side) for side in range(2)] for k in range(len(self.plan.pairs))]
        for number, options in self.plan.options.items():
            ends[number] = [
                None if any(isinstance(o, int) and o != number for o, _ in options) else x for x in ends[number]
            ]
        shared_again(
            ends, self.results, [label for _, _, label in self.plan.pairs], "copy() one of the two in the branch"
        )
        for number, planned in self.plan.apart.items():
            self.results[number] = self._complete(planned)
        self.plan.before.restore()
        for holder, merged in self.plan.contents:
            complete: dict[Any, Any] = {}
            for key, planned in merged.items():
                found = self._complete(planned)
                if isinstance(found, Undefined) and Location(holder, key, "").is_variable:
                    unset(found)
                else:
                    complete[key] = found
            put_back(holder, complete)
        return self._complete(value)

    def only(self) -> Any:
        """What the one place comes to."""
        self._choices()
        return self.results[0]

    def _choices(self) -> None:
        """Make places that may refer to arrays from before choices among these."""
        for number, array in self.plan.same.items():
            self.results[number] = array
        joined = [*self.results]
        for number, options in self.plan.options.items():
            if isinstance(joined[number], Undefined):
                continue
            conds = self._conditions()
            arrays = [joined[self._joined(o, of)] if isinstance(o, int) else o for o, of in options]
            if any(isinstance(array, Undefined) for array in arrays):
                label = self.plan.pairs[number][2]
                text = f"{label} may be an array that is of one type or another"
                self.results[number] = Undefined(label, text, "give both branches arrays of one dtype and shape")
                continue
            chosen = [conds[not of] if isinstance(of, bool) else joined[of] for _, of in options]
            self.results[number] = Choice([*zip(arrays, chosen)], joined[number])

    def _joined(self, number: int, of: int | bool) -> int:
        """The place of an array that a side made: that, or one of that side alone where the sides are of two types."""
        planned = self.plan.apart.get(number)
        if not isinstance(planned, Alternatives):
            return number
        side = int(not of) if isinstance(of, bool) else 1 if self.plan.pairs[of][0] is False else 0
        found = [v.number for v, at, _ in planned.options if at == side and isinstance(v, Joined)]
        return found[0] if len(found) == 1 else number

    def _conditions(self) -> list[Tensor]:
        """Whether each side is taken."""
        if not self.taken_sides:
            cond, opposites = self.plan.fork.cond, self.plan.fork.trace.opposites
            if cond.value not in opposites or not in_scope(opposites[cond.value]):
                other = apply("logical_not", cond).value
                opposites[cond.value], opposites[other] = other, cond.value
            self.taken_sides = [cond, Tensor(opposites[cond.value])]
        return self.taken_sides

    def _stack(self, planned: PerhapsAppended) -> Stack:
        """What one branch appends to a list, behind the `if`."""
        of = planned.of
        rows = [self._there(joined) for joined in planned.rows]
        present = planned.present if isinstance(planned.present, Tensor) else self._there(planned.present)
        if isinstance(of, Stack):
            if present.dims != rows[0].dims[:1]:
                present = broadcast_to(present.reshape(()), rows[0].dims[:1], "row")
            made = of.with_leaves(Stack(r, leaf.weak, leaf.depth, present) for r, leaf in zip(rows, of.leaves))
        else:
            leaves = (Stack(r.reshape((1, *r.shape)), r.weak, 1, present) for r in rows)
            made = of.stack(leaves) if isinstance(of, Item) else next(leaves)
        if shared := self.seen_by_others(planned.of, planned.side):
            made.share(shared, planned.label)
        return made

    def _stack_there(self, planned: Gathered) -> Stack | Undefined:
        """The items of a loop behind the `if`, of use where their side was taken."""
        rooms, present = [self._complete(room) for room in planned.rooms], self._complete(planned.present)
        for part in (*rooms, present):
            if isinstance(part, Undefined):
                return part
        of = planned.of
        made = of.with_leaves(Stack(room, leaf.weak, leaf.depth, present) for room, leaf in zip(rooms, of.leaves))
        if shared := self.seen_by_others(of, planned.side):
            made.share(shared, of.shared_in)
        return made

    def _there(self, joined: Joined | Sized) -> Tensor:
        """A result of the `if`; the OpError that there is in its place."""
        if isinstance(joined, Sized):
            for part in (joined.room, *joined.sizes):
                self._there(part)
            made = self._of_that_size(joined)
            assert isinstance(made, Tensor)
            return made
        found = self.joined[joined.number]
        if isinstance(found, OpError):
            raise found
        return found

    def seen_by_others(self, value: Any, side: int) -> list[Tensor]:
        """The arrays that what a branch appends to a list may be, or may be parts of, and that others refer to."""
        if isinstance(value, Stack):
            return [t for other in value.others for t in self.seen_by_others(other, side)]
        if not is_array(value):
            return []
        of = [*(value.sources() if isinstance(value, PerhapsOfOthers) else roots(value))]
        ends = [
            (k, otherwise if side else then)
            for k, (then, otherwise, label) in enumerate(self.plan.pairs)
            if not label.startswith(GENERATED_PREFIX)
        ]
        peers = [k for k, end in ends if is_array(end) and any(root is t for t in roots(end) for root in of)]
        before = [t for t in of if not self.plan.fork.is_fresh(t, side)]
        return before + [t for k in peers if isinstance(t := self.results[k], Tensor)]

    def _complete(self, planned: Any) -> Any:
        if isinstance(planned, Joined):
            return self.results[planned.number]
        if isinstance(planned, PerhapsAppended):
            return self._stack(planned)
        if isinstance(planned, Gathered):
            return self._stack_there(planned)
        if isinstance(planned, Alternatives):
            return self._completed(planned)
        if isinstance(planned, Mixed):
            return self._mixed_number(planned)
        if isinstance(planned, Reference):
            parts = [self._complete(part) for part in planned.parts]
            return next((part for part in parts if isinstance(part, Undefined)), None) or planned.make(self, *parts)
        if isinstance(planned, Sized):
            return self._of_that_size(planned)
        if isinstance(planned, tuple):
            return like(planned, [self._complete(part) for part in planned])
        return planned

    def _mixed_number(self, planned: Mixed) -> MixedNumber | Undefined:
        common = self.results[planned.common.number]
        conds = [self._conditions()[not of] if isinstance(of, bool) else self.results[of] for of in planned.conds]
        if isinstance(common, Undefined):
            return common
        return MixedNumber(planned.label, common, planned.spec, conds, self.plan.again, planned.values)

    def _completed(self, planned: Alternatives) -> Any:
        no_value = Undefined(planned.label, planned.text, planned.hint)
        options: list[tuple[Any, Tensor]] = []
        for value, side, chosen in planned.options:
            made = self._complete(value)
            cond = self._conditions()[side] if chosen is None else self._complete(chosen)
            if not isinstance(cond, Tensor) or any(isinstance(part, Undefined) for part in _parts(made)):
                return no_value
            same = next((k for k, (other, _) in enumerate(options) if other is made or same_value(other, made)), None)
            if same is None:
                options.append((made, cond))
            else:
                options[same] = options[same][0], apply("logical_or", options[same][1], cond)
        if len(options) == 1:
            return options[0][0]
        for made, cond in options:
            if any(made is x for x in self.plan.kept):
                self.plan.fork.trace.made_where[id(made)] = made, cond
        return OneOf(planned.label, planned.text, planned.hint, options, self.plan.again)

    def _of_that_size(self, planned: Sized) -> Tensor | Undefined:
        """Such an array behind the `if`, where its sizes are known once more."""
        if id(planned) not in self.made:
            room, *sizes = (self._complete(place) for place in (planned.room, *planned.sizes))
            if any(isinstance(part, Undefined) for part in (room, *sizes)):
                return room
            trace = self.plan.fork.trace
            dims = [as_dim(bind(trace, size, most)) for size, most in zip(sizes, planned.most)]
            flat = apply("slice", room, offsets=(dim(0),), extents=(product(dims),))
            self.made[id(planned)] = Tensor(apply("reshape", flat, dims=tuple(dims)).value, boxed=True)
        return self.made[id(planned)]


def _parts(value: Any) -> Sequence[Any]:
    return [leaf for part in value for leaf in _parts(part)] if isinstance(value, tuple) else [value]
