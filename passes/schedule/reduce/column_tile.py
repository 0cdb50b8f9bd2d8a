"""Column reductions larger than L2: one block of the order for a column tile of adjacent results.

With all accumulators in registers, for a few cache lines of results at a time, memory would be read in short segments
of many pages.  A column tile is a page of results or more.  Where the order has one accumulator lane, several passes go
over the whole tile, some rows at a time, with the partial results in L1.  Where it has more, one lane after another is
reduced for the whole tile, chunk by chunk in registers while its pages are in the TLB; the lanes' results go through
L2, from where they are combined by halves.  A cheap reduction handles those lanes in one pass that are combined first,
so that fewer accumulators leave the registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from xdsl.ir import Block, SSAValue

from ....dialects import kernel
from ....dialects.dims.dims import Dim, ceil_div, dim
from ....dialects.order import SERIAL, Order
from ..access import Point, order_of
from ..blocks import Range, for_loop, load_all, store_all
from ..body import ScheduleContext
from .core import unrolled_reduce

__all__ = ["ColumnTile"]


@dataclass(frozen=True)
class ColumnTile:
    """Neighbouring results of a nest: `column` is the iterator across them, which `point` has a place from.

    `results` has the first of them, the one behind the last, and how many there are at most.
    """

    context: ScheduleContext
    nest: kernel.GenericOp
    point: Point
    column: Dim
    results: tuple[Dim, Dim, int]
    width: int

    def multi_pass(
        self, block: Block, elements: tuple[Dim, Dim], partials: Sequence[SSAValue], index: Sequence[Dim], unroll: int
    ) -> None:
        """Reduce the elements from one to another into `partials` at an index, which hold the results so far."""
        context, nest, row = self.context, self.nest, self.context.new_iv()
        (first, last), rows = elements, context.costs.rows_per_pass
        with self.across(block, unroll) as body:
            store_all(body, context.identity(nest, body), partials, index)
        whole = first + (last - first) // rows * rows
        for lower, upper, count in ((first, whole, rows), (whole, last, 1)):
            with for_loop(block, row, lower, upper, step=count) as steps, self.across(steps, unroll) as body:
                older = load_all(body, partials, index)
                newer = unrolled_reduce(context, nest, body, self.point, row, count, older)
                store_all(body, newer, partials, index)

    def per_accumulator_lane(
        self, block: Block, elements: tuple[Dim, Dim], store: Callable[[list[SSAValue], Block], None], unroll: int,
        jam: int,
    ) -> None:  # fmt: skip
        """Reduce the elements from one to another, so many lanes `jam`, and `store` each result."""
        context, (first, last), (start, _, most) = self.context, elements, self.results
        lanes = order_of(self.nest).lanes // jam
        values = context.accumulators(block, self.nest, (dim(lanes), dim(most)), scope="thread")
        lane = context.new_iv()
        with for_loop(block, lane, 0, lanes) as inner, self.across(inner, unroll) as body:
            some = self._some_lanes(body, first + lane, last, jam)
            store_all(body, some, values, [_bit_reverse(lane, lanes), self.column - start])
        position = context.new_iv()
        with self.across(block, context.costs.unroll_factor(len(values), 0)) as body:
            accumulators = context.reduce(
                self.nest, body, Range(position, 0, lanes),
                lambda gather: load_all(gather, values, [position, self.column - start]), order=Order("tree", 1, 1),
            )  # fmt: skip
            store(accumulators, body)

    def _some_lanes(self, block: Block, first: Dim, last: Dim, count: int) -> list[SSAValue]:
        """What so many lanes come to, as far apart as can be, which are therefore the first to be combined."""
        lanes = order_of(self.nest).lanes
        found = [self._lane(block, first + number * (lanes // count), last, lanes) for number in range(count)]
        while len(found) > 1:
            half = len(found) // 2
            pairs = zip(found[:half], found[half:])
            found = [self.context.combine(self.nest, [*older, *newer], block) for older, newer in pairs]
        return found[0]

    def _lane(self, block: Block, first: Dim, last: Dim, stride: int) -> list[SSAValue]:
        """The elements of one lane, one after another."""
        step, order = self.context.new_iv(), order_of(self.nest)
        here = {**self.point, self.nest.reduced: first + step * stride}
        return self.context.reduce(
            self.nest, block, Range(step, 0, ceil_div(last - first, stride)),
            lambda body: self.context.body(self.nest, here, body),
            order=Order("chain", order.block, 1, order.product) if order.product else SERIAL,
        )  # fmt: skip

    def across(self, block: Block, unroll: int) -> AbstractContextManager[Block]:
        """A loop across the column tile."""
        start, stop, _ = self.results
        return for_loop(block, self.column, start, stop, vector=self.width, unroll=unroll)


def _bit_reverse(number: Dim, count: int) -> Dim:
    """A number below a power of two with its bits in reverse: so halves are neighbours, which a counter takes first."""
    bits = count.bit_length() - 1
    return sum((number // (1 << bit) % 2 * (count >> (bit + 1)) for bit in range(bits)), dim(0))
