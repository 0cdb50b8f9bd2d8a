"""``x.shape = …`` in compiled functions: the same object with another shape, as NumPy has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

X = np.arange(12.0)


def its_names_and_views(x):
    y = x * 2
    v = y[2:5]
    z = y
    y.shape = (3, 4)
    v[:] = 100
    z[1, 1] = 7
    y += 1
    return y, v, z, z.shape


def the_rest(x):
    y = (x * 2).reshape(3, 4) + 1
    y.shape = -1
    return y


def of_a_view(x):
    y = x * 2
    v = y[::2]
    v.shape = (2, 3)
    v[0, 0] = -5
    return y, v


def of_a_view_of_an_argument(x):
    v = x[2:]
    v.shape = 5, 2
    v[1] = 3
    return v


def in_a_chain(x):
    a, b = np.mgrid[0 : len(x), 0:3]
    a.shape = b.shape = 3 * len(x)
    return a, b, a[:3] + b[1:4]


def behind_a_check(x):
    y = x * 2
    y.shape = 2, 6
    y[0] = 1
    if x[0] > 100:
        raise ValueError("too large")
    y.shape = 6, 2
    y[0] = 3
    return y, y.sum(axis=0)


def of_an_item(x):
    items = [x + 1, x + 2]
    items[0].shape = (3, 4)
    a, b = items
    return a, b, a @ a.T


def in_iterations_that_python_knows(x):
    y = x + 0
    for _ in range(3):
        y.shape = (3, 4)
        y = y + 1
        y.shape = 12
    return y


def with_reshapes_from_before(x):
    y = x + 0
    w = y[4:]
    r = y.reshape(4, 3)
    y.shape = (2, 6)
    y[0] = 5
    r[3] = 8
    return y, w, r


def to_rank_0(x):
    y = (x + 1)[:1]
    y.shape = ()
    y[...] = 4
    return y


def of_a_table(x):
    index = np.mgrid[0:3, 0:2][1]
    y = x[index]
    y.shape = 6
    return y


def copies(x):
    y = (x * 2).reshape(3, 4).copy().T
    y.shape = 12
    return y


def of_another_number(x):
    y = x * 2
    y.shape = (5, 2)
    return y


def same(got: Any, expected: Any) -> None:
    assert type(got) is type(expected)
    if isinstance(expected, tuple):
        assert len(got) == len(expected)
        for a, b in zip(got, expected):
            same(a, b)
    else:
        assert np.shape(got) == np.shape(expected)
        np.testing.assert_array_equal(got, expected)


WORK = [its_names_and_views, the_rest, of_a_view, of_a_view_of_an_argument, in_a_chain, behind_a_check, of_an_item,
        in_iterations_that_python_knows, with_reshapes_from_before, to_rank_0, of_a_table]  # fmt: skip


@pytest.mark.parametrize("f", WORK, ids=lambda f: f.__name__)
def test_the_object_has_another_shape(f: Any) -> None:
    here, there = X.copy(), X.copy()
    expected = f(there)
    same(txc.jit(f)(here), expected)
    np.testing.assert_array_equal(here, there)


def test_no_copy_is_made() -> None:
    with pytest.raises(AttributeError) as expected:
        copies(X)
    with pytest.raises(AttributeError) as raised:
        txc.jit(copies)(X)
    assert str(raised.value) == str(expected.value)


def test_another_number_of_elements() -> None:
    with pytest.raises(ValueError, match="cannot reshape"):
        txc.jit(of_another_number)(X)


def of_an_argument(x):
    x.shape = 12
    return x


def in_a_loop(x):
    y = x + 0
    n = int(x[3])
    while n > 0:
        y.shape = (3, 4)
        n = n - int(x[1])
    return y


def beside_its_real_part(x):
    y = x + 1j
    p = y.real
    y.shape = (2, 6)
    p[0] = 5
    return y


@pytest.mark.parametrize("f", [of_an_argument, in_a_loop, beside_its_real_part], ids=lambda f: f.__name__)
def test_what_is_refused(f: Any) -> None:
    with pytest.raises(TxcError, match="TX0322") as raised:
        txc.jit(f)(X.copy())
    assert "reshape" in str(raised.value)
