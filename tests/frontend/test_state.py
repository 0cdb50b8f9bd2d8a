# ruff: noqa: B007  (programs are as their users write them)
# pyright: reportPossiblyUnboundVariable=false
"""What staged functions do with variables, references and containers is what Python does: values, and all effects.

Each function runs as it is and jitted, on copies of the same arguments; the results and what the arguments hold
afterwards have to be the same.  The kinds are those of faults that users of such compilers report.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

A = np.array([0.0, 1, 2])
B = np.array([5.0, 3, 1, 4])
M = np.arange(9.0).reshape(3, 3)


CASES: list[Any] = []


def case(*arguments: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def noted(f: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append(pytest.param(f, arguments, id=f.__name__))
        return f

    return noted


class Totals:
    """An object of the user's."""

    def __init__(self) -> None:
        self.value, self.count = 0.0, 0


@case(A, 3)
def stores_through_what_a_loop_leaves(x, n):
    """The view of the last iteration is a view behind the loop too."""
    for i in range(n):
        v = x[i:]
        v[0] += 10
    v[0] *= 2
    return v


@case(A, 3)
@case(A, 12)
def stores_into_what_a_loop_names(x, n):
    v = x[1:]
    for _ in range(n):
        v = x
    v[0] = 9
    return v


@case(A, 3)
@case(A, 2)
def writes_what_a_view_shows_that_is_rebound(x, n):
    z = x * 2
    q, w = z[:], z
    s = 0.0
    for _ in range(n):
        w[0] += 1
        s += q[0]
        q = q * 2
    return s, w, q


def swaps_as_often_as_values_say(x, y):
    z = x * 1
    for i in range(int(y[0])):
        z[1] = i
        x, z = z, x
    return x, z


def names_another_array_from_some_iteration_on(x, y):
    a = y
    for i in range(len(x)):
        a[0] += 1
        if x[i] > 1:
            a = x
    a[1] = 9
    return a


def names_a_view_from_some_iteration_on(x, y):
    for i in range(len(x)):
        if y[i] > 1:
            y = x[::-1]
        y += i
    y[0] = 7
    return y


def names_an_array_of_its_own_from_some_iteration_on(x, y):
    z = y
    for i in range(len(x)):
        z[0] += 1
        if x[i] > 1:
            z = x * i
        if x[i] < -1:
            break
    z[1] = 9
    return z


def names_another_array_in_a_while(x, y):
    i = 0
    while i < 3 and y[0] < 5:
        y[0] += 1
        if x[i] > 0:
            y = x
        i += 1
    y[2] = 4
    return y, i


def names_one_array_in_each_iteration(x, y):
    for _ in range(int(y[0])):
        x = y
    x[1] = 6
    return x


def has_two_names_for_what_it_makes(x, y):
    a = b = y
    for i in range(len(x)):
        a[0] += 1
        if x[i] > 1:
            a = b = x * i
    b[1] += 8
    return a, b


for names in (
    swaps_as_often_as_values_say, names_another_array_from_some_iteration_on, names_a_view_from_some_iteration_on,
    names_an_array_of_its_own_from_some_iteration_on, names_another_array_in_a_while, names_one_array_in_each_iteration,
):  # fmt: skip
    for sign in (1, -1, 0):
        for first in (0.0, 1.0, 2.0, 3.0):
            case(sign * np.arange(1.0, 4), np.array([first, 2, 3]))(names)


@case(A)
def chooses_between_one_array_and_itself(x):
    y = x
    y[...] = y if x[0] > 1 else x
    y[0] += 5
    return y or x if x[0] < 9 and len(x) == 1 else x


@case(A, 3)
def holds_in_a_tuple_what_a_loop_stores_into_and_rebinds(x, n):
    z = x * 2
    kept = (z, 1)
    for _ in range(n):
        z += 1
        z = z * 2
    return kept[0], z


@case(A, 3)
@case(-B, 2)
def chose_what_a_loop_stores_into_and_rebinds(x, n):
    z = x * 2
    y = x * 3
    q = z if x[0] >= 0 else y
    for _ in range(n):
        z += 1
        z = z * 2
    return q, z


@case(M)
def lists_rows(x):
    rows = []
    for i in range(len(x)):
        rows.append(x[i])
    return np.array(rows), rows


