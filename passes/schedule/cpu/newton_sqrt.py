"""Newton square roots, which leave the divider to divisions: an estimate and Newton iteration, with the same bits.

A root and a quotient of a vector as long as a cache line occupy the divider for as long as forty additions occupy their
ports.  Where the cost model finds a nest bound by it, the roots of its body are marked, and the emitter computes them
without the divider (`compiler/codegen/cpu/newton_sqrt.py`).
"""

from __future__ import annotations

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
        if op.name == "math.sqrt" and scalar_dtype(op.results[0].type).bits == work.bits
    ]
    changed, every = costs.newton_sqrt_cost(work, len(roots))
    if every:
        for op in roots:
            op.attributes[NEWTON] = integer_attr(every)
    return changed
