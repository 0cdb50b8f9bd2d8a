"""``match``, of what is known while a function is staged and of what only compiled code knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import txc

from .programs.interpreted import interpreted
from .test_items_of_several_types import kept

# pyright: reportPossiblyUnboundVariable=false


@dataclass
class Point:
    x: Any
    y: Any = 2


FUNCTIONS: list[Callable[..., Any]] = []


def case(f: Callable[..., Any]) -> Callable[..., Any]:
    FUNCTIONS.append(f)
    return f


@case
def ints(x, n):
    match n:
        case 1:
            y = x
        case 2 | 3 if len(x) > 3:
            y = x * 2
        case k:
            y = -x * k
    match len(x) + n:
        case 6:
            return y, "six"
        case int(s):
            return y, s


@case
def kinds(x, n):
    match (n, x):
        case (float(), _):
            return 0
        case (int(k), np.ndarray() as y):
            return y * k


@case
def numbers_at_run_time(x, n):
    s = 0.0
    for v in x:
        match v:
            case 1.0:
                s += 10
            case 2.0 | 3.0 as w:
                s += w
            case w if w > n:
                s = -s
            case _:
                break
    return s


@case
def counters(x, n):
    for i in range(len(x)):
        match i % 3:
            case 0:
                x[i] = 9
            case 1 if x[i] > 2:
                continue
            case _:
                x[i] += 1
    return x


@case
def sequences(x, n):
    match [1, x[0], n, n]:
        case [2, *_]:
            return 2
        case [1, v, *rest, last] if n < 5:
            return v, rest, last
        case [_, _]:
            return 3
        case (_, _, *more):
            return more


@case
def mappings(x, n):
    match {"a": x, "n": n}:
        case {"b": _}:
            return 1
        case {"a": y, "n": 2}:
            return y
        case {"a": y, **rest}:
            return y[0], rest


@case
def classes(x, n):
    match Point(x[0]):
        case Point(1.0, y):
            return y
        case Point(x=v, y=int(w)) if v > n:
            return v, w
        case Point():
            return "else"


@case
def returns_or_goes_on(x, n):
    match x.shape:
        case (m,) if x[0] > 2:
            if x[1] > 100:
                return m
        case (m, _):
            return m
    match x:
        case None:
            return 1
        case [_]:
            return 2
    match "ab":
        case "ab" | "cd":
            n += 1
    return n


@case
def in_a_local_function(x, n):
    def name(k):
        match k:
            case 0:
                return "zero"
            case 1 | 2:
                return "few"
        return "many"

    return [name(k) for k in range(4)], name(n)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_python(f: Callable[..., Any]):
    jitted = txc.jit(f)
    for first in (1.0, 3.0, 7.0):
        for n in (2, 1, 5):
            x, y = np.arange(4.0) + first, np.arange(4.0) + first
            with interpreted():
                assert kept(jitted(x, n)) == kept(f(y, n)), (first, n)
            np.testing.assert_array_equal(x, y)


def test_patterns_that_python_refuses():
    def f(x):
        match x.shape[0]:
            case int(_, _):  # type: ignore[misc]
                return 1

    with pytest.raises(TypeError, match="accepts 1 positional sub-pattern"):
        txc.jit(f)(np.ones(2))
