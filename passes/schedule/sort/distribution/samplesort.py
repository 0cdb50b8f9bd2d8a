"""Sorting long rows by buckets: a sample says where these begin, vectors are parted by it, and networks sort each.

A row is cut into parts.  Of each, elements that are less than an element of the sample go to one side and the others to
the other (`loop.partition`), then each side by an element of its own, and so on: no branch depends on data.  What all
parts have of one bucket the first cache holds, as a grid (`network`, `cross_lane_merge`).

Elements that many equal ones make a bucket too large for that are its least, and are counted; what is left of one that
still is, which no data but such as know the sample have, is sorted as a heap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Block, SSAValue

from .....dialects import loop
from .....dialects.dims.dims import Dim, dim, maximum, minimum
from .....dialects.scalar.language import Value
from .....dialects.types import DTYPES, DType
from ....cost.model import CostModel
from ...builder import LoopBuilder
from ...map.schedule import VectorConfig
from ..comparison.cross_lane_merge import ROWS, CrossLaneMerge
from ..comparison.heapsort import heapsort
from ..comparison.mergesort import NetworkMergeSort
from ..comparison.network import Grid, exponent, power_of_two
from ..keys.key_compression import ScaledRows
from ..keys.key_range import KeyRange
from ..keys.signed_zeros import SignedZeroFixup
from ..positions.argsort64 import PackedArgsort64

__all__ = ["SampleSort", "sample_sort_time", "vectors_are_compressed"]

I64 = DTYPES["i64"]
#: How many elements of the sample a bucket has: one in a hundred has twice as many elements as others on average.
OVERSAMPLING = 8
#: So many elements of the sample are neighbours: they cost one wait for memory.
SAMPLES_PER_LOAD = 4
#: How much of the grid of a bucket, whose size is a power of two, a bucket fills on average, at most.
LOAD_FACTOR = 0.7
#: How many times the elements of a bucket on average the grid of one has room for.
SLACK = 4
#: Parts of a row that threads share, and elements of such a part at least.
PARTS, PART = 8, 1 << 15
#: The share of the second cache that the keys of a part take, of which there are two copies; parts at most, as each
#: bucket has a chunk of each.
L2_SHARE, MOST_PARTS = 1 / 2, 64
#: Elements of the rows that are sorted together, at most, where they are several.
BATCH_ELEMENTS = 1 << 18
#: Vectors of so many bits have instructions that store the elements of a mask without gaps, of so many bits at least.
COMPRESSED_BITS, LEAST_ELEMENT = 512, 32
#: What an element takes in a level of partitions, on its way in and out, and in an exchange of lanes, in operations of
#: vectors; in a step of a network of rows it takes one.
PARTITION, MOVES, EXCHANGE = 8, 10, 3


@dataclass(frozen=True)
class _Memory:
    """What a batch of rows is sorted in.

    The keys of all rows, `whole` elements, and as much besides for buckets that are too large; of each row the least
    keys of all `buckets`, of which the first is the least of its type; of each part where buckets begin.  `many` is 1
    where rows have several buckets, and not 0.  `scaled` is there where a scale makes keys.
    """

    keys: SSAValue
    whole: Dim
    least: SSAValue
    begins: SSAValue
    depth: Dim
    many: Dim
    buckets: Dim
    parts: Dim
    part: Dim
    scaled: ScaledRows | None

    def scale(self, code: LoopBuilder) -> KeyRange | None:
        return self.scaled and self.scaled.scale.read(code)


@dataclass(frozen=True)
class _Workspace:
    """A thread's grid, of `capacity` elements twice, a `half` for the keys of a part, cells for numbers and a flag."""

    buffer: SSAValue
    capacity: Dim
    half: SSAValue
    cells: SSAValue
    flag: SSAValue


@dataclass(frozen=True)
class _Task:
    """A row, its number in the batch, and the number of a part or of a bucket."""

    row: Dim
    here: Dim
    part: Dim


