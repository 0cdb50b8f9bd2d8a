"""From a scheduled nest to the ops of the `loop` dialect."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Block, Operation, SSAValue

from ....dialects import loop
from ....dialects.attributes import BufferInfo
from ....dialects.dims.dims import dim
from ....dialects.dims.index_map import product
from ...cost.kernel_stats import remark_kernel
from ...cost.remarks import enabled
from ...cost.work import point_time
from ..access import buffer_info
from ..blocks import move, parallel_loop
from ..function import if_positive
from ..parallelize import LoopSpec, parallel_loops
from .nest import Loop, Nest, Schedule, Stage
from .preconditions import names
from .record import Record

__all__ = ["lower", "write_scheduled"]


def write_scheduled(nest: Nest, schedule: Schedule, block: Block) -> None:
    """Shape a nest by a schedule, append its loops, and say in a remark by which program."""
    head = f"{names(nest.loops)}{',' * (len(nest.loops) == 1)} = nest.loops" if nest.loops else ""
    over = f"over ({', '.join(map(str, nest.op.extents.data))})"
    schedule(nest)
    lower(nest, block)
    if enabled() and head:
        program = "\n".join([head, *nest.record.text()])
        remark_kernel("schedule", nest.op, program, f"{over}, for a row" if nest.serial else over)


def lower(nest: Nest, block: Block) -> None:
    """Append the loops of a nest."""
    if nest.branches is not None:
        excess, *schedules = nest.branches
        records: list[Record] = []

        def side(schedule: Schedule) -> Callable[[Block], None]:
            def write(inner: Block) -> None:
                records.append(Record())
                lower(nest.branch(schedule, records[-1]), inner)

            return write

        if_positive(block, excess, *map(side, schedules))
        nest.record.branch(excess, records)
        return
    nest.number_loops()
    levels = [LoopSpec(level.at, level.upper, level.step, level.unroll) for level in nest.shared]
    inside, writer, time = nest.loops[len(levels) :], _Lowering(nest), point_time(nest.op, nest.context.costs)
    if nest.grain is not None:
        (level,) = levels
        around = parallel_loop(block, level.iterator, 0, level.extent, step=level.step, grain=nest.grain)
    else:
        work = product([level.extent for level in inside if level.split_from not in inside]) * nest.work
        around = parallel_loops(nest.context, block, levels, work, time, serial=not levels)
    with around as body:
        move(writer.block(inside, writer.element), body)


class _Lowering:
    """The loops of one nest, inside out: the innermost have the kernel's body at their point."""

    def __init__(self, nest: Nest):
        self.nest, self.context, self.point = nest, nest.context, nest.point()

    def block(self, loops: Sequence[Loop], element: Callable[[Block], None]) -> Block:
        """A block, not ended yet, with the loops in each other and `element` in the last."""
        made = Block()
        if not loops:
            element(made)
            return made
        first, *rest = loops
        # Parts in which guards hold are written before the edges around them.
        by_edge = sorted(first.leaves(), key=lambda part: part.is_edge)
        written = {id(part): self._loop(part, rest, element) for part in by_edge}
        for part in first.leaves():
            made.add_ops(written[id(part)])
        return made

    def _loop(self, part: Loop, inside: Sequence[Loop], element: Callable[[Block], None]) -> list[Operation]:
        """A loop around others; none over an innermost range that is empty."""
        if not inside and part.upper is part.lower and not part.is_edge:
            return []
        stage = self.nest.staged
        with self.context.temporarily(proven_guards=part.proven):
            body = self._tile(stage) if stage is not None and stage.at is part else self.block(inside, element)
        body.add_op(loop.YieldOp())
        name, lanes, unroll = str(part.at), part.lanes, part.unroll
        return [loop.ForOp(name, part.lower, part.upper, body, step=part.step, vector=lanes, unroll=unroll)]

    def element(self, block: Block) -> None:
        """The kernel's body at the innermost point, and its stores, or what the nest says."""
        if self.nest.element is not None:
            self.nest.element(block, self.point)
            return
        self.context.store(self.nest.op, self._values(block), self.point, block, in_order=self._is_in_order())

    def _values(self, block: Block) -> list[SSAValue]:
        with self.context.temporarily(extents=self.nest.extents or self.context.extents):
            return self.context.body(self.nest.op, self.point, block)

    def _is_in_order(self) -> bool:
        """Whether adjacent elements are stored one after another: no loop stands between those of the last axis."""
        axes = [level.axis for level in self.nest.loops]
        return not axes or all(axis is axes[-1] for axis in axes[axes.index(axes[-1]) :])

    def _tile(self, stage: Stage) -> Block:
        """An iteration of a staged loop: a tile of results, computed, and copied row by row."""
        made, sides = Block(), [dim(level.split_from.step) for level in stage.tile if level.split_from is not None]
        info = BufferInfo.packed(buffer_info(self.nest.op.outs[0]).dtype, sides)
        tile = self.context.allocate(made, info, "thread")
        index = [level.at - level.lower for level in stage.tile]

        def compute(block: Block) -> None:
            (value,) = self._values(block)
            block.add_op(loop.StoreOp(value, tile, index))

        def copy_back(block: Block) -> None:
            read = loop.LoadOp(tile, index)
            block.add_op(read)
            self.context.store(self.nest.op, [read.result], self.point, block)

        for loops, element in ((stage.tile, compute), (stage.copies, copy_back)):
            move(self.block(loops, element), made)
        return made
