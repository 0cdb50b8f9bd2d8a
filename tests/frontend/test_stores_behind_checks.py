"""Where an error is raised by itself (an index, a division, a number that does not fit), later stores do not happen.

What was stored before it is stored, also in earlier iterations of loops; the expected arrays are Python's.
"""

# pyright: reportUnusedExpression=false
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.frontend.trace.graph import Graph

#: Which elements machine code touches is asked here.
pytestmark = pytest.mark.vectors

CAPTURED = np.arange(4.0)
IN_A_LIST = [np.arange(3.0), np.arange(4.0)]


def straight(x, t, k):
    v = x * 2
    1.0 / t
    x[:] = v


def between_stores(x, t, k):
    x[0] = 7
    y = x[k]
    x[1] = y
    int(t)
    x[-1] = 9
    return y


def one_value_into_two_arrays(x, t, k):
    v = CAPTURED * t
    x[:3] = v[:3]
    7 % int(t)
    CAPTURED[:] = v
    x[:3] = v[1:]
    1.0 / t
    CAPTURED[:] = v + 1


def of_the_stored_value(x, t, k):
    for i in range(len(x)):
        x[i] = 1.0 / (t - i)


def checks_behind_the_store(x, t, k):
    for i in range(len(x)):
        x[i] = 5
        x[(i * k) % 7] += 1
        int(t)


def indexed_updates(x, t, k):
    at = np.array([0, 1, k, 2, 0])
    for i in range(5):
        x[at[i]] += x[at[i] - 1]
    return x


def in_a_branch(x, t, k):
    if x[0] > 0:
        x[1] = 8
        x[2] = 1.0 / t
    else:
        y = x[k]
        x[1] = y
    x[0] = 9


def branch_behind(x, t, k):
    y = 1.0 / t
    if x[0] > 0:
        x[1] = y
    elif x[1] > 1:
        x[2] = y
    else:
        CAPTURED[1] = y
    return y


def branches_in_a_loop(x, t, k):
    for i in range(len(x)):
        if x[i] > 1:
            if x[i] > 2:
                CAPTURED[i] = x[i + k]
            x[i] = 0
        elif i > 0:
            x[i] = 1.0 / (t - i)
        x[i] += 1


def nested_loops(x, t, k):
    for i in range(3):
        for j in range(len(x)):
            x[j] += i
            x[(j + i) % (k + 2)] *= 2
        1.0 / (t - i)


def loop_behind(x, t, k):
    x[0] += 1
    y = x[k]
    for i in range(len(x)):
        x[i] += y
    return x.sum()


def behind_a_loop(x, t, k):
    y = 0.0
    for i in range(len(x)):
        y = y + 1.0 / (t - i)
    x[0] = y
    return y


def loops_behind_each_other(x, t, k):
    for i in range(len(x)):
        x[i] = i
    for i in range(2):
        CAPTURED[i + k] = 6
    for i in range(len(x)):
        x[i] = -i


def in_a_while(x, t, k):
    i = 0
    while x[i] < 100:
        x[i] = i + 1.0 / (t - i)
        i += 1


def while_behind(x, t, k):
    1.0 / t
    while x[0] < 10:
        x[0] += abs(t)


def left_early(x, t, k):
    for i in range(len(x)):
        if x[i] == t:
            break
        x[i] = x[i - k]
    x[0] = 1


def through_views(x, t, k):
    z = x[1:]
    z[0] = 4
    w = z[::-1]
    int(t)
    w[1:] = 1.0 / t
    w[0] = x[k]


def through_functions(x, t, k):
    def put(a, i):
        a[0] = 1.0 / t
        return a[i:]

    h = put(x, 1)
    put(h, 0)[0] = x[k]
    return h


def of_nothing(x, t, k):
    y = x[x > t]
    x[0] = y.max()
    x[1] = 2


def updates_of_all(x, t, k):
    x += 1
    x *= x[k]
    x -= 1.0 / t


def with_out(x, t, k):
    np.add(x, 1, out=x)
    y = x[k]
    np.multiply(x, y, out=x)
    np.add(x, 1.0 / t, out=x[:])


def at_indices(x, t, k):
    at = np.array([0, k])
    x[at] = 5
    x[at - 1] += x[at + 1]
    np.add.at(x, at * 2, 1)


def where_true(x, t, k):
    x[x > 2] = 1.0 / t
    x[x > 1] = x[k]


def methods(x, t, k):
    x.sort()
    y = x[k]
    x.fill(y)
    np.copyto(x, 1.0 / t)


