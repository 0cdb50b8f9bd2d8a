"""Comprehensions and generator expressions are loops of the IR; iterators and lists of views keep their state."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError
from txc.compiler.frontend.staging.runtime import StagedRuntime

from .control import every_stage, same

X = np.arange(12.0).reshape(3, 4) - 2
V = np.array([3.0, -1.0, 4.0, 1.0, -5.0])


def size_of(jitted: Any, *arguments: Any) -> int:
    """The number of ops of the program for these arguments, those of loops' bodies counted once."""
    return len(list(jitted.graph(*arguments).walk()))


def stacked(x):
    return np.stack([x[i] / np.abs(x[i]).max() for i in range(len(x))])


def several(x):
    return np.array([x[i, j] * 2 for i in range(x.shape[0]) for j in range(x.shape[1])])


def nested(x):
    return np.array([[x[i, j] * 2 for j in range(x.shape[1])] for i in range(x.shape[0])])


def appended_in_two_loops(x):
    out = []
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out.append(x[i, j] * 2)
    return np.array(out), len(out)


def lengths_while_it_grows(x):
    out = []
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total += len(out) * x[i, j]
            out.append(x[i, j])
        total += len(out)
    return total


def counted(x):
    return [i * row.sum() for i, row in enumerate(x)]


def backwards(x):
    return [row[0] for row in reversed(x)]


def side_by_side(x):
    return [a @ b for a, b in zip(x, x[::-1])]


def steps(x):
    return [x[i].sum() for i in range(0, len(x), 2)]


def joined(x):
    rows = [row * 2 for row in x]
    return np.vstack(rows), np.hstack(rows), np.column_stack(rows), np.concatenate(rows)


def joined_numbers(x):
    rows = [row[0] for row in x]
    return np.vstack(rows), np.hstack(rows), np.column_stack(rows)


def joined_matrices(x):
    rows = [x[i : i + 1] * 2 for i in range(len(x))]
    return np.vstack(rows), np.hstack(rows), np.column_stack(rows), np.concatenate(rows)


def dict_of_lists(x):
    d = {k: [row[0] * k for row in x] for k in (1, 2)}
    return d[1][0] + d[2][-1]


def slices(x):
    ys = [row.sum() for row in x]
    return np.array(ys[1:]) - np.array(ys[:-1])


def stacked_is_a_copy(x):
    rows = [row * 2 for row in x]
    s = np.stack(rows)
    s[0] = 0
    rows[1][0] = 100
    return rows[0].sum() + rows[1].sum(), s


def completed_after_append(x):
    out = []
    for i in range(len(x)):
        a = np.zeros(3)
        out.append(a)
        a[1] = x[i, 0]
    return np.array(out)


@pytest.mark.parametrize("f", [
    stacked, several, nested, appended_in_two_loops, lengths_while_it_grows, counted, backwards, side_by_side, steps,
    joined, joined_numbers, joined_matrices, dict_of_lists, slices, stacked_is_a_copy, completed_after_append,
])  # fmt: skip
def test_over_rows(f: Callable[..., Any]):
    same(f, (X,), (np.tile(X, (4, 2)),))


@pytest.mark.parametrize("f", [stacked, several, nested, appended_in_two_loops])
def test_at_every_stage(f: Callable[..., Any]):
    every_stage(txc.jit(f), X)


@pytest.mark.parametrize("f", [stacked, several, nested, appended_in_two_loops, joined])
def test_more_rows_add_no_ops_and_compile_nothing(f: Callable[..., Any]):
    jitted = same(f, (np.ones((20, 3)),), (np.ones((200, 3)),))
    assert len(jitted.signatures()) == 1
    assert size_of(jitted, np.ones((20, 3))) == size_of(jitted, np.ones((2000, 3)))


def test_long_known_ranges_are_loops():
    def of(n: int) -> Any:
        def f(x):
            return np.array([x[k % 5] * k for k in range(n)])

        return same(f, (V,))

    assert size_of(of(20), V) == size_of(of(2000), V)


