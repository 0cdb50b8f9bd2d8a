"""Iterators over arrays that loops and branches of compiled code move: each item is taken once, as Python takes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

from .control import same
from .programs.interpreted import interpreted

X = np.arange(6.0)


def one_each_iteration(x, n):
    it, s = iter(x), 0.0
    for i in range(n):
        s += next(it, 100.0) * 2 + i
        x[(2 * i + 1) % 6] = 7.0 + i  # seen by who takes that item later
    return s, next(it, -1.0), next(it, -2.0), x


def one_where_values_say_so(x, n):
    it, s = enumerate(x, 3), 0.0
    for i in range(len(x)):
        if x[i] > n:
            k, v = next(it)
            s += k * v
    return s, list(it), next(it, None) is None


def all_by_the_first_iteration(x, n):
    it, s = iter(x), 0.0
    for i in range(n):
        for v in it:
            s += v * (i + 1)
    return s, next(it, -1.0)


def left_early(x, n):
    it, s = iter(x), 0.0
    for j in range(3):
        for v in it:
            s += v * (j + 1)
            if v > n + j:
                break
        x[4] += 1
    return s, sum(it), next(it, 7.0)


def left_by_a_branch(x, n):
    it, s = iter(x), 0.0
    if x[0] > n:
        s += next(it) + next(it)
    else:
        next(it)
    for a, b in zip(it, x):
        s = s * 2 + a * b
    return s


def by_two_names(x, n):
    it, s = iter(x), 0.0
    other = it
    for _ in range(n):
        s = (s + next(it, 0.5)) * 2
        s += next(other, 1.0)
    return s, it is other, next(it, 9.0)


def in_a_list_and_an_object(x, n):
    class Reader:
        def __init__(self, items):
            self.items = items

    it, s = iter(x), 0.0
    reader, held = Reader(it), [it]
    for _ in range(n):
        s = s * 2 + next(reader.items, 0.5)
        s = s * 2 + next(held[0], 1.5)
    return s, next(it, 9.0), reader.items is held[0]


def one_of_two(x, n):
    it, s = iter(x), 0.0
    if x[1] > 3:
        it = iter(x[::-1])
    for _ in range(n):
        s = s * 2 + next(it, 0.5)
    return s


def of_what_a_name_was(x, n):
    it, s = iter(x), 0.0
    for _ in range(n):
        s += next(it, 1.0)
        x = x + 1
    return s, next(it, 3.0), x


def in_a_while(x, n):
    it, s, k = iter(x), 0.0, 0
    while s < n:
        s += next(it, 3.0)
        k += 1
    return s, k, next(it, 8.0)


def until_none(x, n):
    it, s = iter(x), 0.0
    for _ in range(n):
        v = next(it, None)
        s += 5.0 if v is None else v
    return s, [v for v in it]


@pytest.mark.parametrize(
    "f",
    [
        one_each_iteration, one_where_values_say_so, all_by_the_first_iteration, left_early, left_by_a_branch,
        by_two_names, in_a_list_and_an_object, one_of_two, of_what_a_name_was, in_a_while, until_none,
    ],
)  # fmt: skip
def test_a_moved_iterator_gives_each_item_once(f: Callable[..., Any]):
    with interpreted():
        same(f, (X, 2), (X + 3, 3), (X, 0), (X, 7))


def rows_of_a_matrix(m, n):
    it = iter(m)
    for _ in range(n):
        row = next(it, m[0])
        row[0] += 10
    return m, next(it, None) is None


def test_rows_that_an_iterator_gives_are_stored_into():
    same(rows_of_a_matrix, (X.reshape(3, 2), 2), (X.reshape(3, 2), 5), (X.reshape(3, 2), 0))


def test_an_iterator_without_items_raises_stop_iteration():
    def f(x, n):
        it, s = iter(x), 0.0
        for _ in range(n):
            s += next(it)
        return s

    g = same(f, (X, 2), (X, 6))
    with pytest.raises(StopIteration):
        g(X.copy(), 7)


def flat_gone_through_twice(m, n):
    f, s = m.flat, 0.0
    for q in f:
        s += q
    for q in f:
        s += q * 100
    return s, next(f, -1.0), len(f)


def flat_left_early(m, n):
    f, s = m.flat, 0.0
    for q in f:
        if q > n:
            break
        s += q
    return s, next(f, -1.0), sum(f), list(f)


def flat_begins_again_where_it_is_indexed(m, n):
    f = g = m.flat
    a = next(f) + next(g) * 10
    b = f[3]
    c = next(g)
    f[2] = 9.0
    rest = [q for q in f]
    return a, b, c, rest, next(f, -1.0), f is g, iter(f) is f, m


def flat_moved_by_values(m, n):
    f, s = m.flat, 0.0
    if m[0, 1] > n:
        next(f)
    for _ in range(n):
        s = s * 2 + next(f, 0.5)
    for q in f:
        s += q
    return s, next(f, 7.0)


def flat_anew(m, n):
    s = 0.0
    for i, q in enumerate(m.flat):
        s += q * i
        m[1, 1] += 1
        for r in m.flat:
            if r > n:
                break
            s += r * q
    return s, [a * b for a, b in zip(m.flat, m.T.flat)]


@pytest.mark.parametrize(
    "f",
    [
        flat_gone_through_twice, flat_left_early, flat_begins_again_where_it_is_indexed, flat_moved_by_values,
        flat_anew,
    ],
)  # fmt: skip
def test_flat_is_an_iterator(f: Callable[..., Any]):
    m = X.reshape(2, 3)
    with interpreted():
        same(f, (m, 2), (m + 3, 3))
        same(f, (m.T, 2))


def test_flat_of_a_lazy_tensor_is_an_iterator():
    f, g = X.flat, txc.asarray(X).flat
    for flat in (f, g):
        next(flat)
    assert [float(q) for q in g] == [float(q) for q in f]
    assert [*f] == [*g] == []
    assert (float(f[4]), float(next(f))) == (float(g[4]), float(next(g)))


def test_flat_does_not_begin_again_in_its_own_loop():
    def f(m):
        flat, s = m.flat, 0.0
        for q in flat:
            s += q + flat[0]  # NumPy's loop begins again, without end
        return s

    with pytest.raises(TxcError, match="an element of flat is asked for in a loop that goes through it"):
        txc.jit(f)(X.reshape(2, 3))


def asked_by_its_loop(x):
    it, s = iter(x), 0.0
    for v in it:
        s += v * next(it, 1.0)
    return s


def of_a_list_of_texts(x):
    it = iter(("a", "b"))
    if x[0] > 1:
        next(it)
    return next(it)


@pytest.mark.parametrize("f", [asked_by_its_loop, of_a_list_of_texts])
def test_what_is_not_known_of_a_moved_iterator(f: Callable[..., Any]):
    with pytest.raises(TxcError, match="how far a loop or branch of compiled code has gone through an iterator"):
        txc.jit(f)(X)
