"""Variables, attributes and keys that iterations let name one array or another, of any sizes: stores go where Python's
go, also where nobody knows while compiling which array that is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

from .cases import Cases, stores_as_python

X = np.arange(6.0)
Y = np.arange(6.0)[::-1] * 2
M = np.arange(12.0).reshape(3, 4)
I32 = np.arange(6, dtype="i4")
case = Cases()


@case.on_all((X, 0), (X, 3), (I32, 2))
def bound_to_itself(x, n):
    y, z = x, x * 1
    for _ in range(n):
        z = y = z
    y += 1
    return z, y


@case.on_all((X, 0), (X, 3), (I32, 2))
def bound_to_itself_and_stored_into(x, n):
    y, z, w = x, x * 1, x
    for i in range(n):
        y = z
        z = y
        w = z[1:]
        y[i] += 5
    y += 1
    w *= 2
    return z, y, w


@case.on_all((X, 0), (X, 2), (I32, 3))
def bound_to_a_view_of_itself_in_two_loops(x, n):
    z = x * 1
    other, rows, i = z, [x * 2, z], 0
    u = w = x + 1
    for _ in range(n):
        for _ in range(1, n):
            z = z[::1]
    while i < n:
        for _ in range(n):
            u = u[:]
        i += 1
    z[1] = 7
    w[2] = 8
    return z, other, rows, u, w


@case.on_all((X, 3), (Y, 2), (X * 0, 4))
def bound_to_itself_until_it_is_left(x, n):
    d = {"a": x * 1}
    y, i = x, 0
    while i < n:
        y = d["a"]
        d["a"] = y
        i += 1
        if x[i] > 1:
            break
    y += 1
    return d, y


@case.on_all((X, Y, 0), (X, Y, 1), (X, Y, 3), (I32, I32 * 2, 2), (X.astype("c16"), Y.astype("c16"), 2))
def stored_behind(x, y, n):
    v = x
    for i in range(n):
        if x[i] > 0:
            v = y
    x *= 2
    v[0] = 7
    return v


@case.on_all((X, Y, 0), (X, Y, 2))
def loops_in_loops(x, y, n):
    z = y
    for _i in range(len(x)):
        for _j in range(n):
            y = x
    y[1::2] = 5
    return x, y, z


@case.on_all((X, Y, 0), (X, Y, 3))
def attribute(x, y, n):
    box = SimpleNamespace(x=x)
    for i in range(n):
        if x[i] > 0:
            box.x = y
    x *= 3
    box.x[1] = 8
    return box.x


@case.on_all((X, Y, 0), (X, Y, 4))
def key_of_a_dict(x, y, n):
    record = {"v": 0.0, "x": y}
    for _i in range(n):
        for _j in range(len(x)):
            record["x"] = x
    x[0] = 9
    return record["x"], record


@case.on_all((X, Y, 2.0), (X, Y, 9.0), (X, Y, 99.0))
def left_by_break(x, y, most):
    v = x
    s = 0.0
    for i in range(len(x)):
        s += y[i]
        if s > most:
            v = y
            break
    y -= 1
    v += 1
    return v


@case.on_all((X, Y, 3), (X, Y, 0), (X, Y, 6))
def left_by_return(x, y, n):
    v = x
    for i in range(n):
        v[i] = 4
        if x[i] + y[i] > 8:
            return v
        v = y
    v[0] = 1
    return v


@case.on_all((X, Y, Y * 3, 0), (X, Y, Y * 3, 1), (X, Y, Y * 3, 2), (X, Y, Y * 3, 5))
def turns(x, y, z, n):
    k = 0
    while k < int(x[n]):
        x[1] += 1
        x, y, z = z, x, y
        k += 1
    x[0] = -1
    return x, y, z


@case.on_all((X, Y, 0), (X, Y, 1), (X, Y, 4))
def part_of_one_that_changes(x, y, n):
    u = x
    v = y
    k = 0
    while k < n:
        v[0] = k + 10
        v = u[::-1]
        if k % 2:
            u = y
        k += 1
    return x, u, v


@case.on_all((X, Y, 0), (X, Y, 1), (X, Y, 2), (X, Y, 5))
def back_and_forth(x, y, n):
    v = x
    for i in range(n):
        v = v[::-1]
        v[1] = i
        y += v
    return v


@case.on_all((X, Y, 0), (X, Y, 1), (X, Y, 5))
def as_many_swaps_as_a_counter_says(x, y, n):
    for i in range(n):
        for _j in range(i):
            x[0] += 1
            x, y = y, x
        y[1] += i
    return x, y


@case.on_all((M, 0), (M, 2), (M, 3))
def turns_of_three_in_a_loop(m, n):
    a, b, c = m
    for i in range(n):
        for j in range(1, 2 * i):
            a, b, c = b, c, a
            a[j] = i
    m[0, 0] = 77
    return a, b, c


@case.on_all((X, 0), (X, 1), (X, 2), (X, 3))
def begins_as_one_of_another_loop(x, n):
    v = x * 2
    s = 0.0
    for _i in range(n):
        u = v
        for _j in range(n):
            u[0] += 1
            u = u * 2
        s += v[0]
    return v, s


@case.on_all((X, 0), (X, 1), (X, 2), (X, 3))
def begins_as_what_stands_for_one(x, n):
    v = x * 2
    s = 0.0
    for _i in range(n):
        u = v
        for _j in range(n):
            u[0] += 1
            u = u * 2
        s += v[0]
        v = v + 1
    return v, s


@case.on_all((X, 0), (X, 1), (X, 2), (X, 3))
def begins_as_one_of_another_while(x, n):
    v = x * 2
    k = 0
    while k < n and v[0] < 50:
        u = v
        j = 0
        while j < n and u[1] < 99:
            u[0] += 1
            u = u * 2
            j += 1
        x += v[0]
        k += 1
    return v, x


@case.on_all((X, Y, 0), (X, Y, 1), (X, Y, 4))
def a_dict_with_an_array(x, y, n):
    record = {"v": 0.0, "x": y}
    for i in range(len(x)):
        x[i] += 2
        if x[i] > n:
            record = {q: x[q] for q in range(2)}
        if i >= n:
            break
    y += 1
    return record


@case.on_all((X, Y, 0), (X, Y, 1), (X, Y, 4))
def an_array_or_none(x, y, n):
    v = None
    for i in range(n):
        y[i] += 1
        if x[i] > 0:
            v = y
    if v is not None:
        v[0] = 60
    return v


@case.on_all((X, Y, 0), (X, Y, 1), (X, Y, 4))
def a_part_or_a_number(x, y, n):
    v = 2.5
    k = 0
    while k < n and y[k] > 0:
        v = x[1:3]
        x[1] += v[1]
        k += 1
    v *= 2
    return v


@case.on_all((X, Y, 0), (X, Y, 1), (X, Y, 4))
def a_pair_of_arrays(x, y, n):
    pair = (x, 0)
    for i in range(n):
        pair[0][1] += 1
        pair = (x, i)
        if y[i] < 5:
            break
    x *= 2
    return pair


@case.on_all((X, Y, 2.0), (X, Y, 99.0), (X, Y, -1.0))
def bound_by_a_loop_that_is_left(x, y, most):
    for i in range(len(x)):
        if x[i] > most:
            break
        y[i] = 0
        v = y
    y += 1
    try_it = x[0] + most >= 0
    return v if try_it else x  # pyright: ignore[reportPossiblyUnboundVariable]


@case.on_all((X, Y, 0), (X, Y, 1), (X, Y, 2), (X, Y, 4))
def an_array_that_another_got_in_the_iteration_before(x, w, n):
    y, z = x, x * 3
    for _i in range(n):
        if y[0] >= z[0] or z[1] > 3:
            y = z
        z = w
    w[1] = 1000
    return z, y


@case.on_all((X, Y, 0), (X, Y, 1), (X, Y, 2), (X, Y, 4))
def the_array_of_another_where_no_iteration_runs(x, w, n):
    y = x.copy()
    z = y
    for i in range(n):
        y = w if x[i] > 2 else x
    z[0] = 1000
    return y, z


@pytest.mark.parametrize(("f", "calls"), case)
def test_stores_go_where_references_lead(f: Any, calls: tuple[tuple[Any, ...], ...]) -> None:
    stores_as_python(f, calls)


def test_what_is_read_only_stays_so() -> None:
    def f(x: np.ndarray, m: np.ndarray, n: int) -> np.ndarray:
        a = x
        for i in range(n):
            if x[i] > 0:
                a = m.diagonal()
        a[0] = 5
        return a

    compiled = txc.jit(f)
    np.testing.assert_array_equal(compiled(X.copy(), M, 1), f(X.copy(), M, 1))
    for g in (f, compiled):
        with pytest.raises(ValueError, match="read-only"):
            g(X.copy(), M, 3)


def test_an_array_of_each_iteration_under_two_names_is_refused() -> None:
    @txc.jit
    def f(x: np.ndarray, n: int) -> np.ndarray:
        v, w = x, x[1:]
        for i in range(n):
            v[0] = i
            w[1] = 7
            if x[i] < 1:
                v = w = np.ones(3) * i
        return v

    with pytest.raises(TxcError, match="TX0291"):
        f(X, 3)


def test_what_a_list_got_is_not_stored_into_by_the_next_iteration() -> None:
    @txc.jit
    def f(x: np.ndarray, n: int) -> tuple[np.ndarray, list[np.ndarray]]:
        v = x[:2]
        found = []
        for i in range(n):
            v[:1] += 1
            v = np.ones(3) * i
            found.append(v)
        return v, found

    with pytest.raises(TxcError, match="the list found gets arrays that others see"):
        f(X.copy(), 3)


def test_what_a_list_got_by_way_of_a_variable_is_not_stored_into_behind_the_loop() -> None:
    @txc.jit
    def f(x: np.ndarray, w: np.ndarray, n: int) -> list[np.ndarray]:
        y, items = x * 2, []
        for _i in range(n):
            items.append(y)
            y = w
        w[0] = 99
        return items

    with pytest.raises(TxcError, match="an item of items may be an array from before the loop"):
        f(X.copy(), Y.copy(), 3)


def test_a_chain_of_variables_is_not_stored_into_behind_the_loop() -> None:
    @txc.jit
    def f(x: np.ndarray, n: int) -> np.ndarray:
        z, y, u = x * 1, x * 2, x * 3
        for i in range(n):
            u = y
            y = z if i % 2 == 0 else x * 4
            if x[i] > 100:
                z = z + 1
        z[0] = 99
        return u

    with pytest.raises(TxcError, match="TX0291"):
        f(X.copy(), 3)
