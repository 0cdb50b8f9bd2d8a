"""Maps that count columns first, to go column by column with folds: same elements, whatever their bodies ask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc


def padded(x: Any) -> Any:
    """Bodies that ask where they are: the edge of what is padded."""
    y = np.pad(x, ((1, 0), (0, 2)), constant_values=0.5)
    e = np.exp(y - y.max(axis=0))
    return e / e.sum(axis=0)


def made_first(x: Any) -> Any:
    """A map that was there before the fold whose order it takes."""
    e = np.exp(x)
    return e, e / e.sum(axis=0)


def centred(x: Any) -> Any:
    return (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + 1)


def by_rows_then_columns(x: Any) -> Any:
    """Rows of rows, and of what they give rows of columns: no order serves both."""
    y = x / x.sum(axis=1, keepdims=True)
    return y / y.sum(axis=0)


def stacks(x: Any) -> Any:
    y = np.stack([x, x * 2])
    return y / y.sum(axis=1, keepdims=True)


def numbered(x: Any) -> Any:
    """Places of largest elements, which are whole numbers, among floats."""
    return x - x.argmax(axis=0)


@pytest.mark.parametrize("f", [padded, made_first, centred, by_rows_then_columns, stacks, numbered])
@pytest.mark.parametrize("shape", [(1, 40), (40, 1), (7, 5), (130, 61), (5000, 70)], ids=str)
@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_results(f: Callable[..., Any], shape: tuple[int, int], layout: str) -> None:
    x = np.random.default_rng(5).random(shape) + 0.25
    x = np.asfortranarray(x) if layout == "columns" else x
    found, expected = txc.jit(f)(x), f(x)
    if not isinstance(found, tuple):
        found, expected = (found,), (expected,)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_bits_do_not_depend_on_threads(threads: int) -> None:
    x = np.random.default_rng(6).random((130, 203)).astype("f4")
    np.testing.assert_array_equal(txc.jit(padded, threads=threads)(x), txc.jit(padded, threads=1)(x))


@pytest.mark.parametrize(("f", "groups"), [(padded, 1), (made_first, 1), (centred, 1), (stacks, 1)])
def test_they_go_by_columns(f: Callable[..., Any], groups: int) -> None:
    text = str(txc.jit(f).lower(np.ones((6, 8), "f4")).as_text("fused"))
    assert text.count("kernel.row_group ") == groups
