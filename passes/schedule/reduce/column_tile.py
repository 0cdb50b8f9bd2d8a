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
from dataclasses import dataclass

from xdsl.ir import Block, SSAValue

from ....dialects import kernel, loop
from ....dialects.attributes import BufferInfo, scalar_dtype
from ....dialects.dims.dims import Dim, Sym, dim
from ....dialects.order import SERIAL, Order
from ..body import Point, ScheduleContext
from .core import accumulator_types, unrolled_reduce

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

        def passes_over(lower: Dim, upper: Dim, count: int) -> loop.ForOp:
            body = Block()
            accumulators = unrolled_reduce(context, nest, body, self.point, row, count, _load(body, partials, index))
            _store(body, accumulators, partials, index)
            steps = Block([self.across(body, unroll), loop.YieldOp()])
            return loop.ForOp(str(row), lower, upper, steps, step=count)

        start = Block()
        _store(start, context.identity(nest, start), partials, index)
        whole = first + (last - first) // rows * rows
        block.add_ops([self.across(start, unroll), passes_over(first, whole, rows), passes_over(whole, last, 1)])

    def per_accumulator_lane(
        self,
        block: Block,
        elements: tuple[Dim, Dim],
        store: Callable[[list[SSAValue], Block], None],
        unroll: int,
        jam: int,
    ) -> None:
        """Reduce the elements from one to another, so many lanes `jam`, and `store` each result."""
        context, (first, last), (start, _, most) = self.context, elements, self.results
        assert self.nest.order is not None
        lanes = self.nest.order.data.lanes // jam
        values = [
            context.allocate(block, BufferInfo(scalar_dtype(t), (dim(lanes), dim(most)), (dim(most), dim(1))), "thread")
            for t in accumulator_types(self.nest)
        ]
        lane, body = context.new_iv(), Block()
        some = self._some_lanes(body, first + lane, last, jam)
        _store(body, some, values, [_bit_reverse(lane, lanes), self.column - start])
        inner = Block([self.across(body, unroll), loop.YieldOp()])
        position, body = context.new_iv(), Block()
        block.add_op(loop.ForOp(str(lane), 0, lanes, inner))
        gather = Block()
        gather.add_op(loop.YieldOp(*_load(gather, values, [position, self.column - start])))
        accumulators = self._reduced(body, position, dim(lanes), gather, Order("tree", 1, 1))
        store(accumulators, body)
        block.add_op(self.across(body, context.costs.unroll_factor(len(accumulators), 0)))

    def _some_lanes(self, block: Block, first: Dim, last: Dim, count: int) -> list[SSAValue]:
        """What so many lanes come to, as far apart as can be, which are therefore the first to be combined."""
        assert self.nest.order is not None
        lanes = self.nest.order.data.lanes
        found = [self._lane(block, first + number * (lanes // count), last, lanes) for number in range(count)]
        while len(found) > 1:
            half = len(found) // 2
            pairs = zip(found[:half], found[half:])
            found = [self.context.combine(self.nest, [*older, *newer], block) for older, newer in pairs]
        return found[0]

    def _lane(self, block: Block, first: Dim, last: Dim, stride: int) -> list[SSAValue]:
        """The elements of one lane, one after another."""
        step, body = self.context.new_iv(), Block()
        here = {**self.point, Sym(f"d{self.nest.n_parallel}"): first + step * stride}
        body.add_op(loop.YieldOp(*self.context.body(self.nest, here, body)))
        assert self.nest.order is not None
        product = self.nest.order.data.product
        order = Order("chain", self.nest.order.data.block, 1, product) if product else SERIAL
        return self._reduced(block, step, (last - first + (stride - 1)) // stride, body, order)

    def _reduced(self, block: Block, iterator: Dim, count: Dim, body: Block, order: Order) -> list[SSAValue]:
        """What a body yields, combined with the nest's accumulators in an order."""
        assert self.nest.identity is not None
        made = loop.ReduceOp(
            str(iterator), 0, count, body, self.context.combiner_block(self.nest), order=order,
            identity=list(self.nest.identity.data), types=accumulator_types(self.nest), vector=1,
        )  # fmt: skip
        block.add_op(made)
        return list(made.outs)

    def across(self, body: Block, unroll: int) -> loop.ForOp:
        """A loop across the column tile."""
        body.add_op(loop.YieldOp())
        start, stop, _ = self.results
        return loop.ForOp(str(self.column), start, stop, body, vector=self.width, unroll=unroll)


def _bit_reverse(number: Dim, count: int) -> Dim:
    """A number below a power of two with its bits in reverse: so halves are neighbours, which a counter takes first."""
    bits = count.bit_length() - 1
    return sum((number // (1 << bit) % 2 * (count >> (bit + 1)) for bit in range(bits)), dim(0))


def _load(block: Block, buffers: Sequence[SSAValue], index: Sequence[Dim]) -> list[SSAValue]:
    loads = [loop.LoadOp(buffer, index) for buffer in buffers]
    block.add_ops(loads)
    return [load.result for load in loads]


def _store(block: Block, values: Sequence[SSAValue], buffers: Sequence[SSAValue], index: Sequence[Dim]) -> None:
    block.add_ops([loop.StoreOp(value, buffer, index) for value, buffer in zip(values, buffers)])
