"""In-place stencils: results computed from the neighbours of what they replace, in one pass over memory, not two.

``y[1:-1] = (y[:-2] + y[2:]) / 2`` is a nest that computes all new rows into a temporary, because later rows read what
earlier ones replace, and a copy of it back.  A row is read only by rows at a distance of at most `reach`.  So a new row
goes to a ring buffer of a few, and from there to its place as soon as the last row that reads the old elements has been
computed: memory is read once and written once.

Threads share the rows in chunks.  The first and the last rows of a chunk are read by its neighbours, which run at any
time: these stay in the chunk's part of the temporary until all are done.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeGuard

from xdsl.ir import Block, Operation, SSAValue

from ....dialects import kernel, loop
from ....dialects.attributes import BufferInfo
from ....dialects.dims.dims import Dim, Sym, dim, maximum, minimum, packed_strides, sym
from ....dialects.dims.index_map import IndexMap, product
from ...cost.kernel_stats import remark_kernel
from ...cost.remarks import enabled
from ...cost.work import bytes_of
from ..access import buffer_info
from ..blocks import for_loop, parallel_loop
from ..body import ScheduleContext
from ..function import materialize_dim
from ..parallelize import split_range

__all__ = ["InPlaceStencil", "match_stencil", "schedule_ring_buffer"]

#: Appends the loops of a nest whose first iterator stands somewhere already.
Nest = Callable[[kernel.GenericOp, Block, dict[Sym, Dim]], None]
#: How often a chunk has the rows that stay until all chunks are done.
LEAST = 8
FIRST = Sym("d0")


@dataclass(frozen=True)
class InPlaceStencil:
    """`compute` computes a temporary of rows of a buffer no further than `reach` from those that `copy_back`
    replaces."""

    compute: kernel.GenericOp
    copy_back: kernel.GenericOp
    reach: int

    @property
    def temporary(self) -> loop.AllocOp:
        owner = self.copy_back.ins[0].owner
        assert isinstance(owner, loop.AllocOp)
        return owner


def match_stencil(compute: Operation) -> InPlaceStencil | None:
    """The update that a nest begins and the next one ends; None for any other nest."""
    copy_back = compute.next_op
    if not (_is_map(compute) and _is_map(copy_back) and _is_copy(copy_back)):
        return None
    temporary, target = copy_back.ins[0], copy_back.outs[0]
    into, out = compute.maps_out()[0], copy_back.maps_out()[0]
    if compute.outs[0] is not temporary or compute.extents != copy_back.extents or len(compute.extents.data) < 2:
        return None
    info, written = buffer_info(target), _row(out)
    if not into.is_identity or not copy_back.maps_in()[0].is_identity or written is None or out.guards:
        return None
    if not _is_arena(temporary, {compute, copy_back}) or info.strides != packed_strides(info.dims):
        return None
    reach = 0
    for value, index in zip(compute.ins, compute.maps_in()):
        if value is target:
            row = _row(index)
            distance = None if row is None else (row - written).const
            if distance is None:
                return None
            reach = max(reach, abs(distance))
    return InPlaceStencil(compute, copy_back, reach) if reach and not compute.reads_at_computed({target}) else None


def _is_map(op: Operation | None) -> TypeGuard[kernel.GenericOp]:
    return isinstance(op, kernel.GenericOp) and not op.is_reduction and len(op.outs) == 1


def _is_copy(op: kernel.GenericOp) -> bool:
    last = op.body.block.last_op
    return op.body.block.first_op is last and last is not None and list(last.operands) == list(op.body.block.args)


def _row(index: IndexMap) -> Dim | None:
    """How far the row that an access is in, the first dim's index, is from the first iterator; None where it varies."""
    distance = index.exprs[0] - sym(FIRST.name)
    return None if distance.symbols() & set(index.bounds) else distance


def _is_arena(buffer: SSAValue, users: set[Operation]) -> bool:
    """Whether it is a temporary of all threads that nobody else uses."""
    owner = buffer.owner
    return (
        isinstance(owner, loop.AllocOp)
        and owner.scope.data == "arena"
        and {use.operation for use in buffer.uses} == users
    )


def schedule_ring_buffer(
    context: ScheduleContext, update: InPlaceStencil, block: Block, nest: Nest, otherwise: Callable[[Block], None]
) -> None:
    """One pass over memory where there are enough rows, and L2 holds those of a ring; `otherwise` two."""
    _RingBuffer(context, update, nest).write(block, otherwise)


