"""What loops of compiled code hand on beside numbers and arrays: one value or another, tuples, lists and dicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

# pyright: reportPossiblyUnboundVariable=false, reportUnboundVariable=false

FUNCTIONS: list[Callable[..., Any]] = []


def case(f: Callable[..., Any]) -> Callable[..., Any]:
    FUNCTIONS.append(f)
    return f


@case
def none_or_an_index(x):
    best = None
    for i in range(len(x)):
        if x[i] > 2:
            best = i
    return best


@case
def none_or_the_largest(x):
    best = None
    for i in range(len(x)):
        if best is None or x[i] > best:
            best = x[i]
    return best


@case
def a_state_that_is_a_text(x):
    state, n = "low", 0
    for i in range(len(x)):
        if state == "low":
            if x[i] > 2:
                state = "high"
        else:
            n += 1
            if x[i] < 2:
                state = "low"
    return state, n


@case
def a_pair(x):
    p = (0.0, 1.0)
    for i in range(len(x)):
        p = (p[1], x[i])
    return p


@case
def a_new_list(x):
    a = [0.0, 1.0]
    for i in range(len(x)):
        a = [a[1], x[i]]
        a[0] += 1
    return a


@case
def a_list_that_is_shifted(x):
    a = [0.0, 1.0]
    for i in range(len(x)):
        a = a[1:] + [x[i]]  # noqa: RUF005
    return a


@case
def two_lists_that_are_swapped(x):
    a, b = [0.0, 1.0], [2.0, 3.0]
    for i in range(len(x)):
        a, b = b, a
        a[0] += x[i]
    return a, b


@case
def a_new_dict(x):
    d = {"a": 0.0, "b": 1}
    for i in range(len(x)):
        d = {"a": d["b"], "b": x[i]}
    return d


@case
def lists_that_take_turns(x):
    a, b = [0.0, 1.0], [2.0, 3.0]
    for i in range(20):
        b = a
        a = [x[i % 3], b[0]]
        b[0] = 1.0
    return a, b


@case
def an_item_that_is_none(x):
    d = {"found": None, "n": 0}
    for i in range(len(x)):
        if x[i] > 2:
            d["found"] = (i, x[i])
        d["n"] += 1
    return d


@case
def a_list_with_another_name_before(x):
    a = [0.0, 1.0]
    b = a
    for i in range(len(x)):
        a = [a[1], x[i]]
    b[0] = 5.0
    return a, b


@case
def a_pair_where_it_breaks(x):
    for i in range(len(x)):
        pair = (x[i], 1)
        if x[i] > 2:
            break
        x[i] = 10
    return pair, x


@case
def a_number_that_becomes_an_array(x):
    v = 0
    for i in range(len(x)):
        v = v + x * i
    return v


@case
def an_array_that_changes_its_dtype(x):
    y = x
    for _ in range(len(x)):
        y = y > 0
    x[0] = 7
    return y


@case
def a_sum_of_rows(x):
    total = 0
    for row in np.stack([x] * 20):
        total = total + row
    return total


@case
def the_counter_of_a_loop_that_may_not_run(x):
    k = 2
    for i in range(len(x), 0, -1):
        for _j in range(i):
            pass
        k = _j  # pyright: ignore[reportPossiblyUnboundVariable]
    return k


@case
def the_length_of_a_list_that_grows(x):
    s, t = 0.0, 1.0
    found = []
    for _ in range(1, len(x)):
        if len(found) or x.argmax() >= 0:
            s = t = t
        found.append(s)
        t = len(found)
    return s, t, len(found)


@case
def a_length_among_swapped_numbers(x):
    s, t, k, found = 0.0, 1.0, 2, []
    if x.sum() > 0:
        found.append(s)
    for _ in x:
        s, t = t, s
        s, k = len(found), k + 1
    return s, t, k


@case
def while_there_is_more(x):
    i, last = 0, None
    while x[i] > 0:
        last = x[i] if x[i] > 1 else None
        i += 1
    return last, i


CALLS = ([3.0, 1, 4, 0], [-1.0, 2, 1, 0], [1.0, 1, 0], [-1.0, -2, 0], [1.0, 2, 3.5, 0])


def outcome(f: Callable[..., Any], x: np.ndarray) -> Any:
    return repr(f(x)), repr(x)


@case
def a_list_of_other_items(x):
    found = []
    for _ in range(int(x[0] > 2) + 1):
        found.append(2)
        found = [v for v in x]
    return found


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_python(f: Callable[..., Any]):
    jitted = txc.jit(f)
    for values in CALLS:
        assert outcome(jitted, np.array(values)) == outcome(f, np.array(values)), values


def one_list_of_two_names(x):
    a, b = [0.0, 1.0], [2.0, 1.0]
    for i in range(len(x)):
        b[0] = 1.0
        b = a = [x[i], a[0]]
    return a, b


def a_list_that_may_be_longer(x):
    a = [0.0]
    for i in range(len(x)):
        a = [*a, x[i]] if x[i] > 2 else [0.0]
    return a


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (one_list_of_two_names, "is a list before an iteration of the loop"),
        (a_list_that_may_be_longer, "as long as only the compiled function knows"),
    ],
)
def test_what_is_refused(f: Callable[..., Any], text: str):
    with pytest.raises(TxcError, match=text) as error:
        txc.jit(f)(np.arange(30.0))
    assert error.value.code in ("TX0315", "TX0319")
