"""Memory of rows: what of a value lives within one row, and what a result may overwrite while its row is computed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import SSAValue

from ...dialects import kernel
from ...dialects.attributes import MapAttr, map_attr
from ...dialects.dims.index_map import IndexMap
from ..fusion.interchange import shared_leading_dims

__all__ = ["are_apart", "clobbers", "drop_outer_dims", "inside", "reads"]


def inside(rows: kernel.RowGroupOp, result: SSAValue) -> SSAValue:
    """What a result of rows is inside them."""
    last = rows.body.block.last_op
    assert isinstance(last, kernel.YieldOp)
    return last.values[list(rows.results).index(result)]  # pyright: ignore[reportArgumentType]


def clobbers(rows: kernel.RowGroupOp, value: SSAValue, held: Collection[SSAValue]) -> bool:
    """Whether a result of rows in the memory of such values would destroy what they still read.

    Rows go in any order, the nests of a row one after another: those before may read the row, the one that makes the
    result the same element.
    """
    inner = inside(rows, value)
    maker, stored = inner.owner, False
    assert isinstance(maker, kernel.GenericOp)
    written = maker.maps_out()[list(maker.results).index(inner)]  # pyright: ignore[reportArgumentType]
    for nest in rows.nests:
        for read in (index for v, index in reads(nest) if v in held):
            if stored or read is None or shared_leading_dims(read, written) < rows.n_shared:
                return True
            if nest is maker and (nest.is_reduction or read != written):
                return True
        stored = stored or nest is maker
    return False


def reads(op: kernel.GenericOp) -> list[tuple[SSAValue, IndexMap | None]]:
    """What a nest reads: each input with its map, and None for what its body reads at computed indices."""
    found: list[tuple[SSAValue, IndexMap | None]] = list(zip(op.ins, op.maps_in()))
    for region in op.regions:
        for block in region.blocks:
            found += [(inner.source, None) for inner in block.ops if isinstance(inner, kernel.ReadOp)]
    return found


def are_apart(one: IndexMap | None, other: IndexMap) -> bool:
    """Whether no point of either map meets one of the other: in some dim they are at different places throughout."""
    if one is None:
        return False
    moving = set(one.bounds)
    pairs = zip(one.exprs, other.exprs)
    fixed = [(a, b) for a, b in pairs if not moving & (a.symbols() | b.symbols())]
    return any((a - b).const not in (None, 0) for a, b in fixed)


def drop_outer_dims(nest: kernel.GenericOp, of_row: Mapping[SSAValue, Sequence[int]]) -> None:
    """Values that live within one row have these dims of the whole ones: leave the others out of their index maps."""

    def fit(index: IndexMap, value: SSAValue) -> MapAttr:
        own = of_row.get(value, range(len(index.exprs)))
        return map_attr(replace(index, exprs=tuple(index.exprs[i] for i in own)))

    nest.attributes["in_maps"] = ArrayAttr([fit(m, v) for m, v in zip(nest.maps_in(), nest.ins)])
    nest.attributes["out_maps"] = ArrayAttr([fit(m, v) for m, v in zip(nest.maps_out(), nest.outs)])
