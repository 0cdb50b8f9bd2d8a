"""Scatters to loops: the ordered iterators one after another, the others in lanes and cut into chunks."""

from __future__ import annotations

from xdsl.ir import Block, Operation

from ...dialects import kernel, loop
from ...dialects.dims.dims import Sym, minimum
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
    body = Block()
    context.scatter(op, {Sym(f"d{i}"): it for i, it in enumerate(iterators)}, body)
    free = list(range(op.n_ordered, len(extents)))
    if op.runs_in_order:
        made: Operation | None = None
        for i in reversed(range(op.n_ordered)):
            body.add_op(loop.YieldOp())
            made = loop.ForOp(str(iterators[i]), 0, extents[i], body)
            body = Block([made])
        block.add_ops(_detached(body))
        return
    body.add_op(loop.YieldOp())
    start, last, span = context.new_iv(), free[-1], context.costs.column_tile
    stop = minimum(extents[last], start + span)
    width = lanes.width(kernel.shape_of(op.base.type)[0].bytes * 8)
    made = loop.ForOp(str(iterators[last]), start, stop, body, vector=width, unroll=1)
    for i in reversed(range(last)):
        made = loop.ForOp(str(iterators[i]), 0, extents[i], Block([made, loop.YieldOp()]))
    work = minimum(extents[last], span)
    for extent in extents[:last]:
        work = work * extent
    around, grain = Block([made, loop.YieldOp()]), context.costs.grain(work, context.costs.work_unit_ns)
    block.add_op(loop.ParallelOp(str(start), 0, extents[last], around, step=span, grain=grain))


def _detached(block: Block) -> list[Operation]:
    ops = list(block.ops)
    for op in ops:
        op.detach()
    return ops
