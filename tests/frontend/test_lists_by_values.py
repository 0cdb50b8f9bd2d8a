"""Lists to which an `if` of compiled code appends: as many items as values decide; and lists of tuples and lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

X = np.array([3.0, -1, 2, 0.5, 5, 1, 9, -3, 0, 4])


def positions(x):
    out = []
    for i in range(len(x)):
        if x[i] > 1:
            out.append(i)
    return np.array(out), out, len(out), bool(out), not out


def elements(x):
    out = []
    for i in range(len(x)):
        if x[i] > 1:
            out.append(x[i])
    total = 0.0
    for v in out:
        total += v
    return out, total, out[0], out[1:], out[len(out) - 1], sum(out), np.mean(out) if out else 0.0


def of_one_of_two_branches(x):
    out, negative = [], []
    for i in range(len(x)):
        if x[i] > 1:
            out.append(i)
        elif x[i] < 0:
            out.append(-i)
            negative.append(x[i])
    return out, np.array(out) / 2, negative, out + out


def two_lists_of_one_size(x):
    a, b = [], []
    for i in range(len(x)):
        if x[i] > 1:
            a.append(i * 1.0)
            b.append(x[i])
    return np.array(a) * np.array(b), [v * 2 for v in b]


def rows(x):
    out = []
    for i in range(len(x)):
        if i % 3 == 0:
            out.append(x.copy())
        x += 1
    return np.array(out), np.stack(out)


def itself(x):
    out = []
    for i in range(len(x)):
        if x[i] > 1:
            out.append(x)
    return np.array(out)


def always_and_perhaps(x):
    out = []
    for i in range(len(x)):
        out.append(x[i])
        if x[i] > 1:
            out.append(x[i] * 2)
            out.append(x[0])
    return out


def loops_in_branches(x):
    out = [5]
    for i in range(len(x)):
        if x[i] > 1:
            if i % 2:
                out.append(i)
            else:
                for j in range(9):
                    out.append(j)
    return out


def once(x):
    out = [1]
    if x[0] > 1:
        out.append(7)
    if x[1] > 1:
        out.append(8)
    return out, out[-1], len(out)


def few_iterations(x):
    out = []
    for i in range(3):
        if x[i] > 0:
            out.append(x[i])
    return out, len(out)


def nested(x):
    out = []
    for i in range(len(x)):
        for j in range(len(x)):
            if x[i] > x[j] + 2:
                out.append(10 * i + j)
    return np.array(out)


def comprehensions(x):
    return (
        [v * 2 for v in x if v > 1],
        [i for i in range(len(x)) if x[i] > 1 and i % 2],
        np.array([v for v in x if v > 0]),
    )


def as_indices(x):
    out = []
    for i in range(len(x)):
        if x[i] > 1:
            out.append(i)
    x[out] = 7
    return x[out], np.max(out)


def changed_in_its_branch(x):
    out = []
    for i in range(len(x)):
        if x[i] > 1:
            y = x * i
            out.append(y)
            y[0] = 99
    return out


def pairs(x):
    out = []
    for i in range(len(x)):
        if x[i] > 1:
            out.append((i, x[i]))
        elif x[i] < 0:
            out.append((-i, -x[i]))
    return out, np.array(out), len(out), [a for a, _ in out], out[1:]


def table(x):
    out = []
    for i in range(len(x)):
        out.append([i, x[i], 0.5 * i])
    return out, np.array(out)


def trajectory(x):
    out = [(0, x[0])]
    for i in range(1, len(x)):
        out.append((i, x[i] * 2))
    total = 0.0
    for t, v in out:
        total += t * v
    return out, np.array(out), out[0], out[2][1], out[-1], total


def pairs_in_nested_loops(x):
    out = []
    for i in range(len(x)):
        for j in range(len(x)):
            if x[i] > x[j]:
                out.append((i, j))
    return np.array(out), out


def pairs_of_comprehensions(x):
    return [(i, v) for i, v in enumerate(x)], [(i, v) for i, v in enumerate(x) if v > 1 or i == 0]


def pairs_in_few_branches(x):
    out = []
    if x[0] > 1:
        out.append([0, x[0]])
    if x[1] > 1:
        out.append([1, x[1]])
    return out, len(out)


def completed_in_its_iteration(x):
    out = []
    for i in range(len(x)):
        row = [i]
        out.append(row)
        row.append(x[i])
    return out


def same(a: Any, b: Any) -> None:
    assert type(a) is type(b), (a, b)
    if isinstance(b, (tuple, list)):
        assert len(a) == len(b)
        for p, q in zip(a, b):
            same(p, q)
    else:
        np.testing.assert_array_equal(a, b, strict=isinstance(b, np.ndarray))


def of_several_types_in_a_loop(x):
    out = []
    for i in range(len(x)):
        out.append(x[i])
        if x[i] > 1:
            out.append(0.5)
    return out


def last_while_it_grows(x):
    out = [0.0]
    for i in range(len(x)):
        if x[i] > 1:
            out.append(x[i] + out[-1])
    return out


def pairs_and_numbers(x):
    out: list[Any] = [0]
    for i in range(len(x)):
        out.append((i, x[i]))
    return out


@pytest.mark.parametrize(
    "f",
    [positions, elements, of_one_of_two_branches, two_lists_of_one_size, rows, itself, always_and_perhaps,
     loops_in_branches, once, few_iterations, nested, comprehensions, as_indices, changed_in_its_branch, pairs, table,
     trajectory, pairs_in_nested_loops, pairs_of_comprehensions, pairs_in_few_branches, completed_in_its_iteration,
     of_several_types_in_a_loop, last_while_it_grows, pairs_and_numbers],
)  # fmt: skip
def test_lists_hold_what_they_do_in_python(f: Callable[..., Any]):
    """One compiled function for arrays that take other branches, of two sizes."""
    jitted = txc.jit(f)
    for given in (X, -X, np.append(X, X[::-1])):
        ours, theirs = given.copy(), given.copy()
        same(jitted(ours), f(theirs))
        np.testing.assert_array_equal(ours, theirs)


def large(x):
    out = []
    for i in range(len(x)):
        if x[i] > 100:
            out.append(x[i])
    return out, len(out), bool(out), np.array(out)


def test_lists_without_items():
    same(txc.jit(large)(X), large(X))


def test_the_array_of_no_items_has_another_dtype():
    """To NumPy it is float64, whatever would have been appended: the call says so, and does not give another array."""
    jitted = txc.jit(positions)
    jitted(X)
    with pytest.raises(
        ValueError, match="of a list without items NumPy makes float64 of rank 1, this code int64 of rank 1"
    ):
        jitted(X - 100)

    def stacked(x):
        out = []
        for i in range(len(x)):
            if x[i] > 1:
                out.append(x.copy())
        return np.stack(out)

    with pytest.raises(ValueError, match="need at least one array to stack"):
        txc.jit(stacked)(X - 100)


def test_a_loop_without_iterations():
    def f(n):
        out = []
        for i in range(n):
            out.append(i)
        return np.array(out)

    jitted = txc.jit(f)
    same(jitted(3), f(3))
    same(jitted(0), f(0))


def first_missing(x):
    out = []
    for i in range(len(x)):
        if x[i] > 100:
            out.append(i)
    return out[0]


def test_an_item_that_is_not_there():
    with pytest.raises(IndexError):
        txc.jit(first_missing)(X)


def stored_into_behind(x):
    y, out = x.copy(), []
    for i in range(len(x)):
        if x[i] > 1:
            out.append(y)
    y[0] = 99
    return np.array(out)


def stored_into_in_its_variable(x):
    out = []
    if x[0] > 1:
        y = x * 2
        out.append(y)
    else:
        y = x * 3
    y[0] = 99
    return out


def stored_into_in_each_iteration(x):
    out, y = [], x.copy()
    for i in range(len(x)):
        y[0] = i
        if x[i] > 1:
            out.append(y)
    return out


def extends_an_item(x):
    out = []
    for i in range(len(x)):
        out.append([i, x[i]])
    out[0].append(7)
    return out


def pairs_of_pairs(x):
    out = []
    for i in range(len(x)):
        out.append((i, (x[i], 2)))
    return out


def texts(x):
    out = []
    for i in range(len(x)):
        if x[i] > 1:
            out.append("large")
    return out


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (stored_into_behind, "an item of out may be an array from before the loop"),
        (stored_into_in_its_variable, "an item of out may be an array from before the loop"),
        (stored_into_in_each_iteration, "the list out gets arrays that others see, and the loop stores into them"),
        (extends_an_item, "a list changes that is an item of another one"),
        (pairs_of_pairs, "the list out gets a tuple in each iteration"),
        (texts, "the list out gets 'large' in one branch of an if"),
    ],
)
def test_what_is_refused(f: Callable[..., Any], text: str):
    with pytest.raises(TxcError, match=text):
        txc.jit(f)(X)
