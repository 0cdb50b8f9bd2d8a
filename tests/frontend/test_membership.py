"""``in``, and ``==`` of tuples, of numbers that only the compiled function knows, and such numbers as keys."""

from __future__ import annotations

from collections import Counter, namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

X = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0])
FUNCTIONS: list[Callable[..., Any]] = []
TABLE = {3: 1, 5: 2}


def case(f: Callable[..., Any]) -> Callable[..., Any]:
    FUNCTIONS.append(f)
    return f


@case
def an_int_in_a_tuple(x, n):
    s = 0
    for i in range(n):
        k = int(x[i])
        if k in (1, 2, 4):
            s += k
    return s


@case
def an_element_not_in_a_list(x, n):
    s = 0
    for i in range(n):
        if x[i] not in [1, 5.0, "a", None]:
            s += i
    return s


@case
def in_a_set(x, n):
    return [int(x[i]) in {1, 5} for i in range(n)], x[0] in frozenset((1, 3)), True in {int(x[1])} if n > 9 else None


@case
def in_a_dict(x, n):
    d = {1: 2, 5: 3}
    s = 0
    for i in range(n):
        if int(x[i]) in d or int(x[i]) in TABLE:
            s += i
    return s, int(x[0]) in d.keys(), int(x[0]) in d.values()


@case
def the_counter_of_a_loop(x, n):
    s = 0.0
    for i in range(n):
        if i in (1, 3) or i in {4}:
            s += x[i]
    return s, len(x) in (3, 6), n in {2, 5}


@case
def among_elements(x, n):
    s = 0
    for i in range(n):
        if x[i] in (x.max(), x[0]):
            s += i
    return s, 5.0 in (x[4], 2), 7 in (x[4], 2)


@case
def of_one_type_or_another(x, n):
    s = 1
    if x[0] > n:
        s = 2.5
    return s in (1, 2), s in (2.5,), s in ("a",)


@case
def in_a_range(x, n):
    return int(x[0]) in range(2, 6), int(x[0]) in range(9, 0, -2), x[0] / 2 in range(9), int(x[4]) in range(0, 9, 3)


@case
def none_or_a_number(x, n):
    b = None
    for i in range(n):
        if x[i] > 3:
            b = i
    return b in (None, 2), b in (4, 7)


@case
def not_a_number(x, n):
    v = x[0] * np.nan
    return v in (1.0, v), v in (1.0, x[1] * np.nan), v in range(5)


Pair = namedtuple("Pair", "x y")


@case
def equal_tuples(x, n):
    a, t = (x[0], x[1]), x[3] * np.nan
    return [
        a == (3.0, 1.0), a != (3, 2), (x[0], n) == (3.0, 2), [x[0], x[1]] == [3, 1], [x[0]] == (x[0],), a == (3, 1, 4),
        (x[0], (x[1], n)) == (3, (1, 2)), (x[0], "a") == (3, "a"), (x[0], "a") == (3, "b"), (x[0], None) != (5, None),
        (t,) == (t,), (x[3] * np.nan,) == (x[3] * np.nan,), Pair(x[0], x[1]) == Pair(3, 1), Pair(x[0], 1) == (3, 1),
        a == (a[0], 1), a == (a[0], 2), ((a, 1), x[1]) == ((a, 1), 1), (n, n * 2.0) == (n, 4), (a, 0) == (a, 0),
        a == a, (n, 2) == (2, n), a == None,  # noqa: E711
         (x[0] > 0, True) == (True, True), 3 < x[2] != (4, 5),
    ]  # fmt: skip


@case
def a_tuple_in_a_list(x, n):
    a = (x[0], x[1])
    return [
        a in [(3, 1), (2, 3)], a not in ((0, 2), (5, 5)), [x[0], n] in [[3, 2]], a in [(n, n)], 3 in [a],
        (x[0], "k") in [(3.0, "k")], a in [1, (3, 1), "x"], (1, 2) in [a, (1, 2)], (1, 7) in [(x[1], 7)],
    ]  # fmt: skip


@case
def a_walk_to_a_place(x, n):
    i, j, steps = 0, n, 0
    while (i, j) != (int(x[0]), int(x[1])) and steps < 20:
        i, j, steps = i + (i < x[0]), j - (j > x[1]), steps + 1
        if (i, j) in ((1, 1), (2, 1)):
            steps += 10
    for a in range(n):
        for b in range(n):
            if (a, b) == (1, 2):
                steps += 100
    return i, j, steps


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_python(f: Callable[..., Any]):
    compiled = txc.jit(f)
    for n in (0, 1, 2, 3, 5):
        assert repr(compiled(X.copy(), n)) == repr(f(X.copy(), n))


def reads_a_float(x):
    return {3: 2, 1.5: 7}[x[0]]


def sets_a_key(x):
    d = {3: 1}
    d[int(x[0])] = 5
    return d[3]


def counts_a_set(x):
    return len({int(x[1]), int(x[3])})


def has_a_pair(x):
    return (int(x[0]), 1) in {(3, 1): 7}


def adds_to_a_set(x):
    s = set()
    s.add(int(x[1]))
    s.add(int(x[3]))
    return len(s)


def makes_a_set(x):
    return len(set([int(x[1]), int(x[3])]))


def counts_items(x):
    return Counter([int(x[1]), int(x[3])])[1]


def makes_keys(x):
    return dict.fromkeys([int(x[1]), int(x[3])], 2)


@pytest.mark.parametrize(
    "f",
    (
        reads_a_float, sets_a_key, counts_a_set, has_a_pair, adds_to_a_set,
        makes_a_set, counts_items, makes_keys,
    ),
)  # fmt: skip
def test_a_key_that_is_not_known_is_refused(f: Callable[..., Any]):
    with pytest.raises(TxcError, match="a key of a dict, or an item of a set, is known only when") as caught:
        txc.jit(f)(X)
    assert caught.value.code == "TX0311"


def test_an_array_is_no_key():
    def f(x):
        return {x: 1}

    for g in (f, txc.jit(f)):
        with pytest.raises(TypeError, match=r"unhashable type: 'numpy\.ndarray'"):
            g(X)
