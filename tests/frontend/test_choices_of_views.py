"""Variables that branches make views of one another: as many arrays as there are, however often branches did so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError
from txc.compiler.frontend.state.alternatives.choice import PerhapsOfOthers
from txc.compiler.frontend.tensor.views.composite_views import roots
from txc.compiler.frontend.trace.trace import Trace


def whole(x):
    return x[::1]


def backwards(x):
    return x[::-1]


def flat(x):
    return x.ravel()


def swapped(x, y, bound, view):
    z = x + 1
    for i in range(8):
        if x[i] > bound:
            y = view(y)
        else:
            z = y
    y += x
    z += 2
    return x, y, z


@pytest.mark.parametrize("view", [whole, backwards, flat])
def test_views_of_views_are_the_same_arrays(view):
    """Each branch would make two arrays of each that there may be: 256 behind the last one."""
    f: Any = txc.jit(swapped)
    for bound in (-1.0, 3.5, 9.0):
        given, expected = ([np.arange(8.0), np.arange(8.0) ** 2] for _ in range(2))
        results = zip(swapped(expected[0], expected[1], bound, view), f(*given, bound, view), strict=True)
        for want, got in (*results, *zip(expected, given)):
            np.testing.assert_array_equal(got, want)
    assert len([*f.graph(np.ones(8), np.ones(8), 1.0, view).walk()]) < 200


def transposed(x, y, bound):
    """Whether a reshape is a view follows from the strides that both arrays have."""
    z = x
    if x[0] > bound:
        z = y
    if x[1] > bound:
        w = z.reshape(2, 2)
    else:
        w = z.reshape(2, 2).T
    w += 2
    return w, z, x, y


def twice(x, y, bound):
    if x[0] > bound:
        y = y.ravel()
    if x[1] > bound:
        y = y.reshape(-1)
    y += 1
    return y, x


@pytest.mark.parametrize("function", [transposed, twice])
@pytest.mark.parametrize("bound", [0.0, 1.5, 5.0])
def test_a_choice_has_the_strides_of_its_arrays(function, bound):
    given, expected = ([np.arange(1, 5.0), np.arange(4.0)] for _ in range(2))
    results = zip(function(*expected, bound), txc.jit(function)(*given, bound), strict=True)
    for want, got in (*results, *zip(expected, given)):
        np.testing.assert_array_equal(got, want)


def reshaped_in_some_iterations(x, m, n, c):
    """What a reshape gives, which may be a view, is asked for behind the branches that made it."""
    turned = m.T
    a = m
    if c:
        for _ in range(3):
            a = turned.reshape(-1)
            x[n] += 1
            if x.any():
                break
    return x, a * 1


@pytest.mark.parametrize("c", [0.0, 1.0])
@pytest.mark.parametrize("order", "CF")
def test_a_reshape_of_branches_that_are_over(c, order):
    m = np.asarray(np.arange(24.0).reshape(4, 6)[:, ::2], order=order)
    results = zip(
        reshaped_in_some_iterations(np.zeros(6), m, 3, c),
        txc.jit(reshaped_in_some_iterations)(np.zeros(6), m, 3, c),
        strict=True,
    )
    for want, got in results:
        np.testing.assert_array_equal(got, want)


def the_same_by_two_views(x, c):
    """Both branches leave all of `x` in `v`: what it is does not depend on the branch."""
    v = x
    if x[0] > c:
        v = x[:]
    v += 1
    w = x[::-1]
    if x[1] > c:
        w = v[::-1]
    w[0] += 5
    return v, w, x


@pytest.mark.parametrize("c", [0.5, 2.5, 9.0])
def test_both_branches_have_the_same_array(c):
    given, expected = np.arange(1.0, 5.0), np.arange(1.0, 5.0)
    results = zip(the_same_by_two_views(expected, c), txc.jit(the_same_by_two_views)(given, c), strict=True)
    for want, got in (*results, (expected, given)):
        np.testing.assert_array_equal(got, want)


def of_another_size(x, y):
    """`v` is `x` or a part of `y`, which are of two sizes, as values decide."""
    v = x
    i = 0
    while i < len(v):
        i += 1
        v = y[1:4]
    v[0] = v.sum() + 5
    w = v[1:]
    w -= 1
    v[:] = v * 2
    return v.sum(), v, w.copy()


@pytest.mark.parametrize("size", [0, 2, 5])
def test_a_store_into_one_of_two_sizes(size):
    """What is not chosen is neither stored into nor compared with, and an array of one element is not repeated."""
    f = txc.jit(of_another_size)
    for others in (5, 4, 3, 2, 1):
        given, expected = ([np.arange(float(size)), np.arange(float(others))] for _ in range(2))
        try:
            results = of_another_size(expected[0], expected[1])
        except IndexError:
            with pytest.raises(IndexError):
                f(given[0], given[1])
            continue
        for want, got in zip((*results, *expected), (*f(given[0], given[1]), *given), strict=True):
            np.testing.assert_array_equal(got, want)


def test_what_may_be_one_of_many_arrays_looks_at_each_once():
    """What sixty loops leave would look at an array 2 ** 60 times, if each asked all that the last one does."""
    with Trace("f") as trace:
        x, y = (trace.array_input(name, np.arange(3.0)) for name in "xy")
        t = x
        for number in range(60):
            t = PerhapsOfOthers(f"t{number}", "an array from before the loop", t, [t, y], "copy() it")
        assert t.value is x.value
        assert {id(root) for root in roots(t)} >= {id(x), id(y)}
        y[0] = 1.0
        with pytest.raises(TxcError, match=r"t0 may be an array from before the loop, .* is stored into"):
            _ = t.value
