"""Reductions of few elements whose results are short rows: pixels by a matrix, stacks of small products.

Neither the elements nor the results of a row fill a vector.  So lanes hold neighbouring rows, and all results of a row
are computed beside each other, as registers: what a row reads is loaded once, and its results go to memory as whole
vectors (`codegen/emit/memory/interleave.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import Block

from ....dialects import kernel
from ....dialects.dims.dims import Dim, Sym
from ..access import Access, accesses, body_cost
from ..body import ScheduleContext
from ..language.axes import FusedAxis, collapse_axes
from ..language.lower import write_scheduled
from ..language.nest import Nest
from ..map.schedule import TASKS_PER_CHUNK, VectorConfig
from .core import LONGEST_STEPS, element_accesses, reduce_unrolled, unrolled_steps

__all__ = ["has_short_rows", "reduce_short_rows", "short_axes"]

#: Results of a row that are computed beside each other, at most.
MOST_RESULTS = 16
#: Fewer rows are not worth vectors across them.
FEWEST_ROWS = 64


def has_short_rows(nest: kernel.GenericOp) -> bool:
    """Whether a reduction has short rows of results."""
    access_list = accesses(nest)
    return bool(short_axes(nest, access_list, collapse_axes(nest, access_list, 0, nest.n_parallel)))


def short_axes(nest: kernel.GenericOp, access_list: list[Access], axes: Sequence[FusedAxis]) -> Sequence[FusedAxis]:
    """The axes of results that are computed beside each other, where lanes are to be rows; none where they are not.

    They are inside of the rows' axis, the last one that is long, or share an operand outside of it.
    """
    steps = unrolled_steps(nest)
    rows = max((i for i, axis in enumerate(axes) if not _is_short(axis)), default=-1)
    if not steps or rows < 0 or (axes[rows].extent.const or FEWEST_ROWS) < FEWEST_ROWS:
        return []
    operands = element_accesses(nest, access_list)
    sharing = [
        axis
        for axis in axes[:rows]
        if _is_short(axis) and not all(w.varies(symbol) for w in operands for symbol in axis.symbols)
    ]
    short = [*sharing, *axes[rows + 1 :]]
    results = prod(axis.extent.const or 1 for axis in short)
    return short if results <= MOST_RESULTS and steps * results * body_cost(nest) <= LONGEST_STEPS else []


def _is_short(axis: FusedAxis) -> bool:
    return axis.extent.const is not None and axis.extent.const <= MOST_RESULTS


def reduce_short_rows(
    context: ScheduleContext,
    nest: kernel.GenericOp,
    block: Block,
    lanes: VectorConfig,
    short: Sequence[FusedAxis],
) -> None:
    """All results of a nest that has `short_axes`."""
    steps = unrolled_steps(nest)

    def element(body: Block, point: dict[Sym, Dim]) -> None:
        context.epilogue(nest, reduce_unrolled(context, nest, body, point), point, body)

    made = Nest(context, nest, element=element, work=steps)
    write_scheduled(made, lambda nest: across_rows(nest, short, lanes, steps), block)


def across_rows(nest: Nest, short: Sequence[FusedAxis], lanes: VectorConfig, steps: int) -> None:
    """Vectors along rows, the results of each beside each other; threads share chunks of rows."""
    nest.collapse_all()
    results = [loop for loop in nest.loops if loop.axis in short]
    *outer, rows = [loop for loop in nest.loops if loop.axis not in short]
    points = steps * prod(loop.extent.const or 1 for loop in results)
    whole = nest.context.costs.results_in_flight
    chunks, rows = nest.split(rows, -(-nest.context.chunk(nest.op) // (points * TASKS_PER_CHUNK * whole)) * whole)
    nest.reorder(*outer, chunks, *results, rows)
    nest.vectorize(rows, lanes.width_of(nest.access_list))
    for loop in reversed(results):
        nest.unroll_and_jam(loop, loop.extent.const or 1)
    nest.parallel(*outer, chunks)