def captured(x, t, k):
    CAPTURED[0] += 1
    IN_A_LIST[1][2] = 1.0 / t
    IN_A_LIST[0][k] = 2
    CAPTURED[1] = x[k]


def chosen(x, t, k):
    y = x if x[0] > 0 else CAPTURED
    y[0] = 1.0 / t
    y[k] = 3
    y[1] = 2


def references(x, t, k):
    y, z = x, CAPTURED
    for i in range(3):
        y, z = z, y
        y[i] = 1.0 / (t - i)
    z[0] = -1


def behind_an_error_of_its_own(x, t, k):
    if x[0] < 0:
        raise KeyError("negative")
    y = x[k]
    x[0] = y
    assert t > 0, "small"
    x[1] = 1.0 / (t - 1)


def sizes_by_values(x, t, k):
    y = x[x > t] * 2
    x[0] = len(y)
    z = y[k]
    x[1] = z
    return z


def a_matrix(x, t, k):
    y = x.reshape(-1, 1)
    y[:, 0] = y[k] * 2
    y.T[0, 0] = 1.0 / t


def items_of_lists(x, t, k):
    rows = [x, x[1:], CAPTURED]
    for row in rows:
        row[0] = row[k] + 1
    return rows[1]


FUNCTIONS: list[Callable[..., Any]] = [
    straight, between_stores, one_value_into_two_arrays, of_the_stored_value, checks_behind_the_store,
    indexed_updates, in_a_branch, branch_behind, branches_in_a_loop, nested_loops, loop_behind, behind_a_loop,
    loops_behind_each_other, in_a_while, while_behind, left_early, through_views, through_functions, of_nothing,
    updates_of_all, with_out, at_indices, where_true, methods, captured, chosen, references,
    behind_an_error_of_its_own, sizes_by_values, a_matrix, items_of_lists,
]  # fmt: skip

CALLS = [
    ([1.0, 2, 3], 2.0, 1),
    ([1.0, 2, 3], 0.0, 0),
    ([1.0, 2, 3, 4], 0.5, 9),
    ([-1.0, 2, 3], 0.5, -4),
    ([4.0, 1, 2], 1.0, 2),
    ([-1.0, 2, 3], 1.0, 2),
    ([1.0, 2, 3], 2.0, 1),
    ([1e12, 2e7, 3e8], 0.0, -1),
    ([5.0, 2, 5], 0.0, 7),
    ([math.nan, 2, 1e300], 3.5, 0),
    ([1.0, 2, 3], 0.5, 0),
]


def outcome(f: Callable[..., Any], x: np.ndarray, t: float, k: int) -> tuple[Any, ...]:
    """What a call returns or raises, and what it leaves in the argument and in what is captured."""
    CAPTURED[:] = np.arange(4.0)
    IN_A_LIST[0][:], IN_A_LIST[1][:] = np.arange(3.0), np.arange(4.0)
    result = error = None
    try:
        result = np.array(f(x, t, np.int64(k)))
    except (ArithmeticError, ValueError, LookupError, AssertionError) as raised:
        error = next(kind for kind in type(raised).__mro__ if kind.__module__ in ("builtins", "numpy"))
    return result, error, x.copy(), CAPTURED.copy(), *(a.copy() for a in IN_A_LIST)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_arrays_are_what_python_leaves(f: Callable[..., Any]) -> None:
    made = txc.jit(f)
    for x, t, k in CALLS:
        want = outcome(f, np.array(x), t, k)
        np.testing.assert_equal(outcome(made, np.array(x), t, k), want, f"{x} {t} {k}")


