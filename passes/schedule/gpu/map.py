"""Elementwise nests to grids: vectors of 16 bytes where memory is contiguous, several of them in flight a thread.

A block takes a run of elements along the iterators that run as one; its threads stand side by side, a vector each, and
repeat that a few times.  A run that is not whole goes one element a thread at a time.  Where iterators stay apart, a
block has a run of one row, or, where rows are short, elements are counted through and their places computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Block

from ....dialects import kernel
from ....dialects.attributes import BufferInfo
from ....dialects.dims.analysis import expand_mods, linear_in, simplify
from ....dialects.dims.dims import Dim, ceil_div, dim
from ....dialects.dims.index_map import product, unravel
from ...cost.work import operations_and_chain
from ..access import accesses, buffer_info
from ..blocks import for_loops
from ..body import ScheduleContext
from ..function import if_positive, materialize_dim
from ..language.axes import FusedAxis, collapse_axes, point_of, unit_stride_score
from .builder import grid_loop, lanes_of, thread_loop
from .transpose import match_transposed, schedule_gpu_tiles

__all__ = ["LaunchShape", "alignment_condition", "schedule_gpu_map", "vector_width"]

#: The widest access to memory is of so many bytes.
WIDEST = 16
#: Lanes of narrower elements.
MOST_LANES = 8
#: Rows of so many elements get blocks of their own.
LONG_ROW = 1024
#: Bodies of at most so many operations run several vectors a thread, or vectors at all.
LIGHT, MODERATE, HEAVY = 8, 16, 64


@dataclass(frozen=True)
class LaunchShape:
    """Threads of a block, and copies of a vector that a map's thread has in flight (0: chosen by the body)."""

    threads: int = 256
    unroll: int = 0

    def copies(self, nest: kernel.GenericOp) -> int:
        cost = _cost(nest)
        return self.unroll or (4 if cost <= LIGHT else 2 if cost <= MODERATE else 1)


def _cost(nest: kernel.GenericOp) -> float:
    """Operations for an element, those of functions included: a copy's registers grow with them."""
    return operations_and_chain(nest.body.block.ops)[0]


def schedule_gpu_map(context: ScheduleContext, nest: kernel.GenericOp, block: Block, grid: LaunchShape) -> None:
    """Grids for an elementwise nest."""
    schedule = _Map(context, nest, grid)
    transposed = match_transposed(nest, schedule.outer, schedule.inner)
    if transposed is None:
        schedule.write(block)
    else:
        schedule_gpu_tiles(context, nest, block, schedule.outer, schedule.inner, transposed)


