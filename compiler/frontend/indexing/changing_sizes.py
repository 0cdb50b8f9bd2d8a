"""Arrays whose sizes change from one iteration of a loop to the next: memory for the largest, and the sizes as values.

A loop carries such an array as room of fixed sizes, at the begin of which its elements are, and each of the sizes that
change as an int.  At the begin of an iteration, and behind the loop, these are sizes that values decide
(`data_dependent_sizes`).  Sizes that are equal before the loop and behind each iteration, as those of arrays from which
one mask selects, are carried once: so arrays that are as long as each other still are known to be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ....dialects.dims.dims import Dim, dim, iterators, maximum
from ....dialects.dims.index_map import IndexMap
from ....dialects.registry import OPS, OpError
from ....dialects.types import tensor_type
from ..tensor.apply import as_tensor
from ..tensor.tensor import Tensor
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
    bound for all iterations of these.
    """

    axes: list[Axis]
    start: Dim
    most: Dim
    reach: Dim


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
        #: Those that turned out not to change.
        self.fixed: set[Axis] = set()
        self.sizes: list[_Size] = []
        #: What they are in an iteration.
        self.known: list[Dim] = []

    def begin_from(self, learnt: ChangingSizes, given: Mapping[int, Tensor]) -> None:
        """Begin from what another staging of the loop learnt."""
        self.axes |= {axis: number for axis, number in learnt.axes.items() if axis[0] in given}

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
            for axis in axes:
                most = larger(trace, most, self.most.get(axis, most))
                reach = most if axis in self.most else reach
            growth = next((self.growth[axis] for axis in axes if axis in self.growth), None)
            if growth is not None:
                assert self.rounds is not None
                reach = start + maximum(0, self.rounds) * growth
                grown = trace.table.upper(reach)
                if grown is None:
                    raise _grows()
                most = grown
            self.sizes.append(_Size(axes, start, *map(trace.table.resolve, (most, reach))))
        return [as_tensor(symint(size.start)).value for size in self.sizes]

    def room(self, i: int, dims: Sequence[Dim]) -> tuple[Dim, ...]:
        """The dims of the memory of the array number `i`, of which these are some sizes."""
        largest_of = {axis: size.most for size in self.sizes for axis in size.axes}
        return tuple(largest_of.get((i, at), d) for at, d in enumerate(dims))

    def bound(self, trace: Trace, values: Iterable[Value]) -> dict[Axis, Dim]:
        """The dims that change, by the values that their sizes have; from here on these are sizes."""
        self.known = [as_dim(bind(trace, Tensor(v), size.reach)) for size, v in zip(self.sizes, values)]
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

    def _fits(self, trace: Trace, begin: Dim, end: Dim, most: Dim, axes: Sequence[Axis]) -> bool:
        """Whether a size surely is at most that; else learn for how much memory is needed."""
        facts = trace.table
        if all(axis in self.growth for axis in axes):
            growth = self._growth(trace, begin, end)
            if growth is not None and facts.decide(growth, "<=", self.growth[axes[0]], _ENOUGH) is True:
                return True
            raise _grows()
        reached = facts.upper(end)
        if reached is not None and facts.decide(reached, "<=", most, _ENOUGH) is True:
            return True
        if reached is not None and not any(axis in self.most for axis in axes):
            self.most |= dict.fromkeys(axes, reached)
            return False
        growth = self._growth(trace, begin, end)
        if growth is None or self.rounds is None:
            raise _grows()
        for axis in axes:
            self.most.pop(axis, None)
        self.growth |= dict.fromkeys(axes, growth)
        return False

    @staticmethod
    def _growth(trace: Trace, begin: Dim, end: Dim) -> Dim | None:
        """By how much an iteration that begins with a size makes it larger at most; None where that is not known."""
        most = trace.table.upper(end, but=[s for s in begin.symbols() if s in trace.bound])
        growth = None if most is None else most - begin
        return None if growth is None or growth.symbols() & begin.symbols() else growth


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
