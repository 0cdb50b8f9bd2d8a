"""Operands, stores and indices that do not fit: NumPy's error in the calls and iterations that reach them, only."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

ARRAYS = [[1.0, 2, 3], [-1.0, 2, 3], [1.0, 2, -3], [-9.0, 2, 3, 4], [0.5, 0.25, 0.125]]


def windows_that_vary(x):
    y = x * 2
    for i in range(len(x)):
        x[max(0, i - 1) : i + 1] *= y[max(0, i - 1) : i + 1]
    return x


def indices_that_vary(x):
    for i in range(len(x) + 3):
        if i < len(x):
            x[i] = 7
        elif x[0] < 0:
            break
    return x


def test_what_only_some_iterations_would_raise_is_none_of_all():
    """Sizes and indices that vary with a loop: refused or right, never an error that Python has not."""
    for f in (windows_that_vary, indices_that_vary):
        given, expected = np.arange(-1.0, 4), np.arange(-1.0, 4)
        f(expected)
        try:
            txc.jit(f)(given)
        except TxcError:
            continue
        assert given.tolist() == expected.tolist()


def truth_of_an_array(x):
    x[0] = 2
    return x or x + 1


def truth_of_an_array_in_a_branch(x):
    if x[0] < 0:
        x[0] = 8
        return x[:2] or x[:1]
    return x


def a_store_into_a_diagonal(x):
    m = np.outer(x, x)
    x[0] = 5
    m.diagonal()[:] = 1


def a_store_into_a_diagonal_in_a_branch(x):
    d = np.outer(x, x).diagonal()
    if x[0] < 0:
        x[0] = 5
        d += 1
    return x


@pytest.mark.parametrize(
    "f",
    (
        truth_of_an_array, truth_of_an_array_in_a_branch, a_store_into_a_diagonal, a_store_into_a_diagonal_in_a_branch,
    ),
    ids=lambda f: f.__name__,
)  # fmt: skip
@pytest.mark.parametrize("values", [*ARRAYS, [0.0], [3.0]])
def test_raises_where_numpy_does(f: Callable[..., Any], values: list[float]):
    """With a text of its own."""

    def said(f: Callable[..., Any]) -> Any:
        given = np.array(values)
        try:
            return repr(f(given)), given.tolist()
        except ValueError:
            return ValueError, given.tolist()

    assert said(txc.jit(f)) == said(f)


def adds_in_a_branch(x, y, c):
    s = 0.0
    if c[0] > 0:
        s = (x + y).sum()
    return s


def stores_in_a_branch(x, y, c):
    if c[0] > 0:
        x[:] = y
    return x


def reads_in_a_branch(x, y, c):
    if c[0] > 0:
        return float(x[y.shape[0] - 1])
    return 0.0


def stores_before_a_reshape(x, y, c):
    x[0] = 9
    x[:] = y.reshape(2, 2).T.ravel()
    return x


def reshapes_in_a_branch(x, y, c):
    x[0] = 9
    if c[0] > 0:
        y = y.reshape(2, 2).T.ravel()
    return y


def reshapes_to_rows_in_a_branch(x, y, c):
    x[0] = 9
    if c[0] > 0:
        return y.reshape(-1, 2).sum()
    return 0.0


def stores_more_than_one_into_one(x, y, c):
    x[0] = 9
    if c[0] > 0:
        x[:1] = y[:2]
    return x


def stores_rows_of_one(x, y, c):
    x[0] = 9
    x[:] = x[0] + y.reshape(1, -1)
    return x


def stores_at_indices(x, y, c):
    x[0] = 9
    if c[0] > 0:
        x[[0, 0]] = y
    return x


def stores_a_matrix_at_indices(x, y, c):
    x[0] = 9
    if c[0] > 0:
        x[[0, 0]] = y[:, None]
    return x


@pytest.mark.parametrize(
    "f",
    [
        adds_in_a_branch, stores_in_a_branch, reads_in_a_branch, reshapes_in_a_branch, reshapes_to_rows_in_a_branch,
        stores_more_than_one_into_one, stores_at_indices, stores_a_matrix_at_indices,
    ],
)  # fmt: skip
def test_sizes_that_do_not_fit_are_an_error_of_calls_that_have_them(f: Callable[..., Any]) -> None:
    """The first call's sizes are no fact of calls of others, nor of what these raise."""
    compiled = txc.jit(f)
    for n, m in ((3, 4), (4, 4), (5, 6), (1, 4), (6, 6), (4, 3), (4, 1), (3, 4), (1, 1), (4, 4)):
        theirs, ours = np.arange(float(n)), np.arange(float(n))
        other, c = np.arange(float(m)), np.ones(1)
        try:
            expected = f(theirs, other, c)
        except (IndexError, ValueError) as error:
            with pytest.raises(type(error)) as caught:
                compiled(ours, other, c)
            assert not re.search(r" = \d", str(caught.value)), "the value of another call"
        else:
            np.testing.assert_array_equal(compiled(ours, other, c), expected)
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("f", [stores_before_a_reshape, stores_rows_of_one])
def test_an_error_of_every_call_of_some_sizes_comes_behind_the_stores_before_it(f: Callable[..., Any]) -> None:
    compiled = txc.jit(f)
    for n, m in ((4, 4), (4, 6), (4, 3), (1, 4), (3, 3), (4, 4)):
        theirs, ours, other, c = np.arange(float(n)), np.arange(float(n)), np.arange(float(m)), np.ones(1)
        try:
            f(theirs, other, c)
        except ValueError:
            with pytest.raises(ValueError, match="cannot"):
                compiled(ours, other, c)
        else:
            compiled(ours, other, c)
        np.testing.assert_array_equal(ours, theirs)


def stores_into_nothing_behind_a_loop(x, n):
    v = x[:0]
    for i in range(n):
        x[i] += 1
        if x[i] > 2:
            v[0] = x[i]
    return x


def stores_into_nothing_in_each_iteration(x, n):
    v = x[:0]
    for i in range(n):
        x[i] += 1
        v[0] = 5
    return x


def reads_beyond_the_end_behind_sizes_by_values(x, n):
    w = x[x > 1]
    x[0] = n
    if n > 2:
        x[1] = w.sum()
    x[2] = x[:2][n]
    return w


def stores_too_much_in_a_while(x, n):
    v = x[:1]
    k = 0
    while k < n and x[0] < 3:
        x[0] += 1
        k += 1
        if x[0] > 1:
            v[:2] = x[:2]
    return x


def grows_before_it_is_indexed(x, n):
    v = x[:0]
    for i in range(n):
        if i > 1:
            v[0] = 9
        v = x[i:]
    return x


@pytest.mark.parametrize(
    "f",
    [
        stores_into_nothing_behind_a_loop, stores_into_nothing_in_each_iteration,
        reads_beyond_the_end_behind_sizes_by_values, stores_too_much_in_a_while, grows_before_it_is_indexed,
    ],
)  # fmt: skip
def test_an_index_outside_of_sizes_that_no_iteration_changes_is_an_error_where_it_is_reached(f: Callable[..., Any]):
    compiled = txc.jit(f)
    for n in (0, 1, 2, 3):
        theirs, ours = np.arange(4.0), np.arange(4.0)
        try:
            expected = f(theirs, n)
        except (IndexError, ValueError) as error:
            with pytest.raises(type(error)):
                compiled(ours, n)
        else:
            np.testing.assert_array_equal(compiled(ours, n), expected)
        np.testing.assert_array_equal(ours, theirs)
