"""Rows with contractions to grids: a block takes a tile of rows through all their nests, attention's for instance.

What the nests hand each other stays in shared memory, a line for each row of the tile: scores are never a tensor.
Contractions go by tiles of results as high as that tile, whose threads read the other operand once for all its rows;
between them each warp takes a row at a time.  Every order is that of the nests, which could also be fissioned: where a
row is too long for shared memory, or where reading the other operand so often costs more than the rows' way to memory
and back, they are (`ContractionRows.excess`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, SSAValue

from ....dialects import kernel, loop
from ....dialects.attributes import BufferInfo, scalar_dtype
from ....dialects.dims.dims import Dim, Sym, ceil_div, dim, iterator, minimum, packed_strides
from ....dialects.dims.index_map import product
from ..access import at_iterators, buffer_info
from ..blocks import for_loop
from ..body import ScheduleContext
from ..function import materialize_dim
from ..matmul.match import MatmulOperands, match_matmul
from ..rows.staging import (
    crossing_values,
    in_place_rows,
    is_row_buffer,
    redirect_operands,
    row_matmul_operands,
    row_memory,
)
from .builder import grid_loop, warp_loop
from .map import LaunchShape
from .matmul_simt import SimtMatmulTile, Tile
from .rows import WARP, RowKernel, is_number, supports_rows

__all__ = ["ContractionRows", "holds_contraction"]

#: Tiles of results, as high as one of rows.  Threads of a warp share what they read of the rows.
WIDE, NARROW = Tile(2, 128, (8, 2)), Tile(4, 64, (4, 1))
ROWS = WIDE.rows
#: Bytes between the lines of a tile, so that a column lies in different banks.
PAD = 32


def holds_contraction(rows: kernel.RowGroupOp) -> bool:
    """Whether a nest of rows is a contraction."""
    return any(row_matmul_operands(nest, rows.n_shared) is not None for nest in rows.nests)


class ContractionRows:
    """The schedule of rows, some of whose nests are contractions along them (`rows.group_rows`)."""

    def __init__(self, context: ScheduleContext, rows: kernel.RowGroupOp, grid: LaunchShape):
        self.context, self.grid, self.shared = context, grid, rows.n_shared
        self.extents = rows.nests[0].extents.data[: self.shared]
        #: The contractions' tiles; runs are these by themselves, and the nests between them.
        self.tiles: dict[kernel.GenericOp, Tile] = {}
        self.runs: list[list[kernel.GenericOp]] = []
        for nest in rows.nests:
            if row_matmul_operands(nest, self.shared) is not None:
                columns = product(nest.extents.data[self.shared : nest.n_parallel]).const
                self.tiles[nest] = NARROW if columns is not None and columns <= NARROW.columns else WIDE
            if not self.runs or nest in self.tiles or self.runs[-1][-1] in self.tiles:
                self.runs.append([])
            self.runs[-1].append(nest)
        self.passed = crossing_values(self.runs)
        numbers = {
            v for run in self.runs for nest in run for v in nest.outs if is_number(v, nest, run, self.shared)
        } - set(self.passed)
        made = dict.fromkeys(v for nest in rows.nests for v in nest.outs if v not in numbers)
        self.values = [v for v in made if is_row_buffer(v)]
        self.instead = in_place_rows(rows.nests, self.values)

    @property
    def excess(self) -> Dim:
        """Positive where tiles of rows are the faster way and have room."""
        most = int(self.context.costs.machine.shared_memory)
        return minimum(most + 1 - self._bytes, self._saved)

    @property
    def _saved(self) -> Dim:
        """What tiles of rows save of what the nests take one by one, by the cost model."""
        costs, count = self.context.costs, product(self.extents)
        saved = costs.gpu_launch_cost(len(self.runs) - 1)
        for value in self.passed:
            uses = sum(any(value in nest.operands for nest in run) for run in self.runs)
            info = buffer_info(value)
            saved = saved + costs.gpu_traffic_cost(count * product(info.dims) * (info.dtype.bytes * uses))
        for nest in self.tiles:
            products = product(nest.extents.data)
            saved = saved - costs.gpu_panel_cost(products, scalar_dtype(nest.combiner.block.args[0].type), ROWS)
        return saved

    @property
    def fits_shared_memory(self) -> bool:
        """Whether threads can share all that is no contraction."""
        return all(supports_rows(run) for run in self.runs if run[0] not in self.tiles)

    @property
    def _bytes(self) -> Dim:
        lines = (_line(buffer_info(v)) * ROWS for v in self.values if v not in self.instead)
        return sum(lines, dim(self._stage_bytes))

    @property
    def _stage_bytes(self) -> int:
        """The bytes of operands' stages, which contractions use one after another."""
        return max(SimtMatmulTile.bytes_of(tile, nest) for nest, tile in self.tiles.items())

    def write(self, block: Block) -> None:
        """The grid."""
        context = self.context
        tiles = ceil_div(self.extents[-1], ROWS)
        grids = product(self.extents[:-1]) * tiles
        with grid_loop(context, block, grids, WIDE.threads, shared=self._bytes) as (body, number):
            first = materialize_dim(context, body, number % tiles * ROWS)
            outer = context.index_of(body, number // tiles, self.extents[:-1])
            done = at_iterators(range(self.shared), outer)
            memory = self._memory(body)
            index = [iterator(self.shared - 1) - first]
            for at, run in enumerate(self.runs):
                if at:
                    body.add_op(loop.BarrierOp())
                nests = [redirect_operands(nest, memory, index) for nest in run]
                if run[0] in self.tiles:
                    self._products(nests[0], self.tiles[run[0]], body, done, first)
                else:
                    self._rows(nests, body, done, first)

    def _memory(self, block: Block) -> dict[SSAValue, SSAValue]:
        """Shared memory for what nests pass on, a line for each row, behind the stages."""
        offset = dim(self._stage_bytes)

        def tile(info: BufferInfo) -> SSAValue:
            nonlocal offset
            strides = (_line(info) // info.dtype.bytes, *packed_strides(info.dims))
            memory = loop.AllocOp(BufferInfo(info.dtype, (dim(ROWS), *info.dims), strides), offset, "shared")
            block.add_op(memory)
            offset = offset + _line(info) * ROWS
            return memory.result

        return row_memory(self.values, self.instead, tile)

    def _products(self, nest: kernel.GenericOp, tile: Tile, block: Block, done: dict[Sym, Dim], first: Dim) -> None:
        """A contraction's results for the rows from `first` on, a tile after another."""
        factors, last = match_matmul(nest), self.shared - 1
        assert factors is not None
        right = tuple(range(self.shared, nest.n_parallel))
        factors = MatmulOperands(factors.values, tuple(range(last)), (last,), right)
        made, column = SimtMatmulTile(self.context, nest, factors, tile), self.context.new_iv()
        made.batch = done
        made.allocate(block)
        with for_loop(block, column, 0, made.n, step=tile.columns) as body:
            made.write(body, first, column)
            body.add_op(loop.BarrierOp())

    def _rows(self, nests: Sequence[kernel.GenericOp], block: Block, done: dict[Sym, Dim], first: Dim) -> None:
        """Nests within the rows from `first` on, a warp for each."""
        in_registers = {v for nest in nests for v in nest.outs if is_number(v, nest, nests, self.shared)}
        last = minimum(self.extents[-1], first + ROWS)
        with warp_loop(self.context, block, first, last) as (body, row):
            point = done | {Sym(f"d{self.shared - 1}"): row}
            RowKernel(self.context, nests, self.grid, in_registers, {}).write(body, point, WARP)


def _line(info: BufferInfo) -> Dim:
    """The bytes from a row's line to the next one; numbers stand side by side."""
    if not info.dims:
        return dim(info.dtype.bytes)
    return ceil_div(product(info.dims) * info.dtype.bytes, PAD) * PAD + PAD
