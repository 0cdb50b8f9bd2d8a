"""What a function has stored before it raises an error stays stored, as in Python."""

from __future__ import annotations

import numpy as np
import pytest

import txc


def outside(x, y, k):
    x[0] = 5
    found = y[k]
    x[1] = 6
    return found


def divided(x, y, k):
    x[0] = 5
    y += 1
    q = 7 // k
    x[1] = 6
    return q


def raised(x, y, k):
    x[:2] = y[:2] + 20
    if k < 1:
        raise KeyError("k")
    x[1] = 6


def unset(x, y, k):
    x[0] = 5
    if k > 3:
        q = 1
    x[1] = 6
    return q  # pyright: ignore[reportPossiblyUnboundVariable]


def shapes(x, y, k):
    y[0] = x[0] = 5
    return x[:3] + y[:2]


def after_a_loop(x, y, k):
    for i in range(len(y)):
        y[i] = x[i] + i
    return x[:0][k]


def of_python(x, y, k):
    x[0] = 5
    return {"a": 1}["b"]


CASES = [(outside, 9), (divided, 0), (raised, 0), (unset, 0), (shapes, 0), (after_a_loop, 0), (of_python, 0)]
ARRAYS = {
    "apart": lambda: (lambda a: (a, a[:5], a[5:]))(np.arange(10.0)),
    "one": lambda: (lambda a: (a, a, a))(np.arange(6.0)),
    "overlapping": lambda: (lambda a: (a, a[1:6], a[:5]))(np.arange(8.0)),
    "strided": lambda: (lambda a: (a, a[::2], a[::-2]))(np.arange(11.0)),
    "foreign": lambda: (lambda a: (a, a[:5], a[5:]))(np.arange(10, dtype=">f8")),
}  # fmt: skip


@pytest.mark.parametrize("arrays", ARRAYS)
@pytest.mark.parametrize(("function", "k"), CASES)
def test_what_was_stored_before_stays(function, k, arrays):
    jitted = txc.jit(function)
    for _ in range(2):
        expected, *given = ARRAYS[arrays]()
        with pytest.raises(Exception) as error:
            function(*given, k)
        memory, *given = ARRAYS[arrays]()
        with pytest.raises(error.type):
            jitted(*given, k)
        np.testing.assert_array_equal(memory, expected)


def refused(x):
    x[0] = 5
    return np.busday_count(x, x)


def printed(x):
    x[0] = 5
    print(x)


@pytest.mark.parametrize("function", [refused, printed])
def test_a_refusal_comes_before_anything_is_done(function):
    x = np.arange(3.0)
    with pytest.raises(txc.TxcError):
        txc.jit(function)(x)
    np.testing.assert_array_equal(x, np.arange(3.0))


def test_asking_for_the_stages_of_such_a_call_does_nothing():
    x = np.arange(3.0)
    with pytest.raises(IndexError):
        txc.jit(outside).graph(x, x.copy(), 9)
    np.testing.assert_array_equal(x, np.arange(3.0))


def test_a_read_only_array_is_found_where_it_is_stored_into():
    x = np.arange(3.0)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="which is read-only"):
        txc.jit(outside)(x, x.copy(), 9)
