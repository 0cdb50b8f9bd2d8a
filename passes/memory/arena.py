"""Where temporaries live: slots of one arena whose offsets are integer expressions, reused when sizes are the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ...dialects.attributes import BufferInfo
from ...dialects.dims.analysis import bounds_over, linear_in
from ...dialects.dims.dims import Dim, Sym, dim, maximum

__all__ = ["ALIGNMENT", "Arena", "IvRange", "aligned_bytes"]

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
    elements = dim(1)
    for d in info.dims:
        elements = elements * d
    for loop in reversed(ranges):
        if loop.symbol in elements.symbols():
            elements = maximum(0, _largest(elements, loop))
    return (elements * info.dtype.bytes + (ALIGNMENT - 1)) // ALIGNMENT * ALIGNMENT


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


class Arena:
    """Hands out offsets.  A slot is given again where `is_free` says that its buffer is dead and the size is equal."""

    def __init__(self) -> None:
        self.size = dim(0)
        self._slots: list[tuple[Dim, Dim, SSAValue]] = []

    def offset(self, size: Dim, is_free: Callable[[SSAValue], bool]) -> Dim:
        for i, (offset, slot_size, holder) in enumerate(self._slots):
            if slot_size is size and is_free(holder):
                del self._slots[i]
                return offset
        offset = self.size
        self.size = self.size + size
        return offset

    def hold(self, offset: Dim, size: Dim, buffer: SSAValue) -> None:
        self._slots.append((offset, size, buffer))
