"""What locations hold behind an `if` that compiled code decides, from what they held at the end of its two branches.

Places are merged one by one, and objects keep their identity:

* the same object, or equal values: that
* numbers, and arrays that came to be in the branches: a result of the `if`
* arrays of which one was there before: a *choice* of references, read as the `if` decided and stored into where it did
* tuples, and containers made in both branches: part by part
* a container that was there before: part by part, in location; one that changed its structure is an error, but for a
  list to which a branch appends: what it appends is there where that branch is taken (`growing.Stack`)
* anything else: the variable has no value behind the `if`, with the reason for who reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ....dialects.registry import OpError
from ...call.signature import like
from ..staging.break_lowering import MADE
from ..staging.regions import Fork
from ..tensor.apply import apply, broadcast_to
from ..tensor.composite_views import roots
from ..tensor.tensor import Tensor
from ..trace.symint import SymInt
from ..trace.undefined import Undefined
from .choice import Choice
from .growing_lists import GrowingList, Records, Stack, is_record
from .sharing import is_array, shared_again
from .state import UNSET, Location, State, held, is_number, kind_of, label_of, put_back

__all__ = ["UNNAMED", "Merge", "described", "same_value"]

#: How messages call what no variable holds.
UNNAMED = ("the value", "the result")


class _Joined(NamedTuple):
    """Stands for a result of the `if` until it is made."""

    number: int


class _Perhaps(NamedTuple):
    """Stands for what one branch appends to a list: `rows` in any case, and the bools that say whether they are there.

    Of tuples and lists of numbers there are rows for each part.

    `of` is what the branch `side` appends there.
    """

    rows: list[_Joined]
    present: _Joined | Tensor
    of: Any
    side: int
    label: str


class Merge:
    """``merge = Merge(…); value = merge.value(then, otherwise, name); …; merge.finish()``."""

    def __init__(self, fork: Fork, before: State, sides: Sequence[State]):
        self.fork, self.before, self.sides = fork, before, sides
        #: Places that are results of the `if`: what each side leaves there, and a name.
        self.pairs: list[tuple[Any, Any, str]] = []
        #: By number of a place: the arrays that it may refer to, from before or, by its number, of a place; with the
        #: place of the condition of each, or a bool for that of the `if` and its contrary.
        self.options: dict[int, list[tuple[Tensor | int, int | bool]]] = {}
        self.contents: list[tuple[Any, dict[Any, Any]]] = []
        self.results: list[Any] = []
        #: By branch: whether it is taken, where a list is longer behind it than behind the other.
        self.taken: dict[int, Tensor] = {}

    def locations(self) -> None:
        """Merge all that was there before."""
        for holder, label, _ in list(self.before.holders.values()):
            then, otherwise = (side.of(holder) for side in self.sides)
            self._contents(holder, then, otherwise, label)

    def _contents(self, holder: Any, then: dict[Any, Any], otherwise: dict[Any, Any], label: str) -> None:
        merged: dict[Any, Any] = {}
        appended = self._appended(holder, then, otherwise, label)
        for key in dict.fromkeys([*then, *otherwise]):
            location = Location(holder, key, label_of(holder, label, key))
            a, b = then.get(key, UNSET), otherwise.get(key, UNSET)
            if (a is UNSET or b is UNSET) and not location.is_variable:
                raise OpError(
                    f"the {kind_of(holder)} {label} holds {len(then)} values in one branch of an if and "
                    f"{len(otherwise)} in the other",
                    "let both branches change it alike, or store into an array and count what is in it",
                    "TX0315",
                )
            merged[key] = self.value(a, b, location.label)
        merged.update(enumerate(appended, len(merged)))
        self.contents.append((holder, merged))

    def _appended(self, holder: Any, then: dict[Any, Any], otherwise: dict[Any, Any], label: str) -> list[_Perhaps]:
        """What the branches append to a list, each for itself, taken from what it holds; empty where they do it alike.

        Those of one branch are there where the other's are not, so their order is that of a run of either.
        """
        if not isinstance(holder, GrowingList) or holder not in self.before:
            return []
        length = len(self.before.of(holder))
        sides = then, otherwise
        alike = len(then) == len(otherwise) and not any(isinstance(v, Stack) for side in sides for v in side.values())
        if alike or min(map(len, sides)) < length:
            return []
        made: list[_Perhaps] = []
        for side, contents in enumerate(sides):
            for key in range(length, len(contents)):
                value = contents[key]
                if not is_number(value) and not isinstance(value, Stack) and not is_record(value):
                    raise OpError(
                        f"the list {label} gets {described(value)} in one branch of an if",
                        "append numbers or arrays there, or let both branches change it alike",
                        "TX0315",
                    )
                made.append(self._perhaps(value, side, label))
                del contents[key]
        return made

    def _perhaps(self, value: Any, side: int, label: str) -> _Perhaps:
        def only_there(x: Any) -> _Joined:
            """`x` as the branch has it; zeros, or False, behind the other one."""
            none = Undefined(label)
            then, otherwise = (x, none) if side == 0 else (none, x)
            return self._pair(then, otherwise, f"{MADE}{label}")

        if isinstance(value, Stack):
            present = self._taken(side) if value.present is None else only_there(value.present)
            return _Perhaps([only_there(leaf.room) for leaf in value.leaves], present, value, side, label)
        parts = value if is_record(value) else [value]
        return _Perhaps([*map(only_there, parts)], self._taken(side), value, side, label)

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
        if label.startswith(MADE) and (a is UNSET or b is UNSET):
            a, b = (Undefined(label) if x is UNSET else x for x in (a, b))
            return self._pair(a, b, label)
        if a is UNSET or b is UNSET:
            return Undefined(label)
        if same_value(a, b):
            return a
        if is_number(a) and is_number(b):
            return self._pair(a, b, label)
        if isinstance(a, tuple) and type(a) is type(b) and len(a) == len(b):
            return like(a, [self.value(x, y, f"{label}[{i}]") for i, (x, y) in enumerate(zip(a, b))])
        if type(a) is type(b) and self._is_new(a) and self._is_new(b):
            contents = [side.of(x) for side, x in zip(self.sides, (a, b))]
            if list(contents[0]) == list(contents[1]):
                self._contents(a, *contents, label)
                return a
        name = label if label in UNNAMED else repr(label)
        text = f"{name} is {described(a)} in one branch of an if and {described(b)} in the other"
        return Undefined(label, text, "let both give the same kind of value")

    def _pair(self, a: Any, b: Any, label: str) -> _Joined:
        number = len(self.pairs)
        if is_array(a) and is_array(b):
            for k, (x, y, _) in enumerate(self.pairs):
                if x is a and y is b:
                    return _Joined(k)
        self.pairs.append((a, b, label))
        self._choose(number, a, b)
        return _Joined(number)

    def _choose(self, number: int, *ends: Any) -> None:
        """Note what a place may refer to that is not its own: arrays from before, and those of other places."""
        holds: dict[Tensor | int, list[Any]] = {}
        for side, end in enumerate(ends):
            if not is_array(end):
                return
            for option, cond in end.options if isinstance(end, Choice) else [(end, True)]:
                fresh = self.fork.is_fresh(option, side)
                of = holds.setdefault(self._place(number, side, option) if fresh else option, [False, False])
                with self.fork.at_end(side):
                    of[side] = cond if of[side] is False else apply("logical_or", of[side], cond)
        if list(holds) != [number]:
            self.options[number] = [(option, self._condition(*sides)) for option, sides in holds.items()]

    def _place(self, number: int, side: int, made: Tensor) -> int:
        """The first place that holds an array which a side made."""
        return next((k for k in range(number) if self._fresh(k, side) is made), number)

    def _condition(self, first: Any, second: Any) -> int | bool:
        """The place of a condition; a bool where it is that of the `if`, or its contrary."""
        if isinstance(first, bool) and isinstance(second, bool):
            return first
        self.pairs.append((first, second, "the condition"))
        return len(self.pairs) - 1

    def _is_new(self, x: Any) -> bool:
        return held(x) is not None and x not in self.before

    def finish(self, unset: Callable[[Undefined], None], value: Any = None) -> Any:
        """Make the `if` and let all locations hold what they do behind it; the merged `value`, complete.

        `unset` is told of the variables that have no value.
        """
        self.joined = self.fork.join(self.pairs)
        for (_, _, label), one in zip(self.pairs, self.joined):
            no_value = isinstance(one, OpError)
            self.results.append(Undefined(label, one.message, one.hint) if no_value else one)
        self._choices()
        ends = [[self._fresh(k, side) for side in range(2)] for k in range(len(self.pairs))]
        for number, options in self.options.items():
            ends[number] = [
                None if any(isinstance(o, int) and o != number for o, _ in options) else x for x in ends[number]
            ]
        shared_again(ends, self.results, [label for _, _, label in self.pairs], "copy() one of the two in the branch")
        self.before.restore()
        for holder, merged in self.contents:
            complete: dict[Any, Any] = {}
            for key, planned in merged.items():
                found = self._complete(planned)
                if isinstance(found, Undefined) and Location(holder, key, "").is_variable:
                    unset(found)
                else:
                    complete[key] = found
            put_back(holder, complete)
        return self._complete(value)

    def alone(self, a: Any, b: Any, joined: Any) -> Any:
        """What `a` or `b`, which are no choices, come to where that is all: `joined` has the value."""
        self._pair(a, b, "the value")
        self.results = [joined]
        self._choices()
        return self.results[0]

    def _choices(self) -> None:
        """Make places that may refer to arrays from before choices among these."""
        joined = [*self.results]
        for number, options in self.options.items():
            if isinstance(joined[number], Undefined):
                continue
            conds = [self.fork.cond, apply("logical_not", self.fork.cond)]
            self.results[number] = Choice(
                [
                    (
                        joined[option] if isinstance(option, int) else option,
                        conds[not of] if isinstance(of, bool) else joined[of],
                    )
                    for option, of in options
                ],
                joined[number],
            )

    def _fresh(self, number: int, side: int) -> Tensor | None:
        """What a place holds at the end of a side, if it is an array that came to be there, which others may hold."""
        end, label = self.pairs[number][side], self.pairs[number][2]
        if not is_array(end) or label.startswith(MADE):  # what is returned is not stored into any more
            return None
        return end if self.fork.is_fresh(end, side) else None

    def _stack(self, planned: _Perhaps) -> Stack:
        """What one branch appends to a list, behind the `if`."""
        of = planned.of
        rows = [self._there(joined) for joined in planned.rows]
        present = planned.present if isinstance(planned.present, Tensor) else self._there(planned.present)
        if isinstance(of, Stack):
            if present.dims != rows[0].dims[:1]:
                present = broadcast_to(present.reshape(()), rows[0].dims[:1], "row")
            leaves = [Stack(r, leaf.weak, leaf.depth, present) for r, leaf in zip(rows, of.leaves)]
            made = Records(of.form, leaves) if isinstance(of, Records) else leaves[0]
        else:
            leaves = [Stack(r.reshape((1, *r.shape)), r.weak, 1, present) for r in rows]
            made = Records(of, leaves) if is_record(of) else leaves[0]
        if shared := self._seen_by_others(planned.of, planned.side):
            made.share(shared, planned.label)
        return made

    def _there(self, joined: _Joined) -> Tensor:
        """A result of the `if`; the OpError that there is in its place."""
        found = self.joined[joined.number]
        if isinstance(found, OpError):
            raise found
        return found

    def _seen_by_others(self, value: Any, side: int) -> list[Tensor]:
        """The arrays that what a branch appends to a list may be, or may be parts of, and that others refer to."""
        if isinstance(value, Stack):
            return [t for other in value.others for t in self._seen_by_others(other, side)]
        if not is_array(value):
            return []
        of = [*roots(value)]
        ends = [(k, pair[side]) for k, pair in enumerate(self.pairs) if not pair[2].startswith(MADE)]
        peers = [k for k, end in ends if is_array(end) and any(root is t for t in roots(end) for root in of)]
        before = [t for t in of if not self.fork.is_fresh(t, side)]
        return before + [t for k in peers if isinstance(t := self.results[k], Tensor)]

    def _complete(self, planned: Any) -> Any:
        if isinstance(planned, _Joined):
            return self.results[planned.number]
        if isinstance(planned, _Perhaps):
            return self._stack(planned)
        if isinstance(planned, tuple):
            return like(planned, [self._complete(part) for part in planned])
        return planned


def same_value(a: Any, b: Any) -> bool:
    """Whether two values that cannot change are the same to every program: -0.0 is not 0.0, nor is 1 True."""
    if type(a) is not type(b):
        return False
    if isinstance(a, SymInt):
        return a.dim is b.dim
    if isinstance(a, tuple):
        return len(a) == len(b) and all(x is y or same_value(x, y) for x, y in zip(a, b))
    if isinstance(a, (str, bytes, int, float, complex, range, slice, frozenset)):
        return a == b and repr(a) == repr(b)
    return False


def described(value: Any) -> str:
    """How messages call what a location held."""
    if value is UNSET:
        return "without a value"
    if isinstance(value, Tensor):
        return f"a {value.user_type}"
    return repr(value) if isinstance(value, (str, int, float, type(None))) else f"a {type(value).__name__}"
