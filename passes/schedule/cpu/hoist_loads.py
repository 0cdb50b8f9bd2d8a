"""Hoists loop-invariant loads.

The scalars that the nests of a row exchange are in a worker's own memory.  LLVM cannot prove that a loop's stores leave
them alone, so it would load them, and compute everything that depends on them alone, again in each iteration.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation

from ....dialects import loop
from ..access import is_thread_memory

__all__ = ["hoist_invariant_loads"]


def hoist_invariant_loads(block: Block, before: Operation | None) -> None:
    """Lift loads out of the loops in vectors of a block that stand behind an operation of it."""
    op = block.first_op if before is None else before.next_op
    while op is not None:
        for inner in list(op.walk()):
            if (type(inner) is loop.ForOp or type(inner) is loop.ReduceOp) and inner.vector.value.data != 1:
                _lift_from(inner)
        op = op.next_op


def _lift_from(around: loop.ForOp | loop.ReduceOp) -> None:
    """Move loads from a thread's own memory in front of a loop that stores nothing there."""
    steady = [op for op in around.body.block.ops if type(op) is loop.LoadOp and _is_invariant(op)]
    if not steady:
        return
    parent = around.parent_block()
    assert parent is not None
    stored = {inner.buffer for inner in around.walk() if isinstance(inner, loop.StoreOp)}
    for op in steady:
        if op.buffer not in stored:
            op.detach()
            parent.insert_op_before(op, around)


def _is_invariant(op: loop.LoadOp) -> bool:
    """Whether a load takes the same element of a thread's own memory in each round of a loop, which is always there."""
    return is_thread_memory(op.buffer) and op.guards is None and not any(e.symbols() for e in op.index.data)
