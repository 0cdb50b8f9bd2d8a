"""Sizes whose loops are a fraction of those for any size: lengths of transforms, and the lengths of many short rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ....dialects.dims.dims import Dim
from ....dialects.dims.index_map import product
from ....dialects.registry import Op, Reduction, Structural
from ....dialects.types import TensorType

__all__ = ["MANY", "sizes_worth_knowing"]

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
    op: type[Op], types: Sequence[TensorType], attrs: dict[str, Any], hint: Callable[[Dim], int | None],
    is_many: Callable[[Dim], bool] | None = None,
) -> list[Dim]:  # fmt: skip
    """The sizes of an op's operands that code should have as numbers; `hint` says what they are in this call.

    `is_many` is asked whether what has such sizes is `MANY` or more, where nothing else is against it.
    """
    known = _Known(hint, is_many or (lambda count: (hint(count) or 0) >= MANY))
    if issubclass(op, Structural) and op.shorter_along:
        return [types[0].dims[attrs[op.shorter_along]]]
    if op.name in FACTORIZATIONS:
        return _sizes_of_matrices(types, known)
    if op.name == "contract":
        return _sizes_of_products(types, attrs, known)
    if not issubclass(op, Reduction):
        return []
    rows, reduced = types[0], set(attrs["dims"])
    along, across = ([d for i, d in enumerate(rows.dims) if (i in reduced) == wanted] for wanted in (True, False))
    is_short = rows.rank - 1 in reduced and 1 < known.size(along) <= SHORT
    return _symbols(along) if is_short and _symbols(along) and known.is_many(product(across)) else []


@dataclass(frozen=True)
class _Known:
    """What is known of sizes."""

    hint: Callable[[Dim], int | None]
    is_many: Callable[[Dim], bool]

    def size(self, dims: Sequence[Dim]) -> int:
        """The product of dims; 0 where it is not known."""
        return self.hint(product(dims)) or 0


def _sizes_of_matrices(types: Sequence[TensorType], known: _Known) -> list[Dim]:
    """Rows and columns of matrices and right sides that are small, and many."""
    sizes, stack = [d for t in types for d in t.dims[-2:]], types[0].dims[:-2]
    if not _symbols(sizes) or any(known.size([d]) > LARGEST_MATRIX for d in sizes):
        return []
    return _symbols(sizes) if known.is_many(product(stack)) else []


def _sizes_of_products(types: Sequence[TensorType], attrs: dict[str, Any], known: _Known) -> list[Dim]:
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
    length = known.size(summed)
    if not 1 < length <= SHORT:
        return []
    for around, rows, results in (([], stacked, [*left, *right]), (stacked, left, right), (stacked, right, left)):
        sizes, few = _symbols([*summed, *results]), known.size(results)
        if not sizes or not 0 < few <= min(MOST_RESULTS, MOST_PRODUCTS // length):
            continue
        if known.is_many(product([*around, *rows])) and known.size(rows) >= FEWEST_ROWS:
            return sizes
    return []


def _symbols(sizes: Sequence[Dim]) -> list[Dim]:
    return [d for d in sizes if d.symbol is not None]