def total(x):
    return sum(x[i] * x[-1 - i] for i in range(len(x)))


def total_of_arrays(x):
    return sum(np.outer(v, x) for v in x), sum(x, 1.5)


def kept(x):
    return sum(v for v in x if v > 0), sum(1 for v in x if v > 0), sum(v > 0 for v in x)


def truths(x):
    return any(v > 3 for v in x), any(v > 9 for v in x), all(v > -9 for v in x), all(v > 0 for v in x), any(x > 3)


def truths_of_known(x):
    return any(x[0] == v for v in (5.0, 3.0)), all(x[0] > v for v in (1.0, 7.0))


def extremes(x):
    return max(x[i] * 2 for i in range(len(x))), min(v for v in x), max(x), min(x), max([v + 1 for v in x])


def begun(x):
    g = (v * 2 for v in x)
    first = next(g)
    return first + sum(g) + sum(g)


@pytest.mark.parametrize("f", [total, total_of_arrays, kept, truths, truths_of_known, extremes, begun])
def test_generator_expressions(f: Callable[..., Any]):
    same(f, (V,), (V[::-1].copy(),), (np.tile(V, 4),))


def test_extremes_of_nan_are_pythons():
    nan = np.array([1.0, np.nan, 2.0])
    same(extremes, (nan,), (nan[::-1].copy(),), (nan[1:].copy(),))


def largest(x):
    return max(v * 2 for v in x)


def smallest(x):
    return min(v * 2 for v in x)


@pytest.mark.parametrize("f", [largest, smallest])
def test_extremes_of_nothing(f: Callable[..., Any]):
    with pytest.raises(ValueError, match=r"arg is an empty sequence|iterable argument is empty"):
        txc.jit(f)(V[:0])


def last_variable(x):
    fs = [lambda: x[i] for i in range(3)]  # noqa: B023  (all read the last i)
    return fs[0]() + 10 * fs[1]()


def walrus(x):
    ys = [(y := v * 2) for v in x]
    return ys[0] + y


def shadowed(x):
    i = 3
    ys = [i * x[0] for i in range(5)]
    return i + ys[1]


def first_iterable(x):
    return [x for x in x][1]


def known(x):
    axes = [i for i in range(20) if i % 7 == 1]
    return x * axes[1], {i * 2 for i in range(4)} == {0, 2, 4, 6}, len("".join(c for c in "abc"))


def of_python_lists(x):
    arrays = [x * k for k in (1.0, 2.0)] * 10
    s = x
    for i in range(20):
        s = s + arrays[i]
    return s


