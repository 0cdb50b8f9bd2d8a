"""All-pairs rows have every pair, and are far fewer than the product."""

from __future__ import annotations

import itertools

import pytest

from .pairwise import pairs, pairwise


@pytest.mark.parametrize("sizes", [(1,), (4,), (2, 3), (3, 3, 3, 3), (7, 1, 5, 2), (13, 2, 5, 2, 3), (2,) * 10])
def test_every_pair_occurs(sizes: tuple[int, ...]) -> None:
    factors = [[f"{chr(97 + i)}{j}" for j in range(size)] for i, size in enumerate(sizes)]
    rows = pairwise(*factors)
    assert pairs(rows) == pairs(itertools.product(*factors))
    assert {row[0] for row in rows} == set(factors[0])
    assert rows == pairwise(*factors) and len(set(rows)) == len(rows)


def test_a_missing_pair_is_seen() -> None:
    rows = pairwise("ab", "cd", "ef")
    assert len(rows) == 4
    assert all(pairs(rows[:i] + rows[i + 1 :]) < pairs(rows) for i in range(4))


def test_rows_are_few() -> None:
    """The least there can be are the product of the two largest factors."""
    assert len(pairwise(range(13), range(5), range(5), range(2), range(3))) <= 75
    assert len(pairwise(*[range(2)] * 10)) <= 12


def test_no_values() -> None:
    assert pairwise() == [] and pairwise("ab", "") == []
