"""`loop.shuffle`: lanes of two registers in the order that it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....dialects.loop import ShuffleOp
from ..emit.text import EmitError, llvm_type, vector_type
from ..emit.values.registers import VectorValue, union

if TYPE_CHECKING:
    from .function import CpuFunction

__all__ = ["shuffle_lanes"]


def shuffle_lanes(writer: CpuFunction, op: ShuffleOp) -> None:
    """A shuffle for each copy: a group of iterations is what a register holds."""
    lane = next((lane for lane in writer.lanes.axes if lane.symbol == op.symbol), None)
    if lane is None or lane.width != len(op.numbers) or writer.lanes.mask is not None:
        raise EmitError(f"a shuffle of lanes of {op.symbol}, which is not in whole vectors of {len(op.numbers)}")
    first, second = (writer.value(v) for v in op.operands)
    lanes = union(((lane,), first.lanes, second.lanes))
    scalar = llvm_type(first.dtype)
    regs = [
        writer.text.shuffle(vector_type(lane.width, scalar), a, b, op.numbers)
        for a, b in zip(writer.lanes.spread(first, lanes), writer.lanes.spread(second, lanes))
    ]
    writer.values[op.result] = VectorValue(lanes, regs, first.dtype)
