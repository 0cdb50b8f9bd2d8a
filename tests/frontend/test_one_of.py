"""Values of one kind or another, as compiled code decides: what Python does with each, in a branch for each."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.call.signature import EitherOutput, Literal, NumberOutput, plain_structure, structure_of_plain
from txc.compiler.diagnostics import TxcError

FUNCTIONS: list[Callable[..., Any]] = []


def case(f: Callable[..., Any]) -> Callable[..., Any]:
    FUNCTIONS.append(f)
    return f


@case
def returns_arrays_of_two_sizes(x):
    if x[0] > 0:
        v = x[1:]
    else:
        v = x * 2
    return v


@case
def returns_another_rank(x):
    if x[0] > 0:
        return x.sum()
    return x


@case
def stores_into_a_view_or_an_array_of_its_own(x):
    if x[0] > 0:
        v = x[1:]
    else:
        v = x * 2
    v[0] = 7
    v += 1
    return v, v.sum() + len(v), v * v, 3 - v


@case
def lists_of_two_lengths(x):
    found = []
    if x[0] > 0:
        found = [1, x[1]]
    else:
        found = found + [2.0]  # noqa: RUF005
    found.append(5)
    return found, len(found)


@case
def nothing_or_a_number(x):
    t = None
    if x[0] > 0:
        t = x.sum()
    if t is None:
        return x
    return t + 1


@case
def nothing_or_an_array(x):
    t = None
    if x[0] > 0:
        t = x * 2
    if t is not None:
        t[0] = 4
    return t, x if t is None else t


@case
def texts(x):
    name = "a" if x[0] > 0 else "bb"
    return name, len(name), name == "a", name + "c"


@case
def views_of_arrays_that_both_branches_make(x):
    if x[0] > 0:
        z = x * 2
        v = z[1:]
    else:
        z = x * 3
        v = z[:1]
    v[0] = 9
    return z, v


@case
def two_names_in_one_branch_only(x):
    z = x * 2
    if x[0] > 0:
        z = x * 5
        v = z
    else:
        v = x[1:]
    v[0] = 9
    z[1] = 4
    return z, v


@case
def one_list_or_two(x):
    if x[0] > 0:
        p = q = [1]
    else:
        p = [2]
        q = [3]
    q[0] += 10
    return p, q


@case
def two_lists_or_one(x):
    if x[0] > 0:
        p = [2]
        q = [3]
    else:
        p = q = [1]
    q[0] += 10
    return p, q, p is q


@case
def functions(x):
    if x[0] > 0:
        f = lambda q: q * 2  # noqa: E731
    else:
        f = np.sum
    return f(x)


@case
def dicts_of_other_keys(x):
    if x[0] > 0:
        d = {"a": 1.5, "b": x}
    else:
        d = {"a": 2.5}
    d["c"] = x[1]
    d["a"] += 1
    return d


@case
def library_functions(x):
    r = x if x[0] > 0 else x[:2]
    y = r * 2
    for i in range(len(y)):
        y[i] += i
    s = 0.0
    for q in y:
        s += q
    return np.sort(y), s, y + r, np.maximum(r, 1.0), r.max(), r[::-1], np.concatenate([r, y]), x[0] + r


@case
def dtypes(x):
    v = np.zeros(2) if x[0] > 0 else np.ones(3, np.int32)
    w = v
    w[0] = 5
    for i in range(3):
        v[1] += i
    return v, w, v is w, v.dtype == np.float64, isinstance(v, np.ndarray), v.size, v.ndim


@case
def flattened(x):
    m = np.outer(x, x)
    a = m[0]
    if x[0] > 0:
        a = m.ravel()
    a[1] = 8
    return a, m


@case
def flattened_as_a_copy(x):
    m = np.outer(x, x)
    a = m[0]
    if x[0] > 0:
        a = m.T.ravel()
    a[1] = 8
    return a, m


@case
def three_kinds(x):
    if x[0] > 2:
        v = x
    elif x[0] > 0:
        v = x[:1]
    else:
        v = np.outer(x, x)
    w = v + 1
    if x[1] > 0:
        w = v
    w[0] = 3
    return v, w


@case
def the_same_condition_twice(x):
    if x[0] > 0:
        v, w = x, x * 2
    else:
        v, w = x[1:], x[1:] * 3
    return v + w, v @ w


@case
def reads_it_in_a_loop(x):
    v = x[1:] if x[0] > 0 else x
    s = 0.0
    for i in range(len(x) - 1):
        s += v[i]
        v[i] = s
    return s


@case
def out_of_a_function(x):
    def part(q):
        if q[0] > 0:
            return q[1:]
        return q

    return part(part(x))


@case
def other_numbers_of_results(x):
    if x[0] > 0:
        return x, 1
    return x, x[1:], 2


@case
def in_a_branch_of_a_branch(x):
    v = x
    if x[0] > 0:
        if x[1] > 1:
            v = x * 2
            v[1] = 5
        else:
            v = [1.0, 2.0]
    return v


@case
def items_of_either(x):
    pair = (x[0], x) if x[1] > 1 else [x[1], x[1:]]
    a, b = pair
    b[0] = 7
    return a, b


@case
def assigned_parts(x):
    v = x[1:] if x[0] > 0 else x
    y = np.zeros(len(x) + 1)
    y[: len(v)] = v
    z = np.zeros(len(x))
    z += np.ones(1) if x[1] > 1 else x
    return y, z


@case
def methods_that_change_a_list(x):
    found = [1.0]
    if x[0] > 0:
        other = found
    else:
        other = [2.0, 3.0]
    other.append(4.0)
    other.extend([5.0, 6.0])
    return found, len(other)


class Box:
    def __init__(self, x: Any):
        self.x = x

    def total(self, k: int) -> Any:
        self.x = self.x * k
        return self.x.sum()


class Bag:
    def __init__(self, x: Any):
        self.items = [x]

    def total(self, k: int) -> Any:
        self.items[0] = k
        return np.float64(1.5)


@case
def objects(x):
    if x[0] > 0:
        box = Box(x)
    else:
        box = Bag(x)
    s = box.total(3)
    if isinstance(box, Box):
        box.x[0] = 1
        box.x = box.x + 1
    return s, isinstance(box, Bag), hasattr(box, "items")


CALLS = ([1.0, 2, 3], [-1.0, 2, 3], [3.0, -1, 2], [0.5, 0.5, 0.5, 1])


def outcome(f: Callable[..., Any], x: np.ndarray) -> Any:
    result = f(x)
    shown = repr(result)
    return shown, repr(x)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_python(f: Callable[..., Any]):
    jitted = txc.jit(f)
    for values in CALLS:
        assert outcome(jitted, np.array(values)) == outcome(f, np.array(values)), values


def returns_one_twice(x):
    v = x * 2 if x[0] > 0 else x[1:] * 3
    return v, v, [v]


def test_a_result_that_is_there_twice_is_one_object():
    for sign in (1, -1):
        a, b, (c,) = txc.jit(returns_one_twice)(np.arange(1.0, 4) * sign)
        assert a is b is c


def returns_the_argument_or_a_copy(x):
    return x if x[0] > 0 else x[1:].copy()


def test_an_argument_is_given_back_itself():
    x = np.arange(1.0, 4)
    assert txc.jit(returns_the_argument_or_a_copy)(x) is x
    made = txc.jit(returns_the_argument_or_a_copy)(-x)
    assert made.tolist() == [-2, -3] and made.base is not x


def too_many(x):
    v = x
    for i in (2, 3, 4, 5, 6, 7, 8, 10):
        if x[i % 9] > 0:
            v = np.zeros(i)
    return v


def test_refused():
    with pytest.raises(TxcError, match=r"v'? is .* in the other"):
        txc.jit(too_many)(np.ones(9))


def test_structures_of_files():
    structure = (EitherOutput([0, [NumberOutput(1), Literal("a")]], [2, 3]),)
    plain = json.loads(json.dumps(plain_structure(structure)))
    read = structure_of_plain(plain)
    assert repr(read) == repr(structure)
    assert read[0].of([0, 0, False, True]) == [1, Literal("a")]
    assert repr(copy.copy(structure[0])) == repr(structure[0])
