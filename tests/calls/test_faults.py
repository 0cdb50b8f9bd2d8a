"""What goes wrong during a call: an interrupt, arguments that raise when they are looked at, names that lie."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

from .test_results import f32

X = f32(4)


def slow(x, n):
    """In place, for a while, without the GIL."""
    for _ in range(n):
        x[...] = np.sin(x) + 1


def add(x, y):
    return x + y


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals go to the main thread")
def test_an_interrupt_during_a_call_arrives_when_it_is_done(calls):
    """The update is whole, nothing is left over, and the next call is as any other."""
    jitted = calls.jit(slow)
    n = 20
    while True:  # long enough for the signal to find it at work
        start = time.perf_counter()
        jitted(np.ones(20_000), n)
        if time.perf_counter() - start > 0.2:
            break
        n *= 2
    expected, x = np.ones(20_000), np.ones(20_000)
    jitted(expected, n)
    gc.collect()
    before = sys.getrefcount(x)
    timer = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT))
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            jitted(x, n)
            time.sleep(60)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, handler)
    np.testing.assert_array_equal(x, expected)
    gc.collect()
    assert sys.getrefcount(x) == before
    x = np.ones(20_000)
    jitted(x, n)
    np.testing.assert_array_equal(x, expected)


class Raising:
    """Raises whenever NumPy, or anybody, asks what it is."""

    def __init__(self, name: str):
        self.name = name

    def __getattribute__(self, name: str) -> Any:
        if name == object.__getattribute__(self, "name"):
            raise RuntimeError(f"no {name} today")
        return object.__getattribute__(self, name)


@pytest.mark.parametrize(
    "name", ["__array__", "__array_interface__", "__array_struct__", "__array_ufunc__", "__dlpack__", "__class__"]
)
def test_arguments_that_raise_when_they_are_looked_at(calls, name):
    jitted = calls.jit(add)
    jitted(X, X)
    bad = Raising(name)

    def fail() -> list[int]:
        """References to the arguments after each of the calls failed."""
        for args, kwargs in (((bad, X), {}), ((X, bad), {}), ((X, X), {"out": bad}), (([X, bad], X), {})):
            with pytest.raises((RuntimeError, TypeError, ValueError)):
                jitted(*args, **kwargs)
        gc.collect()
        return [sys.getrefcount(bad), sys.getrefcount(X)]

    before = fail()
    for _ in range(5):
        assert fail() == before
    np.testing.assert_array_equal(calls.direct(lambda: jitted(X, X)), X + X)


class Awkward(str):
    """A key that equals every other one, and raises when it is compared twice."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Awkward.compared += 1
        if Awkward.compared % 3 == 0:
            raise RuntimeError("enough compared")
        return True

    __hash__ = str.__hash__


def test_keys_that_raise_when_they_are_compared(calls):
    jitted = calls.jit(lambda d: d["a"] + 1)
    jitted({"a": X})
    for _ in range(5):
        try:
            found = jitted({Awkward("a"): X})
        except (RuntimeError, KeyError, TypeError):
            continue
        np.testing.assert_array_equal(found, X + 1)
    np.testing.assert_array_equal(calls.direct(lambda: jitted({"a": X})), X + 1)


def test_a_list_that_contains_itself_is_an_error(calls):
    jitted = calls.jit(lambda parts: parts[0] + 1)
    jitted([X])
    endless: list[Any] = [X]
    endless.append(endless)
    for _ in range(2):
        with pytest.raises((RecursionError, TypeError, ValueError)):
            jitted(endless)
    np.testing.assert_array_equal(calls.direct(lambda: jitted([X])), X + 1)
