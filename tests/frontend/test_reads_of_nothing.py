"""Reading at run-time indices from arrays without elements touches no memory, and raises NumPy's error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.frontend.tensor.apply import apply

from .control import every_stage

#: Which elements machine code touches is asked here.
pytestmark = pytest.mark.vectors


def at_an_element(x, i):
    return x[i[0]]


def at_indices(x, i):
    return x[i]


def takes(x, i):
    return np.take(x, i, axis=0)


def along_a_row(x, i):
    return np.take_along_axis(x.ravel(), i, 0)


def a_column(x, i):
    return x.reshape(-1, 3)[i, 1]


def added_to(x, i):
    x[i[0]] += 5


def added_at_indices(x, i):
    x[i] += 5


def adds_at(x, i):
    np.add.at(x, i, 1)


def in_a_loop(x, i):
    total = 0.0
    for k in range(len(i)):
        total += x[i[k]].sum() * 2
    return total


def until_it_is_large(x, i):
    k = i[0]
    while x[k].real.sum() < 3:
        k += 1
    return k


def through_a_computed_array(x, i):
    return (x * 2 + 1)[i]


def through_a_padded_array(x, i):
    return np.flip(x.ravel())[i] + 1


def rows_times_a_matrix(x, i):
    return x.reshape(-1, 3)[i] @ np.ones((3, 2))


FUNCTIONS: list[Callable[..., Any]] = [
    at_an_element, at_indices, takes, along_a_row, a_column, added_to, added_at_indices, adds_at, in_a_loop,
    until_it_is_large, through_a_computed_array, through_a_padded_array, rows_times_a_matrix,
]  # fmt: skip

ARRAYS = [np.empty(0), np.empty(0, np.complex64), np.empty((0, 400), np.uint8)[:, ::133]]
INDICES = [np.arange(-20, 20) * 50, np.array([-1]), np.empty(0, np.int64)]


def outcome(f: Callable[..., Any], x: np.ndarray, i: np.ndarray) -> Any:
    x = x.copy()
    try:
        result = f(x, i)
    except IndexError:
        return IndexError
    return (None if result is None else np.asarray(result).tolist()), x.shape


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_numpy(f: Callable[..., Any]):
    jitted = txc.jit(f, check_bounds=True)
    for x in ARRAYS:
        for i in INDICES:
            assert outcome(jitted, x, i) == outcome(f, x, i), (x.shape, x.dtype, i)


def test_an_array_without_elements_gives_zeros():
    def f(x, i):
        return apply("take", x, i, axis=0) + 1

    for x in (np.empty(0), np.empty((0, 3), np.float32), np.empty((0, 3), np.complex128)):
        jitted, i = txc.jit(f, check_bounds=True), np.array([4, -9, 0])
        every_stage(jitted, x, i)
        assert np.array_equal(jitted(x, i), np.ones((3, *x.shape[1:])))


def test_calls_with_and_without_elements_alternate():
    jitted = txc.jit(at_indices, check_bounds=True)
    i = np.array([2, 0, -1])
    for n in (3, 0, 5, 0, 4):
        x = np.arange(float(n))
        assert outcome(jitted, x, i) == outcome(at_indices, x, i)


def test_nothing_is_asked_at_reads_where_the_call_has_elements():
    text = txc.jit(at_indices).lower(np.ones(4), np.array([1])).as_text("loops")
    assert "guards" not in text
