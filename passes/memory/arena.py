"""Where temporaries live: slots of one arena whose offsets are integer expressions, reused when sizes are the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from ...dialects.attributes import BufferInfo
from ...dialects.dims.analysis import bounds_over, linear_in
from ...dialects.dims.dims import Dim, Sym, ceil_div, dim, maximum
from ...dialects.dims.index_map import product

__all__ = ["ALIGNMENT", "Arena", "IvRange", "Slot", "aligned_bytes", "most"]

ALIGNMENT = 64


@dataclass(frozen=True)
class IvRange:
    """The values an enclosing loop's iterator takes: ``first`` to ``last``."""

    symbol: Sym
    first: Dim
    last: Dim


def aligned_bytes(info: BufferInfo, ranges: list[IvRange]) -> Dim:
    """The bytes a buffer needs at most, whatever the iterators of the loops around it, rounded up to a cache line.

    Raises ValueError for a size of which no bound over such an iterator is known.
    """
    return ceil_div(most(product(info.dims), ranges) * info.dtype.bytes, ALIGNMENT) * ALIGNMENT


def most(elements: Dim, ranges: list[IvRange]) -> Dim:
    """The largest number of elements, whatever the iterators of the loops around it."""
    for loop in reversed(ranges):
        if loop.symbol in elements.symbols():
            elements = maximum(0, _largest(elements, loop))
    return elements


def _largest(elements: Dim, loop: IvRange) -> Dim:
    """A bound over all iterations."""
    if linear_in(elements, [loop.symbol]) is not None:  # a coefficient's sign need not be known
        ends = (elements.substitute({loop.symbol: loop.first}), elements.substitute({loop.symbol: loop.last}))
        return maximum(*ends)
    bounds = bounds_over(elements, loop.symbol, loop.first, loop.last)
    if bounds is None:
        raise ValueError(
            f"a temporary of {elements} elements changes size in the loop over {loop.symbol}: no bound is known"
        )
    return bounds[1]


@dataclass(eq=False)
class Slot:
    """Bytes of the arena, and the buffers that are there: one that a branch does not need may be needed by another."""

    offset: Dim
    size: Dim
    buffers: list[SSAValue] = field(default_factory=list)


class Arena:
    """Hands out slots: one that there is where `is_free` says so of all its buffers, and the size is equal."""

    def __init__(self) -> None:
        self.size = dim(0)
        self._slots: list[Slot] = []

    def slot(self, size: Dim, is_free: Callable[[SSAValue], bool], is_over: Callable[[SSAValue], bool]) -> Slot:
        """A slot for a buffer, which the caller adds to it; buffers that are over are forgotten."""
        found = next((s for s in self._slots if s.size is size and all(map(is_free, s.buffers))), None)
        if found is None:
            found = Slot(self.size, size)
            self.size = self.size + size
        else:
            found.buffers = [buffer for buffer in found.buffers if not is_over(buffer)]
            self._slots.remove(found)
        self._slots.append(found)
        return found
