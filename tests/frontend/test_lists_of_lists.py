"""Lists of lists into whose items a jitted function stores: tables of dynamic programs, and rows that have names."""

import copy
import itertools
import math

import numpy as np
import pytest

import txc

X = np.arange(12.0).reshape(3, 4)
INTS = np.arange(12).reshape(3, 4)


def like_python(function, *calls):
    compiled = txc.jit(function)
    for args in calls:
        found, expected = compiled(*copy.deepcopy(args)), function(*copy.deepcopy(args))
        assert repr(found) == repr(expected)


def test_distances_of_texts():
    def distance(a, b):
        d = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
        for i in range(len(a) + 1):
            d[i][0] = i
        for j in range(len(b) + 1):
            d[0][j] = j
        for i in range(1, len(a) + 1):
            for j in range(1, len(b) + 1):
                same = a[i - 1] == b[j - 1]
                d[i][j] = d[i - 1][j - 1] if same else 1 + min(d[i - 1][j], d[i][j - 1], d[i - 1][j - 1])
        return d[len(a)][len(b)], d, d[-1][-1], len(d), len(d[0])

    texts = [np.frombuffer(t, np.uint8) for t in (b"kitten", b"sitting", b"ab", b"")]
    like_python(distance, texts[:2], texts[1:3], (texts[0], texts[3]))


def test_numbers_of_several_types_in_one_table():
    def packed(weights, values, most):
        best = [[0] * (most + 1) for _ in range(len(weights) + 1)]
        for i in range(1, len(weights) + 1):
            for j in range(most + 1):
                if weights[i - 1] <= j:
                    best[i][j] = max(best[i - 1][j], best[i - 1][j - weights[i - 1]] + values[i - 1])
                else:
                    best[i][j] = best[i - 1][j]
        return best[-1][most], best, np.array(best), sum(map(sum, best))

    like_python(
        packed,
        (np.array([1, 3, 4, 5]), np.array([1, 4, 5, 7]), 7),
        (np.array([2, 3]), np.array([3, 4]), 5),
    )


def test_rows_are_the_items_of_the_list():
    def rows(x, k):
        t = [[0.0] * x.shape[1] for _ in range(len(x))]
        row = t[int(x[k, 0]) % len(x)]
        t[int(x[k, 0]) % len(x)][0] = 5.0
        read = row[0]
        row[1] = x[0, 1]
        for i, each in enumerate(t):
            for j in range(len(each)):
                each[j] += i * j
        for a, b in itertools.pairwise(t):
            b[1] = a[1] + 10
        if x[0, 1] > 0:
            other = t[0]
        else:
            other = t[1]
        other[2 % len(other)] = -1.0
        kept = {"a": t[0], "b": (t[1],)}
        kept["b"][0][1] = 6.0
        return t, row, read, kept, [len(r) for r in t], max(max(r) for r in t)

    like_python(rows, (X, 1), (-X[:2], 0), (X.T.copy(), 2))


def test_copies_of_rows_and_of_the_list():
    def copies(x, k):
        t = [[0.0] * x.shape[1] for _ in range(len(x))]
        for i in range(len(x)):
            for j in range(x.shape[1]):
                t[i][j] = float(x[i, j])
        part, same, longer, again = t[k][:], t[k].copy(), t[k] + [1.0], list(t[k])
        before, rows, deep, shallow, other = [1.0] + t[k], [r[:] for r in t], copy.deepcopy(t), t[:], t.copy()
        t[k][0] = -1.0
        shallow[0][1] = -2.0
        other[1][1] = -3.0
        return t, part, same, longer, again, before, rows, deep, shallow, other

    like_python(copies, (X, 1), (X.T.copy(), 0))


def test_three_levels_bools_and_branches():
    def filled(x):
        n, m = x.shape
        cube = [[[0] * 2 for _ in range(m)] for _ in range(n)]
        seen = [[False] * m for _ in range(n)]
        far = [[math.inf] * n for _ in range(n)]
        for i in range(n):
            far[i][i] = 0
            for j in range(m):
                cube[i][j][1] = x[i, j]
                if x[i, j] % 2 == 0 and not seen[i][j]:
                    seen[i][j] = True
        made = []
        for i in range(n):
            row = []
            for j in range(m):
                row.append(x[i, j] * 2)
            made.append(row)
        made[int(x[0, 1]) % n][0] = x[0, 0]
        return cube, seen, far, made, any(any(r) for r in seen), [r.count(True) for r in seen]

    like_python(filled, (INTS,), (INTS[:2, 1:].copy(),))


def test_lists_of_lists_of_numpys_numbers_and_of_arrays():
    def made(x):
        numbers = [[v * 2 for v in row] for row in x]
        deeper = [[[v, v + 1] for v in row] for row in x]
        pairs = []
        for i in range(len(x)):
            pairs.append([i, x[i, 0]])
        pairs[0][1] = 7
        return pairs, numbers, [[row * v for v in row] for row in x], deeper, [[float(v) for v in row] for row in x]

    like_python(made, (X,), (X[:2, 1:].astype(np.float32),), (INTS,))


def test_an_index_outside_and_what_is_refused():
    def outside(x):
        t = [[0] * x.shape[1] for _ in range(len(x))]
        t[0][x[0, 1] + 3] = 1

    def swapped(x):
        t = [[0] * x.shape[1] for _ in range(len(x))]
        t[0], t[1] = t[1], t[0]

    def inexact(x):
        t = [[0.5] * x.shape[1] for _ in range(len(x))]
        for i in range(len(x)):
            t[i][0] = x[i, 0]

    def kept(x):
        t, rows = [[0] * x.shape[1] for _ in range(len(x))], []
        for i in range(len(x)):
            rows.append(t[i])
        t[0][0] = 1
        return rows

    with pytest.raises(IndexError, match="list assignment index out of range"):
        txc.jit(outside)(INTS)
    for function, text in (
        (swapped, "a list in a list of lists is replaced, which others may refer to"),
        (inexact, "has items of types that no dtype holds exactly"),
        (kept, "the list rows gets a list in each iteration"),
    ):
        with pytest.raises(txc.TxcError, match=text):
            txc.jit(function)(INTS)


def test_deep_and_shallow_copies_of_tables():
    def copied(n):
        table = [[0] * n for _ in range(n)]
        deep, shallow = copy.deepcopy(table), table.copy()
        for i in range(n):
            deep[i][0] = 1
            shallow[i][1] = 2
        return table, deep, shallow

    for n in (2, 3):
        assert repr(txc.jit(copied)(n)) == repr(copied(n))
