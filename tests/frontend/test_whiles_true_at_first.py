"""`while` statements whose condition is known at first and differs between calls later: ``error = 1``, ``while True``.

Their first iteration is one of the loop's, where variables that the body sets first held something else before it.
And conditions that change what the body reads: each is asked as often as Python asks it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

X = np.array([0.25, 3.0, 0.5, 2.0])


def converges(x):
    error, rounds = 1, 0
    while error > 1e-3:
        before = x.copy()
        x[1:] = 0.5 * np.tanh(x[:-1])
        error = np.abs(x - before).sum() / np.abs(x).sum()
        rounds += 1
    return rounds, error, x


def breaks(x):
    rounds = 0
    while True:
        x = np.tanh(x) * 0.5
        rounds += 1
        if x.sum() < 0.5:
            break
    return rounds, x


def nothing_at_first(x):
    error = None
    while error is None or error > 1e-3:
        y = np.tanh(x) * 0.5 + 1
        error = np.abs(y - x).max()
        x = y
    return error, x


def two_deep(x):
    outer, rounds = 1, 0
    while outer > 0.1:
        inner = 1
        while inner > 0.1:
            x = np.tanh(x) * 0.7
            inner = x.max()
            rounds += 1
        outer = x.min() + inner
    return outer, rounds, x


def kept_of_an_iteration(x):
    error, best = 1, None
    while error > 0.1:
        x = np.tanh(x) * 0.5
        error = x.max()
        if error < 0.3:
            best = error
    return best, error


def read_by_a_function(x):
    error = 1
    limit = lambda: error > 0.1  # noqa: E731
    while limit():
        x = np.tanh(x) * 0.5
        error = x.max()
    return error, x


def collects(x):
    errors, error = [], 1
    while error > 0.1:
        x = np.tanh(x) * 0.5
        error = x.max()
        errors.append(error)
    return errors, len(errors)


def once_only(x):
    error = 1
    while error > 100:
        x = np.tanh(x)
        error = x.max()
    return error, x


def ends_after_one(x):
    again = True
    while again:
        x = np.tanh(x)
        again = x.sum() > 100
    return bool(again), x


ONE_BODY = [converges, breaks, nothing_at_first, two_deep, kept_of_an_iteration, read_by_a_function, ends_after_one]


def before_is_read(x):
    before, error = 0, 1
    while error > 0.1:
        before = error
        x = np.tanh(x) * 0.5
        error = x.max() + 0.01 * before
    return before, error


def int_becomes_float(x):
    total, error = 0, 1
    while error > 0.1:
        x = np.tanh(x) * 0.5
        total += x.sum()
        error = x.max()
    return total, error


def other_size_at_first(x):
    y, error = np.zeros(7), 1
    while error > 0.1:
        x = np.tanh(x) * 0.5
        y = x[1:] + y[: len(x) - 1].sum()
        error = x.max()
    return y, error


def condition_with_an_effect(x):
    asked = []
    error = 1
    while asked.append(1) or error > 0.1:
        x = np.tanh(x) * 0.5
        error = x.max() if len(asked) < 3 else 0.0
    return len(asked), x


def names_in_its_condition(x):
    error = 1
    while (e := error) > 0.1:
        x = np.tanh(x) * 0.5
        error = x.max()
    return e, error


OTHERS: list[Callable[..., Any]] = [
    before_is_read, int_becomes_float, other_size_at_first, condition_with_an_effect, names_in_its_condition,
    collects, once_only,
]  # fmt: skip


def asks_a_list(x):
    asked = []
    while asked.append(1) or x.max() > 0.1:
        x = np.tanh(x) * 0.5 if len(asked) < 3 else x * 0
    return len(asked), x


def takes_from_a_list(x):
    limits = [4.0, 1.0, 0.5, 0.1, 0.0]
    while limits and x.max() > limits.pop():
        x = np.tanh(x) * 0.5
    return len(limits), x


def stores(x):
    def halve():
        x[:] = np.tanh(x) * 0.5
        return x.max()

    rounds = 0
    while halve() > 0.1:
        rounds += 1
    return rounds, x


def binds_outside(x):
    rounds = 0

    def halve():
        nonlocal x, rounds
        x = np.tanh(x) * 0.5
        rounds += 1
        return x.max()

    while halve() > 0.1:
        pass
    return rounds, x


def in_an_object(x):
    at = {"x": x, "rounds": 0}

    def halve():
        at["x"] = np.tanh(at["x"]) * 0.5
        at["rounds"] += 1
        return at["x"].max() > 0.1

    y = x * 0
    while halve():
        y = y + at["x"]
    return at["rounds"], y


def many_known_rounds(x):
    asked = []
    while asked.append(1) or len(asked) < 30:
        x = np.tanh(x) + len(asked)
    return len(asked), x


def binds_in_its_condition(x):
    y = x * 0
    while (m := x.max()) > 0.1:
        x = np.tanh(x) * 0.5
        y = y + m
    return m, y


CHANGING = [asks_a_list, takes_from_a_list, stores, binds_outside, in_an_object,
            many_known_rounds, binds_in_its_condition]  # fmt: skip


@pytest.mark.parametrize("f", [*ONE_BODY, *OTHERS, *CHANGING], ids=lambda f: f.__name__)
def test_as_python(f: Callable[..., Any]):
    jitted = txc.jit(f)
    for scale in (1.0, 100.0, 0.01):
        want, found = f(X * scale), jitted(X * scale)
        assert [type(v) for v in found] == [type(v) for v in want], f"{found} and not {want}"
        for a, b in zip(found, want):
            np.testing.assert_allclose(a if a is not None else -1.0, b if b is not None else -1.0, rtol=1e-12)


@pytest.mark.parametrize("f", ONE_BODY, ids=lambda f: f.__name__)
def test_its_body_is_compiled_once(f: Callable[..., Any]):
    graph = str(txc.jit(f).graph(X))
    assert graph.count("= tanh") == 1, graph


def test_an_error_of_the_first_iteration_is_pythons():
    def f(x):
        error, k = 1, 3
        while error > 0.1:
            k += 1
            error = x[k] * 0.5
        return error

    with pytest.raises(IndexError, match="index 4 is out of bounds for dim 0"):
        txc.jit(f)(X)


def takes_from_an_iterator(x):
    limits = iter([0.0, 0.1, 0.2, 0.3, 1.0, 9.0, 9.0, 9.0])
    while x.max() > next(limits):
        x = np.tanh(x) * 2
    return next(limits), x


def stores_then_leaves_a_list(x):
    i, steps = 0, [1, 2]
    while True:
        x[i] = 9.0
        i += steps[i]


def stores_then_raises(x):
    x[0], error = 5.0, 1
    while error > 0.5:
        x[1] = 6.0
        raise KeyError("k")


def stores_until_a_list_is_empty(x):
    limits = [1, 2]
    while limits.pop() > 0:
        x[1] += 1


@pytest.mark.parametrize("f", [stores_then_leaves_a_list, stores_then_raises, stores_until_a_list_is_empty])
def test_stores_before_an_error_stay(f: Callable[..., Any]):
    want, found = X.copy(), X.copy()
    with pytest.raises(LookupError) as of_python:
        f(want)
    with pytest.raises(type(of_python.value)):
        txc.jit(f)(found)
    np.testing.assert_array_equal(found, want)


def test_an_iterator_in_a_condition_is_refused():
    with pytest.raises(TxcError, match="an iterator changes in a loop of compiled code"):
        txc.jit(takes_from_an_iterator)(X)


def test_of_a_tx_function():
    body = "x = tanh(x) * 0.5\n        e = x.max()"
    text = f"def f(x: f64[n]) -> f64[n]:\n    e = 1.0\n    while e > 0.1:\n        {body}\n    return x\n"
    graph = str(next(iter(txc.compile_source(text).functions.values())).graph)
    assert graph.count("= tanh") == 1, graph
