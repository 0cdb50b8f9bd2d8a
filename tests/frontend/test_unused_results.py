"""What raises in Python raises where nobody uses its result: in branches that are taken, in loops that run."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.aot.export import export


def quotient(x, t, k):
    y = 1.0 / t  # noqa: F841
    return x[1]


def quotient_of_a_constant_result(x, t, k):
    y = 1.0 / t  # noqa: F841
    return 5.0


def remainder_of_ints(x, t, k):
    _ = 7 % int(t)
    return x[1]


def integer(x, t, k):
    int(x[0])
    return x[1]


def root(x, t, k):
    math.sqrt(t - 1)
    return x[1]


def element(x, t, k):
    y = x[k]  # noqa: F841
    return x[1]


def row(x, t, k):
    y = np.outer(x, x)[k]  # noqa: F841
    return x[1]


def store_into_a_local_array(x, t, k):
    z = np.zeros(3)
    z[k] = 1.0
    return x[1]


def inverse(x, t, k):
    np.linalg.inv(np.diag(x) * t)
    return x[1]


def maximum_of_a_selection(x, t, k):
    y = x[x > t].max()  # noqa: F841
    return x[1]


def quotient_of_ints(x, t, k):
    n = 8 // int(k) * 2**40  # noqa: F841
    return x[1]


def in_a_branch(x, t, k):
    if x[1] > 1:
        y = 1.0 / t  # noqa: F841
    return x[1]


def in_a_conditional_expression(x, t, k):
    y = 1.0 / t if x[1] > 1 else 2.0  # noqa: F841
    return x[1]


def in_a_short_circuit(x, t, k):
    y = x[1] > 1 and 1.0 / t > 1  # noqa: F841
    return x[1]


def in_a_for(x, t, k):
    for v in x:
        y = float(v) / t  # noqa: F841
    return x[1]


def in_a_for_in_a_branch(x, t, k):
    for v in x:
        if v > 1:
            y = float(v) / t  # noqa: F841
    return x[1]


def in_a_while(x, t, k):
    i = 0
    while i < k and x[i] < 9:
        y = 1.0 / t  # noqa: F841
        i += 1
    return x[1]


def in_a_while_that_may_not_run(x, t, k):
    s = x[1]
    while s > 2:
        s -= 4.0 / (t - 1)
    return s


def in_a_comprehension(x, t, k):
    y = [1.0 / float(v) for v in x]  # noqa: F841
    return x[1]


def in_a_function(x, t, k):
    def inner(v):
        w = 1.0 / v  # noqa: F841
        return v

    return inner(t) + x[1]


def behind_a_size_that_values_decide(x, t, k):
    y = x[x > 0][: len(x) - 1]
    _ = 1.0 / t
    return y.sum()


def behind_an_error_of_its_own(x, t, k):
    if t < 0:
        raise KeyError("negative")
    y = 1.0 / t  # noqa: F841
    if x[1] > 1:
        raise LookupError("large")
    return x[1]


FUNCTIONS: list[Callable[..., Any]] = [
    quotient, quotient_of_a_constant_result, remainder_of_ints, integer, root, element, row, store_into_a_local_array,
    inverse, maximum_of_a_selection, quotient_of_ints, in_a_branch, in_a_conditional_expression, in_a_short_circuit,
    in_a_for, in_a_for_in_a_branch, in_a_while, in_a_while_that_may_not_run, in_a_comprehension, in_a_function,
    behind_a_size_that_values_decide, behind_an_error_of_its_own,
]  # fmt: skip

CALLS = [
    (np.array([1.0, 2, 3]), 2.0, np.int64(1)),
    (np.array([1.0, 2, 3]), 0.0, np.int64(0)),
    (np.array([math.nan, 2, 3]), 1.0, np.int64(7)),
    (np.array([0.0, 1, 1]), 0.0, np.int64(-4)),
    (np.array([5.0, 2]), -1.0, np.int64(2)),
]


def outcome(f: Callable[..., Any], x: np.ndarray, *others: Any) -> Any:
    """What a call gives, or the kind of its error, and what it leaves of the array."""
    x = x.copy()
    try:
        with np.errstate(all="ignore"):
            result = repr(f(x, *others))
    except Exception as error:
        result = next(kind for kind in type(error).__mro__ if not kind.__module__.startswith("txc"))
    return result, x.tobytes()


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_it_raises(f: Callable[..., Any]):
    jitted = txc.jit(f)
    outcomes = [outcome(f, *call) for call in CALLS]
    assert [outcome(jitted, *call) for call in CALLS] == outcomes
    assert len({str(result) for result, _ in outcomes}) > 1


def tried_and_given_up(x, t, k):
    """Its loop is tried as one of compiled code first, which the texts do not allow."""
    made = {}
    for i in range(3):
        made[f"{i}"] = x[i] / t
        y = 1.0 / (t - i)  # noqa: F841
    return made["1"]


def test_what_was_tried_is_forgotten():
    jitted = txc.jit(tried_and_given_up)
    for t in (0.5, 2.0, 7.0):
        call = (np.array([1.0, 2, 3]), t, np.int64(0))
        assert outcome(jitted, *call) == outcome(tried_and_given_up, *call)


def test_what_surely_holds_is_not_in_the_code():
    def f(x, t):
        n = 0
        for v in x:
            n += int(v > t)
            m = n + 1  # noqa: F841
        return x * 2

    graph = txc.jit(f).graph(np.ones(3), 2.0)
    assert [node.op.name for node in graph.walk() if node.op is not None and node.regions] == []


def test_exported_code_checks_nothing(tmp_path: Any):
    def f(x, t):
        if x[0] > 0:
            y = 1.0 / t  # noqa: F841
        return x * 2

    paths = export(txc.jit(f), emit="obj", output=tmp_path / "f.o", signature="x: f64[n], t: f64")
    assert [path.suffix for path in paths] == [".o", ".h"]
