"""Results that are objects of Python's: each call makes them anew, of what it computed."""

import types
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass

import numpy as np
import pytest

import txc


@dataclass
class Fit:
    slope: object
    count: int = 0


@dataclass(frozen=True)
class Frozen:
    value: object


class Node:
    __slots__ = ("next", "value")

    def __init__(self, value, behind=None):
        self.value, self.next = value, behind


OUTSIDE = Fit(1.0, 2)


class Items(list):
    pass


def test_attributes_are_what_the_call_computed():
    def of(x):
        first = Node(x[0])
        second = Node(x.sum(), first)
        if x[0] > 1:
            fit = Fit(1.0, 2)
        else:
            fit = Fit(2.0, 3)
        return Fit(x * 2, len(x)), Frozen(x[1]), first, second, fit, types.SimpleNamespace(a=x[1], b="b")

    compiled = txc.jit(of)
    for x in (np.arange(3.0), np.arange(5.0) + 2):
        whole, frozen, first, second, fit, space = compiled(x)
        assert (type(whole), type(frozen), type(first)) == (Fit, Frozen, Node)
        np.testing.assert_array_equal(whole.slope, x * 2)
        assert (whole.count, frozen.value, first.value, second.value) == (len(x), x[1], x[0], x.sum())
        assert second.next is first
        assert first.next is None
        assert fit == (Fit(1.0, 2) if x[0] > 1 else Fit(2.0, 3))
        assert space == types.SimpleNamespace(a=x[1], b="b")


def test_containers_keep_their_class():
    def of(x):
        lists = defaultdict(list)
        lists[0].append(x[0])
        made = OrderedDict(a=x[0]), Counter([1, 1, 2]), {1, 2}, bytearray(b"ab"), array("d", [1.0]), deque([x[1]], 3)
        return lists, *made, slice(0, len(x)), range(len(x))

    compiled = txc.jit(of)
    for x in (np.arange(3.0), np.arange(4.0) + 2):
        found, expected = compiled(x), of(x)
        assert found == expected
        assert [*map(type, found)] == [*map(type, expected)]
        assert repr(found) == repr(expected)
        found[3].add(9)  # is nobody else's
        assert 9 not in compiled(x)[3]


def test_an_object_is_one_wherever_it_is_and_one_from_outside_itself():
    def of(x):
        made = Fit(x)
        made.slope = x + 1
        return made, [made], made.slope, OUTSIDE

    made, (again,), slope, outside = txc.jit(of)(np.arange(2.0))
    assert again is made
    assert slope is made.slope
    assert outside is OUTSIDE


def test_what_nobody_can_make_again_is_refused():
    def cycle(x):
        made = Node(x[0])
        made.next = made
        return made

    with pytest.raises(txc.TxcError, match="an object is returned that refers to itself"):
        txc.jit(cycle)(np.ones(2))
    with pytest.raises(txc.TxcError, match="a Items is returned, which is more than its attributes"):
        txc.jit(lambda x: Items([x[0]]))(np.ones(2))
    with pytest.raises(txc.TxcError, match="a function is returned that exists only while"):
        txc.jit(lambda x: lambda: x[0])(np.ones(2))
    with pytest.raises(TypeError, match="out= of of"):

        def of(x):
            return Fit(x)

        txc.jit(of)(np.ones(2), out=np.ones(2))
