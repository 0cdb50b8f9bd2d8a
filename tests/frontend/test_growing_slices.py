"""Slices whose length changes with a loop's counter: their temporaries are as large as the largest of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc


@txc.jit
def prefix_sums(x):
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = x[: i + 1].sum()
    return y


@txc.jit
def suffix_sums_of_exponentials(x):
    y = np.zeros((x.shape[0],), x.dtype)
    for i in range(x.shape[0]):
        y[i] = np.exp(x[i:]).sum()
    return y


@pytest.mark.parametrize("n", [1, 12, 3000])  # 3000: several blocks of the order of sums
@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (prefix_sums, np.cumsum),
        (suffix_sums_of_exponentials, lambda x: np.cumsum(np.exp(x)[::-1])[::-1]),
    ],
    ids=["prefix", "suffix"],
)
def test_sums_of_growing_and_shrinking_slices(f: Any, expected: Any, n: int):
    x = np.random.default_rng(0).normal(size=n)
    np.testing.assert_allclose(f(x), expected(x), rtol=1e-12, atol=1e-12)


@txc.jit
def sums_of_medians(x):
    total = 0.0
    for i in range(1, x.shape[0]):
        total += np.sort(x[:i])[i // 2]
    return total


@pytest.mark.parametrize("n", [0, 1, 2, 70])
def test_sorted_slices(n: int):
    """`np.sort` in a loop is a function: `np` is nothing that the loop changes."""
    x = np.random.default_rng(1).normal(size=n)
    np.testing.assert_allclose(sums_of_medians(x), sum(np.sort(x[:i])[i // 2] for i in range(1, n)), rtol=1e-12)