class _RingBuffer:
    def __init__(self, context: ScheduleContext, update: InPlaceStencil, nest: Nest):
        self.context, self.update, self.nest = context, update, nest
        self.rows, *across = update.compute.extents.data
        self.points, self.reach = product(across), update.reach
        self.info = buffer_info(update.temporary.result)
        #: Rows of a chunk's part of the temporary: those that its first ones stay in, then the ring.
        self.ring = 2 * self.reach + 1
        self.held = self.reach + self.ring

    def write(self, block: Block, otherwise: Callable[[Block], None]) -> None:
        if enabled():
            self._remark()
        row = self.points * self.info.dtype.bytes
        fits = int(self.context.costs.machine.l2_bytes) // (2 * self.held) - row
        enough = minimum(fits, self.rows - LEAST * self.reach)
        self.context.if_positive(block, enough, self._single_pass, otherwise)

    def _remark(self) -> None:
        moved = 2 * bytes_of(self.update.temporary.result)
        choices = {
            way: self.context.costs.transfer_ns(n * moved, in_l2=False)
            for way, n in (("in place", 1), ("through a temporary", 2))
        }
        why = f"the stencil reads rows at distance {self.reach} at most"
        remark_kernel("stencil", self.update.compute, "in place, one pass with a ring buffer", why, choices)

    def _single_pass(self, block: Block) -> None:
        context, rows = self.context, self.rows
        grain = context.grain(self.points, self.update.compute)
        most = rows // maximum(LEAST * self.reach, grain)
        chunks = materialize_dim(context, block, maximum(1, minimum(context.threads(block), most)))
        held = self._temporary(block, chunks)
        with context.temporarily(nontemporal=False):
            chunk = context.new_iv()
            with parallel_loop(block, chunk, 0, chunks) as body:
                self._chunk(body, held, chunk, *split_range(context, body, rows, chunk, chunks))
            chunk = context.new_iv()
            with for_loop(block, chunk, 0, chunks) as body:
                first, end = split_range(context, body, rows, chunk, chunks)
                count = materialize_dim(context, body, end - first)
                for lower, upper in ((dim(0), dim(self.reach)), (count - self.reach, count)):
                    self._copy_back(body, held, chunk, first, lower, upper)

    def _temporary(self, block: Block, chunks: Dim) -> SSAValue:
        """Rows of all chunks, in the memory that there is for all of them."""
        dims = (chunks, dim(self.held), *self.info.dims[1:])
        made = loop.AllocOp(BufferInfo.packed(self.info.dtype, dims), self.update.temporary.offset.data)
        block.add_op(made)
        return made.result

    def _chunk(self, block: Block, held: SSAValue, chunk: Dim, first: Dim, end: Dim) -> None:
        """New rows one after another, each followed by the one that nobody reads any more, but of the first ones."""
        row, reach = self.context.new_iv(), self.reach
        with for_loop(block, row, 0, end - first) as body:
            made = self._replaced(self.update.compute, held, (chunk, self._slot(body, row)))
            self._row(made, body, first + row)
            self._copy_back(body, held, chunk, first, maximum(reach, row - reach), row + (1 - reach))

    def _copy_back(self, block: Block, held: SSAValue, chunk: Dim, first: Dim, lower: Dim, upper: Dim) -> None:
        """The rows `lower` to `upper` of a chunk to their places."""
        row = self.context.new_iv()
        with for_loop(block, row, lower, upper) as body:
            kept = self._replaced(self.update.copy_back, held, (chunk, self._slot(body, row)))
            self._row(kept, body, first + row)

    def _row(self, nest: kernel.GenericOp, block: Block, row: Dim) -> None:
        self.nest(nest, block, {FIRST: row})
        nest.erase()

    def _replaced(self, nest: kernel.GenericOp, held: SSAValue, place: tuple[Dim, Dim]) -> kernel.GenericOp:
        """The nest with rows of a chunk in place of the temporary."""
        made, temporary = nest.clone(), self.update.temporary.result
        made.redirect(lambda v, m: (held, replace(m, exprs=(*place, *m.exprs[1:]))) if v is temporary else (v, m))
        return made

    def _slot(self, block: Block, row: Dim) -> Dim:
        """Where a row of a chunk is held."""
        slot = minimum(row, self.reach) + maximum(0, row - self.reach) % self.ring
        return materialize_dim(self.context, block, slot)
