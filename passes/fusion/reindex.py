"""Nests that count by other iterators: everything in them that says where a point is, said by the new ones."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr

from ...dialects import kernel, loop
from ...dialects.attributes import dim_attr, dims_attr, map_attr
from ...dialects.dims.dims import Dim
from ...dialects.dims.index_map import IndexMap

__all__ = ["reindex"]


def reindex(nest: kernel.GenericOp, new_index: IndexMap) -> None:
    """Let a nest run over the iterators of `new_index`, which says for each of its own where that stands, in place.

    How many of them are parallel is left to the caller.
    """
    values = dict(zip(nest.maps_out()[0].bounds, new_index.exprs))

    def moved(exprs: tuple[Dim, ...]) -> tuple[Dim, ...]:
        return tuple(e.substitute(values) for e in exprs)

    for name, maps in (("in_maps", nest.maps_in()), ("out_maps", nest.maps_out())):
        nest.attributes[name] = ArrayAttr([map_attr(m.after(new_index)) for m in maps])
    for op in nest.walk():
        if isinstance(op, loop.IndexOp):
            op.attributes["expr"] = dim_attr(op.expr.data.substitute(values))
        elif isinstance(op, kernel.ReadOp):
            op.attributes["index"] = dims_attr(moved(op.index.data))
            if op.guards is not None:
                op.attributes["guards"] = dims_attr(moved(op.guards.data))
    nest.attributes["extents"] = dims_attr(new_index.extents)
