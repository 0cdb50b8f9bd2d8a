"""Map-reduce fusion within a row group: a row's map and the reduction of its result in one loop.

In ``e = exp(x - max)`` and ``sum(e)`` neither loop is long, and each has a prologue, a remainder, and latency at its
end.  The reduction evaluates the map itself, and stores the elements for later readers of the row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from ....dialects import kernel
from ...cost.model import CostModel
from ...cost.work import point_work
from ..access import buffer_info, order_of
from ..body import ScheduleContext
from .staging import is_row_buffer

__all__ = ["fusable_maps"]


def fusable_maps(
    context: ScheduleContext, nests: Sequence[kernel.GenericOp], shared: int
) -> Mapping[kernel.GenericOp, kernel.GenericOp]:
    """The reductions of a row that read the result of the map in front of them, and these maps; none if unwanted."""
    if not context.fuse_maps:
        return {}
    return {reduction: made for made, reduction in pairwise(nests) if can_fuse(made, reduction, shared, context.costs)}


def can_fuse(made: kernel.GenericOp, reduction: kernel.GenericOp, shared: int, costs: CostModel) -> bool:
    """Whether a reduction along the whole row reads each element of a map's row once, in the order that it is
    stored."""
    if made.is_reduction or not reduction.is_reduction or reduction.is_scan or len(made.outs) != 1:
        return False
    extents = made.extents.data
    along_row = extents == reduction.extents.data and len(extents) == shared + 1 and reduction.n_parallel == shared
    if not along_row or order_of(reduction).kind not in ("tree", "free"):
        return False
    # Divisions go by vectors, and in ways, of their own.
    if not is_row_buffer(made.outs[0]) or point_work(made, costs).divisions:
        return False
    (stored,), row = made.maps_out(), made.outs[0]
    read = [index for value, index in zip(reduction.ins, reduction.maps_in()) if value is row]
    dense = len(stored.exprs) == 1 and buffer_info(row).strides[0].const == 1
    return dense and reduction.n_epilogue_inputs == 0 and len(read) == 1 and read[0] == stored and not stored.guards
