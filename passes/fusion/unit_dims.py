"""Iterators that stand at 0 only are no loops: a product with one row is a sum of rows, not a contraction."""

from __future__ import annotations

from ...dialects import kernel
from ...dialects.attributes import integer_attr
from ...dialects.dims.dims import dim, iterator
from ...dialects.dims.index_map import IndexMap
from .reindex import reindex

__all__ = ["drop_unit_dims"]


def drop_unit_dims(nest: kernel.GenericOp) -> None:
    """Take the parallel iterators whose extent is known to be 1 out of a nest, in place."""
    extents, parallel = nest.extents.data, nest.n_parallel
    remaining = [i for i, extent in enumerate(extents) if i >= parallel or extent.const != 1]
    if len(remaining) == len(extents):
        return
    renumbered = {old: iterator(new) for new, old in enumerate(remaining)}
    left = tuple(extents[i] for i in remaining)
    here = IndexMap(left, tuple(renumbered.get(i, dim(0)) for i in range(len(extents))))
    reindex(nest, here)
    nest.attributes["parallel"] = integer_attr(sum(i < parallel for i in remaining))
