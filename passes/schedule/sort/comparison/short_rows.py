"""Sorting many short rows side by side: each is a column of a grid, whose lanes are rows of the operand.

A network sorts all columns of a grid at once (`network`), and then all is in order: there are no runs to merge.
Where elements of a row lie one after another, keys change places with lanes on the way in and out, a square of as many
elements as a vector has lanes at a time; where those of different rows do, vectors come and go as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from xdsl.ir import Block, SSAValue

from .....dialects import loop
from .....dialects.dims.dims import Dim, dim, maximum, minimum
from .....dialects.dims.index_map import product, unravel
from .....dialects.scalar.language import Value
from .....dialects.types import DTYPES, DType
from ....cost.model import CostModel
from ...access import buffer_info
from ...builder import LoopBuilder
from ..base import ElementIndex
from ..keys.key_range import KeyRange
from ..keys.keys import as_number
from ..positions.argsort64 import PackedArgsort64
from .mergesort import NetworkMergeSort, block_elements
from .network import Grid, exponent

__all__ = ["ColumnSort", "column_sort_time", "longest_in_columns"]

I64 = DTYPES["i64"]
#: What an element takes on its way into the grid and out of it, in operations of vectors.
MOVES = 10
#: How many times as long steps of a network take where the first cache does not hold a grid.
FAR = 1.4


@dataclass(frozen=True)
class _Group:
    """Rows that are sorted at once, from `first` on, and the end of the last one; `indices` gives those of a row.

    `square`: a buffer for keys that change places with lanes, where those of one row are adjacent.
    """

    indices: Callable[[Dim], ElementIndex]
    first: Dim
    end: Dim
    square: SSAValue | None
    scale: KeyRange | None = None


class ColumnSort:
    """The rows of a sort by networks, of at most `longest` elements, as columns."""

    def __init__(self, sort: NetworkMergeSort, longest: int):
        self.sort, self.longest, self.width = sort, longest, sort.columns
        info = buffer_info(sort.x)
        self.axis: int = sort.op.params["axis"]
        self.dims = info.dims
        adjacent = [i for i, stride in enumerate(info.strides) if stride.const == 1]
        #: The dim whose elements are adjacent, where it is not that of the sort.
        self.beside = adjacent[0] if adjacent and self.axis not in adjacent else None

    def emit(self, block: Block) -> None:
        sort, width = self.sort, self.width
        code = LoopBuilder(sort.context, block, sort.op.params["has_fma"])
        step = 1 << sort.network.steps
        n = code.materialize_dim(maximum(sort.n, 1))
        rows = code.materialize_dim((n + (step - 1)) // step * step)
        memory = (minimum(sort.n, self.longest) + sort.network.rows_step) * (2 * width)
        cell = sort.allocate(code, I64, 1, shared=True)
        grid = Grid(sort.allocate(code, sort.key.dtype, memory, shared=False), rows, exponent(code, cell, rows))
        square = sort.allocate(code, sort.key.dtype, width * width, shared=False)
        scale = sort.new_scale(code, cell, shared=False) if isinstance(sort, PackedArgsort64) else None
        inner, number = code.inner(), sort.context.new_iv()
        if self.beside is None:
            groups = code.materialize_dim((sort.rows + (width - 1)) // width)
            self._group(inner, _Group(sort.indices, number * width, sort.rows, square, scale), grid)
        else:
            length = self.dims[self.beside]
            each = code.materialize_dim((length + (width - 1)) // width)
            groups = code.materialize_dim(each * product(self._others))
            line = inner.materialize_dim(number // each)
            first = inner.materialize_dim((number - line * each) * width)
            self._group(inner, _Group(self._indices(inner, line), first, length, None, scale), grid)
        inner.block.add_op(loop.YieldOp())
        costs = sort.context.costs
        grain = costs.grain(n * width, column_sort_time(costs, sort.key.dtype, width, self.longest))
        code.block.add_op(loop.ParallelOp(str(number), 0, groups, inner.block, grain=grain))

    @property
    def _others(self) -> list[Dim]:
        return [d for i, d in enumerate(self.dims) if i not in (self.axis, self.beside)]

    def _indices(self, code: LoopBuilder, line: Dim) -> Callable[[Dim], ElementIndex]:
        """The places of rows along the dim `beside`, by the number of what is left of all dims."""
        outer = [code.materialize_dim(d) for d in unravel(line, self._others)]

        def indices(row: Dim) -> ElementIndex:
            def index(i: Dim) -> list[Dim]:
                here = {self.axis: i, self.beside: row}
                rest = iter(outer)
                return [here[d] if d in here else next(rest) for d in range(len(self.dims))]

            return index

        return indices

    def _group(self, code: LoopBuilder, group: _Group, grid: Grid) -> None:
        sort, key, width = self.sort, self.sort.key, self.width
        count = code.materialize_dim(minimum(width, group.end - group.first))
        group = replace(group, end=code.materialize_dim(group.first + count))
        self._enter(code, group, grid)
        size = code.materialize_dim(sort.n * width)
        if group.scale is not None:
            group = replace(group, scale=self._scaled(code, group, group.scale, grid, size))
        zeros = nans = None
        if key.negative_zero is not None:
            zeros = sort.count_negative_zeros(code, lambda c, i: c.load(grid.buffer, [i]), dim(0), size)
        if key.dtype.is_float:
            nans = sort.without_nans(code, grid.buffer, size)
        sort.network.fill(code, grid, size)
        sort.network.sort(code, grid)
        self._leave(code, group, grid)
        if group.scale is not None:
            self._order_equal(code, group, group.scale, grid)
        # Of a grid that has any, all rows are looked through.
        if nans is not None:
            code.if_(nans > 0, lambda c: self._restore_nans(c, group), lambda c: None)
        if zeros is not None:
            code.if_(zeros > 0, lambda c: self._order_zeros(c, group, grid), lambda c: None)

    # In and out

    def _enter(self, code: LoopBuilder, group: _Group, grid: Grid) -> None:
        sort, width, square = self.sort, self.width, group.square

        def along(c: LoopBuilder, row: Dim, i: Dim, to: SSAValue, at: Dim) -> None:
            c.store(sort.key_at(c, group.indices(row), i), to, [at])

        if square is None:
            with code.for_(group.first, group.end, width) as (some, row), some.for_(0, sort.n) as (c, i):
                along(c, row, i, grid.buffer, i * width + (row - group.first))
            return
        with code.for_(0, (sort.n + (width - 1)) // width) as (some, number):
            start = number * width
            with some.for_(group.first, group.end) as (each, row):
                with each.for_(start, each.materialize_dim(minimum(sort.n, start + width)), width) as (c, i):
                    along(c, row, i, square, (row - group.first) * width + (i - start))
            self._transpose(some, square, dim(0), grid.buffer, start * width)

    def _leave(self, code: LoopBuilder, group: _Group, grid: Grid) -> None:
        sort, width, square = self.sort, self.width, group.square
        if square is None:
            with code.for_(group.first, group.end, width) as (some, row), some.for_(0, sort.n) as (c, i):
                key = c.load(grid.buffer, [i * width + (row - group.first)])
                sort.put(c, key, group.indices(row), i, group.scale)
            return
        with code.for_(0, (sort.n + (width - 1)) // width) as (some, number):
            start = number * width
            self._transpose(some, grid.buffer, start * width, square, dim(0))
            with some.for_(group.first, group.end) as (each, row):
                with each.for_(start, each.materialize_dim(minimum(sort.n, start + width)), width) as (c, i):
                    key = c.load(square, [(row - group.first) * width + (i - start)])
                    sort.put(c, key, group.indices(row), i, group.scale)

    def _transpose(self, code: LoopBuilder, source: SSAValue, start: Dim, target: SSAValue, to: Dim) -> None:
        """A square, through registers."""
        width = self.width
        with code.for_(0, width, width) as (some, row), some.for_(0, width, unroll=width) as (c, i):
            c.store(c.load(source, [start + row * width + i]), target, [to + i * width + row])

    # Keys by a scale

    def _scaled(self, code: LoopBuilder, group: _Group, unset: KeyRange, grid: Grid, size: Dim) -> KeyRange:
        """Numbers for the keys of a grid; their scale."""
        sort, width = self.sort, self.width
        assert isinstance(sort, PackedArgsort64)
        # Columns of no row are as the first one, and so do not widen the range.
        with code.for_(group.end - group.first, width) as (some, column), some.for_(0, sort.n) as (c, i):
            c.store(c.load(grid.buffer, [i * width]), grid.buffer, [i * width + column])
        unset.set(code, sort.range_of(code, lambda c, i: c.load(grid.buffer, [i]), dim(0), size))
        scale = unset.read(code)
        with code.for_(0, sort.n) as (some, i), some.for_(0, width, width) as (c, column):
            high = scale.high(c, c.load(grid.buffer, [i * width + column]))
            c.store(scale.number(c, high, c.b.index(i)), grid.buffer, [i * width + column])
        return scale

    def _order_equal(self, code: LoopBuilder, group: _Group, scale: KeyRange, grid: Grid) -> None:
        """What keys lost; of a grid where that may matter, all rows are looked through."""
        sort, width = self.sort, self.width
        assert isinstance(sort, PackedArgsort64)

        def order(c: LoopBuilder) -> None:
            with c.for_(group.first, group.end) as (each, row):
                each.store(each.b.constant(0, I64), scale.cells, [dim(0)])
                sort.order_equal(each, group.indices(row), dim(0), sort.n, scale.cells, scale)

        last = maximum(sort.n - 1, 0) * width
        equal = sort.count_equal(code, lambda c, i: c.load(grid.buffer, [i]), dim(0), last, width, scale)
        code.if_(equal > 0, order, lambda c: None)

    # What comparators do not order

    def _restore_nans(self, code: LoopBuilder, group: _Group) -> None:
        sort = self.sort
        with code.for_(group.first, group.end) as (each, row):
            index = group.indices(row)

            def is_nan(c: LoopBuilder, i: Dim, index: ElementIndex = index) -> Value:
                x = c.load(sort.x, index(i))
                return x.differs(x)

            nans = each.bind(sort.count(each, is_nan, dim(0), sort.n))
            sort.put_nans(each, index, nans, dim(0), sort.n)

    def _order_zeros(self, code: LoopBuilder, group: _Group, grid: Grid) -> None:
        with code.for_(group.first, group.end) as (each, row):
            column = row - group.first
            self.sort.rewrite_zeros(
                each, group.indices(row), lambda c, i: as_number(c.b, c.load(grid.buffer, [i * self.width + column]))
            )


def column_sort_time(costs: CostModel, key: DType, columns: int, n: float) -> float:
    """Nanoseconds an element of many rows of `n`, shorter ones being filled up."""
    step = costs.machine.vector_registers / 2
    rows = math.ceil(max(1.0, n) / step) * step
    bits = math.ceil(math.log2(rows))
    far = FAR if rows * columns * key.bytes > costs.machine.l1_bytes else 1.0
    return costs.compute_ns(far * (bits * (bits + 1) / 2 * rows) / max(1.0, n) + MOVES, key.bits)


def longest_in_columns(costs: CostModel, key: DType, columns: int, other: Callable[[float], float]) -> int:
    """The most elements, a power of two, of rows that go so in less time than another way takes an element of such
    rows; what the second cache holds at most."""
    most = block_elements(costs, key) // columns
    powers = [1 << k for k in range(most.bit_length())]
    return max((n for n in powers if column_sort_time(costs, key, columns, n) < other(n)), default=1)
