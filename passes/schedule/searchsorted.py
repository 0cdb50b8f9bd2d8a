"""Binary search to loops: each place is found bit by bit, from the highest down, so lanes go through the same steps."""

from __future__ import annotations

from xdsl.ir import Block

from ...dialects import kernel
from ...dialects.attributes import BufferInfo
from ...dialects.dims.dims import Dim, dim, minimum
from ...dialects.dims.index_map import product, unravel
from ...dialects.scalar.language import Value
from ...dialects.types import DTYPES
from .access import buffer_info
from .body import ScheduleContext
from .builder import LoopBuilder
from .map.schedule import VectorConfig
from .sort.keys.keys import keys_of

__all__ = ["schedule_search"]

I64 = DTYPES["i64"]
#: Elements of a chunk that a thread looks for.
SPAN = 1024


def schedule_search(context: ScheduleContext, op: kernel.CustomOp, block: Block, lanes: VectorConfig) -> None:
    """Loops for ``searchsorted``: parameter ``side``."""
    _Search(context, op, lanes).emit(block)


class _Search:
    def __init__(self, context: ScheduleContext, op: kernel.CustomOp, lanes: VectorConfig):
        self.context, self.op = context, op
        self.sorted, self.values = op.ins
        info = buffer_info(self.values)
        self.dims, self.width = info.dims, lanes.width(64)
        (self.n,) = buffer_info(self.sorted).dims
        self.keys = keys_of(info.dtype, False, False)

    def emit(self, block: Block) -> None:
        code = LoopBuilder(self.context, block, self.op.params["has_fma"])
        steps, count = self._steps(code), product(self.dims)
        with code.parallel_(count, dim(SPAN * 16), step=SPAN) as (body, start):
            with body.for_(start, minimum(count, start + SPAN), self.width) as (c, number):
                self._find(c, list(unravel(number, self.dims)), steps)

    def _steps(self, code: LoopBuilder) -> Dim:
        """The bits of the number of elements."""
        if self.n.const is not None:
            return dim(self.n.const.bit_length())
        cell = self.context.allocate(code.block, BufferInfo(I64, (dim(1),), (dim(1),)))
        bits = [dim(0)]
        code.store(code.b.constant(0, I64), cell, bits)
        code.while_(
            lambda c: c.b.constant(1, I64) << (c.load(cell, bits) & 63) <= c.b.index(self.n),
            lambda c: c.store(c.load(cell, bits) + 1, cell, bits),
        )
        return code.bind(code.load(cell, bits))

    def _find(self, code: LoopBuilder, index: list[Dim], steps: Dim) -> None:
        """As many elements as stand before the value: what a step adds is a bit less than what the one before did."""
        wanted = [key.make(code.b, code.load(self.values, index)) for key in self.keys]

        def step(c: LoopBuilder, number: Dim, found: Value) -> Value:
            further = found + (c.b.constant(1, I64) << (c.b.index(steps - 1 - number) & 63))
            at = c.bind(further)
            x = c.load(self.sorted, [at - 1], [self.n - at])
            before = self._before(c, [key.make(c.b, x) for key in self.keys], wanted)
            return c.b.select((further <= c.b.index(self.n)) & before, further, found)

        code.store(code.carried_loop(0, steps, code.b.constant(0, I64), step), self.op.outs[0], index)

    def _before(self, code: LoopBuilder, keys: list[Value], wanted: list[Value]) -> Value:
        """Whether an element of these keys belongs before the value; the keys are from the least important up."""
        right = self.op.params["side"] == "right"
        result = keys[0] <= wanted[0] if right else keys[0] < wanted[0]
        for key, value in zip(keys[1:], wanted[1:]):
            result = (key < value) | (key.equals(value) & result)
        return result
