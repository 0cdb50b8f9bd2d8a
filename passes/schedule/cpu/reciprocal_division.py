"""Divisions by a loop-invariant divisor as a reciprocal multiply and a correction, with the same bits.

A division of a vector of f64s occupies the divider for as long as thirty additions occupy their ports.  Where the cost
model finds a nest bound by it, divisions by invariants of the innermost loop are marked, and the emitter computes
them without the divider (`compiler/codegen/cpu/reciprocal_divide.py`).
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation, SSAValue

from ....dialects.attributes import scalar_dtype
from ....dialects.dims.dims import Sym
from ....dialects.kernel import GenericOp, ReadOp, RowGroupOp
from ....dialects.loop import BindOp, IndexOp
from ....dialects.scalar.hints import RECIPROCAL
from ...cost.model import CostModel, Work
from ..access import backward_slice

__all__ = ["mark_reciprocal_division"]


def mark_reciprocal_division(nest: GenericOp, work: Work, costs: CostModel) -> Work:
    """Mark the quotients of a body where that is worth it; what a point takes then.

    Memory that a nest goes through for itself, not for a row that is in its cache, may be what it waits for.
    """
    alone = not isinstance(nest.parent_op(), RowGroupOp)
    if alone and costs.div_ns(work) <= costs.transfer_ns(work.bytes, in_l2=False):
        return work
    last = Sym(f"d{len(nest.extents.data) - 1}")
    found = [
        op
        for op in nest.body.block.ops
        if isinstance(op, arith.DivfOp) and scalar_dtype(op.result.type).bits == work.bits
        if not _changes(nest, op.rhs, last) and _changes(nest, op.lhs, last)
    ]
    changed = costs.reciprocal_cost(work, len(found))
    if changed is not work:
        for op in found:
            op.attributes[RECIPROCAL] = UnitAttr()
    return changed


def _changes(nest: GenericOp, scalar: SSAValue, along: Sym) -> bool:
    """Whether a scalar of a body may change along an iterator."""
    needed = backward_slice(scalar)
    for argument, index in zip(nest.body.block.args, nest.maps_in()):
        if argument in needed and any(along in e.symbols() for e in (*index.exprs, *index.guards)):
            return True
    return any(isinstance(v.owner, Operation) and isinstance(v.owner, IndexOp | ReadOp | BindOp) for v in needed)
