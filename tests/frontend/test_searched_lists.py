"""Lists whose items only compiled code knows, sorted and searched as Python does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

from .programs.interpreted import interpreted
from .test_items_of_several_types import kept

CALLS = ([3.0, 1.0, 2.0, 4.0, 1.0], [2.0, 1.0, 3.0])


def numbers_once_each(x):
    seen = []
    for i in range(len(x)):
        v = int(x[i])
        if v not in seen:
            seen.append(v)
    return seen, 3 in seen, seen.count(3), 2.0 in seen, 2.5 in seen, seen.index(1)


def sorted_numbers(x):
    out = [v for v in x]
    out.sort()
    positions = []
    for i in range(len(x)):
        if x[i] > 1:
            positions.append(i)
    return out, sorted(x, reverse=True), sorted(-v for v in x), sorted([x[1], x[0], 2]), sorted(positions)[-1]


def zeros_in_their_order(x):
    b = [v * 0.0 for v in x] + [v * -0.0 for v in x]
    return sorted(b), sorted(b, reverse=True)


def pairs_and_keys(x):
    out = [(x[i], i) for i in range(len(x))]
    out.sort()
    by_position = sorted(range(len(x)), key=lambda i: x[i])
    out2 = [i if x[i] > 2 else 0.5 for i in range(len(x))]
    out2.sort(key=lambda v: -v)
    return out, sorted(out, key=lambda t: -t[1]), by_position, sorted(out2), out2


def median(x):
    xs = sorted(x)
    n = len(xs)
    return xs[n // 2] if n % 2 else (xs[n // 2 - 1] + xs[n // 2]) / 2


def changed(x):
    xs = list(x)
    xs.append(5.0)
    xs.insert(1, 9.0)
    del xs[2]
    first = xs.pop(0)
    xs.insert(-1, 7)
    xs.remove(9.0)
    return xs, xs[::-1], first


def counting_sort(x):
    count = [0] * 5
    out = [0.0] * len(x)
    for v in x:
        count[int(v)] += 1
    for i in range(1, 5):
        count[i] += count[i - 1]
    for i in range(len(x) - 1, -1, -1):
        count[int(x[i])] -= 1
        out[count[int(x[i])]] = x[i]
    return out, count, [[1.5, 2.5, 3.5][int(v) % 3] for v in x]


@pytest.mark.parametrize(
    "f", [numbers_once_each, sorted_numbers, zeros_in_their_order, pairs_and_keys, median, changed, counting_sort]
)
def test_as_python(f: Callable):
    jitted = txc.jit(f)
    for values in CALLS:
        with interpreted():
            got = jitted(np.array(values))
        assert kept(got) == kept(f(np.array(values))) and repr(got) == repr(f(np.array(values)))


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda x: sorted(x), "the order of a list that has NaN"),
        (lambda x: x[1] in [v for v in x], "whether NaN is in a list"),
        (lambda x: [int(v) for v in x[2:]].index(7), "not in list"),
        (lambda x: [int(v) for v in x[2:]].remove(7), "not in list"),
    ],
)
def test_what_a_call_raises(f: Callable, text: str):
    with pytest.raises(ValueError, match=text):
        txc.jit(f)(np.array([1.0, np.nan, 2.0]))


def test_orders_that_values_decide_of_what_is_no_number():
    with pytest.raises(TxcError, match="in the order of items that are no numbers"):
        txc.jit(lambda x: sorted([x, x]))(np.arange(3.0))
