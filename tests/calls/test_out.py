"""``out=``: results in the user's arrays."""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np
import pytest

import txc

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def doubled(x):
    return x * 2


def pair(x):
    return x + 1, x.sum()


def turned(x):
    return (x + 1).T


def listed(x):
    return [x + 1, x * 2]


def in_place(x):
    x += 1
    return x


def with_parameter(x, out=None):
    return x if out is None else x + out


@pytest.mark.parametrize(
    "out",
    [
        np.zeros((2, 3), np.float32),
        np.asfortranarray(np.zeros((2, 3), np.float32)),
        np.zeros((4, 6), np.float32)[::2, ::2],
        np.zeros((2, 3), np.float32)[::-1, ::-1],
        np.frombuffer(bytearray(25), np.uint8)[1:].view(np.float32).reshape(2, 3),
    ],
    ids=["packed", "fortran", "strided", "backwards", "misaligned"],
)
def test_the_result_is_the_array(calls, out):
    jitted = calls.jit(doubled)
    for _ in range(2):
        out[...] = -1
        assert jitted(X, out=out) is out
        np.testing.assert_array_equal(out, X * 2)
        np.testing.assert_array_equal(jitted(X), X * 2)


def test_packed_arrays_are_written_directly(calls):
    """Nothing is copied: the result's memory is the array's from the start."""
    jitted = calls.jit(doubled)
    out = np.zeros((1000, 1000), np.float32)
    x = np.ones_like(out)
    jitted(x, out=out)
    tracemalloc.start()
    try:
        for _ in range(3):
            assert jitted(x, out=out) is out
        assert tracemalloc.get_traced_memory()[1] < out.nbytes // 2
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(out, x * 2)


@pytest.mark.parametrize(
    ("function", "makes"),
    [
        (doubled, lambda: np.zeros((2, 3), np.float32)),
        (doubled, lambda: None),
        (turned, lambda: np.zeros((3, 2), np.float32)),
        (pair, lambda: (np.zeros((2, 3), np.float32), np.zeros((), np.float32))),
        (pair, lambda: (None, np.zeros((), np.float32))),
        (pair, lambda: (np.zeros((2, 3), np.float32), None)),
        (pair, lambda: (None, None)),
        (listed, lambda: (np.zeros((2, 3), np.float32), np.zeros((2, 3), np.float32))),
        (in_place, lambda: None),
    ],
)
def test_calls_with_arrays_that_fit_enter_machine_code(calls, function, makes):
    jitted = calls.jit(function)
    x = X.copy()
    jitted(x)
    expected = function(x.copy())
    out = makes()
    found = calls.direct(lambda: jitted(x, out=out))
    several = isinstance(expected, (tuple, list))
    assert type(found) is type(expected) or isinstance(found, np.ndarray)
    for place, result, right in zip(
        out if isinstance(out, tuple) else [out], found if several else [found], expected if several else [expected]
    ):
        np.testing.assert_array_equal(result, right)
        assert place is None or result is place


def test_an_array_in_the_order_of_the_result_is_entered_directly(calls):
    jitted = calls.jit(doubled)
    x, out = np.asfortranarray(X), np.asfortranarray(np.zeros_like(X))
    jitted(x)
    assert calls.direct(lambda: jitted(x, out=out)) is out
    np.testing.assert_array_equal(out, X * 2)
    assert jitted(x, out=np.zeros_like(X)).flags.c_contiguous


def test_references_of_arrays_for_results_do_not_drift(calls):
    jitted = calls.jit(pair)
    out = np.zeros((2, 3), np.float32), np.zeros((), np.float32)
    wrong = np.zeros((3, 2), np.float32)
    jitted(X, out=out)
    before = [sys.getrefcount(o) for o in (*out, wrong, X)]
    for _ in range(100):
        jitted(X, out=out)
        jitted(X, out=(out[0], None))
        with pytest.raises(ValueError, match="has shape"):
            jitted(X, out=(out[0], wrong))
    assert [sys.getrefcount(o) for o in (*out, wrong, X)] == before


