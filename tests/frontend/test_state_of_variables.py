# ruff: noqa: B007  (programs are as their users write them)
# pyright: reportPossiblyUnboundVariable=false
"""Variables of staged functions, and closures over them, have the values and types that Python gives them."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc

from .cases import Cases, does_as_python

A = np.array([0.0, 1, 2])
M = np.arange(9.0).reshape(3, 3)
case = Cases()


@case.on(A)
def sums_in_a_closure(x):
    s = 0.0

    def add(v):
        nonlocal s
        s = s + v

    for i in range(len(x)):
        add(x[i])
    return s


@case.on(A)
def stops_at_the_end(x):
    i = 0
    while i < len(x) and x[i] < 5:
        i += 1
    return i


@case.on(A, 5)
def reads_the_counter_behind_a_loop(x, n):
    for k in range(n):
        pass
    return k


@case.on(A, 5)
def reads_what_a_loop_set(x, n):
    for k in range(n):
        t = x * k
    return t


@case.on(A)
def counts_in_a_closure(x):
    n = 0

    def inc():
        nonlocal n
        n += 1
        return n

    for i in range(20):
        if x[0] < 5:
            inc()
    return n


@case.on(A)
def calls_a_closure_late(x):
    k = 1.0

    def g(v):
        return v * k

    k = 3.0
    return g(x)


@case.on(A)
def calls_a_closure_set_in_a_branch(x):
    k = 1.0

    def g(v):
        return v * k

    if x[1] > 0:
        k = 3.0
    return g(x)


@case.on(A)
def asks_the_truth_of_counters(x):
    t = 0.0
    for i in range(12):
        if i % 3:
            t += x[1]
        if not i:
            t += 100
        if i or t > 1000:
            t += 0.5
    return t


@case.on(A, 0)
def loops_never(x, n):
    for k in range(n):
        pass
    return k


@case.on(A, 4)
def keeps_a_pair_of_the_last_iteration(x, n):
    for k in range(n):
        pair = (k, x[0])
    return pair


@case.on(A, 12)
def leaves_a_loop(x, n):
    for k in range(n):
        if x[1] * k > 3:
            break
    return k


@case.on(A, 12)
def ends_a_loop_without_leaving_it(x, n):
    for k in range(n):
        if x[1] * k > 300:
            break
    else:
        k = -1
    return k


@case.on(A)
def finds_the_largest(x):
    best = x[0]
    at = 0
    i = 1
    while i < len(x):
        if x[i] > best:
            best, at = x[i], i
        i += 1
    return best, at


@case.on(A)
def nests_loops(x):
    t = 0.0
    for a in range(9):
        for b in range(9):
            for c in range(9):
                t += x[1] * a * b * c
    return t


@case.on(A)
def begins_with_none(x):
    best = None
    for i in range(len(x)):
        if best is None or x[i] > best:
            best = x[i]
    return best


@case.on(np.arange(10.0), 3)
def counts_to_a_break(x, n):
    i = 0
    while True:
        i += 1
        if x[i] > n:
            break
    return i


@pytest.mark.parametrize(("f", "arguments"), case)
def test_as_python(f: Callable[..., Any], arguments: tuple[Any, ...]):
    does_as_python(f, arguments)


def types_of(v):
    kinds = np.ndarray, float, int, bool, np.generic, np.floating, (float, np.floating), numbers.Number
    asked = [isinstance(v, kind) for kind in kinds]
    return [*asked, type(v) is np.ndarray, type(v) is float, np.isscalar(v), hasattr(v, "shape"), hasattr(v, "append")]


def asks_for_types(x, k, beta, row, narrow):
    values = (x, k, beta, row, narrow, x[0], len(x), x.sum(), x > 1, x[0] > 1, k * 2, beta * 2, x[0, ...], [x], "text")
    return [types_of(v) for v in values]


def test_types_are_those_of_python():
    arguments = A, 3, 2.5, M[:1], np.float32(1)
    assert txc.jit(asks_for_types)(*arguments) == asks_for_types(*arguments)


def sums_and_products(x, n):
    total, product, halves, found = 0, 1.0, 0, False
    for v in x:
        total += v
        product = product * float(v)
        halves += 0.5
        found = found or v > 2
    for i in range(n):
        product += i
    return total, product, halves, found


def test_loops_that_do_not_run_leave_numbers_as_they_are():
    jitted = txc.jit(sums_and_products)
    for x, n in ((A, 2), (A[:0], 2), (A[:0], 0), (A[:1], 1), (A[:0].astype(int), 0), (A, 0)):
        got, expected = jitted(x, n), sums_and_products(x, n)
        assert [type(g) for g in got] == [type(e) for e in expected]
        np.testing.assert_allclose(got, expected)
