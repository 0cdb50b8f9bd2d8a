"""The random initialisers: their distributions, seeds, scales and errors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from txc import graph
from txc.graph import Graph, Session


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    with Graph().as_default():
        yield


def values(initializer: Any, shape: list[int], dtype: Any = np.float32) -> np.ndarray:
    return Session().run(initializer(shape, dtype))


SHAPE = [200, 50]
BAD: Any = 1.5


def test_uniform():
    x = values(graph.random_uniform_initializer(-2, 3, seed=1), SHAPE)
    assert x.shape == tuple(SHAPE) and x.dtype == np.float32
    assert -2 <= x.min() < -1.99 and 2.99 < x.max() < 3
    assert abs(x.mean() - 0.5) < 0.05


def test_normal():
    x = values(graph.random_normal_initializer(1.0, 2.0, seed=1), SHAPE, np.float64)
    assert x.dtype == np.float64
    assert abs(x.mean() - 1) < 0.08 and abs(x.std() - 2) < 0.08
    assert abs(x - 1).max() > 5


def test_truncated_normal_stays_within_two_deviations():
    x = values(graph.truncated_normal_initializer(1.0, 2.0, seed=1), SHAPE)
    assert 3.9 < abs(x - 1).max() <= 4.0001
    # The deviation of a normal distribution that is cut at two.
    assert abs(x.std() / 2 - 0.8796) < 0.02


def test_uniform_unit_scaling():
    x = values(graph.uniform_unit_scaling_initializer(1.5, seed=1), SHAPE)
    limit = math.sqrt(3 / 200) * 1.5
    assert 0.99 * limit < abs(x).max() <= limit


@pytest.mark.parametrize(("mode", "n"), [("fan_in", 200 * 4), ("fan_out", 50 * 4), ("fan_avg", 125 * 4)])
def test_variance_scaling(mode: str, n: int):
    shape = [4, 200, 50]  # a window of 4
    x = values(graph.variance_scaling_initializer(2.0, mode, "uniform", seed=1), shape)
    limit = math.sqrt(3 * 2 / n)
    assert 0.99 * limit < abs(x).max() <= limit
    x = values(graph.variance_scaling_initializer(2.0, mode, "normal", seed=1), shape)
    assert abs(x.std() / math.sqrt(2 / n) - 0.8796) < 0.02


@pytest.mark.parametrize("shape", [[30, 12], [12, 30], [2, 6, 9], [5, 5]])
def test_orthogonal(shape: list[int]):
    x = values(graph.orthogonal_initializer(gain=2.0, seed=3), shape, np.float64).reshape(-1, shape[-1]) / 2
    small = x.T @ x if x.shape[0] >= x.shape[1] else x @ x.T
    np.testing.assert_allclose(small, np.eye(len(small)), atol=1e-13)


def test_seeds():
    same, other = graph.random_normal_initializer(seed=1), graph.random_normal_initializer(seed=2)
    assert (values(same, SHAPE) == values(same, SHAPE)).all()
    assert (values(same, SHAPE) != values(other, SHAPE)).any()
    free = graph.random_normal_initializer()
    tensor = free(SHAPE)
    with Session() as s:
        assert (s.run(tensor) == s.run(tensor)).all()
        assert (s.run(tensor) != s.run(free(SHAPE))).any()


def test_zeros_and_ones():
    assert values(graph.zeros_initializer(), [2], np.int32).tolist() == [0, 0]
    assert values(graph.ones_initializer(), [2], bool).tolist() == [True, True]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: graph.variance_scaling_initializer(mode="fan"), ValueError, "'fan' is not one of fan_in, fan_out"),
        (lambda: graph.variance_scaling_initializer(distribution="x"), ValueError, "'x' is not one of normal"),
        (lambda: graph.variance_scaling_initializer(0.0), ValueError, "scale must be positive, not 0.0"),
        (lambda: graph.orthogonal_initializer()([3]), ValueError, "two dims or more, not the shape [3]"),
        (lambda: graph.random_normal_initializer(seed=BAD), TypeError, "a seed is an int, not 1.5"),
        (lambda: graph.random_normal_initializer()([3], np.int32), TypeError, "are floats, not int32"),
    ],
)
def test_errors(make: Any, error: type[Exception], text: str):
    with pytest.raises(error) as caught:
        make()
    assert text in str(caught.value)
