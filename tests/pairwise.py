"""All-pairs testing: faults lie in one value or in two together, so tests of a grid take every pair, not every tuple.

A grid of sizes a ≥ b ≥ c … has about a·b rows that cover its pairs, however many factors follow.  Which rows are taken
depends on nothing but the factors.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

__all__ = ["pairs", "pairwise"]

#: Two values of a row, each with its place.
Pair = tuple[tuple[int, Hashable], tuple[int, Hashable]]


def pairs(rows: Iterable[Sequence[Hashable]]) -> set[Pair]:
    """Which two values stand in one of the rows, and where."""
    return {pair for row in rows for pair in itertools.combinations(enumerate(row), 2)}


def pairwise(*factors: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Rows of one value of each factor, in which any two values of two factors occur together.

    Greedy: each row begins with the first pair that is missing, and takes of every other factor the value that adds
    the most.  Values are counted by place, so they need not be hashable.
    """
    places = [range(len(factor)) for factor in factors]
    every = itertools.combinations(range(len(factors)), 2)
    missing: dict[Any, None] = {
        ((i, a), (j, b)): None for i, j in every for a, b in itertools.product(places[i], places[j])
    }
    rows: list[tuple[int, ...]] = [] if len(factors) > 1 else [(value,) for value in itertools.chain(*places)]
    while missing:
        row = dict(next(iter(missing)))
        for i in range(len(factors)):
            if i not in row:
                row[i] = max(places[i], key=lambda value: _adds(row, i, value, missing))
        rows.append(tuple(row[i] for i in range(len(factors))))
        for pair in itertools.combinations(enumerate(rows[-1]), 2):
            missing.pop(pair, None)
    return [tuple(factor[place] for factor, place in zip(factors, row)) for row in rows]


def _adds(row: dict[int, Any], factor: int, value: int, missing: dict[Any, None]) -> int:
    """How many missing pairs a value makes with those that a row has."""
    made = ((min(known, (factor, value)), max(known, (factor, value))) for known in row.items())
    return sum(pair in missing for pair in made)
