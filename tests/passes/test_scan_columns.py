"""Scans of arrays whose columns are contiguous: the bits of others, in the order of memory that NumPy keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc

from .layouts import AS_COUNTED, as_tuple


def with_maps_around(x: Any) -> Any:
    return np.cumsum(x * 3, axis=1) - x


def exclusive(x: Any) -> Any:
    return x.cumsum(1, exclusive=True), x.cumsum(0, exclusive=True)


def with_a_state_that_is_no_sum(x: Any) -> Any:
    return np.maximum.accumulate(x, axis=1), np.logaddexp.accumulate(x, axis=1)


def one_after_another(x: Any) -> Any:
    return np.cumsum(np.cumsum(x, axis=0), axis=1)


def read_by_folds(x: Any) -> Any:
    c = np.cumsum(x, axis=1)
    return c / np.max(c, axis=0, keepdims=True)


def along_both(x: Any) -> Any:
    return np.cumsum(x, axis=1), np.cumsum(x, axis=0)


PROGRAMS = [
    along_both, with_maps_around, exclusive, with_a_state_that_is_no_sum, one_after_another, read_by_folds,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("shape", [(70, 1100), (1100, 71), (64, 8), (5, 3), (1, 9), (9, 1), (130, 2050)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_layout_changes_no_bit(program: Callable[..., Any], shape: tuple[int, int], dtype: str) -> None:
    x = np.random.default_rng(5).standard_normal(shape).astype(dtype)
    expected = as_tuple(txc.jit(program, threads=1)(x))
    for threads in (1, 2):
        across = txc.jit(program, threads=threads, passes=AS_COUNTED)
        for found, wanted in zip(as_tuple(across(np.asfortranarray(x))), expected):
            assert np.asarray(found).tobytes() == np.asarray(wanted).tobytes()


@pytest.mark.parametrize("dtype", ["i4", "u1", "c8", "?"])
@pytest.mark.parametrize("axis", [0, 1])
def test_other_types(dtype: str, axis: int) -> None:
    x = (np.random.default_rng(6).standard_normal((40, 37)) * 8).astype(dtype)
    found = np.asarray(txc.jit(lambda x: np.cumsum(x, axis=axis))(np.asfortranarray(x)))
    np.testing.assert_allclose(found, np.cumsum(x, axis=axis), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_results_lie_as_numpys_do(axis: int) -> None:
    x = np.random.default_rng(7).standard_normal((5, 6, 40)).transpose()
    found, wanted = np.asarray(txc.jit(lambda x: np.cumsum(x, axis=axis))(x)), np.cumsum(x, axis=axis)
    assert found.strides == wanted.strides
    np.testing.assert_allclose(found, wanted)
