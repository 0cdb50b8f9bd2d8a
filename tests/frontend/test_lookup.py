"""``table[i]`` where only the compiled function knows `i`: of numbers, arrays, lists, functions, texts, dicts."""

from __future__ import annotations

import copy
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

FACTORS = [0.5, 1.5, 2.5]
ORDER = (3, -1, 4, 1)
MIXED = (1, 2.5, True, np.float32(0.5))
COMPLEX = [1j, 2.0 + 1j]
ROWS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
PAIRS = ((1, 2), (3, 4), (5, 6))
NEIGHBOURS = [[1, 2], [0], [0, 1, 3], []]
CUBE = [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
MANY = [*range(1000, 0, -1)]
NAMED = [("a", 1.0), ("b", 2.0), ("a", 3.0)]
PERHAPS = [None, 1.5, None, "a"]
COSTS = {1: 0.5, 7: 1.5, -2: 3.0, True + 2: 4}
ORDERED = OrderedDict({0: "zero", 1: "one"})
DEFAULTS = defaultdict(int, {1: 2})
FUNCTIONS = [np.sqrt, np.abs, lambda v: v * 2]
WEIGHTS = [np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([5.0, 6.0])]
RAGGED = [np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])]
LAYERS = [(np.eye(2) * 2, np.ones(2)), (np.ones((2, 2)), np.zeros(2))]
Point = namedtuple("Point", "x y")
POINTS = [Point(1, 2.0), Point(3, 4.0)]


class Model:
    def __init__(self):
        self.table, self.parts, self.named = [1, 2, 3], (np.ones(2), np.ones(2) * 2), {"a": [1.5, 2.5]}

    def get(self, k):
        return self.table[k], self.parts[k], self.named["a"][k]


MODEL = Model()


def a(*values: Any) -> np.ndarray:
    return np.array(values)


def numbers(x):
    i, k = int(x[0]), x.argmin()
    return FACTORS[i], ORDER[-1 - k], MIXED[k], COMPLEX[i % 2], [7, 8][k % 2], (x[1], 2.5)[k % 2], (1, 2)[k > 0]


def the_counter_of_a_loop(x):
    s, total = 0.0, 0
    for i in range(len(x)):
        s += FACTORS[i % 3] * x[i] + MIXED[i % 4]
        total = total * 2 + ORDER[-1 - i % 4]
    for i in range(40):
        total += MANY[i * 3]
    return s, total, [ORDER[v] for v in x.astype(int)], sum(ORDER[i % 4] for i in range(len(x)))


def whiles_and_branches(x):
    i, j = 0, 0
    while i < 3 and FACTORS[i] < x[0]:
        i += 1
    while j < len(x) and x[j] < 3:
        if x[j] > 1:
            i += ORDER[j % 4]
        j += 1
    return i, FACTORS[1] if x[0] > 1 else FACTORS[j % 3]


def lists_of_lists(x):
    s = 0
    for i in range(len(x)):
        for j in range(len(NEIGHBOURS[i % 4])):
            s += NEIGHBOURS[i % 4][j] * (i + 1)
        for v in NEIGHBOURS[int(x[i])]:
            s += v
        for j in range(2):
            s += ROWS[i % 2][j] + CUBE[i % 2][j][int(x[i]) % 2]
        p, q = PAIRS[i % 3]
        s += p * q + PAIRS[i % 3][int(x[i]) % 2]
    row, pair = ROWS[int(x[0]) % 2], PAIRS[int(x[0])]
    return s, NEIGHBOURS[int(x[1])], row, pair, len(NEIGHBOURS[int(x[0])]), sum(row), max(pair), np.array(row), row[:2]


def arrays(x):
    s = 0.0
    for i in range(len(x)):
        w = WEIGHTS[i % 3]
        w[0] += x[i]
        WEIGHTS[int(x[i])][1:] = WEIGHTS[i % 3][:1] * 0.5
        s += RAGGED[i % 2].sum()
    h = x[:2]
    for i in range(len(x)):
        m, b = LAYERS[i % 2]
        h = m @ h * 0.25 + b
    own = [x, x + 1]
    own[int(x[0]) % 2][0] = 9
    return s, h, own, WEIGHTS[int(x[0])], RAGGED[int(x[0]) % 2]


def other_things(x):
    k = int(x[0])
    f = FUNCTIONS[k]
    name, value = NAMED[k]
    both = [[0, 0], [0, 0]]
    row = both[k % 2]
    row[k % 2] = 5
    text = f"{3}"
    return f(x), f(4.0), name, value, PERHAPS[k], "abc"[k], b"abc"[k], range(3, 30, 4)[k], POINTS[k % 2], both, text


