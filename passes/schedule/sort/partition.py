"""Rows parted by an element of each: one pass for those before it, one for its equals and one for the others.

No branch depends on data: each position is stored where the next one of its part belongs, and is overwritten where its
element is of another.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Block

from ....dialects import kernel
from ....dialects.dims.dims import Dim, dim
from ....dialects.dims.index_map import product, unravel
from ....dialects.scalar.language import Value
from ....dialects.types import DTYPES
from ..access import buffer_info
from ..body import ScheduleContext
from ..builder import LoopBuilder
from ..map.schedule import VectorConfig

__all__ = ["schedule_partition"]

I64 = DTYPES["i64"]


def schedule_partition(context: ScheduleContext, op: kernel.CustomOp, block: Block, lanes: VectorConfig) -> None:
    """Loops for ``partition_positions``, each row by a thread."""
    (x, pivots), (out,), info = op.ins, op.outs, buffer_info(op.ins[0])
    code, n = LoopBuilder(context, block, op.params["has_fma"]), info.dims[-1]
    with code.parallel_(product(info.dims[:-1]), n * 8) as (c, row):
        before = unravel(row, info.dims[:-1])
        pivot = c.load(pivots, [*before, dim(0)])
        pivot_is_number, pivot_is_nan = pivot.equals(pivot), pivot.differs(pivot)

        def is_less(value: Value) -> Value:
            return (value < pivot) | (value.equals(value) & pivot_is_nan)

        def is_equal(value: Value) -> Value:
            return value.equals(pivot) | (value.differs(value) & pivot_is_nan)

        def is_greater(value: Value) -> Value:
            return (value > pivot) | (value.differs(value) & pivot_is_number)

        def put(d: LoopBuilder, i: Dim, at: Value, belongs: Callable[[Value], Value]) -> Value:
            value, place = d.load(x, [*before, i]), d.bind(at)
            d.store(d.b.index(i), out, [*before, place], [n - 1 - place])
            return at + d.b.cast(belongs(value), I64)

        at = c.b.constant(0, I64)
        for belongs in (is_less, is_equal, is_greater):
            at = c.carried_loop(0, n, at, lambda d, i, at, belongs=belongs: put(d, i, at, belongs))
