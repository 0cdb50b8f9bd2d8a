"""Contractions in the order of a matrix unit to grids whose warps multiply by it.

A block makes a tile of results.  Its threads copy stage tiles of both operands into shared memory, some stages ahead of
the products: elements that are as the unit takes them beside the threads (16 bytes at a time where memory is contiguous
along the tile's lines and aligned), others through registers, so that any transpose, view or map is absorbed there.
What lies beyond K is zero.  The sums come into shared memory, from where threads finish and store them in rows.  Warp
groups have whole boxes of operands brought, where tensor maps describe these: `tma.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from xdsl.ir import Block, BlockArgument, SSAValue

from ....dialects import kernel, loop
from ....dialects.attributes import BufferInfo
from ....dialects.dims.dims import Dim, Sym, dim, minimum
from ....dialects.dims.index_map import IndexMap
from ....dialects.matrix_units import MatrixUnit, StageTile
from ....dialects.scalar.builder import BodyBuilder
from ....dialects.types import DTYPES
from ...tensor.tensor_cores import NarrowOperands
from ..access import accesses, at_iterators, buffer_info
from ..blocks import Range, for_loops, load_all, parallel_loop
from ..body import ScheduleContext
from ..function import if_positive
from ..language.axes import FusedAxis
from ..matmul.contraction import Contraction
from ..matmul.match import MatmulOperands
from .builder import grid_loop, lanes_of
from .map import WIDEST, alignment_condition
from .matmul_simt import GridOfTiles
from .tma import TmaOperand, match_tma, tma_limits_ok

__all__ = ["MmaMatmul"]

#: Threads of a block.
THREADS = 256
#: Larger tiles are for results that make at least so many of them: fewer would leave processors without work.
TILES = 128
#: Elements between rows of the sums, so that the rows that a warp stores begin in different banks.
PAD = 8
#: Vectors that a thread has on their way through registers.
IN_FLIGHT = 4
#: Bytes that memory hands out together.
SECTOR = 32
SIDES = ("left", "right")


@dataclass(frozen=True)
class _Tile:
    """A block's rows and columns of results, its warps along both, and stages of each operand that it holds."""

    rows: int
    columns: int
    warps: tuple[int, int] = (2, 4)
    stages: int = 3
    warpgroup: bool = False

    @property
    def of_warp(self) -> tuple[int, int]:
        return self.rows // self.warps[0], self.columns // self.warps[1]


def _tiles(unit: MatrixUnit, warpgroup: bool) -> tuple[_Tile, _Tile]:
    """For few results and for many: as many sums as registers hold.

    Products of warp groups still run when the next ones begin, so there is one more stage.
    """
    if warpgroup:
        return _Tile(128, 64, (8, 1), 4, True), _Tile(128, 256, (8, 1), 4, True)
    return _Tile(64, 64), _Tile(128, 64 if DTYPES[unit.sums].bits > 32 else 128)


@dataclass(frozen=True)
class _Operand:
    """One operand: its iterator's extent, whether memory is contiguous along K, how it lies in shared memory."""

    number: int
    extent: Dim
    along: bool
    stage_tile: StageTile
    base: Dim
    memory: SSAValue


