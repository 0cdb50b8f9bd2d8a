"""``a is b`` where compiled code decides: it is what Python says, or a refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

FUNCTIONS: list[Callable[..., Any]] = []


def case(f: Callable[..., Any]) -> Callable[..., Any]:
    FUNCTIONS.append(f)
    return f


@case
def what_a_branch_names(x, y, t):
    if t[0] > 0:
        x = y
    return x is y, x is not y, x is x


@case
def what_two_branches_name(x, y, t):
    a = x if t[0] > 0 else y
    b = y if t[1] > 0 else x
    return a is b, a is x, b is y


@case
def what_a_loop_names(x, y, t):
    i = 0
    while i < t[0]:
        x = y
        i += 1
    return x is y


@case
def asked_in_a_loop(x, y, t):
    if t[0] > 0:
        x = y
    found = 0
    for _ in range(20):
        if y is x:
            found += 1
    return found


@case
def a_copy_of_a_branch(x, y, t):
    z = x
    if t[0] > 0:
        z = x.copy()
    return z is x, z is y, z is None


@case
def bools(x, y, t):
    a = bool(t[0] > 0)
    b = True if t[1] > 0 else False
    return a is True, b is False, a is b, (t[0] > 0) is True, a is None


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_python(f: Callable[..., Any]):
    jitted = txc.jit(f)
    x, y = np.arange(3.0), np.arange(3.0)
    for t in ([1.0, 1], [1.0, -1], [-1.0, 1], [-1.0, -1]):
        assert repr(jitted(x, y, np.array(t))) == repr(f(x, y, np.array(t))), t


def asked_where_iterations_differ(x, y, n):
    found = 0
    for _ in range(n):
        if x is y:
            found += 1
        x = y
    return found


def test_what_varies_with_iterations_is_refused():
    with pytest.raises(TxcError, match="whether two variables name one array is not known here") as error:
        txc.jit(asked_where_iterations_differ)(np.ones(2), np.ones(2), 30)
    assert error.value.code == "TX0291"
