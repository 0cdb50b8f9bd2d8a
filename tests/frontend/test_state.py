# ruff: noqa: B007  (programs are as their users write them)
# pyright: reportPossiblyUnboundVariable=false
"""What staged functions do with references to arrays is what Python does: results, and all effects.

Each function runs as it is and jitted, on copies of the same arguments; the results and what the arguments hold
afterwards have to be the same.  The kinds are those of faults that users of such compilers report.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc

from .cases import Cases, does_as_python

A = np.array([0.0, 1, 2])
B = np.array([5.0, 3, 1, 4])
M = np.arange(9.0).reshape(3, 3)
case = Cases()


@case.on(A, 3)
def stores_through_what_a_loop_leaves(x, n):
    """The view of the last iteration is a view behind the loop too."""
    for i in range(n):
        v = x[i:]
        v[0] += 10
    v[0] *= 2
    return v


@case.on(A, 3)
@case.on(A, 12)
def stores_into_what_a_loop_names(x, n):
    v = x[1:]
    for _ in range(n):
        v = x
    v[0] = 9
    return v


@case.on(A, 3)
@case.on(A, 2)
def writes_what_a_view_shows_that_is_rebound(x, n):
    z = x * 2
    q, w = z[:], z
    s = 0.0
    for _ in range(n):
        w[0] += 1
        s += q[0]
        q = q * 2
    return s, w, q


def swaps_as_often_as_values_say(x, y):
    z = x * 1
    for i in range(int(y[0])):
        z[1] = i
        x, z = z, x
    return x, z


def names_another_array_from_some_iteration_on(x, y):
    a = y
    for i in range(len(x)):
        a[0] += 1
        if x[i] > 1:
            a = x
    a[1] = 9
    return a


def names_a_view_from_some_iteration_on(x, y):
    for i in range(len(x)):
        if y[i] > 1:
            y = x[::-1]
        y += i
    y[0] = 7
    return y


def names_an_array_of_its_own_from_some_iteration_on(x, y):
    z = y
    for i in range(len(x)):
        z[0] += 1
        if x[i] > 1:
            z = x * i
        if x[i] < -1:
            break
    z[1] = 9
    return z


def names_another_array_in_a_while(x, y):
    i = 0
    while i < 3 and y[0] < 5:
        y[0] += 1
        if x[i] > 0:
            y = x
        i += 1
    y[2] = 4
    return y, i


def names_one_array_in_each_iteration(x, y):
    for _ in range(int(y[0])):
        x = y
    x[1] = 6
    return x


for names in (
    swaps_as_often_as_values_say, names_another_array_from_some_iteration_on, names_a_view_from_some_iteration_on,
    names_an_array_of_its_own_from_some_iteration_on, names_another_array_in_a_while, names_one_array_in_each_iteration,
):  # fmt: skip
    for sign in (1, -1, 0):
        for first in (0.0, 1.0, 2.0, 3.0):
            case.on(sign * np.arange(1.0, 4), np.array([first, 2, 3]))(names)


@case.on(A)
def chooses_between_one_array_and_itself(x):
    y = x
    y[...] = y if x[0] > 1 else x
    y[0] += 5
    return y or x if x[0] < 9 and len(x) == 1 else x


@case.on(A, 3)
def holds_in_a_tuple_what_a_loop_stores_into_and_rebinds(x, n):
    z = x * 2
    kept = (z, 1)
    for _ in range(n):
        z += 1
        z = z * 2
    return kept[0], z


@case.on(A, 3)
@case.on(-B, 2)
def chose_what_a_loop_stores_into_and_rebinds(x, n):
    z = x * 2
    y = x * 3
    q = z if x[0] >= 0 else y
    for _ in range(n):
        z += 1
        z = z * 2
    return q, z


@case.on(A)
def swaps_elements(x):
    x[0], x[1] = x[1], x[0]
    return x


@case.on(np.array([3, 1, 2.0, 0]))
def sorts_by_bubbles(x):
    n = len(x)
    for i in range(n):
        for j in range(n - 1):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
    return x


@case.on(A)
def windows_from_before_the_start(x):
    y = np.zeros(3)
    for i in range(len(x)):
        y[i] = x[i - 1 : i + 2].sum()
    return y


@case.on(np.arange(6.0).reshape(3, 2))
def stores_into_a_row_found_at_run_time(X):
    k = X[:, 0].argmax()
    X[k][1] = 77
    return X


@case.on(A, np.zeros(3), 5)
def swaps_two_buffers(a, b, n):
    for t in range(n):
        b[1:-1] = a[:-2] + a[2:]
        a, b = b, a
    return a


@case.on(A, A, True)
def chooses_an_array_in_an_expression(x, z, c):
    y = x if z[0] > 1 else z
    y[0] = 9
    return y


@case.on(A, A)
def chooses_an_array_in_a_branch(x, z):
    if z[1] > 0:
        y = x
    else:
        y = z
    y[0] = 9
    return y


@case.on(np.random.default_rng(0).random((24, 24)))
def diffuses_errors(o):
    h, w = o.shape
    for y in range(h - 1):
        for x in range(w - 1):
            e = o[y, x] * 0.5
            o[y, x] = e
            o[y, x + 1] += e
            o[y + 1, x] += e
    return o


@case.on(A)
def swaps_buffers_in_a_while(x):
    u = x.copy()
    un = np.zeros(3)
    while u.sum() < 100:
        un[:] = u * 2 + 1
        u, un = un, u
    return u, un


@case.on(M)
def swaps_elements_of_a_matrix(x):
    x[0, 1], x[1, 0] = x[1, 0], x[0, 1]
    return x


@case.on(M)
def swaps_views_of_rows(x):
    x[0], x[1] = x[1], x[0]
    return x


@case.on(M)
def swaps_copies_of_rows(x):
    x[[0, 1]] = x[[1, 0]]
    return x


@case.on(A)
def accumulates_through_elements(x):
    t = x[0]
    for i in range(len(x)):
        x[i] += t
        t = x[i]
    return t


@case.on(A)
def adds_to_a_view_of_an_element(x):
    v = x[1, ...]
    v += 5
    return v * 2


@case.on(np.array([5, 3, 1]))
def shifts_integers(x):
    m = x[0]
    for i in range(1, len(x)):
        k = x[i]
        x[i] = m
        m = k
    return m


@case.on(A)
def views_an_element(x):
    v = x[0, ...]
    x[0] = 7
    return v + 0


@case.on(A, A, 4)
def rotates_three_buffers(a, b, n):
    c = np.zeros(3)
    for t in range(n):
        c[:] = a + b
        a, b, c = b, c, a
    return a, b, c


@case.on(A, A, 7)
def rotates_three_arrays_of_others(a, b, n):
    c = np.zeros(3)
    for t in range(n):
        c[0] += a[1] + t
        a, b, c = b, c, a
    return a, b, c


@case.on(A, 5)
def writes_and_rebinds_an_argument(x, n):
    for i in range(n):
        x[0] = i
        x = x * 2
    return x


@case.on(A, 3)
def hands_arrays_on(x, n):
    cur = x
    prev = np.zeros(3)
    for i in range(n):
        nxt = cur + prev
        prev = cur
        cur = nxt
    return cur, prev


@case.on(A, 3)
def hands_arrays_on_and_stores(x, n):
    cur = x
    prev = np.zeros(3)
    for i in range(n):
        nxt = cur + prev
        prev = cur
        prev[0] = 9
        cur = nxt
    return cur, prev


@case.on(A)
def chooses_a_view(x):
    y = x[:2]
    if x[1] > 0:
        y = x[1:]
    y[0] = 50
    y += 1
    return y


@case.on(A)
def rebinds_one_of_two_names(x):
    y = x
    if x[1] > 0:
        y = y + 1
    y[0] = 3
    x[1] = 7
    return y


@case.on(A)
def reads_one_of_two_names(x):
    y = x
    if x[1] > 5:
        y = y + 1
    x[1] = 7
    return y * 1


@case.on(A)
def asks_for_an_element_that_may_not_be(x):
    i = 5
    if i < len(x) and x[i] > 1:
        return x + 1
    return x


@case.on(A, 0)
def asks_for_elements_in_a_loop(x, k):
    for i in range(12):
        k = i if (i < len(x) and x[i] > 0.5) or i == 11 else k
    return k


@case.on(A, 4)
def writes_the_last_row(x, n):
    m = np.arange(12.0).reshape(4, 3)
    for row in m:
        pass
    row[0] = 99
    return m


@case.on(np.arange(10.0))
def averages_around(x):
    t = 0.0
    for i in range(len(x)):
        t += x[max(0, i - 2) : i + 3].mean()
    return t


@pytest.mark.parametrize(("f", "arguments"), case)
def test_as_python(f: Callable[..., Any], arguments: tuple[Any, ...]):
    does_as_python(f, arguments)


def test_one_version_swaps_buffers_any_number_of_times_of_a_kind():
    """Whether an even or an odd number of iterations comes is a fact; how many is none."""
    jitted = txc.jit(swaps_two_buffers)
    for n in (2, 8, 4, 3, 5, 9):
        ours, theirs = [A.copy(), A * 0], [A.copy(), A * 0]
        np.testing.assert_array_equal(jitted(*ours, n), swaps_two_buffers(*theirs, n))
        for mine, numpys in zip(ours, theirs):
            np.testing.assert_array_equal(mine, numpys)
    assert sum(map(len, jitted._versions.values())) == 2


@pytest.mark.parametrize(
    "make", [txc.asarray, lambda a: txc.asarray(a) + 0, lambda a: txc.Tensor("f64", (3,)).assign(a)]
)
def test_eager_elements_are_read_when_they_are_indexed(make: Callable[..., Any]):
    t = make(A.copy())
    t[0], t[1] = t[1], t[0]
    first = t[2]
    t[2] = 7
    assert np.asarray(t).tolist() == [1, 0, 7] and float(first) == 2


def test_tx_elements_are_read_when_they_are_indexed():
    text = "def f(x: f64[n]) -> f64[n]:\n    a = x[0]\n    x[0] = x[1]\n    x[1] = a\n    return x"
    assert txc.compile_source(text).f(A.copy()).tolist() == [1, 0, 2]
