"""Register reuse of sliding windows: how many rows of results to compute together where they read the same elements.

A fully unrolled reduction loads its elements one by one.  With several rows of results at a time, an element that more
than one of them reads is loaded once, as are loop-invariant ones, and stays in a register from its first use to its
last.  The accesses of every step are known, so loads and registers are counted, not estimated.  Latencies are hidden as
in a contraction (`matmul/register_tile.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ....dialects import kernel
from ....dialects.dims.dims import Sym, dim, sym
from ...cost.kernel_stats import remark_kernel
from ..access import buffer_info
from ..matmul.register_tile import FMA_RECIPROCAL_THROUGHPUT, LATENCY

__all__ = ["WindowReuse", "choose_window_reuse"]

#: How many rows can be computed together: more would leave too many over.
ROWS = (1, 2, 3, 4, 6, 8)
#: Cycles of a read where many are made.
READ = 0.5


@dataclass(frozen=True)
class WindowReuse:
    """Rows of results that are computed together, by vectors of each row side by side."""

    rows: int
    vectors: int


@dataclass(frozen=True)
class _Read:
    """An element that a step of a row reads, and whether it moves across vectors."""

    row: int
    step: int
    varies: bool
    element: Hashable


@dataclass(frozen=True)
class _Element:
    """An element that rows read: whether it moves across vectors, the steps that read it, and how often they do."""

    varies: bool
    first: int
    last: int
    times: int

    def reads(self, vectors: int) -> int:
        """What is the same for all vectors is read once."""
        return vectors if self.varies else 1

    def stays_in_register(self, vectors: int) -> bool:
        """Whether a register holds it: an operation takes what it alone reads from memory."""
        return self.times * vectors > self.reads(vectors)


def choose_window_reuse(
    nest: kernel.GenericOp, steps: int, row: Sym, column: Sym, registers: int, accumulators: int, most: int, widest: int
) -> WindowReuse | None:
    """The rows along `row` and vectors along `column` that take least for each result; None where that is one row.

    A reduction of so many `steps` has `accumulators` registers for each vector of results.  At most `most` of these are
    computed together, and `widest` of one row.
    """
    if not any({row, nest.reduced} <= e.symbols() for index in nest.maps_in() for e in index.exprs):
        return None
    reads: dict[WindowReuse, float] = {}
    seen = _reads(nest, steps, row, column, min(ROWS[-1], most))
    for rows in ROWS:
        elements = _elements([read for read in seen if read.row < rows])
        for vectors in range(1, min(widest, most // rows) + 1):
            if _peak_registers(elements, vectors) + rows * vectors * accumulators < registers:
                reads[WindowReuse(rows, vectors)] = sum(p.reads(vectors) for p in elements) / (rows * vectors)

    def cycles(overlap: WindowReuse) -> float:
        """Of a vector; the dependence chains of two tiles overlap."""
        return (
            steps * max(FMA_RECIPROCAL_THROUGHPUT, LATENCY / (2 * overlap.rows * overlap.vectors))
            + READ * reads[overlap]
        )

    chosen = min(reads, key=cycles, default=None)
    if chosen is None or chosen.rows == 1:
        return None
    row_by_row = min(reads[way] for way in reads if way.rows == 1)
    why = f"{row_by_row:.3g} loads a vector become {reads[chosen]:.3g}"
    remark_kernel("unroll", nest, f"unroll-and-jam of {chosen.rows} rows by {chosen.vectors} vectors", why)
    return chosen


def _peak_registers(elements: Sequence[_Element], vectors: int) -> int:
    """The most elements that registers hold at once."""
    changes: Counter[int] = Counter()
    for element in elements:
        if element.stays_in_register(vectors):
            changes[element.first] += element.reads(vectors)
            changes[element.last + 1] -= element.reads(vectors)
    return max(accumulate(changes[step] for step in sorted(changes)), default=0)


def _elements(reads: Sequence[_Read]) -> list[_Element]:
    found: dict[Hashable, _Element] = {}
    for read in reads:
        step, known = read.step, found.get(read.element, _Element(read.varies, read.step, read.step, 0))
        found[read.element] = _Element(read.varies, min(known.first, step), max(known.last, step), known.times + 1)
    return list(found.values())


def _reads(nest: kernel.GenericOp, steps: int, row: Sym, column: Sym, rows: int) -> list[_Read]:
    """What the steps of so many rows read."""
    found: list[_Read] = []
    for value, index in nest.element_inputs():
        exprs = (buffer_info(value).address(index.exprs), *index.guards)
        varies = any(column in e.symbols() for e in exprs)
        for step in range(steps):
            here = [e.substitute({nest.reduced: dim(step)}) for e in exprs]
            for number in range(rows):
                element = (value, *(e.substitute({row: sym(row.name) + number}) for e in here))
                found.append(_Read(number, step, varies, element))
    return found
