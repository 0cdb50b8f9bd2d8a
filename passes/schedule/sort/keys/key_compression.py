"""Rows in buckets whose keys a scale makes: their range before, and afterwards the order of what keys lost.

Of each bucket it is counted, while the first cache has it, how many of its numbers have the same part of a key as the
next one.  So elements are looked at again where there are such, and where one bucket ends and the next one begins.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import SSAValue

from .....dialects.dims.dims import Dim, dim, maximum, minimum
from .....dialects.scalar.language import Value
from .....dialects.types import DTYPES
from ...builder import LoopBuilder
from ..base import ElementIndex
from ..positions.argsort64 import PackedArgsort64
from .key_range import RANGE, KeyRange, both_ranges, no_range

__all__ = ["ScaledRows"]

I64 = DTYPES["i64"]


@dataclass(frozen=True)
class ScaledRows:
    """A batch of rows: its scale, the range of each part of them, and of each bucket where it begins in its row and how
    many of its elements are to be looked at, 0 or more."""

    sort: PackedArgsort64
    scale: KeyRange
    ranges: SSAValue
    found: SSAValue

    @staticmethod
    def of(sort: PackedArgsort64, code: LoopBuilder, cell: SSAValue, parts: Dim, buckets: Dim) -> ScaledRows:
        """Memory for so many parts and buckets of all rows."""
        return ScaledRows(
            sort,
            sort.new_scale(code, cell, shared=True),
            sort.allocate(code, I64, parts, len(RANGE), shared=True),
            sort.allocate(code, I64, buckets, 2, shared=True),
        )

    def measure(self, code: LoopBuilder, index: ElementIndex, start: Dim, stop: Dim, part: Dim) -> None:
        """The range of a part of a row."""
        found = self.sort.range_of(code, lambda c, i: self.sort.key_at(c, index, i), start, stop)
        for k, number in enumerate(found):
            code.store(number, self.ranges, [part, dim(k)])

    def set_scale(self, code: LoopBuilder, parts: Dim) -> None:
        """The scale, by the ranges of so many parts."""

        def add(c: LoopBuilder, part: Dim, sums: list[Value]) -> list[Value]:
            return both_ranges(c, sums, [c.load(self.ranges, [part, dim(k)]) for k in range(len(RANGE))])

        self.scale.set(code, code.carried_loops(0, parts, no_range(code), add))

    def begins(self, code: LoopBuilder, bucket: Dim, at: Dim, seen: bool) -> None:
        """Where a bucket begins, and whether all of its elements will be counted."""
        for k, number in enumerate((at, dim(0 if seen else 1))):
            code.store(code.b.index(number), self.found, [bucket, dim(k)])

    def count(self, code: LoopBuilder, bucket: Dim, numbers: SSAValue, start: Dim, count: Dim, scale: KeyRange) -> None:
        """How many of the sorted numbers of a bucket have the same part of a key as the next one."""
        last = start + maximum(count - 1, 0)
        equal = self.sort.count_equal(code, lambda c, i: c.load(numbers, [i]), start, last, 1, scale)
        code.store(code.load(self.found, [bucket, dim(1)]) + equal, self.found, [bucket, dim(1)])

    def finish(self, code: LoopBuilder, index: ElementIndex, first: Dim, buckets: Dim, cells: SSAValue) -> None:
        """The order of what keys lost, of the row that has these buckets; `cells` has room for three numbers."""
        scale, n = self.scale.read(code), self.sort.n

        def begin(c: LoopBuilder, bucket: Dim) -> Dim:
            return c.bind(c.load(self.found, [first + bucket, dim(0)]))

        def look(c: LoopBuilder, bucket: Dim) -> None:
            start, behind = begin(c, bucket), begin(c, c.materialize_dim(minimum(bucket + 1, buckets - 1)))
            stop = c.b.select(c.b.index(bucket + 1).equals(c.b.index(buckets)), c.b.index(n), c.b.index(behind))
            at = c.materialize_dim(maximum(1, minimum(start, n - 1)))
            equal = c.load(self.found, [first + bucket, dim(1)]) > 0
            equal = equal | self.sort.equal_at(c, index, at - 1, at, scale)
            c.if_(
                equal,
                lambda d: self.sort.order_equal(d, index, maximum(start - 1, 0), d.bind(stop), cells, scale),
                lambda d: None,
            )

        code.store(code.b.constant(0, I64), cells, [dim(0)])
        with code.for_(0, buckets * scale.dropped_bits) as (inner, bucket):
            look(inner, bucket)
