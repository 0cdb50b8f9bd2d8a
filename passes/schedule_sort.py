"""Sorting to loops, in one of two ways: by digits of keys, or by networks of comparators and merges of runs.

Both find the same.  Digits keep track of positions, and take any order; networks move values alone, of which positions
may be a part, and need vectors whose lanes can change places.  The cost model decides between them where both serve.
"""

from __future__ import annotations

from xdsl.ir import Block

from ..dialects import kernel
from ..dialects.types import DTYPES
from .costs import assumed_number
from .loop_writer import LoopWriter, buffer_info
from .remarks import remark
from .schedule_map import Lanes
from .sort_digits import SortByDigits, time_by_digits
from .sort_network import SortByNetwork, time_by_network, values_by_network
from .sort_positions import PositionsByNetwork, positions_by_network

__all__ = ["schedule_sort"]

I64 = DTYPES["i64"]


def schedule_sort(writer: LoopWriter, op: kernel.ForeignOp, block: Block, lanes: Lanes) -> None:
    """Loops for ``sort``, ``argsort`` and ``sort_with_positions``: parameters ``axis`` and ``descending``."""
    info = buffer_info(op.ins[0])
    element, n = info.dtype, assumed_number(info.dims[op.params["axis"]])
    only_values = op.fn.data == "sort" and not element.is_complex
    serves = values_by_network(element, lanes) if only_values else positions_by_network(element, lanes)
    chosen = "by digits"
    if serves:
        moved = element if only_values else I64
        row = {
            "by digits": time_by_digits(writer.costs, element, n, not only_values) * n,
            "by networks": time_by_network(writer.costs, moved, lanes.width(moved.bits), n) * n,
        }
        chosen = min(row, key=lambda way: row[way])
        remark("sort", f"{op.fn.data} of {element}", chosen, "what a row takes", row, op)
    if chosen == "by digits":
        SortByDigits(writer, op, lanes.at_most(writer.costs.half_line), only_values).emit(block)
    elif only_values:
        SortByNetwork(writer, op, lanes).emit(block)
    else:
        PositionsByNetwork(writer, op, lanes).emit(block)
