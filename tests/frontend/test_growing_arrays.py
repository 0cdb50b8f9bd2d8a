"""Arrays that grow in loops of compiled code, also without a bound: values are NumPy's."""

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


@case.on_each((X, 5), (X, 0), (X, 1), (X, 20))
def grow(x, n):
    a = x[:1]
    for i in range(n):
        a = np.append(a, i * 2.0)
    return a


@case.on_each((X, 5), (X, 0), (X, 1), (X, 20))
def grow2(x, n):
    a = np.zeros(0)
    for _i in range(n):
        a = np.concatenate([a, x])
    return a


@case.on_each((X, 3), (X, 0), (X, 20))
def cond_append(x, n):
    a = x[:0]
    for i in range(n):
        if x[i % len(x)] > 4:
            a = np.append(a, x[i % len(x)])
    return a


@case.on_each((X, 3), (X, 0), (X, 20))
def grow_shrink(x, n):
    a = x[:2]
    for i in range(n):
        a = np.append(a, i + 0.5)
        a = a[a > i / 2]
    return a


@case.on_each((X, 3), (X, 0), (X, 6))
def nest_grow(x, n):
    a = np.zeros(1)
    for i in range(n):
        for j in range(i):
            a = np.append(a, i * 10.0 + j)
    return a


@case.on_each((X, 3), (X, 0), (X, 6))
def nest_grow2(x, n):
    s = 0.0
    for i in range(n):
        a = np.zeros(1)
        for j in range(i):
            a = np.append(a, i * 10.0 + j)
        s = s * 3 + a.sum() + len(a)
    return s


@case.on_each((X, 3), (X, 0), (X, 6))
def hst(x, n):
    a = x.reshape(1, -1)
    for i in range(n):
        a = np.vstack([a, x * i])
    return a


@case.on_each((X, 3), (X, 0), (X, 6))
def hst2(x, n):
    a = x.reshape(-1, 1)
    for i in range(n):
        a = np.hstack([a, (x * i)[:, None]])
    return a, a.sum()


@case.on_each((X, 3), (X, 0), (X, 60))
def brk(x, n):
    a = x[:1]
    for i in range(n):
        if len(a) > 8:
            break
        a = np.append(a, [i, i + 1.0])
    return a


@case.on_each((X, 3), (X, 0), (X, 60))
def insert_front(x, n):
    a = x[:1]
    for i in range(n):
        a = np.concatenate(([float(i)], a[:-1]))
    return a


@pytest.mark.parametrize(("f", "call"), case)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_loops_carry_arrays_whose_sizes_change(f: Any, call: tuple[Any, ...]) -> None:
    gives_and_raises_as_numpy(f, call)


def test_what_grows_without_a_bound_has_memory_by_the_call() -> None:
    """A call that has too little is repeated with more; what it stored is put back before."""

    def f(x: np.ndarray, limit: float) -> tuple[np.ndarray, int]:
        a, count = x[1:], 0
        while a.sum() < limit:
            a = np.append(a, 7.0)
            count += 1
            x[0] += 1
        return a, count

    compiled = txc.jit(f)
    for limit in (100.0, 0.0, 5000.0, 30000.0, 10.0):
        ours, theirs = X.copy(), X.copy()
        expected, got = f(theirs, limit), compiled(ours, limit)
        np.testing.assert_array_equal(got[0], expected[0])
        assert got[1] == expected[1]
        np.testing.assert_array_equal(ours, theirs)
