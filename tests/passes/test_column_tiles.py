"""Folds by lanes of their order, for bands of results that no cache holds, with the bits of folds that lie in a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from .layouts import check_that_layout_changes_no_bit


def total(x: Any) -> Any:
    return np.sum(x)


def rows(x: Any) -> Any:
    return np.sum(x, axis=1)


def three_of_rows(x: Any) -> Any:
    return np.sum(x, axis=1), np.sum(x * x, axis=1), np.max(x, axis=1)


def times_a_row(x: Any) -> Any:
    return x @ x[0]


def of_roots(x: Any) -> Any:
    """Too many operations for lanes that are folded together."""
    return np.sum(np.exp(x) / (x * x + 2) - x, axis=1)


def of_what_is_computed(x: Any) -> Any:
    return np.sum(x * 2 + 1)


@pytest.mark.parametrize("program", [total, rows, three_of_rows, times_a_row, of_roots, of_what_is_computed])
@pytest.mark.parametrize(
    "shape", [(70, 1024), (66, 2048), (600, 3000), (2100, 700), (64, 1024), (3, 4096), (500, 400), (263, 131)]
)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_layout_changes_no_bit(
    program: Callable[..., Any], shape: tuple[int, int], dtype: str, threads: int
) -> None:
    check_that_layout_changes_no_bit(program, shape, dtype, threads)
