"""Square roots that leave the divider to divisions: by an estimate and Newton's steps, with the same bits.

A root and a quotient of a vector as long as a line keep the divider busy for as long as forty additions take their
ports.  Where the cost model finds a nest waiting for it, the roots of its body are marked, and the emitter finds them
in another way (`compiler/codegen/cpu/newton_sqrt.py`).
"""

from __future__ import annotations

from xdsl.dialects import math

from ....dialects.attributes import integer_attr, scalar_dtype
from ....dialects.kernel import GenericOp
from ....dialects.scalar.hints import NEWTON
from ...cost.model import CostModel, Work

__all__ = ["mark_newton_sqrt"]


def mark_newton_sqrt(nest: GenericOp, work: Work, costs: CostModel) -> Work:
    """Mark the roots of a body where that is worth it; what a point takes then."""
    roots = [
        op
        for op in nest.body.block.ops
        if isinstance(op, math.SqrtOp) and scalar_dtype(op.result.type).bits == work.bits
    ]
    changed, every = costs.newton_sqrt_cost(work, len(roots))
    if every:
        for op in roots:
            op.attributes[NEWTON] = integer_attr(every)
    return changed
