"""Arrays whose sizes change from iteration to iteration of loops of compiled code: values and errors are NumPy's."""

from __future__ import annotations

# Names that a loop may leave unbound are what some of these are about.
# pyright: reportPossiblyUnboundVariable=false
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

from .cases import Cases, gives_and_raises_as_numpy

X = np.array([5.0, 1, 7, 3, 9, 2, 8, 0, 6, 4])
case = Cases()


@case.on_each((X,), (X[:0],), (X[:1],))
def shrink_while(x):
    q = x
    s = 0.0
    while len(q):
        s = s * 2 + q[0]
        q = q[1:]
    return s, q


@case.on_each((X,), (X[:0],))
def shrink_end(x):
    q = x.copy()
    s = 0.0
    while len(q) > 2:
        s += q.sum()
        q = q[:-1]
    return s, q


@case.on_each((30,), (2,), (100,))
def sieve(n):
    p = np.arange(2, n)
    out = np.zeros(n, dtype=np.int64)
    k = 0
    while len(p):
        out[k] = p[0]
        k += 1
        p = p[p % p[0] != 0]
    return out, k


@case.on_each((X, 3), (X, 0), (X, 50))
def several(x, n):
    ix = np.arange(len(x))
    c = x.copy()
    z = x * 0
    out = np.zeros(len(x))
    for i in range(n):
        if not len(z):
            break
        np.multiply(z, z, z)
        np.add(z, c, z)
        m = np.abs(z) > 40
        out[ix[m]] = i + 1
        np.logical_not(m, m)
        z = z[m]
        ix, c = ix[m], c[m]
    return out, z, ix, c


@case.on_each((X, 3), (X, 0), (X, 50))
def branch(x, n):
    q = x * 1
    for _i in range(n):
        if q.sum() > 20:
            q = q[1:]
    return q


@case.on_each((X, 3), (X, 0), (X, 50))
def branch2(x, n):
    q = x * 1
    for i in range(n):
        if q.sum() > 20:
            q = q[q > i]
        else:
            q = q + 1
    return q, q.sum()


@case.on_each((X.reshape(5, 2), 4), (X.reshape(2, 5), 0))
def rows(x, n):
    a = x * 1
    for i in range(n):
        a = a[a[:, 0] > i]
    return a


@case.on_each((X.reshape(5, 2), 4), (X.reshape(2, 5), 1))
def cols(x, n):
    a = x * 1
    for i in range(n):
        a = a[:, a[0] > i]
    return a


@case.on_each((X.reshape(5, 2), 1), (X.reshape(2, 5), 1))
def both(x, n):
    a = x * 1
    for _i in range(n):
        a = a[1:, :-1]
    return a


