"""Runs the stage `loops`: explicit loops over explicit memory.

Iterators of `loop.parallel` and of loops with lanes become axes of a batch, so that each load, store and scalar op
runs once for all their iterations; other loops run one iteration after another.  Each iteration of the parallel
loops has thread memory of its own, each block of a GPU's grid block memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.dims.dims import Dim, dim, sym
from ...dialects.dims.index_map import unravel
from ...dialects.loop import (
    AmxOp,
    AsyncCopyOp,
    BarrierOp,
    BulkCopyOp,
    ForOp,
    IfOp,
    MergeOp,
    MmaOp,
    ParallelOp,
    PartitionOp,
    ReduceOp,
    ScanOp,
    ShuffleOp,
    TensorMapOp,
    WhileOp,
)
from ...dialects.loop.amx import ELEMENT, TILE
from ...dialects.loop.base import Ranged
from ...dialects.matrix_units import GRANULE, LINE, StageTile
from ...dialects.types import DTYPES
from .frame import Frame, naming
from .memory import Arena, evaluate
from .reduction_order import reduce_in_order, scan, unit_sum
from .scalar_ops import InterpretError, literal
from .setup import enter, function_of

__all__ = ["run"]

Array = np.ndarray[Any, Any]

#: Points of a batch that loops with lanes may fill; iterations of a parallel loop computed at once; thread memory.
_POINTS, _ITERATIONS, _BYTES = 1 << 21, 4096, 64 << 20


def run(module: ModuleOp, arrays: Sequence[Array], symbols: Mapping[str, int], *, has_fma: bool = True) -> list[Array]:
    """Run the module's function on all its buffers, in order; outputs are written in place and `arrays` comes back.

    `symbols` gives the run-time symbols; those that are a dim of an argument need no value.  Raises InterpretError,
    naming the op, for an access out of bounds and for a program or arguments that cannot run.
    """
    function = function_of(module)
    frame = enter(function, arrays, symbols, has_fma)
    _block(frame, function.body.block)
    return list(arrays)


def _block(frame: Frame, block: Block) -> Sequence[SSAValue]:
    """Run a block's ops and give the operands of its terminator."""
    last = block.last_op
    assert last is not None
    for op in block.ops:
        if op is last:
            break
        try:
            _op(frame, op)
        except InterpretError as error:
            raise naming(op, error) from None
    return last.operands


def _op(frame: Frame, op: Operation) -> None:
    handler = _HANDLERS.get(type(op))
    if handler is not None:
        handler(frame, op)
    elif not frame.run_scalar(op):
        raise InterpretError("does not belong to the stage loops")


def _for(frame: Frame, op: ForOp) -> None:
    (_lanes if op.lanes > 1 else _sequential)(frame, op)


def _if(frame: Frame, op: IfOp) -> None:
    holds = frame.values[op.condition]
    for condition, region in ((holds, op.then), (~holds, op.otherwise)):
        inner = frame.masked(condition)
        if inner is not None:
            _block(inner, region.block)


def _nothing(frame: Frame, op: Operation) -> None:
    """Copies find what a `loop.tensor_map` says there; every op runs for all threads before the next one does."""


def _bounds(frame: Frame, op: Ranged) -> tuple[Any, Any, int]:
    """Lower and upper bound (arrays where they differ between points of the batch) and step."""
    lower, upper, step = (evaluate(e.data, frame.env) for e in (op.lower, op.upper, op.step))
    if np.ndim(step) or step <= 0:
        raise InterpretError(f"the step is {step}: it must be one positive number")
    return lower, upper, int(step)


