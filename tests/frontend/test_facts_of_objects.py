"""What compiled code reads of objects, by whatever way, is what they hold at the call."""

from __future__ import annotations

import collections
import dataclasses
import functools
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc

X = np.arange(1.0, 4.0)


class Deep:
    """``o.k`` counts up; what is read of it in other ways follows."""

    shared = 3.0

    def __init__(self) -> None:
        self.k = 1.0
        self.items, self.table = [1.0, 2.0], {"a": 1.0}
        self.array, self.arrays = np.ones(3), [np.ones(3)]
        self.__private = 1.0

    def change(self) -> None:
        self.k += 1
        self.items[0] += 1
        self.table["a"] += 1
        self.arrays[0][0] += 1
        self.array = self.array + 1
        self.__private += 1
        type(self).shared += 1

    def method(self, x):
        return x * self.k

    @classmethod
    def of_class(cls, x):
        return x * cls.shared

    @staticmethod
    def of_nobody(x):
        return x * Deep.shared

    @property
    def doubled(self):
        return self.k * self.array

    def private(self, x):
        return x * self.__private

    def inner(self, x):
        def scaled(y):
            return y * self.k

        return scaled(x)

    def __call__(self, x):
        return x + self.k

    def __getitem__(self, i):
        return self.k + i

    def __len__(self) -> int:
        return int(self.k)

    def __float__(self) -> float:
        return self.k

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and self.k == other

    def __mul__(self, x):
        return x * self.k

    __hash__ = object.__hash__


@dataclasses.dataclass
class Leaf:
    v: float = 1.0


class Held(list): ...


O = Deep()
LEAVES = [Leaf(), Leaf()]
HELD, DEQUE = Held([1.0]), collections.deque([1.0])
MODULE: Any = types.ModuleType("settings")
MODULE.K = 1.0


def change() -> None:
    O.change()
    LEAVES[0].v += 1
    HELD[0] += 1
    DEQUE[0] += 1
    MODULE.K += 1


def helper(leaf):
    return leaf.v * O.k


def scaled_by(a, x):
    return x * a * O.k


def defaulted(x, leaf=LEAVES[0]):
    return x * leaf.v


FUNCTIONS: list[Callable[..., Any]] = [
    lambda x: x * O.k,
    lambda x: O.method(x),
    lambda x: O.inner(x),
    lambda x: O(x),
    lambda x: O.private(x),
    lambda x: x * O.doubled,
    lambda x: Deep.of_class(x) + Deep.of_nobody(x) + O.shared,
    lambda x: x * O[1],
    lambda x: x * len(O),
    lambda x: x * float(O),
    lambda x: O * x,
    lambda x: x * 2 if O == 2.0 else x,
    lambda x: x * O.items[0] * O.table["a"],
    lambda x: x * O.arrays[0].sum(),
    lambda x: sum([x * a.max() for a in O.arrays]),
    lambda x: x * getattr(O, "k") * getattr(O, "none", 2.0),  # noqa: B009
    lambda x: x * vars(O)["k"] * O.__dict__["k"],
    lambda x: x * operator.attrgetter("k")(O),
    lambda x: x * MODULE.K,
    lambda x: x * LEAVES[0].v + sum([leaf.v * x for leaf in LEAVES]),
    lambda x: x * HELD[0] + DEQUE[0],
    lambda x: sum(map(helper, LEAVES)) * x,
    lambda x: x * sorted(LEAVES, key=helper)[0].v,
    lambda x: defaulted(x),
    lambda x: functools.partial(scaled_by, 2.0)(x),
    O.method,
    Deep.of_class,
    O,
    functools.partial(scaled_by, 3.0),
    functools.partial(O.method),
    eval("lambda x: x * O.k + O.method(x) + O.arrays[0].sum() + len(O)"),
]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_a_change_is_noticed(f: Any) -> None:
    jitted = txc.jit(f)
    for _ in range(3):
        for _ in range(3):  # compiled, linked, entered directly
            np.testing.assert_array_equal(jitted(X), f(X))
        change()


def test_an_attribute_that_comes_to_be_is_noticed() -> None:
    thing = types.SimpleNamespace()
    f = txc.jit(lambda x: x * 2 if hasattr(thing, "k") else x + getattr(thing, "z", 1))
    np.testing.assert_array_equal(f(X), X + 1)
    thing.z = 5
    np.testing.assert_array_equal(f(X), X + 5)
    thing.k = None
    np.testing.assert_array_equal(f(X), X * 2)


def test_a_method_that_is_replaced_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    f = txc.jit(lambda x: O.method(x))
    f(X)
    monkeypatch.setattr(Deep, "method", lambda self, x: x * 77)
    np.testing.assert_array_equal(f(X), X * 77)


def test_nothing_else_of_an_object_is_a_fact() -> None:
    thing = types.SimpleNamespace(k=2.0, step=0)
    f = txc.jit(lambda x: x * thing.k)
    for _ in range(3):
        np.testing.assert_array_equal(f(X), X * 2)
        thing.step += 1
    assert sum(map(len, f._versions.values())) == 1


def test_what_is_no_python_function_is_refused() -> None:
    with pytest.raises(TypeError, match=r"txc\.jit compiles a Python function, not <built-in function len>"):
        txc.jit(len)


class Shifted:
    """Its class is called with other arguments than its objects."""

    def __init__(self, by: float, times: float):
        self.by, self.times = by, times

    def __call__(self, x: Any) -> Any:
        return x * self.times + self.by


def test_an_object_that_is_called_is_made_inside() -> None:
    def f(x):
        return Shifted(2.0, 3.0)(x)

    np.testing.assert_array_equal(txc.jit(f)(X), f(X))
