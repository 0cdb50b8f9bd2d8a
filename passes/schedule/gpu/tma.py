"""Operands of tensor cores whose stages are filled by TMA, in boxes of tensor maps: which can, and the copies.

The points of an operand are those of its own iterator, of K and of what stacks it.  In a tensor map they stand in the
order of memory, so a box has one point along each but its own iterator and K.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, SSAValue

from ....dialects import kernel, loop
from ....dialects.dims.analysis import expand_mods, linear_in, simplify
from ....dialects.dims.dims import Dim, Sym, dim, iterator, iterators, minimum
from ....dialects.dims.index_map import IndexMap, product, unravel
from ....dialects.loop.tensor_map import strides_of_map
from ....dialects.matrix_units import StageTile
from ..access import buffer_info

__all__ = ["TmaOperand", "match_tma", "tma_limits_ok"]

#: Places in a tensor map are numbers of 32 bits with a sign.
MOST_POINTS = (1 << 31) - 1


@dataclass(frozen=True)
class TmaOperand:
    """An operand as tensor maps describe it: `iterators` of the nest are the dims of `index`, `own` is one of them.

    `outer_indices` are the elements before the first point, and from point to point along all dims but the last.
    """

    buffer: SSAValue
    index: IndexMap
    iterators: tuple[Sym, ...]
    own: Sym
    k: Sym
    outer_indices: tuple[Dim, ...]

    def copy(
        self, host: Block, fill: Block, stage_tile: StageTile, memory: SSAValue, slot: Dim, at: Mapping[Sym, Dim]
    ) -> None:
        """The tensor map, made by the host, and the copies of the boxes from a point on that fill stage `slot`.

        A box has the lines of one panel of the tile.
        """
        panels, lines, *_ = stage_tile.shape
        beside, along = (stage_tile.unit.line, lines) if stage_tile.transposed else (lines, stage_tile.unit.line)
        sizes = [{self.own: beside, self.k: along}.get(i, 1) for i in self.iterators]
        made = loop.TensorMapOp(self.buffer, self.index, sizes)
        host.add_op(made)
        for panel in range(panels):
            first = {**at, self.own: at[self.own] + panel * beside}
            index = [first[i] for i in self.iterators]
            fill.add_op(loop.BulkCopyOp(made.result, index, memory, [slot, dim(panel)]))


def match_tma(
    nest: kernel.GenericOp, operand: tuple[SSAValue, IndexMap], rows: Sequence[int], batch: Sequence[int], along: bool
) -> TmaOperand | None:
    """The boxes of an operand with iterators `rows` besides K, contiguous `along` K or not; None where there are none.

    Several of them count as one, the last, which the map can follow only where memory has them one after the other.
    """
    buffer, index = operand[0], _with_one(operand[1], rows)
    info, own, k = buffer_info(buffer), rows[-1], nest.n_parallel
    linear = linear_in(simplify(expand_mods(info.address(index.exprs)), index.bounds), index.bounds)
    if linear is None:
        return None
    steps = {int(symbol.name[1:]): step for symbol, step in linear[0].items()}
    if not {own, k} <= {*steps} <= {own, k, *batch}:
        return None
    # In the order of memory: each step is a multiple of those behind it.
    order = sorted(steps, key=lambda i: -sum((steps[i] % step).const == 0 for step in steps.values()))
    if order[-1] != (k if along else own):
        return None
    # What the operand has the same elements for counts as 0.
    indices = {Sym(f"d{i}"): dim(0) for i in range(index.rank)} | {Sym(f"d{i}"): d for i, d in zip(order, iterators(5))}
    exprs, guards = (tuple(e.substitute(indices) for e in part) for part in (index.exprs, index.guards))
    ordered = IndexMap(tuple(index.extents[i] for i in order), exprs, guards)
    found = strides_of_map(info, ordered)
    if found is None:
        return None
    symbols = tuple(Sym(f"d{i}") for i in order)
    return TmaOperand(buffer, ordered, symbols, Sym(f"d{own}"), Sym(f"d{k}"), (found[0], *found[1][:-1]))


def _with_one(index: IndexMap, rows: Sequence[int]) -> IndexMap:
    """The map where the last of some iterators counts through all of them."""
    extents = [index.extents[i] for i in rows]
    indices = dict(zip((Sym(f"d{i}") for i in rows), unravel(iterator(rows[-1]), extents)))
    exprs, guards = (tuple(e.substitute(indices) for e in part) for part in (index.exprs, index.guards))
    counted = tuple(product(extents) if i == rows[-1] else e for i, e in enumerate(index.extents))
    return IndexMap(counted, exprs, guards)


def tma_limits_ok(boxes: Sequence[TmaOperand]) -> Dim:
    """Positive where there are points along each dim, and not more than tensor maps have places for."""
    extents = dict.fromkeys(extent for side in boxes for extent in side.index.extents)
    least = dim(1)
    for extent in extents:
        least = minimum(least, minimum(extent, MOST_POINTS + 1 - extent))
    return least
