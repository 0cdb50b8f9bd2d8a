"""Sorting to loops: radix sort, merge sort with sorting networks, or sample sort.

All give the same result.  Radix sort tracks positions, and takes any order; merge sort moves values alone, of which
positions may be a part, and needs vectors whose lanes can be shuffled; sample sort also needs vectors that can be
compressed.  The cost model decides between those that apply.

Many short rows are sorted as the columns of one grid, which takes less than either; where sizes are not known, a
branch at run time decides that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from xdsl.ir import Block

from ....dialects import kernel
from ....dialects.dims.dims import Dim
from ....dialects.types import DTYPES
from ...cost.model import assumed_number
from ...cost.remarks import remark
from ..access import buffer_info
from ..body import ScheduleContext
from ..builder import LoopBuilder
from ..map.schedule import VectorConfig
from .comparison.mergesort import NetworkMergeSort, merge_sort_time, values_by_network
from .comparison.short_rows import ColumnSort, column_sort_time, longest_in_columns
from .distribution.radix import RadixSort, radix_sort_time
from .distribution.samplesort import SampleSort, sample_sort_time, vectors_are_compressed
from .positions.argsort32 import PackedArgsort, positions_by_network, positions_in_columns
from .positions.argsort64 import PackedArgsort64, wide_positions

__all__ = ["schedule_sort"]

I64 = DTYPES["i64"]


def schedule_sort(context: ScheduleContext, op: kernel.CustomOp, block: Block, lanes: VectorConfig) -> None:
    """Loops for ``sort``, ``argsort`` and ``sort_with_positions``: parameters ``axis`` and ``descending``."""
    with context.bounded(block, buffer_info(op.ins[0]).dims) as dims:
        _schedule(context, op, dims, block, lanes)


def _schedule(
    context: ScheduleContext, op: kernel.CustomOp, dims: Sequence[Dim], block: Block, lanes: VectorConfig
) -> None:
    """By the way that costs least for rows of such an operand."""
    element, length = buffer_info(op.ins[0]).dtype, assumed_number(dims[op.params["axis"]])
    only_values = op.fn.data == "sort" and not element.is_complex
    wide = not only_values and wide_positions(element, lanes)
    moved = element if only_values else I64

    def by_digits(n: float) -> float:
        return radix_sort_time(context.costs, element, n, not only_values)

    def by_networks(n: float) -> float:
        return merge_sort_time(context.costs, moved, lanes.width(moved.bits), n)

    def in_buckets(n: float) -> float:
        return sample_sort_time(context.costs, moved, lanes.width(moved.bits), n)

    ways: dict[str, Callable[[float], float]] = {"radix sort": by_digits}
    merges = values_by_network(element, lanes) if only_values else positions_by_network(element, lanes)
    if merges:
        ways["merge sort by networks"] = by_networks
    if (merges or wide) and vectors_are_compressed(moved, lanes):
        ways["sample sort"] = in_buckets
    row = {way: time(length) * length for way, time in ways.items()}
    chosen = min(row, key=lambda way: row[way])
    if len(ways) > 1:
        remark("sort", f"{op.fn.data} of {element}", chosen, "the lowest cost of a row", row, op)

    def network() -> NetworkMergeSort:
        return (NetworkMergeSort if only_values else PackedArgsort64 if wide else PackedArgsort)(
            context, op, dims, lanes
        )

    def each_row(block: Block) -> None:
        if chosen == "radix sort":
            RadixSort(context, op, dims, lanes.at_most(context.costs.half_cache_line_bits), only_values).emit(block)
            return
        sort = network()
        sort.try_emit(block, SampleSort(sort).emit if chosen == "sample sort" else sort.emit)

    if not (merges or wide or (not only_values and positions_in_columns(element, lanes))):
        each_row(block)
        return
    _short_rows_in_columns(network(), block, ways[chosen], each_row)


def _short_rows_in_columns(
    sort: NetworkMergeSort, block: Block, other: Callable[[float], float], each_row: Callable[[Block], None]
) -> None:
    """Rows that take less so side by side, where there are enough of them, and others by themselves."""
    costs = sort.context.costs
    longest = longest_in_columns(costs, sort.key.dtype, sort.columns, other)
    n, rows = sort.n.const, sort.rows.const
    if rows == 1 or (n is not None and n > longest):
        each_row(block)
        return
    columns = ColumnSort(sort, longest)

    def fewest(n: int) -> int:
        """Of how many rows on those of `n` elements take less so: a grid takes as long where lanes are empty."""
        return math.ceil(sort.columns * column_sort_time(costs, sort.key.dtype, sort.columns, n) / other(n))

    if n is not None and rows is not None:
        (columns.emit if rows >= fewest(max(n, 1)) else each_row)(block)
        return
    code = LoopBuilder(sort.context, block, sort.op.params["has_fma"])
    number, length = code.b.index(sort.rows), code.b.index(sort.n)
    enough = code.b.constant(fewest(longest), I64)
    for most in (1 << k for k in reversed(range(longest.bit_length() - 1))):
        enough = code.b.select(length <= most, code.b.constant(fewest(most), I64), enough)
    side_by_side = (length <= longest) & (number >= enough)
    code.if_(side_by_side, lambda c: columns.emit(c.block), lambda c: each_row(c.block))
