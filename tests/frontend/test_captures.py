"""What a compiled function takes from outside it: noticed when it changes, and never changed by it."""

from __future__ import annotations

import enum
import types
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

X = np.ones(3)
LIST: list[Any] = [1.0, 2.0]
TABLE: dict[str, Any] = {"scale": 1.0, "weight": np.ones(3)}
MODULE: Any = types.ModuleType("settings")
SPACE: Any = types.SimpleNamespace(a=1.0, inner=types.SimpleNamespace(b=2.0), array=np.ones(3))
SET = {1, 2}
FACTOR = 2.0
ZERO = 0.0
GENERATOR = np.random.default_rng(1)


def helper(v):
    return v * FACTOR


class Layer:
    def __init__(self, scale: float):
        self.scale, self.weight = scale, np.ones(3)

    def __call__(self, x):
        if x.sum() > 0:
            return x * self.scale
        return -x

    def shifted(self, x):
        return self(x) + self.weight


class Model:
    def __init__(self) -> None:
        self.layers: list[Any] = [Layer(2.0), Layer(3.0)]
        self.offset = 0.0

    @txc.jit
    def run(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.layers[0].shifted(x) + self.offset

    @txc.jit
    def counting(self, x):
        self.offset = self.offset + 1
        return x


def from_a_list(x):
    return x * LIST[1] + len(LIST)


def from_a_dict(x):
    return x * TABLE["scale"] + TABLE["weight"]


def from_a_module(x):
    return x * MODULE.scale


def from_objects(x):
    inner = SPACE.inner
    return x * SPACE.a * inner.b + SPACE.array


def from_a_set(x):
    return x * len(SET)


def through_a_helper(x):
    return helper(x)


def setting(target: Any, name: str, value: Any) -> Any:
    return lambda patch: patch.setattr(target, name, value)


def item(target: Any, key: Any, value: Any) -> Any:
    return lambda patch: patch.setitem(target, key, value)


def nothing(_: Any) -> None:
    pass


CHANGES = [
    (from_a_list, nothing), (from_a_dict, item(TABLE, "scale", 7.0)),
    (from_a_dict, item(TABLE, "weight", np.zeros(3))), (from_a_module, setting(MODULE, "scale", 9.0)),
    (from_objects, setting(SPACE, "a", 4.0)), (from_objects, setting(SPACE.inner, "b", 4.0)),
    (from_objects, setting(SPACE, "inner", types.SimpleNamespace(b=8.0))),
    (from_objects, setting(SPACE, "array", np.zeros(3))),
]  # fmt: skip


@pytest.mark.parametrize(("f", "change"), CHANGES, ids=lambda v: getattr(v, "__name__", ""))
def test_a_change_is_noticed(f: Any, change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "scale", 3.0, raising=False)
    jitted = txc.jit(f)
    for _ in range(2):
        np.testing.assert_array_equal(jitted(X), f(X))
    change(monkeypatch)
    for _ in range(2):
        np.testing.assert_array_equal(jitted(X), f(X))
    assert sum(map(len, jitted._versions.values())) == (1 if change is nothing else 2)


def test_a_zero_of_the_other_sign_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    f = txc.jit(lambda x: np.copysign(x, ZERO))
    monkeypatch.setitem(globals(), "ZERO", 0.0)
    assert f(np.ones(2)).tolist() == [1, 1]
    monkeypatch.setitem(globals(), "ZERO", -0.0)
    assert f(np.ones(2)).tolist() == [-1, -1]
    monkeypatch.setitem(globals(), "ZERO", np.float32(0))
    assert f(np.ones(2)).tolist() == [1, 1]
    monkeypatch.setitem(globals(), "ZERO", np.float32(-0.0))
    assert f(np.ones(2)).tolist() == [-1, -1]


def test_a_list_that_changes_in_place_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = [1.0, 2.0]
    monkeypatch.setitem(globals(), "LIST", mine)
    jitted = txc.jit(from_a_list)
    np.testing.assert_array_equal(jitted(X), X * 2 + 2)
    mine[1] = 5.0
    np.testing.assert_array_equal(jitted(X), X * 5 + 2)
    mine.append(0.0)
    np.testing.assert_array_equal(jitted(X), X * 5 + 3)


@pytest.mark.parametrize("f", [through_a_helper, lambda x: x * FACTOR], ids=["helper", "lambda"])
def test_a_global_of_another_function_is_noticed(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    jitted = txc.jit(f)
    np.testing.assert_array_equal(jitted(X), X * 2)
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    np.testing.assert_array_equal(jitted(X), X * 5)


def test_objects_with_methods() -> None:
    model = Model()

    def check() -> None:
        for x in (X, -X):
            np.testing.assert_array_equal(model.run(x), Model.run.__wrapped__(model, x))

    check()
    model.layers[1].scale = 4.0
    check()
    model.layers[0].weight = np.full(3, 7.0)
    check()
    model.offset = 1.5
    check()
    model.layers.append(Layer(0.5))
    check()
    other = Model()
    np.testing.assert_array_equal(other.run(X), Model.run.__wrapped__(other, X))


class Mode(enum.Enum):
    UP = 1
    DOWN = 2


class Unhashable:
    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __init__(self, value: float):
        self.value = value


def by_mode(x, mode):
    return x + 1 if mode is Mode.UP else x - 1


def by_value(x, thing):
    return x * thing.value


def test_objects_as_arguments() -> None:
    jitted = txc.jit(by_mode)
    for mode in (Mode.UP, Mode.DOWN, Mode.UP):
        np.testing.assert_array_equal(jitted(X, mode), by_mode(X, mode))
    assert len(jitted.signatures()) == 2
    jitted = txc.jit(by_value)
    for value in range(5):  # each object may lie where the one before it was
        np.testing.assert_array_equal(jitted(X, Unhashable(value)), X * value)
    thing = Unhashable(2.0)
    np.testing.assert_array_equal(jitted(X, thing), X * 2)
    thing.value = 3.0
    np.testing.assert_array_equal(jitted(X, thing), X * 3)


def test_methods_of_a_class_that_the_function_makes() -> None:
    def f(x: np.ndarray) -> Any:
        log, counts = [], {"n": 0.0}
        shifted = x + 1

        class Helper:
            def touch(self, v: Any) -> Helper:
                log.append(v * x[1])
                counts["n"] += v
                return self

            def shift(self) -> Any:
                shifted[0] = 50
                return shifted

        helper = Helper()
        if x[0] > 1:
            helper.touch(3.0).touch(4.0)
        else:
            helper.touch(5.0).touch(6.0)
        for v in x:
            helper.touch(v)
        shifted = shifted * 2
        helper.shift()[1] = 7
        return np.array(log), counts["n"], shifted

    jitted = txc.jit(f)
    for x in (np.arange(1.0, 4.0), np.arange(11.0)):
        for got, expected in zip(jitted(x.copy()), f(x.copy()), strict=True):
            np.testing.assert_array_equal(got, expected)


def test_explain_names_what_was_taken() -> None:
    text = txc.jit(from_a_list).explain(X)
    assert "x: f64 array of rank 1, row-major" in text
    assert "captured from outside the function, checked at each call:\n  LIST = list(1.0, 2.0)" in text
    assert "SPACE.inner.b = 2.0" in txc.jit(from_objects).explain(X)


def appends(x):
    LIST.append(x.shape[0])
    return x


def assigns_an_item(x):
    TABLE["scale"] = 2.0
    return x


def draws(x):
    return x + GENERATOR.normal(size=3)


def draws_from_numpy(x):
    return x * np.random.rand()


def assigns_beside_an_array(x):
    ARRAYS_IN_LISTS[0][1] = 5
    return x


ARRAYS_IN_LISTS = [[np.ones(3), 1]]
ERRORS = [
    (assigns_beside_an_array, "an element of a part of ARRAYS_IN_LISTS changes, which is not the function's own"),
    (appends, "append() of LIST changes, which is not the function's own"),
    (assigns_an_item, "an element of TABLE changes, which is not the function's own"),
    (draws, "normal() draws random numbers while the function is compiled"),
    (draws_from_numpy, "rand() draws random numbers while the function is compiled"),
    (Model().counting, "the attribute offset of self changes, which is not the function's own"),
]


@pytest.mark.parametrize(("f", "text"), ERRORS, ids=lambda v: getattr(v, "__name__", ""))
def test_effects_outside_are_refused(f: Any, text: str) -> None:
    with pytest.raises(TxcError) as caught:
        (txc.jit(f) if isinstance(f, types.FunctionType) else f)(X)
    assert text in str(caught.value) and __file__ in str(caught.value)
    assert len(LIST) == 2 and TABLE["scale"] == 1.0 and ARRAYS_IN_LISTS[0][1] == 1


def test_a_list_of_a_closure_is_read_in_a_loop_alone() -> None:
    table, own = [1.0, 2.0], [0.5]

    def f(x):
        s, mine = 0.0, [0.0]

        def add(v):
            mine[0] += v * table[1]
            return mine[0]

        for i in range(len(x)):
            s += add(x[i]) + own[0]
        return s, mine

    compiled = txc.jit(f)
    for _ in range(2):
        assert compiled(X) == f(X)
        table[1] = 7.0
