"""Parallel loops around the body of a schedule, split into tasks that threads share.

A task is one iteration of the outermost loop by a chunk of each of the others: a single image, whose rows are the
second loop, keeps as many threads busy as a batch of them.  Iterations that are unrolled and jammed stay together:
chunks of such a loop are multiples of the factor, also of the outermost one.  The number of tasks divides among
threads; within a task, loops are sequential.  On a GPU, which has threads for all, a task is one iteration of every
loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.ir import Block

from ...dialects.dims.dims import Dim, ceil_div, dim, maximum, minimum
from ...dialects.dims.index_map import product, unravel
from .blocks import Range, for_loops, move, parallel_loop
from .body import ScheduleContext
from .function import materialize_dim

__all__ = ["LoopSpec", "balanced_tile", "parallel_loops", "split_range"]

#: Tasks that make the shares of many threads even; fewer where there is not so much work.
TARGET_TASKS = 256


@dataclass(frozen=True)
class LoopSpec:
    """A loop that counts from 0 to an extent, by steps; so many iterations of it run `jam`, side by side."""

    iterator: Dim
    extent: Dim
    step: Dim | int = 1
    jam: int = 1

    @property
    def trips(self) -> Dim:
        """How many iterations there are; one at least where the step is known only later."""
        if isinstance(self.step, int):
            return ceil_div(self.extent, self.step)
        return maximum(0, self.extent - 1) // self.step + 1

    def part(self, lower: Dim, upper: Dim) -> Range:
        """A part of the loop."""
        return Range(self.iterator, lower, upper, self.step, unroll=self.jam)


def balanced_tile(
    context: ScheduleContext, block: Block, results: Dim, most: int | Dim, others: Dim, least: int = 1
) -> Dim:
    """How many of some results go together: at most so many, and fewer where threads would be left without work.

    Tiles are split that often by `others` besides.  Each is whole lines of results, but for the last one, all are as
    long as that allows, and no thread is given fewer results than `least`.
    """
    unit, total, threads = context.costs.elements_per_line, results * others, context.threads(block)
    if least > 1:
        threads = materialize_dim(context, block, minimum(threads, total // least))
    threads = maximum(1, threads)
    lines = materialize_dim(context, block, maximum(0, total - 1) // (threads * unit) + 1)
    tile = materialize_dim(context, block, minimum(most, lines * unit))
    tiles = materialize_dim(context, block, maximum(0, results - 1) // tile + 1)
    return materialize_dim(context, block, minimum(tile, (maximum(0, results - 1) // (tiles * unit) + 1) * unit))


@contextmanager
def parallel_loops(
    context: ScheduleContext, block: Block, levels: Sequence[LoopSpec], work: Dim, nanoseconds: float, serial: bool
) -> Iterator[Block]:
    """Loops at the end of a block, outermost first, around a body of `work` points of so many nanoseconds each.

    Unless `serial` threads share them; without levels the body stands in the block itself.
    """
    if serial or not levels:
        with for_loops(block, *(level.part(dim(0), level.extent) for level in levels)) as body:
            yield body
        return
    body = Block()
    yield body
    if len(levels) == 1 and levels[0].jam == 1:
        (level,) = levels
        number, trips, step = level.iterator, level.extent, level.step
    else:
        number, step = context.new_iv(), 1
        sizes, tasks = [dim(1) for _ in levels], [level.trips for level in levels]
        if context.gpu_threads is None:
            points = product(tasks) * work
            sizes, tasks = _split_tasks(
                context, block, levels, minimum(TARGET_TASKS, points // context.costs.chunk(nanoseconds))
            )
        body, trips = _task(context, levels, body, number, sizes, tasks), product(tasks)
        work = work * product(sizes)
    with parallel_loop(block, number, 0, trips, step=step, grain=context.costs.grain(work, nanoseconds)) as task:
        move(body, task)


def _split_tasks(
    context: ScheduleContext, block: Block, levels: Sequence[LoopSpec], wanted: Dim
) -> tuple[list[Dim], list[Dim]]:
    """Of each loop the iterations of a task, and how many tasks there are, for about as many tasks as `wanted`.

    There is at least one for each iteration of the outermost loop, unless these run together, and of each of the
    others one in all.
    """
    sizes: list[Dim] = []
    tasks: list[Dim] = []
    for level in levels:
        trips = materialize_dim(context, block, level.trips)
        if not tasks and level.jam == 1:
            sizes.append(dim(1))
            tasks.append(trips)
            continue
        before = tasks[-1] if tasks else dim(1)
        wanted = materialize_dim(context, block, wanted // maximum(1, before) + 1)
        size = trips // wanted + 1
        sizes.append(materialize_dim(context, block, ceil_div(size, level.jam) * level.jam))
        tasks.append(materialize_dim(context, block, maximum(0, trips - 1) // maximum(1, sizes[-1]) + 1))
    return sizes, tasks


def _task(
    context: ScheduleContext, levels: Sequence[LoopSpec], body: Block, number: Dim, sizes: Sequence[Dim],
    tasks: Sequence[Dim],
) -> Block:  # fmt: skip
    """The loops of task `number`."""
    task = Block()
    starts = [
        materialize_dim(context, task, index * size * level.step)
        for level, size, index in zip(levels, sizes, unravel(number, tasks))
    ]
    ends = (minimum(level.extent, start + size * level.step) for level, size, start in zip(levels, sizes, starts))
    with for_loops(task, *(level.part(*ends) for level, *ends in zip(levels, starts, ends))) as inner:
        move(body, inner)
    return task


def split_range(context: ScheduleContext, block: Block, count: Dim, index: Dim, parts: Dim) -> tuple[Dim, Dim]:
    """The first of `count` things that belong to one of so many parts, which differ by one at most, and the end."""
    first = materialize_dim(context, block, index * count // parts)
    return first, materialize_dim(context, block, (index * count + count) // parts)
