"""The loop nest of a kernel's results, and the primitives by which a schedule shapes it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from xdsl.ir import Block

from ....dialects import kernel
from ....dialects.dims.dims import Dim, Sym, dim, minimum
from ...cost.kernel_stats import kernel_label
from ..access import Access, accesses
from ..body import ScheduleContext
from ..segments import Segments
from .axes import FusedAxis, collapse_axes, index_numbers, obstacle, point_of
from .preconditions import carried_dependence, guarded_range, names, require
from .record import Call, Record

__all__ = ["Loop", "Nest", "Schedule"]

#: Lanes of a vector, and vectors of an iteration, at most: more is code that no cache of instructions holds.
MOST_LANES, MOST_UNROLL = 64, 64


@dataclass(eq=False)
class Loop:
    """A loop of a nest: a handle, which prints as its name.

    It counts from `lower` to `upper` by `step`, over at most `extent` elements of its axis, within an iteration of the
    loop that it is `split_from`.
    """

    name: str
    axis: FusedAxis
    lower: Dim
    upper: Dim
    extent: Dim
    step: int = 1
    split_from: Loop | None = None
    #: The iteration variable, numbered once something depends on it.
    iterator: Dim | None = None
    lanes: int = 1
    unroll: int = 1
    #: Its range in parts, one after another, where it was peeled.
    parts: tuple[Loop, ...] = ()
    #: Guards that hold in all of its range.
    proven: frozenset[Dim] = frozenset()
    #: Whether it goes over what is left where guards do not all hold.
    is_edge: bool = False

    def __str__(self) -> str:
        return self.name

    @property
    def at(self) -> Dim:
        """Its iteration variable."""
        assert self.iterator is not None, "the nest has numbered its loops"
        return self.iterator

    def leaves(self) -> Iterator[Loop]:
        """Itself, or the parts that it was peeled into."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()


@dataclass
class Stage:
    """In each iteration of loop `at` results go to a tile, and from there by loops of their own to memory."""

    at: Loop
    tile: Sequence[Loop]
    copies: Sequence[Loop]


#: What shapes a nest.
Schedule = Callable[["Nest"], None]


