"""``X[:, mask]``: masks of some dims, whose lengths are those of other arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc

X = np.arange(12.0).reshape(3, 4)
ROWS = np.array([True, False, True])


def columns(x, v):
    return x[:, v > 0], x[..., v > 0], x[1, v > 0], x[:, v > 0].sum(axis=1)


def of_masked_rows(x, v):
    return x[ROWS][:, v > 0], x[None, :, v > 0]


def stored(x, v):
    x[:, v > 0] = 0
    x[:, v < 0] += 5
    x[1, v > 1] = x[0, v > 1]
    return x


def in_a_loop(x, v):
    total = 0.0
    for i in range(3):
        total += x[i, v > i].sum()
        x[i, v > i] = -i
    return total, x


def open_mesh(x, v):
    return x[np.ix_(ROWS, v > 0)], x[np.ix_([0, 2], v > 0)], np.ix_(v > 0)[0]


def ran(f: Any, v: np.ndarray) -> Any:
    x = X.copy()
    try:
        return f(x, v), x
    except IndexError:
        return IndexError


@pytest.mark.parametrize("f", [columns, of_masked_rows, stored, in_a_loop, open_mesh])
def test_a_mask_of_a_dim(f: Any):
    compiled = txc.jit(f)
    v = np.array([1.0, -1, 2, 3])
    for given in (v, -v, v * 0, np.ones(3), np.ones(5), np.ones(1)):
        assert repr(ran(compiled, given)) == repr(ran(f, given)), given


def test_what_does_not_fit_says_so():
    with pytest.raises(IndexError, match=r"boolean index did not match indexed array: sizes v\.shape\[0\] = 3 and"):
        txc.jit(columns)(X, np.ones(3))
