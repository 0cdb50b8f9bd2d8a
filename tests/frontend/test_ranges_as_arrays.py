"""What NumPy makes arrays of besides arrays: ranges, and ``flat``; and what asks an array or numbers as Python does."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

X = np.array([1.0, 2.0, -3.0, 1.0])


def indices(x: np.ndarray) -> Any:
    n = x.shape[0]
    y = np.zeros((n, n))
    y[range(n), range(n)] = x[range(n - 1, -1, -1)]
    return y, y[range(1, n), range(n - 1)], x[range(0)]


def operands(x: np.ndarray) -> Any:
    n = range(x.shape[0])
    return np.sum(n), np.max(n), np.sqrt(n), np.cumsum(n), np.add(n, 1), np.concatenate([n, x]), np.dot(n, x), n * x


def of_loops(x: np.ndarray) -> Any:
    total = x * 0
    for i in range(len(x)):
        total[range(i)] += x[i]
    return total


def flat(x: np.ndarray) -> Any:
    rows = x.reshape(2, 2).T
    return np.array(rows.flat), np.sum(rows.flat), x * rows.flat


def membership(x: np.ndarray) -> Any:
    found = 0.0
    if 1 in x:
        found = x[0]
    return found, 7 not in x, 2.5 in x.reshape(2, 2), np.float32(-3) in x, None in [x[0], 2], "a" in (x[0], "a")


def close(x: np.ndarray) -> Any:
    y, near = x * (1 + 1e-10), 0.5
    tiny = [math.isclose(a, b) for a, b in zip(x, y)]
    large = math.isclose(x[0], 2.0, rel_tol=near), math.isclose(x[0], x[1], abs_tol=x[1] - x[0]), math.isclose(x[0], 2)
    return tiny, large, math.isclose(x[1] * math.inf, math.inf), math.isclose(x[1] * math.inf, x[0])


@pytest.mark.parametrize("f", [indices, operands, of_loops, flat, membership, close])
def test_they_are_what_they_are_in_python(f: Callable[..., Any]) -> None:
    compiled = txc.jit(f)
    for x in (X, np.arange(4.0)):
        got, expected = compiled(x), f(x)
        for a, b in zip(*((v if isinstance(v, tuple) else (v,)) for v in (got, expected)), strict=True):
            assert type(a) is type(b) and np.asarray(a).dtype == np.asarray(b).dtype, f.__name__
            np.testing.assert_array_equal(a, b)


def test_a_tolerance_is_not_negative() -> None:
    with pytest.raises(ValueError, match="tolerances must be non-negative"):
        txc.jit(lambda x: math.isclose(x[0], 1.0, rel_tol=-x[1]))(X)


class Grid:
    """An object of the user's, which is no array to NumPy, whatever its methods are called."""

    def as_array(self) -> np.ndarray:
        return np.ones(4)


GRID: Any = Grid()


def test_nobody_elses_object_is_an_array() -> None:
    for f in (lambda x: x + GRID, txc.jit(lambda x: x + GRID)):
        with pytest.raises((TypeError, TxcError), match=r"unsupported operand|is no tensor"):
            f(X)


def test_a_number_that_no_element_can_be_is_in_no_array() -> None:
    assert not txc.jit(lambda x: 300 in x)(np.arange(4, dtype=np.uint8))


def fits(x: np.ndarray, y: np.ndarray) -> Any:
    where, values = np.flatnonzero(x > 0), y[y > 0]
    line = np.polyfit(where, values, 1, w=values)
    return (
        np.interp(np.arange(3.0), where, values), np.average(x[x > 0], weights=values),
        np.bincount(where, weights=values, minlength=4), np.lexsort((x[x > 0], values)), line,
    )  # fmt: skip


def test_values_decide_that_two_lengths_are_one() -> None:
    y = np.array([2.0, 1.0, 3.0, -1.0])
    for got, expected in zip(txc.jit(fits)(X, y), fits(X, y), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("f", "error"),
    [
        (lambda x, y: np.interp(0.5, x[x > 0], y[y > 0]), ValueError),
        (lambda x, y: np.average(x[x > 0], weights=y[y > 0]), TypeError),
        (lambda x, y: np.bincount(np.flatnonzero(x > 0), weights=y[y > 0], minlength=4), ValueError),
        (lambda x, y: np.lexsort((x[x > 0], y[y > 0])), ValueError),
        (lambda x, y: np.polyfit(x[x > 0], y[y > 0], 1), TypeError),
    ],
    ids=["interp", "average", "bincount", "lexsort", "polyfit"],
)
def test_values_decide_that_they_are_not(f: Callable[..., Any], error: type[Exception]) -> None:
    for g in (f, txc.jit(f)):
        with pytest.raises(error):
            g(X, X[::-1] - 1.5)
