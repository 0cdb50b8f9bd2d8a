"""Sorting to loops, in one of two ways: by digits of keys, or by networks of comparators and merges of runs.

Both find the same.  Digits keep track of positions, and take any order; networks move values alone, and need vectors
whose lanes can change places.  The cost model decides between them where both can serve.
"""

from __future__ import annotations

from xdsl.ir import Block

from ..dialects import kernel
from .costs import assumed_number
from .loop_writer import LoopWriter, buffer_info
from .remarks import remark
from .schedule_map import Lanes
from .sort_digits import SortByDigits, time_by_digits
from .sort_network import SortByNetwork, time_by_network

__all__ = ["schedule_sort"]


def schedule_sort(writer: LoopWriter, op: kernel.ForeignOp, block: Block, lanes: Lanes) -> None:
    """Loops for ``sort``, ``argsort`` and ``sort_with_positions``: parameters ``axis`` and ``descending``."""
    info = buffer_info(op.ins[0])
    element, n = info.dtype, assumed_number(info.dims[op.params["axis"]])
    half_line = lanes.at_most(writer.costs.half_line)
    only_values = op.fn.data == "sort" and not element.is_complex
    columns = lanes.width(element.bits)
    chosen = "by digits"
    if only_values and element.bits > 1 and columns > 1 and lanes.crossing:
        row = {
            "by digits": time_by_digits(writer.costs, element, n) * n,
            "by networks": time_by_network(writer.costs, element, columns, n) * n,
        }
        chosen = min(row, key=lambda way: row[way])
        remark("sort", f"sort of {element}", chosen, "what a row takes", row, op)
    if chosen == "by networks":
        SortByNetwork(writer, op, lanes).emit(block)
    else:
        SortByDigits(writer, op, half_line, only_values).emit(block)
