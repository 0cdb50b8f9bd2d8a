"""Loops and branches of traced functions: carried variables, writes that keep their identity, and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError
from txc.compiler.frontend.staging.regions import fork, loops
from txc.compiler.frontend.trace.context import require

RNG = np.random.default_rng(5)
X = RNG.standard_normal((6, 7))


def loop(lower, upper, body, carried, names=(), step=1):
    return loops.for_(require(), lower, upper, step, body, carried, names)


def check(runner, traced, plain, *arguments):
    ours = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    theirs = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    got, expected = runner(traced, *ours), plain(*theirs)
    for g, e in zip(
        got if isinstance(got, tuple) else (got,), expected if isinstance(expected, tuple) else (expected,)
    ):
        np.testing.assert_allclose(g, e, rtol=1e-12)
    for g, e in zip(ours, theirs):
        np.testing.assert_allclose(g, e, rtol=1e-12)


def test_stores_in_a_loop_of_run_time_length(runner):
    def traced(u, steps):
        def body(i, carried):
            u[1:-1] = (u[:-2] + u[2:]) / 2
            return (u,)

        loop(0, steps, body, (u,), ("u",))

    def plain(u, steps):
        for _ in range(steps):
            u[1:-1] = (u[:-2] + u[2:]) / 2
        return ()

    check(runner, traced, lambda u, n: plain(u, n) or (), X, 4)
    assert [n.op.name for n in runner.graph.nodes()] == ["for"]
    assert runner.graph.aliases == {0: 0}
    u = X.copy()
    runner.run(u, 0)
    np.testing.assert_array_equal(u, X)


def test_writes_through_views_are_found(runner):
    def traced(x):
        first = x[0]

        def body(i, carried):
            row = x[i + 1]
            row += first
            return ()

        loop(0, x.shape[0] - 1, body, ())
        return first * 1

    def plain(x):
        first = x[0]
        for i in range(x.shape[0] - 1):
            row = x[i + 1]
            row += first
        return first * 1

    check(runner, traced, plain, X)


def test_rebinding_and_python_scalars(runner):
    def traced(x):
        def body(i, carried):
            total, count, row = carried
            return total + x[i].sum(), count + 1, row * 0.5 + x[i]

        return loop(0, x.shape[0], body, (0, 0, x[0]), ("total", "count", "row"))

    def plain(x):
        total, count, row = 0, 0, x[0]
        for i in range(len(x)):
            total, count, row = total + x[i].sum(), count + 1, row * 0.5 + x[i]
        return total, count, row

    check(runner, traced, plain, X)


def test_nested_and_triangular(runner):
    def traced(x):
        n = x.shape[0]

        def outer(i, carried):
            def inner(j, carried):
                x[i, j] = x[i, j] - x[j, i] * 2
                x[i, j:] += 1
                return ()

            loop(0, i + 1, inner, ())
            return ()

        loop(1, n, outer, ())

    def plain(x):
        for i in range(1, len(x)):
            for j in range(i + 1):
                x[i, j] = x[i, j] - x[j, i] * 2
                x[i, j:] += 1
        return ()

    check(runner, lambda x: traced(x) or (), plain, X)
    # Every index is proved inside, or guarded once for all iterations.
    assert "%" not in str([n.attrs for n in runner.graph.walk()])


def test_negative_step_and_neighbours(runner):
    def traced(x):
        def body(i, carried):
            x[i] = x[i] - x[i + 1]
            x[:i] += 1
            return ()

        loop(x.shape[0] - 2, -1, body, (), step=-1)

    def plain(x):
        for i in range(len(x) - 2, -1, -1):
            x[i] = x[i] - x[i + 1]
            x[:i] += 1
        return ()

    check(runner, lambda x: traced(x) or (), plain, X)


def test_an_index_that_wraps(runner):
    def traced(x):
        def body(i, carried):
            x[i] += x[i - 1]
            return ()

        loop(0, x.shape[0], body, ())

    def plain(x):
        for i in range(len(x)):
            x[i] += x[i - 1]
        return ()

    check(runner, lambda x: traced(x) or (), plain, X)


def test_the_loop_variable_as_a_number(runner):
    def traced(x, n):
        def body(i, carried):
            (y,) = carried
            return (y + i * 2.5 + (i // 2) + x / (i + 1),)

        return loop(0, n, body, (x,))[0]

    def plain(x, n):
        y = x
        for i in range(n):
            y = y + i * 2.5 + (i // 2) + x / (i + 1)
        return y

    check(runner, traced, plain, X, 5)


def test_double_buffering(runner):
    def traced(x, n):
        a, b = x.copy(), x * 0

        def body(i, carried):
            a, b = carried
            b[1:] = a[:-1] * 2
            return b, a

        return loop(0, n, body, (a, b), ("a", "b"))

    def plain(x, n):
        a, b = x.copy(), x * 0
        for _ in range(n):
            b[1:] = a[:-1] * 2
            a, b = b, a
        return a, b

    for n in (0, 1, 4):
        check(runner, traced, plain, X, n)


def test_while(runner):
    def traced(x):
        test, body = (lambda c: abs(c[0]).sum() > 1), (lambda c: (c[0] / 2, c[1] + 1))
        return loops.while_(require(), test, body, (x, 0), ("x", "k"))

    def plain(x):
        k = 0
        while abs(x).sum() > 1:
            x, k = x / 2, k + 1
        return x, k

    check(runner, traced, plain, X)


def test_if(runner):
    def traced(x):
        def then():
            x[0] = 0
            return x * 2, 1

        return fork.if_(require(), x.sum() > 0, then, lambda: (x, 2.5), ("y", "k"))

    def plain(x):
        if x.sum() > 0:
            x[0] = 0
            return x * 2, 1
        return x, 2.5

    check(runner, traced, plain, X)
    check(runner, traced, plain, -X)


def test_if_inside_a_loop(runner):
    def traced(x):
        def body(i, carried):
            (best,) = carried
            return fork.if_(require(), x[i, 0] > best, lambda: (x[i, 0],), lambda: (best,), ("best",))

        return loop(0, x.shape[0], body, (-np.inf,), ("best",))[0]

    check(runner, traced, lambda x: x[:, 0].max(), X)


def test_a_condition_on_the_loop_variable(runner):
    def traced(x):
        def body(i, carried):
            def then():
                x[i] = x[i + 1]
                return ()

            fork.if_(require(), i < x.shape[0] - 1, then, lambda: ())
            return ()

        loop(0, x.shape[0], body, ())

    def plain(x):
        x[:-1] = x[1:].copy()
        return ()

    check(runner, lambda x: traced(x) or (), plain, X)


def test_conditions_on_sizes_are_facts(runner):
    runner.trace(lambda x: x * 2 if x.shape[0] > 3 else x, X)
    assert [str(g) for g in runner.graph.table.guards] == ["3 < x0.0  (a comparison)"]
    runner.trace(lambda x: x * int(x.shape[1]), X)
    assert [str(g) for g in runner.graph.table.guards] == ["x0.1 == 7  (int() of it)"]
    assert runner.graph.outputs[0].type.dims[1].const == 7


def error(runner, f, *arguments):
    with pytest.raises(TxcError) as caught:
        runner.trace(f, *arguments)
    return str(caught.value)


def test_errors_name_the_variable(runner):
    text = error(runner, lambda x: loop(0, x.shape[0], lambda i, c: (c[0] > 0,), (x,), ("mask",)), X)
    both = "mask is f64[{0}] before an iteration of the loop and bool[{0}] after it"
    assert both.format("x0.shape[0], x0.shape[1]") in text
    text = error(runner, lambda x: loop(0, x.shape[0], lambda i, c: (c[0][1:],), (x,), ("tail",)), X)
    assert "tail is f64[x0.shape[0], x0.shape[1]] before" in text
    text = error(runner, lambda x: fork.if_(require(), x.sum() > 0, lambda: (x,), lambda: (x[0],), ("y",)), X)
    assert "y is f64[x0.shape[0], x0.shape[1]] in one branch of an if and f64[x0.shape[1]] in the other" in text
    text = error(runner, lambda x: fork.if_(require(), x.sum() > 0, lambda: (x,), lambda: (None,), ("y",)), X)
    assert "y is set in only one branch" in text
    text = error(runner, lambda x: fork.if_(require(), x > 0, lambda: (x,), lambda: (x,)), X)
    assert "the condition of if is bool[x0.shape[0], x0.shape[1]], not one bool" in text

    def mixed(x):
        def body(i, carried):
            (x,) = carried
            x += 1
            return (x * 2,)

        return loop(0, 9, body, (x,), ("x",))

    # The first iteration writes the caller's array, later ones their own: refused, not guessed.
    assert "x is an array of others that the loop both writes in place and reassigns" in error(runner, mixed, X)


def in_an_expression(x):
    return (x[0] or 5.1) * 2


def in_branches(x):
    s = 0.1
    if x[0] > 1:
        s = x[1]
    return s


def in_an_int(x):
    return 300 if x[0] > 0 else x[1]


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (in_an_expression, np.ones(2, np.float32)),
        (in_branches, np.ones(2, np.float32)),
        (in_an_int, np.ones(2, np.int8)),
        (in_an_int, np.zeros(2, np.int8)),
    ],
)
def test_numbers_are_not_rounded_by_what_the_other_branch_has(f: Callable[..., Any], x: np.ndarray):
    """They are of one type or the other."""
    for given in (x, x * 0, x * 2):
        assert repr(txc.jit(f)(given)) == repr(f(given))
    for wide in (x.astype(float), np.zeros(2)):
        assert txc.jit(f)(wide) == f(wide)


def test_extremes_do_not_round_the_number_that_they_choose():
    def f(x):
        return max(0.1, x[0]), min(x[1], 0.5)

    for given in (np.ones(2, np.float32), np.zeros(2, np.float32)):
        assert repr(txc.jit(f)(given)) == repr(f(given))
    for wide in (np.ones(2), np.zeros(2)):
        assert txc.jit(f)(wide) == f(wide)