@case(A, 3)
def lists_what_it_carries_on(x, n):
    states, h = [], x
    for _ in range(n):
        h = h * 2
        states.append(h)
    return states, h


@case(A, 3)
def lists_arrays_and_stores_into_them(x, n):
    made = []
    for i in range(n):
        h = x * i
        made.append(h)
        h[0] = 7
    made[0][1] = 5
    return made


@case(A)
def swaps_elements(x):
    x[0], x[1] = x[1], x[0]
    return x


@case(np.array([3, 1, 2.0, 0]))
def sorts_by_bubbles(x):
    n = len(x)
    for i in range(n):
        for j in range(n - 1):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
    return x


@case(A)
def windows_from_before_the_start(x):
    y = np.zeros(3)
    for i in range(len(x)):
        y[i] = x[i - 1 : i + 2].sum()
    return y


@case(np.arange(6.0).reshape(3, 2))
def stores_into_a_row_found_at_run_time(X):
    k = X[:, 0].argmax()
    X[k][1] = 77
    return X


@case(A, np.zeros(3), 5)
def swaps_two_buffers(a, b, n):
    for t in range(n):
        b[1:-1] = a[:-2] + a[2:]
        a, b = b, a
    return a


@case(A)
def sums_in_a_closure(x):
    s = 0.0

    def add(v):
        nonlocal s
        s = s + v

    for i in range(len(x)):
        add(x[i])
    return s


@case(A)
def stops_at_the_end(x):
    i = 0
    while i < len(x) and x[i] < 5:
        i += 1
    return i


@case(A, 5)
def reads_the_counter_behind_a_loop(x, n):
    for k in range(n):
        pass
    return k


@case(A, 5)
def reads_what_a_loop_set(x, n):
    for k in range(n):
        t = x * k
    return t


@case(A, A, True)
def chooses_an_array_in_an_expression(x, z, c):
    y = x if z[0] > 1 else z
    y[0] = 9
    return y


@case(A, A)
def chooses_an_array_in_a_branch(x, z):
    if z[1] > 0:
        y = x
    else:
        y = z
    y[0] = 9
    return y


@case(np.random.default_rng(0).random((24, 24)))
def diffuses_errors(o):
    h, w = o.shape
    for y in range(h - 1):
        for x in range(w - 1):
            e = o[y, x] * 0.5
            o[y, x] = e
            o[y, x + 1] += e
            o[y + 1, x] += e
    return o


@case(A)
def swaps_buffers_in_a_while(x):
    u = x.copy()
    un = np.zeros(3)
    while u.sum() < 100:
        un[:] = u * 2 + 1
        u, un = un, u
    return u, un


@case(M)
def swaps_elements_of_a_matrix(x):
    x[0, 1], x[1, 0] = x[1, 0], x[0, 1]
    return x


@case(M)
def swaps_views_of_rows(x):
    x[0], x[1] = x[1], x[0]
    return x


@case(M)
def swaps_copies_of_rows(x):
    x[[0, 1]] = x[[1, 0]]
    return x


@case(A)
def accumulates_through_elements(x):
    t = x[0]
    for i in range(len(x)):
        x[i] += t
        t = x[i]
    return t


@case(A)
def adds_to_a_view_of_an_element(x):
    v = x[1, ...]
    v += 5
    return v * 2


@case(np.array([5, 3, 1]))
def shifts_integers(x):
    m = x[0]
    for i in range(1, len(x)):
        k = x[i]
        x[i] = m
        m = k
    return m


@case(A)
def views_an_element(x):
    v = x[0, ...]
    x[0] = 7
    return v + 0


@case(A)
def counts_in_a_closure(x):
    n = 0

    def inc():
        nonlocal n
        n += 1
        return n

    for i in range(20):
        if x[0] < 5:
            inc()
    return n


@case(A)
def calls_a_closure_late(x):
    k = 1.0

    def g(v):
        return v * k

    k = 3.0
    return g(x)


@case(A)
def calls_a_closure_set_in_a_branch(x):
    k = 1.0

    def g(v):
        return v * k

    if x[1] > 0:
        k = 3.0
    return g(x)


@case(A)
def adds_into_a_list(x):
    acc = [0.0, 0.0]
    for i in range(len(x)):
        acc[0] += x[i]
        acc[1] = acc[0] * 2
    return acc[0] + acc[1]


