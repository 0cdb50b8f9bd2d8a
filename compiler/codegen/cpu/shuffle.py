"""`loop.shuffle`: lanes of two registers in the order that it says."""

from __future__ import annotations

from ....dialects.loop import ShuffleOp
from ..emit.function import FunctionEmitter
from ..emit.text import EmitError, llvm_type, vector_type
from ..emit.values.registers import VectorValue, union

__all__ = ["shuffle_lanes"]


def shuffle_lanes(emitter: FunctionEmitter, op: ShuffleOp) -> None:
    """A shuffle for each copy: a group of iterations is what a register holds."""
    lane = next((lane for lane in emitter.lanes.axes if lane.symbol == op.symbol), None)
    if lane is None or lane.width != len(op.numbers) or emitter.lanes.mask is not None:
        raise EmitError(f"a shuffle of lanes of {op.symbol}, which is not in whole vectors of {len(op.numbers)}")
    first, second = (emitter.values[v] for v in op.operands)
    lanes = union(((lane,), first.lanes, second.lanes))
    scalar = llvm_type(first.dtype)
    regs = [
        emitter.text.shuffle(vector_type(lane.width, scalar), a, b, op.numbers)
        for a, b in zip(emitter.lanes.spread(first, lanes), emitter.lanes.spread(second, lanes))
    ]
    emitter.values[op.result] = VectorValue(lanes, regs, first.dtype)
