"""Instrumentation: a `buffers` function takes one buffer more, into which it stores the time around each kernel.

    kernel.generic(%x, %y)    ->    loop.timestamp %times {slot = 0}
    kernel.row_group(...)                kernel.generic(%x, %y)
                                    loop.timestamp %times {slot = 1}
                                    kernel.row_group(...)
                                    loop.timestamp %times {slot = 2}

Schedules turn a kernel into the loops that it would be without clocks, and leave these where they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ...dialects import kernel
from ...dialects.attributes import BufferInfo, buffer_type
from ...dialects.dims.dims import dim
from ...dialects.loop import TimestampOp
from ...dialects.types import DTYPES

__all__ = ["InstrumentPass", "kernels_of"]

_KERNELS = (
    kernel.GenericOp, kernel.CustomOp, kernel.RowGroupOp, kernel.ScatterOp, kernel.ForOp, kernel.WhileOp, kernel.IfOp
)  # fmt: skip


def kernels_of(function: func.FuncOp) -> list[Operation]:
    """The outermost kernels of a function at stage `buffers`, in the order in which they run."""
    return [op for op in function.body.block.ops if isinstance(op, _KERNELS)]


@dataclass(frozen=True)
class InstrumentPass(ModulePass):
    """Adds ``times: i64[kernels + 1]`` to the arguments, and the clocks that fill it."""

    name = "tx-instrument"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]:
            self._function(function)

    def _function(self, function: func.FuncOp) -> None:
        kernels = kernels_of(function)
        block = function.body.block
        info = BufferInfo(DTYPES["i64"], (dim(len(kernels) + 1),), (dim(1),))
        times = block.insert_arg(buffer_type(info), len(block.args))
        times.name_hint = "times"
        function.update_function_type()
        for slot, op in enumerate(kernels):
            block.insert_op_before(TimestampOp(times, slot), op)
        last = block.last_op
        assert last is not None, "a function ends in func.return"
        block.insert_op_before(TimestampOp(times, len(kernels)), last)