@case(A)
def adds_into_a_dict(x):
    d = {"a": 0.0, "b": 1}
    for i in range(20):
        if i % 2 == 0:
            d["a"] += x[1]
        else:
            d["b"] += 1
    return d["a"], d["b"]


@case(A)
def adds_into_an_object(x):
    o = Totals()
    for i in range(len(x)):
        if x[i] > 0.5:
            o.value += x[i]
            o.count += 1
    return o.value, o.count


@case(A)
def sets_a_key_in_a_branch(x):
    d = {"k": 1}
    if x[1] > 0:
        d["k"] = 2
    return x * d["k"]


@case(A)
def changes_a_list_by_its_other_name(x):
    a = [1.0, 2.0]
    b = a
    if x[1] > 0:
        b[0] = 5.0
    return x * a[0]


@case(A, A, 4)
def rotates_three_buffers(a, b, n):
    c = np.zeros(3)
    for t in range(n):
        c[:] = a + b
        a, b, c = b, c, a
    return a, b, c


@case(A, A, 7)
def rotates_three_arrays_of_others(a, b, n):
    c = np.zeros(3)
    for t in range(n):
        c[0] += a[1] + t
        a, b, c = b, c, a
    return a, b, c


@case(A, 5)
def writes_and_rebinds_an_argument(x, n):
    for i in range(n):
        x[0] = i
        x = x * 2
    return x


@case(A, 3)
def hands_arrays_on(x, n):
    cur = x
    prev = np.zeros(3)
    for i in range(n):
        nxt = cur + prev
        prev = cur
        cur = nxt
    return cur, prev


@case(A, 3)
def hands_arrays_on_and_stores(x, n):
    cur = x
    prev = np.zeros(3)
    for i in range(n):
        nxt = cur + prev
        prev = cur
        prev[0] = 9
        cur = nxt
    return cur, prev


@case(A)
def chooses_a_view(x):
    y = x[:2]
    if x[1] > 0:
        y = x[1:]
    y[0] = 50
    y += 1
    return y


@case(A)
def rebinds_one_of_two_names(x):
    y = x
    if x[1] > 0:
        y = y + 1
    y[0] = 3
    x[1] = 7
    return y


@case(A)
def reads_one_of_two_names(x):
    y = x
    if x[1] > 5:
        y = y + 1
    x[1] = 7
    return y * 1


@case(A)
def asks_for_an_element_that_may_not_be(x):
    i = 5
    if i < len(x) and x[i] > 1:
        return x + 1
    return x


@case(A, 0)
def asks_for_elements_in_a_loop(x, k):
    for i in range(12):
        k = i if (i < len(x) and x[i] > 0.5) or i == 11 else k
    return k


@case(A)
def asks_the_truth_of_counters(x):
    t = 0.0
    for i in range(12):
        if i % 3:
            t += x[1]
        if not i:
            t += 100
        if i or t > 1000:
            t += 0.5
    return t


@case(A, 0)
def loops_never(x, n):
    for k in range(n):
        pass
    return k


@case(A, 4)
def keeps_a_pair_of_the_last_iteration(x, n):
    for k in range(n):
        pair = (k, x[0])
    return pair


@case(A, 4)
def writes_the_last_row(x, n):
    m = np.arange(12.0).reshape(4, 3)
    for row in m:
        pass
    row[0] = 99
    return m


@case(A, 12)
def leaves_a_loop(x, n):
    for k in range(n):
        if x[1] * k > 3:
            break
    return k


@case(A, 12)
def ends_a_loop_without_leaving_it(x, n):
    for k in range(n):
        if x[1] * k > 300:
            break
    else:
        k = -1
    return k


@case(A)
def finds_the_largest(x):
    best = x[0]
    at = 0
    i = 1
    while i < len(x):
        if x[i] > best:
            best, at = x[i], i
        i += 1
    return best, at


@case(A)
def nests_loops(x):
    t = 0.0
    for a in range(9):
        for b in range(9):
            for c in range(9):
                t += x[1] * a * b * c
    return t


@case(A)
def returns_containers(x):
    if x[0] > 1:
        return {"a": x, "n": [1, x[0]]}
    return {"a": x + 1, "n": [2, x[1]]}


@case(A)
def adds_into_one_of_two(x):
    z = np.zeros(3)
    y = x if x[1] > 0 else z
    y += 5
    return x, z