@pytest.mark.parametrize("f", FUNCTIONS[:10], ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_arrays_of_other_layouts(f: Callable[..., Any]) -> None:
    """Also where the call works on a copy."""
    made = txc.jit(f)
    for x, t, k in CALLS[:5]:
        for lay in (
            lambda a: np.repeat(a, 2)[::2],
            lambda a: a[::-1],
            lambda a: np.frombuffer(b"\0" + a.tobytes(), "u1").copy()[1:].view("f8"),
            lambda a: np.array([(0, v) for v in a], dtype="u1,f8")["f1"],
        ):
            want = outcome(f, lay(np.array(x)), t, k)
            np.testing.assert_equal(outcome(made, lay(np.array(x)), t, k), want, f"{x} {t} {k}")


def test_arrays_that_share_memory() -> None:
    def f(x, y, k):
        x[1:] = y[:-1]
        z = x[k]
        y[:] = z

    for k in (1, 9, 1, -8):
        found = []
        for g in (f, made_of(f)):
            a = np.arange(5.0)
            try:
                g(a[:4], a[1:], np.int64(k))
            except IndexError:
                a[4] = -1
            found.append(a)
        np.testing.assert_array_equal(*found)


MADE: dict[Callable[..., Any], Any] = {}


def made_of(f: Callable[..., Any]) -> Any:
    return MADE.setdefault(f, txc.jit(f))


def test_arguments_in_containers() -> None:
    def f(arrays, named, t):
        arrays[0][0] = 1
        named["a"][:] = 1.0 / t
        arrays[1][0] = 2

    for t in (2.0, 0.0, 0.5, 0.0):
        found = []
        for g in (f, made_of(f)):
            a, b, c = (np.zeros(2) for _ in range(3))
            try:
                g([a, b], {"a": c}, t)
            except ZeroDivisionError:
                a[1] = -1
            found.append([a, b, c])
        np.testing.assert_array_equal(*found)


def test_the_error_of_the_first_iteration_is_raised() -> None:
    def f(x, at):
        for i in range(len(at)):
            x[at[i]] = 1.0
            int(x[at[i] - 1])

    x = np.array([1.0, math.nan, 2.0])
    with pytest.raises(ValueError, match="cannot convert float NaN to integer"):
        txc.jit(f)(x.copy(), np.array([2, 7]))
    with pytest.raises(IndexError):
        txc.jit(f)(x.copy(), np.array([7, 2]))


def test_the_error_of_the_last_iteration_of_a_while_is_raised() -> None:
    def f(x, t):
        i = 0
        while x[i] > 0:
            1.0 / (t - i)
            i += 1
        return i

    for t in (2.0, 7.0):
        for g in (f, txc.jit(f)):
            with pytest.raises(ZeroDivisionError if t == 2 else IndexError):
                g(np.ones(3), t)


def test_a_tx_function_stores_nothing_behind_an_index_outside() -> None:
    body = "    x[0] = 5.0\n    x[at] = 7.0\n    x[1] = 9.0\n    return x\n"
    made = txc.compile_source(f"def f(x: f64[n], at: i64[m]) -> f64[n]:\n{body}")
    x = np.arange(4.0)
    with pytest.raises(IndexError):
        made.f(x, np.array([3, 4]))
    np.testing.assert_array_equal(x, [5, 1, 2, 3])
    made.f(x, np.array([3, 2]))
    np.testing.assert_array_equal(x, [5, 9, 7, 7])


def test_tensors_in_memory() -> None:
    for at in ([0, 1], [0, 9]):
        x = txc.TensorMap(np.arange(3.0))
        if 9 in at:
            with pytest.raises(IndexError):
                x[np.array(at)] = 5.0
            np.testing.assert_array_equal(x, [0, 1, 2])
        else:
            x[np.array(at)] = 5.0
            np.testing.assert_array_equal(x, [5, 5, 2])


def ops(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.walk() if node.op is not None]


def test_programs_whose_checks_surely_hold_have_no_branches() -> None:
    def proven(x):
        n = 0
        for i in range(len(x)):
            x[i] = n
            n = n + 1
            x[i] += n * 3
        return x

    assert not {"if", "stored"} & set(ops(txc.jit(proven).graph(np.zeros(9))))


def test_one_branch_has_all_stores_up_to_the_next_check() -> None:
    def f(x, y, k):
        x[0] = x[k]
        y[1:] = x[:-1] * 2
        x[1] = y.sum()
        y[0] = 3
        return y * 2

    assert ops(txc.jit(f).graph(np.zeros(5), np.zeros(5), np.int64(1))).count("if") == 1
    assert_same(f, np.arange(5.0), np.ones(5), np.int64(2))


def test_elements_are_gathered_where_they_are_stored() -> None:
    """What only a branch needs is computed in it: no temporary, and it is fused there."""

    def f(x, y, at):
        x[:] = y[at] * 2

    graph = txc.jit(f).graph(np.zeros(50), np.zeros(70), np.zeros(50, int))
    (branch,) = [node for node in graph.nodes() if node.regions]
    assert {"take", "mul"} <= {node.op.name for node in branch.regions[0].nodes() if node.op is not None}
    assert_same(f, np.zeros(4), np.arange(6.0), np.array([3, -1, 5, 0]))


def assert_same(f: Callable[..., Any], *given: Any) -> None:
    """A call gives and stores what Python's does."""
    copies = [a.copy() for a in given]
    np.testing.assert_array_equal(txc.jit(f)(*given), f(*copies))
    for one, other in zip(given, copies):
        np.testing.assert_array_equal(one, other)
