"""Arrays that iterations make and hand on from one variable to another: stores into each go where Python's go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

from .control import same
from .programs.interpreted import interpreted

X = np.arange(6.0)
Y = np.arange(6.0)[::-1] * 2


def the_older_of_two(x, y, n):
    first, second = x, y
    for i in range(n):
        x, y = y, x * 2
        x[i] += 1
        y[i] -= 1
        if x[0] > 9:
            first[1] += 3
    return x, y, first, second, x is first, y is second


def by_functions(x, y, n):
    def turn():
        nonlocal x, y
        x, y = y, x
        return y

    def renewed(q):
        nonlocal y
        y = y + q
        return y

    for i in range(n):
        y[i], y = turn()[-1], renewed(1)
        x[0] += 1
    return x, y


def three_in_a_row(x, y, n):
    z = x * 1
    for i in range(n):
        x, y, z = y, z, x + y
        x[i] += 1
        z[0] -= 1
        y[1] += 2
    return x, y, z


def as_a_view(x, y, n):
    for i in range(n):
        x, y = y[::-1], x + 1
        x[i] += 1
        y[0] *= 2
    return x, y


def in_a_loop_in_a_loop(x, y, n):
    for i in range(3):
        for j in range(n):
            x, y = y, x + 1
            y[j] = i
            x[0] += 1
        x[i] += 10
    return x, y


def exchanged(x, y, n):
    for i in range(n):
        if i == 0:
            x = x + 1
            y = y + 2
        x, y = y, x
        x[i] += 1
    return x, y


def in_a_while(x, y, n):
    k = 0
    while x[0] < 40 and k < n:
        x, y = y, x + 3
        y[k] += 1
        x[0] += 1
        k += 1
    return x, y, k


@pytest.mark.parametrize(
    "f",
    [the_older_of_two, by_functions, three_in_a_row, as_a_view, in_a_loop_in_a_loop, exchanged, in_a_while],
)
def test_an_array_moves_on(f: Callable[..., Any]):
    with interpreted():
        same(f, (X, Y, 2), (X + 3, Y, 3), (X, Y, 0), (X, Y, 5), (X, Y, 1))


def test_an_array_moves_on_in_machine_code():
    same(the_older_of_two, (X, Y, 3), (X, Y, 0))


def still_the_other_s(x, y, n):
    for i in range(n):
        x[i] += 1
        x = y
        y = y + 1 if i % 2 else y
        y[0] += 2
    return x, y, x is y


def in_an_object_as_well(x, y, n):
    held = [x]
    for i in range(n):
        x, y = y, x + 1
        held[0] = x
        x[i] += 1
        y[0] += 1
    return x, y, held[0]


@pytest.mark.parametrize("f", [still_the_other_s, in_an_object_as_well])
def test_an_array_under_two_names_behind_the_iteration_is_refused(f: Callable[..., Any]):
    with pytest.raises(TxcError, match="is an array of others that the loop both writes in place and reassigns"):
        txc.jit(f)(X.copy(), Y.copy(), 5)
