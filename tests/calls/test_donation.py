"""``jit(donate=…)``: results in the memory of arguments."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest

import txc
from txc.compiler.driver.donation import DonationWarning

from .test_results import f32


def step(x, y):
    return np.tanh(x) * y + x


def backwards(x, y):
    return x[::-1] * y


def two(x, y):
    return x + y, x - y


def update(params, gradient):
    return [(w - g, s * 2.0) for (w, s), g in zip(params, gradient)]


def total(x):
    return x.sum()


@pytest.mark.parametrize("function", [step, backwards])
def test_the_result_is_the_donated_array(calls, function):
    jitted = calls.jit(function, donate=("x",))
    for size in (5, 5, 9):
        x, y = f32(size, 3), f32(size, 3)
        expected = function(x, y)
        kept = y.copy()
        assert jitted(x, y) is x
        np.testing.assert_allclose(x, expected, rtol=2e-6)
        np.testing.assert_array_equal(y, kept)
    x, y = f32(4, 3), f32(4, 3)
    assert calls.direct(lambda: jitted(x, y)) is x


def test_no_memory_is_taken_for_it(calls):
    jitted = calls.jit(step, donate="x")
    x, y = f32(1000, 1000), f32(1000, 1000)
    jitted(x, y)
    tracemalloc.start()
    try:
        for _ in range(3):
            x = jitted(x, y)
        assert tracemalloc.get_traced_memory()[1] < x.nbytes // 2
    finally:
        tracemalloc.stop()


def test_each_array_is_used_once_in_the_order_of_the_results(calls):
    jitted = calls.jit(two, donate=("y", "x"))
    for _ in range(2):
        x, y = f32(6), f32(6)
        expected = two(x, y)
        found = jitted(x, y)
        assert found[0] is x and found[1] is y
        np.testing.assert_array_equal(found, expected)
    one = calls.jit(two, donate=("y",))
    for _ in range(2):
        x, y = f32(6), f32(6)
        expected, before = two(x, y), x.copy()
        found = one(x, y)
        assert found[0] is y and found[1] is not x
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(x, before)


def test_parts_of_containers(calls):
    jitted = calls.jit(update, donate=("params",))
    for _ in range(2):
        params, gradient = [(f32(3), f32(3)), (f32(5), f32(5))], [f32(3), f32(5)]
        expected = update(params, gradient)
        found = jitted(params, gradient)
        for a, b, c in zip(found, expected, params):
            assert a[0] is c[0] and a[1] is c[1]
            np.testing.assert_array_equal(a[0], b[0])
            np.testing.assert_array_equal(a[1], b[1])


@pytest.mark.parametrize("shift", [-2, -1, 1, 2])
def test_arguments_that_overlap_it_are_read_as_they_were(calls, shift):
    jitted = calls.jit(step, donate=("x",))
    jitted(f32(6), f32(6))
    memory = f32(12)
    x, y = memory[3:9], memory[3 + shift : 9 + shift]
    expected = step(x.copy(), y.copy())
    assert jitted(x, y) is x
    np.testing.assert_allclose(x, expected, rtol=2e-6)
    z = f32(6)
    expected = step(z.copy(), z.copy())
    np.testing.assert_allclose(jitted(z, z), expected, rtol=2e-6)


@pytest.mark.parametrize("make", [np.asfortranarray, lambda a: np.repeat(a, 2, axis=1)[:, ::2]], ids=["order", "view"])
def test_other_orders_and_views_are_written_as_they_lie(calls, make):
    jitted = calls.jit(step, donate=("x",))
    for _ in range(2):
        x, y = make(f32(4, 6)), f32(4, 6)
        strides, expected = x.strides, step(x, y)
        assert jitted(x, y) is x and x.strides == strides
        np.testing.assert_allclose(x, expected, rtol=2e-6)


def test_what_cannot_be_used_is_warned_of_once_a_version(calls):
    jitted = calls.jit(total, donate=("x",))
    text = "donate= of total: no result has the dtype and sizes of x, whose memory is not reused"
    x = f32(5)
    with pytest.warns(DonationWarning, match=text) as found:
        assert jitted(x) == pytest.approx(x.sum(), rel=1e-6)
    assert found[0].filename == __file__
    stretched = np.lib.stride_tricks.as_strided(np.ones(1, np.float32), (4,), (0,))
    plain = calls.jit(step, donate=("x",))
    with pytest.warns(DonationWarning, match="of x, whose memory"):
        assert plain(stretched, f32(4)) is not stretched
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jitted(x)
        jitted(f32(9))


def test_what_may_not_be_given_away_is_an_error(calls):
    jitted = calls.jit(step, donate=("x",))
    x, y = f32(4), f32(4)
    before = x.copy()
    x.flags.writeable = False
    for _ in range(2):
        with pytest.raises(ValueError, match=r"step puts a result into x \(shape 4\), which is read-only: pass a copy"):
            jitted(x, y)
    np.testing.assert_array_equal(x, before)
    with pytest.raises(TypeError, match="step takes lazy tensors only where it gives nothing away"):
        jitted(txc.asarray(y), y)
    both = calls.jit(two, donate=("x", "y"))
    memory = f32(6)
    for _ in range(2):
        with pytest.raises(ValueError, match="two arguments that are both written in place overlap"):
            both(memory[:5], memory[1:])


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("z", "donate= of step names 'z', which is no parameter; there are x, y"),
        (("x", "out"), "donate= of step names 'out', which is no parameter; there are x, y"),
        (0, "donate must be the name of a parameter or a tuple of names, not 0"),
        ((0,), "donate must be the name of a parameter or a tuple of names, not (0,)"),
    ],
)
def test_names_that_there_are_not(given, text):
    with pytest.raises(txc.OptionError) as error:
        txc.jit(step, donate=given)
    assert str(error.value) == text
    with pytest.raises(txc.OptionError):
        txc.jit(step).options(donate=given)


def test_tx_functions_say_that_they_have_no_such_option():
    with pytest.raises(txc.OptionError, match="donate is an option of jit"):
        txc.compile_source("def f(x: f32[n]) -> f32[n]:\n    return x + 1\n", donate=("x",))


def test_with_and_without_are_different_code(calls):
    jitted = calls.jit(step)
    giving = jitted.options(donate=("x",))
    x, y = f32(5), f32(5)
    expected = step(x, y)
    assert jitted(x, y) is not x
    assert giving(x, y) is x
    np.testing.assert_allclose(x, expected, rtol=2e-6)
    assert jitted(x, y) is not x