class MmaMatmul(Contraction):
    """Grids for a contraction in the order of a unit, by `warpgroup` (four warps together) or warp by warp.

    `boxes`: there are copies of whole boxes, for warp groups.
    """

    def __init__(
        self, context: ScheduleContext, nest: kernel.GenericOp, factors: MatmulOperands, held: NarrowOperands,
        unit: MatrixUnit, warpgroup: bool, boxes: bool,
    ):  # fmt: skip
        super().__init__(context, nest, factors)
        self.values, self.unit, self.warpgroup = held.values, unit, warpgroup
        self.along = self.lies_along_k(0), self.lies_along_k(1)
        #: Elements of an operand, and sums, that make the widest access.
        self.vector = WIDEST // unit.element.bytes
        self.finished = WIDEST // DTYPES[unit.sums].bytes
        #: The boxes of both operands, or why there are none.
        self.boxes = self._boxes() if boxes and warpgroup else ""

    def write(self, block: Block) -> None:
        """One grid or another by the sizes, which the host knows when it launches."""
        small, large = _tiles(self.unit, self.warpgroup)
        boxes = self.boxes if not isinstance(self.boxes, str) else None
        zeros = self._aligned() if boxes is None else self._aligned_boxes(boxes)
        if zeros is None:
            self._grid(block, small, None, None)
            return

        def vectors(inner: Block) -> None:
            many = self.m * self.n - TILES * large.rows * large.columns
            grids = [lambda b, tile=tile: self._grid(b, tile, zeros, boxes) for tile in (large, small)]
            if_positive(inner, many, *grids)

        most = dim(1) if boxes is None else tma_limits_ok(boxes)
        if_positive(block, most - sum(zeros, dim(0)), vectors, lambda b: self._grid(b, small, None, None))

    @property
    def operand_transport(self) -> str:
        """For `explain`; empty where there is no choice."""
        if isinstance(self.boxes, str):
            return f"operands not by TMA: {self.boxes}" if self.boxes else ""
        zeros = " and ".join(f"{z} == 0" for z in self._aligned_boxes(self.boxes))
        return f"operands by TMA{f' where {zeros}, else element by element' if zeros else ''}"

    def _boxes(self) -> tuple[TmaOperand, TmaOperand] | str:
        """The boxes of both operands, or why there are none."""
        if len(self.factors.right) != 1:
            return "the result's columns are those of several iterators"
        found: list[TmaOperand] = []
        for number, own in enumerate((self.factors.left, self.factors.right)):
            operand = self._operand(number)
            if operand is None:
                return f"the {SIDES[number]} operand is computed on its way"
            if not self.along[number] and not self.unit.transposes:
                return f"the {SIDES[number]} operand is not contiguous along K"
            made = match_tma(self.nest, operand, own, self.factors.batch, self.along[number])
            if made is None:
                return f"no tensor map describes the {SIDES[number]} operand"
            found.append(made)
        return found[0], found[1]

    def _aligned_boxes(self, boxes: tuple[TmaOperand, TmaOperand]) -> tuple[Dim, ...]:
        """What must be 0 where tensor maps take the operands, and vectors of the result are aligned."""
        indices = ((stage_index, self.vector) for side in boxes for stage_index in side.outer_indices)
        wanted = {(a, b): a % b for a, b in (*indices, (self.n, self.finished)) if (a % b).const != 0}
        # What follows from another of them is not asked for.
        return tuple(
            zero
            for (a, b), zero in wanted.items()
            if not any((c, d) != (a, b) and d % b == 0 and (a % c).const == 0 for c, d in wanted)
        )

    def _aligned(self) -> tuple[Dim, ...] | None:
        """What must be 0 where vectors of both operands and of the result are aligned; None where they never are."""
        if len(self.factors.right) != 1 or (len(self.factors.left) != 1 and not self.along[0]):
            return None
        zeros: dict[Dim, None] = {self.n % self.finished: None}
        k = FusedAxis((self.nest.reduced,), (self.k,))
        access_list = accesses(self.nest)
        for own, extent, along in zip((self.factors.left, self.factors.right), (self.m, self.n), self.along):
            if not along and not self.unit.transposes:
                continue  # these come one by one
            group = k if along else FusedAxis((Sym(f"d{own[-1]}"),), (extent,))
            found = alignment_condition(self.nest, group, self.vector)
            if found is None or not any(w.is_contiguous(group.symbols[-1]) for w in access_list):
                return None
            zeros.update(dict.fromkeys((*found, group.extent % self.vector)))
        return tuple(z for z in zeros if z is not dim(0))

    def _grid(
        self, block: Block, tile: _Tile, zeros: tuple[Dim, ...] | None, boxes: tuple[TmaOperand, TmaOperand] | None
    ) -> None:
        """One grid; with vectors where `zeros` says what is aligned."""
        unit, rows, columns = self.unit, tile.rows, tile.columns
        tiles = GridOfTiles(self, (rows, columns))
        stage_tiles = [
            StageTile(unit, own, unit.transposes and not along) for own, along in zip((rows, columns), self.along)
        ]
        size = tile.stages * sum(stage_tile.bytes for stage_tile in stage_tiles)
        shared = max(size, rows * (columns + PAD) * DTYPES[unit.sums].bytes)
        with grid_loop(
            self.context, block, tiles.count, THREADS, shared=shared, aligned=zeros or ()
        ) as (body, number):  # fmt: skip
            bases = tiles.place(body, number)
            start, fill, used = self.context.new_iv(), Block(), 0
            memories: list[SSAValue] = []
            for side, (stage_tile, base, extent) in enumerate(zip(stage_tiles, bases, (self.m, self.n))):
                memories.append(_memory(body, unit.factors[side], (tile.stages, *stage_tile.shape), used))
                used += tile.stages * stage_tile.bytes
                slot = start // unit.line % tile.stages
                if boxes is None:
                    operand = _Operand(side, extent, self.along[side], stage_tile, base, memories[side])
                    self._load_tile(fill, operand, start, slot, zeros is not None)
                else:
                    own = (self.factors.left, self.factors.right)[side][-1]
                    at = self.batch | at_iterators((own, self.nest.n_parallel), (base, start))
                    boxes[side].copy(block, fill, stage_tile, memories[side], slot, at)
            fill.add_op(loop.YieldOp())
            sums = _memory(body, unit.sums, (rows, columns + PAD), 0)
            buffers, shape = (memories[0], memories[1], sums), (tile.stages, tile.of_warp, tile.warpgroup)
            body.add_op(loop.MmaOp(str(start), 0, self.k, fill, buffers, (stage_tiles[0], stage_tiles[1]), *shape))
            self._finish(body, sums, tile, bases, 1 if zeros is None else self.finished)

    # Stage tiles of the operands

    def _load_tile(self, block: Block, side: _Operand, start: Dim, slot: Dim, aligned: bool) -> None:
        """The tile of one operand from `start` on along K, as stage `slot`, some elements a thread."""
        width = self.vector if aligned and (side.along or side.stage_tile.transposed) else 1
        source = self._source(side, width)
        vectors = side.stage_tile.size * self.unit.line // width
        number, loops = self._numbered(vectors // THREADS, 1 if source is not None else IN_FLIGHT)
        beside, first = self._share(side, number, width)
        # What is beyond the edges repeats what is there, and nobody asks for it; beyond K there are zeros.
        there = self.k - 1 - start - first
        if side.along:
            here, k = minimum(side.base + beside, side.extent - 1), minimum(start + first, self.k - width)
        else:
            here, k = minimum(side.base + beside, side.extent - width), minimum(start + first, self.k - 1)

        def at(offset: Dim) -> tuple[dict[Sym, Dim], list[Dim]]:
            """The point of the nest, and the index in shared memory, of an element of the vector."""
            across, deep = (dim(0), offset) if side.along else (offset, dim(0))
            point = self.point_of_operand(side.number, here + across, k + deep)
            panel, line, granule, element = side.stage_tile.index(beside, first)
            return point, [slot, panel, line, granule, element + offset]

        lane = self.context.new_iv()
        with loops(block, () if source is not None else (lanes_of(lane, vector=width),)) as body:
            if source is not None:
                buffer, index = source
                point, stage_index = at(dim(0))
                exprs, guards = ([e.substitute(point) for e in part] for part in (index.exprs, index.guards))
                body.add_op(loop.AsyncCopyOp(buffer, exprs, [*guards, there], side.memory, stage_index, width))
                return
            point, stage_index = at(lane)
            value = self.context.operand_value(self.nest, self.values[side.number], point, body)
            dtype = DTYPES[self.unit.factors[side.number]]
            code = BodyBuilder(body)
            masked = code.select(code.index(there) >= 0, code.wrap(value, dtype), code.constant(0, dtype))
            body.add_op(loop.StoreOp(code.ssa(masked), side.memory, stage_index))

    def _numbered(self, each: int, flight: int) -> tuple[Dim, Callable[..., AbstractContextManager[Block]]]:
        """A number that runs over `each` times the threads, neighbours for neighbours, and the loops for it.

        So many of a thread's are lanes at a time, in `flight` together.
        """
        thread, trip, copy = (self.context.new_iv() for _ in range(3))
        flight = min(each, flight)

        @contextmanager
        def loops(block: Block, inside: Sequence[Range]) -> Iterator[Block]:
            """The loops at the end of a block, with more inside: the innermost one's body."""
            around = Range(trip, 0, each // flight), lanes_of(copy, unroll=flight)
            with parallel_loop(block, thread, 0, THREADS, kind="gpu_thread") as of_thread:
                with for_loops(of_thread, *around, *inside) as body:
                    yield body

        return thread + (trip * flight + copy) * THREADS, loops

    def _share(self, side: _Operand, number: Dim, width: int) -> tuple[Dim, Dim]:
        """Beside and along K, the first element of a vector of the tile: neighbours in memory for neighbours."""
        line, size = self.unit.line, side.stage_tile.size
        if side.along:
            return number // (line // width), number % (line // width) * width
        if side.stage_tile.transposed:
            return number % (size // width) * width, number // (size // width)
        # A warp has whole sectors of memory, and granules of as many lines as banks keep apart.
        sector = SECTOR // self.unit.element.bytes
        return number % sector + number // (sector * line) * sector, number // sector % line

    def _source(self, side: _Operand, width: int) -> tuple[SSAValue, IndexMap] | None:
        """The input that a factor is, and where, if it can be copied as it lies there."""
        operand = self._operand(side.number)
        if operand is None:
            return None
        info = buffer_info(operand[0])
        has_negative_strides = not all(s.nonneg for s in info.strides)
        if info.dtype.bytes * width not in (4, 8, 16) or (has_negative_strides and width > 1):
            return None
        return operand

    def _operand(self, number: int) -> tuple[SSAValue, IndexMap] | None:
        """The input that a factor is, and where; None where it is computed."""
        value, nest = self.values[number], self.nest
        if not isinstance(value, BlockArgument) or value.owner is not nest.body.block:
            return None
        return nest.ins[value.index], nest.maps_in()[value.index]

    def _finish(self, block: Block, sums: SSAValue, tile: _Tile, base: tuple[Dim, Dim], width: int) -> None:
        """The results of a tile from its sums, so many a thread at once."""
        rows, columns = tile.rows, tile.columns
        number, loops = self._numbered(rows * columns // width // THREADS, IN_FLIGHT)
        lane = self.context.new_iv()
        down, across = number // (columns // width), number % (columns // width) * width
        row, column = base[0] + down, base[1] + across
        point, within = self.point(row, column + lane, dim(0)), (self.m - 1 - row, self.n - 1 - column)
        with loops(block, [lanes_of(lane, vector=width)]) as body, self.context.temporarily(store_guards=within):
            self.context.epilogue(self.nest, load_all(body, [sums], [down, across + lane]), point, body)


def _memory(block: Block, dtype: str, shape: tuple[int, ...], offset: int) -> SSAValue:
    made = loop.AllocOp(BufferInfo.packed(DTYPES[dtype], [dim(s) for s in shape]), offset, "shared")
    block.add_op(made)
    return made.result