class SampleSort:
    """The rows of a sort of values, or of what has positions in it."""

    def __init__(self, sort: NetworkMergeSort):
        self.sort, self.context, self.key, self.width = sort, sort.context, sort.key, sort.columns
        self.bucket = bucket_elements(sort.context.costs, self.key.dtype, self.width)
        self.most = int(self.bucket * LOAD_FACTOR)
        self.rest = SignedZeroFixup(sort)
        #: How many elements before they are needed lines are asked for.
        self.ahead = sort.context.costs.prefetch_distance(1) // self.key.dtype.bytes

    def emit(self, block: Block) -> None:
        """Batches of rows: their samples, then all parts, then all buckets, and at last what keys do not say."""
        sort = self.sort
        code = LoopBuilder(self.context, block, sort.op.params["has_fma"])
        n = maximum(sort.n, 1)
        batch = minimum(sort.rows, maximum(1, BATCH_ELEMENTS // n))
        workspace, memory = self._workspace(code), self._memory(code, n, batch)
        batch = code.materialize_dim(batch)
        with code.for_(0, (sort.rows + (batch - 1)) // batch) as (inner, number):
            first = number * batch
            count = inner.materialize_dim(minimum(batch, sort.rows - first))
            self._set_scale(inner, first, count, memory)
            # Grids are sorted in one place: samples of rows that have more than one bucket, then buckets.
            with inner.for_(1 - memory.many, 2) as (some, phase):
                self._parts(some, phase, first, count, memory, workspace)
                tasks = some.materialize_dim(1 + phase * (memory.buckets - 1))
                size = some.materialize_dim((sort.n + (memory.buckets - 1)) // memory.buckets)
                self._each(
                    some, first, count, tasks, size, lambda c, task: self._grid(c, phase, task, memory, workspace)
                )
            if self.key.negative_zero is not None or memory.scaled is not None:
                self._each(inner, first, count, dim(1), n, lambda c, task: self._finish(c, task, memory, workspace))

    def _workspace(self, code: LoopBuilder) -> _Workspace:
        sample = (self.sort.n // self.most + 1) * (2 * OVERSAMPLING * 2)
        least = self.width * self._step
        filled = maximum(least, minimum(self.bucket * SLACK, self.sort.n * 2))
        capacity = maximum(filled, sample)
        if capacity.const is not None:
            capacity = dim(1 << (capacity.const - 1).bit_length())
        buffer = self.sort.allocate(code, self.key.dtype, capacity * 2, shared=False)
        half = self.sort.allocate(code, self.key.dtype, self._part_elements(maximum(self.sort.n, 1)), shared=False)
        cells, flag = (self.sort.allocate(code, dtype, 3, shared=False) for dtype in (I64, DTYPES["bool"]))
        return _Workspace(buffer, capacity, half, cells, flag)

    def _each(
        self,
        code: LoopBuilder,
        first: Dim,
        count: Dim,
        parts: Dim,
        size: Dim,
        body: Callable[[LoopBuilder, _Task], None],
    ) -> None:
        """Parts of so many rows, of so many elements each, by threads."""
        with code.parallel_(count * parts, size * 16) as (inner, number):
            here = inner.materialize_dim(number // parts)
            body(inner, _Task(inner.materialize_dim(first + here), here, inner.materialize_dim(number - here * parts)))

    # Memory

    def _parts_of(self, n: Dim) -> Dim:
        """Into how many parts a row is cut."""
        held = int(self.context.costs.machine.l2_bytes * L2_SHARE) // self.key.dtype.bytes
        far = minimum(MOST_PARTS, (n + (held - 1)) // held)
        return maximum(1, maximum(far, minimum(PARTS, n // PART)))

    def _part_elements(self, n: Dim) -> Dim:
        parts = self._parts_of(n)
        return (n + (parts - 1)) // parts

    def _memory(self, code: LoopBuilder, n: Dim, batch: Dim) -> _Memory:
        sort = self.sort
        most, parts = sort.n // self.most * 2 + 2, self._parts_of(n)
        buffers = (
            sort.allocate(code, self.key.dtype, n * batch * 2, shared=True),
            sort.allocate(code, self.key.dtype, most * batch, shared=True),
            sort.allocate(code, I64, (most + 1) * batch * parts, shared=True),
        )
        keys, least, begins = buffers
        cell = sort.allocate(code, I64, 1, shared=True)
        many = code.materialize_dim(minimum(1, sort.n // (self.bucket + 1)))
        depth = exponent(code, cell, code.materialize_dim(1 + many * ((n - 1) // self.most)))
        whole, part = code.materialize_dim(n * batch), code.materialize_dim(self._part_elements(n))
        scaled = None
        if isinstance(sort, PackedArgsort64):
            scaled = ScaledRows.of(sort, code, cell, parts * batch, most * batch)
        parts, buckets = code.materialize_dim(parts), power_of_two(code, depth)
        return _Memory(keys, whole, least, begins, depth, many, buckets, parts, part, scaled)

    def _set_scale(self, code: LoopBuilder, first: Dim, count: Dim, memory: _Memory) -> None:
        """The scale of a batch of rows."""
        if (scaled := memory.scaled) is None:
            return

        def measure(c: LoopBuilder, task: _Task) -> None:
            start, stop = self._ends(c, task.part, memory)
            scaled.measure(c, self.sort.indices(task.row), start, stop, task.here * memory.parts + task.part)

        self._each(code, first, count, memory.parts, memory.part, measure)
        scaled.set_scale(code, count * memory.parts)

    def _ends(self, code: LoopBuilder, part: Dim, memory: _Memory) -> tuple[Dim, Dim]:
        """Where a part of a row begins and ends."""
        start = code.materialize_dim(part * memory.part)
        return start, code.materialize_dim(maximum(start, minimum(self.sort.n, start + memory.part)))

    # Samples

    def _sample(self, code: LoopBuilder, row: Dim, memory: _Memory, workspace: _Workspace) -> None:
        """Elements of a row by which it is cut into buckets, to a grid."""
        sort, index, scale = self.sort, self.sort.indices(row), memory.scale(code)
        count = code.materialize_dim(memory.buckets * OVERSAMPLING)
        groups = code.materialize_dim(count // SAMPLES_PER_LOAD)
        stride = code.materialize_dim(sort.n // groups)
        with code.for_(0, groups) as (c, group):
            moved = _scattered(c, group) * c.b.index(stride - (SAMPLES_PER_LOAD - 1)) >> 24
            at = c.bind(c.b.index(group * stride) + moved)
            for k in range(SAMPLES_PER_LOAD):
                c.store(sort.key_at(c, index, at + k, scale), workspace.buffer, [group * SAMPLES_PER_LOAD + k])
        self._tell(code, workspace, count, dim(0))

    def _tell(self, code: LoopBuilder, workspace: _Workspace, count: Dim, index: Dim) -> None:
        """How many elements a grid has, and where in the row the first one belongs."""
        for i, number in ((1, count), (2, index)):
            code.store(code.b.index(number), workspace.cells, [dim(i)])

    def _put_sample(self, code: LoopBuilder, here: Dim, count: Dim, memory: _Memory, workspace: _Workspace) -> None:
        """Where buckets begin."""
        own = code.materialize_dim(here * memory.buckets)
        with code.for_(0, count // OVERSAMPLING) as (c, i):
            c.store(c.load(workspace.buffer, [workspace.capacity + i * OVERSAMPLING]), memory.least, [own + i])
        code.store(_least_value(code, self.key.dtype), memory.least, [own])

    def _ask(self, code: LoopBuilder, buffer: SSAValue, index: list[Dim], writes: bool = False) -> None:
        """For lines of what only the last cache has."""
        code.block.add_op(loop.PrefetchOp(buffer, index, writes=writes))

    # Parts

    def _parts(
        self, code: LoopBuilder, phase: Dim, first: Dim, count: Dim, memory: _Memory, workspace: _Workspace
    ) -> None:
        """All parts of some rows, where their samples are sorted."""

        def write(c: LoopBuilder) -> None:
            parts = c.materialize_dim(memory.parts * phase)
            self._each(c, first, count, parts, memory.part, lambda d, task: self._part(d, task, memory, workspace))

        if memory.many.const is None:
            code.if_(code.b.index(memory.many).equals(1), write, lambda c: None)
        elif memory.many.const:
            write(code)

    def _part(self, code: LoopBuilder, task: _Task, memory: _Memory, workspace: _Workspace) -> None:
        """The buckets of one part: level by level, each begins somewhere between two that are found."""
        sort, here, part = self.sort, task.here, task.part
        index, scale = sort.indices(task.row), memory.scale(code)
        start, stop = self._ends(code, part, memory)
        base = code.materialize_dim(here * sort.n)
        number = here * memory.parts + part
        begins = code.materialize_dim(number * (memory.buckets + 1))
        for i, at in ((dim(0), start), (memory.buckets, stop)):
            code.store(code.b.index(at), memory.begins, [begins + i])
        least = code.materialize_dim(here * memory.buckets)

        def level(
            c: LoopBuilder, number: Dim, node: Dim, key: Callable[[LoopBuilder, Dim], Value], to: SSAValue, at: Dim
        ) -> None:
            half = power_of_two(c, memory.depth - number - 1)
            first, middle, behind = (c.materialize_dim((node * 2 + k) * half) for k in (0, 1, 2))
            low, high = (c.bind(c.load(memory.begins, [begins + k])) for k in (first, behind))
            pivot = c.load(memory.least, [least + middle])
            count = self._parted(c, key, (low, high), lambda x: x < pivot, to, (at + low, at + high))
            c.store(c.b.index(low) + count, memory.begins, [begins + middle])

        # Copies of the keys in turns, the last one in the memory of all; the other one the second cache keeps.
        copies = ((memory.keys, base), (workspace.half, 0 - start))

        def between(c: LoopBuilder, number: Dim, node: Dim, source: int) -> None:
            buffer, index = copies[source]
            level(c, number, node, lambda d, i: d.load(buffer, [index + i]), *copies[1 - source])

        def alternately(c: LoopBuilder, number: Dim, write: Callable[[LoopBuilder, int], None]) -> None:
            """By the copy that a level writes to."""
            parity = c.b.index((memory.depth - 1 - number) % 2)
            c.if_(parity.equals(0), lambda d: write(d, 0), lambda d: write(d, 1))

        def made(c: LoopBuilder, i: Dim) -> Value:
            """Keys are made on the way."""
            self._ask(c, sort.x, index(i + self.ahead))
            return sort.key_at(c, index, i, scale)

        alternately(code, dim(0), lambda c, to: level(c, dim(0), dim(0), made, *copies[to]))
        with code.for_(1, memory.depth) as (outer, number), outer.for_(0, power_of_two(outer, number)) as (c, node):
            alternately(c, number, lambda d, to: between(d, number, node, 1 - to))

    def _parted(
        self, code: LoopBuilder, key: Callable[[LoopBuilder, Dim], Value], range_: tuple[Dim, Dim],
        is_first: Callable[[Value], Value], target: SSAValue, indices: tuple[Dim, Dim],
    ) -> Value:  # fmt: skip
        """Some keys in two groups, between two places: how many are of the first one."""
        inner, i = code.inner(), self.context.new_iv()
        x = key(inner, i)
        inner.block.add_op(loop.YieldOp(x.ref, is_first(x).ref))
        low, high = (code.materialize_dim(at) for at in indices)
        made = loop.PartitionOp(str(i), *range_, inner.block, target, low, high, vector=self.width)
        code.block.add_op(made)
        return code.b.wrap(made.count, I64)

    # Buckets

    def _grid(self, code: LoopBuilder, phase: Dim, task: _Task, memory: _Memory, workspace: _Workspace) -> None:
        """A sample, a whole row or a bucket of one, sorted."""
        samples = code.b.index(phase).equals(0)

        def bucket(c: LoopBuilder) -> None:
            if memory.many.const is None:
                many = c.b.index(memory.many).equals(1)
                c.if_(
                    many,
                    lambda d: self._bucket(d, task, memory, workspace),
                    lambda d: self._row(d, task, memory, workspace),
                )
            else:
                (self._bucket if memory.many.const else self._row)(c, task, memory, workspace)

        def gather(c: LoopBuilder) -> None:
            c.if_(samples, lambda d: self._sample(d, task.row, memory, workspace), bucket)

        (gather if memory.many.const != 0 else bucket)(code)
        count, index = (code.bind(code.load(workspace.cells, [dim(i)])) for i in (1, 2))
        code.if_(code.b.index(count) > 0, lambda c: self._sort_grid(c, count, workspace), lambda c: None)

        def put(c: LoopBuilder) -> None:
            scale = memory.scale(c)
            if memory.scaled is not None and scale is not None:
                number = task.here * memory.buckets + task.part
                memory.scaled.count(c, number, workspace.buffer, workspace.capacity, count, scale)
            with c.for_(0, count, self.width) as (d, i):
                indices = self.sort.indices(task.row)
                self._ask(d, self.sort.op.outs[0], indices(index + i + self.ahead), writes=True)
                self.sort.put(d, d.load(workspace.buffer, [workspace.capacity + i]), indices, index + i, scale)

        def leave(c: LoopBuilder) -> None:
            c.if_(samples, lambda d: self._put_sample(d, task.here, count, memory, workspace), put)

        (leave if memory.many.const != 0 else put)(code)

    @property
    def _step(self) -> int:
        """What divides the number of a grid's rows."""
        return max(self.sort.network.rows_step, ROWS)

    def _sort_grid(self, code: LoopBuilder, count: Dim, workspace: _Workspace) -> None:
        """The first elements of a grid, in order behind it."""
        network, width, step = self.sort.network, self.width, self._step
        rows = code.materialize_dim(maximum(1, (count + (width * step - 1)) // (width * step)) * step)
        bits = exponent(code, workspace.cells, rows)
        grid = Grid(workspace.buffer, rows, bits)
        network.fill(code, grid, count)
        network.sort(code, grid)
        CrossLaneMerge(network, grid, code).sort(code, workspace.capacity)

    def _row(self, code: LoopBuilder, task: _Task, memory: _Memory, workspace: _Workspace) -> None:
        """A whole row to the grid."""
        index, n, scale = self.sort.indices(task.row), self.sort.n, memory.scale(code)
        self._begins(code, task, dim(0), memory, True)
        with code.for_(0, n, self.width) as (c, i):
            c.store(self.sort.key_at(c, index, i, scale), workspace.buffer, [i])
        self._tell(code, workspace, n, dim(0))

    def _bucket(self, code: LoopBuilder, task: _Task, memory: _Memory, workspace: _Workspace) -> None:
        """What all parts have of a bucket, to the grid."""
        here, bucket = task.here, task.part
        base = code.materialize_dim(here * self.sort.n)

        def chunk(c: LoopBuilder, part: Dim) -> tuple[Dim, Dim]:
            at = (here * memory.parts + part) * (memory.buckets + 1) + bucket
            first, behind = (c.bind(c.load(memory.begins, [at + k])) for k in (0, 1))
            return first, behind

        def add(c: LoopBuilder, part: Dim, sums: list[Value]) -> list[Value]:
            first, behind = chunk(c, part)
            return [sums[0] + c.b.index(first - part * memory.part), sums[1] + c.b.index(behind - first)]

        zero = code.b.constant(0, I64)
        offset, total = (code.bind(v) for v in code.carried_loops(0, memory.parts, [zero, zero], add))

        def gather(c: LoopBuilder) -> None:
            self._begins(c, task, offset, memory, True)

            def copy(inner: LoopBuilder, part: Dim, to: Value) -> Value:
                first, behind = chunk(inner, part)
                start = inner.bind(to)
                with inner.for_(0, behind - first, self.width) as (d, i):
                    self._ask(d, memory.keys, [base + first + i + self.ahead])
                    d.store(d.load(memory.keys, [base + first + i]), workspace.buffer, [start + i])
                return to + inner.b.index(behind - first)

            c.carried_loop(0, memory.parts, c.b.constant(0, I64), copy)
            self._tell(c, workspace, total, offset)

        def without_equal(c: LoopBuilder) -> None:
            self._begins(c, task, offset, memory, False)
            self._without_equal(c, task, (base, offset, total), chunk, memory, workspace)

        code.if_(code.b.index(total) <= self.bucket * SLACK, gather, without_equal)

    def _begins(self, code: LoopBuilder, task: _Task, at: Dim, memory: _Memory, seen: bool) -> None:
        if memory.scaled is not None:
            memory.scaled.begins(code, task.here * memory.buckets + task.part, at, seen)

    def _without_equal(
        self, code: LoopBuilder, task: _Task, where: tuple[Dim, Dim, Dim],
        chunk: Callable[[LoopBuilder, Dim], tuple[Dim, Dim]], memory: _Memory, workspace: _Workspace,
    ) -> None:  # fmt: skip
        """Of a bucket that is too large, all that equal the least key to their places, and others to the grid.

        `where`: what is before the row in the memory of keys, before the bucket in the row, and its elements.
        """
        sort, (base, offset, total), scale = self.sort, where, memory.scale(code)
        other, most = code.materialize_dim(base + memory.whole), self.bucket * SLACK
        least = code.load(memory.least, [task.here * memory.buckets + task.part])

        def part_off(inner: LoopBuilder, part: Dim, counts: list[Value]) -> list[Value]:
            range_ = chunk(inner, part)
            equal, rest = (inner.bind(v) for v in counts)
            found = self._parted(
                inner, lambda c, i: c.load(memory.keys, [base + i]), range_, lambda x: x <= least,
                memory.keys, (other + offset + equal, other + offset + total - rest),
            )  # fmt: skip
            return [counts[0] + found, counts[1] + inner.b.index(range_[1] - range_[0]) - found]

        zero = code.b.constant(0, I64)
        equal, rest = (code.bind(v) for v in code.carried_loops(0, memory.parts, [zero, zero], part_off))
        with code.for_(0, equal, self.width) as (c, i):
            sort.put(c, least, sort.indices(task.row), offset + i, scale)
        index = code.materialize_dim(offset + equal)
        start = code.materialize_dim(other + index)

        def copy(c: LoopBuilder) -> None:
            with c.for_(0, rest, self.width) as (d, i):
                d.store(d.load(memory.keys, [start + i]), workspace.buffer, [i])
            self._tell(c, workspace, rest, index)

        def as_heap(c: LoopBuilder) -> None:
            heapsort(c, memory.keys, lambda i: [start + i], rest, workspace.cells)
            with c.for_(0, rest, self.width) as (d, i):
                sort.put(d, d.load(memory.keys, [start + i]), sort.indices(task.row), index + i, scale)
            self._tell(c, workspace, dim(0), index)

        code.if_(code.b.index(rest) <= most, copy, as_heap)

    def _finish(self, code: LoopBuilder, task: _Task, memory: _Memory, workspace: _Workspace) -> None:
        """Zeros of both signs, or what keys lost."""
        if memory.scaled is not None:
            index, buckets = self.sort.indices(task.row), memory.buckets
            memory.scaled.finish(code, index, code.materialize_dim(task.here * buckets), buckets, workspace.cells)
            return
        self.rest.finish(code, task.row, workspace.cells, workspace.flag)


def _scattered(code: LoopBuilder, i: Dim) -> Value:
    """24 bits that follow no rule which data may have (Knuth's multiplicative hash)."""
    return code.b.index(i) * 2654435761 >> 8 & (1 << 24) - 1


def _least_value(code: LoopBuilder, dtype: DType) -> Value:
    return code.b.constant(-(1 << dtype.bits - 1), dtype)


def bucket_elements(costs: CostModel, key: DType, columns: int) -> int:
    """Elements of the grid of most buckets, a power of two: they fit the first cache with their results."""
    return max(columns * columns, 1 << (int(costs.machine.l1_bytes) // 2 // key.bytes).bit_length() - 1)


def vectors_are_compressed(element: DType, lanes: VectorConfig) -> bool:
    """Whether partitions of such elements are instructions."""
    return lanes.vector_bits >= COMPRESSED_BITS and element.bits >= LEAST_ELEMENT


def sample_sort_time(costs: CostModel, key: DType, columns: int, n: float) -> float:
    """Nanoseconds an element of rows of `n`, shorter ones being filled up."""
    least = columns * max(columns, costs.machine.vector_registers / 2)
    if n < least:
        return sample_sort_time(costs, key, columns, least) * least / max(1.0, n)
    bucket = bucket_elements(costs, key, columns)
    levels = 0 if n <= bucket else math.ceil(math.log2(n / (bucket * LOAD_FACTOR)))
    rows, lanes = math.log2(n / 2**levels / columns), math.log2(columns)
    steps = rows * (rows + 1) / 2 + lanes * rows + lanes * (lanes + 1) / 2 * EXCHANGE
    return costs.compute_ns(steps + MOVES + levels * PARTITION, key.bits)
