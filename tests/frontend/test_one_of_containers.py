"""Lists, dicts and objects that one branch makes anew: unpacked, gone through and assigned to as what there is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

from .control import same
from .programs.interpreted import interpreted

X = np.arange(6.0)
Y = np.arange(6.0)[::-1] * 2


class Slot:
    __slots__ = ("s", "x")

    def __init__(self, x, s):
        self.x, self.s = x, s


class Counted:
    def __init__(self, x, s=0.0):
        self.x, self.s, self.stores = x, s, 0

    @property
    def first(self):
        return self.x[0]

    @first.setter
    def first(self, q):
        self.x[0] = q
        self.stores = self.stores + 1


def attributes_in_place(x, y, n):
    slot = Slot(x, 1.0)
    other = slot
    if x[0] > n:
        slot = Slot(y, x[1])
    slot.x += 1
    slot.s += 2
    slot.s *= 3
    other.x[0] -= 5
    return slot.x, slot.s, other.x, other.s, x, y, slot is other


def a_property(x, y, n):
    a, b = Counted(x), Counted(y)
    c = a
    if x[0] > n:
        c = b
    c.first += 4
    c.first = c.first * 2
    return a.x, b.x, a.stores, b.stores, c.stores, c is a, c is b


def in_a_list_as_well(x, y, n):
    slot = Slot(x, 0.0)
    held = [slot]
    if x[0] > n:
        slot = Slot(y, 1.0)
    elif x[1] > n:
        slot = Slot(x, 2.0)
    slot.x = slot.x * 2
    slot.x += 1
    slot.x[0] += 7
    held[0].s += 1
    return slot.x, slot.s, held[0].x, held[0].s, x, y, held[0] is slot


def of_two_classes(x, y, n):
    slot = Slot(x, 1.0)
    if x[0] > n:
        slot = Counted(y, 2.0)
    slot.s += 1
    slot.x[1] += 1
    slot.x = slot.x + x
    return slot.s, slot.x, x, y


def unpacked_lists(x, y, n):
    pair = [x, y]
    other = pair
    if x[0] > n:
        pair = [y, x]
    a, *_ = pair
    a[0] += 10
    new = [*pair, a]
    new[1][1] -= 1
    pair[0] = x * 3
    return (*other, *pair, *new, x, y, other is pair, new[0] is a)


def unpacked_twice(x, y, n):
    pair, t = [0.0, 1.0], 1.0
    if x[0] > n:
        *pair, t = x[0], *pair
    if x[1] > n:
        *pair, t = x[1], *pair
    pair[0] += 1
    s, *pair = *pair, t
    return pair[0], pair[1], t, s


def unpacked_dicts(x, y, n):
    d = {"a": x, "b": y}
    e = d
    if x[0] > n:
        d = {"a": y, "b": x}
    f = {**d, "a": x}
    f["b"][0] += 1
    d["a"][1] += 2
    f["a"] = x * 2
    return d["a"], d["b"], e["a"], e["b"], f["a"], f["b"], x, y, d is e


def unpacked_in_loops(x, y, n):
    table = {"a": x, "b": y}
    for i in range(len(x)):
        if x[i] > n:
            table = {**table, "a": y}
        elif x[i] < 1:
            table["a"], table["b"] = table["b"], table["a"]
        table["a"][0] += 1
        table["b"][1] += 1
    return table["a"], table["b"], x, y


def gone_through(x, y, n):
    rows = [x, y]
    kept = rows
    if x[0] > n:
        rows = [q + 1 for q in rows]
    for i, r in enumerate(rows):
        rows[i] = r * 2
    kept[0] += 1
    return (*rows, *kept, x, y, sum(q[0] for q in rows))


@pytest.mark.parametrize(
    "f",
    [
        attributes_in_place, a_property, in_a_list_as_well, of_two_classes, unpacked_lists, unpacked_twice,
        unpacked_dicts, unpacked_in_loops, gone_through,
    ],
)  # fmt: skip
def test_it_is_the_one_that_there_is(f: Callable[..., Any]):
    with interpreted():
        same(f, (X, Y, 2), (X + 3, Y, 3), (X + 3, Y, 2))


def of_two_lengths(x, n):
    items = [1.0, 2.0]
    if x[0] > n:
        items = [1.0, 2.0, 3.0]
    return [0.0, *items]


def in_two_orders(x, n):
    items = {"a": 1.0, "b": 2.0}
    if x[0] > n:
        items = {"b": 1.0, "a": 2.0}
    return {**items}


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (of_two_lengths, "'items' is a list in one branch of an if and a list in the other"),
        (in_two_orders, "'items' is a dict in one branch of an if and a dict in the other"),
    ],
)
def test_what_has_another_structure_in_each_branch_is_not_unpacked(f: Callable[..., Any], text: str):
    with pytest.raises(TxcError, match=text):
        txc.jit(f)(X, 3)
