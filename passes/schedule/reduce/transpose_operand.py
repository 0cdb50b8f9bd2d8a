"""Reductions along all of a matrix whose rows are strided: tiles of rows are first transposed into a buffer.

The order of such a reduction goes along rows (`dialects.order`), and its blocks end anywhere in them, so vectors can
run neither along memory nor across results.  Transposing by tiles runs at the speed of the caches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Block, SSAValue

from ....dialects import kernel, loop
from ....dialects.attributes import BufferInfo, map_attr
from ....dialects.dims.dims import Dim, ceil_div, dim, iterator, maximum, minimum, sym
from ....dialects.dims.index_map import IndexMap
from ..access import accumulator_types, buffer_info, order_of
from ..body import ScheduleContext
from ..function import materialize_dim
from ..map.copy import copy_transposed
from ..map.schedule import VectorConfig

__all__ = ["TransposedOperand", "match_transposed"]


@dataclass(frozen=True)
class TransposedOperand:
    """Inputs (by number) of a reduction whose rows of `columns` elements are strided in memory."""

    context: ScheduleContext
    nest: kernel.GenericOp
    numbers: tuple[int, ...]
    columns: Dim

    def blocks(self, size: int) -> Dim:
        """How many blocks of the reduction are done at a time: as many rows as a tile has, fewer where they are
        long."""
        costs = self.context.costs
        rows = minimum(costs.l1_tile, dim(int(costs.machine.l2_bytes)) // maximum(1, self.columns) + 8)
        return maximum(1, rows * self.columns // size)

    def has_whole_blocks(self, size: int) -> Dim:
        """Positive where rows are whole blocks of the reduction, and enough of them for the vector lanes."""
        return minimum(1 - self.columns % size, self._rows - self.context.costs.results_in_flight)

    @property
    def _rows(self) -> Dim:
        return buffer_info(self.nest.ins[self.numbers[0]]).dims[0]

    def of_whole_blocks(self, size: int, partials: Sequence[SSAValue]) -> kernel.GenericOp | None:
        """The blocks of rows that are whole ones, as reductions vectorized along what is contiguous.

        None where an input is not read by rows and columns.
        """
        nest = self.nest
        assert nest.identity is not None
        number, row, k = (sym(f"d{n}") for n in range(3))
        extents = (self.columns // size, self._rows, dim(size))
        along, maps = sym("d0"), list[IndexMap]()
        for index in nest.maps_in():
            by_rows = index.exprs == (along // self.columns, along % self.columns)
            if index.guards or not (by_rows or not any(e.symbols() & {along.symbol} for e in index.exprs)):
                return None
            maps.append(IndexMap(extents, (row, number * size + k) if by_rows else index.exprs))
        if any(isinstance(op, kernel.ReadOp | loop.IndexOp) for op in nest.body.block.walk()):
            return None
        merge = nest.combiner.clone().detach_block(0)
        finish = Block(arg_types=accumulator_types(nest))
        finish.add_op(kernel.YieldOp(*finish.args))
        out_map = IndexMap(extents, (row * (self.columns // size) + number,))
        return kernel.GenericOp(
            nest.ins, partials, extents, maps, [out_map] * len(partials), nest.body.clone().detach_block(0), [],
            parallel=2, combiner=merge, epilogue=finish, order=order_of(nest), identity=list(nest.identity.data),
        )  # fmt: skip

    def copy(self, block: Block, first: Dim, last: Dim, most: Dim, lanes: VectorConfig) -> None:
        """Copy the rows of elements `first` to `last` (at most `most`); from then on the nest reads the copies."""
        at = materialize_dim(self.context, block, first // self.columns)
        stop = ceil_div(last, self.columns)
        operands, maps = list(self.nest.operands), list(self.nest.maps_in())
        for number in self.numbers:
            source, info = operands[number], buffer_info(operands[number])
            size = (most // self.columns + 2) * self.columns
            panel = self.context.allocate(block, BufferInfo(info.dtype, (size,), (dim(1),)), "thread")
            i, j, extents = iterator(0), iterator(1), (stop - at, self.columns)
            copied = panel, [i * self.columns + j]
            copy_transposed(self.context, block, extents, (source, [at + i, j]), copied, lanes)
            operands[number] = panel
            (k,) = (sym(f"d{n}") for n in range(maps[number].rank))
            maps[number] = IndexMap(maps[number].extents, (k - at * self.columns,))
        self.nest.operands = operands
        self.nest.attributes["in_maps"] = ArrayAttr([map_attr(m) for m in maps])


def match_transposed(context: ScheduleContext, nest: kernel.GenericOp) -> TransposedOperand | None:
    """The inputs of a reduction of one iterator that go along a matrix's rows while its columns are contiguous."""
    found: dict[Dim, list[int]] = {}
    k = sym("d0")
    for number, (value, index) in enumerate(zip(nest.ins, nest.maps_in())):
        info = buffer_info(value)
        if info.dtype.is_complex or len(info.dims) != 2 or info.strides[0].const != 1 or index.guards:
            continue
        rows, columns = info.dims
        if info.strides[1] is rows and index.exprs == (k // columns, k % columns):
            found.setdefault(columns, []).append(number)
    if len(found) != 1 or nest.n_epilogue_inputs:
        return None
    ((columns, numbers),) = found.items()
    return TransposedOperand(context, nest, tuple(numbers), columns)
