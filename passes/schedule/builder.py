"""A builder of explicit loops: blocks with scalars, loads, stores and nested loops, for custom kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from xdsl.dialects.builtin import i64
from xdsl.ir import Block, SSAValue

from ...dialects import loop
from ...dialects.dims.dims import Dim
from ...dialects.order import FREE
from ...dialects.scalar.builder import BodyBuilder, scalar_constant
from ...dialects.scalar.language import ComplexValue, Value
from ...dialects.types import DTYPES
from .access import buffer_info
from .blocks import for_loop, parallel_loop
from .body import ScheduleContext
from .function import materialize_dim

__all__ = ["LoopBuilder"]

I64 = DTYPES["i64"]


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

    def count(
        self, lower: Dim | int, upper: Dim | int, holds: Callable[[LoopBuilder, Dim], Value], vector: int
    ) -> Value:
        """For how many places something holds, of so many at once."""
        inner, merge, iterator = self.inner(), self.inner(), self.context.new_iv()
        inner.block.add_op(loop.YieldOp(inner.b.cast(holds(inner, iterator), I64).ref))
        older, newer = (merge.b.wrap(merge.block.insert_arg(i64, at), I64) for at in (0, 1))
        merge.block.add_op(loop.YieldOp((older + newer).ref))
        made = loop.ReduceOp(
            str(iterator), lower, upper, inner.block, merge.block, order=FREE, identity=[scalar_constant(0, I64)],
            types=[i64], vector=vector,
        )  # fmt: skip
        self.block.add_op(made)
        return self.b.wrap(made.outs[0], I64)

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
        """A loop that carries some values, complex ones as their parts."""
        inner, iterator = self.inner(), self.context.new_iv()
        inits = _parts(first)
        arguments = [inner.block.insert_arg(part.ref.type, k) for k, part in enumerate(inits)]
        last = step(inner, iterator, _of_parts(inner.b, arguments, first))
        inner.block.add_op(loop.YieldOp(*(part.ref for part in _parts(last))))
        made = loop.ForOp(str(iterator), lower, upper, inner.block, inits=[part.ref for part in inits])
        self.block.add_op(made)
        return _of_parts(self.b, made.outs, first)


def _parts(values: Sequence[Value]) -> list[Value]:
    """Values that loops carry."""
    return [part for x in values for part in ((x.re, x.im) if isinstance(x, ComplexValue) else (x,))]


def _of_parts(b: BodyBuilder, parts: Iterable[SSAValue], like: Sequence[Value]) -> list[Value]:
    """What parts make up: values as those given."""
    left = iter(parts)
    return [
        b.complex_of(*(Value(b, next(left), x.dtype.part) for _ in range(2)))
        if isinstance(x, ComplexValue)
        else Value(b, next(left), x.dtype)
        for x in like
    ]
