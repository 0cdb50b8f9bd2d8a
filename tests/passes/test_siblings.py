"""Nests that become one: what both compute is computed once, and each result is its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc

X = np.array([-2.0, -0.0, 0.0, 3.0, np.nan], np.float32)


def one_nest(f: Callable[..., Any]) -> list[np.ndarray]:
    """The results of a function that is one nest."""
    jitted = txc.jit(f)
    assert jitted.lower(X).as_text("fused").count("kernel.generic ") == 1
    return list(jitted(X))


def test_zeros_of_both_signs_stay_apart():
    first, second = one_nest(lambda x: (np.where(x > 0, x, 0.0), np.where(x > 0, x, -0.0)))
    assert np.signbit(first).tolist() == [False] * 5
    assert np.signbit(second).tolist() == [True, True, True, False, True]


@pytest.mark.parametrize("turn", [1, -1])
def test_what_one_gives_the_other_may_compute_on_its_way(turn: int):
    results = one_nest(lambda x: (np.abs(x) * 2, np.abs(x))[::turn])
    for found, expected in zip(results[::turn], (np.abs(X) * 2, np.abs(X)), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_equal_names_of_other_places_are_other_places():
    places = np.array([7, 1])
    found = txc.jit(lambda x, i: (np.take(x, i, mode="clip"), np.take(x, i, mode="wrap")))(X, places)
    np.testing.assert_array_equal(found, [X[[4, 1]], X[[2, 1]]])
