"""Values that a function took from around itself: rebinding one is seen by the next call."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest

import txc

SCALE = 2.0
TABLE = np.arange(3.0)
OBJECT = types.SimpleNamespace(inner=types.SimpleNamespace(scale=2.0), table=np.arange(3.0))


def double(x):
    return x * 2


HELPER = double


def scaled(x):
    return x * SCALE


def shifted(x):
    return x + TABLE


def of_object(x):
    return x * OBJECT.inner.scale + OBJECT.table


def helped(x):
    return HELPER(x) + 1


X = np.array([1.0, 2.0, 3.0])


def check(calls, jitted, function):
    """Right now, and again without Python."""
    np.testing.assert_array_equal(jitted(X), function(X))
    np.testing.assert_array_equal(calls.direct(lambda: jitted(X)), function(X))


@pytest.mark.parametrize(
    ("function", "name", "value"),
    [
        (scaled, "SCALE", 5.0),
        (scaled, "SCALE", 7),
        (shifted, "TABLE", np.array([10.0, 20.0, 30.0])),
        (shifted, "TABLE", np.float32(3)),
        (helped, "HELPER", lambda x: x * 10),
        (of_object, "OBJECT", types.SimpleNamespace(inner=types.SimpleNamespace(scale=-1.0), table=np.ones(3))),
    ],
)
def test_a_global_that_is_bound_again(calls, monkeypatch, function, name, value):
    jitted = calls.jit(function)
    check(calls, jitted, function)
    with monkeypatch.context() as patch:
        patch.setitem(globals(), name, value)
        check(calls, jitted, function)
    check(calls, jitted, function)


def test_an_attribute_that_is_set_again(calls, monkeypatch):
    jitted = calls.jit(of_object)
    check(calls, jitted, of_object)
    monkeypatch.setattr(OBJECT.inner, "scale", 4.0)
    check(calls, jitted, of_object)
    monkeypatch.setattr(OBJECT, "table", np.zeros(3))
    check(calls, jitted, of_object)


def test_a_global_that_is_deleted(calls, monkeypatch):
    jitted = calls.jit(scaled)
    jitted(X)
    monkeypatch.delitem(globals(), "SCALE")
    with pytest.raises(NameError):
        jitted(X)


def test_an_equal_value_is_the_same_value(calls, monkeypatch):
    jitted = calls.jit(scaled)
    jitted(X)
    monkeypatch.setitem(globals(), "SCALE", float("2" + ".0"))
    np.testing.assert_array_equal(jitted(X), X * 2)
    assert len(jitted.explain_compile().split("compiled because")) == 2


def test_a_closure_variable_that_is_bound_again(calls):
    def make():
        scale = 2.0

        def function(x):
            return x * scale

        def bind(value):
            nonlocal scale
            scale = value

        return function, bind

    function, bind = make()
    jitted = calls.jit(function)
    for value in (2.0, 3.0, 2.0, -1.5):
        bind(value)
        check(calls, jitted, function)


def test_a_function_without_source_sees_them_too(calls, monkeypatch):
    scope = {"SCALE": 2.0, "helper": double}
    function = eval("lambda x: helper(x) * SCALE", scope)
    jitted = calls.jit(function)
    check(calls, jitted, function)
    scope["SCALE"] = 3.0
    check(calls, jitted, function)
    scope["helper"] = lambda x: x - 1
    check(calls, jitted, function)


def test_captured_arrays_are_read_at_each_call(calls):
    table = np.zeros(3)

    def function(x):
        return x + table

    jitted = calls.jit(function)
    jitted(X)
    table[:] = [5.0, 6.0, 7.0]
    check(calls, jitted, function)
    table.shape = (3, 1)
    np.testing.assert_array_equal(jitted(X), X + table)


def test_captured_arrays_are_written_in_place(calls):
    total = np.zeros(3)

    def function(x):
        total[:] = total + x

    jitted = calls.jit(function)
    for n in range(1, 4):
        jitted(X)
        np.testing.assert_array_equal(total, n * X)
    total.flags.writeable = False
    with pytest.raises(ValueError, match="function writes to captured0"):
        calls.jit(function)(X)


def test_an_attribute_may_run_code_that_fails_or_changes_arguments(calls):
    class Shifty:
        resized: bool | None = None

        @property
        def scale(self):
            if self.resized is not None:
                raise RuntimeError("no scale today")
            return 2.0

    holder = Shifty()

    def function(x):
        return x * holder.scale

    jitted = calls.jit(function)
    for _ in range(3):
        np.testing.assert_array_equal(jitted(X), X * 2)
    Shifty.resized = True
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no scale today"):
            jitted(X)


def test_another_jitted_function_that_is_called(calls, monkeypatch):
    monkeypatch.setitem(globals(), "HELPER", txc.jit(double))
    jitted = calls.jit(helped)
    check(calls, jitted, helped)
    monkeypatch.setitem(globals(), "HELPER", txc.jit(lambda x: x * 30))
    check(calls, jitted, helped)


WEIGHTS = [0.5, 2.0]
CONFIG = {"scale": 2.0, "table": np.arange(3.0), "steps": (1, (2.5, "up"))}
BOUNDS = ((0.0, 1.0), 3)


def of_containers(x):
    total = x * CONFIG["scale"] + CONFIG["table"] * CONFIG["steps"][1][0] + len(CONFIG) * BOUNDS[0][1] + BOUNDS[1]
    for weight in WEIGHTS:
        total = total * weight + len(WEIGHTS)
    return total


def test_lists_and_dicts_that_hold_something_else(calls, monkeypatch):
    """Of one a native entry compares what it holds, by identity: whatever changes is seen by the next call."""
    weights, config = [*WEIGHTS], {**CONFIG}
    monkeypatch.setitem(globals(), "WEIGHTS", weights)
    monkeypatch.setitem(globals(), "CONFIG", config)
    jitted = calls.jit(of_containers)
    check(calls, jitted, of_containers)

    def change(*changes: Any) -> None:
        for act in changes:
            act()
            check(calls, jitted, of_containers)

    change(
        lambda: weights.__setitem__(1, -3.0), lambda: weights.append(7.0), lambda: weights.pop(0), weights.clear,
        lambda: weights.extend([0.5, 2.0]), weights.reverse, lambda: weights.__setitem__(0, 5),
        lambda: config.update(scale=4.0), lambda: config.update(table=np.ones(3)), lambda: config.update(more=None),
        lambda: config.pop("more"), lambda: config.update(scale=config.pop("scale")),
        lambda: config.update(steps=(1, (-2.5, "up"))),
        lambda: monkeypatch.setitem(globals(), "BOUNDS", ((0.0, 8.0), 3)),
        lambda: monkeypatch.setitem(globals(), "WEIGHTS", (1.5, 2.5)),
        lambda: monkeypatch.setitem(globals(), "CONFIG", {**config, "table": np.zeros(3)}),
    )  # fmt: skip


def test_lists_in_lists_and_subclasses_are_compared_by_python(calls, monkeypatch):
    class Own(dict):
        pass

    nested, own = [[1.0, 2.0], 3.0], Own(scale=2.0)

    def function(x):
        return x * nested[0][1] + own["scale"]

    jitted = calls.jit(function)
    for act in (lambda: None, lambda: nested[0].__setitem__(1, 5.0), lambda: own.update(scale=-1.0)):
        act()
        for _ in range(2):
            np.testing.assert_array_equal(jitted(X), function(X))
