"""Reductions that say where: one of their states is the number of the element that the others come from.

Such a state is recognised by its form, whatever the reduction is called: an element enters with the reduced iterator,
and a merge looks at the numbers only to ask whether the newer one is lower, and to choose one of them.  Two things
follow.  Numbers may count from the start of a block, so they are as wide as the values beside them and fit their
masks.  And a reduction that goes forward never finds a lower number, so it need not ask.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, SSAValue

from .....dialects.loop import IndexOp, ReduceOp, YieldOp
from .....dialects.types import DTYPES, DType

__all__ = ["POSITIONS", "Position", "position_of"]

#: Elements that one block has at most where positions are 32 bits wide.
POSITIONS = 1 << 30
SIGNED_BELOW = 2


@dataclass(frozen=True)
class Position:
    """State `number` of a reduction says where; held in `dtype`; `forward` merges what comes later in memory."""

    number: int
    dtype: DType
    forward: Block


def position_of(op: ReduceOp, dtypes: list[DType]) -> Position | None:
    """The state of a reduction of any order of its elements that says where they come from, if it has one."""
    merge, states = op.combiner.block, len(dtypes)
    if op.order.data.kind != "free" or states < 2:
        return None
    entering, merged = op.body.block.last_op, merge.last_op
    assert isinstance(entering, YieldOp) and isinstance(merged, YieldOp)
    for i, (element, result) in enumerate(zip(entering.operands, merged.operands)):
        older, newer = merge.args[i], merge.args[states + i]
        where = element.owner
        if not isinstance(where, IndexOp) or where.expr.data.symbol != op.symbol:
            continue
        asked = [use.operation for arg in (older, newer) for use in arg.uses]
        below = [o for o in asked if _is_below(o, newer, older)]
        chosen = [o for o in asked if isinstance(o, arith.SelectOp) and o.result is result]
        if below and len({id(o) for o in asked}) == len({id(o) for o in (*below, *chosen)}):
            bits = max(d.bits for j, d in enumerate(dtypes) if j != i)
            return Position(i, DTYPES["i32" if bits <= 32 else "i64"], _forward(merge, below))
    return None


def _is_below(op: Operation, a: SSAValue, b: SSAValue) -> bool:
    return isinstance(op, arith.CmpiOp) and op.predicate.value.data == SIGNED_BELOW and op.lhs is a and op.rhs is b


def _forward(merge: Block, never: list[Operation]) -> Block:
    """The merge where the conditions `never` do not hold."""
    block = Block(arg_types=[a.type for a in merge.args])
    values: dict[SSAValue, SSAValue] = dict(zip(merge.args, block.args))
    false: set[SSAValue] = {op.results[0] for op in never}
    for op in merge.ops:
        possible = [o for o in op.operands if o not in false]
        if isinstance(op, arith.AndIOp) and len(possible) < 2:
            false.add(op.result)
        elif isinstance(op, arith.OrIOp) and len(possible) == 1:
            values[op.result] = values[possible[0]]
        elif isinstance(op, arith.SelectOp) and op.cond in false:
            values[op.result] = values[op.rhs]
        if op.results and op.results[0] in values:
            continue
        made = op.clone(values)
        block.add_op(made)
        values.update(zip(op.results, made.results))
    for op in reversed(list(block.ops)):
        if op.results and not any(r.uses for r in op.results):
            op.detach()
            op.erase()
    return block
