"""A reduction to one result, in its order: the accesses of its operands, and its loop, unrolled code or blocks.

Most reductions are a `loop.reduce`.  Short ones of one chain are fully unrolled.  Elements in segments of memory are
copied, a block of the order at a time, to contiguous memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import Block, SSAValue

from ....dialects import kernel
from ....dialects.attributes import BufferInfo, scalar_dtype
from ....dialects.dims.dims import Dim, ceil_div, dim, minimum
from ....dialects.order import Order
from ..access import Access, Point, accumulator_types, body_cost, order_of
from ..blocks import Range, for_loop, load_all, store_all
from ..body import ScheduleContext
from ..map.schedule import VectorConfig
from ..segments import Segments, match_segments

__all__ = [
    "BLOCK",
    "LONGEST_STEPS",
    "can_vectorize_results",
    "combine_partials",
    "element_accesses",
    "few_elements",
    "reduce_loop",
    "reduce_segment_block",
    "reduce_segments",
    "reduce_unrolled",
    "segments_of",
    "unroll_length",
    "unrolled_reduce",
    "unrolled_steps",
]

#: Scalar ops of a reduction that is fully unrolled.
LONGEST_STEPS = 128
#: Elements of rows that are combined across rows though their order has lanes; and what combines them: of these alone
#: the identity, which lanes without elements have, changes no value, NaN included.
FEW_ELEMENTS = 8
NEUTRAL = (arith.AddfOp, arith.MulfOp, arith.MaximumfOp, arith.MinimumfOp)
#: Elements of a reduction in free order that are copied at a time.
BLOCK = 1024


def element_accesses(nest: kernel.GenericOp, access_list: list[Access]) -> list[Access]:
    """The accesses of each element, without epilogue inputs; all accesses where there are none."""
    return access_list[: nest.n_element_inputs] or access_list


def can_vectorize_results(order: Order) -> bool:
    """Whether lanes may run across results: the order has no lanes of its own along the reduced iterator."""
    return order.kind != "tree" or order.lanes == 1


def unroll_length(nest: kernel.GenericOp) -> int:
    """The elements of a fully unrolled reduction, whose indices are constants; 0 of others."""
    extent, order = nest.extents.data[-1].const, order_of(nest)
    in_a_row = order.lanes == 1 and (order.kind in ("free", "serial") or (extent or 0) <= order.block)
    return extent if extent and in_a_row and extent * body_cost(nest) <= LONGEST_STEPS else 0


def reduce_loop(
    context: ScheduleContext, nest: kernel.GenericOp, block: Block, point: Point, lower: Dim, upper: Dim, width: int,
    cooperative: bool = False,
) -> list[SSAValue]:  # fmt: skip
    """One `loop.reduce` of the nest's body over part of its reduced iterator; its accumulators."""
    iterator = context.new_iv()
    here = {**point, nest.reduced: iterator}
    return context.reduce(
        nest, block, Range(iterator, lower, upper), lambda body: context.body(nest, here, body),
        vector=_lanes(nest, width), cooperative=cooperative,
    )  # fmt: skip


def _lanes(nest: kernel.GenericOp, width: int) -> int:
    """No more lanes than the order has."""
    order = order_of(nest)
    return min(width, order.lanes) if order.kind in ("tree", "serial") else width


def unrolled_reduce(
    context: ScheduleContext, nest: kernel.GenericOp, block: Block, point: Point, first: Dim, count: int,
    accumulators: list[SSAValue],
) -> list[SSAValue]:  # fmt: skip
    """`accumulators` with `count` elements from the `first` on combined, without a loop."""
    for number in range(count):
        element = context.body(nest, {**point, nest.reduced: first + number}, block)
        accumulators = context.accumulate(nest, accumulators, element, block)
    return accumulators


def few_elements(nest: kernel.GenericOp) -> int:
    """The elements of a reduction that has one, at most, in each lane of its order; 0 of others, and of long ones."""
    extent, order = nest.extents.data[-1].const or 0, order_of(nest)
    *combining, _ = nest.combiner.block.ops
    if order.kind != "tree" or not 1 < extent <= min(order.lanes, FEW_ELEMENTS):
        return 0
    is_short = extent * body_cost(nest) <= LONGEST_STEPS
    return extent if is_short and all(isinstance(op, NEUTRAL) for op in combining) else 0


def unrolled_steps(nest: kernel.GenericOp) -> int:
    """The elements of a reduction that `reduce_unrolled` writes; 0 of others."""
    return unroll_length(nest) or few_elements(nest)


