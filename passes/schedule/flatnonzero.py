"""Positions of true elements to loops: counted in chunks, which threads share, and then put one behind the other.

No branch depends on data: each position is stored where the next one of its chunk belongs, and is overwritten where
its element is false.
"""

from __future__ import annotations

from xdsl.ir import Block

from ...dialects import kernel
from ...dialects.attributes import BufferInfo
from ...dialects.dims.dims import Dim, dim, minimum
from ...dialects.scalar.language import Value
from ...dialects.types import DTYPES
from .access import buffer_info
from .body import ScheduleContext
from .builder import LoopBuilder
from .map.schedule import VectorConfig

__all__ = ["schedule_flatnonzero"]

I64 = DTYPES["i64"]
#: Elements of a chunk.
CHUNK = 1 << 13


def schedule_flatnonzero(context: ScheduleContext, op: kernel.CustomOp, block: Block, lanes: VectorConfig) -> None:
    """Loops for ``flatnonzero``."""
    code = LoopBuilder(context, block, op.params["has_fma"])
    (mask,), (out,) = op.ins, op.outs
    (n,) = buffer_info(mask).dims
    chunks = (n + (CHUNK - 1)) // CHUNK
    begins = context.allocate(block, BufferInfo(I64, (chunks + 1,), (dim(1),)))

    def is_true(c: LoopBuilder, i: Dim) -> Value:
        return c.load(mask, [i])

    with code.parallel_(chunks, dim(CHUNK)) as (c, chunk):
        start = chunk * CHUNK
        found = c.count(start, minimum(n, start + CHUNK), is_true, lanes.width(I64.bits))
        c.store(found, begins, [chunk])

    def begin(c: LoopBuilder, chunk: Dim, before: Value) -> Value:
        here = c.load(begins, [chunk])
        c.store(before, begins, [chunk])
        return before + here

    code.store(code.carried_loop(0, chunks, code.b.constant(0, I64), begin), begins, [chunks])
    with code.parallel_(chunks, dim(CHUNK * 4)) as (c, chunk):
        first, end = c.load(begins, [chunk]), c.bind(c.load(begins, [chunk + 1]))

        def put(c: LoopBuilder, i: Dim, at: Value, end: Dim = end) -> Value:
            place = c.bind(at)
            c.store(c.b.index(i), out, [place], [end - 1 - place])
            return at + c.b.cast(is_true(c, i), I64)

        start = chunk * CHUNK
        c.carried_loop(start, c.materialize_dim(minimum(n, start + CHUNK)), first, put)