def python_ints(x):
    n = 0
    for i in range(20):
        n += i
    return x * n, np.zeros(n // 95)


@pytest.mark.parametrize(
    "f",
    [last_variable, walrus, shadowed, first_iterable, known, of_python_lists, python_ints],
    ids=lambda f: f.__name__,
)
def test_scopes_and_what_python_knows(f: Callable[..., Any]):
    same(f, (V,))


def one_each(x):
    it = iter((1.0, 2.0, 3.0, 4.0, 5.0))
    return [v * next(it) for v in x]


def popped(x):
    d = deque([1.0, 2.0, 3.0, 4.0, 5.0])
    return [v * d.popleft() for v in x]


def popped_from_a_list(x):
    numbers = [1.0, 2.0, 3.0, 4.0, 5.0]
    return [v * numbers.pop() for v in x]


def from_itertools(x):
    c = itertools.count(1)
    return [v * next(c) for v in x]


def generator_once(x):
    g = (v for v in (1.0, 2.0, 3.0))
    return [v + sum(g) for v in x]


def enumerated_once(x):
    e = enumerate((1.0, 2.0, 3.0))
    return [v + sum(a for _, a in e) for v in x]


def mapped(x):
    m = map(lambda v: v * 2, (1.0, 2.0, 3.0, 4.0, 5.0))
    return [v + next(m) for v in x]


def made_in_the_loop(x):
    s = 0.0
    for i in range(len(x)):
        for a, b in zip((1.0, 2.0), (3.0, 4.0)):
            s += a * b * x[i]
        g = (k * 1.0 for k in (1, 2, 3))
        s += next(g) + sum(g)
    return s


@pytest.mark.parametrize("f", [
    one_each, popped, popped_from_a_list, from_itertools, generator_once, enumerated_once, mapped, made_in_the_loop,
])  # fmt: skip
def test_iterators_move_once_an_item(f: Callable[..., Any]):
    same(f, (V,))


def moves_in_a_loop(x):
    it = iter((1.0, 2.0, 3.0, 4.0, 5.0))
    s = 0.0
    for i in range(len(x)):
        s += next(it) * x[i]
    return s


def emptied_by_the_first_iteration(x):
    it = zip((1.0, 2.0))
    s = 0.0
    for i in range(len(x)):
        for (v,) in it:
            s += v * x[i]
    return s


@pytest.mark.parametrize("f", [moves_in_a_loop, emptied_by_the_first_iteration])
def test_an_iterator_that_a_compiled_loop_moves(f: Callable[..., Any]):
    with pytest.raises(TxcError, match="an iterator changes in a loop of compiled code"):
        txc.jit(f)(V)


def views_then_stored_into(x):
    rows = [x[i] for i in range(len(x))]
    x[0] = 7
    return rows[0].sum()


def stored_into_a_view(x):
    rows = [x[i] for i in range(len(x))]
    rows[0][1] = 7
    return x.sum()


def one_array_each_time(x):
    a = np.zeros(3)
    out = []
    for i in range(len(x)):
        a[0] = x[i, 0]
        out.append(a)
    return np.array(out)


def last_item_is_stored_into(x):
    a = np.zeros(3)
    out = []
    for i in range(len(x)):
        a = a + x[i, 0]
        out.append(a)
    a[0] = 100
    return np.array(out)


@pytest.mark.parametrize(
    "f", [views_then_stored_into, stored_into_a_view, one_array_each_time, last_item_is_stored_into]
)
def test_items_that_are_arrays_of_others(f: Callable[..., Any]):
    with pytest.raises(TxcError, match="TX0291"):
        txc.jit(f)(X.copy())


def test_items_of_a_comprehension_that_are_stored_into():
    def f(x):
        rows = [row for row in x]
        rows[0][0] = 100
        return rows

    with pytest.raises(TxcError, match="an item of a comprehension may be an array from before the loop") as refused:
        txc.jit(f)(X.copy())
    assert refused.value.hint == "make a copy of each item: [….copy() for … in …]"


def views(x):
    rows = [x[i] for i in range(len(x))]
    return rows[1].sum() + np.array(rows).sum()


def test_views_that_nobody_stores_into():
    same(views, (X,))


def broadcast_items(x):
    out = []
    for i in range(len(x)):
        out.append(x[i])
        out.append(x[i, :1])
    return out


def items_of_both_kinds(x):
    out = []
    for i in range(x.shape[0]):
        out.append(x[i, 0])
        for j in range(x.shape[1]):
            out.append(x[i, j])
    return out


def test_a_list_that_is_no_array():
    with pytest.raises(TxcError, match="the list out gets"):
        txc.jit(broadcast_items)(X)


def test_items_of_a_loop_and_of_one_inside_it():
    assert txc.jit(items_of_both_kinds)(X) == items_of_both_kinds(X)


def test_keys_that_data_decides():
    def f(x):
        return len({v for v in x})

    def g(x):
        return {v: 1 for v in x}

    for h in (f, g):
        with pytest.raises(TxcError, match="a key of a dict, or an item of a set, is known only when"):
            txc.jit(h)(V)


def test_targets_that_are_elements():
    def f(x):
        return [1.0 for x[0] in (1.0, 2.0)]

    with pytest.raises(TxcError, match="a comprehension that assigns to an attribute or element is not staged"):
        txc.jit(f)(V.copy())


def first_iteration_apart(x, names):
    y, s = None, 0.0
    for i in range(12):
        x[0] += 1
        y = x[0] if y is None else y + len(names[i])
        s = s + y
    return s


def of_names(x, names):
    for i in range(12):
        x = x + len(names[i]) * np.ones(len(x))
    return x


@pytest.mark.parametrize("f", [first_iteration_apart, of_names])
def test_a_loop_that_is_tried_and_then_written_out_has_its_effects_once(f: Callable[..., Any]):
    same(f, (V, ("a", "bb", "ccc", "dddd") * 3))


def note() -> None:
    """Called in the innermost loop, so that each staging of its body is seen."""


def loop_nest(x):
    s, c = 0, 0
    for i in range(len(x)):
        for j in range(len(x)):
            for k in range(len(x)):
                for m in range(len(x)):
                    for n in range(len(x)):
                        for p in range(len(x)):
                            note()
                            s = s * 0.5 + x[p] * i + j + k + m + n
                            y = x[p]
                            c += 1
    return s + y + c  # pyright: ignore[reportPossiblyUnboundVariable]


KEYED = {f"k{i}": float(i) for i in range(20)}


def test_sizes_that_a_loop_which_is_tried_took_for_equal():
    """Its iterations are written out, for their texts; the sum for which sizes are equal is in none of them."""

    def f(x, y):
        doubled, z = y * 2, 0.0
        for i in range(20):
            if i == 100:
                z = z + (x + doubled).sum()
            z = z + x.sum() * KEYED[f"k{i}"]
        return z, doubled

    same(f, *[(np.arange(1.0 * n), np.arange(1.0 * m)) for n, m in ((5, 5), (4, 7), (6, 3))])


def test_each_loop_of_a_nest_settles_at_once_for_those_around_it(monkeypatch: pytest.MonkeyPatch):
    staged = []
    plain = StagedRuntime.fn
    monkeypatch.setattr(StagedRuntime, "fn", lambda self, called: (staged.append(called), plain(self, called))[1])
    same(loop_nest, (V[:2],))
    assert 0 < staged.count(note) < 40


def short_loops_in_loops(x):
    t = 0.0
    for a in range(8):
        for b in range(8):
            for c in range(8):
                for d in range(8):
                    t += x[a, b % 3] * x[c, d % 3]
    return t


def taps(x):
    y = x[:-2] * 0.25
    for k in range(1, 3):
        y = y + x[k : len(x) - 2 + k] * (0.25 * k)
    return y


def different_things(x):
    factors = [2.0, x.sum(), np.array([1.0, 2.0, 3.0])]
    for k in range(3):
        for j in range(2):
            x = x * factors[k] + j
    return x


def test_short_loops_in_loops_are_loops():
    """4,096 iterations; the innermost loop, or two, may be copies."""
    x = np.arange(24.0).reshape(8, 3)
    assert size_of(same(short_loops_in_loops, (x,)), x) < 600


def test_short_loops_of_few_ops_are_written_out():
    x = np.arange(10.0)
    ops = {node.op.name for node in same(taps, (x,)).graph(x).walk() if node.op is not None}
    assert "for" not in ops


def test_short_loops_over_different_things_are_written_out():
    same(different_things, (np.arange(3.0),))


def test_stores_before_an_error_in_a_short_loop_are_made_once():
    def f(x):
        for k in range(3):
            x[k] += 1
            if k == 1:
                raise ValueError("two")
        return x

    for run in (f, txc.jit(f)):
        x = np.zeros(4)
        with pytest.raises(ValueError, match="two"):
            run(x)
        assert x.tolist() == [1, 1, 0, 0]
