"""Arrays of others that a branch or loop lets a variable name, of other sizes than before: what is read and stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc

from .control import same

CALLS = [np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3)[::-1], np.arange(9.0).reshape(3, 3).T]


def of_a_loop_that_may_not_run(m, c):
    w = m[0, :0]
    for i in range(int(c)):
        w = m[:, 1]
        m[0, 0] += i
    w += 1
    return w.copy(), len(w), m


def of_a_loop_left_at_its_condition(m, c):
    v, i = m[0, 1:], 0
    while i < 4 and m[-1, -1] > c + i:
        v = m[0, ::-1]
        i += 1
    v[0] = 100
    return v.copy(), m


def a_row_of_the_last_iteration(m, c):
    a = m[0, :2]
    for i in range(int(c)):
        a = m[i % 2]
    return a.copy(), m


def a_row_that_a_value_selects(m, c):
    a = m[:, 0]
    if c > 1:
        a = m[int(c) - 1, :2]
    a[0] = 100
    return a.copy(), m


def a_part_of_a_row_that_a_value_selects(m, c):
    a = m[:1, 0]
    if c > 1:
        a = m[int(c) - 1][1:]
        a[-1] += 5
    a[0] = 100
    return a.copy(), m


def one_of_two_in_a_branch(m, c):
    a = m[0, :1]
    if c > 0:
        a = m[0] if c > 1 else m[1]
        a[0] = 100
    a[0] += 1
    return a.copy(), m


def from_where_a_value_says(m, c):
    w = m[0]
    if c > 1:
        w = m[0, int(c) - 1 :]
    return w.copy(), w.sum(), len(w)


def views_of_views_in_a_branch(m, c):
    a = z = m[0]
    if m[0, 0] < c:
        for _ in range(10):
            a = a[::1]
    a += 5
    return a.copy(), z.copy(), m


def a_view_of_one_of_two_in_a_branch(m, c):
    a, b = m[0], m[1]
    if c > 1:
        if m[0, 0] < 2:
            b = a[::-1]
        a = b[1:]
        for _ in range(int(c)):
            a = a[::1]
    a[0] += 7
    return a.copy(), b.copy(), m


FUNCTIONS = [
    of_a_loop_that_may_not_run, of_a_loop_left_at_its_condition, a_row_of_the_last_iteration,
    a_row_that_a_value_selects, a_part_of_a_row_that_a_value_selects, one_of_two_in_a_branch, from_where_a_value_says,
    views_of_views_in_a_branch, a_view_of_one_of_two_in_a_branch,
]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_python(f: Callable[..., Any]) -> None:
    compiled = txc.jit(f)
    for values in CALLS:
        for c in (0.0, 1.0, 2.0):
            theirs, ours = values.copy(), values.copy()
            expected, got = f(theirs, np.float64(c)), compiled(ours, np.float64(c))
            assert repr(got) == repr(expected), c
            np.testing.assert_array_equal(ours, theirs)


def test_a_part_from_where_a_value_says_is_not_stored_into() -> None:
    """It is a copy behind the branch, which nobody may see."""

    def stores(x, c):
        w = x[1:]
        if c > 1:
            w = x[int(c) :]
        w[0] = 100
        return w

    def stores_into_the_other(x, c):
        w = x[1:]
        if c > 1:
            w = x[int(c) :]
        x[0] = 100
        return w.sum()

    for f in (stores, stores_into_the_other):
        with pytest.raises(txc.TxcError, match="w may be an array that others refer to, or a part of one"):
            txc.jit(f)(np.arange(5.0), np.float64(2.0))


def chosen_by_a_while(x, m, c):
    a = m[0] * 2
    if c:
        i = 0
        while i < 3 and x.sum() > 2.0:
            i += 1
            a = m[i % 3]
    else:
        m[::2] = x[1]
    return a


def chosen_by_a_for(x, m, c):
    a = m[0] * 2
    if c:
        for i in range(len(x)):
            a = m[i % 3]
    else:
        m[::2] = x[1]
    return a


@pytest.mark.parametrize("f", [chosen_by_a_while, chosen_by_a_for])
def test_a_view_whose_place_only_a_branch_knows_of_an_array_that_the_other_stores_into(f):
    calls = [(np.arange(5.0) * k, np.arange(9.0).reshape(3, 3), c) for k in (0.0, 1.0) for c in (0.0, 1.0)]
    same(f, *calls)
