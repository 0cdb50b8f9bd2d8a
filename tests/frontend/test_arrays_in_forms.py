"""Arrays that iterations make, inside what a loop hands on: tuples, lists, dicts, attributes, and None or an array."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

X = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0])
FUNCTIONS: list[Callable[..., Any]] = []


def case(f: Callable[..., Any]) -> Callable[..., Any]:
    FUNCTIONS.append(f)
    return f


@case
def best_tuple(x, n):
    best = None
    y = x.copy()
    for i in range(n):
        y = y * 0.5 + i
        if best is None or y.sum() > best[1]:
            best = (y.copy(), y.sum(), i)
    return best


@case
def best_ref(x, n):
    best = None
    y = x.copy()
    for i in range(n):
        y = y * 0.5 + i
        if best is None or y.sum() > best[1]:
            best = (y, y.sum(), i)
    return best


@case
def pair_i_y(x, n):
    best = (0, x)
    for i in range(n):
        y = x * i
        if x[i] > 2:
            best = (i, y)
    return best


@case
def dict_rebound_cond(x, n):
    state = None
    y = x.copy()
    for i in range(n):
        y = y * 0.5
        if x[i] > 2:
            state = {"x": y.copy(), "k": i}
    return state


@case
def attribute(x, n):
    s = SimpleNamespace(best=None, k=0)
    y = x.copy()
    for i in range(n):
        y = y * 0.5
        if x[i] > 2:
            s.best = y.copy()
            s.k = i
    return s.best, s.k


@case
def none_or_array(x, n):
    b = None
    y = x.copy()
    for i in range(n):
        y = y * 0.5
        if x[i] > 2:
            b = y.copy()
    return b


@case
def none_or_array_ref(x, n):
    b = None
    y = x.copy()
    for i in range(n):
        y = y * 0.5
        if x[i] > 2:
            b = y
    return b


@case
def swap_in_tuple(x, n):
    p = (x.copy(), x * 2)
    for i in range(n):
        p = (p[1], p[0] + i)
    return p


@case
def swap_in_tuple_stored(x, n):
    p = (x.copy(), x * 2)
    for i in range(n):
        p = (p[1], p[0])
        p[0][i] += 7
    return p


@case
def swap_cond(x, n):
    p = (x.copy(), x * 2)
    for i in range(n):
        if x[i] > 2:
            p = (p[1], p[0])
    p[0][0] = 50
    return p


@case
def swap_cond_stored(x, n):
    p = (x.copy(), x * 2)
    for i in range(n):
        if x[i] > 2:
            p = (p[1], p[0])
        p[0][i] = 50
    return p


@case
def fib(x, n):
    p = (x, x * 2)
    for _i in range(n):
        p = (p[1], p[0] + p[1])
    return p


@case
def sizes(x, n):
    b = (0, x)
    for i in range(n):
        y = x[: i + 1] * 2
        if x[i] > 2:
            b = (i, y)
    return b


@case
def sizes_none(x, n):
    b = None
    for i in range(n):
        y = x[: i + 1] * 2
        if x[i] > 2:
            b = y
    return b


@case
def while_break(x, n):
    best = (x, 0.0)
    y = x.copy()
    i = 0
    while i < n:
        y = y * 0.5 + 1
        if y.sum() < 8:
            best = (y, y.sum())
            break
        if x[i] > 3:
            best = (y.copy(), 1.0)
        i += 1
    return best


@case
def while_state(x, n):
    s = (x, 0)
    i = 0
    while i < n:
        y, k = s
        s = (y * 0.5, k + 1)
        i += 1
    return s


@case
def for_state(x, n):
    s = (x, 0)
    for _i in range(n):
        y, k = s
        s = (y * 0.5, k + 1)
    return s


@case
def arm_old_new(x, n):
    s = (x, 0)
    for i in range(n):
        if x[i] > 3:
            s = (x * 2, i)
        else:
            s = (x, -i)
    return s


@case
def list_slot_cond(x, n):
    p = [None, 0]
    for i in range(n):
        if x[i] > 2:
            p[0] = x * i
            p[1] = i
    return p


@case
def dict_slot_cond(x, n):
    p = {"best": None, "k": 0}
    for i in range(n):
        if x[i] > 2:
            p["best"] = x * i
            p["k"] = i
    return p


@case
def dict_slot_tuple(x, n):
    p = {"best": (None, 0), "k": 0}
    for i in range(n):
        if x[i] > 2:
            p["best"] = (x * i, i)
    return p


@case
def stored_after(x, n):
    best = (0, x)
    y = x.copy()
    for i in range(n):
        y[0] += i
        if x[i] > 2:
            best = (i, y.copy())
    best[1][0] = 100
    return best, y


@case
def alias_later_iter(x, n):
    best = None
    y = x.copy()
    for i in range(n):
        if x[i] > 3.5 and best is None:
            best = (y, i)
        y[0] += 10
    return best, y


@case
def alias_later_iter2(x, n):
    best = (x, -1)
    y = x.copy()
    for i in range(n):
        if x[i] > 3.5:
            best = (y, i)
        y[0] += 10
    y[1] = -1
    return best, y


@case
def two_bests(x, n):
    a = (x, 0)
    b = (x, 0)
    for i in range(n):
        y = x * i
        if x[i] > 2:
            b = a
            a = (y, i)
    return a, b


@case
def cache_dict(x, n):
    cache = {}
    for i in range(n):
        if x[i] > 2:
            cache["y"] = x * i
    return cache


@case
def dtype_differs(x, n):
    b = (0, x)
    for i in range(n):
        if x[i] > 2:
            b = (i, x > i)
    return b


@case
def prev_none_pair(x, n):
    prev = None
    cur = x.copy()
    for i in range(n):
        nxt = cur * 0.5 if prev is None else cur - 0.1 * prev[0]
        prev = (cur, i)
        cur = nxt
    return prev, cur


@case
def obj_method(x, n):
    class S:
        def __init__(self):
            self.best = None
            self.v = -1.0

        def see(self, y):
            v = y.sum()
            if self.best is None or v > self.v:
                self.best = y.copy()
                self.v = v

    s = S()
    y = x
    for i in range(n):
        y = y * 0.5 + i
        s.see(y)
    return s.best, s.v


@case
def nested_loops(x, n):
    best = None
    for i in range(n):
        y = x * i
        for j in range(3):
            y = y + j
            if best is None or y[j] > best[1]:
                best = (y, y[j], (i, j))
    return best


@case
def view_of_own(x, n):
    best = (0, x)
    for i in range(n):
        y = x * i
        if x[i] > 2:
            best = (i, y[1:4])
    return best


@case
def list_of_pairs(x, n):
    p = [(x, 0), (x * 2, 1)]
    for i in range(n):
        y = x * i
        p = [p[1], (y, i)]
    return p


@case
def aug_part(x, n):
    p = (x.copy(), 0)
    for _i in range(n):
        q = p[0]
        q += 1
        p = (q, p[1] + 1)
    return p


@case
def aug_part_cond(x, n):
    p = (x.copy(), 0)
    for i in range(n):
        if x[i] > 2:
            p = (p[0] * 2, i)
        p[0][i] = -1
    return p


@case
def none_then_stored_cond(x, n):
    b = None
    for i in range(n):
        if x[i] > 3:
            b = x * 2
        if b is not None:
            b[i] = -1
    return b


@case
def none_tuple_stored_cond(x, n):
    b = None
    for i in range(n):
        if x[i] > 3:
            b = (x * 2, i)
        if b is not None:
            b[0][i] = -1
    return b


@case
def a_part_of_an_argument(x, n):
    found = None
    for i in range(n):
        if x[i] > 2:
            found = x[i:]
    return x, found


@case
def a_part_that_one_branch_binds(x, n):
    for i in range(n):
        if x[i] > 2:
            y = x[i:]
    if n > 0:
        return y  # pyright: ignore[reportPossiblyUnboundVariable]
    return x


@case
def a_list_that_is_stored_into_and_bound_anew(x, n):
    w = x * 2
    b = [x, w]
    i = 0
    while i < n:
        b[0] = w.copy()
        b = [w, x]
        i += 1
    return b


def arrays_in(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from arrays_in(part)
    elif isinstance(value, dict):
        yield from arrays_in(list(value.values()))


def described(value: Any) -> Any:
    """A value with the types of all of its parts."""
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [described(part) for part in value]
    if isinstance(value, dict):
        return [(key, described(part)) for key, part in value.items()]
    if isinstance(value, (np.ndarray, np.generic)):
        return type(value).__name__, str(value.dtype), value.shape, value.tolist()
    return type(value).__name__, repr(value)


def shared_by(*values: Any) -> set[tuple[int, int]]:
    """Which of the arrays in some values share memory."""
    found = list(arrays_in(values))
    return {(a, b) for a, x in enumerate(found) for b, y in enumerate(found) if np.shares_memory(x, y)}


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_python(f: Callable[..., Any]):
    compiled = txc.jit(f)
    for n in (0, 1, 2, 5):
        plain, x = X.copy(), X.copy()
        want, got = f(plain, n), compiled(x, n)
        assert described(got) == described(want)
        np.testing.assert_array_equal(x, plain)
        # What a value decided has memory of its own, and nothing shares that Python keeps apart.
        assert shared_by(got, x) <= shared_by(want, plain)


def stored_into_as_a_variable(x, n):
    best = (x, 0)
    y = x.copy()
    for i in range(n):
        if x[i] > 2:
            best = (y, i)
        y[0] += 1
        if x[i] > 4:
            y = y * 2
    return best, y


def stored_into_behind_the_loop(x, n):
    best, z = (x, 0), x
    for i in range(n):
        y = x * i
        if x[i] > 2:
            best = (y, i)
            z = y
        else:
            z = y + 1
    z[0] = 7
    return best


def one_part_is_another(x, n):
    p = (x, x)
    for i in range(n):
        y = x * i
        if x[i] > 2:
            p = (y, y)
    p[0][0] = 77
    return p


def appended_as_well(x, n):
    p, l = (x, 0), []
    for i in range(n):
        y = x * i
        l.append(y)
        if x[i] > 2:
            p = (y, i)
    p[0][0] = 77
    return p, l


def a_part_is_stored_into(x, n):
    y = x
    z = y
    a = [z, 0]
    for i in range(n):
        a[0] = y[::-1]
        if y.sum() > 30:
            z = y
            a = [y.copy(), i]
        y = a[0]
        if x[i] > 2:
            a[0][0] += i
    return a


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (a_part_is_stored_into, "y is an array of others"),
        (stored_into_as_a_variable, "best may be y as well after an iteration"),
        (stored_into_behind_the_loop, "best may be an array that another variable"),
        (one_part_is_another, "p may be an array that another variable, or another part of it, has"),
        (appended_as_well, "an item of l may be an array"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_what_a_store_into_a_copy_would_miss_is_refused(f: Callable[..., Any], text: str):
    with pytest.raises(TxcError, match=text) as caught:
        txc.jit(f)(X.copy(), 5)
    assert caught.value.code == "TX0291"
