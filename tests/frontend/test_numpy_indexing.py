"""NumPy's functions on index arrays, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

from .control import every_stage, same

RNG = np.random.default_rng(5)
X = RNG.standard_normal((4, 6))
ORDER = np.argsort(X, axis=1)
V = np.concatenate([RNG.standard_normal(200), [-2.0, 2.0, 2.0, 0.5]])
N = RNG.integers(0, 9, 200)


def takes(x, i):
    j = i[0]
    return x.take(j, axis=1), np.take(x, j), np.take(x, j - 9, axis=1, mode="clip"), np.take(x, j - 9, 0, mode="wrap")


def along(x, i):
    y = x.copy()
    np.put_along_axis(y, i[:, :2], 7.0, axis=1)
    np.put_along_axis(y, i[:1] % 4, x[:1] * 2, 0)
    return np.take_along_axis(x, i, axis=1), np.take_along_axis(x, i[:2] % 4, 0), y


def counts(n, w):
    return np.bincount(n, minlength=12), np.bincount(n, weights=w[:200], minlength=9)


def histograms(x, w):
    h, edges = np.histogram(x, 7)
    inner, _ = np.histogram(x, bins=5, range=(-2.0, 2.0))
    weighted, _ = np.histogram(x, 4, weights=w)
    flat, flat_edges = np.histogram(x * 0 + 3.0, 3)
    return h, edges, inner, weighted, flat, flat_edges


def covariances(x, w):
    return np.cov(x), np.cov(x, rowvar=False, bias=True), np.cov(w), np.cov(x > 0, ddof=0)


def triangles(x, i):
    return np.triu(x), np.tril(x, -1), np.triu(i, 2), np.tril(np.stack([x, -x]), 1)


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (takes, (X, ORDER)), (along, (X, ORDER)), (counts, (N, V)), (histograms, (V, np.abs(V))), (covariances, (X, V)),
    (triangles, (X, ORDER)),
]  # fmt: skip


@pytest.mark.parametrize(("f", "arguments"), CASES, ids=[f.__name__ for f, _ in CASES])
def test_as_numpy(f: Callable[..., Any], arguments: tuple[Any, ...]):
    jitted = txc.jit(f)
    for g, e in zip(jitted(*arguments), f(*arguments), strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-12, atol=1e-14)
        assert g.dtype == e.dtype
    every_stage(jitted, *arguments)


@pytest.mark.parametrize("bins", [1, 10, 50, 333])
def test_histograms_put_every_value_where_numpy_does(bins: int):
    """Values on the edges themselves, where rounding decides."""
    x = np.concatenate([np.linspace(-1, 1, bins + 1), np.nextafter(np.linspace(-1, 1, bins + 1), 9), [-1, 1]])
    same(lambda x, n: np.histogram(x, n, range=(-1.0, 1.0))[0], (x, bins))


def test_the_number_of_bins_may_be_an_argument():
    jitted = txc.jit(lambda x, n: np.histogram(x, n)[0])
    for n in (3, 10, 64):
        np.testing.assert_array_equal(jitted(V, n), np.histogram(V, n)[0])
    assert len(jitted.signatures()) == 1


def test_numbers_without_a_bin_are_errors():
    count = txc.jit(lambda n: np.bincount(n, minlength=4))
    assert count(np.array([0, 3, 3])).tolist() == [1, 0, 0, 2]
    with pytest.raises(ValueError, match="is not below minlength"):
        count(np.array([0, 4, 3]))
    with pytest.raises(ValueError, match="no negative elements"):
        count(np.array([0, -1, 3]))
    for lazy in ([0, 3, 5], []):
        numbers = np.array(lazy, np.int64)
        np.testing.assert_array_equal(np.asarray(np.bincount(txc.asarray(numbers))), np.bincount(numbers))


ERRORS: list[tuple[Callable[..., Any], str]] = [
    (lambda n: np.bincount(n * 0.5, minlength=3), "np.bincount takes a vector of integers"),
    (lambda n: n.take(n, mode="nearest"), "np.take does not take mode='nearest'"),
    (lambda n: np.take_along_axis(n, n[:, None], 0), "takes indices of rank 1"),
]


@pytest.mark.parametrize(("f", "text"), ERRORS, ids=range(len(ERRORS)))
def test_errors(f: Callable[..., Any], text: str):
    with pytest.raises(TxcError) as caught:
        txc.jit(f)(N)
    assert text in str(caught.value)


def _store(x, y):
    y[[0, len(x) - 1]] = 7.0


def _store_in_a_loop(x, y):
    for i in range(len(x)):
        y[[i, len(x) - 1 - i]] += 1


def _count(x, y):
    np.add.at(y, [0, x.argmin(), 0], 1)


def _count_in_a_loop(x, y):
    for i in range(len(x)):
        np.add.at(y, [0, i, i // 2], 1)


def _read(x, y):
    return y[[0, x.argmax()]], y[[-1, -len(x)]], y[[[0, len(x) - 1], [1, x.argmin()]]]


@pytest.mark.parametrize("function", [_store, _store_in_a_loop, _count, _count_in_a_loop, _read])
def test_lists_of_what_is_known_at_run_time_are_indices(function):
    compiled = txc.jit(function)
    for x in (np.array([3.0, 1, 2]), np.array([1.0, 5, 9, 2])):
        y, ours = np.arange(len(x)) * 1.0, np.arange(len(x)) * 1.0
        expected, got = function(x, y), compiled(x, ours)
        np.testing.assert_equal(got, expected)
        np.testing.assert_array_equal(ours, y)


def test_lists_of_indices_are_checked():
    with pytest.raises(IndexError, match="index 11 is out of bounds"):
        txc.jit(lambda x: x[[0, x.argmax() + 9]])(np.arange(3.0))


def swapped(x, n):
    k = x.argmax() % 3
    x[[k, n]] = x[[n, k]]
    y, z = x[[0, -1, n], :2], x[[[n, 0], [1, k]], [0, 1]]
    out = []
    for i in range(3):
        out.append(i)
        x[[i, n]] += 1
    return y, z, x[out], x[[True, x[1, 0] > 1e9, x[2, 0] > -1]]


def test_lists_of_run_time_numbers_are_indices():
    """Integers wrap as NumPy's do, bools are masks, and a list that a loop made is the array of its items."""
    theirs, ours = (np.arange(9.0).reshape(3, 3)[::-1].copy() for _ in range(2))
    for got, expected in zip(txc.jit(swapped)(ours, 1), swapped(theirs, 1)):
        np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(IndexError):
        txc.jit(swapped)(ours, 3)
