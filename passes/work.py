"""How much a `loops` function has to do: an estimate by which a call decides about threads and the GIL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects import func
from xdsl.ir import Block, Operation

from ..dialects.dims import Dim, Sym, dim
from ..dialects.loop import ForOp, ParallelOp, ReduceOp, WhileOp

__all__ = ["work_of"]

#: An estimate with more terms would cost a small call too much.
_MOST_TERMS = 6


def work_of(function: func.FuncOp, known: Iterable[Sym]) -> Dim | None:
    """The iterations of the innermost loops, over the `known` symbols; None where no bound is known or it is long."""
    total = _block(function.body.block, {})
    if total is None or len(total.terms) > _MOST_TERMS or not total.symbols() <= set(known):
        return None
    return total


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
    if not isinstance(op, (ForOp, ParallelOp, ReduceOp)):
        parts = [_block(b, first) for region in op.regions for b in region.blocks]
        return None if None in parts else sum((p for p in parts if p is not None), dim(0))
    # Every iteration is taken to be as long as the first: exact for tiles, all but the last.
    lower = op.lower.data.substitute(first)
    upper, step = op.upper.data.substitute(first), op.step.data.substitute(first)
    trips = (upper - lower + step - 1) // step
    inner = _block(op.block, {**first, op.symbol: lower})
    if inner is None:
        return None
    return trips * inner if inner.terms else trips
