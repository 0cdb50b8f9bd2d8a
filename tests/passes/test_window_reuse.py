"""Rows of results that share what they read are computed together: the same bits, and integers that are NumPy's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import txc

from .layouts import as_tuple

APART = "tx-schedule-cpu{unroll=1}"


def depthwise(x: Any, w: Any) -> Any:
    return np.einsum("hwcij,ijc->hwc", sliding_window_view(x, (3, 3), (0, 1)), w)


def plane(x: Any, w: Any) -> Any:
    return np.einsum("hwij,ij->hw", sliding_window_view(x, (3, 5)), w)


def largest(x: Any) -> Any:
    return np.max(sliding_window_view(x, (3, 3)), axis=(2, 3))


def largest_of_every_second(x: Any) -> Any:
    return np.max(sliding_window_view(x, (3, 3))[::2], axis=(2, 3))


def down_columns(x: Any) -> Any:
    return np.sum(sliding_window_view(x, 4, 0), axis=-1)


def of_halves(x: Any) -> Any:
    return np.sum(x.reshape(x.shape[0] // 2, 2, x.shape[1]), axis=1)


def random(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return (np.random.default_rng(sum(shape)).standard_normal(shape) * 100).astype(dtype)


@pytest.mark.parametrize("program", [plane, largest, largest_of_every_second, down_columns])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@pytest.mark.parametrize("threads", [1, 2])
def test_planes(program: Callable[..., Any], dtype: str, threads: int) -> None:
    together = txc.jit(program, threads=threads)
    apart = txc.jit(program, threads=threads, passes=APART)
    for rows in (4, 5, 6, 9, 10, 11, 17, 28, 700):
        for columns in (5, 20, 21, 68, 150):
            arguments = [random((rows, columns), dtype)]
            if program is plane:
                arguments.append(random((3, 5), dtype))
            found = np.asarray(together(*arguments))
            assert found.tobytes() == np.asarray(apart(*arguments)).tobytes(), (rows, columns)
            if dtype == "i4":
                np.testing.assert_array_equal(found, program(*arguments))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@pytest.mark.parametrize("channels", [1, 15, 64, 67])
def test_channels(dtype: str, channels: int) -> None:
    together, apart = txc.jit(depthwise, threads=2), txc.jit(depthwise, threads=2, passes=APART)
    w = random((3, 3, channels), dtype)
    for height in (3, 4, 60):
        for width in range(3, 30):
            x = random((height, width, channels), dtype)
            found = np.asarray(together(x, w))
            assert found.tobytes() == np.asarray(apart(x, w)).tobytes(), (height, width)
            if dtype == "i4":
                np.testing.assert_array_equal(found, depthwise(x, w))


def product(a: Any, x: Any) -> Any:
    return a @ x


def weighted(a: Any, x: Any) -> Any:
    return np.max(a * x, axis=1), np.sum(np.abs(a) * x, axis=1)


@pytest.mark.parametrize("program", [product, weighted])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_that_share_an_operand(program: Callable[..., Any], dtype: str, threads: int) -> None:
    together = txc.jit(program, threads=threads)
    apart = txc.jit(program, threads=threads, passes=APART)
    for rows in (1, 2, 3, 4, 5, 7, 400):
        for columns in (1, 17, 64, 400, 1024, 3001):
            a, x = random((rows, columns), dtype), random((columns,), dtype)
            for found, expected in zip(as_tuple(together(a, x)), as_tuple(apart(a, x)), strict=True):
                assert np.asarray(found).tobytes() == np.asarray(expected).tobytes(), (rows, columns)


def test_the_compiler_says_how_many_rows() -> None:
    """Of windows that are small enough for the registers of any processor."""
    x = random((8, 40), "f4")
    assert re.search(r"unroll-and-jam of [2-8] rows by [1-8] vectors", str(txc.jit(largest).explain(x)))
    assert "unroll-and-jam" not in str(txc.jit(of_halves).explain(x))
    assert "unroll-and-jam" not in str(txc.jit(largest, passes=APART).explain(x))
