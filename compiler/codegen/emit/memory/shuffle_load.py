"""Loads of neighbours in another order than that of lanes: rows of memory, from which shuffles take what lanes want.

Repeated elements are read so, along an iterator that is divided by a number.  Where a step of the loop is a multiple of
the period, each lane of each copy has its place in a few rows, always the same, and nothing is divided or gathered.
"""

from __future__ import annotations

from collections.abc import Sequence

from .....dialects.dims.analysis import simplify
from .....dialects.dims.dims import Dim, Sym, sym
from .....dialects.types import DType
from ..text import vector_type
from ..values.index import IndexValues
from ..values.registers import VectorAxis, VectorValue, copies
from .nontemporal import alignment_of

__all__ = ["load_with_shuffle"]

#: Elements of a step of a loop whose places are looked at one by one.
MOST_PLACES = 256


def load_with_shuffle(index: IndexValues, base: str, storage: str, offset: Dim, result: DType) -> VectorValue | None:
    """The elements at an offset that is not linear along the vectors; None where they are not close together."""
    lanes = tuple(index.lane_symbols(offset))
    vector = next((lane for lane in lanes if lane.width > 1 and not lane.starts), None)
    if vector is None or any(s in index.varying_symbols for s in offset.symbols()):
        return None
    if vector.width * len(copies(lanes)) > MOST_PLACES:
        return None
    at = lanes.index(vector)
    found: dict[tuple[int, ...], str] = {}
    for others in dict.fromkeys((*copy[:at], 0, *copy[at + 1 :]) for copy in copies(lanes)):
        starts = {lane.symbol: lane.start(c) for lane, c in zip(lanes, others) if lane is not vector}
        placed = _places(index, offset.substitute(starts), vector)
        if placed is None:
            return None
        registers = _from_rows(index, base, storage, *placed, vector.width)
        found.update(((*others[:at], number, *others[at + 1 :]), reg) for number, reg in enumerate(registers))
    return VectorValue(lanes, [found[copy] for copy in copies(lanes)], result)


def _places(index: IndexValues, offset: Dim, vector: VectorAxis) -> tuple[Dim, list[list[int]]] | None:
    """The first element of a step of the loop, and how far from it those of the lanes of each copy are.

    None where that is not always the same, where a copy's lie in more than two rows, or where a step's elements
    are further apart than if they were neighbours.
    """
    multiple, whole = index.multiples.get(vector.symbol, 1), sym(f"{vector.symbol}~whole")
    first: Dim | None = None
    far: list[list[int]] = []
    for copy in range(vector.copies):
        far.append([])
        for lane in range(vector.width):
            here = {vector.symbol: whole * multiple + (copy * vector.stride + lane)}
            value = simplify(offset.substitute(here), {})
            first = value if first is None else first
            distance = (value - first).const
            if distance is None:
                return None
            far[-1].append(distance)
    assert first is not None
    least = min(map(min, far))
    first, places = first + least, [[distance - least for distance in row] for row in far]
    if any(max(row) // vector.width > min(row) // vector.width + 1 for row in places):
        return None
    if max(map(max, places)) >= vector.copies * vector.width:
        return None
    return first.substitute({Sym(f"{vector.symbol}~whole"): sym(vector.symbol.name) // multiple}), places


def _from_rows(
    index: IndexValues, base: str, storage: str, first: Dim, places: Sequence[Sequence[int]], width: int
) -> list[str]:
    """A register for each list of places, of elements from the first one on."""
    text = index.text
    count, align = max(map(max, places)) + 1, alignment_of(storage)
    ty, rows = vector_type(width, storage), list[str]()
    for start in range(0, count, width):
        there = min(width, count - start)
        narrow, pointer = vector_type(there, storage), index.pointer(base, storage, first + start)
        row = text.ins(f"load {narrow}, ptr {pointer}, align {align}")
        if there < width:
            row = text.shuffle(narrow, row, "poison", [min(k, there - 1) for k in range(width)])
        rows.append(row)
    made: list[str] = []
    for wanted in places:
        low = min(wanted) // width
        pair = (rows[low], rows[low + 1] if low + 1 < len(rows) else "poison")
        made.append(text.shuffle(ty, *pair, [place - low * width for place in wanted]))
    return made
