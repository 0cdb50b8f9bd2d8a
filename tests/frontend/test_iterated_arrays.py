"""A loop goes through the array that there was at its beginning, whatever its body does to that and to its name."""

from __future__ import annotations

import numpy as np
import pytest

import txc

from .control import every_stage, same


def doubled_and_left(y):
    """The array is doubled once; from then on the name is another one's."""
    y = y + 0
    s = 0.0
    for item in y:
        s += item
        y *= 2
        y = y + 1
    return s, y


def doubled_by_views(y):
    y = y + 0
    s = 0.0
    for item in y:
        s += item
        y *= 2
        y = y[::1]
    return s, y


def shortened(y):
    y = y + 0
    s = 0.0
    for item in y:
        s += item
        y *= 2
        y = y[1:]
    return s, y


def stopped(y):
    y = y + 0
    s = 0.0
    for item in y:
        s += item
        y *= 2
        y = y[:]
        if s > 100:
            break
    return s, y


def numbered(y):
    y = y + 0
    s = 0.0
    for i, item in enumerate(y[1:]):
        s += i * item
        y *= 2
        y = y.T
    return s


def paired(y):
    y = y + 0
    s = 0.0
    for a, b in zip(y, reversed(y)):
        s += a * b
        y *= 2
        y = y + 1
    return s


def by_a_function(y):
    y = y + 0

    def double():
        nonlocal y
        y *= 2
        y = y[:]

    s = 0.0
    for item in y:
        s += item
        double()
    return s


def out_of_a_list(y):
    s, box = 0.0, [y + 0]
    for item in box[0]:
        s += item
        box[0] *= 2
        box[0] = box[0][:]
    return s


def in_one_another(y):
    y = y + 0
    s = 0.0
    for item in y:
        for other in y[::-1]:
            s += item * other
            y *= 1.5
            y = y + 1
    return s, y


def rows(y):
    y = y.reshape(2, -1) * 1
    s = np.zeros(3)
    for row in y:
        s += row
        y *= 2
        y = y - 1
    return s, y


@pytest.mark.parametrize(
    "f",
    [doubled_and_left, doubled_by_views, shortened, stopped, numbered, paired, by_a_function, out_of_a_list,
     in_one_another, rows],
)  # fmt: skip
def test_the_array_of_the_beginning_is_gone_through(f):
    same(f, (np.arange(6.0),), (np.ones(6),))


def test_every_stage_sees_the_stores():
    every_stage(txc.jit(doubled_by_views), np.arange(6.0))


def test_a_loop_of_the_language_goes_through_its_array():
    text = """
def f(x: f64[n]):
    y = x + 0
    s = 0.0
    for item in y:
        s = s + item
        y *= 2
        y = y + 1
    return s
"""
    assert txc.compile_source(text, "loop.tx").f(np.arange(6.0)) == doubled_and_left(np.arange(6.0))[0] == 30


def test_a_store_into_what_is_perhaps_read_only_is_refused():
    """Python raises an error for one of the two only."""

    def f(m):
        a = m[0]
        if m[1, 1] > 4:
            a = m.diagonal()
        a += 1
        return m

    with pytest.raises(txc.TxcError, match=r"of which one is read-only[\s\S]*copy\(\) it first"):
        txc.jit(f)(np.arange(9.0).reshape(3, 3))