def test_two_results_in_overlapping_arrays_are_both_right(calls):
    jitted = calls.jit(listed)
    memory = np.zeros((3, 3), np.float32)
    for _ in range(2):
        first, second = jitted(X, out=(memory[:2], memory[1:]))
        np.testing.assert_array_equal(second, X * 2)
        np.testing.assert_array_equal(first[0], (X + 1)[0])


@pytest.mark.parametrize("shift", range(-2, 3))
def test_it_may_overlap_an_input(calls, shift):
    jitted = calls.jit(lambda x: x[::-1] * 2)
    memory = np.arange(10, dtype=np.float32)
    x, out = memory[2:8], memory[2 + shift : 8 + shift]
    expected = x[::-1] * 2
    assert jitted(x, out=out) is out
    np.testing.assert_array_equal(out, expected)


def test_several_results(calls):
    jitted = calls.jit(pair)
    out = np.zeros((2, 3), np.float32), np.zeros((), np.float32)
    found = jitted(X, out=out)
    assert found[0] is out[0] and found[1] is out[1]
    np.testing.assert_array_equal(out[0], X + 1)
    assert out[1] == X.sum()
    found = jitted(X, out=(None, out[1]))
    assert found[0] is not out[0] and found[1] is out[1]


def test_a_result_in_another_order_and_one_that_is_an_argument(calls):
    out = np.zeros((3, 2), np.float32)
    assert calls.jit(turned)(X, out=out) is out
    np.testing.assert_array_equal(out, (X + 1).T)
    x, out = X.copy(), np.zeros((2, 3), np.float32)
    assert calls.jit(in_place)(x, out=out) is out
    np.testing.assert_array_equal(out, X + 1)
    np.testing.assert_array_equal(x, X + 1)


def test_none_is_no_array_and_lazy_arguments_are_computed(calls):
    jitted = calls.jit(doubled)
    np.testing.assert_array_equal(jitted(X, out=None), X * 2)
    out = np.zeros((2, 3), np.float32)
    assert jitted(txc.asarray(X), out=out) is out
    np.testing.assert_array_equal(out, X * 2)


def test_a_parameter_of_that_name_is_the_functions(calls):
    jitted = calls.jit(with_parameter)
    for _ in range(2):
        np.testing.assert_array_equal(jitted(X, out=X), X + X)


@pytest.mark.parametrize(
    ("function", "out", "error", "text"),
    [
        (doubled, np.zeros((2, 3)), TypeError,
         "out= of doubled has dtype float64, the result has float32: pass np.empty((2, 3), 'float32')"),
        (doubled, np.zeros((2, 3), ">f4"), TypeError, "out= of doubled has dtype >f4, the result has float32"),
        (doubled, np.zeros((3, 2), np.float32), ValueError, "out= of doubled has shape (3, 2), the result has (2, 3)"),
        (doubled, np.broadcast_to(np.float32(0), (2, 3)), ValueError, "out= of doubled is read-only"),
        (doubled, [1], TypeError, "out= of doubled, result 0: an array is needed, not a list"),
        (doubled, (X, X), TypeError, "out= of doubled must be a tuple of 1 arrays"),
        (pair, X, TypeError, "out= of pair must be a tuple of 2 arrays, one a result, or None"),
        (lambda x: None, X, TypeError, "out= of <lambda>: it takes functions that return an array"),
        (lambda x: {"a": x}, X, TypeError, "out= of <lambda>: it takes functions that return an array"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_an_error(calls, function, out, error, text):
    jitted = calls.jit(function)
    for _ in range(2):
        with pytest.raises(error) as raised:
            jitted(X, out=out)
        assert text in str(raised.value)


def test_an_argument_is_not_written_before_out_is_checked(calls):
    x = X.copy()
    with pytest.raises(ValueError, match="out= of in_place has shape"):
        calls.jit(in_place)(x, out=np.zeros(3, np.float32))
    np.testing.assert_array_equal(x, X)
