"""Rows of which no cache holds a band: each nest goes over all rows, in pages of results.

Across rows, where neighbouring rows are neighbours in memory, a band of them is a short run of every column.  A cache
that holds the band makes up for that, as later nests find it there.  One that does not is better passed over by each
nest in long runs (`fold_bands.py`), where what nests hand each other is numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from xdsl.ir import Block

from ..dialects import kernel
from ..dialects.dims import Dim, Sym, dim, maximum, minimum
from ..dialects.index_map import product
from .loop_writer import LoopWriter, accesses, buffer_info
from .row_staging import handed_on, is_of_row, separated
from .schedule_bands import fold_in_bands, goes_in_bands, past_caches
from .schedule_map import Lanes

__all__ = ["are_better_apart", "may_stand_apart", "schedule_apart"]


def may_stand_apart(nests: Sequence[kernel.GenericOp], shared: int) -> bool:
    """Whether nests of rows hand each other numbers only, what they make of them too, and folds can go in bands."""
    numbers = all(not buffer_info(v).dims for v in handed_on([[nest] for nest in nests]))
    return numbers and all(
        goes_in_bands(nest) if nest.is_reduction else product(nest.extents.data[shared:]).const == 1 for nest in nests
    )


def are_better_apart(writer: LoopWriter, nests: Sequence[kernel.GenericOp], shared: int) -> Dim:
    """Positive where half of the second cache does not hold a band of rows, nor all of it all rows."""
    folds = [nest for nest in nests if nest.is_reduction]
    band = reduce(maximum, (_room(writer, nest, shared) for nest in folds))
    return minimum(band - int(writer.costs.machine.cache2) // 2, past_caches(writer, folds[0]))


def _room(writer: LoopWriter, nest: kernel.GenericOp, shared: int) -> Dim:
    """What a band of rows of a fold takes of a cache, in bytes.

    Columns that are whole pages apart begin in the same places of it, so each takes as much room as a page.
    """
    columns, machine = product(nest.extents.data[shared:]), writer.costs.machine
    run, apart = 0, dim(0)
    for value, walk in zip(nest.ins, accesses(nest)):
        size, step = buffer_info(value).dtype.bytes, walk.step(Sym(f"d{shared}"))
        if not is_of_row(value) and step is not None:
            run, apart = max(run, size * writer.costs.side_by_side), maximum(apart, 1 - step * size % int(machine.page))
    return columns * maximum(run, apart * int(machine.page))


def schedule_apart(
    writer: LoopWriter,
    nests: Sequence[kernel.GenericOp],
    shared: int,
    block: Block,
    lanes: Lanes,
    write_nest: Callable[[kernel.GenericOp, Block, dict[Sym, Dim]], None],
) -> None:
    """Loops for one nest of rows after another."""
    for run in separated([[nest] for nest in nests], shared, lambda info: writer.allocate(block, info)):
        (nest,) = run
        if nest.is_reduction:
            fold_in_bands(writer, nest, block, lanes)
        else:
            write_nest(nest, block, {})
        nest.drop_all_references()
