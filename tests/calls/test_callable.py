"""A jitted function as a Python object: method, attribute, subclass, pickle, weak reference, garbage."""

from __future__ import annotations

import asyncio
import ctypes
import functools
import gc
import inspect
import pickle
import sys
import weakref
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.driver.jit import Jitted
from txc.runtime.stub.cpython_layout import TYPE_FLAGS, problem

X = np.arange(4.0)


@txc.jit
def module_level(x):
    """Twice."""
    return x * 2


class Model:
    scale = 3.0

    @txc.jit
    def times(self, x, power=1):
        return x * self.scale**power

    @staticmethod
    @txc.jit
    def plain(x):
        return x + 1


def test_methods_bind(calls):
    class Local:
        def __init__(self, scale):
            self.scale = scale

        def apply(self, x):
            return x * self.scale

    Local.apply = calls.jit(Local.apply)
    a, b = Local(2.0), Local(5.0)
    for _ in range(3):
        np.testing.assert_array_equal(a.apply(X), X * 2)
        np.testing.assert_array_equal(b.apply(X), X * 5)
        np.testing.assert_array_equal(Local.apply(a, X), X * 2)
    bound = a.apply
    np.testing.assert_array_equal(calls.direct(lambda: bound(X)), X * 2)
    a.scale = 7.0
    np.testing.assert_array_equal(bound(X), X * 7)
    assert bound.__self__ is a and bound.__func__ is Local.apply


def test_static_methods_and_defaults_of_methods():
    model: Any = Model()
    for _ in range(2):
        np.testing.assert_array_equal(model.plain(X), X + 1)
        np.testing.assert_array_equal(model.times(X), X * 3)
        np.testing.assert_array_equal(model.times(X, power=2), X * 9)


def test_it_looks_like_the_function():
    assert module_level.__name__ == "module_level"
    assert module_level.__doc__ == "Twice."
    assert str(inspect.signature(module_level)) == "(x)"
    assert inspect.unwrap(module_level) is module_level.__wrapped__
    assert repr(module_level) == "<txc.jit module_level>"
    assert callable(module_level)


def test_it_pickles_by_reference():
    module_level(X)
    assert pickle.loads(pickle.dumps(module_level)) is module_level


def test_every_way_to_call_it(calls):
    jitted = calls.jit(lambda x, y=2.0: x * y)
    jitted(X)
    expected = X * 3.0
    ways = [
        lambda: jitted(X, 3.0),
        lambda: jitted(*(X, 3.0)),
        lambda: jitted(X, y=3.0),
        lambda: jitted(**{"x": X, "y": 3.0}),
        lambda: jitted(*[X], **{"y": 3.0}),
        lambda: functools.partial(jitted, X)(3.0),
        lambda: functools.partial(jitted, y=3.0)(X),
        lambda: next(map(jitted, [X], [3.0])),
        lambda: jitted.__call__(X, 3.0),
        lambda: Jitted.__call__(jitted, X, 3.0),
    ]
    for way in ways:
        np.testing.assert_array_equal(way(), expected)


def test_a_subclass_with_a_call_of_its_own_is_called():
    class Loud(Jitted):
        said = 0

        def __call__(self, *args, **kwargs):
            Loud.said += 1
            return super().__call__(*args, **kwargs)

    loud = Loud(lambda x: x + 1, txc.jit(lambda x: x)._options)
    for n in range(1, 4):
        np.testing.assert_array_equal(loud(X), X + 1)
        assert Loud.said == n


def test_a_plain_subclass_works():
    class Quiet(Jitted):
        pass

    quiet = Quiet(lambda x: x + 1, txc.jit(lambda x: x)._options)
    for _ in range(3):
        np.testing.assert_array_equal(quiet(X), X + 1)
    Quiet.__call__ = lambda self, x: "replaced"
    assert quiet(X) == "replaced"


@pytest.mark.skipif(bool(problem()), reason="calls go through Python")
def test_the_class_has_the_vectorcall_flag_and_is_immutable():
    flags = ctypes.c_ulong.from_address(id(Jitted) + TYPE_FLAGS).value
    assert flags & 1 << 11 and flags & 1 << 8
    with pytest.raises(TypeError, match="immutable"):
        Jitted.__call__ = None  # pyright: ignore[reportAttributeAccessIssue]


def test_a_subclass_that_binds_differently_does():
    class Fixed(Jitted):
        def __get__(self, instance, owner=None):
            return "bound otherwise"

    class Holder:
        method = Fixed(lambda self, x: x, txc.jit(lambda x: x)._options)

    assert Holder().method == "bound otherwise"
    with pytest.raises(TypeError, match="'str' object is not callable"):
        Holder().method(X)  # pyright: ignore[reportCallIssue]


def test_attributes_can_be_set_and_the_object_is_hashable():
    jitted = txc.jit(lambda x: x)
    jitted.note = "mine"
    assert jitted.note == "mine" and {jitted: 1}[jitted] == 1


def test_it_is_freed_with_its_versions():
    jitted = txc.jit(lambda x: x + 1)
    jitted(X)
    jitted(X)
    gone = weakref.ref(jitted)
    del jitted
    assert gone() is None


def test_garbage_that_calls_it_while_it_is_collected():
    """A finalizer in the same cycle runs before, or after, the function's own: both calls must be whole."""
    heard = []

    class Witness:
        function: Any

        def __del__(self):
            heard.append(self.function(X))

    for order in (0, 1):
        jitted = txc.jit(lambda x: x + 1)
        witness = Witness()
        jitted(X)
        witness.function = jitted
        jitted.witness = witness
        if order:
            jitted.loop = [jitted]
        gone = weakref.ref(jitted)
        del jitted, witness
        gc.collect()
        assert gone() is None
    assert len(heard) == 2
    for result in heard:
        np.testing.assert_array_equal(result, X + 1)


def test_a_resurrected_function_still_works():
    saved = []

    class Saver:
        function: Any

        def __del__(self):
            saved.append(self.function)

    jitted = txc.jit(lambda x: x + 1)
    jitted(X)
    saver = Saver()
    saver.function = jitted
    jitted.saver = saver
    del jitted, saver
    gc.collect()
    for _ in range(3):
        np.testing.assert_array_equal(saved[0](X), X + 1)
    saved.clear()
    gc.collect()


def test_calls_from_a_coroutine_and_a_deep_stack():
    async def run():
        return module_level(X)

    np.testing.assert_array_equal(asyncio.run(run()), X * 2)

    def deep(n):
        return module_level(X) if n == 0 else deep(n - 1)

    np.testing.assert_array_equal(deep(sys.getrecursionlimit() // 2), X * 2)


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        (np.sin, "not <ufunc 'sin'>: write lambda x: sin(x)"),
        (np.sum, "write lambda x: sum(x)"),
        (functools.partial(np.add, 1), "write a lambda that calls it"),
        ([].append, "write lambda x: append(x)"),
        (3, "not 3: write a lambda"),
    ],
)
def test_only_python_functions_are_compiled(given: Any, hint: str):
    with pytest.raises(TypeError, match=r"txc\.jit compiles a Python function, not ") as caught:
        txc.jit(given)
    assert hint in str(caught.value)


def test_a_jitted_function_is_jitted_anew():
    once = txc.jit(lambda x: x + 1)
    again = txc.jit(once, threads=1)
    assert again is not once and again.compile_options.threads == 1
    np.testing.assert_array_equal(again(np.ones(3)), [2, 2, 2])
