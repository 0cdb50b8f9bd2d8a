"""`txc.evaluate`: expressions given as text, of the caller's variables."""

from __future__ import annotations

import numpy as np
import pytest

import txc

A, B = np.linspace(-1.0, 2.0, 7), np.arange(7.0, dtype=np.float32)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("2*A + 3*B", 2 * A + 3 * B),
        ("where((A > 0) & ~(B == 3), sqrt(B), -1)", np.where((A > 0) & ~(B == 3), np.sqrt(B), -1)),
        ("sum(exp(-A**2), axis=0) / (B + 1)", np.exp(-(A**2)).sum() / (B + 1)),
        ("arctan2(A, B) % 2 + abs(A) // 1", np.arctan2(A, B) % 2 + np.abs(A) // 1),
        ("3\n  + B", 3 + B),
    ],
)
def test_as_numpy(text: str, want: np.ndarray):
    found = txc.evaluate(text)
    assert found.dtype == want.dtype
    np.testing.assert_allclose(found, want, rtol=1e-6)


def test_whose_variables():
    A = np.ones(2, np.int8)
    np.testing.assert_array_equal(txc.evaluate("A + A"), [2, 2])
    np.testing.assert_array_equal(txc.evaluate("A + C", {"A": A, "C": 1.0}), [2, 2])
    np.testing.assert_array_equal(txc.evaluate("A + C", {"A": A}, {"A": 5, "C": 2}), [3, 3])
    out = np.empty(2)
    assert txc.evaluate("A * 0.5", out=out) is out
    np.testing.assert_array_equal(out, [0.5, 0.5])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("A.sum()", "a part that is no expression's, Attribute"),
        ("A[0]", "a part that is no expression's, Subscript"),
        ("__import__('os')", "calls __import__; there are abs, arccos"),
        ("(lambda: 1)()", "a part that is no expression's, Lambda"),
        ("0 < A < 1", "a chain of comparisons: write (0 < a) & (a < 1)"),
        ("not A", "a part that is no expression's, Not"),
        ("A and B", "a part that is no expression's, BoolOp"),
        ("sum + sum(A)", "a variable and a function 'sum'"),
        ("A +", "invalid syntax"),
    ],
)
def test_what_is_no_expression(text: str, said: str):
    with pytest.raises(SyntaxError) as found:
        txc.evaluate(text)
    assert said in str(found.value)


def test_a_variable_that_there_is_not():
    with pytest.raises(NameError, match="name 'missing' of 'missing \\+ 1' is not defined"):
        txc.evaluate("missing + 1")