@case.on_each((X, 5), (X, 0))
def uniq(x, n):
    a = x // 2
    for _i in range(n):
        a = np.unique(a // 2)
    return a


@case.on_each((X, 5), (X, 0), (X, 1))
def last(x, n):
    a = x
    for i in range(n):
        a = x[x > i]
    return a


@case.on_each((X, 5), (X, 1))
def last2(x, n):
    for i in range(n):
        a = x[x > i]
    return a


@case.on_each((X, 5), (X, 0), (X, 1))
def prev(x, n):
    a = x * 2
    s = 0.0
    for i in range(n):
        b = a[a > i]
        s += b.sum() * a.sum()
        a = b
    return a, s


@case.on_each((X, 5), (X, 0), (X, 1))
def inplace(x, n):
    a = x
    for i in range(n):
        a = a[a > i]
        a += 1
    return a


@case.on_each((X, 5), (X, 0), (X, 1), (X, 20))
def static_len(x, n):
    a = x + 0
    for i in range(12):
        a = a[a > i / 2]
    return a


@case.on_each((X, 5), (X, 0), (X, 1), (X, 20))
def nested(x, n):
    t = 0.0
    for k in range(n):
        a = x + k
        while len(a) > 1:
            m = a.mean()
            t += m
            a = a[a < m]
    return t


@case.on_each((X, 5), (X, 0), (X, 1), (X, 20))
def nested2(x, n):
    a = x + 0
    t = 0.0
    for _k in range(n):
        for _j in range(2):
            a = a[a != a.max()] if len(a) > 1 else a
        t += a.sum()
    return t, a


@case.on_each((X, 5), (X, 0), (X, 1), (X, 20))
def early(x, n):
    a = x
    for i in range(n):
        a = a[a > i]
        if len(a) < 4:
            return a
    return a * 2


@case.on_each((X, 5), (X, 0), (X, 1), (X, 20))
def fancy(x, n):
    a = x
    for i in range(n):
        a = a[np.flatnonzero(a > i)]
    return a


@case.on_each((X, 5), (X, 0), (X, 1), (X, 20))
def index(x, n):
    a = x.copy()
    s = 0.0
    for _i in range(n):
        if len(a) == 0:
            continue
        s += a[-1] + a[len(a) // 2]
        a = a[:-1]
    return s, a


@case.on_each((X, 3), (X, 20))
def cplx(x, n):
    z = x * (1 + 1j)
    s = 0.0
    for i in range(n):
        z = z[np.abs(z) > i]
        s += z.sum()
    return z, s


@case.on_each((X.astype(np.int32), 3), (X.astype(np.int8), 20))
def ints(x, n):
    z = x
    for i in range(n):
        z = z[z % 2 == i % 2] // 2
    return z


@case.on_each((X, 3), (X, 20), (X, 0))
def two(x, n):
    a = x
    b = x[:5]
    for i in range(n):
        a, b = a[a > i], b[b < 9 - i]
    return a, b


@case.on_each((X, 3), (X, 20), (X, 0))
def swap(x, n):
    a = x + 1
    b = x[:5] * 2
    for i in range(n):
        a, b = b[b > i], a[a > i]
    return a, b


@case.on_each((X, 3), (X, 20), (X, 0))
def wh(x, n):
    a = x + 1
    i = 0
    while i < n and len(a) > 3:
        a = a[a > i]
        i += 1
    return a, i


@case.on_each((X,), (X[:0],), (X[:1],))
def fixedq(x):
    q = np.arange(len(x))
    d = np.zeros(len(x))
    k = 0
    while q.size > 0:
        k += 1
        d[q] += x[q]
        q = q[d[q] < 20]
        if k > 30:
            break
    return d, k


@case.on_each((X, 3), (X, 20), (X, 0))
def active(x, n):
    act = np.ones(len(x), bool)
    idx = np.nonzero(act)[0]
    y = x.copy()
    for _it in range(n):
        y[idx] = y[idx] * 0.5
        idx = idx[y[idx] > 1]
    return y, idx


@case.on_each((X, 3), (X, 20), (X, 0))
def rowsum(x, n):
    a = np.outer(x, x[:3])
    s = np.zeros(3)
    for i in range(n):
        a = a[a.sum(axis=1) > i * 10]
        s += a.sum(axis=0)
    return s, a, a.T @ a


@case.on_each((X, 3), (X, 20), (X, 0))
def rev(x, n):
    a = x + 0
    for _i in range(n):
        a = a[::-1][1:]
    return a


@case.on_each((X, 3), (X, 20), (X, 0))
def step(x, n):
    a = x + 0
    for _i in range(n):
        a = a[::2]
    return a


@case.on_each((X, 3), (X, 20), (X, 0))
def pairs(x, n):
    a = x + 0
    for _i in range(n):
        a = a[1:] + a[:-1]
    return a


@case.on_each((X, 3), (X, 20), (X, 0))
def diff(x, n):
    a = x + 0
    for _i in range(n):
        a = np.diff(a)
    return a


@case.on_each((X, 3), (X, 2), (X, 0))
def halves(x, n):
    a = x + 0
    for _i in range(n):
        h = len(a) // 2
        a = a[:h] + a[h : 2 * h]
    return a


@case.on_each((X, 3), (X, 2), (X, 0))
def arg_view_ret(x, n):
    a = x
    for _i in range(n):
        a = a[1:]
    return a.sum(), a


@case.on_each((X, 3), (X, 2), (X, 0))
def twoloops(x, n):
    a = x
    for i in range(n):
        a = a[a > i]
    for i in range(n):
        a = a[a < 9 - i]
    return a


@case.on_each((X, 3), (X, 2), (X, 0))
def outer_break(x, n):
    a = x * 1
    for _i in range(n):
        for j in range(len(a)):
            if a[j] > 5:
                a = a[1:]
                break
    return a


@case.on_each((X, 3), (X, 1), (X.reshape(2, 5), 9))
def halved_counts(x, n):
    while n > 1:
        n = n // 2
        x = x[n:]
    return x


@case.on_each((-1.75, 0.25, -1.0, 1.0, 12, 9, 8), (1.75, 2.25, 1.0, 1.5, 3, 2, 50), (-1.0, 0.0, 0.0, 0.5, 2, 1, 0))
def mandelbrot(xmin, xmax, ymin, ymax, xn, yn, itermax, horizon=2.0):
    """Nicolas Rougier's, of the points that are left."""
    xi, yi = np.mgrid[0:xn, 0:yn]
    x = np.linspace(xmin, xmax, xn, dtype=np.float64)[xi]
    y = np.linspace(ymin, ymax, yn, dtype=np.float64)[yi]
    c = x + y * 1j
    n_ = np.zeros(c.shape, dtype=np.int64)
    z_ = np.zeros(c.shape, dtype=np.complex128)
    xi.shape = yi.shape = c.shape = xn * yn
    z = np.zeros(c.shape, np.complex128)
    for i in range(itermax):
        if not len(z):
            break
        np.multiply(z, z, z)
        np.add(z, c, z)
        over = abs(z) > horizon
        n_[xi[over], yi[over]] = i + 1
        z_[xi[over], yi[over]] = z[over]
        np.logical_not(over, over)
        z = z[over]
        xi, yi = xi[over], yi[over]
        c = c[over]
    return z_.T, n_.T


@case.on_each((X, 3.0), (X, 20.0), (X, 0.0))
def until_nothing_leaves(x, n):
    a = x + 1
    while True:
        b = a[a > n]
        if len(b) == len(a):
            break
        a = b - 0.5
    return a


@case.on_each((X, 3), (X, 20), (X, 0))
def one_of_two_before(x, n):
    a = x if x[0] > 3 else x[1:]
    for i in range(n):
        a = a[a > i]
    return a


@case.on_each((X, 3), (X, 20), (X, 0))
def one_of_two_stored_into(x, n):
    a = x + 1 if x[0] > 3 else x[1:] * 2
    for i in range(n):
        a *= 2
        a = a[a > i]
        a += 1
    return a


@case.on_each((X, 3), (X, 20), (X, 0))
def one_of_two_in_branches(x, n):
    a = x + 1 if x[0] > 3 else x[1:] * 2
    for _i in range(n):
        a *= 2
        if a[0] > 50:
            a = a[:-2]
        a += 1
    a -= 1
    return a


@pytest.mark.parametrize(("f", "call"), case)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_loops_carry_arrays_whose_sizes_change(f: Any, call: tuple[Any, ...]) -> None:
    gives_and_raises_as_numpy(f, call)


def test_what_may_be_a_part_of_an_argument_is_not_stored_into() -> None:
    @txc.jit
    def f(x: np.ndarray, n: int) -> np.ndarray:
        a = x
        for _ in range(n):
            a = a[1:]
        x[-1] = 77
        return a

    with pytest.raises(TxcError, match="a may be an array from before the loop"):
        f(X.copy(), 3)


def test_an_array_that_is_also_kept_under_another_name_is_not_copied() -> None:
    @txc.jit
    def f(x: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        a = x + 1
        b = a
        for i in range(n):
            b = a
            if a[0] > i:
                a = a[1:]
        b[0] = 100
        return a, b

    with pytest.raises(TxcError, match="TX0291"):
        f(X.copy(), 3)


def test_one_of_two_arrays_that_others_see_is_stored_into() -> None:
    def f(x: np.ndarray, n: int) -> np.ndarray:
        a = x if x[0] > 3 else x[1:]
        for i in range(n):
            a += 1
            a = a[a > i]
        return a

    compiled = txc.jit(f)
    for begin, n in ((0, 3), (0, 0), (5, 3), (-2, 2), (5, 1)):
        ours, theirs = X + begin, X + begin
        np.testing.assert_array_equal(compiled(ours, n), f(theirs, n))
        np.testing.assert_array_equal(ours, theirs)
