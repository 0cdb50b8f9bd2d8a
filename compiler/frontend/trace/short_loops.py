"""Sizes whose loops are a fraction of those for any size: lengths of transforms, and the lengths of many short rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....dialects.dims.dims import Dim
from ....dialects.dims.index_map import product
from ....dialects.registry import Op, Reduction, Structural
from ....dialects.types import TensorType

__all__ = ["sizes_worth_knowing"]

#: Rows of at most so many elements are short: their accumulator lanes have one element each, or none.
SHORT = 8
#: So many results take longer for any size than code for one takes to compile.
MANY = 1 << 14
#: Results of a row beside each other, and their products, at most, and rows beside each other, at least
#: (`passes/schedule/reduce/short_rows.py`).
MOST_RESULTS, MOST_PRODUCTS, FEWEST_ROWS = 16, 128, 64

#: Factorisations of small matrices in lanes, and the rows and columns of these, at most
#: (`passes/schedule/linalg/across_matrices.py`).
FACTORIZATIONS, LARGEST_MATRIX = frozenset({"eliminate", "cholesky"}), 8


def sizes_worth_knowing(
    op: type[Op], types: Sequence[TensorType], attrs: dict[str, Any], hint: Callable[[Dim], int | None]
) -> list[Dim]:
    """The sizes of an op's operands that code should have as numbers; `hint` says what they are in this call."""
    if issubclass(op, Structural) and op.shorter_along:
        return [types[0].dims[attrs[op.shorter_along]]]
    if op.name in FACTORIZATIONS:
        return _sizes_of_matrices(types, hint)
    if op.name == "contract":
        return _sizes_of_products(types, attrs, hint)
    if not issubclass(op, Reduction):
        return []
    rows, reduced = types[0], set(attrs["dims"])
    along, across = ([d for i, d in enumerate(rows.dims) if (i in reduced) == wanted] for wanted in (True, False))
    is_short = rows.rank - 1 in reduced and 1 < (hint(product(along)) or 0) <= SHORT
    return _symbols(along) if is_short and (hint(product(across)) or 0) >= MANY else []


def _sizes_of_matrices(types: Sequence[TensorType], hint: Callable[[Dim], int | None]) -> list[Dim]:
    """Rows and columns of matrices and right sides that are small, and many."""
    sizes = [d for t in types for d in t.dims[-2:]]
    if (hint(product(types[0].dims[:-2])) or 0) < MANY or any((hint(d) or 0) > LARGEST_MATRIX for d in sizes):
        return []
    return _symbols(sizes)


def _sizes_of_products(
    types: Sequence[TensorType], attrs: dict[str, Any], hint: Callable[[Dim], int | None]
) -> list[Dim]:
    """Of a contraction of many rows of few elements, what is summed and the results of a row, if these are few too.

    A row is one of the left operand, or the results of one of a stack of contractions.
    """
    batch, pairs = attrs["batch"], attrs["pairs"]
    stacked = [types[0].dims[i] for i, _ in batch]
    summed = [types[0].dims[i] for i, _ in pairs]
    left, right = (
        [d for i, d in enumerate(t.dims) if all(pair[side] != i for pair in (*batch, *pairs))]
        for side, t in enumerate(types)
    )
    for around, rows, results in (([], stacked, [*left, *right]), (stacked, left, right), (stacked, right, left)):
        many, beside, few, length = (hint(product(dims)) for dims in ([*around, *rows], rows, results, summed))
        if many is None or beside is None or few is None or length is None or many < MANY or beside < FEWEST_ROWS:
            continue
        if 1 < length <= SHORT and few <= MOST_RESULTS and few * length <= MOST_PRODUCTS:
            return _symbols([*summed, *results])
    return []


def _symbols(sizes: Sequence[Dim]) -> list[Dim]:
    return [d for d in sizes if d.symbol is not None]
