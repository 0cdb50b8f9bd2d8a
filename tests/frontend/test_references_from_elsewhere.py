"""An array that a loop stores into and gives up is someone else's too: the caller's, an object's, an iterator's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.interpret.graph import run_graph

from .control import every_stage, same


def doubled_once(a, n):
    """What it is given is doubled once; the rest is done to another array."""
    for _ in range(n):
        a *= 2
        a = a + 1
    return a


def of_the_caller(y, n):
    y = y + 0
    z = doubled_once(y, n)
    return y, z


def twice(y, n):
    y = y + 0
    return doubled_once(y, n) + doubled_once(y, n)


def of_the_callers_list(y, n):
    box = [y + 0]
    z = doubled_once(box[0], n)
    return box[0], z


def by_a_while(y, n):
    def inner(a):
        i = 0
        while i < n:
            a *= 2
            a = a + 1
            i += 1
        return a

    y = y + 0
    z = inner(y)
    return y, z


def of_a_parameter(y, n):
    y = y + 0

    def g(q):
        nonlocal y
        t = 0.0
        for _ in range(n):
            y *= 2
            y = y + 1
            t += q.sum()
        return t

    return g(y)


def of_a_partial(y, n):
    y = y + 0
    total, s = partial(np.sum, y), 0.0
    for _ in range(n):
        s += total()
        y *= 2
        y = y[:]
    return s


def of_a_default(y, n):
    y = y + 0

    def total(q=y):
        return q.sum()

    s = 0.0
    for _ in range(n):
        s += total()
        y *= 2
        y = y[:]
    return s


def of_a_method(y, n):
    y = y + 0
    total, s = y.sum, 0.0
    for _ in range(n):
        s += total()
        y *= 2
        y = y[:]
    return s


def of_a_generator(y, n):
    y = y + 0
    items = (v for v in y)
    for _ in range(n):
        y *= 2
        y = y[:]
    return sum(items)


def of_an_iterator(y, n):
    y = y + 0
    items, s = enumerate(y), 0.0
    for _ in range(n):
        y *= 2
        y = y[:]
    for i, item in items:
        s += i * item
    return s


def of_flat(y, n):
    y = y + 0
    items, s = y.flat, 0.0
    for _ in range(n):
        y *= 2
        y = y + 1
        s += items[1]
    return s


class Slot:
    __slots__ = ("a",)


def of_a_slot(y, n):
    p, s = Slot(), 0.0
    p.a = y = y + 0
    for _ in range(n):
        y *= 2
        y = y + 1
        s += p.a.sum()
    return s


@pytest.mark.parametrize(
    "f",
    [of_the_caller, twice, of_the_callers_list, by_a_while, of_a_parameter, of_a_partial, of_a_default, of_a_method,
     of_a_generator, of_an_iterator, of_flat, of_a_slot],
)  # fmt: skip
def test_who_else_has_the_array_sees_the_stores(f):
    same(f, (np.arange(6.0), 5), (np.arange(6.0), 0), (np.arange(6.0), 1))


def read_before_a_call(y, n):
    """What an expression has read of a variable is there when a call in it gives that another array."""
    y = y + 0

    def g():
        nonlocal y
        for _ in range(n):
            y *= 2
            y = y + 1
        return 1.0

    w = y + 0 * g()
    first, _, last = (y, g(), y)
    t = np.add(y, g()).sum() + g() + [y[1:], g()][0].sum()
    return w, first, last, t, y


def added_to_what_was_read(y, n):
    y = y + 0

    def g():
        nonlocal y
        for _ in range(n):
            y *= 2
            y = y + 1
        return 1.0

    before = y
    y += g()
    y[0] += g()
    return before, y


def read_by_functions_in_each_other(y, n):
    y = y + 0

    def g():
        nonlocal y

        def inner():
            nonlocal y
            for _ in range(n):
                if y[1] > 4:
                    y *= 2
                    y = y + 1
                else:
                    y += 1
            return 2.0

        return y.sum() * inner() + (y * inner()).sum()

    return y * g(), y


@pytest.mark.parametrize("f", [read_before_a_call, added_to_what_was_read, read_by_functions_in_each_other])
def test_what_a_statement_has_read_is_a_reference(f):
    same(f, (np.arange(6.0), 3), (np.arange(6.0), 0), (np.arange(6.0), 1))


def swapped_and_left(x, y, n):
    z = x * 1
    for _ in range(3):
        for _ in range(n):
            z = y
            y = x
            x = z
        x = y
    return x, y, z


def test_what_a_loop_without_iterations_leaves():
    """The last two of its variables are one array behind an iteration, and were not before."""
    same(swapped_and_left, *((np.arange(3.0), np.arange(3.0)[::-1] * 5, n) for n in (0, 1, 2, 3)))
    every_stage(txc.jit(swapped_and_left), np.arange(3.0), np.arange(3.0)[::-1] * 5, 0)


def test_lists_of_loops_that_may_not_run_have_no_negative_sizes():
    def f(x, n):
        s: Any = 0.0
        w: Any = 0.0
        found = []
        for i in range(n):
            for _ in range(i):
                w, s = s, x
                found.append(1.5)
        return found if w is not None else []

    jitted = txc.jit(f)
    for n in (0, 1, 2, 4):
        x = np.arange(3.0)
        graph = jitted.graph(x, n)
        results = run_graph(graph, {i.name: (x, n)[k] for k, i in enumerate(graph.inputs)})
        assert jitted(x, n) == f(x, n)
        assert np.asarray(results[0]).ravel()[: len(f(x, n))].tolist() == f(x, n)


class Private(Slot):
    __slots__ = "__b"

    def __init__(self):
        self.__b, self.a = 1.0, 0.0

    def step(self, v):
        self.__b *= 1.5
        self.a += self.__b * v


@dataclass(slots=True)
class Counted:
    total: Any = 0.0
    count: int = 0


def stored_by_a_branch(x):
    p = Slot()
    p.a = 0.0
    if x[0] > 0:
        p.a = 1.0
    return p.a


def made_by_branches(x):
    p = Slot()
    if x[0] > 0:
        p.a = 1.0
    else:
        p.a = x.sum()
    return p.a


def stored_by_iterations(x):
    p = Private()
    for v in x:
        p.step(v)
    return p.a


def counted(x):
    d = Counted()
    for v in x:
        if v > 1:
            d.count += 1
            d.total = d.total + v
    return d.count, d.total


@pytest.mark.parametrize("f", [stored_by_a_branch, made_by_branches, stored_by_iterations, counted])
def test_attributes_in_slots_are_state(f):
    same(f, (np.arange(4.0),), (np.ones(4) * 1.01,))


def by_a_default(x):
    def kept(q, times=[0], *, seen={}):  # noqa: B006
        times[0] += 1
        seen["last"] = q
        return times[0]

    if x[0] > 2:
        kept(1.0)
    else:
        kept(2.0)
        kept(3.0)
    return kept(4.0), (kept.__kwdefaults__ or {})["seen"]["last"]


def by_an_attribute_of_a_function(x):
    def counted_calls(q):
        g.calls += 1
        return q

    g: Any = counted_calls

    g.calls = 0
    if x[0] > 2:
        g(1)
    return g.calls


def by_what_a_partial_holds(x):
    def put(held, q):
        held[0] = q
        return q

    h = partial(put, [1.0], q=7.0)
    if x[0] > 2:
        h()
    return h.args[0]


def by_a_class_of_the_function(x):
    class Hits:
        most = 0.0

        def shown(self):
            return self.most

    o = Hits()
    if x[0] > 2:
        Hits.most = 3.0
    return o.shown(), Hits.most


def by_a_memoryview(x):
    seen = memoryview(bytearray(b"abc"))
    if x[0] > 2:
        seen[0] = 5
    return [*seen]


@pytest.mark.parametrize(
    "f",
    [
        by_a_default, by_an_attribute_of_a_function, by_what_a_partial_holds, by_a_class_of_the_function,
    ],
)  # fmt: skip
def test_what_functions_and_classes_hold_is_state(f):
    same(f, (np.arange(4.0),), (np.arange(4.0) + 5,))


def test_a_memoryview_is_state_or_refused():
    """Its items are numbers of Python's own, which compiled code cannot choose from."""
    with pytest.raises(txc.TxcError):
        txc.jit(by_a_memoryview)(np.arange(4.0))
