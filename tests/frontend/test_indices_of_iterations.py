"""Indices that count iterations, where a branch or the size of another loop says whether they are used.

They are inside in every iteration, which is a fact of the call, or each one that is used is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc


def stores_in_a_branch(x, n):
    for i in range(n):
        if x[0] >= 0:
            x[i] = 1.0
    return x


def reads_in_a_branch(x, n):
    s = 0.0
    for i in range(n):
        if i > 2:
            s += x[i]
    return s


def reads_what_it_does_not_use(x, n):
    s = 0.0
    for i in range(n):
        if x[0] > 100:
            s += x[i]
    return s


def keeps_the_last(x, n):
    s = 0.0
    for i in range(n):
        if x[0] >= 0:
            s = x[i]
    return s


def in_a_triangle(x, n):
    s = 0.0
    for i in range(n):
        for j in range(i + 1):
            s += x[j]
    return s


def counts_from_the_end(x, n):
    s = 0.0
    for i in range(n):
        if x[0] >= 0:
            s += x[i - 2]
    return s


def rows_in_a_branch(x, n):
    rows = x.reshape(2, -1)
    for i in range(n):
        if rows[0, 0] >= 0:
            rows[i] += 1.0
    return rows


def of_neighbours_but_at_the_border(x, n):
    out = np.zeros_like(x)
    for i in range(n):
        if 0 < i < len(x) - 1:
            out[i] = x[i - 1] + x[i + 1]
    return out


def in_a_while(x, n):
    i, s = 0, 0.0
    while i < n:
        if x[0] >= 0:
            s += x[i]
        i += 1
    return s


PROGRAMS = [
    stores_in_a_branch, reads_in_a_branch, reads_what_it_does_not_use, keeps_the_last, in_a_triangle,
    counts_from_the_end, rows_in_a_branch, of_neighbours_but_at_the_border, in_a_while,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
@pytest.mark.parametrize("n", [0, 2, 4, 5, 7])
@pytest.mark.parametrize("size", [2, 4, 6])
def test_what_is_outside_raises_and_what_is_inside_does_not(f: Callable[..., Any], n: int, size: int) -> None:
    theirs, ours = np.arange(float(size)), np.arange(float(size))
    compiled = txc.jit(f)
    try:
        expected = f(theirs, n)
    except IndexError:
        with pytest.raises(IndexError):
            compiled(ours, n)
    else:
        np.testing.assert_array_equal(compiled(ours, n), expected)
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("f", PROGRAMS)
def test_one_function_for_all_calls(f: Callable[..., Any]) -> None:
    """Facts of a call before are none of the next."""
    compiled = txc.jit(f)
    for size, n in ((6, 3), (6, 6), (4, 6), (8, 6), (2, 2), (2, 5)):
        theirs, ours = np.arange(float(size)), np.arange(float(size))
        try:
            expected = f(theirs, n)
        except IndexError:
            with pytest.raises(IndexError):
                compiled(ours, n)
        else:
            np.testing.assert_array_equal(compiled(ours, n), expected)


def test_a_declared_function_checks_too() -> None:
    module = txc.compile_source("""
def f(x: f64[n], m: i64) -> f64:
    s = 0.0
    for i in range(m):
        if x[0] >= 0.0:
            s = s + x[i]
    return s
""")
    assert module.f(np.arange(4.0), 4) == 6.0
    with pytest.raises(IndexError, match="index 5 is out of bounds for a dim of size 4"):
        module.f(np.arange(4.0), 6)
