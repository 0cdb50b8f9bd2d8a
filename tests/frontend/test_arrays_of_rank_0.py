"""Arrays of rank 0 are no numbers: what branches and loops leave is the one or the other, with its own dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc


def of_two_dtypes(x, n):
    return np.array(x[3]) if x[2] > 2 else np.array(0.5)


def asked_for_its_dtype(x, n):
    if x[2] > 2:
        z = np.array(x[3])
    else:
        z = np.array(1.5)
    return z.dtype, z


def array_or_number(x, n):
    if x[2] > 2:
        z = np.array(x[3])
    else:
        z = np.uint8(7)
    return z


def of_a_number_of_two_types(x, n):
    return np.array(max(0.0, x[3])), np.asarray(max(0.0, x[3])).astype(float)


def stored_into(x, n):
    z = np.asarray(max(0.0, x[3]))
    z[...] = 3.7
    return z


def becomes_a_number(x, n):
    z = np.array(0.0)
    for i in range(n):
        z = z + x[i]
    return z


def becomes_an_array(x, n):
    z = np.float64(0.0)
    for i in range(n):
        z = np.array(x[i] * 2.0)
    return z


def stays_an_array(x, n):
    z = np.array(0.0)
    for i in range(n):
        z[...] = z + x[i]
    return z


def becomes_a_number_while(x, n):
    z, k = np.array(0.0), 0
    while k < n:
        z = z * 2 + x[k]
        k += 1
    return z


def array_or_number_of_the_last(x, n):
    z = np.array(0, np.uint8)
    for i in range(n):
        if x[i] > 4:
            z = np.array(x[i])
        else:
            z = x[i]
    return z


def arrays_of_one_dtype(x, n):
    return np.array(x[3] * 1.0) if x[2] > 2 else np.array(0.5)


PROGRAMS = [
    arrays_of_one_dtype, of_two_dtypes, asked_for_its_dtype, array_or_number, of_a_number_of_two_types, stored_into,
    becomes_a_number, becomes_an_array, stays_an_array, becomes_a_number_while, array_or_number_of_the_last,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_as_numpy(f: Callable[..., Any]):
    jitted = txc.jit(f)
    for x in (np.arange(3, 9, dtype=np.uint8), np.zeros(6, np.uint8)):
        for n in (0, 1, 3):
            want, found = f(x, n), jitted(x, n)
            for a, b in zip(found, want) if isinstance(want, tuple) else [(found, want)]:
                assert type(a) is type(b), f"{a!r}, not {b!r}"
                assert isinstance(b, np.dtype) or a.dtype == b.dtype
                np.testing.assert_array_equal(a, b)
