"""Contractions to loops: the right operand packed into panels, register tiles, K in the order's blocks.

Panels of ``lanes * copies`` columns of the right operand are packed side by side, for several blocks of K (any
transpose, view or map of it is absorbed there).  Then threads take tasks, a block of rows by a group of panels: for
each block of K and each panel (which stays in the first cache), tiles of `rows` by one panel run an FMA chain along K
with all their sums in registers.  The left operand is read in place where its rows are contiguous along K; else each
thread packs its rows into tiles of its own memory: by vectors along K where all that it is computed from lies so (the
quotients of a softmax), by vectors across rows (a transposed operand), run by run where they are contiguous in runs
(what lies under a row of a window).

Few rows, known when the loops run, are multiplied with the right operand where it is: packing would cost more than it
saves.  Iterators of both factors (stacks of matrices) go to threads, and each worker does the above by itself.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..dialects import kernel, loop
from ..dialects.attributes import BufferInfo, scalar_dtype
from ..dialects.body_builder import BodyBuilder
from ..dialects.dim_rules import divisors, expand_mods, linear_in, simplify
from ..dialects.dims import Dim, Sym, dim, maximum, minimum, packed_strides
from ..dialects.index_map import product, unravel
from .contraction import Factors
from .loop_writer import LoopWriter, accesses, bound, buffer_info, either, slice_of
from .schedule_map import Lanes

__all__ = ["Contraction", "part_of", "schedule_contraction"]

#: Tasks that make the threads' shares even, where there is work for so many.
TASKS = 16
#: Their number is a multiple of it: a task more would be a round in which one of few threads works.
EVEN_TASKS = 4
#: So many panels are packed side by side, a quarter where there are few: threads have something to share.
PANELS_PACKED = 16
#: A left operand that is packed serves at least so many panels, where there are as many.
PANELS_A_PACKING = 64
#: At most so many blocks of K are packed before the rows are worked on.
BLOCKS_AT_ONCE = 8
#: Lines at the same place of their pages that the first cache holds.
WAYS = 8
#: Elements of K in a block where the order leaves it free.
DEPTH = 512
#: At most so many rows, of a matrix and of each in a stack, are multiplied with what is as vectors need it, by tiles of
#: so many; a large one would come from the last cache for each tile, and from memory a line of each page at a time.
FEW_ROWS, FEW_ROWS_EACH, ROWS_IN_PLACE = 8, 16, 4


def _tile(bits: int, columns: Dim, lanes: Lanes) -> tuple[int, int, int]:
    """Rows, lanes and vectors of a tile: as many sums as registers hold beside a row of the panel.

    There are no more lanes than columns, where their number is known.
    """
    width = lanes.width(bits)
    if columns.const is not None and not lanes.lanes:
        width = min(width, 1 << max(0, columns.const - 1).bit_length())
    if width * bits >= 512:
        return 8, width, 3
    return 6, width, 2


def schedule_contraction(
    writer: LoopWriter, nest: kernel.GenericOp, factors: Factors, block: Block, lanes: Lanes
) -> None:
    """Packed panels and register tiles; see the module's text."""
    Contraction(writer, nest, factors, lanes).write(block)


