"""Arithmetic on sizes in entries: guards, divisions, output shapes, and numbers that do not fit."""

from __future__ import annotations

import numpy as np
import pytest


def halves(x):
    n = x.shape[0] // 2
    return x[:n] + x[n : 2 * n]


def pairs(x):
    return x.reshape((x.shape[0] // 3, 3)).sum(axis=1)


def rest(x):
    return x[x.shape[0] % 4 :] * 2


def tail(x, n):
    return x[-n:] + 0.5


def shifted(x, k):
    return x * (k // 3) + k % 5


def checked(calls, function, arguments):
    """Compile for the first arguments; then those that take the same version enter it directly."""
    jitted = calls.jit(function)
    for args in arguments:
        np.testing.assert_array_equal(jitted(*args), function(*args))
    for args in arguments:
        np.testing.assert_array_equal(calls.direct(lambda args=args: jitted(*args)), function(*args))
    return jitted


@pytest.mark.parametrize("function", [halves, rest])
def test_divisions_of_sizes(calls, function):
    checked(calls, function, [(np.arange(n, dtype=np.float64),) for n in (8, 9, 13, 16, 30)])


def test_a_reshape_by_a_quotient(calls):
    jitted = checked(calls, pairs, [(np.arange(n, dtype=np.float64),) for n in (6, 9, 30)])
    with pytest.raises(ValueError):
        jitted(np.arange(7.0))


def test_ints_from_the_end(calls):
    checked(calls, tail, [(np.arange(9.0), n) for n in (1, 2, 5)])


@pytest.mark.parametrize("k", [-7, -3, -1, 0, 1, 4, 2**40, -(2**40)])
def test_divisions_of_ints_round_down(calls, k):
    checked(calls, shifted, [(np.arange(3.0), k)])


@pytest.mark.parametrize("k", [2**63 - 1, -(2**63)])
def test_the_largest_ints_are_passed_on(calls, k):
    checked(calls, lambda x, n: x[:1] * 0 + (n > 0), [(np.arange(3.0), k)])


def test_temporaries_too_large_to_count_are_memory_errors(calls):
    """The size of the temporary, the product of both sizes, does not fit into 64 bits: nothing smaller is allocated."""

    def function(x, y):
        e = np.exp(x.reshape((x.shape[0], 1)) + y)
        return (e / e.sum(axis=1, keepdims=True)).sum(axis=1)

    jitted = calls.jit(function)
    small = np.broadcast_to(np.float32(1), (3,)), np.broadcast_to(np.float32(1), (4,))
    for _ in range(2):
        np.testing.assert_allclose(jitted(*small), np.ones(3), rtol=1e-6)
    for shift in (40, 59):
        huge = np.broadcast_to(np.float32(1), (1 << shift,))
        with pytest.raises((MemoryError, ValueError, OverflowError)):
            jitted(huge, huge)