@dataclass
class Nest:
    """A kernel's loops over its results, outermost first; `done` has the places of iterators that loops around it run.

    What is inside the loops is the kernel's body and its stores, or what `element` appends at a point, of `work`
    elements: a result that is reduced in its order, which is none of the loops and out of reach of primitives.
    A `serial` nest is within a task of a thread.  `own` is the compiler's schedule of it; `lanes` are those of a full
    vector of its widest elements.
    """

    context: ScheduleContext
    op: kernel.GenericOp
    done: Mapping[Sym, Dim] = field(default_factory=dict)
    serial: bool = False
    own: Schedule = lambda nest: None
    lanes: int = 1
    element: Callable[[Block, dict[Sym, Dim]], None] | None = None
    work: Dim | int = 1
    loops: list[Loop] = field(default_factory=list)
    shared: list[Loop] = field(default_factory=list)
    grain: Dim | int | None = None
    staged: Stage | None = None
    #: Where axes stand that run by segments, and the extents by which indices become simpler there.
    values: dict[FusedAxis, Dim] = field(default_factory=dict)
    extents: dict[Sym, Dim] = field(default_factory=dict)
    branches: tuple[Dim, Schedule, Schedule] | None = None
    record: Record = field(default_factory=Record)

    def __post_init__(self) -> None:
        if not self.loops:
            extents = list(enumerate(self.op.extents.data[: self.op.n_parallel]))[len(self.done) :]
            axes = [FusedAxis((Sym(f"d{i}"),), (extent,)) for i, extent in extents]
            self.loops = [_loop_over(axis) for axis in axes]

    @cached_property
    def access_list(self) -> list[Access]:
        return accesses(self.op)

    @cached_property
    def dependence(self) -> str:
        """Why the order of iterations matters; empty where it does not."""
        return carried_dependence(self.op)

    def __str__(self) -> str:
        heads = ", ".join(f"{loop}: {loop.extent}" for loop in self.loops)
        return f"{kernel_label(self.op)} over ({heads})"

    def default(self) -> None:
        """Shape it by the compiler's own schedule."""
        self.own(self)

    # Which loops there are

    def collapse(self, outer: Loop, *inner: Loop) -> Loop:
        """One loop for adjacent ones: ``for i: for j`` -> ``for ij``.

        Precondition: every operand steps through them as through one, and none of them is split.
        """
        loops = (outer, *inner)
        call = Call("collapse", *loops)
        self._may_restructure(call, *loops)
        first = self.loops.index(outer)
        adjacent = bool(inner) and self.loops[first : first + len(loops)] == [*loops]
        require(adjacent, call, f"these are not adjacent loops, in order, of {names(self.loops)}")
        require(all(loop.iterator is None for loop in loops), call, "collapse loops before others are split or shared")
        axis, numbers = outer.axis, list(index_numbers(self.op))
        for loop in inner:
            for symbol, extent in zip(loop.axis.symbols, loop.axis.extents):
                found = obstacle(self.access_list, numbers, axis, symbol, extent)
                what = f"operand {found} does" if isinstance(found, int) else f"the body's number {found} does"
                require(found is None, call, f"{what} not step through them as through one dim")
                axis = axis.followed_by(symbol, extent)
        made = _loop_over(axis)
        self.loops[first : first + len(loops)] = [made]
        self.record.call(call, made)
        return made

    def collapse_all(self) -> None:
        """One loop for each run of adjacent ones that every operand steps through as through one."""
        for axis in collapse_axes(self.op, self.access_list, len(self.done), self.op.n_parallel):
            if len(axis.symbols) > 1:
                self.collapse(*(loop for loop in self.loops if loop.axis.symbols[0] in axis.symbols))

    def split(self, loop: Loop, size: int) -> tuple[Loop, Loop]:
        """``for i`` -> ``for i_o step size: for i_i in one step``; both are returned.

        Precondition: the size is positive, and the loop counts by one.
        """
        call = Call("split", loop, size)
        self._may_restructure(call, loop)
        require(type(size) is int and size > 0, call, "the size is no positive integer")
        require(loop.step == 1, call, f"{loop} counts by {loop.step}", "split the loop inside it")
        self.number_loops()
        outer = replace(loop, name=f"{loop}_o", step=size, iterator=self.context.new_iv())
        upper, extent = minimum(loop.upper, outer.at + size), minimum(loop.extent, size)
        inner = replace(loop, name=f"{loop}_i", lower=outer.at, upper=upper, extent=extent, split_from=outer)
        self._replace(loop, outer, inner)
        self.record.call(call, outer, inner)
        return outer, inner

    def split_segments(self, loop: Loop, segments: Segments) -> tuple[Loop, Loop]:
        """``for i`` -> ``for i_o over contiguous segments: for i_i within one``, where no index is divided.

        Precondition: `match_segments` found these for the loop's iterator, and it is the innermost loop: where
        segments begin may depend on those around it.
        """
        call = Call("split_segments", loop, segments.extent)
        self._may_restructure(call, loop)
        require(loop.axis.symbols == (segments.symbol,), call, f"the segments are those of {segments.symbol}")
        require(loop is self.loops[-1], call, f"{self.loops[-1]} is inside {loop}")
        self.number_loops()
        number, index = self.context.new_iv(), self.context.new_iv()
        start, numbers, within = segments.ranges(number, self.point(), loop.lower, loop.upper)
        outer = replace(loop, name=f"{loop}_o", lower=numbers[0], upper=numbers[1], iterator=number)
        inner = Loop(f"{loop}_i", loop.axis, *within, segments.extent, split_from=outer, iterator=index)
        self.values[loop.axis] = start + index
        self.extents = {symbol: segments.extent for symbol in index.symbols()}
        self._replace(loop, outer, inner)
        self.record.call(call, outer, inner)
        return outer, inner

    def reorder(self, *loops: Loop) -> None:
        """Loops in another order, in the places that they have now.

        Precondition: no iteration reads what another stores, and what a split made stays inside.
        """
        call = Call("reorder", *loops)
        self._may_restructure(call, *loops)
        require(len({*map(id, loops)}) == len(loops), call, "a loop is listed twice")
        self._iterations_are_independent(call)
        places = sorted(self.loops.index(loop) for loop in loops)
        order = list(self.loops)
        for place, loop in zip(places, loops):
            order[place] = loop
        for place, loop in enumerate(order):
            around = loop.split_from
            require(around is None or around in order[:place], call, f"{loop} counts within an iteration of {around}")
        if order != self.loops:
            self.loops = order
            self.record.call(call)

    def peel(self, loop: Loop, count: int | Dim) -> tuple[Loop, Loop]:
        """``for i`` -> ``for i_head: …; for i_main: …``: the first `count` iterations have a loop of their own.

        Precondition: it is the innermost loop.  As a `Dim` the count is no more than there are iterations.
        """
        call = Call("peel", loop, count)
        self._may_peel(call, loop)
        require(isinstance(count, Dim) or (type(count) is int and count > 0), call, "the count is no positive integer")
        self.number_loops()
        middle = loop.lower + count if isinstance(count, Dim) else minimum(loop.upper, loop.lower + count)
        head, main = replace(loop, name=f"{loop}_head", upper=middle), replace(loop, name=f"{loop}_main", lower=middle)
        loop.parts = head, main
        self.record.call(call, *loop.parts)
        return head, main

    def peel_guards(self, loop: Loop) -> tuple[Loop, Loop, Loop]:
        """``for i`` -> ``for i_before: …; for i_inside: …; for i_after: …``: inside, guards hold and are not asked.

        Precondition: it is the innermost loop, and some operand has a guard of it alone.
        """
        call = Call("peel_guards", loop)
        self._may_peel(call, loop)
        self.number_loops()
        found = self.guarded_range(loop)
        require(found is not None, call, f"no operand has a guard that asks for {loop} alone")
        assert found is not None
        first, last, proven = found
        before = replace(loop, name=f"{loop}_before", upper=first, is_edge=True)
        inside = replace(loop, name=f"{loop}_inside", lower=first, upper=last, proven=proven)
        after = replace(loop, name=f"{loop}_after", lower=last, is_edge=True)
        loop.parts = before, inside, after
        self.record.call(call, *loop.parts)
        return before, inside, after

    def guarded_range(self, loop: Loop) -> tuple[Dim, Dim, frozenset[Dim]] | None:
        """The part of a loop's range where all guards of it alone hold, and these; None where there are none."""
        return None if loop.axis in self.values else guarded_range(self.op, loop.axis, loop.lower, loop.upper)

    def stage(self, at: Loop) -> tuple[Loop, ...]:
        """In each iteration of a loop, compute into a tile of a thread's own, then copy that: the copy's loops.

        Precondition: the kernel has one result, and the loops inside are splits by constants, so that the tile's size
        is known.
        """
        call = Call("stage", at)
        self._may_restructure(call, at)
        inside = self.loops[self.loops.index(at) + 1 :]
        require(self.element is None, call, "the kernel is a reduction")
        require(len(self.op.outs) == 1, call, f"the kernel has {len(self.op.outs)} results")
        require(bool(inside), call, f"no loop is inside {at}", "stage at a loop around the tile")
        for loop in inside:
            known = loop.split_from is not None and loop.axis not in self.values and not loop.parts
            require(known, call, f"how long {loop} is, is not known", "split it by an int first")
        copies = tuple(replace(loop, name=f"{loop}_copy", lanes=1, unroll=1) for loop in inside)
        self.staged = Stage(at, inside, copies)
        self.record.call(call, *copies)
        return copies

    def specialize(self, excess: Dim, then: Schedule, otherwise: Schedule) -> None:
        """``if excess > 0: …; else: …``: each schedule shapes a copy of the nest, and either runs.

        It ends the schedule of this nest.  Precondition: the expression is known before the nest runs.
        """
        call = Call("specialize", excess)
        self._may_restructure(call, *self.loops)
        self.number_loops()
        own = {symbol for loop in self.loops for symbol in (*loop.axis.symbols, *loop.at.symbols())}
        known = not own & excess.symbols()
        require(known, call, "it is not known before the nest runs")
        self.branches = excess, then, otherwise

    # How a loop runs

    def vectorize(self, loop: Loop, lanes: int = 0, unroll: int = 1) -> None:
        """Iterations in `lanes` of a vector (0: a full register), and `unroll` such vectors at once.

        Precondition: it is the innermost loop, and no iteration reads what another stores.
        """
        lanes = lanes or self.lanes
        call = Call("vectorize", loop, lanes, unroll=None if unroll == 1 else unroll)
        self._is_whole(call, loop)
        require(self._is_innermost(loop), call, f"{loop} is not innermost in {names(self.loops)}", "reorder it first")
        require(loop.lanes * loop.unroll == 1, call, f"{loop} is in vectors already")
        in_range = type(lanes) is int and 0 < lanes <= MOST_LANES and lanes & (lanes - 1) == 0
        require(in_range, call, f"lanes are a power of two up to {MOST_LANES}")
        require(type(unroll) is int and 0 < unroll <= MOST_UNROLL, call, f"unroll is an int up to {MOST_UNROLL}")
        self._iterations_are_independent(call)
        loop.lanes, loop.unroll = lanes, unroll
        self.record.call(call)

    def unroll_and_jam(self, loop: Loop, factor: int) -> None:
        """Some iterations of a loop together, each vector of the loop inside for all of them.

        Precondition: the innermost loop, or that of a reduction, is inside it and whole, directly but for loops that
        are jammed, and no iteration reads what another stores.
        """
        call = Call("unroll_and_jam", loop, factor)
        self._may_restructure(call, loop, staged=True)
        inner, whole = self.loops[-1], not self.loops[-1].parts
        between = self.loops[self.loops.index(loop) + 1 : -1]
        around = all(each.unroll > 1 for each in between) and (loop is not inner or self.element is not None)
        require(around, call, f"{loop} is not directly around the innermost loop, {inner}")
        require(
            whole and inner.split_from is not loop, call, f"{inner} has no range that is the same in each iteration"
        )
        require(loop.step == 1, call, f"{loop} counts by {loop.step}")
        require(type(factor) is int and 0 < factor <= MOST_LANES, call, f"the factor is an int up to {MOST_LANES}")
        self._iterations_are_independent(call)
        loop.unroll = factor
        self.record.call(call)

    def parallel(self, *loops: Loop, grain: Dim | int | None = None) -> None:
        """Threads share the iterations of the outermost loops; `grain` of one make a task (None: by their costs).

        Precondition: they are the outermost loops, each with a range of its own, no thread has the nest already, and
        no iteration reads what another stores.
        """
        call = Call("parallel", *loops, grain=grain)
        require(not self.serial, call, "the nest runs within a task of a thread")
        self._may_restructure(call, *loops, staged=True, jammed=True)
        in_stage = [self.staged.at, *self.staged.tile] if self.staged else []
        require(not any(loop in in_stage for loop in loops), call, "the result is staged in one of them")
        outermost = bool(loops) and self.loops[: len(loops)] == [*loops]
        require(outermost, call, f"these are not the outermost loops, in order, of {names(self.loops)}")
        for loop in loops:
            around = loop.split_from
            require(loop.lanes == 1, call, f"{loop} is in vectors")
            require(around is None, call, f"{loop} counts within an iteration of {around}")
            require(not loop.lower.terms, call, f"{loop} begins at {loop.lower}")
        require(grain is None or len(loops) == 1, call, "a grain is one of a single loop")
        self._iterations_are_independent(call)
        self.number_loops()
        self.shared, self.grain = [*loops], grain
        self.record.call(call)

    # What lowering asks

    def point(self) -> dict[Sym, Dim]:
        """Where the kernel's iterators stand in the innermost loop."""
        found = {loop.axis: loop.at for loop in self.loops}
        return {**self.done, **point_of([*found], [self.values.get(axis, at) for axis, at in found.items()])}

    def number_loops(self) -> None:
        """Iteration variables for the loops that have none, outermost first."""
        for loop in self.loops:
            loop.iterator = loop.iterator or self.context.new_iv()

    def branch(self, schedule: Schedule, record: Record) -> Nest:
        """A copy of the nest, shaped by one side of `specialize`."""
        made = copy.copy(self)
        made.loops, made.branches, made.record = [copy.copy(loop) for loop in self.loops], None, record
        old = {id(loop): new for loop, new in zip(self.loops, made.loops)}
        for loop in made.loops:
            loop.split_from = old.get(id(loop.split_from))
        made.values, made.extents = dict(self.values), dict(self.extents)
        schedule(made)
        return made

    # Preconditions of several primitives

    def _may_restructure(self, call: Call, *loops: Loop, staged: bool = False, jammed: bool = False) -> None:
        """The loops are the nest's, and nothing was said of how they run, but perhaps that they are jammed."""
        require(self.branches is None, call, "the nest is specialized", "call the primitives of its branches")
        require(staged or self.staged is None, call, "the result is staged, which needs the loops as they are")
        around = self.loops[-2:-1]
        for loop in loops:
            require(loop in self.loops, call, f"{loop} is no loop of the nest, which has {names(self.loops)}")
            self._is_whole(call, loop)
            at_once = loop.lanes * loop.unroll
            require(jammed or at_once == 1, call, f"{loop} runs {at_once} iterations at once")
            require(loop not in self.shared, call, f"threads share {loop}")
            in_jam = loop is self.loops[-1] and any(outer.unroll > 1 for outer in around)
            require(not in_jam, call, f"the loop around {loop} is unrolled and jammed")

    def _is_whole(self, call: Call, loop: Loop) -> None:
        if loop in self.loops:
            require(not loop.parts, call, f"{loop} is peeled into {names(loop.parts)}")

    def _may_peel(self, call: Call, loop: Loop) -> None:
        if loop in self.loops:
            self._may_restructure(call, loop)
        require(self.staged is None and self._is_innermost(loop), call, f"{loop} is not the innermost loop")

    def _is_innermost(self, loop: Loop) -> bool:
        last = [*self.loops[-1:], *(self.staged.copies[-1:] if self.staged else ())]
        return any(loop is leaf for inner in last for leaf in inner.leaves())

    def _iterations_are_independent(self, call: Call) -> None:
        require(not self.dependence, call, self.dependence)

    def _replace(self, loop: Loop, *made: Loop) -> None:
        place = self.loops.index(loop)
        self.loops[place : place + 1] = made


def _loop_over(axis: FusedAxis) -> Loop:
    return Loop("_".join(s.name for s in axis.symbols), axis, dim(0), axis.extent, axis.extent)
