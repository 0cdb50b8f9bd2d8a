"""Software prefetch: innermost loops prefetch the cache lines of their streams ahead of the loads and stores.

A hardware prefetcher stops at the end of each page, and of a long body only a few iterations are in flight.  So an
innermost loop prefetches, for each of its streams, at a distance at which all of them together are what memory
transfers during its latency (`CostModel.prefetch_distance`).  Operands that fit L1 and non-temporal stores are not
prefetched.  A transposed tile comes back to each row: its prefetches are half a tile ahead.  Processors whose hardware
prefetcher suffices need less (`CostModel.has_hw_prefetch`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeGuard

from xdsl.ir import Block, Operation, SSAValue

from ....dialects import loop
from ....dialects.dims.analysis import expand_mods, linear_in
from ....dialects.dims.dims import Dim, Sym, dim, maximum, minimum, sym
from ....dialects.dims.index_map import product
from ...cost.model import CostModel, assumed_number
from ..access import buffer_info, is_thread_memory

__all__ = ["insert_prefetches"]

#: How often a row that is not short has the distance to what it asks for.
_SHORT = 4

Access = loop.LoadOp | loop.StoreOp
Loop = loop.ForOp | loop.ReduceOp


def insert_prefetches(block: Block, before: Operation | None, costs: CostModel) -> None:
    """Let the innermost loops of a block that stand behind an operation of it ask for what they come to."""
    op = block.first_op if before is None else before.next_op
    while op is not None:
        for inner in list(op.walk()):
            if _is_innermost(inner):
                _prefetch_loop(inner, costs)
        op = op.next_op


def _is_innermost(op: Operation) -> TypeGuard[Loop]:
    """Whether an operation is a loop in vectors that has no loop inside."""
    return isinstance(op, loop.ForOp | loop.ReduceOp) and op.vector.value.data != 1 and not any(_inside(op))


def _inside(op: Operation) -> Iterator[Operation]:
    """What of the ops in a loop has regions of its own."""
    return (inner for inner in op.walk() if inner is not op and inner.regions)


def _prefetch_loop(op: Loop, costs: CostModel) -> None:
    streams, first = _leading_accesses(op, op.symbol, costs), op.regions[0].block.first_op
    assert first is not None
    row, asks, reads_only = _tile_row_length(op), dim(1), costs.has_hw_prefetch
    if reads_only:
        asks = _prefetch_enabled(streams, costs)
    if asks.const == 0:
        return
    for access in streams:
        info, where = buffer_info(access.buffer), None
        if reads_only and isinstance(access, loop.StoreOp):
            continue
        if row is None:
            offset = _prefetch_address(
                op, access, costs.prefetch_distance(len(streams)) // info.dtype.bytes, asks, costs
            )
        else:
            offset = {op.symbol: sym(op.symbol.name) + row // 2 * asks}
        if isinstance(access, loop.StoreOp) and access.nontemporal is not None:
            where = dim(access.nontemporal.value.data) - product(info.dims) * info.dtype.bytes
        index = [e.substitute(offset) for e in access.index.data]
        asked = loop.PrefetchOp(access.buffer, index, where=where, writes=isinstance(access, loop.StoreOp))
        op.regions[0].block.insert_op_before(asked, first)


def _prefetch_enabled(streams: Sequence[Access], costs: CostModel) -> Dim:
    """1 where a loop asks a processor that foresees most of what it comes to, else 0."""
    stores = [access for access in streams if isinstance(access, loop.StoreOp)]
    total = dim(0)
    for info in (buffer_info(access.buffer) for access in streams):
        total = total + product(info.dims) * info.dtype.bytes
    if not stores:
        return costs.prefetch_reads(total)
    if len(streams) - len(stores) != 1 or not any(access.nontemporal is not None for access in stores):
        return dim(0)
    return costs.prefetch_beside_nontemporal(total)


def _tile_row_length(op: Operation) -> int | None:
    """The elements of a tile's row that a loop goes along, with as many rows side by side as vectors have lanes."""
    rows = op.parent_op()
    if not isinstance(op, loop.ForOp) or not isinstance(rows, loop.ForOp) or rows.unroll.value != op.vector.value:
        return None
    outer = rows.parent_op()
    if not isinstance(outer, loop.ForOp) or op.lower.data is not sym(outer.symbol.name):
        return None
    return outer.step.data.const


def _prefetch_address(op: Loop, access: Access, ahead: int, asks: Dim, costs: CostModel) -> dict[Sym, Dim]:
    """Where iterators stand when a loop comes to what it asks for, `ahead` elements in front where it `asks`.

    Where it does not it asks for what it is at, which costs less than a branch.  Behind the end of a row memory may
    have what the loop does not come to: a short row asks for the next one then.
    """
    symbol, info, around, row = op.symbol, buffer_info(access.buffer), op.parent_op(), op.upper.data
    here = sym(symbol.name)
    if not isinstance(around, loop.ForOp | loop.ParallelOp) or around.symbol in row.symbols():
        return {symbol: here + ahead * asks}
    if around.symbol not in op.lower.data.symbols():  # where a row's first whole line begins is no part of its length
        row = row - op.lower.data
    parts = linear_in(expand_mods(info.address(access.index.data)), [around.symbol])
    step = dim(0) if parts is None else parts[0].get(around.symbol, dim(0))
    apart = step - row - int(costs.machine.cache_line) // info.dtype.bytes
    if apart.const is not None and apart.const <= 0:
        return {symbol: here + ahead * asks}
    next_row = minimum(1, maximum(0, minimum(apart, _SHORT * ahead - row))) * asks
    return {symbol: here + ahead * (asks - next_row), around.symbol: sym(around.symbol.name) + next_row}


def _leading_accesses(op: Operation, symbol: Sym, costs: CostModel) -> list[Access]:
    """For each buffer that a loop goes along the access that is in front: the others come to what it came to.

    Places that are data are known too late.
    """
    front: dict[SSAValue, tuple[float, Access]] = {}
    ops = op.regions[0].block.ops
    found_inside = {Sym(bound.symbol.data) for bound in ops if isinstance(bound, loop.BindOp)}
    for access in ops:
        if not isinstance(access, Access) or access.guards is not None or _fits_l1(access, costs):
            continue
        if any(e.symbols() & found_inside for e in access.index.data):
            continue
        address = expand_mods(buffer_info(access.buffer).address(access.index.data))
        parts = linear_in(address, [symbol])
        if parts is None or parts[0].get(symbol, dim(0)).const != 1:
            continue
        offset = assumed_number(address)
        if access.buffer not in front or front[access.buffer][0] < offset:
            front[access.buffer] = (offset, access)
    return [access for _, access in front.values()]


def _fits_l1(access: Access, costs: CostModel) -> bool:
    """Whether the first cache holds a buffer: a thread's own, or one that is known to be small."""
    info = buffer_info(access.buffer)
    size = product(info.dims).const
    is_small = size is not None and size * info.dtype.bytes <= costs.machine.l1_bytes
    return is_small or is_thread_memory(access.buffer)
