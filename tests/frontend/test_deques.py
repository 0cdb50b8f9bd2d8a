"""Deques that a jitted function makes: windows, queues of searches, and what it returns of them."""

import copy
from collections import deque

import numpy as np
import pytest

import txc

CELLS = np.array([[1, 1, 0, 0], [1, 0, 0, 1], [0, 1, 1, 1]])


def like_python(function, *calls):
    compiled = txc.jit(function)
    for args in calls:
        expected = function(*copy.deepcopy(args))
        found = compiled(*copy.deepcopy(args))
        np.testing.assert_equal(found, expected)
        assert repr(found) == repr(expected)


def test_windows_of_a_largest_length():
    def means(x, n):
        window, found = deque(maxlen=n), []
        for v in x:
            window.append(v)
            found.append(sum(window) / len(window))
        return found, window, window.maxlen

    x = np.arange(7.0) ** 2
    like_python(means, (x, 3), (x[:2], 4), (-x, 3))


def test_largest_of_a_window_by_a_queue_of_places():
    def largest(x, n):
        queue, found = deque(), []
        for i in range(len(x)):
            while queue and x[queue[-1]] <= x[i]:
                queue.pop()
            queue.append(i)
            if queue[0] <= i - n:
                queue.popleft()
            found.append(x[queue[0]])
        return found, queue

    like_python(largest, (np.array([3.0, 1, 4, 1, 5, 9, 2, 6]), 3), (np.arange(8.0)[::-1].copy(), 2))


def test_breadth_first_search_over_pairs():
    def distances(cells, i, j):
        h, w = cells.shape
        found, queue = np.full((h, w), -1), deque([(i, j)])
        found[i, j] = 0
        while queue:
            i, j = queue.popleft()
            for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                a, b = i + di, j + dj
                if 0 <= a < h and 0 <= b < w and cells[a, b] == cells[i, j] and found[a, b] < 0:
                    found[a, b] = found[i, j] + 1
                    queue.append((a, b))
        return found

    like_python(distances, (CELLS, 0, 0), (CELLS, 2, 3))


def test_methods_copies_and_types():
    def all_of_them(x):
        d = deque([x[0], 2], 4)
        e, f = d.copy(), copy.deepcopy(d)
        e.append(5)
        e.rotate(1)
        e.extendleft([1, 2])
        for v in x:
            if v > 2:
                d.append(v)
        kinds = isinstance(d, deque), isinstance(d, list), type(d) is deque, e == [2, 1], f == deque([7]), f != f
        return d, e, f, list(d), len(d), kinds

    like_python(all_of_them, (np.arange(5.0),), (-np.arange(5.0),))


def test_errors_are_those_of_python():
    def taken(x):
        queue = deque([1])
        while queue:
            if x[queue.popleft()] > 1:
                queue.append(1)
                x[1] -= 1
        return queue.popleft()

    with pytest.raises(IndexError, match=r"^pop from an empty deque$"):
        txc.jit(taken)(np.arange(3.0))
    with pytest.raises(IndexError, match=r"^pop from an empty deque$"):
        txc.jit(lambda: deque().pop())()
    with pytest.raises(TypeError, match="sequence index must be integer, not 'slice'"):
        txc.jit(lambda: deque([1, 2])[1:])()  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="maxlen must be non-negative"):
        txc.jit(lambda n: deque(maxlen=n))(-1)


def test_operators_are_those_of_deques_and_not_of_lists():
    def changed(x):
        d = deque([1, 2, 3], maxlen=4)
        e = 2 * d  # pyright: ignore[reportOperatorIssue]
        d *= 2
        e.rotate(1)
        pair = deque([x[0], x[1]])
        equal = pair == [x[0], x[1]], pair == deque([x[0], x[1]]), pair != (x[0], x[1]), [pair] == [[x[0], x[1]]]
        d += [7]
        f = deque([1], maxlen=2)
        f.insert(0, x[1])
        return d, len(d), e, len(e), equal, f + deque([5]), hasattr(d, "sort")

    like_python(changed, (np.array([1.0, 2.0]),))
    for wrong in (
        lambda x: deque([1, 2], maxlen=2).insert(0, 3),
        lambda x: deque([1]) + [2],  # noqa: RUF005  # pyright: ignore[reportOperatorIssue]
        lambda x: deque([1]) < [2],  # pyright: ignore[reportOperatorIssue]
        lambda x: deque([2, 1]).sort(),  # pyright: ignore[reportAttributeAccessIssue]
    ):
        with pytest.raises((IndexError, TypeError, AttributeError)) as theirs:
            wrong(CELLS)
        with pytest.raises(type(theirs.value)) as ours:
            txc.jit(wrong)(CELLS)
        assert str(ours.value).startswith(str(theirs.value))
