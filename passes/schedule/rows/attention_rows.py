"""Rows between two contractions to loops: a task runs all nests on a tile of rows, as for attention.

The values that nests exchange have memory for each row of the tile in the worker's own memory, which L2 holds: scores
are never a tensor.  The right operands are packed once for all tiles.  Every order is that of the nests, which are
fissioned instead where there are too few rows to pay for packing.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, SSAValue

from ....dialects import kernel
from ....dialects.attributes import BufferInfo
from ....dialects.dims.dims import Dim, dim, iterator, minimum
from ...locations import copy_loc
from ..access import at_iterators
from ..blocks import for_loop
from ..body import ScheduleContext
from ..function import materialize_dim
from ..map.schedule import VectorConfig
from ..matmul.cpu import CpuMatmul
from ..matmul.match import MatmulOperands, match_matmul, match_product
from .schedule import NestScheduler, schedule_rows
from .staging import crossing_values, fission, in_place_rows, redirect_operands, row_matmul_operands, row_memory

__all__ = ["schedule_attention"]


def schedule_attention(
    context: ScheduleContext, rows: kernel.RowGroupOp, block: Block, lanes: VectorConfig, write_nest: NestScheduler
) -> None:
    """Loops for rows that `is_attention`; `write_nest` schedules one nest within one row, serially."""
    tiles = _RowTiles(context, rows, lanes, write_nest)
    context.if_positive(block, tiles.excess, tiles.fused, tiles.fissioned)


class _RowTiles:
    def __init__(
        self, context: ScheduleContext, rows: kernel.RowGroupOp, lanes: VectorConfig, write_nest: NestScheduler
    ):
        self.context, self.lanes, self.write_nest = context, lanes, write_nest
        self.nests, self.shared = rows.nests, rows.n_shared
        self.runs = [self.nests[:1], self.nests[1:-1], self.nests[-1:]]
        factors = row_matmul_operands(self.nests[0], self.shared)
        assert factors is not None
        self.first = CpuMatmul(context, self.nests[0], factors, lanes)

    @property
    def excess(self) -> Dim:
        """Positive where there are rows enough."""
        return self.first.m - self.first.gemv_rows

    def fissioned(self, block: Block) -> None:
        """The contractions, for few rows, and the rows between them, with whole tensors between these."""
        for run in fission(self.runs, self.shared, lambda info: self.context.allocate(block, info)):
            before, factors = block.last_op, match_matmul(run[0])
            if factors is not None:
                CpuMatmul(self.context, run[0], factors, self.lanes).write_gemv(block)
                copy_loc(run[0], block, before)
            else:
                rows = kernel.RowGroupOp(self.shared, Block([*run, kernel.YieldOp()]), [])
                schedule_rows(self.context, rows, block, self.lanes, self.write_nest)

    def fused(self, block: Block) -> None:
        """Tiles of rows, of one matrix after another in a stack."""
        if self.first.factors.batch:
            self.first.each(block, self._matrix)
        else:
            self._matrix(block)

    def _matrix(self, block: Block) -> None:
        """The right operands, packed, and a loop over tiles of rows."""
        start, height = self.context.new_iv(), self._height
        with self.first.shared(block, start, self.first.m, step=height) as task:
            stop = materialize_dim(self.context, task, minimum(self.first.m, start + height))
            memory = self._memory(task)
            made = [redirect_operands(nest, memory, [self._row - start]) for nest in self.nests]
            ends = [self._contraction(made[0]), self._contraction(made[-1])]
            packed = [end.pack(block) for end in ends]
            ends[0].write_rows(task, packed[0], start, stop, height)
            self._between(made[1:-1], task, start, stop)
            ends[1].write_rows(task, packed[1], start, stop, height)

    def _contraction(self, nest: kernel.GenericOp) -> CpuMatmul:
        """A contraction of one matrix of a stack, where rows do not say which they are of."""
        values, shape = match_product(nest), self.first.factors
        assert values is not None
        factors = MatmulOperands(values, shape.batch, shape.left, tuple(range(self.shared, nest.n_parallel)))
        made = CpuMatmul(self.context, nest, factors, self.lanes)
        made.batch, made.alone = self.first.batch, self.first.alone
        return made

    def _between(self, nests: Sequence[kernel.GenericOp], block: Block, start: Dim, stop: Dim) -> None:
        """The nests between the contractions, a row after another."""
        around = kernel.RowGroupOp(self.shared, Block([*nests, kernel.YieldOp()]), [])
        row, left = self.context.new_iv(), self.first.factors.left
        with for_loop(block, row, start, stop) as body:
            done = self.first.batch | at_iterators(left, self.context.index_of(body, row, self.first.extents(left)))
            for nest in around.nests:
                self.write_nest(nest, body, dict(done))

    @property
    def _height(self) -> int:
        """Rows of a tile: half of what a contraction packs of its left operand at a time."""
        return max(1, self.first.row_tiles // 2) * self.first.rows

    @property
    def _row(self) -> Dim:
        """The number of a row, by the iterators of the nests."""
        left, number = self.first.factors.left, dim(0)
        for i, extent in zip(left, self.first.extents(left)):
            number = number * extent + iterator(i)
        return number

    def _memory(self, block: Block) -> dict[SSAValue, SSAValue]:
        """Memory of the worker's own for what runs of the nests hand on, a place for each row of a tile."""
        values = crossing_values(self.runs)

        def tile(info: BufferInfo) -> SSAValue:
            rows = BufferInfo.packed(info.dtype, (dim(self._height), *info.dims))
            return self.context.allocate(block, rows, "thread")

        return row_memory(values, in_place_rows(self.nests, values), tile)
