"""Arrays made in a branch or an iteration that several names hold: behind it they are one array still, as in Python."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import txc


def two_names(x, y, n):
    if x[0] > 0:
        a = b = x * 2
    else:
        a = b = y * 2
    a[0] = 99
    return a, b


def two_names_in_one_branch(x, y, n):
    b = y
    if x[0] > 0:
        a = b = x * 2
    else:
        a = y * 2
    a[0] = 99
    b[1] += 7
    return a, b


def apart_in_one_branch(x, y, n):
    if x[0] > 0:
        a = x * 2
        b = y * 2
    else:
        a = b = y * 2
    a[0] = 99
    b[1] += 7
    return a, b


def three_names(x, y, n):
    if x[0] > 0:
        a = b = x * 2
        c = y * 3
    else:
        b = c = y * 2
        a = x * 5
    a[0] = 99
    b[1] += 7
    c[2] -= 1
    return a, b, c


def a_view(x, y, n):
    if x[0] > 0:
        a = x * 2
        v = a[1:]
    else:
        a = y * 2
        v = a[1:]
    a[1] = 99
    v[1] = 5
    return a, v


def a_view_of_nobody(x, y, n):
    if x[0] > 0:
        v = (x * 2)[1:]
    else:
        v = (y * 2)[:-1]
    v[0] = 5
    return v


def containers(x, y, n):
    held = [x, x]
    record = {}
    if x[0] > 0:
        record["a"] = y * 2
        held[0] = record["a"]
    else:
        record["a"] = y * 3
        held[0] = record["a"]
    record["a"][0] = 1234
    return held[0], record["a"]


def nested_choices(x, y, n):
    z = x * 3
    if x[0] > 0:
        if y[1] > 0:
            a = x
        else:
            a = y
    else:
        a = z
    a[0] = 77
    return a, z


def swaps(x, y, n):
    z = x * 1
    for i in range(9):
        if y[i % 3] > x[0]:
            x, y, z = z, x, y
        x[0] += i
        y[1] -= 1
    return x, y, z


def loop(x, y, n):
    a = b = x
    for i in range(n):
        a = b = x * i
    a[0] = 99
    return a, b


def loop_and_view(x, y, n):
    a = x
    v = x[1:]
    for i in range(n):
        a = x * i
        v = a[1:]
    a[1] = 99
    return a, v


def loop_with_fresh_view(x, y, n):
    a = x + 1
    v = x
    for i in range(n + 1):
        a = a * 2
        v = a[1:]
        v[0] = i
    a[1] = 99
    return a, v


def while_loop(x, y, n):
    i = 0
    a = b = x
    while i < n and x[0] < 50:
        i += 1
        a = b = x * i
    a[0] = 99
    return a, b


def diagonal_in_a_loop(x, y, n):
    m = np.outer(x, y)[:, :2]
    a = m[0]
    for _ in range(n):
        a = m.diagonal()
    return a


def diagonal_in_a_branch(x, y, n):
    m = np.outer(x, y)[:, :2]
    a = m[0]
    if x[0] > 0:
        a = m.diagonal()
    return a


FUNCTIONS = (
    two_names, two_names_in_one_branch, apart_in_one_branch, three_names, a_view, a_view_of_nobody, containers,
    nested_choices, swaps, loop, loop_and_view, loop_with_fresh_view, while_loop, diagonal_in_a_loop,
    diagonal_in_a_branch,
)  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_python(function):
    compiled = txc.jit(function)
    for sign in (1, -1):
        for n in (12, 0, 1):
            given = [np.ones(3) * sign, np.arange(3.0) * sign, n]
            ours = copy.deepcopy(given)
            expected, got = function(*given), compiled(*ours)
            np.testing.assert_equal(got, expected)
            np.testing.assert_equal(ours, given)


def stored_where_two_names_are_one(x, n):
    a = b = x
    for i in range(n):
        a[0] += 1
        a = b = x * i
    return a, b


def stored_where_one_is_a_view(x, n):
    a = x + 1
    v = x[1:]
    for i in range(n):
        v[0] += 1
        a = x * i + a
        v = a[1:]
    return a


@pytest.mark.parametrize("function", [stored_where_two_names_are_one, stored_where_one_is_a_view])
def test_refused_rather_than_wrong(function):
    with pytest.raises(txc.TxcError, match="both writes in place and reassigns") as raised:
        txc.jit(function)(np.ones(3), 5)
    assert raised.value.code == "TX0291"


def views_that_differ(x, y):
    if x[0] > 0:
        a = x * 2
        v = a[1:]
    else:
        a = y * 2
        v = a[:-1]
    total = v.sum()
    a[1] = 99
    return total, v


def test_a_view_that_is_another_one_in_each_branch_is_read_before_stores():
    with pytest.raises(txc.TxcError, match="v may be an array that another variable refers to as well") as raised:
        txc.jit(views_that_differ)(np.ones(3), np.ones(3))
    assert raised.value.code == "TX0291"


def one_array_of_iterations(x, n):
    a, b = x + 0, x + 1
    for i in range(n):
        a = x * i
        b = a
        a += 1
    b[0] = 5
    a[1] = 6
    return a, b


def a_view_of_iterations(x, n):
    a, b = x + 0, x[1:] + 1
    for i in range(n):
        a = x * i
        b = a[1:]
    b[0] = 5
    a[2] = 6
    return a, b


def one_array_of_rounds(x, n):
    a, b, k = x + 0, x + 1, x[0] * 0
    while k < n:
        k += 1
        a = x * k
        b = a
    b[0] = 5
    return a, b


@pytest.mark.parametrize("function", [one_array_of_iterations, a_view_of_iterations, one_array_of_rounds])
@pytest.mark.parametrize("n", [0, 1, 20])
def test_what_iterations_let_be_one_is_apart_where_there_was_none(function, n):
    x = np.arange(4.0)
    for got, expected in zip(txc.jit(function)(x, n), function(x.copy(), n), strict=True):
        np.testing.assert_array_equal(got, expected)


def named_again_in_an_inner_branch(x, w):
    a, b = w, x * 1
    if x[0] > 1:
        b = x.copy()
        if x[1] > 0.5:
            a = b
    b[0] = 99
    return a, b


def stored_into_under_the_inner_name(x, w):
    a, b = w, x * 1
    if x[0] > 1:
        b = x.copy()
        if x[1] > 0.5:
            a = b
    a[0] = 99
    return a, b


def named_in_two_inner_branches(x, w):
    a, b = w, x * 1
    if x[0] > 1:
        t = x.copy()
        if x[1] > 0.5:
            a = t
        if x[2] > 0.5:
            b = t
    b[0] = 99
    return a, b


@pytest.mark.parametrize(
    "f", (named_again_in_an_inner_branch, stored_into_under_the_inner_name, named_in_two_inner_branches)
)
def test_an_array_of_a_branch_that_inner_branches_name(f):
    compiled = txc.jit(f)
    for k in range(8):
        x = np.array([2.0 * (k & 1), k >> 1 & 1, k >> 2])
        ours, theirs = (x.copy(), x + 5), (x.copy(), x + 5)
        assert repr(compiled(*ours)) == repr(f(*theirs)) and repr(ours) == repr(theirs)
