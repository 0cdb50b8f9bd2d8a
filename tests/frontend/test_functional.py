"""`fori_loop`, `while_loop`, `cond` and `scan`: compiled, they do what they do on NumPy arrays outside of `jit`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

from .control import every_stage, same

X = np.arange(12.0).reshape(3, 4) - 3


def smooth(i, u):
    """A function of the module: staged when it is handed over."""
    for k in range(2):
        u = u * 0.5 + np.roll(u, 1) * 0.5 + i + k
    return u


def loops(x, n):
    y = txc.fori_loop(0, n, smooth, x)
    state = txc.fori_loop(1, n + 1, lambda i, s: {"a": s["a"] * i, "b": (s["b"][0] + s["a"],)}, {"a": 1.0, "b": (0.0,)})
    return y, state["a"], state["b"][0]


def whiles(x, n):
    def going(state):
        return state[1] < 100

    rounds, total = txc.while_loop(going, lambda s: (s[0] + 1, s[1] * 2 + n), (0, x.max()))
    return rounds, total


def branches(x, n):
    y = txc.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, x)
    (a, b) = txc.cond(x[0, 0] > n, lambda: (x[0], x.sum()), lambda: (x[1], x.min()))
    return y, a, b


def scans(x, n):
    def step(carry, row):
        carry = carry * 0.5 + row
        return carry, (carry.sum(), carry[::-1])

    last, (sums, rows) = txc.scan(step, x[0] * 0, x)
    total, running = txc.scan(lambda c, v: (c + v[0] * v[1], c), 0.0, (x[0], x[1]))
    return last, sums, rows, total, running


@pytest.mark.parametrize("f", [loops, whiles, branches, scans], ids=lambda f: f.__name__)
def test_as_python(f: Callable[..., Any]):
    jitted = same(f, (X, 3), (-X, 1), (X - 5, 0))
    assert len(jitted.signatures()) == 1
    every_stage(jitted, X, 3)


def test_compile_time_does_not_grow_with_the_number_of_iterations():
    graph = txc.jit(lambda x: txc.fori_loop(0, 100_000, smooth, x)).graph(X)
    assert sum(n.op is not None and n.op.name == "for" for n in graph.walk()) == 1


def stores_in_its_condition(x):
    def goes_on(total):
        x[0] += 1
        return total < 5

    return txc.while_loop(goes_on, lambda total: total + x[0, 0], 0.0)


ERRORS: list[tuple[Callable[..., Any], str]] = [
    (
        lambda x: txc.fori_loop(0, 9, lambda i, v: (v, v), x),
        "a function of fori_loop gives 2 values in another",
    ),
    (lambda x: txc.cond(x.sum() > 0, lambda: x, lambda: (x, x)), "a function of cond gives 2 values"),
    (
        lambda x: txc.while_loop(lambda v: v > 0, lambda v: v, x),
        "the condition of while is bool[x.shape[0], x.shape[1]], not",
    ),
    (stores_in_its_condition, "the condition of a loop stores into a tensor that is used outside it"),
    (lambda x: txc.scan(lambda c, v: (c, v), x, 1.0), "scan goes over the rows of tensors"),
]


@pytest.mark.parametrize(("f", "text"), ERRORS, ids=range(len(ERRORS)))
def test_errors(f: Callable[..., Any], text: str):
    with pytest.raises(TxcError) as caught:
        txc.jit(f)(X)
    assert text in str(caught.value)


class State(NamedTuple):
    value: Any
    steps: Any


def test_named_tuples_are_carried():
    x = np.arange(3.0)

    def function(x):
        return txc.fori_loop(0, 20, lambda i, s: State(s.value * 0.5 + i, s.steps + 1), State(x, 0))

    for found in (function(x), txc.jit(function)(x)):
        assert type(found) is State and int(found.steps) == 20
    np.testing.assert_allclose(txc.jit(function)(x).value, function(x).value)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: txc.fori_loop(0, len(x), lambda i, s: 0.5, x[0]), np.arange(3)),
        (lambda x: txc.fori_loop(0, len(x), lambda i, s: x[0], 0.5), np.arange(3)),
        (lambda x: txc.while_loop(lambda s: s < 1, lambda s: 1.5, x[0]), np.arange(3)),
    ],
)
def test_what_a_loop_carries_is_not_rounded_to_its_first_type(f: Callable[..., Any], x: np.ndarray):
    with pytest.raises(TxcError, match=r"before an iteration of the loop and .* after it"):
        txc.jit(f)(x)
