"""Views of a padded operand, taken apart: the padding, and what is read of it.

Canonicalisation composes both into one map with guards, which are asked for each element that is read.
"""

from __future__ import annotations

from ...dialects.dims.analysis import linear_in
from ...dialects.dims.dims import Dim, iterator, maximum
from ...dialects.dims.index_map import IndexMap

__all__ = ["split_padding"]


def split_padding(index: IndexMap) -> tuple[IndexMap, IndexMap] | None:
    """Two maps whose composition is `index`: the first pads, the second has no guards.

    The padded dims are as long as what is read of them.  None where a guard asks for more than one index.
    """
    ranges = [_range(e, index) for e in index.exprs]
    padded, extents, lows = list[Dim](), list[Dim](), list[Dim]()
    for number, found in enumerate(ranges):
        if found is None:
            return None
        low, high = found
        lows.append(low)
        extents.append(maximum(0, high - low + 1))
        padded.append(iterator(number) + low)
    guards = list[Dim]()
    for guard in index.guards:
        choices = (_of_index(guard, e, p, index) for e, p in zip(index.exprs, padded))
        moved = next((choice for choice in choices if choice is not None), None)
        if moved is None:
            return None
        guards.append(moved)
    read = tuple(e - low for e, low in zip(index.exprs, lows))
    return IndexMap(tuple(extents), tuple(padded), tuple(guards)), IndexMap(index.extents, read)


def _range(expr: Dim, index: IndexMap) -> tuple[Dim, Dim] | None:
    """The least and the greatest index over a map's iterators, where it is a sum of some of them, either way on."""
    parts = linear_in(expr, index.bounds)
    if parts is None:
        return None
    low = high = parts[1]
    for symbol, step in parts[0].items():
        if step.const is None:
            return None
        end = step * (index.bounds[symbol] - 1)
        low, high = (low, high + end) if step.const > 0 else (low + end, high)
    return low, high


def _of_index(guard: Dim, expr: Dim, padded: Dim, index: IndexMap) -> Dim | None:
    """A guard that asks for one index, ``e + c`` or ``c - e``, of that index at a place of the padded dim."""
    for sign in (1, -1):
        rest = guard - sign * expr
        if expr.symbols() & set(index.bounds) and not rest.symbols() & set(index.bounds):
            return sign * padded + rest
    return None
