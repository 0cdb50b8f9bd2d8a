"""How much a function has to do: an estimate by which a call decides about threads and the GIL."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func
from xdsl.ir import Block, Operation

from ..dialects.dims import Dim, Sym, dim
from ..dialects.kernel import ForeignOp, ForOp, GenericOp, ScatterOp, WhileOp, shape_of

__all__ = ["work_of"]

#: An estimate with more terms would cost a small call too much.
_MOST_TERMS = 6
#: Iterations that stand for one element of a foreign kernel.
FOREIGN_WORK = 16


def work_of(function: func.FuncOp) -> Dim | None:
    """The points of all loop nests of a function with `kernel` ops; None where no bound is known or it is long."""
    total = _block(function.body.block, {})
    return total if total is not None and len(total.terms) <= _MOST_TERMS else None


def _block(block: Block, first: Mapping[Sym, Dim]) -> Dim | None:
    """The work of a block inside loops whose iterators begin at `first`."""
    total = dim(0)
    for op in block.ops:
        inner = _operation(op, first)
        if inner is None:
            return None
        total = total + inner
    return total


def _operation(op: Operation, first: Mapping[Sym, Dim]) -> Dim | None:
    if isinstance(op, WhileOp):
        return None
    if isinstance(op, (GenericOp, ScatterOp)):
        points = dim(1)
        for extent in op.extents.data:
            points = points * extent.substitute(first)
        return points
    if isinstance(op, ForeignOp):
        points = dim(1)
        for extent in shape_of((list(op.results) or list(op.outs))[0].type)[1]:
            points = points * extent.substitute(first)
        return points * FOREIGN_WORK
    if isinstance(op, ForOp):
        # Every iteration is taken to be as long as the first.
        lower, upper = op.lower.data.substitute(first), op.upper.data.substitute(first)
        inner, step = _block(op.regions[0].block, {**first, Sym(op.iv.data): lower}), op.step.data
        return None if inner is None or not step.const else (upper - lower) // step * inner
    parts = [_block(b, first) for region in op.regions for b in region.blocks]
    return None if None in parts else sum((p for p in parts if p is not None), dim(0))