class _Map:
    def __init__(self, context: ScheduleContext, nest: kernel.GenericOp, grid: LaunchShape):
        self.context, self.nest = context, nest
        access_list = accesses(nest)
        groups = collapse_axes(nest, access_list, 0, nest.n_parallel) or [FusedAxis((), ())]
        self.grid = grid if nest.n_parallel else LaunchShape(1, 1)
        scores = [unit_stride_score(access_list, g) if g.symbols else 0 for g in groups]
        along = max(range(len(groups)), key=lambda i: (scores[i], i))
        self.inner = groups[along]
        self.outer = [g for i, g in enumerate(groups) if i != along]
        self.copies = self.grid.copies(nest)
        guarded = any(w.guarded for w in access_list)
        self.width = 1 if _cost(nest) > HEAVY or guarded else vector_width(nest, self.inner)

    def write(self, block: Block) -> None:
        if not self.outer:
            self._rows(block)
        else:
            if_positive(block, self.inner.extent - (LONG_ROW - 1), self._rows, self._flat)

    def _store(self, body: Block, groups: Sequence[FusedAxis], indices: Sequence[Dim]) -> None:
        point = point_of([g for g in groups if g.symbols], indices)
        self.context.store(self.nest, self.context.body(self.nest, point, body), point, body)

    def _rows(self, block: Block) -> None:
        """Blocks of runs of the inner iterators, one row after another; in vectors where all rows are aligned."""
        aligned = alignment_condition(self.nest, self.inner, self.width) if self.width > 1 else None
        if aligned is None:
            self._runs(block, 1, ())
        else:
            every, some = (lambda b: self._runs(b, self.width, aligned)), (lambda b: self._runs(b, 1, ()))
            if_positive(block, 1 - sum(aligned, dim(0)), every, some)

    def _runs(self, block: Block, width: int, aligned: Sequence[Dim]) -> None:
        extent, threads = self.inner.extent, self.grid.threads
        run, extents = threads * width * self.copies, [g.extent for g in self.outer]
        if not self.outer:
            with grid_loop(self.context, block, extent, threads, step=run, aligned=aligned) as (body, number):
                self._run(body, number, extent, width, [])
            return
        runs = ceil_div(extent, run)
        count = product(extents) * runs
        with grid_loop(self.context, block, count, threads, aligned=aligned) as (body, number):
            row, start = (materialize_dim(self.context, body, e) for e in (number // runs, number % runs))
            self._run(body, start * run, extent, width, self.context.index_of(body, row, extents))

    def _flat(self, block: Block) -> None:
        """Elements of all rows counted through, the place of each computed."""
        groups = [*self.outer, self.inner]
        extents = [g.extent for g in groups]
        extent, threads = product(extents), self.grid.threads

        def store(inner: Block, index: Dim) -> None:
            self._store(inner, groups, unravel(index, extents))

        with grid_loop(self.context, block, extent, threads, step=threads * self.copies) as (body, number):
            self._copied(body, number, extent, 1, store)

    def _run(self, block: Block, start: Dim, extent: Dim, width: int, outer: Sequence[Dim]) -> None:
        """A run of one row, `outer` places of the other iterators."""
        groups = [*self.outer, self.inner]
        self._copied(block, start, extent, width, lambda inner, at: self._store(inner, groups, [*outer, at]))

    def _copied(self, block: Block, start: Dim, extent: Dim, width: int, store: Callable[[Block, Dim], None]) -> None:
        """The elements of a block from `start` on: the copies of a thread's vector a block's width apart."""
        threads, copies = self.grid.threads, self.copies

        def whole(inner: Block) -> None:
            with thread_loop(self.context, inner, 0, threads) as (each, thread):
                copy, lane = self.context.new_iv(), self.context.new_iv()
                with for_loops(each, lanes_of(copy, unroll=copies), lanes_of(lane, vector=width)) as element:
                    store(element, start + copy * (threads * width) + thread * width + lane)

        def rest(inner: Block) -> None:
            with thread_loop(self.context, inner, start, extent) as (element, index):
                store(element, index)

        run = threads * width * copies
        if extent.const is not None and extent.const % run == 0:
            whole(block)
        else:
            if_positive(block, extent - start - (run - 1), whole, rest)


def vector_width(nest: kernel.GenericOp, group: FusedAxis) -> int:
    """How many of a group's elements are one access of the widest operand that is contiguous along it."""
    if not group.symbols:
        return 1
    contiguous = [
        info.dtype.bytes
        for access, info in zip(accesses(nest), _infos(nest))
        if access.is_contiguous(group.symbols[-1])
    ]
    return min(WIDEST // max(contiguous), MOST_LANES) if contiguous else 1


def alignment_condition(nest: kernel.GenericOp, group: FusedAxis, width: int) -> tuple[Dim, ...] | None:
    """What must be 0 for vectors along a group's iterators to be aligned; None where none of them ever is."""
    extents = nest.bounds
    aligned: dict[Dim, None] = {}
    some = False
    for info, index in zip(_infos(nest), (*nest.maps_in(), *nest.maps_out())):
        split = linear_in(simplify(expand_mods(info.address(index.exprs)), extents), extents)
        if split is None or not all(s.nonneg for s in info.strides):
            continue
        steps, first = split
        if steps.get(group.symbols[-1], dim(0)).const != 1:
            continue
        parts = [first, *(step for symbol, step in steps.items() if symbol not in group.symbols)]
        terms = [(mono, coeff) for part in parts for mono, coeff in part.terms if coeff % width]
        if all(mono for mono, _ in terms):
            some = True
            aligned.update((Dim.of_terms({mono: 1}) % width, None) for mono, _ in terms)
    return tuple(aligned) if some else None


def _infos(nest: kernel.GenericOp) -> list[BufferInfo]:
    return [buffer_info(v) for v in (*nest.ins, *nest.outs)]
