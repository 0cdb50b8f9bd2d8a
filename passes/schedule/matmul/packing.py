"""The operands of a contraction: where they lie, and how they are packed for tiles of sums in registers.

Panels of ``lanes * vectors`` columns of the right operand are packed side by side (any transpose, view or map of it is
absorbed there): a block of K of some of them in a worker's own memory, or several blocks of all in memory that threads
share.  The left operand is read in place where its rows are contiguous along K; else each thread packs its rows into
tiles of its own memory: by vectors along K where all that it is computed from lies so (the quotients of a softmax), by
vectors across rows (a transposed operand), run by run where they are contiguous in runs (what lies under a row of a
window).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager

from xdsl.ir import Block, SSAValue

from ....dialects import kernel, loop
from ....dialects.attributes import scalar_dtype
from ....dialects.dims.analysis import divisors, expand_mods, linear_in, simplify
from ....dialects.dims.dims import Dim, Sym, ceil_div, dim, maximum, minimum
from ..access import accesses, backward_slice, buffer_info, order_of
from ..blocks import Range, for_loop, for_loops, move, shared_loop
from ..body import ScheduleContext
from ..function import materialize_dim
from ..map.schedule import VectorConfig
from .contraction import Contraction
from .match import MatmulOperands
from .packed_lhs import PackedLhs
from .register_tile import register_tile

__all__ = ["PackedOperands"]

#: Units of work of an element of the right operand that is packed, which is read some lines at a time.
PACK_COST = 4
#: So many panels are packed side by side, a quarter where there are few: threads have something to share.
PANELS_PACKED = 16
#: So many tiles of rows are packed side by side, half as many where there are few.
TILES_PACKED = 16
#: Places of K between tiles of packed rows, which are not used: tiles begin at different places of their pages.
PADDING = 2
#: What panels of a worker's own take of the second cache; the rest is for rows of the other operand and for sums.
L2_SHARE = 0.75
#: Lines at the same place of their pages that the first cache holds.
L1_WAYS = 8
#: Elements of K in a block where the order leaves it free.
DEPTH = 512


def _lanes(bits: int, columns: Dim, lanes: VectorConfig) -> int:
    """Lanes of a vector: no more than there are columns, where their number is known."""
    width = lanes.width(bits)
    if columns.const is None or lanes.lanes:
        return width
    return min(width, 1 << max(0, columns.const - 1).bit_length())


class PackedOperands(Contraction):
    """Both operands; `rows` and `row_tiles` are those of a register tile and of a block of the second cache."""

    def __init__(self, context: ScheduleContext, nest: kernel.GenericOp, factors: MatmulOperands, lanes: VectorConfig):
        super().__init__(context, nest, factors)
        self.origin = dim(0)  # the row that memory for sums begins with
        self.depth = order_of(nest).block or DEPTH
        self.width = _lanes(scalar_dtype(self.accumulator).bits, self.n, lanes)
        tile = register_tile(self.m, self.n, self.width, int(context.costs.machine.vector_registers))
        self.rows, self.copies = tile.rows, tile.vectors
        self.panel = self.width * self.copies
        self.row_tiles = self._tiles_held(context.costs.machine.l2_bytes, self.depth)
        self.panels = ceil_div(self.n, self.panel)
        panel = self.depth * self.panel * scalar_dtype(self.accumulator).bits // 8
        self.panels_held = max(1, int(context.costs.machine.l2_bytes * L2_SHARE) // panel)
        self.run = self._run()

    def _tiles_held(self, cache: float, depth: int) -> int:
        """Tiles of packed rows, of so many places of K, that half of a cache holds."""
        return max(1, int(cache) // 2 // (depth * self.rows * scalar_dtype(self.accumulator).bits // 8))

    def fit_lhs_in_l1(self) -> None:
        """Where the second cache holds all panels of a block of K, packed rows need no more than the first one: panels
        do not have to be read for many rows at a time."""
        panels = self.panels.const
        if panels is not None and panels <= self.panels_held:
            depth = min(self.depth, max(1, self.k.const or self.depth))
            self.row_tiles = self._tiles_held(self.context.costs.machine.l1_bytes, depth)

    def shared(
        self, block: Block, iterator: Dim, upper: Dim, step: Dim | int = 1, grain: Dim | int = 1
    ) -> AbstractContextManager[Block]:
        """A loop for the threads to share; a plain one where they share those around it."""
        return shared_loop(block, iterator, 0, upper, step=step, grain=grain, alone=self.alone)

    @property
    def _in_one_block(self) -> bool:
        """Whether K is known to be no more than a block, so that no sums wait for others."""
        return self.k.const is not None and self.k.const <= self.depth

    @property
    def _blocks(self) -> Dim:
        """The blocks of K."""
        return dim(1) if self._in_one_block else ceil_div(self.k, self.depth)

    def _packed(self, block: Block, blocks: Dim) -> SSAValue:
        """Memory for blocks of the right operand in panels no longer than K, so that they lie side by side."""
        return self._allocate(block, (blocks, self.panels, minimum(self.k, self.depth), dim(self.panel)))

    def _allocate(self, block: Block, dims: tuple[Dim, ...]) -> SSAValue:
        """Memory for a temporary: a worker's own where it is alone."""
        return self.context.accumulators(block, self.nest, dims, scope="thread" if self.alone else "arena")[0]

    def _own(self, block: Block, dims: tuple[Dim, ...]) -> SSAValue:
        """Memory of the worker's own."""
        return self.context.accumulators(block, self.nest, dims, scope="thread")[0]

    def _pack(self, block: Block, packed: SSAValue, first: Dim, last: Dim) -> None:
        """``packed[b - first, p, kk, j] = right[p * panel + j, b * depth + kk]`` for the blocks `first` to `last`.

        Threads share the blocks, and in them groups of panels.
        """
        task, beside = self.context.new_iv(), minimum(PANELS_PACKED, maximum(1, (self.panels + 3) // 4))
        groups = materialize_dim(self.context, block, ceil_div(self.panels, beside))
        elements = minimum(self.k, self.depth) * self.panel * beside
        grain = self.context.costs.grain(elements, PACK_COST * self.context.costs.work_unit_ns)
        with self.shared(block, task, (last - first) * groups, grain=grain) as outer:
            number = materialize_dim(self.context, outer, first + task // groups)
            group = materialize_dim(self.context, outer, task % groups * beside)
            panels = group, minimum(self.panels, group + beside)
            self._pack_panels(outer, packed, (number - first, dim(0)), number, panels)

    def _pack_own(self, block: Block, number: Dim, panels: tuple[Dim, Dim]) -> SSAValue:
        """Panels from a first to a last one of the block `number` of K, in the worker's own memory."""
        dims = (dim(1), minimum(self.panels, self.panels_held), minimum(self.k, self.depth), dim(self.panel))
        packed = self._own(block, dims)
        self._pack_panels(block, packed, (dim(0), panels[0]), number, panels)
        return packed

    def _pack_panels(
        self, block: Block, packed: SSAValue, offset: tuple[Dim, Dim], number: Dim, panels: tuple[Dim, Dim]
    ) -> None:
        """``packed[at, p - origin, kk, j] = right[p * panel + j, number * depth + kk]`` for `panels`, first to last.

        Several panels at once, so that a row of the right operand is read more than a cache line at a time.  Where
        such rows are contiguous, some of them side by side: their lines come at the same time.  Where it is contiguous
        along K instead, as many places of K side by side as lanes, to be transposed in registers.  `offset` is `at`
        and `origin`.
        """
        panel, kk, j = (self.context.new_iv() for _ in range(3))
        body, (at, origin) = Block(), offset
        value = self.factor(1, panel * self.panel + j, number * self.depth + kk, body)
        body.add_op(loop.StoreOp(value, packed, [at, panel - origin, kk, j]))
        columns = minimum(self.n - panel * self.panel, self.panel)
        depth = minimum(self.k - number * self.depth, self.depth)
        across = self._contiguous_along_k(1)
        if across:
            levels = [Range(panel, *panels), Range(kk, 0, depth, unroll=self.width)]
        elif self._contiguous(1, self.factors.right):
            first = self.context.new_iv()
            some = Range(kk, first, minimum(depth, first + L1_WAYS), unroll=L1_WAYS)
            levels = [Range(first, 0, depth, L1_WAYS), Range(panel, *panels), some]
        else:
            levels = [Range(kk, 0, depth), Range(panel, *panels)]
        lanes = Range(j, 0, columns, vector=self.width, unroll=1 if across else self.copies)
        with for_loops(block, *levels, lanes) as row:
            move(body, row)

    def _contiguous(self, factor: int, iterators: tuple[int, ...]) -> bool:
        """Whether the left (0) or the right factor (1) is just an element of memory, contiguous along one iterator."""
        if len(iterators) != 1:
            return False
        for argument, access in zip(self.nest.body.block.args, accesses(self.nest)):
            if argument is self.factors.values[factor]:
                return not access.guarded and access.is_contiguous(Sym(f"d{iterators[0]}"))
        return False

    def _contiguous_along_k(self, factor: int) -> bool:
        return self._contiguous(factor, (self.nest.n_parallel,))

    def _computed_along(self, iterator: int) -> bool:
        """Whether all that the left factor is computed from is contiguous along an iterator, or stays where it is."""
        needed = backward_slice(self.factors.values[0])
        steps: list[int | None] = []
        for argument, access in zip(self.nest.body.block.args, accesses(self.nest)):
            if argument in needed:
                step = access.step(Sym(f"d{iterator}"))
                steps.append(None if access.guarded or step is None else step.const)
        return 1 in steps and all(step in (0, 1) for step in steps)

    def _run(self) -> Dim | None:
        """How many elements of the left factor are contiguous along K at a time.

        All, if it is computed from what is; fewer where it is an element that goes along several dims.
        """
        if self._computed_along(self.nest.n_parallel):
            return self.k
        k, number, offset = self.nest.reduced, self.context.new_iv(), self.context.new_iv()
        for argument, value, index in zip(self.nest.body.block.args, self.nest.ins, self.nest.maps_in()):
            if argument is not self.factors.values[0]:
                continue
            for extent in dict.fromkeys(d for e in index.exprs for d in divisors(e, k)):
                split = {k: number * extent + offset}
                along = _extents({offset: extent})
                exprs = [simplify(e.substitute(split), along) for e in index.exprs]
                access = linear_in(simplify(expand_mods(buffer_info(value).address(exprs)), along), along)
                if access is not None and access[0].get(*along) is dim(1):
                    return extent
        return None

    def _pack_left(self, block: Block, start: Dim, height: Dim, number: Dim) -> PackedLhs:
        """The block `number` of K of the `height` rows from `start`, in the worker's own memory."""
        tile = (self.depth + PADDING, self.rows) if self.run is None else (self.rows, self.depth)
        memory = self._own(block, (dim(self.row_tiles), *map(dim, tile)))
        packed = PackedLhs(memory, across=self.run is None)
        if self.run is None:
            self._pack_across(block, packed, start, height, number)
        else:
            self._pack_runs(block, packed, start, height, number, self.run)
        return packed

    @property
    def tiles(self) -> Dim:
        """Register tiles of all rows."""
        return ceil_div(self.m, self.rows)

    def _rows_at_once(self) -> Dim:
        """Blocks of K of which all rows are packed at a time: as many as half the second cache holds, or one."""
        return maximum(1, dim(self.row_tiles) // maximum(1, self.tiles))

    def _rows_packed(self, block: Block) -> PackedLhs:
        """Memory for some blocks of K of all rows, packed across."""
        depth = minimum(self.k, self.depth) + PADDING
        blocks = minimum(self._blocks, self._rows_at_once())
        dims = (blocks, self.tiles, depth, dim(self.rows))
        return PackedLhs(self._allocate(block, dims), (dim(0),), across=True)

    def _pack_rows(self, block: Block, packed: PackedLhs, blocks: tuple[Dim, Dim]) -> PackedLhs:
        """All rows of the blocks of K from a first to a last one, which threads share by groups of tiles."""
        task = self.context.new_iv()
        beside = minimum(TILES_PACKED, maximum(TILES_PACKED // 2, (self.tiles + 3) // 4))
        groups = materialize_dim(self.context, block, ceil_div(self.tiles, beside))
        elements = minimum(self.k, self.depth) * (TILES_PACKED * self.rows)
        grain = self.context.costs.grain(elements, self.context.costs.work_unit_ns)
        with self.shared(block, task, (blocks[1] - blocks[0]) * groups, grain=grain) as outer:
            number = materialize_dim(self.context, outer, blocks[0] + task // groups)
            first = materialize_dim(self.context, outer, task % groups * beside)
            start, end = first * self.rows, minimum(self.m, (first + beside) * self.rows)
            self._pack_across(outer, packed.of(number - blocks[0], first), start, end - start, number)
        return packed

    def _pack_runs(self, block: Block, packed: PackedLhs, start: Dim, height: Dim, number: Dim, extent: Dim) -> None:
        """``packed[t, r, kk] = left[start + t * rows + r, number * depth + kk]``, by runs of `extent` along K."""
        row, run, offset = (self.context.new_iv() for _ in range(3))
        first, last = number * self.depth, minimum(self.k, number * self.depth + self.depth)
        # The runs that have an element of the block.
        below, above = first // maximum(1, extent), (last + (extent - 1)) // maximum(1, extent)
        low, high = maximum(0, first - run * extent), minimum(extent, last - run * extent)
        copies = self.context.costs.unroll_factor(1, 1)
        lanes = Range(offset, low, high, vector=self.width, unroll=copies)
        with for_loops(block, Range(row, 0, height), Range(run, below, above), lanes) as body:
            with self.context.temporarily(extents=_extents({offset: extent})):
                value = self.factor(0, start + row, run * extent + offset, body)
            at = packed.index(row // self.rows, row % self.rows, run * extent + offset - first)
            body.add_op(loop.StoreOp(value, packed.memory, at))

    def _pack_across(self, block: Block, packed: PackedLhs, start: Dim, height: Dim, number: Dim) -> None:
        """``packed[t, kk, r] = left[start + t * rows + r, number * depth + kk]``.

        A few places of K of all tiles at a time: their lines stay in the first cache however far they are apart.
        Where the left operand is contiguous across rows, by vectors that make up a tile's rows: gaps between places of
        K would make a tile too large for the first cache.  Where it is just an element of memory, places of K of whole
        tiles are copied side by side.
        """
        run, tiles = self.context.new_iv(), ceil_div(height, self.rows)
        depth = minimum(self.k - number * self.depth, self.depth)
        offsets = run, minimum(depth, run + L1_WAYS)
        with for_loop(block, run, 0, depth, step=L1_WAYS) as inner:
            if len(self.factors.left) == 1 and self._computed_along(self.factors.left[0]):
                whole = dim(0)
                if self._contiguous(0, self.factors.left):
                    whole = materialize_dim(self.context, block, height // self.rows)
                    self._tiles_across(inner, packed, start, number, (dim(0), whole), offsets, None)
                self._tiles_across(inner, packed, start, number, (whole, tiles), offsets, height)
            else:
                tile, kk, r = (self.context.new_iv() for _ in range(3))
                rows = Range(r, 0, minimum(height - tile * self.rows, self.rows), unroll=self.rows)
                with for_loops(inner, Range(tile, 0, tiles), Range(kk, *offsets), rows) as body:
                    self._element_across(body, packed, start, number, tile, kk, r)

    def _tiles_across(
        self, block: Block, packed: PackedLhs, start: Dim, number: Dim, tiles: tuple[Dim, Dim],
        offsets: tuple[Dim, Dim], height: Dim | None,
    ) -> None:  # fmt: skip
        """Loops that copy some tiles by vectors across rows: of `height` rows in all, or whole ones (None)."""
        tile, kk = self.context.new_iv(), self.context.new_iv()
        present = dim(self.rows) if height is None else height - tile * self.rows
        along = Range(kk, *offsets, unroll=L1_WAYS if height is None else 1)
        with for_loops(block, Range(tile, *tiles), along) as across:
            for first, lanes in _vectors(self.rows, self.width):
                r = self.context.new_iv()
                with for_loop(across, r, first, minimum(present, first + lanes), vector=lanes) as body:
                    self._element_across(body, packed, start, number, tile, kk, r)

    def _element_across(
        self, body: Block, packed: PackedLhs, start: Dim, number: Dim, tile: Dim, kk: Dim, r: Dim
    ) -> None:
        """Pack one element."""
        value = self.factor(0, start + tile * self.rows + r, number * self.depth + kk, body)
        body.add_op(loop.StoreOp(value, packed.memory, packed.index(tile, r, kk)))


def _vectors(rows: int, width: int) -> Iterator[tuple[int, int]]:
    """First rows and lanes of the fewest vectors, of `width` lanes at most, that make up so many rows."""
    first = 0
    while first < rows:
        lanes = min(width, 1 << (rows - first).bit_length() - 1)
        yield first, lanes
        first += lanes


def _extents(ranges: dict[Dim, Dim]) -> dict[Sym, Dim]:
    """Extents by the symbols of iterators."""
    return {it.symbol: extent for it, extent in ranges.items() if it.symbol is not None}
