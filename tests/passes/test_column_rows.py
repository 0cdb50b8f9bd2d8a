"""Rows of a matrix whose columns are contiguous: copied in panels, with the bits of rows that lie in a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc

from .layouts import AS_COUNTED


def softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def of_two(x: Any) -> Any:
    """What is read in two ways stays where it is."""
    return (x + x[::-1]) / np.sum(x, axis=-1, keepdims=True)


@pytest.mark.parametrize("program", [softmax, of_two])
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (65, 1), (64, 100), (130, 257), (1, 2000)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_layout_changes_no_bit(program: Callable[..., Any], shape: tuple[int, int], dtype: str):
    x = np.random.default_rng(5).standard_normal(shape).astype(dtype)
    f = txc.jit(program, passes=AS_COUNTED)
    assert f(np.asfortranarray(x)).tobytes() == f(x).tobytes()


def test_a_row_has_two_places_outside():
    x = np.random.default_rng(5).standard_normal((5, 70, 40)).astype("f4")
    f = txc.jit(softmax, passes=AS_COUNTED)
    assert f(x.transpose(0, 2, 1)).tobytes() == f(x.transpose(0, 2, 1).copy()).tobytes()


def test_a_reduction_of_what_is_read_from_no_array():
    columns = txc.arange(8, dtype=np.float64).reshape(2, 4).T
    made = np.isfinite(columns.max(axis=0, keepdims=True))
    assert np.asarray(made).tolist() == [[True, True]]
