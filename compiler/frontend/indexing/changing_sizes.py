"""Arrays whose sizes change from one iteration of a loop to the next: memory for the largest, and the sizes as values.

A loop carries such an array as room of fixed sizes, at the begin of which its elements are, and each of the sizes that
change as an int.  At the begin of an iteration, and behind the loop, these are sizes that values decide
(`data_dependent_sizes`).  Sizes that are equal before the loop and behind each iteration, as those of arrays from which
one mask selects, are carried once: so arrays that are as long as each other still are known to be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ....dialects.dims.dims import Call, Dim, dim, iterators, maximum, of_atom, only_call
from ....dialects.dims.index_map import IndexMap
from ....dialects.registry import OPS, OpError
from ....dialects.types import tensor_type
from ...call.signature import ROOM
from ..tensor.apply import apply, as_tensor
from ..tensor.tensor import Tensor
from ..trace.demands import all_fine, go_on
from ..trace.emit import emit
from ..trace.graph import Value
from ..trace.symint import as_dim, symint
from .data_dependent_sizes import bind, empty, largest

if TYPE_CHECKING:
    from ..trace.trace import Trace

__all__ = ["Axis", "ChangingSizes", "larger", "packed", "unpacked"]

#: A dim, in the graph's order, of the carried array of that number.
Axis = tuple[int, int]


def packed(x: Tensor, room: Sequence[Dim]) -> Value:
    """Memory of these (graph) dims, at the begin of which the elements of `x` are."""
    value, dims = x.value, x.type.dims
    if dims == tuple(room):
        return value
    node = value.node
    if node.op is OPS["slice"] and all(o.const == 0 for o in node.attrs["offsets"]):
        (source,) = node.operands
        if source.type.dims == tuple(room):
            return source  # what is behind its end is nobody's
    memory = empty(tensor_type(x.element, tuple(room)))
    begin = IndexMap(dims, tuple(iterators(len(dims))))
    (filled,) = emit(OPS["insert"], (memory.value, value), {"map": begin})
    return filled


def unpacked(room: Value, dims: Sequence[Dim]) -> Value:
    """The elements at the begin of memory, of these (graph) dims."""
    if room.type.dims == tuple(dims):
        return room
    return emit(OPS["slice"], (room,), {"offsets": (dim(0),) * len(dims), "extents": tuple(dims)})[0]


class _Size(NamedTuple):
    """Dims that are carried together.

    They have one `start` before the loop, and are at most `reach`, which may speak of the loops around; `most` is a
    bound for all iterations of these.  Where no bound is known, `room` is that for which the call has memory.
    """

    axes: list[Axis]
    start: Dim
    most: Dim
    reach: Dim
    room: Dim | None


class ChangingSizes:
    """Which dims of what a loop carries change, and the ints that say what they are.

    Learnt while the loop is staged: `mark` that one changes, and whether what an iteration hands on `fits`.
    """

    def __init__(self, rounds: Dim | None = None) -> None:
        #: How many iterations there are; None where that is not known.
        self.rounds = rounds
        #: Each such dim, with a number that it shares with those that may be carried with it.
        self.axes: dict[Axis, int] = {}
        #: The largest that iterations make of it, where it begins smaller.
        self.most: dict[Axis, Dim] = {}
        #: By how much an iteration makes it larger.
        self.growth: dict[Axis, Dim] = {}
        #: Those of which no bound is known: for how many elements more the call has memory.
        self.rooms: dict[Axis, Dim] = {}
        #: Those that turned out not to change.
        self.fixed: set[Axis] = set()
        self.sizes: list[_Size] = []
        #: What they are in an iteration.
        self.known: list[Dim] = []

    def begin_from(self, learnt: ChangingSizes, given: Mapping[int, Tensor]) -> None:
        """Begin from what another staging of the loop learnt."""
        self.axes |= {axis: number for axis, number in learnt.axes.items() if axis[0] in given}
        self.rooms |= {axis: room for axis, room in learnt.rooms.items() if axis in self.axes}

    def of(self, i: int) -> list[int]:
        """The dims of the array number `i` that change."""
        return sorted(at for of, at in self.axes if of == i)

    def mark(self, trace: Trace, axis: Axis, given: Mapping[int, Tensor]) -> None:
        """Note that a dim changes, and perhaps those of the arrays `given` that begin as large."""
        start = trace.table.resolve(given[axis[0]].type.dims[axis[1]])
        for i, t in given.items():
            for at, d in enumerate(t.type.dims):
                if trace.table.resolve(d) is start and (i, at) not in self.fixed:
                    self.axes.setdefault((i, at), 0)
        self.fixed.discard(axis)
        self.axes[axis] = 0

    def expect(self, axes: Iterable[Axis]) -> None:
        """Take dims to change until they turn out not to."""
        self.axes |= {axis: 0 for axis in axes if axis not in self.fixed and axis not in self.axes}

    def note_largest(self, trace: Trace, i: int, t: Tensor) -> None:
        """Note the largest sizes of an array which a variable without a value gets in an iteration."""
        bounds = [trace.table.upper(d) for d in t.type.dims]
        self.most |= {(i, at): most for at, most in enumerate(bounds) if most is not None}

    def before_first(self, trace: Trace, i: int, t: Tensor) -> tuple[Dim, ...]:
        """The sizes of such an array before there is one; those change that are known only in an iteration."""
        dims = [*t.type.dims]
        for at, d in enumerate(dims):
            if not trace.table.knows(d) and (i, at) in self.most and trace.binds:
                self.axes[i, at], dims[at] = 0, dim(0)
        return tuple(dims)

    def begin(self, trace: Trace, given: Mapping[int, Tensor]) -> list[Value]:
        """The sizes before the loop, of its arrays `given` by their numbers; OpError where no bound is known."""
        together: dict[tuple[Dim, int], list[Axis]] = {}
        for axis, number in self.axes.items():
            start = trace.table.resolve(given[axis[0]].type.dims[axis[1]])
            together.setdefault((start, number), []).append(axis)
        self.sizes = []
        for (start, _), axes in together.items():
            most, reach = largest(trace, start), start
            if most.const == 0:  # nothing is a size that may change only where more may be there
                most = reach = dim(1)
            for axis in axes:
                most = larger(trace, most, self.most.get(axis, most))
                reach = most if axis in self.most else reach
            growth = next((self.growth[axis] for axis in axes if axis in self.growth), None)
            room = next((self.rooms[axis] for axis in axes if axis in self.rooms), None)
            if room is not None:
                most = reach = most + room
            elif growth is not None:
                assert self.rounds is not None
                reach = start + maximum(0, self.rounds) * growth
                grown = trace.table.upper(reach)
                if grown is None:
                    raise _grows()
                most = grown
            self.sizes.append(_Size(axes, start, trace.table.resolve(most), trace.table.resolve(reach), room))
        return [as_tensor(symint(size.start)).value for size in self.sizes]

    def room(self, i: int, dims: Sequence[Dim]) -> tuple[Dim, ...]:
        """The dims of the memory of the array number `i`, of which these are some sizes."""
        largest_of = {axis: size.most for size in self.sizes for axis in size.axes}
        return tuple(largest_of.get((i, at), d) for at, d in enumerate(dims))

    def bound(self, trace: Trace, values: Iterable[Value], checked: bool) -> dict[Axis, Dim]:
        """The dims that change, by the values that their sizes have; from here on these are sizes.

        `checked`: the rest of the open block runs only where there is memory for them; else the call has to be repeated
        with more.
        """
        counts = [Tensor(v) for v in values]
        for k, size in enumerate(self.sizes):
            if size.room is not None:
                fits = apply("less_equal", counts[k], symint(size.most))
                if checked:
                    counts[k] = apply("require", counts[k], fits, text=size.room.text, error=ROOM)
                    fine = all_fine(trace)
                    fine.replace(apply("logical_and", fine, fits).value, fine.value, fine)
                    go_on(trace)
                counts[k] = apply("cwise_min", counts[k], symint(size.most))
        self.known = [as_dim(bind(trace, count, size.reach)) for size, count in zip(self.sizes, counts)]
        return {axis: d for size, d in zip(self.sizes, self.known) for axis in size.axes}

    def handed_on(self, trace: Trace, made: Mapping[int, Tensor]) -> list[Value] | None:
        """The sizes behind an iteration that `made` these arrays; None where something was learnt instead."""
        found: list[Dim] = []
        learnt = False
        for size, begin in zip(self.sizes, self.known):
            ends: dict[Dim, list[Axis]] = {}
            for axis in size.axes:
                ends.setdefault(trace.table.resolve(made[axis[0]].type.dims[axis[1]]), []).append(axis)
            for apart in list(ends.values())[1:]:
                number = 1 + max(self.axes.values())
                self.axes |= dict.fromkeys(apart, number)
                learnt = True
            for end, of in ends.items():
                if end is begin:
                    self.fixed |= {*of}
                    self.axes = {axis: number for axis, number in self.axes.items() if axis not in of}
                    learnt = True
                else:
                    learnt |= not self._fits(trace, begin, end, size.most, of)
            found.append(next(iter(ends)))
        if learnt:
            return None
        return [as_tensor(symint(d)).value for d in found]

    def within(self, trace: Trace, made: Mapping[int, Tensor]) -> dict[int, Tensor]:
        """Arrays behind an iteration as far as there surely is memory for them."""
        found = dict(made)
        for size in self.sizes:
            for i, at in size.axes if size.room is not None else ():
                t = found[i]
                dims = list(t.type.dims)
                known = apply("cwise_min", as_tensor(symint(dims[at])), symint(size.most))
                dims[at] = as_dim(bind(trace, known, size.most))
                found[i] = Tensor(unpacked(t.value, dims), layout=t.layout, weak=t.weak, boxed=t.boxed)
        return found

    def _fits(self, trace: Trace, begin: Dim, end: Dim, most: Dim, axes: Sequence[Axis]) -> bool:
        """Whether a size surely is at most that; else learn for how much memory is needed."""
        facts = trace.table
        if all(axis in self.rooms for axis in axes):
            return True
        if all(axis in self.growth for axis in axes):
            growth = self._growth(trace, begin, end)
            if growth is not None and facts.decide(growth, "<=", self.growth[axes[0]], _ENOUGH) is True:
                return True
            return self._needs_room(trace, axes)
        reached = facts.upper(end)
        if reached is not None and facts.decide(reached, "<=", most, _ENOUGH) is True:
            return True
        if reached is not None and not any(axis in self.most for axis in axes):
            self.most |= dict.fromkeys(axes, reached)
            return False
        growth = self._growth(trace, begin, end)
        if growth is None or self.rounds is None:
            return self._needs_room(trace, axes)
        for axis in axes:
            self.most.pop(axis, None)
        self.growth |= dict.fromkeys(axes, growth)
        return False

    def _needs_room(self, trace: Trace, axes: Sequence[Axis]) -> bool:
        """Take memory for as many elements as the call says, which is repeated with more where these are too few."""
        if not trace.has_rooms:
            raise _grows()
        for axis in axes:
            self.most.pop(axis, None)
            self.growth.pop(axis, None)
        self.rooms |= dict.fromkeys(axes, trace.room())
        return False

    @staticmethod
    def _growth(trace: Trace, begin: Dim, end: Dim) -> Dim | None:
        """By how much an iteration that begins with a size makes it larger at most; None where that is not known."""
        most = trace.table.upper(end, but=[s for s in begin.symbols() if s in trace.bound])
        return None if most is None else _added(most, begin)


def _added(size: Dim, begin: Dim) -> Dim | None:
    """By how much a size is larger than another one at most, whatever that is; None where that is not known."""
    if (call := only_call(size)) is not None and call.fn == "max":
        each = [_added(d, begin) for d in (call.a, call.b)]
        return None if each[0] is None or each[1] is None else maximum(*each)
    if not size.symbols() & begin.symbols():
        return size
    growth = _sums(size) - begin
    return None if growth.symbols() & begin.symbols() else growth


def _sums(d: Dim) -> Dim:
    """A bound of an expression: the sum of two sizes in place of the larger one."""
    total = dim(0)
    for mono, coefficient in d.terms:
        term = dim(coefficient)
        for atom in mono:
            larger = isinstance(atom, Call) and atom.fn == "max" and coefficient > 0 and len(mono) == 1
            known = larger and atom.a.nonneg and atom.b.nonneg  # pyright: ignore[reportAttributeAccessIssue]
            term = term * (_sums(atom.a) + _sums(atom.b) if known else of_atom(atom))  # pyright: ignore
        total = total + term
    return total


def _grows() -> OpError:
    return OpError(
        "an array grows in a loop, and no bound of its size is known",
        "make an array of the largest size before the loop, store into it, and count what is in it",
        "TX0292",
    )


def larger(trace: Trace, first: Dim, second: Dim) -> Dim:
    """The larger one of two sizes, as a fact where it can be."""
    if first is second or trace.table.decide(second, "<=", first, _ENOUGH) is True:
        return first
    return second if trace.table.decide(first, "<=", second, _ENOUGH) is True else maximum(first, second)


_ENOUGH = "memory for an array whose size changes in a loop"
