"""A literal, and a broadcast of one value, is one node of a block, however often it is written."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.frontend.trace.trace import Trace

X = np.linspace(-2, 2, 12).reshape(3, 4)


def names(function: Any) -> Counter[str]:
    """How many nodes of each op the graph of a function of one array has, loops included."""
    with Trace("f") as trace:
        graph = trace.finish(function(trace.array_input("x", X)))
    return Counter(node.op.name for node in graph.walk() if node.op is not None)


def test_literals_are_one_node_by_value_and_type():
    found = names(lambda x: ((x * 0.5 + 2) * 0.5 - 2.0) * x.max())
    assert (found["constant"], found["expand"]) == (2, 3)
    assert found["mul"] == 3


@pytest.mark.parametrize(("one", "other"), [(0.0, -0.0), (1, True), (np.float32(0.1), 0.1)])
def test_literals_that_differ_stay_apart(one: Any, other: Any):
    def both(x: Any) -> tuple[Any, Any]:
        return np.copysign(x, one), np.copysign(x, other)

    for found, expected in zip(txc.jit(both)(X), both(X), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.view(np.uint64), expected.view(np.uint64))


def test_broadcasts_of_one_value_are_one_node():
    assert names(lambda x: x - x.max() + (top := x.min()) * x - top / x)["expand"] == 2


def test_nan_is_one_literal():
    assert names(lambda x: np.maximum(x, np.nan) + np.minimum(x, np.nan))["constant"] == 1


def test_what_is_made_in_a_loop_stays_in_it():
    def looped(x: Any, n: int) -> Any:
        y = x
        for _ in range(n):
            y = y * 0.75 + 1.5
        return y * 0.75 + 1.5

    np.testing.assert_array_equal(txc.jit(looped)(X, 70), looped(X, 70))


def test_dims_that_become_equal_are_seen_under_one_name():
    def joined(x: Any, y: Any) -> Any:
        return (x + 1.5) * (y + 1.5) + 1.5

    np.testing.assert_array_equal(txc.jit(joined)(X, X[::-1]), joined(X, X[::-1]))
