"""An early `return` of numbers, arrays and containers out of loops gives what Python gives, once for all types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc

from .control import same

V = np.arange(12.0) - 3


class Pair:
    """An object of the user's."""

    y: Any
    items: Any


def returns_what_no_number_is(x, n):
    found, name = [1.0], "a"
    for i in range(n):
        if x[i] > 1:
            return x, found, i, name, None
        x[i] = 5
        found[0] = 3.0
    return x, found, -1, name, None


def returns_parts_of_an_object(x, n):
    b = Pair()
    b.y, b.items = x * 2, [1]
    for i in range(n):
        for j in range(n):
            if x[j] > 1:
                return b.y, b.items
            b.y[j] += i + 1
    return b.y, [*b.items, 2]


def returns_nothing_that_it_had(x, n):
    k = None
    while n > 0:
        n -= 1
        if x[n] > 2:
            return k
        x[n] += 1
    return k


def returns_a_name_that_the_loop_binds(x, n):
    y = x
    for i in range(n):
        y = x * i
        if y[0] > 1:
            return y, x
    return y, x


def returns_an_array_or_a_number(x, n):
    for i in range(n):
        if x[i] > 2:
            return x
    return x.sum()


def returns_the_best_of_so_far(x, n):
    best = None
    for i in range(n):
        y = x * i
        if best is None or y.sum() > best[0]:
            best = (y.sum(), y)
        if x[i] > 2:
            return best
    return None


def returns_a_pair_that_is_stored_into(x, n):
    best = (x.copy(), 0)
    for i in range(n):
        best[0][i] = 7
        if x[i] > 1:
            return best
        if x[i] > 2:
            best = (best[0] * 2, i)
    best[0][0] = 1
    return best


def returns_a_pair_or_nothing(x, n):
    for i in range(n):
        p = (x * i, i)
        if x[i] > 2:
            return p
        if x[i] < 0:
            return None
    return x


def returns_a_dict_of_the_iteration(x, n):
    for i in range(n):
        p = {"a": x * i, "k": i}
        if x[i] > 1:
            return p
    return {"a": x, "k": -1}


def returns_a_state_from_while_true(x, n):
    s = (x, 0)
    i = 0
    while True:
        s = (s[0] * 0.5, s[1] + 1)
        i += 1
        if i > n or s[0].sum() < 2:
            return s


def returns_a_pair_from_two_loops(x, n):
    for i in range(n):
        for j in range(n):
            p = (x * j, i)
            if x[j] > 1 and i > 0:
                return p
    return (x, 0)


def returns_a_list_of_the_iteration(x, n):
    for i in range(n):
        p = [x * i, i]
        if x[i] > 1:
            return p
    return [x, -1]


def returns_a_list_from_before(x, n):
    p = [x, 0]
    for i in range(n):
        p[1] = i
        if x[i] > 1:
            return p
    return p


def returns_a_part_and_a_number(x, n):
    for i in range(n):
        p = (x[i:], i)
        if x[i] > 1:
            return p
    return (x, 0)


def returns_an_array_or_nothing(x, n):
    for i in range(n):
        if x[i] > 2:
            return x * i
        if x[i] < 0:
            return None
    return x


def returns_a_number_or_nothing(x, n):
    for i in range(n):
        if x[i] > 2:
            return x[i]
        if x[i] < 0:
            return
    return 5


def returns_two_or_three(x, n):
    for i in range(n):
        if x[i] > 1:
            return i, x[i]
        if x[i] < 0:
            return i, x * 2, 3
    return None


def returns_a_pair_or_a_text(x, n):
    for i in range(n):
        if x[i] > 1:
            return "big", i
        if x[i] < 0:
            return "small"
    return None


@pytest.mark.parametrize(
    "f",
    (
        returns_an_array_or_a_number, returns_what_no_number_is, returns_parts_of_an_object,
        returns_nothing_that_it_had, returns_a_name_that_the_loop_binds, returns_the_best_of_so_far,
        returns_a_pair_that_is_stored_into, returns_a_pair_or_nothing, returns_a_dict_of_the_iteration,
        returns_a_state_from_while_true, returns_a_pair_from_two_loops, returns_a_list_of_the_iteration,
        returns_a_list_from_before, returns_a_part_and_a_number, returns_an_array_or_nothing,
        returns_a_number_or_nothing, returns_two_or_three, returns_a_pair_or_a_text,
    ),
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_returns_in_loops_as_python(f: Callable[..., Any]):
    jitted = txc.jit(f)
    for sign in (1, 0, -1):
        ours, theirs = (np.arange(1.0, 4) * sign for _ in range(2))
        assert repr(jitted(ours, 3)) == repr(f(theirs, 3)) and repr(ours) == repr(theirs)


def returns_where_a_size_says_so(x, n):
    i = 0
    while i < n:
        i += 1
        if x[0] > i:
            if n > 2:
                return x[1]
            break
    return x[2]


def returns_a_pair_where_a_size_says_so(x, n):
    i = 0
    while i < 10 and not x[0] > n:
        i += 1
        if n > 1:
            return x, i
        x[0] += 1
    return x, i


def returns_behind_a_variable_of_one_branch(x, n):
    if x[0] > 0:
        q = n  # noqa: F841
    if x[1] > 5:
        return 7.0
    return 2.0


@pytest.mark.parametrize(
    "f", [returns_where_a_size_says_so, returns_a_pair_where_a_size_says_so, returns_behind_a_variable_of_one_branch]
)
def test_a_return_that_never_happens_needs_no_value(f: Callable[..., Any]):
    same(f, *((x, n) for n in range(4) for x in (V + 4, V, V * 9)))
