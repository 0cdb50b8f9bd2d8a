"""Views that iterations take of one array at another place each, and that outlive the iteration: stores go where
Python's go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

G = np.arange(12.0).reshape(2, 6)
M = np.arange(20.0).reshape(5, 4)
CASES: list[Any] = []


def case(*calls: tuple[Any, ...]) -> Callable[[Any], Any]:
    def noted(f: Any) -> Any:
        CASES.extend(pytest.param(f, call, id=f"{f.__name__}{i}") for i, call in enumerate(calls))
        return f

    return noted


@case((G, 3), (G, 4), (G, 0))
def swapviews(grid, n):
    cur, nxt = grid[0], grid[1]
    for _i in range(n):
        nxt[1:-1] = cur[:-2] + cur[2:]
        cur, nxt = nxt, cur
    return cur, grid


@case((M, 3), (M, 4), (M, 0))
def keeprow(x, n):
    row = x[0]
    for i in range(n):
        x[i] = row + 1
        row = x[i]
    return row, x


@case((M, 3), (M, 4), (M, 0))
def keeprow2(x, n):
    row = x[0]
    s = 0.0
    for i in range(n):
        row[:] = i
        row = x[i + 1]
        s += row.sum()
    return s, x


@case((M, 3), (M, 1))
def lastrow3(x, n):
    best = x[0]
    for i in range(1, n):
        if x[i].sum() > best.sum():
            best = x[i]
        x[i, 0] += 100
    return best


@case((M, 3), (M, 0))
def prev_cur(x, n):
    prev = x[0] * 1
    cur = x[1] * 1
    for i in range(n):
        new = prev + cur
        prev = cur
        cur = new
        cur[0] = i
    return prev, cur


@case((M, 3), (M, 0))
def halves(x, n):
    v = x[:2]
    for i in range(n):
        v += 1
        v = x[i : i + 2]
    return x


@case((M, 3), (M, 0))
def cond_view(x, n):
    v = x[0]
    for i in range(n):
        v[:] = v + 1
        if x[i, 1] > 3:
            v = x[i]
    return x, v


@case((M, 3), (M, 0))
def local_rows(x, n):
    d = np.zeros((6, 4))
    for i in range(n):
        p = d[i]
        q = d[i + 1]
        q[:] = p + x[i]
        p -= 1
    return d


@case((M, 3), (M, 0))
def colview(x, n):
    c = x[:, 0]
    for i in range(n):
        c *= 2
        c = x[:, i]
    return x


@case((M, 3), (M, 0))
def walk(x, n):
    v = x[0]
    k = 0
    while k < n:
        k += 1
        v[k] = k
        v = x[k]
    return x, v


@case((M, 3), (M, 0))
def argcond(x, n):
    k = 0
    v = x[0]
    while k < n:
        k += 1
        v = x[int(x[k, 0]) % 5]
        v += k
    return x, v


@case((M, 3), (M, 0), (M[:, ::-1], 3), (M.T.copy().T, 3))
def two_bases(x, n):
    y = x * 2
    v = x[0]
    for i in range(n):
        v += 1
        v = y[i] if i % 2 else x[i]
    v -= 5
    return x, y


@case((M, 3), (M, 0))
def own_too(x, n):
    v = x[0]
    for i in range(n):
        v += 1
        if x[i, 0] > 3:
            v = x[i] * 2
        else:
            v = x[i]
    return x, v


@case((M, 3), (M, 0))
def three_in_turns(x, n):
    a, b = x[0], x[1]
    for i in range(n):
        a[:] = b + i
        a, b = b, x[i + 1]
    return x, a, b


@case((M, 3), (M, 0))
def three_in_turns_and_one_more(x, n):
    a, b = x[0], x[1]
    for i in range(n):
        a[1:] = b[:-1] + i
        c = a
        a = b
        b = x[i + 2]
        c += 1
    a[0] = -7
    return x, a, b


@case((M, 3), (M, 0))
def of_several_rows(x, n):
    v = x[0:2]
    for i in range(n):
        v[1] = v[0] + 1
        v = x[i : i + 2]
    v[:] = 3
    return x


@case((M, 2), (M, 0))
def block(x, n):
    v = x[0:2, 0:2]
    for i in range(n):
        v *= 2
        v = x[i + 1 : i + 3, i : i + 2]
    return x, v.T


@case((M, 2), (M, 0))
def neg(x, n):
    v = x[-1]
    for i in range(n):
        v *= 2
        v = x[-1 - i]
    return x, v


@case((M, 2), (M, 0))
def of_a_transpose(x, n):
    v = x.T[0]
    for i in range(n):
        v *= 2
        v = x.T[i]
    return x, v


@case((M, 2), (M, 0))
def strided(x, n):
    v = x[0, ::2]
    for i in range(n):
        v *= 2
        v = x[i, ::2]
    return x, v


@case((np.arange(24.0).reshape(4, 3, 2), 3), (np.arange(24.0).reshape(4, 3, 2), 0))
def of_matrices(x, n):
    prev = x[0]
    for i in range(1, n):
        prev[0, 0] += 1
        cur = x[i]
        cur += prev
        prev = cur
    return x, prev


@case((M, 3), (M, 0))
def in_a_while(x, n):
    k = 0
    v = x[0]
    while v[0] < 100 and k < n:
        v += 10
        k += 1
        v = x[k]
    return x, v, k


@case((M, 4), (M, 0))
def the_best_so_far(x, n):
    best = x[0]
    for i in range(n):
        if x[i, 1] * (-1) ** i > best[1]:
            best = x[i]
        best[0] += 1
    return x, best


@case((M, 4), (M, 0))
def by_a_value(x, n):
    v = x[0]
    for i in range(n):
        v[0] += 1
        v = x[np.argmax(x[:, i % 4])]
    return x, v


@case((M, 4), (M, 0))
def nest(x, n):
    v = x[0]
    for i in range(n):
        for j in range(3):
            v[j] += i
            v = x[(i + j) % 5]
    return x, v


@case((M, 4), (M, 0))
def outside(x, n):
    p = x[0]
    for i in range(n):
        p += 1
        p = x[i]
    return x


@case((M, 4), (M, 0))
def alias(x, n):
    p = x[0]
    q = x[0]
    for i in range(n):
        p += 1
        q = p
        p = x[i]
    q -= 3
    return x, q


@case((M, 4), (M, 0))
def left_by_break(x, n):
    p = x[0]
    for i in range(n):
        p += 1
        if p[0] > 9:
            break
        p = x[i]
    return x


@case((M.astype(np.int32), 4), (M.astype(np.complex64), 3))
def of_other_dtypes(x, n):
    p = x[0]
    for i in range(n):
        p += 1
        p = x[i]
    p[1] = -1
    return x


@case((M, 3), (M, 0))
def parts_of_rows(x, n):
    v = x[0, :1]
    for i in range(n):
        v += 1
        v = x[i, i % 4 : i % 4 + 1]
    return x


@case((M, 4), (M, 0), (M, 1), (M - 9, 4))
def left_where_a_row_is_taken(x, n):
    p = x[0]
    for i in range(n):
        p += 1
        if p[0] > 9:
            break
        p = x[i]
    p[1] = -1
    return x


def copies(call: tuple[Any, ...]) -> list[Any]:
    return [x.copy("K") if isinstance(x, np.ndarray) else x for x in call]


@pytest.mark.parametrize(("f", "call"), CASES)
def test_views_move_with_iterations(f: Any, call: tuple[Any, ...]) -> None:
    here, there = copies(call), copies(call)
    got, expected = txc.jit(f)(*here), f(*there)
    for a, b in zip([got, *here], [expected, *there], strict=True):
        parts = [a, b] if isinstance(b, tuple) else [(a,), (b,)]
        for x, y in zip(*parts, strict=True):
            assert np.asarray(x).dtype == np.asarray(y).dtype
            np.testing.assert_array_equal(x, y)


def test_two_names_of_an_array_of_an_iteration_are_refused() -> None:
    @txc.jit
    def f(x: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        a = x + 0
        b = a
        for i in range(n):
            b[0] = i
            a = b + 1
            b = a
        return a, b

    with pytest.raises(TxcError, match="TX0291"):
        f(M, 3)