@case(A)
def begins_with_none(x):
    best = None
    for i in range(len(x)):
        if best is None or x[i] > best:
            best = x[i]
    return best


@case(np.arange(10.0))
def averages_around(x):
    t = 0.0
    for i in range(len(x)):
        t += x[max(0, i - 2) : i + 3].mean()
    return t


@case(np.arange(10.0), 3)
def counts_to_a_break(x, n):
    i = 0
    while True:
        i += 1
        if x[i] > n:
            break
    return i


@case(A)
def makes_an_array_of_a_list(x):
    found = []
    for i in range(len(x)):
        found.append(x[i] * 2)
    return np.array(found), len(found), found


@case(A, 15)
def appends_two_numbers_at_a_time(x, n):
    found = []
    for i in range(n):
        found.append(x[0] + i)
        found.append(x[1] * i)
    return found, np.mean(found), len(found)


@case(A, 12)
def appends_ints(x, n):
    found = []
    for i in range(n):
        found.append(i * 2)
    return found, np.max(found)


@case(A, 0)
def appends_nothing(x, n):
    found = []
    for _ in range(n):
        found.append(x[0])
    return np.array(found), found, len(found)


@case(A)
def continues_a_list(x):
    found = [x]
    for i in range(12):
        found.append(found[-1] * 0.5 + i)
    return np.stack(found)


@case(A)
def goes_on_with_a_list(x):
    found = [x]
    for i in range(len(x)):
        found.append(x * i)
    found.append(x + 1)
    total = 0.0
    for v in found:
        total = total + v[1]
    for k, v in enumerate(found):
        total = total + k * v[2]
    return total, len(found), found[-1], found[2]


@case(A, 15)
def asks_how_long_the_list_is(x, n):
    found = []
    for _ in range(n):
        found.append(len(found) + x[1])
    return np.array(found)


@case(A, 9)
def makes_rows_of_lists(x, n):
    found = []
    for i in range(n):
        row = []
        for j in range(12):
            row.append(x[0] + i * j)
        found.append(np.array(row))
    return np.stack(found), np.stack(found, axis=1)


@case(A)
def does_with_a_list_what_python_does(x):
    v = [1, 2]
    v.append(3)
    made = (
        [*v, 4],
        v[1:],
        v * 2,
        sum(v),
        max(v),
        3 in v,
        sorted(v),
        list(reversed(v)),
        [n * 2 for n in v],
        v == [1, 2, 3],
    )
    return v, made, x[[0, 1]], np.mean(v), np.array(v), list(zip(v, v)), [*v], tuple(v), [n for n in v if n > 1]


def copied(arguments: tuple[Any, ...]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]


def outcome(f: Callable[..., Any], arguments: list[Any]) -> str:
    try:
        return repr(f(*arguments))
    except NameError as error:
        return repr(error)


@pytest.mark.parametrize(("f", "arguments"), CASES)
def test_as_python(f: Callable[..., Any], arguments: tuple[Any, ...]):
    ours, theirs = copied(arguments), copied(arguments)
    assert outcome(txc.jit(f), ours) == outcome(f, theirs)
    for mine, numpys in zip(ours, theirs):
        np.testing.assert_array_equal(mine, numpys)


def types_of(v):
    kinds = np.ndarray, float, int, bool, np.generic, np.floating, (float, np.floating), numbers.Number
    asked = [isinstance(v, kind) for kind in kinds]
    return [*asked, type(v) is np.ndarray, type(v) is float, np.isscalar(v), hasattr(v, "shape"), hasattr(v, "append")]


def asks_for_types(x, k, beta, row, narrow):
    values = (x, k, beta, row, narrow, x[0], len(x), x.sum(), x > 1, x[0] > 1, k * 2, beta * 2, x[0, ...], [x], "text")
    return [types_of(v) for v in values]


def test_types_are_those_of_python():
    arguments = A, 3, 2.5, M[:1], np.float32(1)
    assert txc.jit(asks_for_types)(*arguments) == asks_for_types(*arguments)


def sums_and_products(x, n):
    total, product, halves, found = 0, 1.0, 0, False
    for v in x:
        total += v
        product = product * float(v)
        halves += 0.5
        found = found or v > 2
    for i in range(n):
        product += i
    return total, product, halves, found