def reduce_few(
    context: ScheduleContext, nest: kernel.GenericOp, block: Block, point: Point, count: int
) -> list[SSAValue]:
    """The `few_elements` of a result, each the only one of its lane, combined by halves as lanes are.

    Lanes without elements have the identity, which changes nothing.
    """
    identity = context.identity(nest, block)
    lanes = [unrolled_reduce(context, nest, block, point, dim(k), 1, identity) for k in range(count)]
    half = 1 << (count - 1).bit_length() - 1
    while half:
        beyond = [*lanes[half:], *([None] * half)]
        lanes = [
            lane if other is None else context.combine(nest, [*lane, *other], block)
            for lane, other in zip(lanes[:half], beyond)
        ]
        half //= 2
    return lanes[0]


def reduce_unrolled(context: ScheduleContext, nest: kernel.GenericOp, block: Block, point: Point) -> list[SSAValue]:
    """The result at a point of a reduction of so few elements that no loop goes over them."""
    if not (count := unroll_length(nest)):
        return reduce_few(context, nest, block, point, few_elements(nest))
    return unrolled_reduce(context, nest, block, point, dim(0), count, context.identity(nest, block))


def combine_partials(
    context: ScheduleContext, nest: kernel.GenericOp, block: Block, partials: Sequence[SSAValue], index: Sequence[Dim],
    count: Dim, cooperative: bool = False,
) -> list[SSAValue]:  # fmt: skip
    """The values of an order's blocks, along the last dim of ``partials[place]``, combined as the order says."""
    position, order = context.new_iv(), order_of(nest)
    return context.reduce(
        nest, block, Range(position, 0, count), lambda body: load_all(body, partials, [*index, position]),
        order=Order("tree", 1, 1) if order.kind == "tree" else order, cooperative=cooperative,
    )  # fmt: skip


def segments_of(nest: kernel.GenericOp, lanes: VectorConfig) -> Segments | None:
    """The segments of a reduction whose elements are copied, segment by segment, to contiguous memory."""
    k = nest.reduced
    widest = min((t.bits for t in map(scalar_dtype, accumulator_types(nest))), default=32)
    return match_segments(nest, k, 2 * lanes.width(widest)) if order_of(nest).kind in ("tree", "free") else None


def reduce_segments(
    context: ScheduleContext, nest: kernel.GenericOp, block: Block, point: Point, runs: Segments, lanes: VectorConfig
) -> list[SSAValue]:
    """A whole reduction, a block of its order at a time."""
    extent, size = nest.extents.data[-1], order_of(nest).block or BLOCK
    if extent.const is not None and extent.const <= size:
        return reduce_segment_block(context, nest, block, point, (dim(0), extent), runs, lanes)
    blocks, number = ceil_div(extent, size), context.new_iv()
    partials = context.accumulators(block, nest, (blocks,), scope="thread")
    with for_loop(block, number, 0, blocks) as body:
        part = number * size, minimum(extent, number * size + size)
        store_all(body, reduce_segment_block(context, nest, body, point, part, runs, lanes), partials, [number])
    return combine_partials(context, nest, block, partials, [], blocks)


def reduce_segment_block(
    context: ScheduleContext, nest: kernel.GenericOp, block: Block, point: Point, part: tuple[Dim, Dim],
    runs: Segments, lanes: VectorConfig,
) -> list[SSAValue]:  # fmt: skip
    """One block of a reduction, whose elements are staged in L1."""
    lower, upper = part
    last = nest.body.block.last_op
    assert last is not None
    kinds = [scalar_dtype(value.type) for value in last.operands]
    size = dim(order_of(nest).block or BLOCK)
    stages = [context.allocate(block, BufferInfo(kind, (size,), (dim(1),)), "thread") for kind in kinds]
    width = lanes.width(max(kind.part.bytes * 8 for kind in kinds))
    unroll = lanes.unroll or context.unroll_factor(nest, {runs.symbol})

    def copy(segment: Block, index: Dim, at: Dim, first: Dim, end: Dim) -> None:
        with for_loop(segment, index, first, end, vector=width, unroll=unroll) as body:
            store_all(body, context.body(nest, {**point, runs.symbol: at}, body), stages, [at - lower])

    runs.loops(context, block, point, lower, upper, copy)
    position = context.new_iv()
    return context.reduce(
        nest, block, Range(position, 0, upper - lower), lambda body: load_all(body, stages, [position]),
        vector=_lanes(nest, width),
    )  # fmt: skip
