"""Which version a call selects, what makes a new one, and what is said about it."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import txc
from txc.runtime.stub import cpython_layout

FACTORS = [[2.0], 3.0]


def three(x, y):
    return x * 2 - y


def described(function):
    return function.explain_compile()


def test_sizes_do_not_compile(calls):
    jitted = calls.jit(three)
    for n in range(2, 65):
        x = np.ones((n, 3), np.float32)
        jitted(x, x)
    assert described(jitted).count("compiled because") == 1
    assert jitted.signatures() == ["f32 array of rank 2, row-major; f32 array of rank 2, row-major"]


def test_each_version_says_why_it_was_compiled(calls):
    jitted = calls.jit(three)
    assert described(jitted) == "three: nothing is compiled yet"
    x = np.ones((2, 3), np.float32)
    jitted(x, x)
    jitted(x.astype(np.float64), x)
    jitted(x, x[:1])
    text = described(jitted)
    assert "three, version 1: compiled because it was the first call" in text
    assert (
        "three, version 2: compiled because the facts were new: "
        "f64 array of rank 2, row-major instead of f32 array of rank 2, row-major" in text
    )
    assert "three, version 3: compiled because the facts were known, but dim 0 of y must be" in text
    assert "guard  x.0 == y.0  (broadcasting)" in text
    assert ("calls  enter machine code" in text) is calls.native
    assert ("calls  by Python: TXC_NATIVE_ENTRY is 0" in text) is not calls.native


def test_a_captured_value_that_changed_is_the_reason(calls):
    scale = 2.0

    def function(x):
        return x * scale

    jitted = calls.jit(function)
    jitted(np.ones(3))
    scale = 3.0
    jitted(np.ones(3))
    text = described(jitted)
    assert "guard  scale = 2.0" in text
    assert "version 2: compiled because the facts were known, but scale = 2.0 no longer holds" in text


@pytest.mark.skipif(bool(cpython_layout.problem()), reason="calls go through Python")
@pytest.mark.parametrize(
    ("function", "args", "reason"),
    [
        (
            lambda **xs: xs["a"] + xs["b"],
            {"a": np.ones(2), "b": np.ones(2)},
            "xs collects keywords, whose order counts",
        ),
        (lambda x: x * FACTORS[0][0], {"x": np.ones(2)}, "FACTORS is compared by value"),
        (lambda x: x + 1, {"x": ml_dtypes.bfloat16(2)}, "x is a scalar of bf16, which is no type of NumPy's own"),
    ],
)
def test_calls_that_python_makes_say_why(function, args, reason):
    jitted = txc.jit(function)
    for _ in range(2):
        np.testing.assert_array_equal(jitted(**args), function(**args))
    assert f"calls  by Python: {reason}" in described(jitted)


def test_info_says_how_calls_are_made(monkeypatch):
    text = str(txc.info())
    assert "numpy" in text and np.__version__ in text and "target" in text
    if not cpython_layout.problem():
        assert txc.info().native_entry and "calls    enter machine code" in text
    monkeypatch.setenv("TXC_NATIVE_ENTRY", "0")
    assert "calls    go through Python: TXC_NATIVE_ENTRY is 0" in str(txc.info())
