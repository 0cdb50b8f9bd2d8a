"""Variables that a branch or loop may leave unbound: each has Python's value, or reading it raises Python's error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc

# pyright: reportPossiblyUnboundVariable=false, reportUnboundVariable=false

FUNCTIONS: list[Callable[..., Any]] = []


def case(f: Callable[..., Any]) -> Callable[..., Any]:
    FUNCTIONS.append(f)
    return f


@case
def a_number_of_one_branch(x):
    if x[0] > 0:
        q = 1
    return q


@case
def an_array_read_under_the_same_condition(x):
    if x[0] > 0:
        q = x * 2
    s = x.sum()
    if x[0] > 0:
        s = s + q.sum()
    return s


@case
def bound_by_either_of_two(x):
    if x[0] > 0:
        q = x[1]
    if x[1] > 0:
        q = x[2]
    x[0] = 7
    return q, x


@case
def read_and_then_bound(x):
    if x[0] > 2:
        return q  # noqa: F821
    q = 1
    return q


@case
def of_two_kinds(x):
    if x[0] > 0:
        q = [1, x[0]]
    elif x[1] > 0:
        q = None
    x += 1
    return q


@case
def changed_in_place(x):
    if x[0] > 0:
        q = 1.5
    x[1] = 3
    q += x[1]
    return q


@case
def deleted(x):
    q = x.sum()
    if x[0] > 0:
        del q
    x[1] = 3
    return q


@case
def read_by_a_local_function(x):
    def read():
        return q * 2

    if x[0] > 0:
        q = x[1]
    return read()


@case
def bound_by_a_local_function(x):
    def bind():
        nonlocal q
        q = x[1]

    if x[0] > 0:
        bind()
    elif x[1] < 0:
        q = 7.0
    return q


@case
def read_by_a_comprehension(x):
    if x[0] > 0:
        q = x[1]
    return [q * v for v in x]


@case
def the_value_of_a_while(x):
    i = 0
    while x[i] > 0:
        v = x[i]
        i += 1
    return v


@case
def the_array_of_a_while(x):
    n = 0
    while x[n] > 0:
        y = x * n
        n += 1
    return y


@case
def inner_counters(x):
    for i in range(len(x)):
        for j in range(i):
            s = x[j]
        if i > 1:
            x[i] = j
        x[i] += s if i > 0 else 7.0
    return x


@case
def a_counter_of_no_iteration(x):
    for i in range(int(x[0] > 5)):
        x[i] = 1
    x[1] = 2
    return i


@case
def the_last_that_fits(x):
    for i in range(len(x)):
        if x[i] > 2:
            q = i
    return q


@case
def the_first_that_fits(x):
    for i in range(len(x)):
        if x[i] > 2:
            found = x[i]
            break
    return found


@case
def the_one_before(x):
    for i in range(len(x)):
        if i > 0:
            x[i] += prev  # noqa: F821
        prev = x[i]
    return x, prev


@case
def bound_again_behind_its_use(x):
    for i in range(len(x)):
        if x[i] > 2:
            q = 1.5
        x[i] = q
        q = 2.5
    return x, q


@case
def of_a_longer_loop(x):
    for i in range(20):
        if x[i % 3] > 2.5:
            q = x[i % 3] + i
    x[0] = -1
    return q


@case
def a_value_that_a_left_loop_may_not_reach(x):
    for v in x:
        if v > 2:
            for w in x:
                x[1] += w
            return v
        x[0] = w
    return x


CALLS = ([3.0, 1, 4, 0], [-1.0, 2, 1, 0], [1.0, 1, 0], [-1.0, -2, 0], [1.0, 2, 3.5, 0])


def outcome(f: Callable[..., Any], x: np.ndarray) -> Any:
    try:
        result = repr(f(x))
    except Exception as error:
        result = repr(error)
    return result, repr(x)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_python(f: Callable[..., Any]):
    jitted = txc.jit(f)
    for values in CALLS:
        assert outcome(jitted, np.array(values)) == outcome(f, np.array(values)), values
