"""Masks, operands and stores that do not fit arrays whose sizes change in loops: NumPy's errors, where it raises."""

from __future__ import annotations

# Names that a loop may leave unbound are what some of these are about.
# pyright: reportPossiblyUnboundVariable=false
from typing import Any

import numpy as np
import pytest

from .cases import Cases, gives_and_raises_as_numpy

X = np.array([5.0, 1, 7, 3, 9, 2, 8, 0, 6, 4])
case = Cases()


@case.on_each((X, X > 4, 3), (X, X > 0, 1))
def badmask(x, m, n):
    a = x.copy()
    for _i in range(n):
        a = a[m]
    return a


@case.on_each((X, 3), (X, 0))
def mism(x, n):
    z = x * 1
    c = x + 1
    for i in range(n):
        z = z[z > i]
        z = z + c
    return z


@case.on_each((X, 3), (X, 0))
def mask_mism(x, n):
    z = x * 1
    m = x > 3
    for _i in range(n):
        z = z[z > 100]
        z = z[m]
    return z


@case.on_each((X, 3), (X, 0))
def mask_mism2(x, n):
    z = x * 1
    for _i in range(n):
        m = z > 1
        z = z[z > 100]
        z[m] = 5
    return z


@case.on_each((X, 3), (X, 0))
def store_mism(x, n):
    z = x * 1
    w = x + 0
    for _i in range(n):
        z = z[z > 100]
        z[:] = w
    return z


@case.on_each((X, 3), (X, 0))
def store_mism2(x, n):
    z = x * 1
    w = x + 0
    for _i in range(n):
        z = z[z > 2]
        w[:] = z
    return z, w


@case.on_each((X, 3), (X, 0))
def store_ok(x, n):
    z = x * 1
    w = x + 0
    for _i in range(n):
        z = z[z > 2]
        w[: len(z)] = z
        w[len(z) :] = -1
    return z, w


@case.on_each((X, 3), (X, 20))
def empty_err(x, n):
    z = x * 1
    s = 0.0
    for _i in range(n):
        z = z[:-1]
        s += z.max()
    return z, s


@case.on_each((X, 3), (X, 20))
def idx_err(x, n):
    z = x * 1
    s = 0.0
    for _i in range(n):
        s += z[0]
        z = z[1:]
    return z, s


@pytest.mark.parametrize(("f", "call"), case)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_loops_carry_arrays_whose_sizes_change(f: Any, call: tuple[Any, ...]) -> None:
    gives_and_raises_as_numpy(f, call)
