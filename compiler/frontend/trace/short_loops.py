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


def sizes_worth_knowing(
    op: type[Op], types: Sequence[TensorType], attrs: dict[str, Any], hint: Callable[[Dim], int | None]
) -> list[Dim]:
    """The sizes of an op's operands that code should have as numbers; `hint` says what they are in this call."""
    if issubclass(op, Structural) and op.shorter_along:
        return [types[0].dims[attrs[op.shorter_along]]]
    if issubclass(op, Reduction):
        rows, reduced = types[0], set(attrs["dims"])
    elif op.name == "contract":
        rows, reduced = _rows_by_vectors(types, attrs)
    else:
        return []
    along, across = ([d for i, d in enumerate(rows.dims) if (i in reduced) == wanted] for wanted in (True, False))
    length, results = hint(product(along)), hint(product(across))
    are_short = length is not None and 1 < length <= SHORT and rows.rank - 1 in reduced
    if not are_short or results is None or results < MANY:
        return []
    return [d for d in along if d.symbol is not None]


def _rows_by_vectors(types: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, set[int]]:
    """The operand of a contraction whose rows are multiplied by vectors, and its dims that are summed; none of others.

    Where both operands have dims of their own, tiles of results are as fast for any size.
    """
    for side in (0, 1):
        other = types[1 - side]
        met = [pair[1 - side] for pair in (*attrs["batch"], *attrs["pairs"])]
        if len(met) == other.rank:
            return types[side], {pair[side] for pair in attrs["pairs"]}
    return types[0], set()
