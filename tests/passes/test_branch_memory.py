"""Memory of temporaries in branches: one branch leaves what the other one needs, though it does not itself."""

from __future__ import annotations

import numpy as np
import pytest

import txc
from txc.compiler.interpret.bisect import bisect


def fills_or_stores(x, y):
    s = y[2]
    if s <= 1.0:
        x, y = y, x
    y += 1
    if s <= 1.0:
        for i in range(5):
            x[0] = 1.0
            y[i] = 1.0
    else:
        y[0] = 1
        y[1] = 0
    return x


def works_apart(x, y):
    a, b = np.cumsum(x), np.cumsum(y)
    if x[0] > 0:
        c = np.cumsum(a[::-1])
        d = np.cumsum(c[::-1])
        return np.cumsum(d[::-1]) + x
    c = np.cumsum(y[::-1])
    return np.cumsum(c[::-1]) + a[::-1] * b


def raises_or_works(x, y):
    s = y[2]
    if s <= 1.0:
        x, y = y, x
    if s <= 1.0:
        raise TypeError("a")
    y += 1
    if s <= 1.0:
        for i in range(5):
            x[0] = 1.0
            y[i] = 1.0
    else:
        y[0] = 1
        y[1] = 0
    return x


PROGRAMS = [fills_or_stores, works_apart, raises_or_works]


@pytest.mark.parametrize("f", PROGRAMS)
@pytest.mark.parametrize("first", [-3.0, 6.0])
def test_a_branch_leaves_what_the_other_needs(f, first):
    def arrays():
        return np.arange(5) * 3.0 % 7, np.arange(5) * 3.0 % 7 + first - 6.0

    theirs, ours = arrays(), arrays()
    try:
        expected = f(*theirs)
    except TypeError:
        with pytest.raises(TypeError, match="a"):
            txc.jit(f)(*ours)
    else:
        np.testing.assert_array_equal(txc.jit(f)(*ours), expected)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("f", PROGRAMS)
def test_every_stage_agrees(f):
    x, y = np.arange(5) * 3.0 % 7, np.arange(5) * 3.0 % 7
    report = bisect(txc.jit(f).graph(x, y), {"x": x, "y": y})
    assert report.culprit is None, str(report)
