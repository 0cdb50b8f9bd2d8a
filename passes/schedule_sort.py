"""Sorting to loops: which way."""

from __future__ import annotations

from xdsl.ir import Block

from ..dialects import kernel
from .loop_writer import LoopWriter, buffer_info
from .schedule_map import Lanes
from .sort_digits import SortByDigits
from .sort_network import SortByNetwork

__all__ = ["schedule_sort"]


def schedule_sort(writer: LoopWriter, op: kernel.ForeignOp, block: Block, lanes: Lanes) -> None:
    """Loops for ``sort``, ``argsort`` and ``sort_with_positions``: parameters ``axis`` and ``descending``."""
    element = buffer_info(op.ins[0]).dtype
    only_values = op.fn.data == "sort" and not element.is_complex
    if only_values and element.bits >= 16 and lanes.crossing and lanes.width(element.bits) > 1:
        SortByNetwork(writer, op, lanes).emit(block)
    else:
        SortByDigits(writer, op, lanes, only_values).emit(block)
