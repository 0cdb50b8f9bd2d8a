"""Topological order: each op of a block where it is first needed, whatever order they were written in.

Fusion groups neighbours, so neighbours must not depend on how the user ordered independent statements or the operands
of a sum.  A block is walked from its terminator, operands before what uses them; where several are free, keys that
follow from what they compute decide.  Ops that may update an operand in place (stores, loops) stay behind all that was
written before them: what reads the old value goes first, and nothing has to be copied.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects import tx
from ...dialects.registry import Map
from .blocks import blocks_of

__all__ = ["TopologicalOrderPass"]


@dataclass(frozen=True)
class TopologicalOrderPass(ModulePass):
    """Put the ops of each block into the order of demand, and drop those that nothing needs."""

    name = "tx-topological-order"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for _, block in blocks_of(op):
            reorder(block, topological_order(block))


def reorder(block: Block, order: list[Operation]) -> None:
    """Make `order` that of a block, in place; its other ops are erased."""
    needed = set(order)
    for op in reversed(list(block.ops)):
        if op not in needed:
            op.detach()
            op.erase()
    for op in order:
        op.detach()
        block.add_op(op)


def topological_order(block: Block) -> list[Operation]:
    """The ops of a block that its terminator or an update needs, in the order of demand; the terminator is the last."""
    ops = list(block.ops)
    keys = _keys(ops)
    index = {op: i for i, op in enumerate(ops)}
    #: For each update, what was written since the one before, that one included.
    written: dict[Operation, list[Operation]] = {}
    since = 0
    for i, op in enumerate(ops):
        if may_update_in_place(op):
            written[op] = [o for o in ops[since:i] if not isinstance(o, tx.MapOp | tx.ViewOp)]
            since = i

    def needed(op: Operation) -> list[Operation]:
        found = dict.fromkeys(o for v in _used(op) if isinstance(o := v.owner, Operation) and o in index)
        found.update(dict.fromkeys(written.get(op, ())))
        if op is ops[-1]:
            return [*written, *found]  # updates and results in their order
        return sorted(found, key=lambda o: (keys[o], index[o]))

    order: dict[Operation, None] = {}
    stack = [(ops[-1], iter(needed(ops[-1])))] if ops else []
    entered = {ops[-1]} if ops else set()
    while stack:
        op, waiting = stack[-1]
        following = next((o for o in waiting if o not in entered), None)
        if following is None:
            order[op] = None
            stack.pop()
        else:
            entered.add(following)
            stack.append((following, iter(needed(following))))
    return list(order)


def may_update_in_place(op: Operation) -> bool:
    """Whether an op may write into the memory of an operand."""
    return isinstance(op, tx.InsertOp | tx.ForOp | tx.WhileOp) or op.name == "tx.scatter"


def _used(op: Operation) -> Iterator[SSAValue]:
    """The operands of an op and of all inside it."""
    yield from op.operands
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield from _used(inner)


def _keys(ops: list[Operation]) -> dict[Operation, int]:
    """A number for each op that follows from its name and its operands', the same in every process.

    Parameters do not count: ops that differ in these only group alike.
    """
    keys: dict[Operation, int] = {}
    for op in ops:
        parts = [keys[v.owner] if v.owner in keys else _outside(v) for v in op.operands]  # type: ignore[index]
        if isinstance(op, tx.MapOp) and issubclass(op.decl, Map) and op.decl.commutative:
            parts.sort()
        keys[op] = zlib.crc32(f"{op.name}{parts}".encode())
    return keys


def _outside(value: SSAValue) -> int:
    return value.index if isinstance(value, BlockArgument) else -1