def test_loops_that_do_not_run_leave_numbers_as_they_are():
    jitted = txc.jit(sums_and_products)
    for x, n in ((A, 2), (A[:0], 2), (A[:0], 0), (A[:1], 1), (A[:0].astype(int), 0), (A, 0)):
        got, expected = jitted(x, n), sums_and_products(x, n)
        assert [type(g) for g in got] == [type(e) for e in expected]
        np.testing.assert_allclose(got, expected)


def grows_by_two_kinds(x):
    found = []
    for i in range(len(x)):
        found.append(x[i])
        found.append(x)
    return len(found)


def lists_functions(x):
    found = []
    for i in range(len(x)):
        found.append(lambda q, i=i: q * i)
    return len(found)


def lists_pairs(x):
    found = []
    for i in range(len(x)):
        found.append((x[i], (i, 1)))
    return found


def stores_into_a_listed_array(x):
    found = []
    for _ in range(len(x)):
        found.append(x)
    found[0][0] = 5
    return found


def stores_into_an_array_of_a_list(x):
    found = []
    for _ in range(len(x)):
        found.append(x[:2])
    x[1] = 8
    return found


def stores_into_the_last_of_a_list(x):
    found = []
    for i in range(len(x)):
        h = x * i
        found.append(h)
    h[1] = 5
    return found


def lists_one_array_twice(x):
    found = []
    for i in range(len(x)):
        h = x * i
        found.append(h)
        found.append(h)
    found[0][1] = 5
    return found


def stores_while_it_lists(x):
    found = []
    for i in range(len(x)):
        found.append(x)
        x[i] = 9
    return found


def asks_the_truth_of_an_array(x):
    return x and x


REFUSED = [
    (lambda x: has_two_names_for_what_it_makes(x, x + 1), "a is an array of others that the loop both writes"),
    (lists_functions, "the list found gets a function in each iteration"),
    (lists_pairs, "the list found gets a tuple in each iteration"),
    (stores_into_a_listed_array, "an item of found may be an array from before the loop"),
    (stores_into_an_array_of_a_list, "an item of found may be an array from before the loop"),
    (stores_into_the_last_of_a_list, "an item of found may be an array from before the loop"),
    (lists_one_array_twice, "an item of found may be an array from before the loop"),
    (stores_while_it_lists, "the list found gets arrays that others see, and the loop stores into them"),
    (grows_by_two_kinds, "the list found gets f64[] and f64[x.shape[0]] in iterations of a loop"),
    (asks_the_truth_of_an_array, "the condition of if is f64[x.shape[0]], not one bool"),
]


@pytest.mark.parametrize(("f", "text"), REFUSED, ids=lambda v: getattr(v, "__name__", ""))
def test_what_cannot_be_merged_is_refused(f: Callable[..., Any], text: str):
    with pytest.raises(TxcError) as caught:
        txc.jit(f)(A.copy())
    assert text in str(caught.value) and caught.value.hint and __file__ in str(caught.value)


def test_one_version_swaps_buffers_any_number_of_times_of_a_kind():
    """Whether an even or an odd number of iterations comes is a fact; how many is none."""
    jitted = txc.jit(swaps_two_buffers)
    for n in (2, 8, 4, 3, 5, 9):
        ours, theirs = [A.copy(), A * 0], [A.copy(), A * 0]
        np.testing.assert_array_equal(jitted(*ours, n), swaps_two_buffers(*theirs, n))
        for mine, numpys in zip(ours, theirs):
            np.testing.assert_array_equal(mine, numpys)
    assert sum(map(len, jitted._versions.values())) == 2


@pytest.mark.parametrize(
    "make", [txc.asarray, lambda a: txc.asarray(a) + 0, lambda a: txc.Tensor("f64", (3,)).assign(a)]
)
def test_eager_elements_are_read_when_they_are_indexed(make: Callable[..., Any]):
    t = make(A.copy())
    t[0], t[1] = t[1], t[0]
    first = t[2]
    t[2] = 7
    assert np.asarray(t).tolist() == [1, 0, 7] and float(first) == 2


def test_tx_elements_are_read_when_they_are_indexed():
    text = "def f(x: f64[n]) -> f64[n]:\n    a = x[0]\n    x[0] = x[1]\n    x[1] = a\n    return x"
    assert txc.compile_source(text).f(A.copy()).tolist() == [1, 0, 2]
