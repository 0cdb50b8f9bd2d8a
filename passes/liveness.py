"""Which values are still needed after an op, loops included: a next iteration needs what was made outside the loop."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Operation, Region, SSAValue

from ..dialects import kernel

__all__ = ["is_live_after", "uses_inside"]


def is_live_after(value: SSAValue, op: Operation) -> bool:
    """Whether some use of the value runs after `op` has finished."""
    chain = list(_ancestors(op))
    loops = [a for a in chain[1:] if isinstance(a, (kernel.ForOp, kernel.WhileOp)) and not _defined_in(value, a)]
    for use in value.uses:
        if _comes_after(use.operation, chain) or any(_inside(use.operation, a) for a in loops):
            return True
    return False


def _comes_after(user: Operation, chain: list[Operation]) -> bool:
    """Whether `user` is after the innermost op of `chain` (an op and its ancestors) that shares a block with it."""
    users = {a.parent: a for a in _ancestors(user)}
    for ancestor in chain:
        same_block = users.get(ancestor.parent)
        if same_block is not None:
            return same_block is not ancestor and ancestor.is_before_in_block(same_block)
    return False


def _ancestors(op: Operation) -> Iterator[Operation]:
    current: Operation | None = op
    while current is not None:
        yield current
        current = current.parent_op()


def _inside(op: Operation, ancestor: Operation) -> bool:
    """Strictly inside one of its regions: an operand of the loop itself is used before the loop runs."""
    return op is not ancestor and any(a is ancestor for a in _ancestors(op))


def _defined_in(value: SSAValue, op: Operation) -> bool:
    block: Block | None = value.owner if isinstance(value.owner, Block) else value.owner.parent
    while block is not None:
        region: Region | None = block.parent
        owner = region.parent if region is not None else None
        if owner is op:
            return True
        block = owner.parent if owner is not None else None
    return False


def uses_inside(op: Operation) -> set[SSAValue]:
    """Every value that an op or something inside its regions uses."""
    return {operand for inner in op.walk() for operand in inner.operands}
