"""Whole NumPy programs whose loops and branches carry arrays, unmodified under ``@txc.jit``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc


def before_the_loop(x, y, steps):
    start = x - y
    state = start * 1
    for _ in range(steps):
        state = state * 0.5 + start[::-1] * 0.25
    return state + y


def test_a_loop_reads_what_it_starts_from() -> None:
    x = np.random.default_rng(8).standard_normal((2, 6, 9))
    np.testing.assert_allclose(txc.jit(before_the_loop)(x[0], x[1], 3), before_the_loop(x[0], x[1], 3), rtol=1e-12)


def bits_set(k):
    count = 0  # the 0 that the condition compares with
    while k > 0:
        if k % 2 == 1:
            count += 1
        k = k // 2
    return count


def test_a_condition_leaves_what_the_loop_carries() -> None:
    run = txc.jit(bits_set)
    assert [run(k) for k in range(-1, 20)] == [bits_set(k) for k in range(-1, 20)]


def rotates(x, steps):
    a, b, c = x * 1, x + 1, x + 2
    for _ in range(steps):
        t = b * 2
        u = c - t
        a, b, c = u + t, t, a
    return a, b, c


def rotates_through_reductions(x, steps):
    a, b, c = x * 1, x + 1, x + 2
    for _ in range(steps):
        t = c.sum(axis=0)
        u = (t * b)[::-1]
        c, b, a = u.T.T + a, a[::-1] * t, c * b.sum()
    return a, b, c


@pytest.mark.parametrize("program", [rotates, rotates_through_reductions], ids=lambda f: f.__name__)
def test_loops_that_exchange_what_they_carry(program: Callable[..., Any]) -> None:
    x = np.random.default_rng(10).uniform(0.5, 1, (3, 4))
    for steps in (0, 1, 2, 3):
        for got, expected in zip(txc.jit(program)(x, steps), program(x, steps), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-12)


def branches_exchange(x, y):
    if x.sum() > y.sum():
        x[0] = 1
        x, y = y, x
    else:
        y[1] = 2
        x, y = y * 2, x + y
    return x, y


def test_branches_that_exchange_what_they_hand_on() -> None:
    run = txc.jit(branches_exchange)
    x, y = np.random.default_rng(14).standard_normal((2, 3, 4))
    for a, b in ((x, y), (y, x)):
        mine, numpys = (a.copy(), b.copy()), (a.copy(), b.copy())
        for got, expected in zip(run(*mine), branches_exchange(*numpys), strict=True):
            np.testing.assert_allclose(got, expected)
        np.testing.assert_array_equal(mine, numpys)