class Contraction:
    """A contraction's loops; `rows` and `row_tiles` are those of a register tile and of a block of the second cache.

    `batch` says where the iterators of both factors stand, `alone` whether threads are at work around these loops.
    """

    def __init__(self, writer: LoopWriter, nest: kernel.GenericOp, factors: Factors, lanes: Lanes):
        self.writer, self.nest, self.factors = writer, nest, factors
        self.batch: dict[Sym, Dim] = {}
        self.alone = False
        self.origin = dim(0)  # the row that memory for sums begins with
        extents = nest.extents.data
        self.m = product([extents[i] for i in factors.left])
        self.n = product([extents[i] for i in factors.right])
        self.k = extents[-1]
        assert nest.order is not None
        self.depth = nest.order.data.block or DEPTH
        self.state: Attribute = nest.merge.block.args[0].type
        self.rows, self.width, self.copies = _tile(scalar_dtype(self.state).bits, self.n, lanes)
        self.panel = self.width * self.copies
        # Vectors of rows, where these are packed across: no longer than a tile has rows.
        self.lanes_across = min(self.width, 1 << (self.rows - 1).bit_length())
        self.rows_stored = -(-self.rows // self.lanes_across) * self.lanes_across
        state = scalar_dtype(self.state)
        across = self.depth * self.rows_stored * state.bits // 8
        self.row_tiles = max(1, int(writer.costs.machine.cache2) // 2 // across)
        self.panels = (self.n + (self.panel - 1)) // self.panel
        self.run = self._run()

    def write(self, block: Block) -> None:
        """All results: by panels, or with few rows in place."""
        if self.factors.batch:
            self.each(block, lambda body: either(body, self.m - self.few_rows, self._packing, self._in_place))
        elif not self._contiguous(1, self.factors.right):
            self._packing(block)
        else:
            held = int(self.writer.costs.machine.cache3) * 4 // scalar_dtype(self.state).bits
            excess = maximum(self.m - self.few_rows, self.n * self.k - held)
            either(block, excess, self._packing, self._in_place)

    def write_few(self, block: Block) -> None:
        """All results, where there are no more than `few_rows`."""
        if self.factors.batch:
            self.each(block, self._in_place)
        elif self._contiguous(1, self.factors.right):
            self._in_place(block)
        else:
            self._packing(block)

    @property
    def few_rows(self) -> int:
        """So many rows, of a matrix or of each in a stack, are not worth packing for."""
        return FEW_ROWS_EACH if self.factors.batch else FEW_ROWS

    def each(self, block: Block, write: Callable[[Block], None]) -> None:
        """What `write` adds for a matrix of a stack, for all of them: threads share these."""
        extents = [self.nest.extents.data[i] for i in self.factors.batch]
        number, body = self.writer.fresh(), Block()
        places = [bound(self.writer, body, e) for e in unravel(number, extents)] if len(extents) > 1 else [number]
        self.batch, self.alone = {Sym(f"d{i}"): place for i, place in zip(self.factors.batch, places)}, True
        write(body)
        body.add_op(loop.YieldOp())
        work = self.writer.grain(self.m * self.n * maximum(1, self.k), self.nest)
        block.add_op(loop.ParallelOp(str(number), 0, product(extents), body, grain=work))

    def shared(
        self, iterator: Dim, upper: Dim, body: Block, step: Dim | int = 1, grain: Dim | int = 1, lower: Dim | int = 0
    ) -> Operation:
        """A loop for the threads to share; a plain one where they share those around it."""
        if self.alone:
            return loop.ForOp(str(iterator), lower, upper, body, step=step)
        return loop.ParallelOp(str(iterator), lower, upper, body, step=step, grain=grain)

    def _in_place(self, block: Block) -> None:
        """Register tiles whose factors are read where they are, along all of K."""
        start, tile, r, j, kk = (self.writer.fresh() for _ in range(5))
        row, point = tile * ROWS_IN_PLACE + r, {}
        body, element = Block(), Block()
        point = self._point(row, j, kk)
        values = [self.writer.factor(self.nest, value, point, element) for value in self.factors.values]
        total = self._fold(body, element, values, kk, self.k)
        self.writer.finish(self.nest, [total], point, body)
        body.add_op(loop.YieldOp())
        columns, rows = minimum(self.n, start + self.panel), minimum(self.m - tile * ROWS_IN_PLACE, ROWS_IN_PLACE)
        made = loop.ForOp(str(j), start, columns, body, vector=self.width, unroll=self.copies)
        tiles = (self.m + (ROWS_IN_PLACE - 1)) // ROWS_IN_PLACE
        for iterator, upper, unroll in ((r, rows, ROWS_IN_PLACE), (tile, tiles, 1)):
            inner = Block()
            inner.add_ops([made, loop.YieldOp()])
            made = loop.ForOp(str(iterator), 0, upper, inner, unroll=unroll)
        panels = Block()
        panels.add_ops([made, loop.YieldOp()])
        work = self.writer.grain(self.m * self.panel * maximum(1, self.k), self.nest)
        block.add_op(self.shared(start, self.n, panels, step=self.panel, grain=work))

    def _fold(self, block: Block, body: Block, values: list[SSAValue], kk: Dim, upper: Dim) -> SSAValue:
        """The reduction of products in the nest's order; `body` has what the factors need."""
        assert self.nest.identity is not None and self.nest.order is not None
        if not self.nest.order.data.product:
            product_ = arith.MuliOp(values[0], values[1])
            body.add_op(product_)
            values = [product_.result]
        body.add_op(loop.YieldOp(*values))
        made = loop.ReduceOp(
            str(kk), 0, upper, body, self.writer.merge(self.nest), order=self.nest.order.data,
            identity=list(self.nest.identity.data), types=[self.state],
        )  # fmt: skip
        block.add_op(made)
        return made.outs[0]

    def _packing(self, block: Block) -> None:
        if self._in_one_block:
            packed = self._packed(block, dim(1))
            self._pack(block, packed, dim(0), dim(1))
            self._multiply(block, packed, dim(0), dim(1), None)
            return
        blocks, at_once = self._blocks, self._blocks_at_once()
        packed = self._packed(block, minimum(blocks, at_once))
        sums = self._sums(block, self.m)
        self._clear_if_empty(block, sums, dim(0), self.m)
        group = self.writer.fresh()
        first, last = group * at_once, minimum(group * at_once + at_once, blocks)
        body = Block()
        self._pack(body, packed, first, last)
        self._multiply(body, packed, first, last, sums)
        body.add_op(loop.YieldOp())
        groups = (blocks + (at_once - 1)) // at_once
        block.add_op(loop.ForOp(str(group), 0, groups, body))
        self._finish_all(block, sums, dim(0), self.m)

    def pack(self, block: Block) -> SSAValue:
        """All of the right operand in panels."""
        packed = self._packed(block, self._blocks)
        self._pack(block, packed, dim(0), self._blocks)
        return packed

    def write_rows(self, block: Block, packed: SSAValue, first: Dim, last: Dim, most: int) -> None:
        """The results of the rows from `first` on and below `last`, `most` at most, by one worker."""
        self.alone, self.origin = True, first
        sums = None if self._in_one_block else self._sums(block, dim(most))
        if sums is not None:
            self._clear_if_empty(block, sums, first, last)
        self._rows_by_panels(block, packed, (dim(0), self._blocks), sums, (first, last), (dim(0), self.panels))
        if sums is not None:
            self._finish_all(block, sums, first, last)

    @property
    def _in_one_block(self) -> bool:
        """Whether K is known to be no more than a block, so that no sums wait for others."""
        return self.k.const is not None and self.k.const <= self.depth

    @property
    def _blocks(self) -> Dim:
        """The blocks of K."""
        return dim(1) if self._in_one_block else (self.k + (self.depth - 1)) // self.depth

    def _blocks_at_once(self) -> Dim:
        """Blocks of K that are packed before the rows are worked on: as many as half the last cache holds.

        The threads join twice for all of them, and what is packed is read again for each block of rows.
        """
        panel = self.depth * self.panel * scalar_dtype(self.state).bits // 8
        panels = int(self.writer.costs.machine.cache3) // 2 // panel
        return minimum(BLOCKS_AT_ONCE, maximum(1, dim(panels) // maximum(1, self.panels)))

    def _packed(self, block: Block, blocks: Dim) -> SSAValue:
        """Memory for blocks of the right operand in panels no longer than K, so that they lie side by side."""
        return self._allocate(block, (blocks, self.panels, minimum(self.k, self.depth), dim(self.panel)))

    def _allocate(self, block: Block, dims: tuple[Dim, ...]) -> SSAValue:
        """Memory for a temporary: a worker's own where it is alone."""
        info = BufferInfo(scalar_dtype(self.state), dims, packed_strides(dims))
        return self.writer.allocate(block, info, "thread" if self.alone else "arena")

    def _sums(self, block: Block, rows: Dim) -> SSAValue:
        """Where blocks of K of some rows are added up: the output, unless something is still to be done to the sums."""
        last = self.nest.finish.block.first_op
        out = self.nest.outs[0]
        trivial = isinstance(last, kernel.YieldOp) and len(self.nest.outs) == 1
        if trivial and buffer_info(out).dtype is scalar_dtype(self.state) and len(self.nest.maps_out()) == 1:
            return out
        return self._allocate(block, (rows, self.n))

    def _point(self, m: Dim, n: Dim, k: Dim) -> dict[Sym, Dim]:
        extents = self.nest.extents.data
        point = {**self.batch, Sym(f"d{self.nest.n_parallel}"): k}
        for iterators, linear in ((self.factors.left, m), (self.factors.right, n)):
            for i, e in zip(iterators, unravel(linear, [extents[i] for i in iterators])):
                point[Sym(f"d{i}")] = e
        return point

    def _sum_index(self, m: Dim, n: Dim, sums: SSAValue) -> list[Dim]:
        if sums is self.nest.outs[0]:
            point = self._point(m, n, dim(0))
            return [e.substitute(point) for e in self.nest.maps_out()[0].exprs]
        return [m - self.origin, n]

    def _pack(self, block: Block, packed: SSAValue, first: Dim, last: Dim) -> None:
        """``packed[b - first, p, kk, j] = right[p * panel + j, b * depth + kk]`` for the blocks `first` to `last`.

        Several panels at once, so that a row of the right operand is read in pieces of more than a cache line.  Where
        it is contiguous along K instead, as many places of K side by side as lanes, to be transposed in registers.
        """
        group, number, panel, kk, j = (self.writer.fresh() for _ in range(5))
        beside = minimum(PANELS_PACKED, maximum(1, (self.panels + 3) // 4))
        body = Block()
        point = self._point(dim(0), panel * self.panel + j, number * self.depth + kk)
        value = self.writer.factor(self.nest, self.factors.values[1], point, body)
        body.add_ops([loop.StoreOp(value, packed, [number - first, panel, kk, j]), loop.YieldOp()])
        columns = minimum(self.n - panel * self.panel, self.panel)
        depth = minimum(self.k - number * self.depth, self.depth)
        across = self._contiguous_along_k(1)
        made = loop.ForOp(str(j), 0, columns, body, vector=self.width, unroll=1 if across else self.copies)
        panels = (panel, group, minimum(self.panels, group + beside), 1)
        depths = (kk, dim(0), depth, self.width if across else 1)
        inner_loops = (depths, panels) if across else (panels, depths)
        for iterator, lower, upper, unroll in (*inner_loops, (number, first, last, 1)):
            inner = Block()
            inner.add_ops([made, loop.YieldOp()])
            made = loop.ForOp(str(iterator), lower, upper, inner, unroll=unroll)
        outer = Block()
        outer.add_ops([made, loop.YieldOp()])
        block.add_op(self.shared(group, self.panels, outer, step=beside))

    def _multiply(self, block: Block, packed: SSAValue, first: Dim, last: Dim, sums: SSAValue | None) -> None:
        """Tasks of a block of rows by a group of panels; each goes through the blocks `first` to `last` of K."""
        task, body = self.writer.fresh(), Block()
        tiles = bound(self.writer, block, (self.m + (self.rows - 1)) // self.rows)
        blocks, groups = self._tasks(block, tiles)
        upper, lower = part_of(self.writer, body, tiles, task // groups, blocks)
        panels = part_of(self.writer, body, self.panels, task % groups, groups)
        rows = bound(self.writer, body, upper * self.rows), minimum(self.m, lower * self.rows)
        self._rows_by_panels(body, packed, (first, last), sums, rows, panels)
        body.add_op(loop.YieldOp())
        block.add_op(self.shared(task, blocks * groups, body))

    def _rows_by_panels(
        self,
        block: Block,
        packed: SSAValue,
        blocks: tuple[Dim, Dim],
        sums: SSAValue | None,
        rows: tuple[Dim, Dim],
        panels: tuple[Dim, Dim],
    ) -> None:
        """Tiles of the rows and panels from a first to a last one, for one after another of the blocks of K."""
        number, panel, tile, r, j = (self.writer.fresh() for _ in range(5))
        start, height = rows[0], rows[1] - rows[0]
        column, row = panel * self.panel + j, start + tile * self.rows + r
        tiles = (height + (self.rows - 1)) // self.rows
        deep = Block()
        left = None if self._contiguous_along_k(0) else self._pack_left(deep, start, height, number)
        body = Block()
        if sums is not None:
            # Fetched while the tile is computed: a chain is too long for the processor to look beyond its end.
            body.add_op(loop.PrefetchOp(sums, self._sum_index(row, column, sums)))
        total = self._chain(body, left, packed, (tile, r, row), (number - blocks[0], panel, j), number)
        if sums is None:
            self.writer.finish(self.nest, [total], self._point(row, column, dim(0)), body)
        else:
            self._add(body, sums, total, self._sum_index(row, column, sums), number)
        body.add_op(loop.YieldOp())
        columns = minimum(self.n - panel * self.panel, self.panel)
        here = minimum(height - tile * self.rows, self.rows)
        made = loop.ForOp(str(j), 0, columns, body, vector=self.width, unroll=self.copies)
        for iterator, lower, upper, unroll in (
            (r, dim(0), here, self.rows), (tile, dim(0), tiles, 1), (panel, *panels, 1)
        ):  # fmt: skip
            inner = Block()
            inner.add_ops([made, loop.YieldOp()])
            made = loop.ForOp(str(iterator), lower, upper, inner, unroll=unroll)
        deep.add_ops([made, loop.YieldOp()])
        block.add_op(loop.ForOp(str(number), *blocks, deep))

    def _tasks(self, block: Block, tiles: Dim) -> tuple[Dim, Dim]:
        """How many blocks of rows by how many groups of panels the tasks are.

        As many rows as the second cache holds, so that panels are read for few blocks of them; panels are shared out
        where that makes too few tasks, and then fewer rows.  Their number is one that few threads share evenly.
        """
        wanted, even = (1, 1) if self.alone else (TASKS, EVEN_TASKS)
        blocks = bound(self.writer, block, maximum(1, (tiles + (self.row_tiles - 1)) // self.row_tiles))
        fewest = 1 if self._contiguous_along_k(0) else PANELS_A_PACKING
        most = maximum(1, self.panels // fewest)
        groups = bound(self.writer, block, minimum(most, (dim(wanted) + (blocks - 1)) // blocks))
        blocks = maximum(blocks, (dim(wanted) + (groups - 1)) // groups)
        multiple = bound(self.writer, block, (dim(even) + (groups - 1)) // groups)
        blocks = (blocks + (multiple - 1)) // multiple * multiple
        return bound(self.writer, block, maximum(1, minimum(blocks, tiles))), groups

    def _contiguous(self, factor: int, iterators: tuple[int, ...]) -> bool:
        """Whether the left (0) or the right factor (1) is just an element of memory, contiguous along one iterator."""
        if len(iterators) != 1:
            return False
        for argument, walk in zip(self.nest.body.block.args, accesses(self.nest)):
            if argument is self.factors.values[factor]:
                step = walk.step(Sym(f"d{iterators[0]}"))
                return not walk.guarded and step is not None and step.const == 1
        return False

    def _contiguous_along_k(self, factor: int) -> bool:
        return self._contiguous(factor, (self.nest.n_parallel,))

    def _computed_along(self, iterator: int) -> bool:
        """Whether all that the left factor is computed from is contiguous along an iterator, or stays where it is."""
        needed = slice_of(self.factors.values[0])
        steps: list[int | None] = []
        for argument, walk in zip(self.nest.body.block.args, accesses(self.nest)):
            if argument in needed:
                step = walk.step(Sym(f"d{iterator}"))
                steps.append(None if walk.guarded or step is None else step.const)
        return 1 in steps and all(step in (0, 1) for step in steps)

    def _run(self) -> Dim | None:
        """How many elements of the left factor are contiguous along K at a time.

        All, if it is computed from what is; fewer where it is an element that goes along several dims.
        """
        if self._computed_along(self.nest.n_parallel):
            return self.k
        k, number, place = Sym(f"d{self.nest.n_parallel}"), self.writer.fresh(), self.writer.fresh()
        for argument, value, index in zip(self.nest.body.block.args, self.nest.ins, self.nest.maps_in()):
            if argument is not self.factors.values[0]:
                continue
            for extent in dict.fromkeys(d for e in index.exprs for d in divisors(e, k)):
                split = {k: number * extent + place}
                along = _extents({place: extent})
                exprs = [simplify(e.substitute(split), along) for e in index.exprs]
                walk = linear_in(simplify(expand_mods(buffer_info(value).address(exprs)), along), along)
                if walk is not None and walk[0].get(*along) is dim(1):
                    return extent
        return None

    def _pack_left(self, block: Block, start: Dim, height: Dim, number: Dim) -> SSAValue:
        """The block `number` of K of the `height` rows from `start`, in the worker's own memory."""
        tile = (self.depth + 2, self.rows_stored) if self.run is None else (self.rows, self.depth)
        dims = (dim(self.row_tiles), *map(dim, tile))
        packed = self.writer.allocate(block, BufferInfo(scalar_dtype(self.state), dims, packed_strides(dims)), "thread")
        if self.run is None:
            self._pack_across(block, packed, start, height, number)
        else:
            self._pack_runs(block, packed, start, height, number, self.run)
        return packed

    def _left_index(self, tile: Dim, r: Dim, kk: Dim) -> list[Dim]:
        """Where `_pack_left` puts an element."""
        return [tile, kk, r] if self.run is None else [tile, r, kk]

    def _pack_runs(self, block: Block, packed: SSAValue, start: Dim, height: Dim, number: Dim, extent: Dim) -> None:
        """``packed[t, r, kk] = left[start + t * rows + r, number * depth + kk]``, by runs of `extent` along K."""
        row, run, place = (self.writer.fresh() for _ in range(3))
        first, last = number * self.depth, minimum(self.k, number * self.depth + self.depth)
        body = Block()
        self.writer.extents = _extents({place: extent})
        point = self._point(start + row, dim(0), run * extent + place)
        value = self.writer.factor(self.nest, self.factors.values[0], point, body)
        self.writer.extents = {}
        at = self._left_index(row // self.rows, row % self.rows, run * extent + place - first)
        body.add_ops([loop.StoreOp(value, packed, at), loop.YieldOp()])
        low, high = maximum(0, first - run * extent), minimum(extent, last - run * extent)
        runs = Block()
        copies = self.writer.costs.copies(1, 1)
        runs.add_ops([loop.ForOp(str(place), low, high, body, vector=self.width, unroll=copies), loop.YieldOp()])
        # The runs that have an element of the block.
        below, above = first // maximum(1, extent), (last + (extent - 1)) // maximum(1, extent)
        rows = Block()
        rows.add_ops([loop.ForOp(str(run), below, above, runs), loop.YieldOp()])
        block.add_op(loop.ForOp(str(row), 0, height, rows))

    def _pack_across(self, block: Block, packed: SSAValue, start: Dim, height: Dim, number: Dim) -> None:
        """``packed[t, kk, r] = left[start + t * rows + r, number * depth + kk]``.

        A few places of K of all tiles at a time: their lines stay in the first cache however far they are apart.
        Where the left operand is contiguous across rows, whole vectors, which copy the first rows of the next tile
        along with each tile.
        """
        tile, kk, r, run = (self.writer.fresh() for _ in range(4))
        first = start + tile * self.rows
        body = Block()
        point = self._point(first + r, dim(0), number * self.depth + kk)
        value = self.writer.factor(self.nest, self.factors.values[0], point, body)
        body.add_ops([loop.StoreOp(value, packed, self._left_index(tile, r, kk)), loop.YieldOp()])
        tiles, depth = (height + (self.rows - 1)) // self.rows, minimum(self.k - number * self.depth, self.depth)
        if len(self.factors.left) == 1 and self._computed_along(self.factors.left[0]):
            rows = minimum(self.m - first, self.rows_stored)
            copies = self.rows_stored // self.lanes_across
            made = loop.ForOp(str(r), 0, rows, body, vector=self.lanes_across, unroll=copies)
        else:
            made = loop.ForOp(str(r), 0, minimum(height - tile * self.rows, self.rows), body, unroll=self.rows)
        for iterator, lower, upper, step in (
            (kk, run, minimum(depth, run + WAYS), 1), (tile, dim(0), tiles, 1), (run, dim(0), depth, WAYS)
        ):  # fmt: skip
            inner = Block()
            inner.add_ops([made, loop.YieldOp()])
            made = loop.ForOp(str(iterator), lower, upper, inner, step=step)
        block.add_op(made)

    def _chain(
        self,
        block: Block,
        left: SSAValue | None,
        packed: SSAValue,
        row: tuple[Dim, Dim, Dim],
        column: tuple[Dim, Dim, Dim],
        number: Dim,
    ) -> SSAValue:
        """One element's FMA chain along a block of K; `row`: tile, row of it, row; `column`: block, panel, lane."""
        kk = self.writer.fresh()
        body = Block()
        tile, r, i = row
        if left is None:
            point = self._point(i, dim(0), number * self.depth + kk)
            a = self.writer.factor(self.nest, self.factors.values[0], point, body)
        else:
            stored = loop.LoadOp(left, self._left_index(tile, r, kk))
            body.add_op(stored)
            a = stored.result
        right = loop.LoadOp(packed, [column[0], column[1], kk, column[2]])
        body.add_op(right)
        return self._fold(block, body, [a, right.result], kk, minimum(self.k - number * self.depth, self.depth))

    def _add(self, block: Block, sums: SSAValue, total: SSAValue, index: list[Dim], number: Dim) -> None:
        """``sums += total``; the first block starts from the identity, whatever the memory held."""
        before = loop.LoadOp(sums, index, [number - 1])
        block.add_op(before)
        b = BodyBuilder(block)
        element = scalar_dtype(self.state)
        assert self.nest.identity is not None
        identity = arith.ConstantOp.create(result_types=[self.state], properties={"value": self.nest.identity.data[0]})
        block.add_op(identity)
        older = b.select(b.index(number) > 0, b.wrap(before.result, element), b.wrap(identity.result, element))
        block.add_op(loop.StoreOp((older + b.wrap(total, element)).ref, sums, index))

    def _finish_all(self, block: Block, sums: SSAValue, first: Dim, last: Dim) -> None:
        """The nest's `finish` over the sums of some rows, row by row, unless they are the results."""
        if sums is self.nest.outs[0]:
            return
        i, j = self.writer.fresh(), self.writer.fresh()
        body = Block()
        total = loop.LoadOp(sums, self._sum_index(i, j, sums))
        body.add_op(total)
        self.writer.finish(self.nest, [total.result], self._point(i, j, dim(0)), body)
        body.add_op(loop.YieldOp())
        row = Block()
        row.add_ops([loop.ForOp(str(j), 0, self.n, body, vector=self.width, unroll=1), loop.YieldOp()])
        block.add_op(self.shared(i, last, row, grain=16, lower=first))

    def _clear_if_empty(self, block: Block, sums: SSAValue, first: Dim, last: Dim) -> None:
        """Where K is 0 no block writes the sums: write the identity for ``k`` iterations below one."""
        i, j, once = (self.writer.fresh() for _ in range(3))
        body = Block()
        assert self.nest.identity is not None
        identity = arith.ConstantOp.create(result_types=[self.state], properties={"value": self.nest.identity.data[0]})
        body.add_ops([identity, loop.StoreOp(identity.result, sums, self._sum_index(i, j, sums)), loop.YieldOp()])
        row = Block()
        row.add_ops([loop.ForOp(str(j), 0, self.n, body), loop.YieldOp()])
        rows = Block()
        rows.add_ops([loop.ForOp(str(i), first, last, row), loop.YieldOp()])
        block.add_op(loop.ForOp(str(once), self.k, 1, rows))


def _extents(ranges: dict[Dim, Dim]) -> dict[Sym, Dim]:
    """Extents by the symbols of iterators."""
    return {it.symbol: extent for it, extent in ranges.items() if it.symbol is not None}


def part_of(writer: LoopWriter, block: Block, count: Dim, place: Dim, parts: Dim) -> tuple[Dim, Dim]:
    """The first of `count` things that belong to one of so many parts, which differ by one at most, and the end."""
    first = bound(writer, block, place * count // parts)
    return first, bound(writer, block, (place * count + count) // parts)
