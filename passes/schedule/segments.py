"""Segments: index maps with div and mod of an iterator become loops over contiguous segments.

Reductions along several dims that are not adjacent in memory, tiles of an array, reshapes after a transposition: their
indices have the quotient and the remainder of an iterator by the length of a segment.  Loops over segments and within
one need no division, and vectors run along memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.ir import Block

from ...dialects import kernel
from ...dialects.dims.analysis import expand_mods, linear_in, quotients, simplify
from ...dialects.dims.dims import Dim, Sym, ceil_div, dim, maximum, minimum, sym
from .access import Point, buffer_info
from .blocks import for_loop
from .body import ScheduleContext

__all__ = ["Segments", "match_segments"]


@dataclass(frozen=True)
class Segments:
    """Elements for which ``symbol + offset`` has one quotient by `extent`; the symbol is in neither of these."""

    symbol: Sym
    extent: Dim
    offset: Dim

    def ranges(self, number: Dim, point: Point, lower: Dim, upper: Dim) -> tuple[Dim, tuple[Dim, Dim], tuple[Dim, Dim]]:
        """Of a range: where segment `number` starts, the numbers of its segments, and what of this one is in it."""
        offset, extent = self.offset.substitute(point), maximum(1, self.extent)
        start = number * self.extent - offset
        numbers = (lower + offset) // extent, ceil_div(upper + offset, extent)
        return start, numbers, (maximum(0, lower - start), minimum(self.extent, upper - start))

    def loops(
        self, context: ScheduleContext, block: Block, point: Point, lower: Dim, upper: Dim,
        write: Callable[[Block, Dim, Dim, Dim, Dim], None],
    ) -> None:  # fmt: skip
        """A loop over the segments of a range; `write` adds the loops over a part of one.

        It is called with the place in the segment, where the iterator stands there, the part's first place, and its
        end.
        """
        number, index = context.new_iv(), context.new_iv()
        start, numbers, within = self.ranges(number, point, lower, upper)
        within_segment = {symbol: self.extent for symbol in index.symbols()}
        with for_loop(block, number, *numbers) as inner, context.temporarily(extents=within_segment):
            write(inner, index, start + index, *within)


def match_segments(nest: kernel.GenericOp, symbol: Sym, least: int) -> Segments | None:
    """The runs of an iterator in which all inputs are linear, of `least` elements at least where that is known.

    None where they are linear anyway, or in no runs.
    """
    extents = nest.bounds
    found: list[Dim] = []
    for value, index in nest.element_inputs():
        address = simplify(expand_mods(buffer_info(value).address(index.exprs)), extents)
        if index.guards:
            return None
        if linear_in(address, [symbol]) is None:
            found.append(address)
    if not found:
        return None
    for divided, extent in dict.fromkeys(_divisions(found, symbol)):
        parts = linear_in(divided, [symbol])
        if parts is None or parts[0].get(symbol) is not dim(1) or extent.symbols() & set(extents):
            continue
        runs = Segments(symbol, extent, parts[1])
        if (extent.const is None or extent.const >= least) and all(_linear(a, runs) for a in found):
            return runs
    return None


def _divisions(addresses: list[Dim], symbol: Sym) -> Iterator[tuple[Dim, Dim]]:
    for address in addresses:
        yield from quotients(address, symbol)


def _linear(address: Dim, runs: Segments) -> bool:
    """Whether an address is linear in the place within a run."""
    number, index = sym("..run."), sym("..place.")
    where = number * runs.extent + index - runs.offset
    along = {Sym("..place."): runs.extent}
    return linear_in(simplify(address.substitute({runs.symbol: where}), along), along) is not None
