"""Contractions in the order of a CPU's matrix unit: both operands packed into tiles, reductions of products of tiles.

The right operand is packed once, in panels of two tiles adjacent to each other.  Rows are processed by row tiles, of
which as much is packed as the last cache holds; then threads take tasks, a block of a row tile by a group of panels.  A
reduction makes two by two tiles of sums along all of K, in memory of the worker's own.  From there they are finished
and stored while the next reduction multiplies, some rows in each of its steps: neither has to wait for the other.

Any transpose, view or map of an operand is absorbed in packing.  Where memory is contiguous along K, rows of the left
tiles are copies of it, and those of the right ones, whose words hold two neighbours along K, are transposed in
registers; where it is contiguous beside K, it is the other way around.  What lies beyond K is zero.

Few rows or columns, known when the loops run, are chains of products: packing the other operand would take longer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Block, SSAValue

from ....dialects import kernel, loop
from ....dialects.attributes import BufferInfo, order_attr
from ....dialects.dims.dims import Dim, ceil_div, dim, maximum, minimum
from ....dialects.loop.amx import ELEMENT, TILE
from ....dialects.matrix_units import MatrixUnit
from ....dialects.order import CHAIN_FMA
from ....dialects.scalar.builder import BodyBuilder
from ....dialects.scalar.language import Value
from ....dialects.types import DTYPES
from ...tensor.tensor_cores import FEW, NarrowOperands
from ..blocks import Range, for_loop, for_loops, load_all, move, shared_loop, store_all
from ..body import ScheduleContext
from ..function import materialize_dim
from ..map.schedule import VectorConfig
from ..parallelize import split_range
from .contraction import Contraction
from .cpu import schedule_contraction
from .match import MatmulOperands

__all__ = ["AmxMatmul"]

#: Tiles of sums that a reduction has in a row, and in a column where there are rows for them.
ACROSS, DOWN = 2, 2
#: Panels that are packed together, a step of K of all of them at a time, so that rows of memory are read on.
TOGETHER = 8
#: Bytes of the second cache of processors that have tiles.
CACHE = 2 << 20
#: Tasks that make the threads' shares even, where there is work for so many.
TASKS = 16
#: Nanoseconds of a product of two numbers by a unit, and of packing an element.
PRODUCT, PACKING = 1 / 1024, 1 / 8
HALF, WORD = DTYPES[ELEMENT], DTYPES["i32"]


#: Where the element or word of a term lies, by its row and its column of a tile.
_Place = Callable[..., list[Dim]]


@dataclass(frozen=True)
class _Operand:
    """One operand: its extent beside K, the tiles of a block of it, and whether memory is contiguous along K."""

    number: int
    extent: Dim
    tiles: int
    along: bool

    @property
    def size(self) -> int:
        return self.tiles * TILE

    @property
    def blocks(self) -> Dim:
        return ceil_div(self.extent, self.size)

    @property
    def transposed(self) -> bool:
        """Whether its tiles are transposed when they are packed."""
        return self.along == bool(self.number)


@dataclass(frozen=True)
class _Tiles:
    """Packed tiles, ``[blocks, steps, terms, tiles, 16, …]``, as elements and as words of two of them."""

    elements: SSAValue
    words: SSAValue


class AmxMatmul(Contraction):
    """A contraction's loops."""

    def __init__(
        self, context: ScheduleContext, nest: kernel.GenericOp, factors: MatmulOperands, held: NarrowOperands,
        unit: MatrixUnit, lanes: VectorConfig,
    ):  # fmt: skip
        super().__init__(context, nest, factors)
        self.values, self.unit, self.lanes = held.values, unit, lanes
        self.steps = ceil_div(self.k, unit.depth)
        down = 1 if self.m.const is not None and self.m.const <= TILE else DOWN
        self.left = _Operand(0, self.m, down, self.lies_along_k(0))
        self.right = _Operand(1, self.n, ACROSS, self.lies_along_k(1))

    def write(self, block: Block) -> None:
        """All results: by tiles, or where there are few rows or columns, or nothing to add, by chains."""
        enough = minimum(minimum(self.m, self.n) - FEW, self.k)
        self.context.if_positive(block, enough, self._by_tiles, self._by_chains)

    def _by_chains(self, block: Block) -> None:
        self.nest.attributes["order"] = order_attr(CHAIN_FMA)
        schedule_contraction(self.context, self.nest, self.factors, block, self.lanes)

    def _by_tiles(self, block: Block) -> None:
        if self.factors.batch:
            grain = self.context.costs.grain(self.m * self.n * maximum(1, self.k), PRODUCT)
            self.each_matrix(block, grain, self._all)
        else:
            self._all(block)

    def _all(self, block: Block) -> None:
        """All results, one row tile after another."""
        panels, rows = self.right.blocks, self.left.blocks
        right = self._packed(block, self.right, panels)
        self._pack(block, self.right, right, dim(0), panels, TOGETHER)
        held = minimum(maximum(1, rows), self._rows_in(self.context.costs.machine.l3_bytes))
        left = self._packed(block, self.left, held)
        row_tile = self.context.new_iv()
        with for_loop(block, row_tile, 0, ceil_div(rows, held)) as body:
            first = materialize_dim(self.context, body, row_tile * held)
            last = materialize_dim(self.context, body, minimum(rows, row_tile * held + held))
            self._pack(body, self.left, left, first, last, 1)
            self._multiply(body, left, right, first, last)

    def _rows_in(self, cache: float) -> Dim:
        """How many blocks of the left operand half a cache holds, at least one."""
        size = self.left.size * self.unit.depth * HALF.bytes * self.unit.terms
        return maximum(1, dim(int(cache) // 2 // size) // maximum(1, self.steps))

    # Packing

    def _packed(self, block: Block, side: _Operand, blocks: Dim) -> _Tiles:
        """Memory for the tiles of some blocks of an operand: a worker's own where it is alone."""
        shape = blocks, self.steps, dim(self.unit.terms), dim(side.tiles)
        return self._memory(block, shape, "thread" if self.alone else "arena")

    def _memory(self, block: Block, dims: tuple[Dim, ...], scope: str) -> _Tiles:
        shapes = (*dims, dim(TILE), dim(self.unit.depth)), (*dims, dim(TILE), dim(TILE))
        elements = self.context.allocate(block, BufferInfo.packed(HALF, shapes[0]), scope)
        assert isinstance(elements.owner, loop.AllocOp)
        again = loop.AllocOp(BufferInfo.packed(WORD, shapes[1]), elements.owner.offset.data, scope)
        block.add_op(again)
        return _Tiles(elements, again.result)

    def _pack(self, block: Block, side: _Operand, tiles: _Tiles, first: Dim, last: Dim, together: int) -> None:
        """The blocks `first` to `last` of an operand, to the beginning of its memory."""
        group, number = self.context.new_iv(), self.context.new_iv()
        whole = self.k // self.unit.depth
        work = self.context.costs.grain(maximum(1, self.k) * side.size * together, PACKING)
        with shared_loop(block, group, first, last, step=together, grain=work, alone=self.alone) as body:
            stage = self._memory(body, (dim(self.unit.terms),), "thread") if side.transposed else None
            for lower, upper, partial in ((dim(0), whole, False), (whole, self.steps, True)):
                if lower == upper:
                    continue
                step, tile = self.context.new_iv(), self.context.new_iv()
                numbers = Range(number, group, minimum(last, group + together))
                with for_loops(body, Range(step, lower, upper), numbers, Range(tile, 0, side.tiles)) as inner:
                    start = number * side.size + tile * TILE
                    self._pack_tile(inner, side, tiles, stage, (number - first, step, tile), start, partial)

    def _pack_tile(
        self, block: Block, side: _Operand, tiles: _Tiles, stage: _Tiles | None, at: tuple[Dim, Dim, Dim],
        start: Dim, partial: bool,
    ) -> None:  # fmt: skip
        """A tile of each term, whose step of K is `partial` or not; what begins at `start` beside K."""
        number, step, tile = at

        def index(term: Dim, *inside: Dim) -> list[Dim]:
            return [number, step, term, tile, *inside]

        def staged(term: Dim, *inside: Dim) -> list[Dim]:
            return [term, *inside]

        fill = self._fill_elements if side.along else self._fill_words
        fill(block, side, stage or tiles, staged if stage else index, step * self.unit.depth, start, partial)
        if stage is None:
            return
        # The word of row r and column c comes from row c and column r.
        term, r, c = (self.context.new_iv() for _ in range(3))
        rows, columns = Range(r, 0, TILE, unroll=TILE), Range(c, 0, TILE, vector=TILE)
        with for_loops(block, Range(term, 0, self.unit.terms), rows, columns) as body:
            store_all(body, load_all(body, [stage.words], staged(term, c, r)), [tiles.words], index(term, r, c))

    def _fill_elements(
        self, block: Block, side: _Operand, tiles: _Tiles, index: _Place, k: Dim, start: Dim, partial: bool
    ) -> None:
        """Rows of elements that are neighbours along K, from `k` on."""
        depth = self.unit.depth
        r, along = self.context.new_iv(), self.context.new_iv()
        there = minimum(depth, self.k - k) if partial else dim(depth)
        with for_loop(block, r, 0, minimum(TILE, side.extent - start)) as rows:
            for lower, upper, beyond in ((dim(0), there, False), (there, dim(depth), True)):
                if lower == upper:
                    continue
                with for_loop(rows, along, lower, upper, vector=1 if beyond else depth) as body:
                    for term, value in enumerate(self._terms(body, side, start + r, k + along, beyond)):
                        body.add_op(loop.StoreOp(value.ref, tiles.elements, index(dim(term), r, along)))

    def _fill_words(
        self, block: Block, side: _Operand, tiles: _Tiles, index: _Place, k: Dim, start: Dim, partial: bool
    ) -> None:
        """Rows of words: of neighbours beside K, each with its next one along K, from `k` on."""
        number = self.context.new_iv()
        pairs = minimum(TILE, (self.k - k) // 2) if partial else dim(TILE)
        halves = minimum(TILE, (self.k - k + 1) // 2) if partial else dim(TILE)
        for lower, upper, there in ((dim(0), pairs, 2), (pairs, halves, 1), (halves, dim(TILE), 0)):
            if lower == upper:
                continue
            j = self.context.new_iv()
            columns = Range(j, 0, minimum(TILE, side.extent - start), vector=TILE)
            with for_loops(block, Range(number, lower, upper), columns) as body:
                low, high = (self._terms(body, side, start + j, k + number * 2 + i, i >= there) for i in range(2))
                for term, (even, odd) in enumerate(zip(low, high, strict=True)):
                    body.add_op(loop.StoreOp(_word(even, odd).ref, tiles.words, index(dim(term), number, j)))

    def _terms(self, block: Block, side: _Operand, beside: Dim, k: Dim, beyond: bool) -> list[Value]:
        """The terms of a factor; zeros beyond K."""
        b = BodyBuilder(block)
        if beyond:
            return [b.literal(0.0, HALF)] * self.unit.terms
        left = b.wrap(self.factor(side.number, beside, k, block), self.unit.element)
        if self.unit.terms == 1:
            return [left]
        found: list[Value] = []
        for term in range(self.unit.terms):
            left = left - b.cast(found[-1], left.dtype) if term else left
            found.append(b.cast(left, HALF))
        return found

    # Products

    def _multiply(self, block: Block, left: _Tiles, right: _Tiles, first: Dim, last: Dim) -> None:
        """Tasks of a block of the row tile by a group of panels."""
        task, body = self.context.new_iv(), Block()
        rows, panels = materialize_dim(self.context, block, last - first), self.right.blocks
        blocks, groups = self._tasks(block, rows)
        upper, lower = split_range(self.context, body, rows, task // groups, blocks)
        before, behind = split_range(self.context, body, panels, task % groups, groups)
        shape = (dim(self.left.size), dim(self.right.size))
        sums = self.context.allocate(body, BufferInfo.packed(DTYPES[self.unit.sums], shape), "thread")
        down = materialize_dim(self.context, body, lower - upper)
        each = materialize_dim(self.context, body, ceil_div(dim(self.left.size), self.steps))

        reduction, step, beside = self.context.new_iv(), self.context.new_iv(), Block()
        with for_loop(body, reduction, 0, down * (behind - before)) as inner:
            # Reductions run panel by panel, row by row.
            (row, panel), earlier = (
                [materialize_dim(self.context, inner, e) for e in (n % down + upper, n // down + before)]
                for n in (reduction, maximum(0, reduction - 1))
            )
            # The first reduction finishes none.
            end = minimum(step * each + each, reduction * self.left.size)
            self._finish(beside, sums, (earlier[0], earlier[1]), first, step * each, end)
            beside.add_op(loop.YieldOp())
            operands = left.elements, [row, step], right.words, [panel, step], sums
            inner.add_op(loop.AmxOp(str(step), 0, self.steps, self.unit, *operands, beside))
        self._finish(body, sums, (lower - 1, behind - 1), first, dim(0), dim(self.left.size))
        products = rows * panels * (self.left.size * self.right.size) * maximum(1, self.k)
        work = materialize_dim(self.context, block, products // maximum(1, blocks * groups))
        grain = self.context.costs.grain(work, PRODUCT)
        with shared_loop(block, task, 0, blocks * groups, grain=grain, alone=self.alone) as around:
            move(body, around)

    def _tasks(self, block: Block, rows: Dim) -> tuple[Dim, Dim]:
        """How many blocks of a row tile by how many groups of panels the tasks are: blocks that the second cache
        holds."""
        wanted = 1 if self.alone else TASKS
        held = materialize_dim(self.context, block, self._rows_in(CACHE))
        blocks = materialize_dim(self.context, block, maximum(1, ceil_div(rows, held)))
        groups = materialize_dim(
            self.context, block, maximum(1, minimum(self.right.blocks, ceil_div(dim(wanted), blocks)))
        )
        enough = ceil_div(dim(wanted), groups)
        return materialize_dim(self.context, block, maximum(1, minimum(rows, maximum(blocks, enough)))), groups

    def _finish(self, block: Block, sums: SSAValue, index: tuple[Dim, Dim], first: Dim, start: Dim, end: Dim) -> None:
        """The results of a reduction, row by row: those from `start` to `end`."""
        row, column = (index[0] + first) * self.left.size, index[1] * self.right.size
        r, j = self.context.new_iv(), self.context.new_iv()
        columns = minimum(self.right.size, self.right.extent - column)
        there = minimum(self.left.size, self.left.extent - row)
        lanes = Range(j, 0, columns, vector=TILE, unroll=ACROSS)
        with for_loops(block, Range(r, start, minimum(end, there)), lanes) as body:
            point = self.point(row + r, column + j, dim(0))
            self.context.epilogue(self.nest, load_all(body, [sums], [r, j]), point, body)


def _word(even: Value, odd: Value) -> Value:
    """Two elements as one word."""
    b, half, word = even.b, DTYPES["u16"], DTYPES["u32"]
    low, high = (b.cast(b.bitcast(x, half), word) for x in (even, odd))
    return b.bitcast(low | high << 16, WORD)
