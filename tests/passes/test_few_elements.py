"""Rows of two to eight elements, of a known number: combined across rows, with the bits of an order that has lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc

from ..codegen.harness import text_at

FOLDS: dict[str, Callable[[Any], Any]] = {
    "sums": lambda x: x.sum(1),
    "maxima": lambda x: x.max(1),
    "products of rows": lambda x: x.prod(1),
    "norms": lambda x: np.sqrt((x * x).sum(1)),
    "bytes by weights": lambda x: ((x * 50).astype(np.uint8) @ (np.arange(x.shape[1]) + 1.0)).astype(np.uint8),
}
NUMBERS = np.array([0.0, -0.0, 1.5, -1.0, 3.25, 2.0**80, 2.0**-140])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", FOLDS)
def test_a_number_of_elements_that_is_known_changes_no_bits(name: str, dtype: str) -> None:
    fold = FOLDS[name]
    generic = txc.jit(fold)
    for count in (2, 3, 5, 8, 9):
        numbers = NUMBERS[2:5] if name.startswith("bytes") else NUMBERS
        x = np.random.default_rng(count).choice(numbers, (37, count)).astype(dtype)
        known = txc.jit(lambda x, count=count: fold(x.reshape(-1, count)))
        assert known(x).tobytes() == generic(x).tobytes(), count


@pytest.mark.parametrize(("count", "loops"), [(2, 0), (8, 0), (9, 1)])
def test_how_many_elements_are_few(count: int, loops: int) -> None:
    text = text_at("loops", txc.jit(lambda x: x.reshape(-1, count).sum(1)), np.ones((50, count), "f4"))
    assert text.count("loop.reduce ") == loops


def test_what_the_identity_may_change_keeps_its_lanes() -> None:
    """Of NaN and the identity a fast maximum gives either."""
    text = text_at("loops", txc.jit(lambda x: x.reshape((20, 3)).maximum([1], nan="fast")), np.ones(60, "f4"))
    assert text.count("loop.reduce ") == 1
