"""`next`, `any`, `max` and `min` of what only the compiled function knows: they end where Python's do."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

X = np.array([1.0, 5.0, 2.0, 7.0, 3.0])


def first_above(x, t):
    asked = []

    def is_above(v):
        asked.append(v)
        return v > t

    where = next((i for i, v in enumerate(x) if is_above(v)), -1)
    pair = next(((i, v) for i, v in enumerate(x) if v > t), (len(x), 0.0))
    product = next((i * j for i in range(len(x)) for j in range(3) if x[i] * j > t), None)
    none = next((v for v in x if v > t), None) is None
    return where, pair, product, none, len(asked), next(filter(lambda v: v > t, x), 0.5), next(iter(x[x > t]), -2.0)


def next_greater(x, t):
    out = np.zeros(len(x), dtype=np.int64)
    for i in range(len(x)):
        out[i] = next((j for j in range(i + 1, len(x)) if x[j] > x[i]), -1)
    cleared = 0
    while (k := next((i for i, v in enumerate(x) if v > t), None)) is not None:
        x[k], cleared = 0.0, cleared + k + 1
    return out, cleared


def without_a_default(x, t):
    x[0] = 0.0
    first = next(i for i, v in enumerate(x) if v > t)
    x[1] = 9.0
    return first


def gone_on_with(x, t):
    above, doubled, whole = (v for v in x if v > t), map(lambda v: 2 * v, x), iter(x)
    s = 0.0
    for v in above:
        if v > 4:
            break
        s += v
    seen = any(v > t for v in whole), next(whole, -1.0), all(v < 4 for v in whole), sum(whole)
    last = next(above, -2.0), sum(above), next(above, -3.0)
    if x[0] < t:
        s += next(doubled)
    for v in doubled:
        s = s * 0.5 + v
    return s, seen, last, next(doubled, None) is None


def yielded(x, t):
    def odd():
        for i in range(1, 10, 2):
            yield x[i % 5] * i

    s = k = 0
    for i, v in ((i, v) for i, v in enumerate(x) for _ in range(2) if v > t):
        s += v
        if s > 12:
            k = i
            break
    else:
        k = -1
    return next(odd()), next((v for v in odd() if v > t), -1.0), s, k


def best(x, t):
    return (
        max((v for v in x if v > t), default=-1.0),
        min((2 * v for v in x if v > t), default=0),
        max(x, default=0.0),
        max((i for i, v in enumerate(x) if v > t), default=-1),
        min(range(len(x)), key=lambda i: (abs(x[i] - t), -i)),
        min((abs(v - t), i) for i, v in enumerate(x)),
        max(enumerate(x), key=lambda pair: pair[1])[0],
        max([x[0], x[1], x[2]], key=lambda v: -v),
        min((x[0], 1), (x[0], 0)),
        max(np.nan if v == 5 else v for v in x[1:]),
        max(["b", "aa"], key=len),
    )


def greatest_above(x, t):
    return max(v for v in x if v > t)


def _outcome(f: Callable[..., Any], x: np.ndarray, t: float) -> str:
    """What a call gives, or raises, with types, and what it leaves of its argument."""
    x = x.copy()
    try:
        found = f(x, t)
    except (StopIteration, ValueError) as error:
        found = type(error), str(error)
    return repr((found, x))


FUNCTIONS = (first_above, next_greater, without_a_default, gone_on_with, yielded, best, greatest_above)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_a_search_ends_where_pythons_does(f: Callable[..., Any]):
    jitted = txc.jit(f)
    for call in ((X, 2.5), (X, 100.0), (np.tile(X, 3)[2:], 4.0)):
        assert _outcome(jitted, *call) == _outcome(f, *call)


def endless(x, t):
    return next(i for i in itertools.count() if x[i] > t)


def test_an_endless_iterator_that_values_end_is_refused():
    with pytest.raises(TxcError, match="a loop over an endless iterator ends where values") as refused:
        txc.jit(endless)(X, 2.5)
    assert "count in a while: i = 0" in str(refused.value)
