"""Contractions of f16 and bf16 to grids whose warps multiply by matrix units.

A block makes a tile of results.  Its threads bring a piece of both operands into block memory, 16 bytes each where
memory is contiguous and aligned (any transpose, view or map of them is absorbed there), in turns into one half of it
and the other; its warps multiply what is there.  What lies beyond K is zero.  The sums come into block memory, from
where threads finish and store them in rows.
"""

from __future__ import annotations

from xdsl.ir import Block, SSAValue

from ..dialects import kernel, loop
from ..dialects.attributes import BufferInfo, scalar_dtype
from ..dialects.body_builder import BodyBuilder
from ..dialects.dims import Dim, Sym, dim, minimum, packed_strides
from ..dialects.index_map import product, unravel
from ..dialects.types import DTYPES, DType
from .contraction import Factors
from .gpu_loops import gpu_block, gpu_threads, in_lanes
from .loop_writer import LoopWriter, accesses, bound, either
from .schedule_gpu_contract import along_k, point_of_contraction
from .schedule_gpu_map import aligned_where
from .schedule_map import Group

__all__ = ["schedule_gpu_units"]

#: A tile of results, elements along K of a piece, threads of a block.
ROWS, COLUMNS, DEPTH, THREADS = 128, 64, 32, 256
#: Elements of 16 bytes.
VECTOR = 8
#: Elements between rows of a piece and of the sums, so that rows begin in different banks.
PAD = 8


def schedule_gpu_units(
    writer: LoopWriter, nest: kernel.GenericOp, factors: Factors, narrow: tuple[SSAValue, SSAValue], block: Block
) -> None:
    """Grids for a contraction in the order ``unit`` whose factors are `narrow` before they are widened."""
    made = _Units(writer, nest, factors, narrow)
    zeros = made.aligned()
    if zeros is None:
        made.write(block, 1, ())
    else:
        either(block, 1 - sum(zeros, dim(0)), lambda b: made.write(b, VECTOR, zeros), lambda b: made.write(b, 1, ()))


