"""`np.random.default_rng(seed)` in jitted functions: NumPy's own numbers, each drawn where Python draws it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

X = np.array([1.0, 5.0, 2.0, 7.0, 3.0])


def _weights(rng, n):
    return rng.normal(size=(n, 2))


def draws(x):
    rng = np.random.default_rng(42)
    noise = rng.random(len(x))
    noise[0] = 0.0  # which is no part of the next call
    single = rng.normal(1.0, 2.0), rng.random(), rng.integers(5), rng.choice(4), isinstance(rng, np.random.Generator)
    arrays = rng.integers(0, 10, size=(2, 3)), rng.permutation(6), rng.choice(5, 3), rng.random(3, dtype=np.float32)
    layers = [_weights(rng, n) for n in (5, 3)]
    s = 0.0
    for i in range(3):
        s += rng.normal() * x[i]
    fork = copy.deepcopy(rng)
    same = np.random.default_rng(rng) is rng
    return noise, noise + x, single, arrays, layers, s, fork.random() == rng.random(), same


def in_a_branch(x):
    rng = np.random.default_rng([1, 2])
    a = rng.random() if x[0] > 0 else 1.0
    return a * x


@pytest.mark.parametrize("f", [draws, in_a_branch])
def test_each_call_draws_what_numpys_does(f: Callable[..., Any]):
    jitted = txc.jit(f)
    for x in (X, -X, X):
        got = jitted(x)
        assert repr(got) == repr(f(x))
        if isinstance(got, tuple):
            got[0][:] = 0.0


RNG = np.random.default_rng(1)


def behind_a_branch(x):
    rng = np.random.default_rng(1)
    a = rng.random() if x[0] > 0 else 1.0
    return a, rng.random()


def in_a_loop(x):
    rng = np.random.default_rng(1)
    for i in range(len(x)):
        x[i] += rng.normal()
    return x


def while_values_say_so(x):
    rng, s = np.random.default_rng(1), 0.0
    while s < x[1]:
        s += rng.random()
    return s


REFUSED = [
    (behind_a_branch, "where only a call knows which is the next", "draw all before"),
    (in_a_loop, "where only a call knows which is the next", "draw all before"),
    (while_values_say_so, "where only a call knows which is the next", "draw all before"),
    (lambda x: np.random.default_rng().random(3) + x[:3], "a seed that is no number in the text", "default_rng(0)"),
    (lambda x: np.random.default_rng(len(x)).random(), "a seed that is no number in the text", "pass the array"),
    (lambda x: np.random.default_rng(0).normal(x), "by values that only a call knows", "standard_normal"),
    (lambda x: np.random.default_rng(0).shuffle(x), "shuffle of a generator", "permutation(n)"),
    (lambda x: RNG.normal(size=5) + x, "draws random numbers while the function is compiled", "pass them"),
]


@pytest.mark.parametrize(("f", "text", "hint"), REFUSED)
def test_what_only_a_call_knows_is_refused(f: Callable[..., Any], text: str, hint: str):
    with pytest.raises(TxcError) as refused:
        txc.jit(f)(X)
    said = str(refused.value)
    assert text in said and hint in said and "test_seeded_generators.py" in said