def dicts(x):
    i, k = int(x[0]), int(x[1])
    s = 0.0
    for v in x:
        s += COSTS.get(int(v), 0.25)
    own = {0: 1.0, 1: 2.0}
    own[1] = s
    return COSTS[k], COSTS.get(i), COSTS.get(i, "no"), ORDERED[i % 2], own[i % 2], s


def searched(x):
    k = int(x[0])
    return k in MANY, MANY.index(k), MANY.count(k), ORDER.index(k), FACTORS.index(x[0] * 0.5), k * 2 in MANY


def parts(x):
    i, k = int(x[0]), int(x[1])
    return FACTORS[i:], FACTORS[:-k], FACTORS[i:k], FACTORS[k::-1], len(FACTORS[i:k])


def through_functions(x):
    def of(k):
        return FACTORS[k]

    return of(int(x[0])), (lambda k: ORDER[k])(int(x[1])), MODEL.get(int(x[0])), [*map(ORDER.__getitem__, (0, 1))]


def changed(x):
    counts, swapped = [0, 0, 0, 0], [0.0, 1.0, 2.0]
    for i in range(len(x)):
        counts[int(x[i])] += 1
        counts[i % 4] -= 1
        swapped[i % 3], swapped[(i + 1) % 3] = swapped[(i + 1) % 3], swapped[i % 3]
    return counts, swapped, counts[int(x[0])]


def as_a_size(x):
    s = 0.0
    for i in range(len(x)):
        s += x[: ORDER[2 + i % 2]].sum()
    for i in range(2):
        s = s + x.reshape(1, -1).sum(axis=PAIRS[0][i] - 1).sum()
    return s, np.zeros(ORDER[int(x[0]) % 1]), x[ORDER[int(x[0])] % 3]


CASES: list[tuple[Callable[..., Any], list[Any]]] = [
    (numbers, [a(1.0, 0.0), a(2.0, 5.0), a(-3.0, 1.0)]),
    (the_counter_of_a_loop, [a(1.0, 2.0, 0.0, 2.0, 3.0)]),
    (whiles_and_branches, [a(1.0, 2.0, 5.0), a(9.0, 0.0), a(0.25, 1.5, 2.0)]),
    (lists_of_lists, [a(1.0, 2.0, 0.0, 2.0, 3.0), a(2.0, 3.0)]),
    (arrays, [a(1.0, 2.0, 0.0), a(0.0, 1.0)]),
    (other_things, [a(0.0), a(1.0), a(2.0)]),
    (dicts, [a(1.0, 7.0, 5.0), a(5.0, -2.0)]),
    (searched, [a(3), a(1)]),
    (parts, [a(1, 2), a(0, 5)]),
    (through_functions, [a(0, 1), a(1, 3)]),
    (changed, [a(1, 2, 0, 1, 3), a(0, 0)]),
    (as_a_size, [a(0.0, 1.0, 2.0, 5.0)]),
]


def outcome(f: Callable[..., Any], x: np.ndarray) -> str:
    """What a call gives or raises, and what it leaves in the arrays outside."""
    before = copy.deepcopy(WEIGHTS)
    try:
        found: Any = f(x.copy())
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    left = repr((found, WEIGHTS))
    for array, was in zip(WEIGHTS, before):
        array[:] = was
    return left


@pytest.mark.parametrize(("f", "calls"), CASES)
def test_an_item_is_the_one_that_python_finds(f: Callable[..., Any], calls: list[np.ndarray]):
    compiled = txc.jit(f)
    for x in calls:
        assert outcome(compiled, x) == outcome(f, x)


def out_of_a_list(x):
    return FACTORS[x[0]]


def out_of_a_tuple(x):
    return PAIRS[x[0]]


def out_of_a_row(x):
    return ROWS[0][x[0]] if len(x) > 1 else NEIGHBOURS[1][x[0]]


def out_of_an_inner_list(x):
    return NEIGHBOURS[x[0]][x[1]]


def no_key(x):
    return COSTS[int(x[0])]


def no_index(x):
    return FACTORS[x[0] > 2]


def no_index_either(x):
    return FACTORS[x[0] * 0.5]


def an_array(x):
    return ORDER[x]


def stores_outside(x):
    own = [1, 2, 3]
    own[x[0]] = 5
    return own


