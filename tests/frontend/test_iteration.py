"""What staged loops run over: rows of tensors, `enumerate`, `zip`, `reversed`, ranges that data bound."""

from __future__ import annotations

# Names that a loop may leave unbound are what some of these are about.
# pyright: reportPossiblyUnboundVariable=false
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

from .control import every_stage, same

V = np.arange(12.0) - 3
M = V.reshape(3, 4)
K = np.array([2, 5])


def over_rows(x):
    total = x[0] * 0
    for row in x:
        total = total + row * row
    return total


def stores_into_rows(x):
    for row in x:
        row[1:] += row[:-1]
    return x


def counted(x):
    total = 0.0
    for i, v in enumerate(x, 3):
        total += i * v
    return total


def side_by_side(x):
    total = 0.0
    for a, (b, i) in zip(x[2:], zip(x, range(5, 100))):
        total += a * b - i
    return total


def with_a_list(x):
    total = 0.0
    for a, scale in zip(x, (1.0, 2.0, 5.0)):
        total += a * scale
    return total


def backwards(x):
    total = 0.0
    for v in reversed(x):
        total = total * 0.5 + v
    for i in reversed(range(1, x.shape[0])):
        total = total * 0.5 + x[i]
    return total


def in_a_comprehension(x):
    return sum([v * i for i, v in enumerate(x)])


def between(x, k):
    total = 0.0
    for i in range(k[0], k[1]):
        total += x[i]
        if total > 100:
            break
    return total


def between_downwards(x, k):
    total = 0.0
    for i in range(k[1], k[0], -1):
        total = total * 0.5 + x[i]
    return total


def stored_into_meanwhile(x):
    seen, y = [], x.reshape(3, 4)
    for i, v in enumerate(y[:, 1]):
        seen.append(v)
        y[2, 1] = -i - 1.0
    for v in y.ravel()[4:6]:
        seen.append(v)
        x[5] = 50.0
    for v, k in zip(x[:3], [1, 2, 3]):
        seen.append(v * k)
        x[2] = 70.0 + k
    return seen


def store_and_read(x, i):
    x[-1] += 1.0
    return x[i]


def stored_into_by_items(x):
    y = x.reshape(12)
    return [v + store_and_read(x, 0) for v in y[-3:]], [
        v for v, k in zip(y[-2:], "ab") if store_and_read(x, 1) > k.count("c")
    ]


@pytest.mark.parametrize("f", [stored_into_meanwhile, stored_into_by_items])
def test_items_are_what_they_are_in_their_turn(f: Callable[..., Any]):
    same(f, (V.copy(),))


@pytest.mark.parametrize("f", [counted, side_by_side, with_a_list, backwards, in_a_comprehension])
def test_of_vectors(f: Callable[..., Any]):
    every_stage(same(f, (V,), (V[:5].copy(),)), V)


@pytest.mark.parametrize("f", [over_rows, stores_into_rows])
@pytest.mark.parametrize("order", ["C", "F"])
def test_of_rows(f: Callable[..., Any], order: Any):
    jitted = same(f, (np.array(M, order=order),), (np.tile(M, (9, 1)),))
    every_stage(jitted, M)


@pytest.mark.parametrize("f", [between, between_downwards])
def test_ranges_that_data_bound(f: Callable[..., Any]):
    every_stage(same(f, (V, K), (V, K[::-1].copy()), (V, K.astype(np.int16))), V, K)


def test_the_rows_of_longer_tensors_compile_nothing():
    jitted = same(over_rows, *((np.tile(M, (n, 1)),) for n in (1, 2, 5, 30)))
    assert len(jitted.signatures()) == 1


def test_zip_of_other_lengths():
    def f(x, y):
        return sum([a * b for a, b in zip(x, y, strict=True)])

    same(f, (V, V))
    with pytest.raises(ValueError, match="different lengths"):
        txc.jit(f)(V, V[1:])


def test_a_step_that_is_a_tensor():
    def f(s, n):
        total, w = 0, 1
        for i in range(0, n, s[0]):
            total += i
        for i in range(n, 0, s[2]):
            if i == 4:
                break
            total += 100 * i
        else:
            total += 7
        while w < n:
            for i in range(0, n, 2 * w):
                for k in range(i, min(i + w, n)):
                    total = total * 3 + k
            w *= 2
        for i in range(n, s[3], s[1]):
            total -= i
        return total % 1000003, len(range(0, n, 3)), len(range(n, 1, -2)), len(range(n))

    same(f, (np.array([1, 3, -2, 7]), 10), (np.array([2, -1, -3, 0]), 5))
    with pytest.raises(ValueError, match=r"range\(\) arg 3 must not be zero"):
        txc.jit(f)(np.array([2, 0, -3, 0]), 5)


def test_what_ranges_are_asked():
    def f(n, k):
        r, i = range(k, n), 0
        while r and i < 2:
            i += 1
        return [
            i, len(r), r == range(k, n, 1), r != range(n), range(n)[:k] == range(k), r == [1], range(0) == range(k, k),
            "yes" if range(k) else "no", bool(r), not r, range(n)[-1], range(3, n + 30, k + 1)[2], [*range(n)[::-1]],
            range(n).count(2), range(n).index(0), n in range(n), (range(n), 1) == (range(n), 1),
        ]  # fmt: skip

    compiled = txc.jit(f)
    for call in ((6, 2), (1, 3), (5, 0), (7, 7)):
        assert compiled(*call) == f(*call)

    def of_elements(k, n):
        return len(range(k[0], n, 2)), len(range(n, k[1], -3)), not range(k[0]), 1 if range(k[0]) else 2

    same(of_elements, (np.array([2, -1]), 6), (np.array([-2, 9]), 6))
    with pytest.raises(IndexError, match="range object index out of range"):
        txc.jit(lambda n: range(n)[n])(4)


def test_membership_of_a_range_whose_step_is_a_tensor():
    with pytest.raises(TxcError, match="the step of a range is a tensor, whose sign is not known"):
        txc.jit(lambda x, k: k[1] in range(0, 5, k[0]))(V.copy(), K)


def test_a_number_is_no_sequence():
    def f(x):
        for v in x.sum():
            x = x + v
        return x

    with pytest.raises(TxcError, match="a loop runs over the rows of a tensor, and f64\\[\\] has none"):
        txc.jit(f)(V)


def nothing_of_a_size(x, y):
    z = x
    for i in range(len(x)):
        y[1:] = i
        for _ in range(len(x), 0):
            z = y = z
    return z, i


def nothing_in_any_iteration(x, y):
    for i in range(len(x)):
        for _ in range(i + 1, i - 1):
            y = x
        y[i] = 7
    return y


def nothing_downwards(x, y):
    s = 0.0
    for i in range(0, len(x), -1):
        s, y = s + x[i], x
    else:
        y[0] = 5
    return s, y


def nothing_bound(x, y):
    for _ in range(len(x), 0):
        w = x * 2
    return w


@pytest.mark.parametrize("f", [nothing_of_a_size, nothing_in_any_iteration, nothing_downwards, nothing_bound])
def test_a_range_that_has_no_items_whatever_the_sizes_are(f: Callable[..., Any]) -> None:
    """It binds no name, and nothing refers to another array behind it."""
    theirs, ours = [V.copy(), K.copy()[[0, 1] * 6]], [V.copy(), K.copy()[[0, 1] * 6]]
    try:
        expected = f(*theirs)
    except UnboundLocalError:
        with pytest.raises(UnboundLocalError):
            txc.jit(f)(*ours)
        return
    assert repr(txc.jit(f)(*ours)) == repr(expected)
    np.testing.assert_array_equal(ours, theirs)
