"""Dicts of any keys as arguments: each item is itself, whatever letters its key has, and messages have the key."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc

X = np.arange(3.0)
WORDS = ["", "?", "a b", "a-b", "layer.0/weight", "x*y", "a\nb", "é", "$r", "1", "__key_61"]
KEYS: list[Any] = [*WORDS, ("t", 1), -1, 1.5, None]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_a_key(key: Any) -> None:
    def f(given):
        return given[key] * 2 + given["other"].shape[0]

    jitted = txc.jit(f)
    for _ in range(2):
        given = {key: X, "other": X[1:]}
        np.testing.assert_array_equal(jitted(given), f(given))


def dotted(d):
    return d["a.b"] - 2 * d["a"]["b"]


def digits(d):
    return d["1"] - 2 * d[1]


def positions(d):
    return d["0.1"] - 2 * d[0][1]


def names_of_constants(d):
    return d[True] - 2 * d["True"] + 3 * d[None] - 4 * d["None"]


@pytest.mark.parametrize(
    ("f", "given"),
    [
        (dotted, {"a.b": X, "a": {"b": X + 10}}),
        (digits, {"1": X, 1: X + 10}),
        (positions, {"0.1": X, 0: [X, X + 10]}),
        (names_of_constants, {True: X, "True": X + 10, None: X + 20, "None": X + 30}),
    ],
)
def test_keys_that_are_spelled_alike(f: Any, given: dict[Any, Any]) -> None:
    np.testing.assert_array_equal(txc.jit(f)(given), f(given))


class Alike:
    """Keys of this class are others, and look alike."""

    def __repr__(self) -> str:
        return "key"


def test_keys_that_look_alike() -> None:
    one, other = Alike(), Alike()

    def f(d):
        first, second = d.values()
        return first - 2 * second

    given = {one: X, other: X + 10}
    np.testing.assert_array_equal(txc.jit(f)(given), f(given))


def test_messages_have_the_key() -> None:
    with pytest.raises(ValueError, match=r"sizes d\['a b'\]\.shape\[0\] = 3 and d\.c\.shape\[0\] = 2"):
        txc.jit(lambda d: d["a b"] + d["c"])({"a b": X, "c": X[:2]})
