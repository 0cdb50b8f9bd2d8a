"""Sizes that values decide in compiled functions: values, dtypes, shapes and errors are NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

RNG = np.random.default_rng(5)
X = RNG.normal(size=17)
ALL, NONE = np.ones(17, np.bool_), np.zeros(17, np.bool_)
SOME = X > 0
ONE = np.arange(17) == 3
A = RNG.normal(size=(6, 4))
N = RNG.integers(0, 5, 20)
K = np.array([5, 3, 0, -2, 5000, 1])


def same(got: Any, expected: Any) -> None:
    if isinstance(expected, (tuple, list)):
        assert type(got) is type(expected) and len(got) == len(expected)
        for a, b in zip(got, expected):
            same(a, b)
        return
    a, b = np.asarray(got), np.asarray(expected)
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def check(f: Callable[..., Any], *arguments: np.ndarray, **options: Any) -> None:
    """The result, and what is left in the arguments; of calls by Python, and by the native entry."""
    jitted = txc.jit(f, **options)
    for _ in range(3):
        here, there = [a.copy() for a in arguments], [a.copy() for a in arguments]
        with np.errstate(all="ignore"):
            expected = f(*here)
        same(jitted(*there), expected)
        same(there, here)


@pytest.mark.parametrize("mask", [SOME, ALL, NONE, ONE], ids=["some", "all", "none", "one"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "i8", "u1", "?", "c16"])
def test_chosen_elements(dtype: str, mask: np.ndarray):
    x = (X * 10).astype(np.int64).astype(dtype)
    check(
        lambda x, m: (x[m], x[m].size, x[m][::-1], np.nonzero(x)[0], x[x != 0], x[m].sum()), x, mask, check_bounds=True
    )


def test_chosen_elements_of_no_elements():
    check(lambda x: (x[x > 0], np.nonzero(x), np.unique(x)), X[:0])


MASKS = {
    "rows": lambda a: (a[a[:, 0] > 0], a[:, a[0] > 0], a[a > 0], a.T[a.T > 0]),
    "places": lambda a: (np.nonzero(a > 0), np.argwhere(a > 0), np.flatnonzero(a > 0), np.where(a > 0)),
    "compress": lambda a: (np.compress(a[:, 1] > 0, a, axis=0), np.extract(a > 0, a)),
    "computed": lambda a: (np.exp(a[a > 0]) + 1, np.sort(a[a > 0]), np.outer(a[a > 0], a[0]), a[a > 0] @ a[a > 0]),
    "folds": lambda a: (a[a > 0].max(), a[a > 0].mean(), np.median(a[a > 9]), a[a > 9].sum(), a[a > 0].std()),
    "of chosen": lambda a: (a[a > 0][a[a > 0] > 0.5], a[a > 0][1:], a[a > 0][-1]),
}


@pytest.mark.parametrize("f", MASKS.values(), ids=MASKS)
def test_masks_of_matrices(f: Callable[..., Any]):
    with pytest.warns(RuntimeWarning) if f is MASKS["folds"] else np.errstate():
        check(f, A)


def test_stores_by_masks():
    def f(x, m):
        x[m] *= 2
        x[~m] = x[~m][::-1]
        y = x[m]
        y[0] = 100
        y[1:] -= y[:-1]
        return x, y

    check(f, X, SOME)


SETS = {
    "unique": lambda a, b: (np.unique(a), np.unique(a, return_index=True, return_inverse=True, return_counts=True)),
    "sets": lambda a, b: (np.union1d(a, b), np.intersect1d(a, b), np.setdiff1d(a, b), np.setxor1d(a, b), np.isin(a, b)),
    "repeat": lambda a, b: (np.repeat(b, b), np.repeat(b, a[0]), np.bincount(a)),
    "delete": lambda a, b: (np.delete(a, b), np.delete(a, b[0]), np.delete(a, a > 2)),
    "insert": lambda a, b: (np.insert(a, b, 7), np.insert(a, b[0], [1, 2]), np.insert(a, a > 2, 0)),
}


@pytest.mark.parametrize("f", SETS.values(), ids=SETS)
def test_functions(f: Callable[..., Any]):
    check(f, N, N[:7] + 1)


def test_means_of_clusters():
    def f(x, labels):
        centres = np.zeros((3, x.shape[1]))
        for k in range(3):
            centres[k] = x[labels == k].mean(axis=0)
        return centres

    check(f, A, np.array([0, 1, 2, 0, 1, 1]))


def test_a_sparse_product():
    dense = np.where(np.abs(A) > 0.6, A, 0)
    rows, columns = np.nonzero(dense)
    starts = np.concatenate([[0], np.cumsum((dense != 0).sum(1))])

    def f(indptr, indices, data, x):
        y = np.zeros(indptr.size - 1)
        for i in range(indptr.size - 1):
            y[i] = data[indptr[i] : indptr[i + 1]] @ x[indices[indptr[i] : indptr[i + 1]]]
        return y

    check(f, starts, columns, dense[rows, columns], X[:4])


def test_a_sieve():
    def f(x):
        p = np.ones(x.size, dtype=np.bool_)
        p[:2] = False
        for i in range(2, x.size):
            if p[i]:
                p[i * i :: i] = False
        return np.flatnonzero(p)

    check(f, np.zeros(60))


@pytest.mark.parametrize("k", [(-6, 4, 1), (3, -1, 2), (4, -9, -1), (0, 9, -3), (9, 0, -20), (2, 2, 20)])
def test_slices_by_elements(k: tuple[int, ...]):
    check(lambda x, k: (x[k[0] : k[1] : k[2]], x[k[0] :], x[: k[1]], x[:: k[2]], x[k[0] : 3 : -1]), X[:5], np.array(k))


def test_sizes_without_a_bound():
    def f(k):
        return np.arange(int(k[0])), np.zeros((k[1], 2)), np.arange(k[4]), np.arange(k[0], k[3], -1)

    check(f, K)


def test_arguments_are_written_once_where_a_call_is_repeated():
    def f(x, k):
        x += 1
        return np.arange(k[4]).sum() + x.sum()

    check(f, X, K)


RAISES = {
    "add": (lambda x, m, n: x[m] + x[n], ValueError, "could not be broadcast"),
    "add to all": (lambda x, m, n: x[m] + x, ValueError, "could not be broadcast"),
    "store": (lambda x, m, n: x.__setitem__(m, x[n]), ValueError, "shape mismatch"),
    "dot": (lambda x, m, n: x[m] @ x[n], ValueError, "contracted dims differ"),
    "stack": (lambda x, m, n: np.stack([x[m], x[n]]), ValueError, "must have the same shape"),
    "reshape": (lambda x, m, n: x[n].reshape(2, -1), ValueError, "cannot reshape"),
    "max of none": (lambda x, m, n: x[n & ~n].max(), ValueError, "has no elements"),
    "index": (lambda x, m, n: x[m][17], IndexError, "index 17 is out of bounds"),
    "negative": (lambda x, m, n: np.zeros(n.sum() - 9), ValueError, "negative dimensions"),
}


@pytest.mark.parametrize(("f", "error", "text"), RAISES.values(), ids=RAISES)
def test_what_numpy_raises(f: Callable[..., Any], error: type[Exception], text: str):
    three = np.arange(17) < 3
    with pytest.raises(error):
        f(X.copy(), SOME, three)
    with pytest.raises(error, match=text):
        txc.jit(f)(X.copy(), SOME, three)


def test_a_size_of_one_broadcasts():
    check(lambda x, m, n: (x[n] + x[m], x[m] * x[n], x[n] - x), X, SOME, ONE)


def leaves_a_branch(x, m):
    if x[0] > 0:
        z = x[m]
    else:
        z = x[~m]
    return z.sum()


def has_another_size_from_a_branch(x):
    w = x[:0]
    if x[0] > 0:
        w = x[x > 1]
    return w, len(w), w.sum(), w * 2


def has_two_names_in_a_branch(x):
    if x[0] > 0:
        w = x[x > 1]
        w[:1] = 9
        v = w
    else:
        w = np.unique(x)
        v = x
    w += 1
    return v, w


def is_a_matrix_or_a_vector(x):
    if x[0] > 0:
        w = np.outer(x[x > 1], x)
    else:
        w = x[x > -2]
    s = np.float64(0)
    for q in w:
        s += q.sum()
    return w, s, w.shape


def chooses_twice(x):
    if x[0] > 0:
        w = x[x > 1]
        if x[1] > 0:
            w = w[w > 2]
    else:
        w = x[:0]
    return w


def of_two_sizes_by_values(x):
    w = x[x > 1]
    if x[0] > 0:
        w = x[x > 2]
    y = np.zeros(5)
    y[: len(w)] = w
    return y, w


@pytest.mark.parametrize(
    "f",
    (
        has_another_size_from_a_branch, has_two_names_in_a_branch, is_a_matrix_or_a_vector, chooses_twice,
        of_two_sizes_by_values,
    ),
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_sizes_leave_branches(f: Callable[..., Any]):
    jitted = txc.jit(f)
    for values in ([1.0, 2, 3], [-1.0, -2, -3], [3.0, 3, -1, 2], [1.0, 1]):
        ours, theirs = np.array(values), np.array(values)
        assert repr(jitted(ours)) == repr(f(theirs)) and repr(ours) == repr(theirs), values


def test_sums_of_what_a_branch_chose():
    check(leaves_a_branch, X, SOME)


def leaves_a_branch_in_parts(x, m):
    if x[0] > 0:
        w = x[m]
        v = w[:1]
    else:
        w = v = x
    v[:] = 7
    return w, v


REFUSED = [
    (leaves_a_branch_in_parts, "leaves the loop or branch that made it"),
    (lambda x, m: x[m].squeeze(), "the rank of what squeeze leaves"),
]


@pytest.mark.parametrize(("f", "text"), REFUSED)
def test_refused(f: Callable[..., Any], text: str):
    with pytest.raises(TxcError, match=text) as caught:
        txc.jit(f)(X, SOME)
    assert caught.value.code == "TX0252"


def test_refused_on_a_gpu():
    with pytest.raises(TxcError, match="has a size that values decide"):
        txc.jit(lambda x: x[x > 0], device="ptx-sim")(X)
