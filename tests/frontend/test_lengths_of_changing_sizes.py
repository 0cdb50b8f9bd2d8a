"""The length of an array whose size changes, as a loop, its counter or the last of its iterations has it."""

from __future__ import annotations

# Names that a loop may leave unbound are what some of these are about.
# pyright: reportPossiblyUnboundVariable=false
from typing import Any

import numpy as np
import pytest

import txc

from .cases import Cases, gives_and_raises_as_numpy

X = np.array([5.0, 1, 7, 3, 9, 2, 8, 0, 6, 4])
case = Cases()


@case.on_each((X,), (X[:0],), (X[:1],))
def while_true(x):
    q = np.arange(len(x))
    d = np.zeros(len(x))
    while True:
        if q.size == 0:
            break
        d[q] += x[q]
        q = q[(d[q] < 20) & (x[q] > 0)]
    return d


@case.on_each((X,), (X[:1],), (X[:2],))
def as_long_as_the_counter(x):
    for i in range(len(x)):
        w = np.arange(i) * x[i]
    return w


@case.on_each((X,), (X[:1],))
def as_long_as_the_counter_after(x):
    w = np.zeros(2)
    for i in range(len(x)):
        w = x[i:] * 2
    return w, i


@case.on_each((X, X[:3]), (X, X[:0]), (X[:1], X[:2]))
def as_long_as_the_counter_of_another_loop(x, y):
    s = 0.0
    for i, v in enumerate(x):
        s += v
        w = np.arange(i) * 1.0
    for u in y:
        s += u
        w = np.unique(x) + u
    return w, s


@case.on_each((X, 3), (X, 1))
def as_long_as_an_inner_counter(x, n):
    for i in range(n):
        for j in range(i + 1):
            w = x[j : j + 2] + i
    return w


@case.on_each((X,), (X[:2],))
def as_long_as_what_ends_the_loop(x):
    for i in range(len(x)):
        w = x[: i + 1]
        if x[i] > 6:
            break
    return w * 1.0


@case.on_each((X,), (X[:3],))
def its_length_in_the_last_iteration(x):
    w, k = x, 0
    for i in range(len(x) - 1):
        w = w[1:]
        k = len(w)
        j = k + i
    return w, k, j


@case.on_each((X,), (X[:3],))
def its_length_in_the_last_iteration_of_elements(x):
    w = x
    for v in x[1:]:
        w = w[: len(w) - 1]
        k, u = len(w) * 2, v
    return k, u


@case.on_each((X, 3), (X, 2))
def its_length_in_the_last_iteration_of_two_loops(x, n):
    w = x
    for i in range(n):
        w = w[1:]
        for j in range(n - 1, -1, -1):
            k, m = len(w) + j, i - j
    return w, k, m


@case.on_each((X,), (X[:4],))
def its_length_of_a_mask(x):
    w = x
    for i in range(3):
        w = w[w > i]
        k, t = len(w), len(w) + i
    return w, k, t


@pytest.mark.parametrize(("f", "call"), case)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_loops_carry_arrays_whose_sizes_change(f: Any, call: tuple[Any, ...]) -> None:
    gives_and_raises_as_numpy(f, call)


def test_masks_in_whiles_in_whiles() -> None:
    """A loop without iterations, around one without a bound, has a length as well."""

    def f(x, y):
        i = 0
        while i < len(x):
            i += 1
            k = 0
            while k < y[0]:
                k += 1
                w = y[y > 1]
        return w

    x = np.arange(6.0)
    np.testing.assert_array_equal(txc.jit(f)(x, x[::-1]), f(x, x[::-1]))
