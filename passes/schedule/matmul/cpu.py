"""Contractions to loops: the right operand packed into panels, register tiles, K in the order's blocks.

Operands are packed as `packing.py` says.  Threads take tasks, some rows by a group of panels: for each
block of K, tiles of `rows` by one panel run an FMA chain along K with all their sums in registers
(`register_tile.py`).  Which operand stays in the second cache meanwhile depends on the left one.  Read in place, or
transposed and packed by all threads before, its rows go by panels that the worker has packed for itself; where workers
pack it, a block of its rows stays, and panels go by.

Few rows, known when the loops run, are multiplied with the right operand where it is: packing would cost more than it
saves.  Iterators of both factors (stacks of matrices) go to threads, and each worker does the above by itself.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Block, SSAValue

from ....dialects import kernel, loop
from ....dialects.attributes import scalar_dtype
from ....dialects.dims.dims import Dim, ceil_div, dim, maximum, minimum
from ..access import buffer_info
from ..blocks import Range, for_loop, for_loops, load_all, move, store_all
from ..body import ScheduleContext
from ..builder import LoopBuilder
from ..function import if_positive, materialize_dim
from ..map.schedule import VectorConfig
from ..parallelize import split_range
from .few_rows import FewRows
from .match import MatmulOperands, is_symmetric
from .packed_lhs import PackedLhs

__all__ = ["CpuMatmul", "schedule_contraction"]

#: Tasks that make the threads' shares even, where there is work for so many.
TASKS = 16
#: Their number is a multiple of it: a task more would be a round in which one of few threads works.
EVEN_TASKS = 4
#: Tasks that one thread does in the time that threads take to pack together, and then to multiply.
MIN_PACK_TASKS = 12
#: A left operand that is packed serves at least so many panels, where there are as many.
PANELS_A_PACKING = 64
#: Packing a panel takes as long as multiplying so many rows by it.
PACKED_ROWS = 40
#: At most so many blocks of K are packed before the rows are worked on.
BLOCKS_AT_ONCE = 8


def schedule_contraction(
    context: ScheduleContext, nest: kernel.GenericOp, factors: MatmulOperands, block: Block, lanes: VectorConfig
) -> None:
    """Packed panels and register tiles; see the module's text."""
    CpuMatmul(context, nest, factors, lanes).write(block)


