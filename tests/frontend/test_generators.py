"""Generator functions: who goes through one runs its body where it yields, in loops of compiled code too."""

# What a loop binds is read behind it, as Python's own variables are.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

from .control import same


def count_up(n, start=0):
    while start < n:
        yield start
        start += 1


def above(x, limit):
    for v in x:
        if v < 0:
            continue
        if v > 100:
            return
        if v > limit:
            yield v * 2


def followed(x):
    yield 0.5
    yield from above(x, 1)
    yield from (1.0, 2.0)


class Tree:
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right

    def walk(self):
        if self.left is not None:
            yield from self.left.walk()
        yield self.value
        if self.right is not None:
            yield from self.right.walk()


def gone_through(x):
    s, item = 1.0, -1.0
    for v in above(x, 2):
        doubled = v + 1
        s = s * 0.5 + doubled
    for item in count_up(len(x)):
        x[item] += item
    return s, item


def by_who_takes_all(x):
    return np.array(list(followed(x))), sum(v * v for v in above(x, 1)), max(followed(x)), sorted(above(x, 1))


def by_python(x):
    keyed = {k: x[k] for k in count_up(2)}
    same_keys = dict((k, x[k]) for k in count_up(2))
    tree = Tree(x[0], Tree(x[1]), Tree(x[2]))
    assert list(keyed) == list(same_keys) == [0, 1] and set(count_up(3)) == {0, 1, 2}
    return tuple(count_up(3)), keyed[1], list(tree.walk()), any(v > 1 for v in count_up(3)), all(count_up(3))


def left_early(x):
    def fibonacci():
        a, b = 0, 1
        while True:
            yield a
            a, b = b, a + b

    s = 0
    for f in fibonacci():
        if f > 50:
            break
        s += f
    for i, v in enumerate(above(x, 1), 1):
        if v > 6:
            return i, v, s, f
    return -1, 0.0, s, f


def left_by_values(x):
    def halves(a):
        while True:
            a = 0.5 * (a + x[1] / a)
            yield a

    before, steps = 0.0, 0
    for root in halves(x[1]):
        if abs(root - before) < 1e-12:
            break
        before = root
        steps += 1
    else:
        steps = 100
    return root, steps


def pairs_of_windows(x):
    def windows(n):
        for i in range(len(x) - n + 1):
            for j in range(i + 1, len(x)):
                yield x[i : i + n], j

    s, out = 0.0, np.zeros(len(x))
    for w, j in windows(3):
        s += w.sum()
        out[j] += w[0]
    return s, out, w, j


def sees_what_is_stored(x):
    s = 0.0

    def shifted():
        for i in range(len(x)):
            yield x[i] + s

    for i, v in enumerate(shifted()):
        s += v
        if i + 1 < len(x):
            x[i + 1] -= 1
    t = 1.0

    def its_own(t):
        for v in x:
            t = t * 0.5 + v
            yield t

    for w in its_own(t):
        s += w
    return s, t, w


def once(x):
    it = above(x, 0)
    doubled = (v * 2 for v in count_up(3))
    return sum(it), list(it), tuple(doubled), [*map(float, list(count_up(2)))]


def in_branches(x, flag):
    def first():
        if flag:
            yield x[0]
        else:
            yield from x[:2]

    if x[0] > 3:
        r = 0.0
        for v in first():
            r += v
    else:
        r = sum(first()) * 2
    return r


@pytest.mark.parametrize(
    "f",
    [
        gone_through, by_who_takes_all, by_python, left_early, left_by_values, pairs_of_windows, sees_what_is_stored,
        once,
    ],
)  # fmt: skip
def test_what_a_generator_yields(f: Callable[..., Any]):
    same(f, (np.arange(1.0, 5.0),), (np.array([3.0, 4.0, -1.0, 2.0, 9.0, 7.0, 1.0, 8.0, 6.0, 200.0, 5.0]),))


def test_a_generator_in_branches():
    same(in_branches, (np.arange(6.0), True), (np.arange(6.0) + 4, False))


def two_by_themselves(x):
    items = count_up(3)
    return next(items) + next(items) + x


def unpacked(x):
    a, b = count_up(2)
    return a + b + x


def gone_on_with(x):
    it = count_up(3)
    for v in it:
        if v == 1:
            break
    return list(it)


def sent(x):
    def echo():
        got = yield x
        yield got

    return list(echo())


def given_back(x):
    return (v for v in x)


@pytest.mark.parametrize(
    ("f", "text", "hint"),
    [
        (two_by_themselves, "how far a loop or branch of compiled code has gone", "a list of its items first"),
        (unpacked, "an item of a generator is taken by itself", "make a list of its items first: list"),
        (
            gone_on_with,
            "how far a loop or branch of compiled code has gone through an iterator is not known",
            "a new iterator",
        ),
        (sent, "what a `yield` gives the generator is not staged", "write the yield as a statement of its own"),
        (count_up, "an iterator is returned", "return a list of its items"),
        (given_back, "an iterator is returned", "return a list of its items"),
        (lambda x: enumerate(x), "an iterator is returned", "return a list of its items"),
    ],
)
def test_what_is_refused_of_a_generator(f: Callable[..., Any], text: str, hint: str):
    with pytest.raises(TxcError, match=text) as refused:
        txc.jit(f)(np.arange(3.0))
    assert hint in refused.value.hint
