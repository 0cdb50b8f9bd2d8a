"""Rows of which no cache holds a band: each nest for all of them, with the bits of rows that lie in a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc

from ..codegen.harness import text_at
from .layouts import check_that_layout_changes_no_bit


def mean_and_variance(x: Any) -> Any:
    mean = np.mean(x, axis=1, keepdims=True)
    return mean, np.mean((x - mean) * (x - mean), axis=1, keepdims=True)


def logsumexp(x: Any) -> Any:
    top = np.max(x, axis=1, keepdims=True)
    return top + np.log(np.sum(np.exp(x - top), axis=1, keepdims=True))


def centred(x: Any) -> Any:
    """What is made of rows is rows, which stay together."""
    return x - np.mean(x, axis=1, keepdims=True)


# Columns of whole pages, and others; rows that a cache holds a band of, and others.
@pytest.mark.parametrize("program", [mean_and_variance, logsumexp, centred])
@pytest.mark.parametrize("shape", [(1024, 600), (1024, 1100), (500, 1100), (300, 5000), (2048, 513), (40, 30)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_layout_changes_no_bit(
    program: Callable[..., Any], shape: tuple[int, int], dtype: str, threads: int
) -> None:
    check_that_layout_changes_no_bit(program, shape, dtype, threads)


def test_bands_are_cut_for_the_threads_of_a_call() -> None:
    x = np.random.default_rng(6).standard_normal((700, 1000)).astype("f4")
    text = text_at("loops", lambda x: np.sum(x, axis=0), x)
    assert "loop.threads" in text
    one = txc.jit(lambda x: np.sum(x, axis=0), threads=1)(x)
    for threads in (2, 3, 7):
        np.testing.assert_array_equal(txc.jit(lambda x: np.sum(x, axis=0), threads=threads)(x), one)
