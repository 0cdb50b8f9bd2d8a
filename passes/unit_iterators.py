"""Iterators that stand at 0 only are no loops: a product with one row is a sum of rows, not a contraction."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr

from ..dialects import kernel, loop
from ..dialects.attributes import dim_attr, dims_attr, integer_attr, map_attr
from ..dialects.dims import dim, iterator
from ..dialects.index_map import IndexMap

__all__ = ["drop_unit_iterators"]


def drop_unit_iterators(nest: kernel.GenericOp) -> None:
    """Take the parallel iterators whose extent is known to be 1 out of a nest, in place."""
    extents, parallel = nest.extents.data, nest.n_parallel
    kept = [i for i, extent in enumerate(extents) if i >= parallel or extent.const != 1]
    if len(kept) == len(extents):
        return
    places = {old: iterator(new) for new, old in enumerate(kept)}
    left = tuple(extents[i] for i in kept)
    here = IndexMap(left, tuple(places.get(i, dim(0)) for i in range(len(extents))))
    values = dict(zip(nest.maps_out()[0].bounds, here.exprs))
    for name, maps in (("in_maps", nest.maps_in()), ("out_maps", nest.maps_out())):
        nest.attributes[name] = ArrayAttr([map_attr(m.after(here)) for m in maps])
    for op in nest.walk():
        if isinstance(op, loop.IndexOp):
            op.attributes["expr"] = dim_attr(op.expr.data.substitute(values))
        elif isinstance(op, kernel.ReadOp):
            op.attributes["index"] = dims_attr(tuple(e.substitute(values) for e in op.index.data))
            if op.guards is not None:
                op.attributes["guards"] = dims_attr(tuple(g.substitute(values) for g in op.guards.data))
    nest.attributes["extents"] = dims_attr(left)
    nest.attributes["parallel"] = integer_attr(sum(i < parallel for i in kept))
