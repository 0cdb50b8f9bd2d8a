"""Products of few rows: the right operand is read where it lies, since packing it would cost more than it saves.

A right operand whose rows are contiguous goes by once, `STEPS` of its rows at a time beside each other, along tiles
of them.  A few vectors of these stay in registers while the rows of the left operand go by: each adds `STEPS` products
to its sums, which a worker's own memory holds.  Read down its columns instead, a line of memory would be used for one
step and be gone before the next; and read again for each row, lines of rows as far apart as pages are, which all want
the same place of the first cache, would be gone as well.

One that is contiguous along K, and the matrices of stacks, are read by register tiles along all of K.  Vectors of the
first are transposed in registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.ir import Block, SSAValue

from ....dialects.attributes import scalar_dtype
from ....dialects.dims.dims import Dim, ceil_div, dim, maximum, minimum
from ..access import order_of
from ..blocks import Range, for_loops, store_all
from ..builder import LoopBuilder
from ..function import materialize_dim
from .packing import L1_WAYS, PackedOperands

__all__ = ["FewRows"]

#: At most so many rows, of a matrix, of one that is contiguous along K, and of each in a stack, are few.
GEMV_ROWS, GEMV_ROWS_ALONG_K, FEW_ROWS_EACH = 16, 1, 16
#: Rows of a register tile.
TILE_ROWS = 4
#: Rows of the right operand that go by beside each other, and vectors of each that stay in registers.
STEPS, VECTORS = 4, 2
#: Bytes of a tile of these rows: longer ones come from memory faster, but their sums no longer fit the second cache.
LONGEST_TILE = 16 << 10
#: Threads share no tiles of fewer columns.
SHORTEST_TILE = 512
#: Columns between the sums of two rows that are not used: sums of a column begin at different places of their pages.
GAP = 16


class FewRows(PackedOperands):
    """The loops of a contraction of few rows."""

    @property
    def gemv_rows(self) -> int:
        """So many rows, of a matrix or of each in a stack, are not worth packing for."""
        if self.factors.batch:
            return FEW_ROWS_EACH
        return GEMV_ROWS if self._contiguous(1, self.factors.right) else GEMV_ROWS_ALONG_K

    @property
    def reads_vectors(self) -> bool:
        """Whether the right operand is contiguous along columns or along K: others are read an element at a time."""
        return self._contiguous(1, self.factors.right) or self._contiguous_along_k(1)

    def in_place(self, block: Block) -> None:
        """All results."""
        if not self.factors.batch and self._contiguous(1, self.factors.right):
            self._by_rows_of_right(block)
        elif not self.factors.batch:
            # Their lines are used once more: so many rows may be as far apart as pages are.
            self._by_tiles(block, GEMV_ROWS_ALONG_K, max(1, L1_WAYS // self.width))
        else:
            self._by_tiles(block, TILE_ROWS, self.copies)

    def _by_tiles(self, block: Block, tile_rows: int, vectors: int) -> None:
        """Register tiles of so many rows and vectors, whose factors are read where they are, along all of K."""
        panel = self.width * vectors
        start, tile, r, j, kk = (self.context.new_iv() for _ in range(5))
        point = self.point(tile * tile_rows + r, j, kk)
        rows, tiles = minimum(self.m - tile * tile_rows, tile_rows), ceil_div(self.m, tile_rows)
        columns, short = minimum(self.n, start + panel), bool(self.factors.batch)
        lanes = Range(j, start, columns, vector=self.width, unroll=vectors, short=short)
        work = self.context.grain(self.m * panel * maximum(1, self.k), self.nest)
        with self.shared(block, start, self.n, step=panel, grain=work) as panels:
            with for_loops(panels, Range(tile, 0, tiles), Range(r, 0, rows, unroll=tile_rows), lanes) as body:
                total = self._sum_products(
                    body, kk, self.k,
                    lambda step: [self.context.operand_value(self.nest, v, point, step) for v in self.values],
                )  # fmt: skip
                self.context.epilogue(self.nest, [total], point, body)

    def _sum_products(self, block: Block, kk: Dim, upper: Dim, factors: Callable[[Block], list[SSAValue]]) -> SSAValue:
        """The reduction of products of factors in the nest's order."""
        steps = Range(kk, 0, upper)
        return self.context.reduce(self.nest, block, steps, lambda body: self.element(body, *factors(body)))[0]

    def _by_rows_of_right(self, block: Block) -> None:
        """Rows of the right operand, some beside each other, along tiles of them that threads share.

        The sums of a tile and the chains of the block of K that goes by are in a worker's own memory.
        """
        threads = (
            dim(1) if self.alone else materialize_dim(self.context, block, maximum(1, self.context.threads(block)))
        )
        shares = maximum(SHORTEST_TILE, ceil_div(self.n, threads))
        most = LONGEST_TILE // scalar_dtype(self.accumulator).bytes
        longest = materialize_dim(self.context, block, minimum(shares, most))
        first, columns = self.context.new_iv(), minimum(self.n, most) + GAP
        work = self.context.grain(self.m * longest * maximum(1, self.k), self.nest)
        with self.shared(block, first, self.n, step=longest, grain=work) as task:
            body = LoopBuilder(self.context, task, has_fma=True)
            chains, sums, left = (self._own(task, (self.m, width)) for width in (columns, columns, dim(STEPS)))
            tile = _ColumnTile(first, body.materialize_dim(minimum(self.n - first, longest)), chains, left)
            self._fill(body, tile, sums)
            with body.for_(0, self._blocks) as (b, number):
                self._fill(b, tile, chains)
                start, depth = number * self.depth, b.materialize_dim(minimum(self.k - number * self.depth, self.depth))
                whole = b.materialize_dim(depth // STEPS)
                with b.for_(0, whole) as (c, step):
                    self._add_products(c, tile, start + step * STEPS, STEPS)
                with b.for_(whole * STEPS, depth) as (c, step):
                    self._add_products(c, tile, start + step, 1)
                with self._each(b, tile) as (c, _, place):
                    c.store(c.load(sums, place) + c.load(chains, place), sums, place)
            with self._each(body, tile) as (c, (r, j), place):
                total = c.load(sums, place).ref
                self.context.epilogue(self.nest, [total], self.point(r, tile.first + j, dim(0)), c.block)

    @contextmanager
    def _each(self, code: LoopBuilder, tile: _ColumnTile) -> Iterator[tuple[LoopBuilder, tuple[Dim, Dim], list[Dim]]]:
        """Loops over rows and the columns of a tile, these by vectors: with both, and their place."""
        with code.for_(0, self.m) as (rows, r), rows.for_(0, tile.columns, self.width) as (c, j):
            yield c, (r, j), [r, j]

    def _fill(self, code: LoopBuilder, tile: _ColumnTile, memory: SSAValue) -> None:
        """The identity for all sums."""
        with self._each(code, tile) as (c, _, place):
            store_all(c.block, self.context.identity(self.nest, c.block), [memory], place)

    def _add_products(self, code: LoopBuilder, tile: _ColumnTile, k: Dim, steps: int) -> None:
        """All chains go on by so many products from `k` on."""
        fused, dtype = order_of(self.nest).product == "fma", scalar_dtype(self.accumulator)
        with code.for_(0, self.m) as (c, r):
            for step in range(steps):
                c.store(c.b.wrap(self.factor(0, r, k + step, c.block), dtype), tile.left, [r, dim(step)])
        with code.for_(0, tile.columns, self.width, VECTORS) as (columns, j):
            values = [self.factor(1, tile.first + j, k + step, columns.block) for step in range(steps)]
            factors = [columns.b.wrap(value, dtype) for value in values]
            with columns.for_(0, self.m) as (c, r):
                total = c.load(tile.chains, [r, j])
                for step, b in enumerate(factors):
                    a = c.load(tile.left, [r, dim(step)])
                    total = c.b.fma(a, b, total) if fused else total + a * b
                c.store(total, tile.chains, [r, j])


@dataclass(frozen=True)
class _ColumnTile:
    """Columns from a first one on; the chains of all rows for these, and what of the left operand goes by."""

    first: Dim
    columns: Dim
    chains: SSAValue
    left: SSAValue