def _longest(lower: Any, upper: Any, step: int) -> int:
    """The number of iterations, the largest of the batch."""
    lengths = -((lower - upper) // step)
    return max(0, int(np.max(lengths, initial=0)))


def _axis(
    frame: Frame, op: ParallelOp | ForOp | MergeOp | PartitionOp, lower: Any, upper: Any, step: int, part: range
) -> Frame | None:
    """The frame in which the iterator runs over a part of its iterations as a new axis; None where all are masked."""
    inner = frame.bind_axis(op.symbol, step * np.arange(part.start, part.stop) + (0 if np.ndim(lower) else lower))
    if np.ndim(lower):
        inner.env[op.symbol] = inner.env[op.symbol] + lower
    if np.ndim(lower) or np.ndim(upper):
        return inner.masked(inner.env[op.symbol] < upper)
    return inner


def _parts(count: int, size: int) -> list[range]:
    size = max(1, size)
    return [range(first, min(first + size, count)) for first in range(0, count, size)]


def _volume(batch: tuple[int, ...]) -> int:
    return int(np.prod(batch, dtype=np.int64))


def _parallel(frame: Frame, op: ParallelOp) -> None:
    lower, upper, step = _bounds(frame, op)
    copies, outermost = frame.private.copies, isinstance(frame.worker, int)
    size = min(_ITERATIONS, _BYTES // max(1, frame.private.size)) // max(1, copies)
    if op.kind.data == "gpu_block":
        _check_zeros(frame, op)
        size = _ITERATIONS // op.n_threads
    elif op.kind.data != "cpu_thread":
        size = _ITERATIONS  # the threads of a block stay together: they may wait for each other
    for part in _parts(_longest(lower, upper, step), size):
        inner = _axis(frame, op, lower, upper, step, part)
        if inner is None:
            continue
        # A parallel loop inside another starts from what the outer iteration has in its thread memory.
        inner.private = Arena(frame.private.size, len(part) * copies)
        if not outermost:
            inner.private.bytes.reshape(len(part), -1)[:] = frame.private.bytes
        number = np.arange(len(part)).reshape((-1,) + (1,) * len(frame.batch))
        inner.worker = number * copies + frame.worker
        if op.kind.data == "gpu_block":
            inner.shared, inner.team = Arena(int(evaluate(op.shared_bytes, frame.env)), len(part)), number
        _block(inner, op.block)


def _check_zeros(frame: Frame, op: ParallelOp) -> None:
    for expr in op.aligned.data if op.aligned is not None else ():
        if np.any(evaluate(expr, frame.env)):
            raise InterpretError(f"{expr} is {evaluate(expr, frame.env)}, and the loop says that it is 0")


def _lanes(frame: Frame, op: ForOp) -> None:
    lower, upper, step = _bounds(frame, op)
    for part in _parts(_longest(lower, upper, step), _POINTS // max(1, _volume(frame.batch))):
        inner = _axis(frame, op, lower, upper, step, part)
        if inner is not None:
            _block(inner, op.block)


def _sequential(frame: Frame, op: ForOp) -> None:
    lower, upper, step = _bounds(frame, op)
    values = frame.values
    carried = [values[v] for v in op.inits]
    for t in range(_longest(lower, upper, step)):
        at = lower + t * step
        inner = frame.masked(at < upper) if np.ndim(lower) or np.ndim(upper) else frame.fork()
        if inner is None:
            break
        inner.env[op.symbol] = at
        frame.values.update(zip(op.block.args, carried, strict=True))
        given = [frame.values[v] for v in _block(inner, op.block)]
        carried = [_chosen(inner.active, new, old) for new, old in zip(given, carried)]
        if op.break_flag is not None:
            # A point of the batch that is done stays out of the iterations that others still run.
            going = frame.masked(~given[-1])
            if going is None:
                break
            frame = going
    values.update(zip(op.outs, carried, strict=True))


def _chosen(active: Array | None, new: Array, old: Array) -> Array:
    return new if active is None else np.where(active, new, old)


def _while(frame: Frame, op: WhileOp) -> None:
    inner: Frame | None = frame.fork()
    while inner is not None:
        (condition,) = _block(inner, op.condition.block)
        inner = inner.masked(frame.values[condition])
        if inner is not None:
            _block(inner, op.body.block)


def _reduce(frame: Frame, op: ReduceOp) -> None:
    lower, upper, _ = _bounds(frame, op)
    counts = np.maximum(0, np.asarray(upper - lower))
    results: list[Array] | None = None
    # An order depends on the number of elements: points of the batch that have another number are reduced separately.
    for count in np.unique(counts) if counts.ndim else [counts]:
        inner = frame.masked(counts == count) if counts.ndim else frame.fork()
        if inner is None:
            continue
        accumulators = _reduce_range(inner, op, lower, int(count))
        results = (
            [_chosen(inner.active, s, r) for s, r in zip(accumulators, results)] if results else list(accumulators)
        )
    assert results is not None, "an active frame has a point with some number of elements"
    frame.values.update(zip(op.outs, results, strict=True))


def _reduce_range(frame: Frame, op: ReduceOp, lower: Any, count: int) -> tuple[Array, ...]:
    def element(ks: Array) -> tuple[Array, ...]:
        inner = frame.fork(batch=(len(ks), *frame.batch))
        inner.env[op.symbol] = lower + ks
        return tuple(frame.values[v] for v in _block(inner, op.body.block))

    def combine(older: tuple[Array, ...], newer: tuple[Array, ...]) -> tuple[Array, ...]:
        return frame.run_body(op.combiner.block, older + newer)

    identity = [literal(i) for i in op.identity.data]
    return reduce_in_order(op.order.data, count, element, combine, identity, frame.batch, frame.scalars.fma)


def _mma(frame: Frame, op: MmaOp) -> None:
    """Stage tiles are filled when they are needed, so a copy beside its thread arrives at once."""
    lower, upper, step = _bounds(frame, op)
    rows, columns = op.shape
    depth = op.unit.depth
    total = np.zeros((rows, columns, *frame.batch), DTYPES[op.unit.sums].numpy)

    def elements(buffer: SSAValue, stage_tile: StageTile) -> Array:
        """Those of a tile, along `step` first."""
        inner, k, beside = _matrix(frame, step, stage_tile.size)
        found = inner.load(buffer, (op.slot, *stage_tile.index(beside, k)))
        return np.broadcast_to(found, (step, stage_tile.size, *frame.batch))

    for t in range(_longest(lower, upper, step)):
        inner = frame.fork()
        inner.env[op.symbol] = frame.env[op.symbol] = lower + t * step
        _block(inner, op.body.block)
        a, b = (elements(*side) for side in zip((op.left, op.right), op.stage_tiles))
        for k in range(0, step, depth):
            total = unit_sum(a[k : k + depth, :, None], b[k : k + depth, None], total)
    inner, row, column = _matrix(frame, rows, columns)
    inner.store(op.sums, (row, column), total)


def _amx(frame: Frame, op: AmxOp) -> None:
    lower, upper, step = _bounds(frame, op)
    rows, columns = (TILE * tiles for tiles in op.tiles)
    depth, factor = op.unit.depth, DTYPES[ELEMENT].numpy
    total = np.zeros((rows, columns, *frame.batch), DTYPES[op.unit.sums].numpy)
    for t in range(_longest(lower, upper, step)):
        frame.env[op.symbol] = lower + t
        for i, j in op.unit.products:
            inner, k, row = _matrix(frame, depth, rows)
            a = inner.load(op.left, (*op.left_at.data, dim(i), row // TILE, row % TILE, k))
            inner, pair, column = _matrix(frame, depth // 2, columns)
            words = inner.load(op.right, (*op.right_at.data, dim(j), column // TILE, pair, column % TILE))
            halves = (words.astype(np.uint32) >> shift & 0xFFFF for shift in (0, 16))
            low, high = (half.astype(np.uint16).view(factor) for half in halves)
            b = np.stack((low, high), axis=1).reshape(depth, *low.shape[1:])
            a, b = (np.broadcast_to(x, (depth, n, *frame.batch)) for x, n in ((a, rows), (b, columns)))
            total = unit_sum(a[:, :, None], b[:, None], total)
        _block(frame, op.block)
    inner, row, column = _matrix(frame, rows, columns)
    inner.store(op.sums, (row, column), total)


def _matrix(frame: Frame, rows: int, columns: int) -> tuple[Frame, Dim, Dim]:
    """A frame whose batch has the points of a matrix besides, and their rows and columns there."""
    inner = frame.fork(batch=(rows, columns, *frame.batch))
    places = sym("..row"), sym("..column")
    for place, size, above in zip(places, (rows, columns), (1, 0)):
        assert place.symbol is not None
        inner.env[place.symbol] = np.arange(size).reshape((size, *(1,) * (above + len(frame.batch))))
    return inner, *places


def _async_copy(frame: Frame, op: AsyncCopyOp) -> None:
    for k in range(op.elements.value.data):
        index, to = ((*e.data[:-1], e.data[-1] + k) for e in (op.index, op.to))
        frame.store(op.target, to, frame.load(op.source, index, op.guard_exprs))


def _bulk_copy(frame: Frame, op: BulkCopyOp) -> None:
    """As a copy beside its thread it arrives at once."""
    made = op.tensor.owner
    assert isinstance(made, TensorMapOp)
    elements = op.box.sizes[-1]
    inner, line, along = _matrix(frame, op.lines, elements)
    within = (*unravel(line, [dim(size) for size in op.box.sizes[:-1]]), along)
    point = [start + offset for start, offset in zip(op.at.data, within, strict=True)]
    index = made.index.data
    named = dict(zip(index.bounds, point, strict=True))
    there = tuple(extent - 1 - place for extent, place in zip(index.extents, point, strict=True))
    found = inner.load(made.source, tuple(e.substitute(named) for e in index.exprs), there)
    granules, each = LINE // GRANULE, GRANULE // op.box.dtype.bytes
    inner.store(op.target, (*op.to.data, line, (along // each) ^ line % granules, along % each), found)


def _merge(frame: Frame, op: MergeOp) -> None:
    """Element by element, for all iterations of a part at once."""
    lower, upper, step = _bounds(frame, op)
    length, width = evaluate(op.length.data, frame.env), op.vector.value.data
    if np.any(length % width):
        raise InterpretError(f"the length is {length}: it must be a multiple of {width}")
    at = sym("..at")
    symbol = at.symbol
    assert symbol is not None

    for part in _parts(_longest(lower, upper, step), _POINTS // max(1, _volume(frame.batch))):
        inner = _axis(frame, op, lower, upper, step, part)
        if inner is None:
            continue
        first, first_end, second, second_end, place = (frame.values[v] for v in _block(inner, op.body.block))

        def load(index: Array, inner: Frame = inner) -> Array:
            inner.env[symbol] = index
            return inner.load(op.source, (at,))

        for end in (first_end, second_end):
            behind = np.stack([load(end + k) for k in range(width)])
            if np.any((behind != np.iinfo(behind.dtype).max) & _running(inner)):
                raise InterpretError(f"a run is followed by less than {width} elements of the largest value")
        for t in range(int(np.max(length))):
            x, y = load(np.minimum(first, first_end)), load(np.minimum(second, second_end))
            inner.env[symbol] = place + t
            inner.store(op.target, (at,), np.where(x < y, x, y), ((op.length.data - 1) - t,))
            first, second = first + (x < y), second + (x >= y)


def _partition(frame: Frame, op: PartitionOp) -> None:
    """So many iterations at once as the op says that stay in their order."""
    lower, upper, step = _bounds(frame, op)
    start, high = (evaluate(e.data, frame.env) + np.zeros(frame.batch, np.int64) for e in (op.low, op.high))
    low = start
    at = sym("..at")
    assert at.symbol is not None
    for part in _parts(_longest(lower, upper, step), op.vector.value.data):
        inner = _axis(frame, op, lower, upper, step, part)
        if inner is None:
            break
        value, is_first = (frame.values[v] for v in _block(inner, op.body.block))
        there = np.broadcast_to(_running(inner), inner.batch)
        firsts, others = is_first & there, ~is_first & there
        from_low = low + np.cumsum(firsts, axis=0) - 1
        high = high - np.sum(others, axis=0)
        inner.env[at.symbol] = np.where(firsts, from_low, high + np.cumsum(others, axis=0) - 1)
        inner.store(op.target, (at,), value)
        low = low + np.sum(firsts, axis=0)
    frame.values[op.count] = low - start


def _shuffle(frame: Frame, op: ShuffleOp) -> None:
    """Along the axis of the iterator, whose iterations all run."""
    at, lanes = frame.env[op.symbol], np.array(op.numbers)
    count, width = len(at), len(lanes)
    if count % width:
        raise InterpretError(f"{count} iterations of {op.symbol} are no whole vectors of {width}")
    number = np.arange(count)
    from_lane = lanes[number % width]
    place = number - number % width + from_lane % width
    first, second = (np.take(np.broadcast_to(frame.values[v], frame.batch), place, -at.ndim) for v in op.operands)
    frame.values[op.result] = np.where((from_lane < width).reshape(at.shape), first, second)


def _running(frame: Frame) -> Any:
    return True if frame.active is None else frame.active


def _scan(frame: Frame, op: ScanOp) -> None:
    lower, upper, _ = _bounds(frame, op)
    counts = np.maximum(0, np.asarray(upper - lower))
    inits = [frame.values[v] for v in op.inits]
    results: list[Array] = inits
    for count in np.unique(counts) if counts.ndim else [counts]:
        inner = frame.masked(counts == count) if counts.ndim else frame.fork()
        if inner is not None:
            ends = _scan_once(inner, op, lower, int(count), inits)
            results = [_chosen(inner.active, s, r) for s, r in zip(ends, results)]
    frame.values.update(zip(op.outs, results, strict=True))


def _scan_once(frame: Frame, op: ScanOp, lower: Any, count: int, inits: Sequence[Array]) -> Sequence[Array]:
    def at(ks: Array) -> Frame:
        inner = frame.fork(batch=(len(ks), *frame.batch))
        inner.env[op.symbol] = lower + ks
        return inner

    def element(ks: Array) -> tuple[Array, ...]:
        inner = at(ks)
        return tuple(inner.values[v] for v in _block(inner, op.body.block))

    def combine(older: tuple[Array, ...], newer: tuple[Array, ...]) -> tuple[Array, ...]:
        return frame.run_body(op.combiner.block, older + newer)

    identity = [literal(i) for i in op.identity.data]
    exclusive = op.exclusive is not None
    partial, ends = scan(op.order.data, count, element, combine, identity, inits, frame.batch, exclusive)
    inner = at(np.arange(count).reshape((-1,) + (1,) * len(frame.batch)))
    frame.values.update(zip(op.epilogue.block.args, partial, strict=True))
    _block(inner, op.epilogue.block)
    return ends


_HANDLERS: dict[type[Operation], Callable[[Frame, Any], None]] = {
    ParallelOp: _parallel,
    ForOp: _for,
    ReduceOp: _reduce,
    ScanOp: _scan,
    IfOp: _if,
    WhileOp: _while,
    MmaOp: _mma,
    AmxOp: _amx,
    AsyncCopyOp: _async_copy,
    BulkCopyOp: _bulk_copy,
    TensorMapOp: _nothing,
    MergeOp: _merge,
    PartitionOp: _partition,
    ShuffleOp: _shuffle,
    BarrierOp: _nothing,
}
