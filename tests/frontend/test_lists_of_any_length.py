# ruff: noqa: RUF005  (`found + [q]` is what is tested, and branches as they are)
"""Lists that get longer and shorter in loops and branches in any way: their items are a vector of a size of its own."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc

CALLS = [[1.0, 3, 2, 5, 6, 0, 7], [1.0, 0], [0.0, 1, 1], [9.0, 3, 4, 2], []]


def rebound(x, c):
    found = []
    for q in x:
        found = found + [q]
    return found, len(found)


def begun_again(x, c):
    found = [c]
    for q in x:
        if q > 1:
            found = found + [q]
        else:
            found = [q]
    return found


def emptied(x, c):
    found = []
    for i in range(len(x)):
        found.append(i)
        if i == 3:
            found = []
    return found


def emptied_in_place(x, c):
    def add(v):
        if v > 1:
            found.append(v)

    found = []
    for i in range(len(x)):
        add(x[i])
        if len(found) == 2:
            found.clear()
    return found


def left_early(x, c):
    found = []
    for q in x:
        if q > 5:
            break
        found.append(q)
    return found, len(found)


def left_by_its_length(x, c):
    found = []
    for i in range(len(x)):
        if x[i] > 1:
            found.append(i)
        if len(found) > 2:
            return found, i
    return found, -1


def its_last_item_asked(x, c):
    found = []
    for i in range(len(x)):
        if (found and found[-1] > x[i]) or not found:
            found.append(x[i])
    return found


def its_truth_asked(x, c):
    found = []
    for i in range(len(x)):
        if found:
            c = c + 1
        found.append(i)
    return found, c


def nested(x, c):
    found = []
    for i in range(len(x)):
        for j in range(i):
            if x[i] > x[j]:
                found.append(x[j])
            if len(found) > 4:
                break
    return found


def begun_again_around_a_loop(x, c):
    found = [1, 2]
    for i in range(len(x)):
        if x[i] > 2:
            found = [i]
        for j in range(i):
            found.append(j)
        c = c + len(found)
    return found, c


def with_two_names(x, c):
    found = []
    other = found
    for i in range(len(x)):
        found.append(x[i])
        if x[i] > 5:
            break
    return found, other, found is other


def with_a_name_for_what_it_was(x, c):
    found = []
    other = found
    for i in range(len(x)):
        found = found + [x[i]]
        if x[i] > 5:
            break
    return found, other


def in_a_dict(x, c):
    held = {"k": [c]}
    for i in range(len(x)):
        if x[i] > 1:
            held["k"].append(x[i])
        else:
            held["k"] = []
    return held


def as_a_stack(x, c):
    found = [c]
    for i in range(len(x)):
        if x[i] > 1:
            found.append(x[i])
        elif found:
            c = c + found.pop()
    return found, c


def until_it_is_empty(x, c):
    found = [c + len(x)]
    while found:
        v = found.pop()
        c = c + v
        if v > 0:
            found.append(v - 1)
            if v > 1:
                found.append(v - 2)
    return c, found


def while_it_counts(x, c):
    found = []
    i = 0
    while i < len(x):
        found.append(x[i])
        i += 1
    return found


def longer_than_memory_is_at_first(x, c):
    found = [0]
    while c < 3000:
        found.append(len(found) * 2)
        c = c + 1
        x += 1
    return len(found), found[-1], found[1500], c


def gone_through_in_the_loop(x, c):
    found = []
    for i in range(len(x)):
        for q in found:
            c = c + q
        if x[i] > 1:
            found.append(x[i])
    return found, c, [q * 2 for q in found]


def changed_in_place(x, c):
    found = []
    for i in range(len(x)):
        found += [x[i]]
        if x[i] > 2:
            found.extend([c, c])
        if x[i] > 5:
            found[-1] = x[0]
        if x[i] > 6:
            found.reverse()
    return found, found.copy()


def of_one_branch(x, c):
    found = []
    for q in x:
        if q > 1:
            found.append(q)
    if c > 1:
        found = [c]
    return found, len(found)


def of_a_loop_in_a_branch(x, c):
    if c > 1:
        found = []
        for q in x:
            if q > 1:
                found.append(q)
    else:
        found = [c]
    if found:
        c = c + 1
    return found, len(found), c


def of_branches_one_behind_the_other(x, c):
    found = []
    if c > 1:
        for q in x:
            found.append(q)
        found = found + [c]
    if c > 0:
        found = found + [c]
    return found, [q for q in found if q > 1]


def shorter_in_a_branch(x, c):
    found = [1, 2, 3]
    if c > 1:
        del found[0]
    elif c > 0:
        found.clear()
    else:
        found[:] = [2]
    other = [0.0, 1.0]
    if c > 1:
        other.pop()
    return found, other, len(other)


def of_pairs(x, c):
    found = []
    if c > 1:
        for q in x:
            if q > 1:
                found.append((q, c))
    elif c > 0:
        found = [(c, c)]
    return found, len(found)


def of_several_types_one_behind_the_other(x, c):
    found: list[Any] = [1, True]
    if c > 1:
        found.append(0.5)
    for i in range(len(x)):
        found.append(x[i])
    for i in range(len(x)):
        if x[i] > 1:
            found.append(i)
    found.append(c)
    return found, found[0], found[-1]


def with_another_name_in_the_loop(x, c):
    found = []
    for q in x:
        other = found
        found = found + [q]
        if q > 5:
            other.append(q)
    return found


def another_name_behind_the_loop(x, c):
    found = []
    other = found
    for q in x:
        other = found
        found = found + [q]
    return found, other


def of_two_types(x, c):
    found = [0.5]
    for q in x:
        if q > 1:
            found = found + [q]
        else:
            found = [0.5]
    return found


FUNCTIONS = [
    of_two_types,
    another_name_behind_the_loop,    with_another_name_in_the_loop, of_several_types_one_behind_the_other,
    rebound, begun_again, emptied, emptied_in_place, left_early, left_by_its_length, its_last_item_asked,
    its_truth_asked, nested, begun_again_around_a_loop, with_two_names, with_a_name_for_what_it_was, in_a_dict,
    as_a_stack, until_it_is_empty, while_it_counts, longer_than_memory_is_at_first, gone_through_in_the_loop,
    changed_in_place, of_one_branch, of_a_loop_in_a_branch, of_branches_one_behind_the_other, shorter_in_a_branch,
    of_pairs,
]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_python(f: Callable[..., Any]) -> None:
    """The values and types of items, the identity of lists, and what is stored on the way."""
    compiled = txc.jit(f)
    for values in CALLS:
        for c in (0.0, 1.0, 2.0):
            theirs, ours = np.array(values), np.array(values)
            assert repr(compiled(ours, np.float64(c))) == repr(f(theirs, np.float64(c))), (values, c)
            assert ours.tolist() == theirs.tolist()


def largest(x, c):
    found = []
    for q in x:
        if q > c:
            found.append(q)
    return max(found), min(found)


def popped(x, c):
    found = []
    for q in x:
        if q > c:
            found.append(q)
        else:
            found.pop()
    return found


@pytest.mark.parametrize("f", [largest, popped])
def test_a_list_without_items_is_an_error_where_python_has_one(f: Callable[..., Any]) -> None:
    compiled = txc.jit(f)
    for values in CALLS[:4]:
        for c in (0.0, 1.0, 9.0):
            try:
                expected = f(np.array(values), c)
            except (IndexError, ValueError) as error:
                with pytest.raises(type(error)):
                    compiled(np.array(values), c)
            else:
                assert repr(compiled(np.array(values), c)) == repr(expected)


def in_three_loops(x, c):
    found = []
    for a in range(len(x)):
        b = 0
        while b < len(x):
            b += 1
            k = 0
            while k < 2 and x[a] > c:
                k += 1
                found.append(1)
    return found


def test_a_list_in_loops_of_three_levels() -> None:
    compiled = txc.jit(in_three_loops)
    for values in CALLS:
        assert repr(compiled(np.array(values), 0.0)) == repr(in_three_loops(np.array(values), 0.0))


def flooded(cells, i, j):
    h, w = cells.shape
    colour, stack, order = cells[i, j], [(i, j)], []
    while stack:
        i, j = stack.pop()
        if i < 0 or i >= h or j < 0 or j >= w or cells[i, j] != colour:
            continue
        cells[i, j] = 9
        order.append((i, j))
        stack += [(i + 1, j), (i - 1, j)]
        stack.append((i, j + 1))
        stack.append((i, j - 1))
    return order


def merged(starts, ends):
    found = []
    for pair in sorted((a, b) for a, b in zip(starts, ends)):
        if found and pair[0] <= found[-1][1]:
            a, b = found[-1]
            found[-1] = (a, max(b, pair[1]))
        else:
            found.append(pair)
    found.insert(0, (-1, 0.5))
    found.reverse()
    return found, len(found), found.pop(0)


def test_tuples_come_and_go():
    cases: list[tuple[Any, list[Any]]] = [
        (flooded, [(np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1]]), 0, 0), (np.array([[1, 1, 0], [1, 0, 0]]), 1, 2)]),
        (merged, [(np.array([1, 8, 2, 9]), np.array([3.0, 10, 6, 12])), (np.array([5]), np.array([7.0]))]),
    ]
    for function, calls in cases:
        compiled = txc.jit(function)
        for args in calls:
            mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
            found, expected = compiled(*mine), function(*theirs)
            assert repr(found) == repr(expected)
            np.testing.assert_equal(mine, theirs)


def test_taking_from_no_items():
    def taken(x):
        stack = [(1, 2)]
        while stack:
            a, b = stack.pop()
            if x[a] < b:
                stack.append((1, 2))
            x[a] += 1
        return stack.pop()

    with pytest.raises(IndexError, match=r"^pop from empty list$"):
        txc.jit(taken)(np.zeros(2))
