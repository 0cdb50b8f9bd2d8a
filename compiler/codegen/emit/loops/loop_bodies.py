"""What is asked of the bodies of loops: how long they are, whether lanes can run them, and what they touch."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Block

from .....dialects.dims.analysis import linear_in
from .....dialects.dims.dims import Sym, dim
from .....dialects.loop import (
    AllocOp,
    ForOp,
    IfOp,
    LoadOp,
    MergeOp,
    ParallelOp,
    PartitionOp,
    ReduceOp,
    ScanOp,
    StoreOp,
    WhileOp,
)
from ..values.index import IndexValues
from ..values.registers import info_of

__all__ = ["LONG_BODY", "emitted_cost", "is_unit_stride_or_uniform", "maskable", "needs_order", "step_between"]

#: From this cost on (`emitted_cost`) a loop has one masked body instead of one for whole vectors and one for the rest.
LONG_BODY = 40
#: Types by which walks over bodies ask, as `isinstance` of a class of xDSL's takes ten times as long: loops, and what
#: lanes cannot do side by side.
_LOOPS = frozenset({ForOp, ReduceOp, ScanOp, MergeOp, PartitionOp, scf.WhileOp})
_IN_ORDER = frozenset({IfOp, WhileOp, AllocOp, ScanOp, MergeOp, PartitionOp})


def emitted_cost(block: Block) -> int:
    """A rough count of the instructions of one copy of a body; a body with a loop in it counts as long."""
    total = 1
    for op in block.walk():
        if type(op) in _LOOPS:
            return LONG_BODY * 10
        total += 25 if op.name.startswith(("math.", "kernel.")) else 1
    return total


def needs_order(block: Block, lanes_beside: bool = False) -> bool:
    """Whether a body cannot run in lanes: it branches, or a reduction in it has lanes of its own.

    With `lanes_beside` these are kept in memory, beside each other.
    """
    for op in block.walk():
        if type(op) in _IN_ORDER:
            return True
        if type(op) is ReduceOp and not lanes_beside and op.order.data.kind == "tree" and op.order.data.lanes > 1:
            return True
        if type(op) is ForOp or type(op) is ReduceOp or type(op) is ParallelOp:
            symbol = block.parent_op().symbol  # type: ignore[union-attr]
            if symbol in op.lower.data.symbols() | op.upper.data.symbols():
                return True
    return False


def maskable(block: Block) -> bool:
    """Whether every element that lanes touch is 32 or 64 bits wide, so that masked access is one instruction."""
    for op in block.walk():
        if (type(op) is LoadOp or type(op) is StoreOp) and info_of(op.buffer).dtype.bits < 32:
            return False
    return True


def is_unit_stride_or_uniform(index: IndexValues, block: Block, symbol: Sym) -> bool:
    """Whether all that a body touches stays where it is along an iterator, or lies one after another."""
    for access in block.walk():
        if type(access) is LoadOp or type(access) is StoreOp:
            if step_between(index, access, symbol) not in (0, 1):
                return False
    return True


def step_between(index: IndexValues, access: LoadOp | StoreOp, symbol: Sym) -> int | None:
    """How far elements that are touched are apart, from one iteration to the next; None where that is not known."""
    parts = linear_in(index.address(info_of(access.buffer), access.index.data), [symbol])
    return None if parts is None else parts[0].get(symbol, dim(0)).const
