"""Scatters to loops: the ordered iterators one after another, the others in lanes and cut into chunks."""

from __future__ import annotations

from xdsl.ir import Block

from ...dialects import kernel
from ...dialects.dims.dims import minimum
from ...dialects.dims.index_map import product
from .access import at_iterators
from .blocks import Range, for_loops, move, parallel_loop
from .body import ScheduleContext
from .map.schedule import VectorConfig

__all__ = ["schedule_scatter"]


def schedule_scatter(context: ScheduleContext, op: kernel.ScatterOp, block: Block, lanes: VectorConfig) -> None:
    """Loops of a scatter.

    Threads divide what has no order, so each element is stored by one thread, in order: a tile of those along the
    innermost iterator for all ordered points, one point after another.
    """
    extents = op.extents.data
    iterators = [context.new_iv() for _ in extents]
    everywhere = [Range(i, 0, extent) for i, extent in zip(iterators, extents)]
    if op.runs_in_order:
        with for_loops(block, *everywhere[: op.n_ordered]) as body:
            context.scatter(op, at_iterators(range(len(extents)), iterators), body)
        return
    made = Block()
    context.scatter(op, at_iterators(range(len(extents)), iterators), made)
    start, span = context.new_iv(), context.costs.column_tile
    width = lanes.width(kernel.shape_of(op.base.type)[0].bytes * 8)
    work = product(extents[:-1]) * minimum(extents[-1], span)
    grain = context.costs.grain(work, context.costs.work_unit_ns)
    with parallel_loop(block, start, 0, extents[-1], step=span, grain=grain) as around:
        along = Range(iterators[-1], start, minimum(extents[-1], start + span), vector=width)
        with for_loops(around, *everywhere[:-1], along) as body:
            move(made, body)
