"""A region of a graph while it is traced: what is stored inside has the value from before again behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .....dialects.types import TensorType
from ...tensor.tensor import Tensor
from ...trace.context import current
from ...trace.graph import Block, inside

if TYPE_CHECKING:
    from ...trace.trace import Trace

__all__ = ["among", "is_inside", "is_seen", "own_writes", "region", "values_kept"]


def is_inside(owner: Tensor, block: Block) -> bool:
    """Whether a tensor that owns its storage came to be in a block, or in one inside it."""
    return inside(owner._home, block)


def is_seen(t: Tensor, is_shared: Callable[[Tensor], bool] | None) -> bool:
    """Whether others see what is stored into an array: the caller, another variable, what it is a view of."""
    if is_shared is not None and is_shared(t):  # or what it stands for, in loops around
        return True
    trace = current()
    while trace is not None and t in trace.stands_for:
        t = trace.stands_for[t]
    if not isinstance(t, Tensor):
        return False
    plain = type(t) is Tensor and t._parent is None
    return not plain or (trace is not None and among(t, trace.tensors.values()))


def among(t: Tensor, tensors: Iterable[Tensor]) -> bool:
    return any(t is other for other in tensors)  # `in` would compare elements


@contextmanager
def region(trace: Trace, types: Sequence[TensorType], certain: bool = False) -> Iterator[Block]:
    """A new open block; on leaving it every older tensor has the value from before again.

    `certain` where it runs in every iteration of the loops around it.
    """
    block, depth = Block(types, trace.block), len(trace.blocks)
    trace.conditional_depth += not certain
    trace.enter([block])
    trace.writes.append({})
    trace.writers.append([])
    try:
        yield block
    except Exception as error:
        trace.left_by = error
        raise
    finally:
        trace.leave(depth)
        trace.conditional_depth -= not certain
        trace.writers.pop()
        for owner, before in trace.writes.pop().items():
            owner._value = before


@contextmanager
def values_kept(tensors: Sequence[Tensor]) -> Iterator[None]:
    before = [(t, t._value) for t in tensors]
    try:
        yield
    finally:
        for t, value in before:
            t._value = value


def own_writes(trace: Trace, block: Block) -> None:
    """Forget writes to tensors that were made inside the block: nobody outside sees them."""
    for owner in list(trace.writes[-1]):
        if inside(owner._home, block):
            del trace.writes[-1][owner]
