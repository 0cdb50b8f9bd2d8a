"""Calls that repeat: their nodes are known from the second on, and mean what those of the first do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from txc import tensure as m
from txc.compiler.diagnostics import TxcError
from txc.compiler.frontend.api.tensure.elementwise import call_cache
from txc.compiler.frontend.lazy import op_templates, structural_key


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(op_templates, "_templates", {})
    structural_key.forget()


def numbers(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).random(shape).astype(np.float32) + 1


def taken(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The functions that were called on such expressions as before, from now on."""
    found: list[Any] = []
    original = op_templates.lookup_value

    def noted(head: Any, values: Any, inner: int) -> Any:
        made = original(head, values, inner)
        if made is not None:
            found.append(head)
        return made

    monkeypatch.setattr(call_cache.op_templates, "lookup_value", noted)
    return found


def test_a_chain_of_mutations(monkeypatch):
    found = taken(monkeypatch)
    for seed in range(3):
        a, b = numbers(seed, 3, 4), numbers(seed + 5, 3, 4)
        x, y = m.array(a), m.array(b)
        made = m.div(x, y)
        m.abs_(m.mul_(m.pow_(m.sub_(made, y), m.array(2)), x))
        np.testing.assert_allclose(np.asarray(made), np.abs((a / b - b) ** 2 * a), rtol=1e-6)
        np.testing.assert_array_equal(np.asarray(x), a)
    assert len(found) == 10


def test_operands_that_are_one_and_that_are_two():
    for seed in range(3):
        a, b = numbers(seed, 4), numbers(seed + 5, 4)
        for same in (False, True, False):
            x = m.array(a)
            y = x if same else m.array(b)
            other = a if same else b
            np.testing.assert_array_equal(np.asarray(m.sub(x, y)), a - other)
            assert m.mul_(x, y) is x
            np.testing.assert_array_equal(np.asarray(x), a * other)


def test_numbers_are_told_apart():
    x = m.array(numbers(0, 4))
    before = np.asarray(x).astype(np.float64)
    for exponent in (2, 3, 2, 0.5, -1, 3):
        np.testing.assert_allclose(np.asarray(m.pow(x, m.array(exponent))), before**exponent, rtol=1e-6)


def test_zeros_are_told_apart():
    x = m.array(numbers(0, 4))
    for zero in (0.0, -0.0, 0.0):
        assert np.asarray(m.div(x, m.array(zero))).tolist() == [np.copysign(np.inf, zero)] * 4


def test_results_keep_their_elements_and_views_see_changes():
    for seed in range(3):
        a, b = numbers(seed, 2, 3), numbers(seed + 5, 2, 3)
        x, y = m.array(a), m.array(b)
        turned, total = m.transpose(x), m.add(x, y)
        m.add_(x, y)
        m.mul_(turned, m.array(2))
        m.add_(x, total)
        np.testing.assert_array_equal(np.asarray(total), a + b)
        np.testing.assert_array_equal(np.asarray(x), (a + b) * 2 + (a + b))
        np.testing.assert_array_equal(np.asarray(turned), np.asarray(x).T)


def test_shapes_and_dtypes_are_told_apart():
    for _ in range(2):
        for shape, other in (((2, 3), (3,)), ((2, 3), (2,)), ((3, 3), (3,)), ((2, 3), ())):
            for dtype in ("f32", "f64"):
                a, b = np.ones(shape) * 3, np.arange(1.0, 1 + np.prod(other, dtype=int)).reshape(other)
                found = np.asarray(m.div(m.array(a, dtype), m.array(b, dtype)))
                expected = a / (b[:, None] if other == (2,) else b)
                np.testing.assert_allclose(found, expected, rtol=1e-6)
                assert found.dtype == {"f32": np.float32, "f64": np.float64}[dtype]


def test_errors_come_back():
    x, scalar, text = m.array(numbers(0, 4)), m.array(1), "ones"
    for _ in range(2):
        m.add_(x, scalar)
        with pytest.raises(TxcError, match="add_ cannot change a scalar") as caught:
            m.add_(scalar, scalar)
        assert caught.value.loc is not None and caught.value.loc.filename == __file__
        with pytest.raises(TxcError, match="add takes tensors, and argument 1 is the str 'ones'"):
            m.add(x, text)
        with pytest.raises(TxcError, match=r"shapes \[4\] and \[3\] do not broadcast"):
            m.add(x, m.array(numbers(1, 3)))


def test_tensors_whose_dims_are_counted_the_other_way_round() -> None:
    """`swap_layout` is a method of all tensors, not of the document: what is made of its result counts as it does."""
    x = m.array([[1, 2, 3], [4, 5, 6]])
    turned, expected = x.swap_layout(), np.array([[1, 4], [2, 5], [3, 6]], np.float32)
    np.testing.assert_array_equal(np.asarray(turned), expected)
    for _ in range(2):  # worked out, and known
        np.testing.assert_array_equal(np.asarray(m.add(turned, turned)), 2 * expected)
        np.testing.assert_array_equal(np.asarray(m.negate(turned)), -expected)
        np.testing.assert_array_equal(np.asarray(m.add(x, x)), 2 * expected.T)
    m.mul_(turned, turned)
    np.testing.assert_array_equal(np.asarray(x), expected.T**2)
    np.testing.assert_array_equal(np.asarray(turned), expected**2)
