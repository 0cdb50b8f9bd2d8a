"""Dicts of which compiled code decides the keys: what is read of them, their order, and what is returned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

CALLS = [[1.0, 3, 2, 5, 6, 0, 7], [1.0, 0], [0.0, 1, 1], [9.0, 3, 4, 2], []]


def given_in_a_branch(x, c):
    d = {"v": 0.0, "x": x}
    if c > 1:
        d["k"] = c
    return d


def asked_for(x, c):
    d = {"v": 0.0}
    if c > 1:
        d["k"] = c
    if "k" in d:
        c = c + 5
    return d.get("k", np.float64(7.0)), len(d), c, "k" not in d, "k" in d, d.get("none")


def read(x, c):
    d = {"v": 0.0}
    if c > 1:
        d["k"] = c
    x += 1
    return d["k"], d


def given_in_each_iteration(x, c):
    d = {"v": 0.0}
    for i in range(len(x)):
        d["k"] = x[i]
        d["l"] = 2 * x[i]
    return d


def given_in_some_iterations(x, c):
    d = {"v": 0.0}
    for i in range(len(x)):
        if x[i] > 2:
            d["k"] = x[i]
    return d


def two_in_one_branch(x, c):
    d = {"v": 0.0}
    if c > 1:
        d["a"] = c
        d["b"] = 1
    elif c > 0:
        d["b"] = 2
    return d, bool(d)


def its_truth(x, c):
    d = {}
    if c > 0:
        d["a"] = x * 2
    if d:
        x += 5
    if c > 1:
        d["a"][:1] = 9
    return d, not d


def taken_away(x, c):
    d = {"v": 1.0, "w": 2.0}
    if c > 1:
        del d["v"]
    if c > 0:
        d["w"] = 3.0
    return d


def in_a_loop_that_is_left(x, c):
    d = dict(v=1.0)
    i = 0
    while i < len(x) and x[i] < 6:
        d["n"] = i
        d["m"] = x[i]
        i += 1
    return d, d.get("n")


def of_two_names(x, c):
    d = {"v": 1.0}
    e = d
    if c > 1:
        e["k"] = 2.0
    return d, d is e, e.pop("k", None), d


def of_a_comprehension(x, c):
    d = {q: c + q for q in range(2)}
    if c > 1:
        d[2] = c
    for i in range(3):
        if i in d:
            x[i:] += d[i]
    return d


def with_others_behind_it(x, c):
    d = {"v": 1.0}
    if c > 1:
        d["k"] = 2.0
    d["z"] = 3.0
    d["v"] += c
    return d


def set_where_it_is_not(x, c):
    d = {"v": 1.0}
    if c > 1:
        d["k"] = 2.0
    d.setdefault("k", 9.0)
    d.update(v=3.0)
    return d, d.copy()


def given_and_taken(x, c):
    d = {"v": 1.0}
    for i in range(len(x)):
        if x[i] > 3:
            d["k"] = d.get("k", 0.0) + float(x[i])
        else:
            d.pop("k", None)
    return d


def rebound(x, c):
    d = {"v": 1.0}
    for i in range(len(x)):
        if x[i] > 3:
            d = {"v": 2.0, "k": x[i]}
        elif x[i] > 2:
            d = {"v": 3.0}
    return d


FUNCTIONS = [
    given_in_a_branch, asked_for, read, given_in_each_iteration, given_in_some_iterations, two_in_one_branch, its_truth,
    taken_away, in_a_loop_that_is_left, of_two_names, of_a_comprehension, with_others_behind_it, set_where_it_is_not,
    given_and_taken, rebound,
]  # fmt: skip


def outcome(f: Callable[..., Any], values: list[float], c: float) -> tuple[Any, ...]:
    x = np.array(values)
    try:
        return repr(f(x, np.float64(c))), x.tolist()
    except Exception as error:
        return type(error), str(error), x.tolist()


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_python(f: Callable[..., Any]) -> None:
    """Which keys there are and their order, the KeyError of one that is not there, and what is stored before it."""
    compiled = txc.jit(f)
    for values in CALLS:
        for c in (0.0, 1.0, 2.0):
            assert outcome(compiled, values, c) == outcome(f, values, c), (values, c)


def test_a_dict_is_one() -> None:
    def f(x):
        d = {"v": x.sum()}
        if x[0] > 1:
            d["k"] = 1.0
        return isinstance(d, dict), type(d) is dict, d

    kinds = txc.jit(f)(np.ones(3))
    assert kinds[:2] == (True, True)
    assert type(kinds[2]) is dict


def in_either_order(x, c):
    d = {}
    if c > 1:
        d["a"] = 1
        d["b"] = 2
    else:
        d["b"] = 2
        d["a"] = 1
    return d


def in_the_order_of_data(x, c):
    d = {}
    for i in range(len(x)):
        if x[i] > 2:
            d["k"] = 1
        else:
            d["l"] = 1
    return d


def behind_one_that_may_be_new(x, c):
    d = {}
    if c > 1:
        d["k"] = 1
    d["l"] = 1
    d["k"] = 2
    return d


def gone_through(x, c):
    d = {"v": 1}
    if c > 1:
        d["k"] = 1
    return [key for key in d]


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (in_either_order, "the dict d holds its values in one order in one branch"),
        (in_the_order_of_data, "the dict d gets keys in a loop of compiled code, in an order that is not known"),
        (behind_one_that_may_be_new, "where 'k' is in a dict depends on whether it was there"),
        (gone_through, "which keys a dict has is known only when the compiled function runs"),
    ],
)
def test_what_is_refused(f: Callable[..., Any], text: str) -> None:
    with pytest.raises(TxcError, match=text) as raised:
        txc.jit(f)(np.array(CALLS[0]), np.float64(1.0))
    assert raised.value.code == "TX0315"


def test_keys_that_a_loop_over_a_size_counts():
    def keyed(x, k):
        sums, named, table = {0: 0.0, 1: 0.0}, {}, {}
        for i in range(k):
            sums[i % 2] += float(i)
        for i, v in enumerate(x):
            named[f"x{i}"] = v * 2
            table[i] = {}
            for j in range(i):
                table[i][j] = v - x[j]
        return sums, named, table

    compiled = txc.jit(keyed)
    for x, k in ((np.arange(4.0), 3), (np.arange(2.0), 5)):
        assert repr(compiled(x, k)) == repr(keyed(x, k))
