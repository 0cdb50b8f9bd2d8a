"""Sizes that are computed (``min(n, m)``, ``(n + 1) // 2``) and that a broadcast takes for 1 are 1, in every call.

What reads beside a buffer is found by ``TXC_CHECK_BOUNDS=1``; a later call with other sizes gets a version of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc

SHAPES = [(1, 2), (2, 1), (1, 1), (3, 2), (2, 3), (0, 2)]


def diagonal_in_where(a):
    return np.where(a.sum() >= 0, np.diagonal(a), np.arange(6.0)[:1] * 2)


def diagonal_plus_row(a):
    return np.diagonal(a) + np.arange(3.0)


def trace_like(a):
    return np.diagonal(a).sum() * np.diagonal(a)


def every_other(a):
    return a[::2] + np.arange(8.0).reshape(4, 2)[:, :1].T[:, :1]


def slice_to_the_smaller(a):
    k = min(a.shape)
    return a[:k, :k] * np.ones((1, 4))[:, :1] + np.ones((3, 1))


def stores_a_diagonal(a):
    out = np.zeros(4)
    out[:] = np.diagonal(a)
    return out


def stores_by_an_index(a):
    out = np.zeros((2, 4))
    out[np.array([0, 1])] = np.diagonal(a)
    return out


def squeezes(a):
    return np.squeeze(np.diagonal(a)) * 2


def broadcasts(a):
    return np.broadcast_to(np.diagonal(a), (3, 4)) * 1


def broadcasts_every_other(a):
    return np.broadcast_to(a[::2, 0], (2, 1)) + 0


def multiplies(a):
    return np.einsum("i,i->i", np.diagonal(a), np.ones(5))


FUNCTIONS = [
    diagonal_in_where, diagonal_plus_row, trace_like, every_other, slice_to_the_smaller, stores_a_diagonal,
    stores_by_an_index, squeezes, broadcasts, broadcasts_every_other, multiplies,
]  # fmt: skip


def outcome(f: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return np.asarray(f(*arguments))
    except (ValueError, IndexError) as error:
        return type(error)


def check(f: Callable[..., Any]) -> None:
    """One jitted function for all shapes, in this order and backwards."""
    for shapes in (SHAPES, SHAPES[::-1]):
        jitted = txc.jit(f)
        for shape in shapes:
            a = np.arange(10.0, 10 + shape[0] * shape[1]).reshape(shape)
            got, expected = outcome(jitted, a), outcome(f, a)
            if isinstance(expected, np.ndarray):
                np.testing.assert_array_equal(got, expected, err_msg=f"{f.__name__} {shape}")
            else:
                assert isinstance(got, type) and issubclass(got, ValueError), (f.__name__, shape, got)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_numpy(f: Callable[..., Any]):
    check(f)


def test_nothing_is_read_beside_a_buffer():
    environment = {**os.environ, "TXC_CHECK_BOUNDS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    for function in FUNCTIONS:
        check(function)
