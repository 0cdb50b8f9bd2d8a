# pyright: reportPossiblyUnboundVariable=false
"""What the counter of a loop, and what its iterations set, are behind a loop that is left or never runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc

from .control import same
from .programs.interpreted import interpreted

V = np.arange(12.0) - 3


def counter_behind_a_loop(x):
    i = 7
    for i in range(x.shape[0]):
        x[i] = i
    return i


def test_the_counter_behind_a_loop_is_that_of_the_last_iteration():
    same(counter_behind_a_loop, (V,), (V[:0],), (V[:1],))


def test_what_a_loop_leaves_as_it_is_stays_a_number():
    @txc.jit
    def f(x, n):
        size, kind = 2, 1.0
        for i in range(n):
            x[i] += kind
            size = size + 0 if n < 0 else size
        return np.zeros(size) + x[:size], kind

    x = V.copy()
    result, kind = f(x, 3)
    assert result.tolist() == [-2, -1] and type(kind) is float


def keeps_its_counter(x, n):
    i = 5
    for i in range(n):
        if x[i] > 2:
            break
    return i


def keeps_an_element(x, n):
    v = 7.5
    for v in x[x > 2][:n]:
        if v > 3:
            break
    return v


def leaves_loops_that_may_not_run(x, n):
    v = 7.5
    for k in range(n):
        for v in x[:k]:
            if v > 3:
                break
        x[k] += v
    return x, v


def returns_its_counter(x, n):
    i = 5
    for i in range(n):
        if x[i] > 2:
            return i
    return -i


def changes_its_counter(x, n):
    for i in range(n):
        i = i * 2
        if i > 3:
            break
    return i


def finds_in_rows(x, n):
    for i in range(n):
        for j in range(i, n):
            if x[j] > 3:
                break
        x[i] = j
    return x, i, j


def breaks_at_once(x, n):
    for i in range(n):
        for j in range(i):  # noqa: B007
            break
        x[0] = j
    return x


@pytest.mark.parametrize(
    "f",
    [
        keeps_its_counter, keeps_an_element, leaves_loops_that_may_not_run, returns_its_counter, changes_its_counter,
        finds_in_rows, breaks_at_once,
    ],
)  # fmt: skip
def test_the_counter_behind_a_loop_that_is_left_or_does_not_run(f: Callable[..., Any]):
    jitted = txc.jit(f)
    for first, n in ((0.0, 2), (2.0, 0), (1.0, 0), (0.0, 4), (-7.0, 4)):
        x, y = np.arange(4.0) + first, np.arange(4.0) + first
        with interpreted():
            try:
                want = f(x, n)
            except UnboundLocalError:
                with pytest.raises(UnboundLocalError):
                    jitted(y, n)
            else:
                assert repr(jitted(y, n)) == repr(want)
        np.testing.assert_array_equal(x, y)


def leaves_an_inner_loop(x, n):
    pair = [0.0, 1.0]
    for i in range(3):
        for _ in range(n):
            if i == 0:
                break
            pair[0] = x[i]
    return pair


def test_an_inner_loop_that_no_later_iteration_leaves():
    for n in (0, 5):
        assert txc.jit(leaves_an_inner_loop)(V, n) == leaves_an_inner_loop(V, n)