class _Units:
    def __init__(self, writer: LoopWriter, nest: kernel.GenericOp, factors: Factors, narrow: tuple[SSAValue, SSAValue]):
        self.writer, self.nest, self.factors, self.narrow = writer, nest, factors, narrow
        extents = nest.extents.data
        self.m, self.n, self.stack = (
            product([extents[i] for i in which]) for which in (factors.left, factors.right, factors.batch)
        )
        self.k = extents[-1]
        self.along = along_k(nest, factors.left), along_k(nest, factors.right)

    def aligned(self) -> tuple[Dim, ...] | None:
        """What must be 0 where vectors of both operands and of the result are aligned; None where they never are."""
        if len(self.factors.left) != 1 or len(self.factors.right) != 1:
            return None
        zeros: dict[Dim, None] = {}
        k = Group((Sym(f"d{self.nest.n_parallel}"),), (self.k,))
        left, right = (
            Group((Sym(f"d{i[0]}"),), (e,)) for i, e in ((self.factors.left, self.m), (self.factors.right, self.n))
        )
        walks = accesses(self.nest)
        for own, along in ((left, self.along[0]), (right, self.along[1])):
            group = k if along else own
            found = aligned_where(self.nest, group, VECTOR)
            contiguous = any((step := w.step(group.symbols[-1])) is not None and step.const == 1 for w in walks)
            if found is None or not contiguous:
                return None
            zeros.update(dict.fromkeys((*found, group.extent % VECTOR, right.extent % VECTOR)))
        return tuple(z for z in zeros if z is not dim(0))

    def write(self, block: Block, width: int, zeros: tuple[Dim, ...]) -> None:
        writer, number, body = self.writer, self.writer.fresh(), Block()
        across, down = (self.n + (COLUMNS - 1)) // COLUMNS, (self.m + (ROWS - 1)) // ROWS
        column = bound(writer, body, number % across) * COLUMNS
        row = bound(writer, body, number // across % down) * ROWS
        places = unravel(number // (across * down), [self.nest.extents.data[i] for i in self.factors.batch])
        batch = {Sym(f"d{i}"): bound(writer, body, p) for i, p in zip(self.factors.batch, places)}
        start = writer.fresh()
        half, pieces, size = start // DEPTH % 2, Block(), 0
        memories: list[SSAValue] = []
        for side, (own, base) in enumerate(((ROWS, row), (COLUMNS, column))):
            shape = (own, DEPTH + PAD) if self.along[side] else (DEPTH, own + PAD)
            memory = _memory(body, scalar_dtype(self.narrow[side].type), (2, *shape), size)
            size += 2 * shape[0] * shape[1] * 2
            memories.append(memory)
            self._bring(pieces, side, memory, half, start, base, batch, width)
        pieces.add_ops([loop.BarrierOp(), loop.YieldOp()])
        sums = _memory(body, DTYPES["f32"], (ROWS, COLUMNS + PAD), 0)
        turned = not self.along[0], not self.along[1]
        operands = memories[0], memories[1], sums
        body.add_op(loop.MatrixFoldOp(str(start), 0, self.k, DEPTH, pieces, operands, half, (ROWS, COLUMNS), turned))
        self._finish(body, sums, row, column, batch, width)
        shared = max(size, ROWS * (COLUMNS + PAD) * 4)
        block.add_op(gpu_block(number, self.stack * across * down, body, THREADS, shared=shared, zeros=zeros))

    def _bring(
        self, block: Block, side: int, memory: SSAValue, half: Dim, start: Dim, base: Dim, batch: dict[Sym, Dim],
        width: int,
    ) -> None:  # fmt: skip
        """A piece of one operand, several vectors a thread."""
        own, extent = (ROWS, self.m) if side == 0 else (COLUMNS, self.n)
        thread, copy, lane = (self.writer.fresh() for _ in range(3))
        vector, body = thread + copy * THREADS, Block()
        # What is beyond the edges repeats what is there, and nobody asks for it; beyond K there are zeros.
        if self.along[side]:
            beside, first = vector // (DEPTH // width), vector % (DEPTH // width) * width
            here, k = minimum(base + beside, extent - 1), minimum(start + first, self.k - width) + lane
            place = [half, beside, first + lane]
        else:
            first, beside = vector // (own // width), vector % (own // width) * width
            here, k = minimum(base + beside, extent - width) + lane, minimum(start + first, self.k - 1)
            place = [half, first, beside + lane]
        row, column = (here, dim(0)) if side == 0 else (dim(0), here)
        point = point_of_contraction(self.nest, self.factors, batch, row, column, k)
        value = self.writer.factor(self.nest, self.narrow[side], point, body)
        code, dtype = BodyBuilder(body), scalar_dtype(value.type)
        there = code.index(self.k - start - first) > 0
        kept = code.select(there, code.wrap(value, dtype), code.constant(0, dtype))
        body.add_op(loop.StoreOp(code.ssa(kept), memory, place))
        copies = own * DEPTH // width // THREADS
        block.add_op(gpu_threads(thread, 0, THREADS, in_lanes(copy, in_lanes(lane, body, vector=width), unroll=copies)))

    def _finish(
        self, block: Block, sums: SSAValue, row: Dim, column: Dim, batch: dict[Sym, Dim], width: int
    ) -> None:  # fmt: skip
        thread, copy, lane = (self.writer.fresh() for _ in range(3))
        vector, body = thread + copy * THREADS, Block()
        down, across = vector // (COLUMNS // width), vector % (COLUMNS // width) * width
        total = loop.LoadOp(sums, [down, across + lane])
        body.add_op(total)
        point = point_of_contraction(self.nest, self.factors, batch, row + down, column + across + lane, dim(0))
        self.writer.within = (self.m - 1 - row - down, self.n - 1 - column - across)
        self.writer.finish(self.nest, [total.result], point, body)
        self.writer.within = ()
        copies = ROWS * COLUMNS // width // THREADS
        block.add_op(gpu_threads(thread, 0, THREADS, in_lanes(copy, in_lanes(lane, body, vector=width), unroll=copies)))


def _memory(block: Block, dtype: DType, shape: tuple[int, ...], offset: int) -> SSAValue:
    dims = tuple(dim(s) for s in shape)
    made = loop.AllocOp(BufferInfo(dtype, dims, packed_strides(dims)), offset, "block")
    block.add_op(made)
    return made.result