def behind_a_store(x):
    x[1] = 7
    y = ORDER[x[0]]
    x[1] = 8 + y


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (out_of_a_list, a(3)), (out_of_a_list, a(-4)), (out_of_a_list, a(-3)),
        (out_of_a_list, np.array([255], np.uint8)),
        (out_of_a_tuple, a(3)), (out_of_a_row, a(3, 0)), (out_of_a_row, a(1)), (out_of_an_inner_list, a(0, 2)),
        (out_of_an_inner_list, a(2, -3)), (no_key, a(5.0)), (no_index, a(0)), (no_index_either, a(0)),
        (an_array, a(0)), (an_array, a(0, 1)), (stores_outside, a(3)), (behind_a_store, a(9, 0)),
    ],
)  # fmt: skip
def test_what_is_outside_is_an_error_with_pythons_text(f: Callable[..., Any], x: np.ndarray):
    ours, theirs = x.copy(), x.copy()
    assert outcome(lambda _: txc.jit(f)(ours), x) == outcome(lambda _: f(theirs), x)
    assert ours.tolist() == theirs.tolist()


def changes_a_row(x):
    NEIGHBOURS[x[0]][0] = 5


def appends_to_a_row(x):
    ROWS[x[0]].append(5)


def counts_outside(x):
    MANY[x[0]] += 1


def a_default(x):
    return DEFAULTS[x[0]]


def one_of_many_texts(x):
    return "abcdefghijkl"[x[0]]


def one_of_many_arrays(x):
    return [*map(np.arange, range(20))][x[0]]


@pytest.mark.parametrize(
    ("f", "code"),
    [
        (changes_a_row, "TX0315"), (appends_to_a_row, "TX0315"), (counts_outside, "TX0320"),
        (a_default, "TX0311"), (one_of_many_texts, "TX0231"),
        (one_of_many_arrays, "TX0231"),
    ],
)  # fmt: skip
def test_what_is_refused(f: Callable[..., Any], code: str):
    with pytest.raises(TxcError) as raised:
        txc.jit(f)(a(1))
    assert raised.value.code == code
    assert raised.value.loc is not None and raised.value.loc.line == f.__code__.co_firstlineno + 1
    assert raised.value.hint
    assert NEIGHBOURS[1] == [0] and len(ROWS[1]) == 3


def test_a_table_that_changes_is_another_fact():
    table = [1.0, 2.0, 3.0]

    @txc.jit
    def f(x):
        return table[int(x[0])]

    assert f(a(1)) == 2.0
    table[1] = 5
    assert repr(f(a(1))) == "5"
    table.append(7.0)
    assert f(a(3)) == 7.0


def test_a_table_is_one_array_however_long():
    def looks_up(table):
        @txc.jit
        def f(x):
            s = 0
            for i in range(len(x)):
                s += table[int(x[i])] + table[i] * table[-1 - i]
            return s

        return f.graph(a(1, 2))

    graphs = [looks_up(table) for table in (MANY[-10:], MANY)]
    assert [sum(i.hidden for i in g.inputs) for g in graphs] == [1, 1]
    few, many = (len([*g.walk()]) for g in graphs)
    assert few == many


def test_a_tx_file_looks_up_what_it_has_written():
    module = txc.compile_source(
        "def f(x: i64[n], k: i64) -> (f64, i64):\n"
        "    s = 0.0\n"
        "    for i in range(n):\n"
        "        s += [0.5, 1.5, 2.5][x[i]] + (1.0, 2.0)[i % 2]\n"
        "    return s, (3, -1, 4)[k]\n"
    )
    assert module.f(a(0, 1, 2), 1) == (0.5 + 1.5 + 2.5 + 1 + 2 + 1, -1)
    with pytest.raises(IndexError, match="tuple index out of range"):
        module.f(a(0), 3)


def test_lazy_tensors_index_as_their_numbers_do():
    t = txc.asarray(a(3.0, 1.0, 2.0))
    assert FACTORS[int(t.argmin())] == 1.5 and FACTORS[t.argmax()] == 0.5
    with pytest.raises(IndexError, match="list index out of range"):
        FACTORS[int(t[0])]


def longest_rise(x):
    best = [1] * len(x)
    for i in range(len(x)):
        for j in range(i):
            if x[j] < x[i]:
                best[i] = max(best[i], best[j] + 1)
    return best, max(best)


def reached(edges, start):
    distances, queue, head = [-1] * len(edges), [start], 0
    distances[start] = 0
    while head < len(queue):
        u = queue[head]
        head += 1
        for v in range(len(edges)):
            if edges[u, v] and distances[v] == -1:
                distances[v] = distances[u] + 1
                queue.append(v)
    return distances, queue


def test_counters_of_loops_over_sizes_that_are_facts():
    edges = np.array([[0, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0], [0, 0, 0, 0]])
    cases: list[tuple[Any, list[Any]]] = [
        (longest_rise, [(np.array([3, 1, 4, 1, 5, 9, 2, 6]),), (np.array([2, 1, 0]),)]),
        (reached, [(edges, 0), (edges[:3, :3].copy(), 2)]),
    ]
    for function, calls in cases:
        compiled = txc.jit(function)
        for args in calls:
            assert repr(compiled(*args)) == repr(function(*args))
