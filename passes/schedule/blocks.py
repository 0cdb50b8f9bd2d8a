"""Blocks of loops, written from the outside in: each loop is a context, with the block that is its body."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

from xdsl.ir import Block, SSAValue

from ...dialects import loop
from ...dialects.dims.dims import Dim

__all__ = [
    "Range",
    "carried_loop",
    "for_loop",
    "for_loops",
    "load_all",
    "move",
    "parallel_loop",
    "shared_loop",
    "store_all",
]


class Range(NamedTuple):
    """A loop to be: the values of its iterator, and attributes as `loop.for` has them."""

    iterator: Dim
    lower: Dim | int
    upper: Dim | int
    step: Dim | int = 1
    vector: int = 1
    unroll: int = 1
    outline: bool = False
    short: bool = False


@contextmanager
def for_loops(block: Block, *ranges: Range) -> Iterator[Block]:
    """Loops at the end of a block, in each other, the first one outermost: the innermost one's body."""
    if not ranges:
        yield block
        return
    (iterator, lower, upper, *_), *inside = ranges
    body, how = Block(), ranges[0]._asdict()
    with for_loops(body, *inside) as innermost:
        yield innermost
    body.add_op(loop.YieldOp())
    attributes = {name: how[name] for name in ("step", "vector", "unroll", "outline", "short")}
    block.add_op(loop.ForOp(str(iterator), lower, upper, body, **attributes))


def for_loop(
    block: Block, iterator: Dim, lower: Dim | int, upper: Dim | int, *, step: Dim | int = 1, vector: int = 1,
    unroll: int = 1,
) -> AbstractContextManager[Block]:  # fmt: skip
    """One loop at the end of a block: its body."""
    return for_loops(block, Range(iterator, lower, upper, step, vector, unroll))


@contextmanager
def parallel_loop(
    block: Block, iterator: Dim, lower: Dim | int, upper: Dim | int, *, step: Dim | int = 1, grain: Dim | int = 1,
    kind: str = "cpu_thread",
) -> Iterator[Block]:  # fmt: skip
    """A loop at the end of a block whose iterations threads share; attributes as `loop.parallel` has them."""
    body = Block()
    yield body
    body.add_op(loop.YieldOp())
    block.add_op(loop.ParallelOp(str(iterator), lower, upper, body, step=step, grain=grain, kind=kind))


def shared_loop(
    block: Block, iterator: Dim, lower: Dim | int, upper: Dim | int, *, step: Dim | int = 1, grain: Dim | int = 1,
    alone: bool,
) -> AbstractContextManager[Block]:  # fmt: skip
    """A loop for threads to share; a plain one where a thread is `alone` with it."""
    if alone:
        return for_loop(block, iterator, lower, upper, step=step)
    return parallel_loop(block, iterator, lower, upper, step=step, grain=grain)


def carried_loop(
    block: Block, steps: Range, inits: Sequence[SSAValue],
    write: Callable[[Block, list[SSAValue]], Sequence[SSAValue]],
) -> list[SSAValue]:  # fmt: skip
    """A loop that carries values, those that `write` makes of the ones before; the last ones."""
    body = Block(arg_types=[value.type for value in inits])
    body.add_op(loop.YieldOp(*write(body, list(body.args))))
    made = loop.ForOp(str(steps.iterator), steps.lower, steps.upper, body, step=steps.step, inits=inits)
    block.add_op(made)
    return list(made.outs)


def load_all(block: Block, buffers: Sequence[SSAValue], index: Sequence[Dim]) -> list[SSAValue]:
    """The elements of some buffers at one index."""
    loads = [loop.LoadOp(buffer, index) for buffer in buffers]
    block.add_ops(loads)
    return [load.result for load in loads]


def store_all(block: Block, values: Sequence[SSAValue], buffers: Sequence[SSAValue], index: Sequence[Dim]) -> None:
    """A value to each of some buffers, at one index."""
    block.add_ops([loop.StoreOp(value, buffer, index) for value, buffer in zip(values, buffers, strict=True)])


def move(source: Block, target: Block) -> None:
    """All ops of a block, to the end of another."""
    for op in list(source.ops):
        op.detach()
        target.add_op(op)
