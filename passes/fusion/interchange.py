"""Whether nests go row by row with others, and their iterators in another order, so that they do.

The order of a map's iterators means nothing: it computes the same elements.  So of ``e = exp(x)`` and sums of the
columns of ``e`` the map may count columns first, as the sums do, and then both go by columns.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.dims.dims import iterator, iterators
from ...dialects.dims.index_map import IndexMap
from ...dialects.kernel import GenericOp
from .reindex import reindex

__all__ = ["interchange", "inverse_permutation", "read_permutation", "shared_leading_dims"]


def interchange(nest: GenericOp, order: Sequence[int]) -> None:
    """Count the iterators of a nest in another order: the new one of number `i` is what ``order[i]`` was."""
    extents = tuple(nest.extents.data[old] for old in order)
    reindex(nest, IndexMap(extents, tuple(iterator(new) for new in inverse_permutation(order))))


def inverse_permutation(order: Sequence[int]) -> tuple[int, ...]:
    """The permutation that interchanges a nest's loops back."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def read_permutation(index: IndexMap, written: IndexMap) -> tuple[int, ...] | None:
    """In which order a nest that has `index` meets the dims of an operand as the leading iterators of `written` do.

    None where these are not dims of the operand, each alone in both.
    """
    numbers = {it: i for i, it in enumerate(iterators(index.rank))}
    leading: list[int] = []
    for it in iterators(written.rank):
        if it not in written.exprs:
            break
        number = numbers.get(index.exprs[written.exprs.index(it)])
        if number is None:
            break
        leading.append(number)
    if not leading or len(set(leading)) < len(leading):
        return None
    return (*leading, *(i for i in range(index.rank) if i not in leading))


def shared_leading_dims(read: IndexMap, written: IndexMap) -> int:
    """How many leading iterators index the same dims of a value where it is read and where it was written, alone."""
    count = 0
    for it in iterators(min(read.rank, written.rank)):
        numbers = [[i for i, e in enumerate(index.exprs) if it.symbol in e.symbols()] for index in (read, written)]
        if len(numbers[0]) != 1 or numbers[0] != numbers[1]:
            break
        (number,) = numbers[0]
        if read.exprs[number] is not it or written.exprs[number] is not it:
            break
        count += 1
    return count
