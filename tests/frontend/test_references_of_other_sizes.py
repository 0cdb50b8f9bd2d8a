"""Variables that iterations let name arrays of several shapes, dtypes, sizes or places: stores go where Python's go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .cases import Cases, stores_as_python

X = np.arange(6.0)
Y = np.arange(6.0)[::-1] * 2
M = np.arange(12.0).reshape(3, 4)
I32 = np.arange(6, dtype="i4")
case = Cases()


@case.on_all((M, X, 0), (M, X, 1), (M, X, 4), (M.T, X, 2), (M[::-1, ::2], X, 3))
def transposed(m, x, n):
    b = m
    for i in range(n):
        if x[i] > 1:
            b = m.T
    b[1] = 5
    return b


@case.on_all((X, M, 0), (X, M, 2), (X, M.T, 2), (X, np.asfortranarray(M), 3))
def flattened(x, m, n):
    a = x
    for _i in range(n):
        m += m
        a = m.reshape(-1)
    m[0, 0] = 3
    a[1] = 4
    return a


@case.on_all((X, M, 0), (X, M, 3), (X, M.T, 2))
def read_only(x, m, n):
    a = x
    for i in range(n):
        m[i] += i
        a = m.diagonal()
    m += 1
    return a


@case.on_all((X, I32, 0), (X, I32, 2), (X, I32, 6))
def two_dtypes(x, y, n):
    v = x
    s = 0.0
    for i in range(n):
        v[0] = i + 2
        if x[i] > 1:
            v = y
        s += v.sum()
    v[1] = 50
    return v, s


@case.on_all((X, M, 0), (X, M, 1), (X, M, 3))
def two_ranks(x, m, n):
    v = x
    k = 0
    while k < n:
        v[...] = v + 1
        v = m if v is x else x
        k += 1
    return v.sum(), k


@case.on_all((X, Y, 0), (X, Y, 1), (X, Y, 5))
def one_of_its_own(x, y, n):
    w = x[:3]
    for i in range(n):
        w[0] = 100 + i
        if i % 2:
            w = y
        else:
            w = np.ones(2) * i
    w += 1
    return w


@case.on_all((X, 0), (X, 1), (X, 2), (X, 3))
def swaps_of_two_sizes(x, n):
    v, w = x, x[:2]
    for i in range(n):
        v, w = w, v
        v[0] = i
    v[1:] = 5
    return v, w


@case.on_all((X, 0), (X, 2), (X, 3))
def swaps_of_two_sizes_while(x, n):
    v, w = x, x[:0]
    k = 0
    while k < n:
        k += 1
        v, w = w, v
    v[1:] = v[1:] * 2
    return v, w


@case.on_all((X, Y, M, 0), (X, Y, M, 1), (X, Y, M, 4))
def several(x, y, m, n):
    v = x
    for i in range(n):
        if i == 1:
            v = y[1:]
        elif i == 2:
            v = m
        elif i == 3:
            v = m[0]
        v += 10
    return v


@case.on_all((X,), (X * 0 + 1,), (-X,), (X[:1],))
def never_stored_into(x):
    v = x
    for i in range(len(x) * 3):
        if x[i % len(x)] > 0:
            v = x[1:]
    return v


@case.on_all((X, Y, 0), (X, Y, 1), (X, Y, 4), (I32, I32[::-1].copy(), 5))
def counted_ones(x, y, n):
    w = x[:0]
    for i in range(n):
        if y[i] > 3:
            w = np.arange(i) * x.dtype.type(2)
        w[:1] = 9
    x += 1
    return w


@case.on_all((X, Y, 0), (X, Y, 1), (X, Y, 4))
def selected_ones(x, y, n):
    w = y
    k = 0
    while k < n:
        w[-1] = 30 + k
        w = x[x > k] if k % 2 else y
        k += 1
    w *= 2
    return w, w.sum()


@case.on_all((X, M, 0), (X, M, 1), (X, M, 2), (X, M, 3))
def selected_in_loops(x, m, n):
    w = x[:2]
    for i in range(n):
        for j in range(i):
            w[0] += j
            if m[i, j] > 4:
                w = x[x > m[j, i]]
            elif i > 1:
                w = np.concatenate([x[:i], x[:j]])
        x[0] += w.sum()
    return w, x


@case.on_all((X, Y, 0), (X, Y, 1), (X, Y, 4), (I32, I32 + 1, 3))
def longer_parts(x, y, n):
    v = x
    for i in range(n):
        v = y[0:i]
        y += 2
    v[:1] = -1
    return v


@case.on_all((X, 0), (X, 1), (X, 3), (X, 9))
def shorter_parts(x, n):
    v = x
    for i in range(n):
        v += i
        v = v[1:]
    x += 1
    v[-1:] = 70
    return v


@case.on_all((X, Y, 0), (X, Y, 2), (X, Y, 5))
def shorter_where(x, y, n):
    v = x
    for i in range(n):
        if y[i] < 8:
            continue
        v = v[2:]
        v[:1] = 40 + i
    v *= 2
    return v


@case.on_all((M, 0), (M, 1), (M, 2), (M, 3))
def rows_and_ends(m, n):
    v = m[0, :1]
    for i in range(n):
        v += 1
        v = m[i, i % 4 : i % 4 + 2]
    v -= 5
    return v


@case.on_all((M, 0), (M, 1), (M, 3))
def rows_in_branches(m, n):
    a = m[2]
    for i in range(n):
        a[0] = 50 + i
        if a[1] > 6:
            a = m[i]
    m += 1
    return a


@case.on_all((X, 0), (X, 1), (X, 4))
def falling_parts(x, n):
    v = x
    for i in range(n):
        v[0] = 20 + i
        v = x[i::-1]
    v += 1
    return v


@case.on_all((X, Y, 0), (X, Y, 2), (X, Y, 3))
def parts_while(x, y, n):
    k = 0
    v = y
    while k < n and y.mean() > -9:
        k += 1
        v = y[k : 2 * k]
        v -= 1
    y -= 1
    return v, v.sum()


@case.on_all((X, M, 1, 0), (X, M, 1, 3), (X, M, 3, 1))
def outer_and_inner(x, m, n, r):
    v = x
    for i in range(n):
        for j in range(r):
            v[0] += 1
            v = m[i, j:]
        v = v[:2]
    m *= 2
    v[-1] = 0
    return v


@pytest.mark.parametrize(("f", "calls"), case)
def test_stores_go_where_references_lead(f: Any, calls: tuple[tuple[Any, ...], ...]) -> None:
    stores_as_python(f, calls)
