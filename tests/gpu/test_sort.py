"""Sorts by blocks: tiles in block memory, merges of runs; the order, and the bits, are those of a CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc

from ..ops.generated import PAIRS
from .devices import GPUS

RNG = np.random.default_rng(8)


def drawn(shape: tuple[int, ...], kind: Any) -> np.ndarray:
    """Few different values, so that most are equal to some others; NaNs, infinity and zeros of both signs."""
    x = (np.round(RNG.standard_normal(shape) * 9)).astype(kind)
    if x.dtype.kind == "f":
        x[..., 3], x[..., 7], x[..., 5], x[..., 6] = np.nan, np.inf, -0.0, -np.nan
    return x


def values_and_positions(x: Any) -> Any:
    return np.sort(x, axis=1), np.argsort(x, axis=1, stable=True)


def of_columns(x: Any) -> Any:
    return np.sort(x, axis=0), txc.sort(x, axis=0, descending=True), txc.argsort(x, axis=0, descending=True)


def least(x: Any) -> Any:
    return np.sort(x)[0]


def least_of_first(x: Any) -> Any:
    total = x[0] * 0
    for i in range(1, x.shape[0]):
        total = total + least(x[:i])
    return total


@GPUS
@pytest.mark.parametrize("kind", [np.float32, np.uint8, np.complex64])
def test_sorts_have_the_bits_of_a_cpu(device: str, kind: Any) -> None:
    """Short rows, a tile that is not whole, several of them, and runs without another one to merge with."""
    made, reference = txc.jit(values_and_positions, device=device), txc.jit(values_and_positions, passes=PAIRS)
    for shape in ((3, 20), (2, 33), (2, 1024), (1, 2100)):
        x = drawn(shape, kind)
        for found, expected in zip(made(x), reference(x), strict=True):
            assert np.asarray(found).tobytes() == expected.tobytes()


def test_empty_rows_and_no_rows() -> None:
    made = txc.jit(values_and_positions, device="ptx-sim")
    for shape in ((2, 0), (0, 50)):
        assert [np.asarray(r).shape for r in made(np.zeros(shape, np.float32))] == [shape, shape]


def test_columns_are_sorted_beside_each_other() -> None:
    x = drawn((70, 8), np.float64)
    made, reference = txc.jit(of_columns, device="ptx-sim"), txc.jit(of_columns, passes=PAIRS)
    for found, expected in zip(made(x), reference(x), strict=True):
        assert np.asarray(found).tobytes() == expected.tobytes()


def test_rows_of_sizes_that_a_loop_decides() -> None:
    """Memory for them is what the longest needs: how long a row is is known in the loop only."""
    x = np.arange(50, 0, -1).astype(np.float32)
    assert np.asarray(txc.jit(least_of_first, device="ptx-sim")(x)) == least_of_first(x)


def test_memory_is_taken_for_the_way_that_is_chosen() -> None:
    """Copies of all rows where rows are long."""
    text = txc.jit(lambda x: np.sort(x, axis=1), device="ptx-sim").explain(drawn((3, 20), np.float32))
    assert "min(1, max(0, x.1 - 32))" in text
