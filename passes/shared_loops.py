"""Loops around what is done at one place, which threads share.

A task is one iteration of the outermost loop by a piece of each of the others: a single image, whose rows are the
second loop, keeps as many threads busy as a batch of them.  Only tasks divide their number; within one, loops count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Block

from ..dialects import loop
from ..dialects.dims import Dim, dim, maximum, minimum
from ..dialects.index_map import product, unravel
from .loop_writer import LoopWriter, bound

__all__ = ["Level", "add_loops"]

#: Tasks that make the shares of many threads even; fewer where there is not so much work.
PIECES = 256


@dataclass(frozen=True)
class Level:
    """A loop that counts from 0 to an extent, by steps."""

    iterator: Dim
    extent: Dim
    step: int = 1

    @property
    def trips(self) -> Dim:
        return (self.extent + (self.step - 1)) // self.step

    def around(self, body: Block, lower: Dim, upper: Dim) -> Block:
        """A part of the loop, as a block."""
        body.add_op(loop.YieldOp())
        return Block([loop.ForOp(str(self.iterator), lower, upper, body, step=self.step)])


def add_loops(
    writer: LoopWriter, block: Block, levels: Sequence[Level], body: Block, work: Dim, nanoseconds: float, serial: bool
) -> None:
    """Add loops, outermost first, around a body that does `work` points of so many nanoseconds each.

    Unless `serial` threads share them; without levels the body itself is added.
    """
    if serial or not levels:
        for level in reversed(levels):
            body = level.around(body, dim(0), level.extent)
        return _move(body, block)
    if len(levels) == 1:
        (level,) = levels
        number, trips, step = level.iterator, level.extent, level.step
    else:
        number, step = writer.fresh(), 1
        points = product([level.trips for level in levels]) * work
        worthwhile = minimum(PIECES, points // writer.costs.chunk(nanoseconds))
        body, trips, cut = _task(writer, block, levels, body, number, worthwhile)
        work = work * cut
    body.add_op(loop.YieldOp())
    grain = writer.costs.grain(work, nanoseconds)
    return block.add_op(loop.ParallelOp(str(number), 0, trips, body, step=step, grain=grain))


def _task(
    writer: LoopWriter, block: Block, levels: Sequence[Level], body: Block, number: Dim, wanted: Dim
) -> tuple[Block, Dim, Dim]:
    """The loops of task `number`, how many tasks there are, and how often the body runs in one.

    About as many as are `wanted`, and at least one for each iteration of the outermost loop.  Quotients are rounded
    down and one is added: rounding up would divide what may be negative.  So the last piece may be empty.
    """
    sizes, pieces = [dim(1)], [bound(writer, block, levels[0].trips)]
    for level in levels[1:]:
        trips = bound(writer, block, level.trips)
        wanted = bound(writer, block, wanted // maximum(1, pieces[-1]) + 1)
        sizes.append(bound(writer, block, trips // wanted + 1))
        pieces.append(bound(writer, block, trips // sizes[-1] + 1))
    task = Block()
    starts = [
        bound(writer, task, place * size * level.step)
        for level, size, place in zip(levels, sizes, unravel(number, pieces))
    ]
    for level, size, start in reversed(list(zip(levels, sizes, starts))):
        body = level.around(body, start, minimum(level.extent, start + size * level.step))
    _move(body, task)
    return task, product(pieces), product(sizes)


def _move(source: Block, target: Block) -> None:
    for op in list(source.ops):
        op.detach()
        target.add_op(op)
