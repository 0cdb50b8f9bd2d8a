"""Objects that a compiled function makes of the user's classes: each call makes its own, as Python does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from typing import Any, cast

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

SCALE = 2.0


class Ring:
    def __init__(self, size: int):
        self.items = np.zeros(size)
        self.next = 0

    def push(self, value: float):
        self.items[self.next] = value
        self.next = (self.next + 1) % len(self.items)


class Loud(Ring):
    def __init__(self, size: int, gain: float):
        super().__init__(size)
        self.gain = gain

    def push(self, value: float):
        super().push(self.gain * value)


class Made:
    items: np.ndarray

    def __new__(cls, size: int):
        made = object.__new__(cls)
        made.items = np.zeros(size)
        return made


class Fields:
    def __init__(self, values: np.ndarray):
        if values[0] > 1:
            self.values = values * SCALE
        else:
            self.values = -values

    def __getitem__(self, number: int):
        # What operators call is not staged.
        part = np.zeros(2)
        part += self.values[number]
        return part


@dataclass
class Sums:
    size: int
    total: np.ndarray = field(default_factory=lambda: np.zeros(2))
    start: InitVar[float] = 1.0
    kind: int = field(init=False, default=3)

    def __post_init__(self, start: float):
        self.squares = np.full(self.size, start)


class Shared:
    factor = 2.0
    count = np.zeros(2)

    def __init__(self, values: np.ndarray):
        self.values = values

    def scaled(self) -> np.ndarray:
        self.count[0] += 1
        return self.values * self.factor


class Counted:
    number = 0

    def __init__(self):
        Counted.number += 1


def ring(x: np.ndarray, size: int) -> list[float]:
    made, means = Ring(size), []
    for value in x:
        made.push(value)
        means.append(made.items.mean())
    return means


def loud(x: np.ndarray, size: int) -> np.ndarray:
    made = Loud(size, gain=3.0)
    for value in x:
        made.push(value)
    return made.items


def made(x: np.ndarray, size: int) -> np.ndarray:
    new = Made(size)
    new.items[0] += x[0]
    return new.items


def by_operators(x: np.ndarray, size: int) -> np.ndarray:
    return Fields(x)[size] + Fields(x)[0]


def sums(x: np.ndarray, size: int) -> Any:
    a, b = Sums(size), Sums(size, start=x[1])
    for value in x:
        a.total[0] += value
        b.squares[1] += value * value
    return a.total, b.total, a.squares, b.squares, b.kind


@pytest.mark.parametrize("program", [ring, loud, made, by_operators, sums], ids=lambda f: f.__name__)
def test_each_call_makes_its_own_objects(program: Callable[..., Any]):
    compiled = txc.jit(program)
    for start, size in ((1.0, 3), (1.0, 3), (2.0, 2)):
        x = np.arange(start, start + 4)
        got, expected = compiled(x, size), program(x, size)
        for a, b in zip(got, expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_an_array_of_an_object_is_another_one_in_each_call():
    compiled = txc.jit(made)
    first = compiled(np.ones(2), 2)
    first += 7
    np.testing.assert_array_equal(compiled(np.ones(2), 2), [1.0, 0.0])


def test_what_a_constructor_reads_is_a_fact(monkeypatch: pytest.MonkeyPatch):
    compiled = txc.jit(lambda x: Fields(x).values)
    x = np.full(2, 2.0)
    np.testing.assert_array_equal(compiled(x), [4.0, 4.0])
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    np.testing.assert_array_equal(compiled(x), [10.0, 10.0])


def test_what_a_class_has_is_a_fact_and_its_arrays_are_shared(monkeypatch: pytest.MonkeyPatch):
    compiled = txc.jit(lambda x: Shared(x).scaled())
    monkeypatch.setattr(Shared, "count", np.zeros(2))
    np.testing.assert_array_equal(compiled(np.ones(2)), [2.0, 2.0])
    monkeypatch.setattr(Shared, "factor", 3.0)
    np.testing.assert_array_equal(compiled(np.ones(2)), [3.0, 3.0])
    np.testing.assert_array_equal(Shared.count, [2.0, 0.0])


def test_a_constructor_may_not_change_what_is_outside():
    with pytest.raises(TxcError, match="the attribute number of Counted changes") as error:
        txc.jit(lambda x: (Counted(), x + 1)[1])(np.ones(2))
    assert "Counted.number += 1" in str(error.value)


def test_arguments_that_do_not_fit_are_pythons_error():
    loud, sums = cast(Any, Loud), cast(Any, Sums)
    for call in (lambda x: loud(2), lambda x: sums(2, x, x, x)):
        with pytest.raises(TypeError) as expected:
            call(np.ones(2))
        with pytest.raises(TypeError) as got:
            txc.jit(call)(np.ones(2))
        assert str(got.value) == str(expected.value)
