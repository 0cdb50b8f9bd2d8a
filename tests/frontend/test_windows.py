"""Windows whose size is an argument, a size or data: in loops, in comprehensions and outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

from .control import same

RNG = np.random.default_rng(0)
X = RNG.random(40)


def around(x, k):
    out = np.empty(len(x))
    for i in range(len(x)):
        lo, hi = max(0, i - k), min(len(x), i + k + 1)
        out[i] = np.sqrt(np.mean(x[lo:hi] ** 2))
    return out


def medians(x, r):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = np.median(x[max(0, i - r) : i + r + 1])
    return out


def sorted_windows(x, r):
    out = np.empty(len(x))
    for i in range(len(x)):
        out[i] = np.sort(x[max(0, i - r) : i + r + 1])[0]
    return out


def medians_of_equal_windows(x, k):
    return np.array([np.median(x[i : i + k]) for i in range(len(x) - k + 1)])


def boxes(x, r):
    h, w = x.shape
    out = np.empty((h, w))
    for i in range(h):
        for j in range(w):
            out[i, j] = x[max(0, i - r) : i + r + 1, max(0, j - r) : j + r + 1].mean()
    return out


def frames(x, w, hop):
    n = len(w)
    return np.array([x[i * hop : i * hop + n] * w for i in range((len(x) - n) // hop + 1)])


def frames_stored(x, w, hop):
    n = len(w)
    out = np.empty(((len(x) - n) // hop + 1, n))
    for i in range(len(out)):
        out[i] = x[i * hop : i * hop + n] * w
    return out


def overlapped(x, hop):
    n = x.shape[1]
    out = np.zeros(hop * (len(x) - 1) + n)
    for i in range(len(x)):
        out[i * hop : i * hop + n] += x[i]
    return out


def along(x, start, hop, n):
    out = np.zeros((n, 4))
    for i in range(n):
        part = x[start + i * hop : start + i * hop + 4]
        out[i, : len(part)] = part
    return out


def sums(x, k):
    out = np.zeros(len(x) - k + 1)
    for i in range(len(x) - k + 1):
        out[i] = x[i : i + k].sum()
    return out


def before(x, fast, slow):
    """The counter is in both bounds and in neither's difference."""
    out = np.zeros(len(x))
    for i in range(slow, len(x)):
        out[i] = x[i - fast : i].sum() - x[i - slow : i].sum()
    return out


def segments(x, lo, hi):
    return np.array([x[lo[i] : hi[i]].mean() for i in range(len(lo))])


def one(x, i, k):
    return x[i : i + k].sum(), x[i : i + k] * 2


def windows_of_two(x, y):
    for i in range(len(x)):
        x[i - 1 : i + 2] *= y[i - 1 : i + 2] + 1
        y[max(0, i - 1) : i + 1] = x[max(0, i - 1) : i + 1]
    return x


BOUNDS = np.array([0, 3, 7, 20]), np.array([5, 9, 15, 39])
CASES: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {
    "around": (around, [(X, 3), (X, 0), (X[:5], 9)]),
    "medians": (medians, [(X, 3), (X[:7], 1)]),
    "sorted windows": (sorted_windows, [(X, 2), (X[:7], 20)]),
    "medians of equal windows": (medians_of_equal_windows, [(X, 5), (X, 4)]),
    "boxes": (boxes, [(X.reshape(5, 8), 2), (X.reshape(8, 5), 1)]),
    "frames": (frames, [(X, X[:16], 4), (X, X[:7], 3)]),
    "frames stored": (frames_stored, [(X, X[:16], 4), (X, X[:7], 3)]),
    "overlapped": (overlapped, [(X.reshape(5, 8), 4), (X.reshape(8, 5), 5)]),
    "along": (along, [(X, 3, 4, 5), (X, 30, -3, 6), (X, 7, 0, 3)]),
    "sums": (sums, [(X, 5), (X, 40)]),
    "before": (before, [(X, 2, 4), (X, 4, 2), (X, 0, 3), (X[:3], 2, 4), (X, -1, 5)]),
    "segments": (segments, [(X, *BOUNDS)]),
    "windows of two": (windows_of_two, [(X, X[::-1]), (X[:7], X[7:14]), (X[:2], X[5:7]), (X[:1], X[:1])]),
    "one": (one, [(X, 3, 7), (X, -5, 3), (X, 38, 9)]),
}


@pytest.mark.parametrize("name", CASES)
def test_windows_are_those_of_numpy(name: str):
    f, calls = CASES[name]
    same(f, *calls)


def test_windows_of_arrays_of_other_sizes_are_refused_not_taken_to_be_equal():
    jitted = same(windows_of_two, (X, X))
    with pytest.raises(TxcError, match="mul cannot broadcast") as caught:
        jitted(X.copy(), X[:9].copy())
    assert caught.value.code == "TX0211"


def test_sorted_windows_of_any_size():
    def f(x, size):
        view = np.lib.stride_tricks.sliding_window_view(x, size)
        # A quotient that no polynomial of the sizes is, so that runs in memory begin where the row says.
        rows = view.reshape(view.shape[0], view.size // view.shape[0])
        return np.median(view, axis=-1), np.sort(rows, axis=1)

    compiled = txc.jit(f)
    for count, size in ((9, 3), (12, 4)):
        x = np.random.default_rng(count).standard_normal(count)
        for got, expected in zip(compiled(x, size), f(x, size), strict=True):
            np.testing.assert_array_equal(got, expected)
    assert len(compiled.signatures()) == 1


def test_as_many_pieces_as_an_argument_says():
    def f(x, count):
        return [part.sum() for part in np.array_split(x, count)]

    compiled = txc.jit(f)
    for count in (2, 3):
        assert compiled(np.arange(7.0), count) == f(np.arange(7.0), count)
