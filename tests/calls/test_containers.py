"""Tuples, lists and dicts of arrays as arguments, and ``*args``: taken apart by machine code as by Python."""

from __future__ import annotations

import gc
import sys
import threading
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np
import pytest

from .test_results import f32, same

X, Y = f32(4), f32(4)


def layers(x, weights):
    for w, b in weights:
        x = np.tanh(x @ w + b)
    return x


def of_dict(d, s):
    return d["a"] * s + d["inner"]["b"][0] - d["n"]


def collected(x, *rest):
    return x + sum(rest)


def with_keywords(x, *rest, s=2.0):
    return x * s + rest[0]


def handed_back(parts):
    return parts[::-1], parts[0]


def in_place(parts):
    parts[0][:] = parts[0] + parts[1]


def mixed(parts):
    return parts[0] * parts[1] + parts[2] if parts[3] == "sum" else parts[0]


def nothing(x, empty, pair=()):
    return x + len(empty) + len(pair)


def weights(n: int) -> list[Any]:
    return [(f32(n, n), f32(n)), (f32(n, n), f32(n))]


CASES = {
    "list of tuples": (layers, [(f32(3, 4), weights(4)), (f32(7, 2), weights(2))]),
    "nested dict": (
        of_dict,
        [({"a": f32(n), "inner": {"b": (f32(n), None)}, "n": n}, 2.0) for n in (4, 6)],
    ),
    "collected": (collected, [(f32(3), f32(3), f32(3), 2.0), (f32(5), f32(5), f32(5), -1.0), (f32(4),), (f32(4), 3)]),
    "containers handed back": (handed_back, [((f32(3), f32(3)),), ((f32(3), f32(4)),), ([f32(3), f32(3)],)]),
    "scalars and texts": (mixed, [([f32(3), 2, True, "sum"],), ([f32(9), 3, False, "sum"],)]),
    "empty ones": (nothing, [(f32(3), []), (f32(4), [])]),
}


@pytest.mark.parametrize("case", CASES)
def test_results_are_those_of_numpy(calls, case):
    function, arguments = CASES[case]
    jitted = calls.jit(function)
    for args in arguments:
        same(jitted(*args), function(*args))
    for args in arguments:
        same(calls.direct(lambda args=args: jitted(*args)), function(*args))


def test_arguments_that_are_collected_by_position_and_keywords_behind_them(calls):
    jitted = calls.jit(with_keywords)
    for args, kwargs in (((X, Y), {}), ((X, Y), {"s": 3.0})):
        same(jitted(*args, **kwargs), with_keywords(*args, **kwargs))
        same(calls.direct(lambda a=args, k=kwargs: jitted(*a, **k)), with_keywords(*args, **kwargs))
    for wrong in ((), (X,)):
        with pytest.raises((TypeError, IndexError)):
            jitted(*wrong)
    with pytest.raises(TypeError, match="unexpected keyword argument 'rest'"):
        jitted(X, Y, rest=Y)


class Pair(NamedTuple):
    first: Any
    second: Any = 3


def test_named_tuples_as_arguments(calls):
    """Python calls them; another class of the same parts is another call."""

    class Turned(NamedTuple):
        second: Any
        first: Any

    def function(pair):
        return pair.first - pair.second, pair._replace(second=None) if isinstance(pair, Pair) else pair

    jitted = calls.jit(function)
    for given in (Pair(X, Y), Turned(X, Y), Pair(X), Pair(X, Y), (Turned(Y, X))):
        for _ in range(3):
            same(jitted(given), function(given))


def test_a_list_of_a_class_of_its_own_is_a_list(calls):
    class Weights(list[Any]):
        pass

    same(calls.jit(lambda parts: parts[0] + parts[1:][0])(Weights([X, Y])), X + Y)


def test_an_array_of_a_list_is_written_in_place(calls):
    jitted = calls.jit(in_place)
    parts = [X.copy(), Y.copy()]
    jitted(parts)
    calls.direct(lambda: jitted(parts))
    np.testing.assert_array_equal(parts[0], X + Y + Y)


@pytest.mark.parametrize(
    "given",
    [
        (X, Y), [X], [X, Y, X], [X, None], [X, [Y]], [Y, X.astype(np.float64)], {0: X, 1: Y}, (X,), X.reshape(2, 2),
        "xy", None, [X, np.float32(2)], [X, 2.0], [None, None], [],
    ],
)  # fmt: skip
def test_other_containers_are_other_calls(calls, given):
    """Compiled for a list of two arrays, called with everything else: the answer is Python's, whatever it is."""

    def function(parts):
        return parts[0] + parts[1]

    jitted, plain = calls.jit(function), calls.jit(function)
    jitted([X, Y])
    jitted([X, Y])

    def outcome(f: Any) -> Any:
        try:
            return f(given)
        except Exception as error:
            return type(error), str(error)

    found, expected = outcome(jitted), outcome(plain)
    assert type(found) is type(expected)
    assert str(found) == str(expected)


def test_keys_of_dicts_and_their_order_are_facts(calls):
    def function(d):
        return [v * n for n, v in enumerate(d.values())]

    jitted = calls.jit(function)
    for d in ({"a": X, "b": Y}, {"b": Y, "a": X}, {"a": X}, {"a": X, "c": Y}, OrderedDict(a=X, b=Y), {"a": X, 2: Y}):
        for _ in range(2):
            same(jitted(d), function(d))
    same(calls.direct(lambda: jitted({"b": Y, "a": X})), [Y * 0, X * 1])
    spelled = {str(bytes("a", "ascii"), "ascii"): X, "b": Y}
    same(jitted(spelled), function(spelled))


def test_references_do_not_drift(calls):
    jitted = calls.jit(of_dict)
    a, b, s = X.copy(), Y.copy(), 2.5
    given = {"a": a, "inner": {"b": (b, None)}, "n": 3}
    short = {"a": a, "inner": {"b": (X[:3], None)}, "n": 3}
    jitted(given, s)
    gc.collect()
    before = [sys.getrefcount(o) for o in (a, b, s, given, given["inner"])]
    for _ in range(200):
        jitted(given, s)
        with pytest.raises(ValueError):
            jitted(short, s)
    gc.collect()
    assert [sys.getrefcount(o) for o in (a, b, s, given, given["inner"])] == before


def test_a_list_that_is_emptied_during_the_call(calls):
    """The kernel runs without the GIL: what was taken from the list must live until it is done."""

    def slow(parts, n):
        x = parts[0]
        for _ in range(n):
            x = np.sin(x) + parts[1]
        return x

    jitted = calls.jit(slow)
    expected = jitted([np.ones(3000), np.ones(3000)], 600)
    jitted([np.ones(3000), np.ones(3000)], 600)
    for _ in range(3):
        parts = [np.ones(3000), np.ones(3000)]
        stop = threading.Event()

        def clear(parts=parts, stop=stop):
            while not stop.wait(1e-4):
                parts.clear()
                np.full(3000, np.nan)

        thread = threading.Thread(target=clear)
        given = [*parts]
        parts.clear()
        parts += given
        given.clear()
        thread.start()
        try:
            found = jitted(parts, 600)
        except (TypeError, IndexError):  # it was emptied before the call began
            found = expected
        finally:
            stop.set()
            thread.join()
        np.testing.assert_array_equal(found, expected)