class CpuMatmul(FewRows):
    """A contraction's loops.

    With `one_triangle` tiles make the results on and above the diagonal, of which the others are mirror images.
    """

    one_triangle = False

    def write(self, block: Block) -> None:
        """All results: by panels, or with few rows in place."""
        if self.factors.batch:
            self.each(block, lambda body: if_positive(body, self.m - self.gemv_rows, self._packing, self.in_place))
        elif self.reads_vectors:
            self.context.if_positive(block, self.m - self.gemv_rows, self._packing, self.in_place)
        else:
            self._packing(block)

    def write_gemv(self, block: Block) -> None:
        """All results, where there are no more than `gemv_rows`."""
        if self.factors.batch:
            self.each(block, self.in_place)
        elif self.reads_vectors:
            self.in_place(block)
        else:
            self._packing(block)

    def each(self, block: Block, write: Callable[[Block], None]) -> None:
        """What `write` adds for a matrix of a stack, for all of them: threads share these."""
        self.each_matrix(block, self.context.grain(self.m * self.n * maximum(1, self.k), self.nest), write)

    def _packing(self, block: Block) -> None:
        self.one_triangle = is_symmetric(self.nest, self.factors)
        if self._contiguous_along_k(0):
            self._b_stationary(block)
        elif self._contiguous(0, self.factors.left):
            # Rows packed for all threads come from farther away, which is worth it for many panels.
            if_positive(block, self.panels - self.panels_held, self._b_stationary, self._a_stationary)
        else:
            self._a_stationary(block)
        if self.one_triangle:
            self._mirror(block)

    def _mirror(self, block: Block) -> None:
        """The results below the diagonal, which are those above it, in squares that are transposed in registers.

        Squares on the diagonal are there: a panel's columns are some of them.
        """
        first, left, r, j = (self.context.new_iv() for _ in range(4))
        work = self.context.grain(self.width * self.n, self.nest)
        with self.shared(block, first, self.m, step=self.width, grain=work) as rows:
            height = Range(r, 0, minimum(self.m - first, self.width), unroll=self.width)
            square = height, Range(j, 0, self.width, vector=self.width)
            with for_loops(rows, Range(left, 0, first, step=self.width), *square) as body:
                to, of = (self.point(*place, dim(0)) for place in ((first + r, left + j), (left + j, first + r)))
                for out, index in zip(self.nest.outs, self.nest.maps_out(), strict=True):
                    found = load_all(body, [out], [e.substitute(of) for e in index.exprs])
                    store_all(body, found, [out], [e.substitute(to) for e in index.exprs])

    def _b_stationary(self, block: Block) -> None:
        """Tasks of a group of panels by a part of the rows; each packs its panels, a block of K at a time.

        They stay in the second cache of a core while all rows go by them, and no thread waits for what another packs
        of the right operand.  A transposed left one is packed for all of them, some blocks of K at a time.
        """
        sums = None if self._in_one_block else self._sums(block, self.m)
        if sums is not None:
            self._finish_if_empty(block, dim(0), self.m)
        if self._contiguous_along_k(0):
            self._columns(block, (dim(0), self._blocks), sums, None)
        elif self._in_one_block:
            only = dim(0), dim(1)
            self._columns(block, only, sums, self._pack_rows(block, self._rows_packed(block), only))
        else:
            rows = self._rows_packed(block)
            self._by_blocks(
                block, self._rows_at_once(),
                lambda body, blocks: self._columns(body, blocks, sums, self._pack_rows(body, rows, blocks)),
            )  # fmt: skip

    def _columns(self, block: Block, blocks: tuple[Dim, Dim], sums: SSAValue | None, left: PackedLhs | None) -> None:
        """The tasks, for some blocks of K."""
        task, tiles = self.context.new_iv(), materialize_dim(self.context, block, self.tiles)
        groups, parts = self._shares(block, tiles)
        with self.shared(block, task, groups * parts) as body:
            self._tiles_by_panels(body, None, blocks, sums, task, (tiles, parts), groups, left)

    def _shares(self, block: Block, tiles: Dim) -> tuple[Dim, Dim]:
        """How many groups of panels by how many parts of the rows the tasks of `_b_stationary` are.

        No more panels than a worker has memory for, and as many tasks for each thread.  Each part of the rows packs
        again, so threads share panels, unless some would have fewer of them than that costs, or rows are packed, which
        take longer from another core than panels take to be packed twice.  What is known to be worth no second thread
        asks for none.
        """
        fewest = ceil_div(self.panels, self.panels_held)
        grain = self.context.grain(self.m * self.n * maximum(1, self.k), self.nest).const
        if self.alone or (grain is not None and grain > 1):
            return materialize_dim(self.context, block, fewest), dim(1)
        threads = materialize_dim(self.context, block, maximum(1, self.context.threads(block)))
        # Rows that threads must share where there are fewer panels, and threads beside each other then.
        least = materialize_dim(self.context, block, (threads + (self.panels - 1)) // maximum(1, self.panels))
        across = materialize_dim(self.context, block, ceil_div(threads, least))
        # What all threads together take, in elements, with those that wait for the last one.
        most_columns = materialize_dim(self.context, block, ceil_div(self.panels, across) * self.panel)
        by_columns = most_columns * across * (self.m + PACKED_ROWS * least)
        by_rows = self.n * (self.m + PACKED_ROWS * threads)
        rows = minimum(1, maximum(0, by_columns - by_rows)) if self._contiguous_along_k(0) else dim(1)
        rows = materialize_dim(self.context, block, rows)
        parts = materialize_dim(self.context, block, maximum(1, minimum(tiles, least + rows * (threads - least))))
        even = materialize_dim(self.context, block, across + rows * (1 - across))
        groups = ceil_div(fewest, even) * even
        return materialize_dim(self.context, block, maximum(1, minimum(groups, self.panels))), parts

    def _a_stationary(self, block: Block) -> None:
        """The right operand packed by all threads, some blocks of K at a time; then tasks that pack their rows."""
        self.fit_lhs_in_l1()
        if self._in_one_block:
            packed = self._packed(block, dim(1))
            self._pack(block, packed, dim(0), dim(1))
            self._multiply(block, packed, dim(0), dim(1), None)
            return
        at_once = self._blocks_at_once()
        packed = self._packed(block, minimum(self._blocks, at_once))
        sums = self._sums(block, self.m)
        self._finish_if_empty(block, dim(0), self.m)

        def some(body: Block, blocks: tuple[Dim, Dim]) -> None:
            self._pack(body, packed, *blocks)
            self._multiply(body, packed, *blocks, sums)

        self._by_blocks(block, at_once, some)

    def _by_blocks(self, block: Block, at_once: Dim, write: Callable[[Block, tuple[Dim, Dim]], None]) -> None:
        """What `write` adds for some blocks of K, from a first to a last one, for so many after another."""
        at_once = materialize_dim(self.context, block, at_once)
        group = self.context.new_iv()
        with for_loop(block, group, 0, ceil_div(self._blocks, at_once)) as body:
            write(body, (group * at_once, minimum(group * at_once + at_once, self._blocks)))

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
            self._finish_if_empty(block, first, last)
        self._rows_by_panels(block, packed, (dim(0), self._blocks), sums, (first, last), (dim(0), self.panels))

    def _blocks_at_once(self) -> Dim:
        """Blocks of K that are packed before the rows are worked on: as many as half the second cache holds, or one.

        The threads join twice for all of them.  What is packed is read again for each block of rows, which should find
        it where it was packed.
        """
        panel = self.depth * self.panel * scalar_dtype(self.accumulator).bits // 8
        panels = int(self.context.costs.machine.l2_bytes) // 2 // panel
        return minimum(BLOCKS_AT_ONCE, maximum(1, dim(panels) // maximum(1, self.panels)))

    def _sums(self, block: Block, rows: Dim) -> SSAValue:
        """Where blocks of K of some rows are added up: the output, unless something is still to be done to the sums."""
        last = self.nest.epilogue.block.first_op
        out = self.nest.outs[0]
        trivial = isinstance(last, kernel.YieldOp) and len(self.nest.outs) == 1
        if trivial and buffer_info(out).dtype is scalar_dtype(self.accumulator):
            return out
        return self._allocate(block, (rows, self.n))

    def _sum_index(self, m: Dim, n: Dim, sums: SSAValue) -> list[Dim]:
        if sums is self.nest.outs[0]:
            point = self.point(m, n, dim(0))
            return [e.substitute(point) for e in self.nest.maps_out()[0].exprs]
        return [m - self.origin, n]

    def _multiply(self, block: Block, packed: SSAValue, first: Dim, last: Dim, sums: SSAValue | None) -> None:
        """Tasks of a block of rows by a group of panels; each goes through the blocks `first` to `last` of K."""
        task, body = self.context.new_iv(), Block()
        tiles, are_shared = materialize_dim(self.context, block, self.tiles), self._are_shared(block)
        blocks, groups = self._tasks(block, tiles, are_shared)
        self._tiles_by_panels(body, packed, (first, last), sums, task, (tiles, blocks), groups)
        grain = materialize_dim(self.context, block, maximum(1, (1 - are_shared) * blocks * groups))
        with self.shared(block, task, blocks * groups, grain=grain) as around:
            move(body, around)

    def _are_shared(self, block: Block) -> Dim:
        """1 where the product takes longer than threads take to join for what is packed, and again; else 0."""
        if self.alone:
            return dim(0)
        joined = MIN_PACK_TASKS * self.context.chunk(self.nest)
        return materialize_dim(self.context, block, minimum(1, self.m * self.n * maximum(1, self.k) // joined))

    def _tiles_by_panels(
        self, body: Block, packed: SSAValue | None, blocks: tuple[Dim, Dim], sums: SSAValue | None, task: Dim,
        tiles: tuple[Dim, Dim], groups: Dim, left: PackedLhs | None = None,
    ) -> None:  # fmt: skip
        """A task: a part of the rows (`tiles`: how many, and how many parts of them) by one of the groups of panels."""
        upper, lower = split_range(self.context, body, tiles[0], task // groups, tiles[1])
        panels = split_range(self.context, body, self.panels, task % groups, groups)
        rows = materialize_dim(self.context, body, upper * self.rows), minimum(self.m, lower * self.rows)
        self._rows_by_panels(body, packed, blocks, sums, rows, panels, left)

    def _rows_by_panels(
        self, block: Block, packed: SSAValue | None, blocks: tuple[Dim, Dim], sums: SSAValue | None,
        rows: tuple[Dim, Dim], panels: tuple[Dim, Dim], ready: PackedLhs | None = None,
    ) -> None:  # fmt: skip
        """Tiles of the rows and panels from a first to a last one, for one after another of the blocks of K.

        Panel by panel of what is `packed`, tile by tile of rows where panels are the worker's own.  All rows may be
        `ready` in memory; else those that are not read in place are packed here.  Of `one_triangle` tiles that lie
        below the diagonal are left out.
        """
        number, panel, tile, r, j = (self.context.new_iv() for _ in range(5))
        start, height = rows[0], rows[1] - rows[0]
        column, row = panel * self.panel + j, start + tile * self.rows + r
        columns, here = minimum(self.n - panel * self.panel, self.panel), minimum(height - tile * self.rows, self.rows)
        tiles, first = ceil_div(height, self.rows), panels[0]
        if self.one_triangle and packed is None:
            first = maximum(first, (start + tile * self.rows) // self.panel)
        elif self.one_triangle:
            tiles = minimum(tiles, ceil_div((panel + 1) * self.panel - start, self.rows))
        loops = [Range(panel, first, panels[1]), Range(tile, 0, tiles)]
        lanes = Range(j, 0, columns, vector=self.width, unroll=self.copies)
        with for_loop(block, number, *blocks) as deep:
            left, indices = None, (number - blocks[0], panel, j)
            if ready is not None:
                left = ready.of(number - blocks[0], start // self.rows)
            elif not self._contiguous_along_k(0):
                left = self._pack_left(deep, start, height, number)
            if packed is None:
                packed, indices = self._pack_own(deep, number, panels), (dim(0), panel - panels[0], j)
                loops.reverse()
            with for_loops(deep, *loops) as one_tile:
                with for_loops(one_tile, Range(r, 0, here, unroll=self.rows), lanes) as body:
                    if sums is not None:
                        # Fetched while the tile is computed: a chain is too long for the processor to look beyond it.
                        body.add_op(loop.PrefetchOp(sums, self._sum_index(row, column, sums)))
                    total = self._chain(body, left, packed, (tile, r, row), indices, number)
                    if sums is None:
                        self.context.epilogue(self.nest, [total], self.point(row, column, dim(0)), body)
                    else:
                        self._add(body, sums, total, self._sum_index(row, column, sums), number)
                if sums is not None and sums is not self.nest.outs[0]:
                    self._finish_tile(one_tile, sums, (start + tile * self.rows, here), panel, columns, number)

    def _tasks(self, block: Block, tiles: Dim, are_shared: Dim) -> tuple[Dim, Dim]:
        """How many blocks of rows by how many groups of panels the tasks are.

        As many rows as the second cache holds, so that panels are read for few blocks of them; panels are shared out
        where that makes too few tasks, and then fewer rows.  Their number is one that few threads share evenly.
        """
        wanted, even = (materialize_dim(self.context, block, maximum(1, are_shared * n)) for n in (TASKS, EVEN_TASKS))
        blocks = materialize_dim(self.context, block, maximum(1, ceil_div(tiles, self.row_tiles)))
        fewest = 1 if self._contiguous_along_k(0) else PANELS_A_PACKING
        most = maximum(1, self.panels // fewest)
        groups = materialize_dim(self.context, block, minimum(most, ceil_div(wanted, blocks)))
        blocks = maximum(blocks, ceil_div(wanted, groups))
        multiple = materialize_dim(self.context, block, ceil_div(even, groups))
        blocks = ceil_div(blocks, multiple) * multiple
        return materialize_dim(self.context, block, maximum(1, minimum(blocks, tiles))), groups

    def _chain(
        self, block: Block, left: PackedLhs | None, packed: SSAValue, row: tuple[Dim, Dim, Dim],
        column: tuple[Dim, Dim, Dim], number: Dim,
    ) -> SSAValue:  # fmt: skip
        """One element's FMA chain along a block of K; `row`: tile, row of it, row; `column`: block, panel, lane."""
        kk, (tile, r, i) = self.context.new_iv(), row

        def factors(body: Block) -> list[SSAValue]:
            if left is None:
                a = [self.factor(0, i, number * self.depth + kk, body)]
            else:
                a = load_all(body, [left.memory], left.index(tile, r, kk))
            return a + load_all(body, [packed], [column[0], column[1], kk, column[2]])

        return self._sum_products(block, kk, minimum(self.k - number * self.depth, self.depth), factors)

    def _add(self, block: Block, sums: SSAValue, total: SSAValue, index: list[Dim], number: Dim) -> None:
        """``sums += total``; the first block starts from the identity, whatever the memory held."""
        code, element = LoopBuilder(self.context, block, has_fma=True), scalar_dtype(self.accumulator)
        older = code.load(sums, index, [number - 1])
        assert self.nest.identity is not None
        (identity,) = self.nest.identity.data
        # Loads that a guard leaves out are +0, as most identities are: choosing would take a branch, and registers.
        assert isinstance(identity, FloatAttr | IntegerAttr)
        if str(identity.value.data) not in ("0", "0.0"):  # -0.0 is another
            (start,) = self.context.identity(self.nest, block)
            older = code.b.select(code.b.index(number) > 0, older, code.b.wrap(start, element))
        code.store(older + code.b.wrap(total, element), sums, index)

    def _finish_tile(
        self, block: Block, sums: SSAValue, rows: tuple[Dim, Dim], panel: Dim, columns: Dim, number: Dim
    ) -> None:
        """The nest's `finish` over a tile's sums, which the first cache holds, after the last block of K.

        Outlined: registers of a long epilogue would be taken from the sums.
        """
        once, r, j = (self.context.new_iv() for _ in range(3))
        row, column = rows[0] + r, panel * self.panel + j
        last, finished = Range(once, self._blocks - 1, number + 1), Range(r, 0, rows[1], outline=True)
        with for_loops(block, last, finished, Range(j, 0, columns, vector=self.width, unroll=self.copies)) as body:
            total = load_all(body, [sums], self._sum_index(row, column, sums))
            self.context.epilogue(self.nest, total, self.point(row, column, dim(0)), body)

    def _finish_if_empty(self, block: Block, first: Dim, last: Dim) -> None:
        """Where K is 0 there is no last block: finish the identity for ``k`` iterations below one."""
        i, j, once = (self.context.new_iv() for _ in range(3))
        with for_loops(block, Range(once, self.k, 1), Range(i, first, last), Range(j, 0, self.n)) as body:
            identity = self.context.identity(self.nest, body)
            self.context.epilogue(self.nest, identity, self.point(i, j, dim(0)), body)
