"""A builder of explicit loops: blocks with scalars, loads, stores and nested loops, for custom kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from xdsl.ir import Block, SSAValue

from ...dialects import loop
from ...dialects.dims.dims import Dim
from ...dialects.scalar.builder import BodyBuilder
from ...dialects.scalar.language import Value
from .blocks import for_loop, parallel_loop
from .body import ScheduleContext, buffer_info, materialize_dim

__all__ = ["LoopBuilder"]


class LoopBuilder:
    """A block being written: scalars through `b`, which appends to it."""

    def __init__(self, context: ScheduleContext, block: Block, has_fma: bool):
        self.context, self.block = context, block
        self.b = BodyBuilder(block, has_fma)

    def inner(self, block: Block | None = None) -> LoopBuilder:
        """What writes another block."""
        return LoopBuilder(self.context, Block() if block is None else block, self.b.has_fma)

    def load(self, buffer: SSAValue, index: Sequence[Dim], guards: Sequence[Dim] = ()) -> Value:
        made = loop.LoadOp(buffer, index, guards)
        self.block.add_op(made)
        return self.b.wrap(made.result, buffer_info(buffer).dtype)

    def store(self, value: Value, buffer: SSAValue, index: Sequence[Dim], guards: Sequence[Dim] = ()) -> None:
        self.block.add_op(loop.StoreOp(self.b.ssa(value), buffer, index, guards))

    def shuffle(self, first: Value, second: Value, iterator: Dim, lanes: Sequence[int]) -> Value:
        """What lanes of an iterator have of two values, by number (`loop.shuffle`)."""
        made = loop.ShuffleOp(first.ref, second.ref, str(iterator), lanes)
        self.block.add_op(made)
        return self.b.wrap(made.result, first.dtype)

    def bind(self, value: Value) -> Dim:
        """An i64 as a symbol for the rest of the block."""
        return self.context.bind(self.block, value.ref)

    def materialize_dim(self, expr: Dim) -> Dim:
        """An expression, computed here, as a symbol for the rest of the block."""
        return materialize_dim(self.context, self.block, expr)

    @contextmanager
    def for_(
        self, lower: Dim | int, upper: Dim | int, vector: int = 1, unroll: int = 1
    ) -> Iterator[tuple[LoopBuilder, Dim]]:
        iterator = self.context.new_iv()
        with for_loop(self.block, iterator, lower, upper, vector=vector, unroll=unroll) as body:
            yield self.inner(body), iterator

    @contextmanager
    def parallel_(self, upper: Dim | int, work: Dim, step: Dim | int = 1) -> Iterator[tuple[LoopBuilder, Dim]]:
        """Iterations that threads share, each of so many units of work."""
        iterator, costs = self.context.new_iv(), self.context.costs
        grain = costs.grain(work, costs.work_unit_ns)
        with parallel_loop(self.block, iterator, 0, upper, step=step, grain=grain) as body:
            yield self.inner(body), iterator

    def if_(
        self, condition: Value, then: Callable[[LoopBuilder], None], otherwise: Callable[[LoopBuilder], None]
    ) -> None:
        blocks = []
        for write in (then, otherwise):
            inner = self.inner()
            write(inner)
            inner.block.add_op(loop.YieldOp())
            blocks.append(inner.block)
        self.block.add_op(loop.IfOp(condition.ref, blocks[0], blocks[1]))

    def while_(self, condition: Callable[[LoopBuilder], Value], body: Callable[[LoopBuilder], None]) -> None:
        asked, inner = self.inner(), self.inner()
        asked.block.add_op(loop.YieldOp(condition(asked).ref))
        body(inner)
        inner.block.add_op(loop.YieldOp())
        self.block.add_op(loop.WhileOp(asked.block, inner.block))

    def carried_loop(
        self, lower: Dim | int, upper: Dim | int, first: Value, step: Callable[[LoopBuilder, Dim, Value], Value]
    ) -> Value:
        """A loop that carries a value: the last one of ``value = step(block, iterator, value)``."""
        (last,) = self.carried_loops(lower, upper, [first], lambda c, i, values: [step(c, i, values[0])])
        return last

    def carried_loops(
        self, lower: Dim | int, upper: Dim | int, first: Sequence[Value],
        step: Callable[[LoopBuilder, Dim, list[Value]], Sequence[Value]],
    ) -> list[Value]:  # fmt: skip
        """A loop that carries some values."""
        inner, iterator = self.inner(), self.context.new_iv()
        carried = [
            inner.b.wrap(inner.block.insert_arg(value.ref.type, k), value.dtype) for k, value in enumerate(first)
        ]
        inner.block.add_op(loop.YieldOp(*(value.ref for value in step(inner, iterator, carried))))
        made = loop.ForOp(str(iterator), lower, upper, inner.block, inits=[value.ref for value in first])
        self.block.add_op(made)
        return [self.b.wrap(out, value.dtype) for out, value in zip(made.outs, first)]
