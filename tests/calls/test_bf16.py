"""Calls with arrays of bfloat16, whose type number NumPy gives out anew in each process."""

from __future__ import annotations

import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from txc.runtime.stub import native_call

BF16: Any = ml_dtypes.bfloat16
X: Any = np.arange(12).reshape(3, 4).astype(BF16)


def total_and_more(x, y):
    return x + y, x.sum(), x.T


def test_arguments_and_results(calls):
    jitted = calls.jit(total_and_more)
    jitted(X, X)
    both, total, turned = calls.direct(lambda: jitted(X, X))
    assert both.dtype == turned.dtype == BF16
    np.testing.assert_array_equal(both, X + X)
    np.testing.assert_array_equal(turned, X.T)
    assert type(total) is BF16
    assert total == 66


def test_a_result_without_such_an_argument(calls):
    jitted = calls.jit(lambda x: x.astype(BF16))
    x = np.linspace(-3, 3, 9, dtype=np.float32)
    jitted(x)
    made = calls.direct(lambda: jitted(x))
    assert made.dtype == BF16
    np.testing.assert_array_equal(made, x.astype(BF16))


def test_into_an_array_that_is_given(calls):
    jitted, out = calls.jit(lambda x: x * 3), np.zeros_like(X)
    jitted(X, out=out)
    out[...] = 0
    assert calls.direct(lambda: jitted(X, out=out)) is out
    np.testing.assert_array_equal(out, X * np.array(3, BF16))


def test_other_arrays_of_two_bytes_are_none(calls):
    jitted = calls.jit(lambda x: x + x)
    jitted(X)
    for kind in (np.float16, np.int16):
        assert jitted(X.astype(kind)).dtype == kind
    with pytest.raises(TypeError):
        jitted(X.astype(ml_dtypes.float8_e5m2))  # another type with a number of its own
    np.testing.assert_array_equal(calls.direct(lambda: jitted(X)), X + X)


def test_large_results_come_from_recycled_memory(calls):
    jitted, x = calls.jit(lambda x: x + x), np.ones((2000, 1000), BF16)
    jitted(x)
    made = calls.direct(lambda: jitted(x))
    assert made.dtype == BF16
    assert np.all(made == 2)


def test_references_to_the_dtype_come_out_even(calls):
    jitted = calls.jit(total_and_more)
    jitted(X, X)
    jitted(X, X)
    before = sys.getrefcount(X.dtype)
    for _ in range(100):
        jitted(X, X)
    assert abs(sys.getrefcount(X.dtype) - before) < 10  # a call would keep one for each result


def test_where_the_number_is_another_one_python_makes_the_call(calls, monkeypatch):
    """As in a process where nobody has loaded the type yet."""
    jitted = calls.jit(lambda x: x - x)
    jitted(X)
    calls.direct(lambda: jitted(X))
    monkeypatch.setattr(native_call._bf16_number, "value", -1)
    before = calls.by_python
    np.testing.assert_array_equal(jitted(X), X - X)
    assert calls.by_python == before + 1
