# pyright: reportPossiblyUnboundVariable=false
"""Lists, dicts and objects that staged functions fill and store into hold what Python's hold, or are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from .cases import Cases, does_as_python, refuses

A = np.array([0.0, 1, 2])
M = np.arange(9.0).reshape(3, 3)
case = Cases()


class Totals:
    """An object of the user's."""

    def __init__(self) -> None:
        self.value, self.count = 0.0, 0


def has_two_names_for_what_it_makes(x, y):
    a = b = y
    for i in range(len(x)):
        a[0] += 1
        if x[i] > 1:
            a = b = x * i
    b[1] += 8
    return a, b


@case.on(M)
def lists_rows(x):
    rows = []
    for i in range(len(x)):
        rows.append(x[i])
    return np.array(rows), rows


@case.on(A, 3)
def lists_what_it_carries_on(x, n):
    states, h = [], x
    for _ in range(n):
        h = h * 2
        states.append(h)
    return states, h


@case.on(A, 3)
def lists_arrays_and_stores_into_them(x, n):
    made = []
    for i in range(n):
        h = x * i
        made.append(h)
        h[0] = 7
    made[0][1] = 5
    return made


@case.on(A)
def adds_into_a_list(x):
    acc = [0.0, 0.0]
    for i in range(len(x)):
        acc[0] += x[i]
        acc[1] = acc[0] * 2
    return acc[0] + acc[1]


@case.on(A)
def adds_into_a_dict(x):
    d = {"a": 0.0, "b": 1}
    for i in range(20):
        if i % 2 == 0:
            d["a"] += x[1]
        else:
            d["b"] += 1
    return d["a"], d["b"]


@case.on(A)
def adds_into_an_object(x):
    o = Totals()
    for i in range(len(x)):
        if x[i] > 0.5:
            o.value += x[i]
            o.count += 1
    return o.value, o.count


@case.on(A)
def sets_a_key_in_a_branch(x):
    d = {"k": 1}
    if x[1] > 0:
        d["k"] = 2
    return x * d["k"]


@case.on(A)
def changes_a_list_by_its_other_name(x):
    a = [1.0, 2.0]
    b = a
    if x[1] > 0:
        b[0] = 5.0
    return x * a[0]


@case.on(A)
def returns_containers(x):
    if x[0] > 1:
        return {"a": x, "n": [1, x[0]]}
    return {"a": x + 1, "n": [2, x[1]]}


@case.on(A)
def adds_into_one_of_two(x):
    z = np.zeros(3)
    y = x if x[1] > 0 else z
    y += 5
    return x, z


@case.on(A)
def makes_an_array_of_a_list(x):
    found = []
    for i in range(len(x)):
        found.append(x[i] * 2)
    return np.array(found), len(found), found


@case.on(A, 15)
def appends_two_numbers_at_a_time(x, n):
    found = []
    for i in range(n):
        found.append(x[0] + i)
        found.append(x[1] * i)
    return found, np.mean(found), len(found)


@case.on(A, 12)
def appends_ints(x, n):
    found = []
    for i in range(n):
        found.append(i * 2)
    return found, np.max(found)


@case.on(A, 0)
def appends_nothing(x, n):
    found = []
    for _ in range(n):
        found.append(x[0])
    return np.array(found), found, len(found)


@case.on(A)
def continues_a_list(x):
    found = [x]
    for i in range(12):
        found.append(found[-1] * 0.5 + i)
    return np.stack(found)


@case.on(A)
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


@case.on(A, 15)
def asks_how_long_the_list_is(x, n):
    found = []
    for _ in range(n):
        found.append(len(found) + x[1])
    return np.array(found)


@case.on(A, 9)
def makes_rows_of_lists(x, n):
    found = []
    for i in range(n):
        row = []
        for j in range(12):
            row.append(x[0] + i * j)
        found.append(np.array(row))
    return np.stack(found), np.stack(found, axis=1)


@case.on(A)
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


@pytest.mark.parametrize(("f", "arguments"), case)
def test_as_python(f: Callable[..., Any], arguments: tuple[Any, ...]):
    does_as_python(f, arguments)


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
    assert refuses(f, text, A.copy())
