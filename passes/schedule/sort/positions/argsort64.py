"""Sorting positions of elements of 64 bits: as much of a key as positions leave room for, then what was left out.

A number of 64 bits has the highest bits of a key and a position (`key_range`), and is sorted as that of a shorter key
is (`argsort32`).  Often keys lose no bits, or such as all of them have alike: whole numbers that lie close
together, floats that are whole numbers or were of fewer bits.  Otherwise numbers may differ in the position alone where
keys are not equal.  They end side by side, and what keys lost puts them in order.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from .....dialects import loop
from .....dialects.dims.dims import Dim, dim
from .....dialects.order import FREE
from .....dialects.scalar.builder import scalar_constant
from .....dialects.scalar.language import Value
from .....dialects.types import DTYPES, DType
from ...builder import LoopBuilder
from ...map.schedule import VectorConfig
from ..base import ElementIndex
from ..comparison.heapsort import heapsort
from ..comparison.network import exponent
from ..keys.key_range import BITS, NUMBERS, RANGE, KeyRange, both_ranges
from ..keys.keys import Key, keys_of
from .argsort32 import PackedArgsort

__all__ = ["PackedArgsort64", "wide_positions"]

I64 = DTYPES["i64"]


class PackedArgsort64(PackedArgsort):
    """``argsort`` and ``sort_with_positions`` of elements whose keys have 64 bits."""

    def key_of(self, element: DType, lanes: VectorConfig) -> Key:
        (key,) = keys_of(element, self.descending, False)
        self.part = key.signed
        return Key(BITS, I64, self.part.make)

    def new_scale(self, code: LoopBuilder, cell: SSAValue, shared: bool) -> KeyRange:
        """One without numbers yet, of all threads or of each; `cell` has room for a number."""
        return KeyRange(self.allocate(code, I64, NUMBERS, shared=shared), exponent(code, cell, self.n))

    def key_at(self, code: LoopBuilder, index: ElementIndex, i: Dim, scale: KeyRange | None = None) -> Value:
        """The key of an element; by a scale its number."""
        key = self.part.make(code.b, code.load(self.x, index(i)))
        return key if scale is None else scale.number(code, scale.high(code, key), code.b.index(i))

    def put(self, code: LoopBuilder, key: Value, index: ElementIndex, i: Dim, scale: KeyRange | None = None) -> None:
        assert scale is not None
        self.put_position(code, scale.position(code, key), index, i)

    def range_of(
        self, code: LoopBuilder, keys: Callable[[LoopBuilder, Dim], Value], start: Dim, stop: Dim
    ) -> list[Value]:
        """The range of some keys."""
        inner, iterator = code.inner(), self.context.new_iv()
        key = keys(inner, iterator)
        inner.block.add_op(loop.YieldOp(*(key.ref for _ in RANGE)))
        merge = code.inner()
        both = [merge.b.wrap(merge.block.insert_arg(i64, k), I64) for k in range(2 * len(RANGE))]
        merged = both_ranges(merge, both[: len(RANGE)], both[len(RANGE) :])
        merge.block.add_op(loop.YieldOp(*(value.ref for value in merged)))
        made = loop.ReduceOp(
            str(iterator), start, stop, inner.block, merge.block, order=FREE,
            identity=[scalar_constant(number, I64) for _, number in RANGE], types=[i64] * len(RANGE),
            vector=self.columns,
        )  # fmt: skip
        code.block.add_op(made)
        return [code.b.wrap(out, I64) for out in made.outs]

    # What keys lose

    def count_equal(
        self,
        code: LoopBuilder,
        number: Callable[[LoopBuilder, Dim], Value],
        start: Dim,
        stop: Dim,
        beside: int,
        scale: KeyRange,
    ) -> Value:
        """How many of some numbers have the same part of a key as the one `beside` places behind, where keys lose
        what tells them apart."""

        def is_equal(c: LoopBuilder, i: Dim) -> Value:
            return scale.are_equal(c, number(c, i), number(c, i + beside))

        return self.count(code, is_equal, start, code.materialize_dim(start + (stop - start) * scale.dropped_bits))

    def equal_at(self, code: LoopBuilder, index: ElementIndex, i: Dim, j: Dim, scale: KeyRange) -> Value:
        """Whether numbers of two elements of the result have the same part of a key."""
        x, y = (scale.high(code, self._key_of_result(code, index, at)) for at in (i, j))
        return x.equals(y)

    def order_equal(
        self, code: LoopBuilder, index: ElementIndex, start: Dim, stop: Dim, cells: SSAValue, scale: KeyRange
    ) -> None:
        """Elements of the result whose numbers have the same part of a key, in order: such as begin from `start` to
        `stop`, and not before what the first one of `cells` says, which becomes where the last ones end.

        `cells` has room for three numbers.
        """
        begins, ends, falls = ([dim(k)] for k in range(3))
        code.store(code.b.maximum(code.load(cells, begins), code.b.index(start)), cells, begins)

        def run(c: LoopBuilder) -> None:
            first = c.bind(c.load(cells, begins))
            c.store(c.b.index(first + 1), cells, ends)
            c.store(c.b.constant(0, I64), cells, falls)

            def goes_on(d: LoopBuilder) -> Value:
                end = d.load(cells, ends)
                at = d.bind(d.b.minimum(end, d.b.index(self.n - 1)))
                return (end < d.b.index(self.n)) & self.equal_at(d, index, first, at, scale)

            def further(d: LoopBuilder) -> None:
                at = d.bind(d.load(cells, ends))
                before, here = (self._key_of_result(d, index, k) for k in (at - 1, at))
                d.store(d.load(cells, falls) | d.b.cast(here < before, I64), cells, falls)
                d.store(d.b.index(at + 1), cells, ends)

            c.while_(goes_on, further)
            end = c.bind(c.load(cells, ends))
            falling = c.load(cells, falls) > 0
            c.if_(falling, lambda d: self._order_run(d, index, first, end, cells, scale), lambda d: None)
            c.store(c.b.index(end), cells, begins)

        code.while_(lambda c: c.load(cells, begins) < c.b.index(stop), run)

    def _order_run(
        self, code: LoopBuilder, index: ElementIndex, first: Dim, end: Dim, cells: SSAValue, scale: KeyRange
    ) -> None:
        """Elements whose numbers have the same part of a key, by numbers of what it lost."""
        positions = self.op.outs[-1]
        with code.for_(first, end) as (c, i):
            low = scale.low(c, self._key_of_result(c, index, i))
            c.store(scale.number(c, low, c.load(positions, index(i))), positions, index(i))
        heapsort(code, positions, lambda i: index(first + i), code.materialize_dim(end - first), cells)
        with code.for_(first, end) as (c, i):
            self.put(c, c.load(positions, index(i)), index, i, scale)

    def _key_of_result(self, code: LoopBuilder, index: ElementIndex, i: Dim) -> Value:
        """The key of the element whose position the result has at `i`."""
        at = code.bind(code.load(self.op.outs[-1], index(i)))
        return self.part.make(code.b, code.load(self.x, index(at)))


def wide_positions(element: DType, lanes: VectorConfig) -> bool:
    """Whether positions of elements of a type can be sorted so."""
    return not element.is_complex and element.bits == BITS and lanes.width(BITS) > 1 and lanes.lanes_can_shuffle
