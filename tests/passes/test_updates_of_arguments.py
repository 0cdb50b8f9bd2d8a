"""Updates that end in an argument's memory and read that argument: the values are those of before."""

from __future__ import annotations

import numpy as np
import pytest

import txc


def shifted(y, n):
    y += 1
    s = (y * 2)[n]
    y[1:] = y[:-1]
    return s


def shifted_back(y, n):
    y *= 3
    s = y.sum()
    y[:-1] = y[1:] + y[:-1]
    return s, y[n] * 2


def a_part(y, n):
    z = y + 1
    y[:] = z
    y[n:] = z[: len(z) - n]
    return z[n] - y[n]


def by_indices(y, n):
    y += 1
    s = (y * 2)[n]
    y[np.array([1, 2, 3])] = y[:3] * 2
    return s


def in_a_loop(y, n):
    s = 0.0
    for _ in range(n):
        y += 1
        s += (y * 2)[n]
        y[1:] = y[:-1]
    return s


def in_a_branch(y, n):
    s = 0.0
    if y[n] > 0:
        y += 1
        s = (y * 2)[n]
        y[1:] = y[:-1]
    return s


@pytest.mark.parametrize("f", [shifted, shifted_back, a_part, by_indices, in_a_loop, in_a_branch])
def test_an_update_reads_what_was_there(f):
    for shape in ((7,), (40,), (6, 5)):
        ours, theirs = (np.arange(float(np.prod(shape))).reshape(shape) for _ in range(2))
        if len(shape) > 1 and f in (in_a_branch, by_indices):
            continue
        got, expected = txc.jit(f)(ours, 2), f(theirs, 2)
        np.testing.assert_array_equal(ours, theirs)
        for g, e in zip(
            got if isinstance(got, tuple) else (got,), expected if isinstance(expected, tuple) else (expected,)
        ):
            np.testing.assert_array_equal(g, e)
