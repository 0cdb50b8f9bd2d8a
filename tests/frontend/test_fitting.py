# pyright: reportCallIssue=false, reportArgumentType=false
"""Least squares and fits of polynomials, and numbers of elements, beside NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

RNG = np.random.default_rng(29)
TALL = RNG.standard_normal((7, 3))
RIGHT = RNG.standard_normal((7, 2))


@pytest.mark.parametrize("rows", [7, 3, 2])
def test_least_squares(runner, rows):
    a, b = TALL[:rows], RIGHT[:rows]
    runner.same(lambda a, b: np.linalg.lstsq(a, b)[:2], a, b)
    runner.same(lambda a, b: (np.linalg.lstsq(a, b[:, 0])[0], np.linalg.lstsq(a, b, rcond=None)[3]), a, b)
    runner.same(lambda a, b: np.linalg.lstsq(a, b)[2], a, b)


def test_least_squares_of_lower_rank(runner):
    a = TALL.copy()
    a[:, 2] = a[:, 0] + a[:, 1]
    runner.same(lambda a, b: np.linalg.lstsq(a, b, rcond=1e-10)[0], a, RIGHT)
    runner.same(lambda a, b: np.linalg.lstsq(a, b)[2], a, RIGHT)
    runner.same(lambda a, b: np.linalg.lstsq(a, b, rcond=0.9)[0], TALL, RIGHT)


def test_residuals_of_lower_rank_raise_where_they_are_used():
    a = np.ones((5, 2))

    def solution(a, b):
        x, _, rank, _ = np.linalg.lstsq(a, b)
        return x, rank

    for got, expected in zip(txc.jit(solution)(a, RIGHT[:5]), solution(a, RIGHT[:5]), strict=True):
        np.testing.assert_allclose(got, expected)
    with pytest.raises(np.linalg.LinAlgError):
        txc.jit(lambda a, b: np.linalg.lstsq(a, b)[1])(a, RIGHT[:5])


def test_least_squares_of_single_precision(runner):
    runner.same(lambda a, b: np.linalg.lstsq(a, b), TALL.astype("f4"), RIGHT.astype("f4"))


@pytest.mark.parametrize("element", ["f4", "f8", "i2", "u8", "c8"])
def test_vandermonde_matrices_are_as_wide_as_numpys(runner, element):
    runner.same(lambda x: np.vander(x, 3), np.arange(5).astype(element))


def test_complex_least_squares(runner):
    runner.same(lambda a, b: np.linalg.lstsq(a, b)[0], TALL + 1j * TALL[::-1], RIGHT)


@pytest.mark.parametrize("element", ["f8", "f4", "i8"])
def test_polynomials_that_fit(runner, element):
    x, y = (np.arange(9) - 3).astype(element), (RNG.standard_normal(9) * 4).astype(element)

    def f(x, y):
        return np.polyfit(x, y, 2), np.polyfit(x, y, 0), np.polyfit(x, np.stack([y, x], 1), 1)

    for got, expected in zip(runner(f, x, y), f(x, y), strict=True):
        assert got.dtype == expected.dtype and got.shape == expected.shape
        np.testing.assert_allclose(got, expected, rtol=1e-4 if element == "f4" else 1e-10, atol=1e-6)


def test_weighted_polynomials(runner):
    x, y, w = np.arange(9.0), RNG.standard_normal(9), RNG.random(9) + 0.1
    runner.same(lambda x, y, w: np.polyfit(x, y, 3, w=w), x, y, w)


def test_a_fit_compiles_once_for_all_lengths():
    compiled = txc.jit(lambda x, y: np.polyfit(x, y, 1))
    for n in (5, 9, 30):
        x, y = np.arange(float(n)), RNG.standard_normal(n)
        np.testing.assert_allclose(compiled(x, y), np.polyfit(x, y, 1), rtol=1e-9, atol=1e-12)
    assert len(compiled.signatures()) == 1


@pytest.mark.parametrize("name", ["full", "cov"])
def test_what_else_polyfit_gives_is_refused(name):
    with pytest.raises(TxcError, match=f"np.polyfit does not take {name}=True here"):
        txc.jit(lambda x: np.polyfit(x, x, 1, **{name: True}))(np.arange(4.0))


NUMBERS = {
    "unravel": lambda x: (*np.unravel_index(x, (3, 4, 5)), *np.unravel_index(x, (60,))),
    "unravel F": lambda x: np.unravel_index(x, (3, 4, 5), order="F"),
    "ravel": lambda x: (
        np.ravel_multi_index((x % 3, x % 4), (3, 4)),
        np.ravel_multi_index((x, x % 4), (3, 4), mode=("clip", "wrap"), order="F"),
        np.ravel_multi_index((x - 30, x), (3, 4), mode="wrap"),
    ),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("element", ["i8", "i2", "u1"])
def test_numbers_of_elements(runner, name, element):
    x = RNG.integers(0, 60, (2, 6)).astype(element)
    runner.same(NUMBERS[name], x.astype("i8") if name == "ravel" else x, exact=True)


def test_the_place_of_the_largest_in_any_shape():
    compiled = txc.jit(lambda x: np.unravel_index(x.argmax(), x.shape))
    for shape in ((3, 4), (5, 2), (7, 7)):
        x = RNG.standard_normal(shape)
        np.testing.assert_array_equal(compiled(x), np.unravel_index(x.argmax(), shape))
    assert len(compiled.signatures()) == 1


@pytest.mark.parametrize("number", [-1, 12])
def test_a_number_of_no_element_raises(number):
    with pytest.raises(ValueError, match="out of bounds"):
        txc.jit(lambda x: np.unravel_index(x, (3, 4)))(np.array([0, number]))


def test_polyfit_of_as_many_points_as_values_decide():
    def f(x, y):
        return np.polyval(np.polyfit(x[y > 0], y[y > 0], 2), x)

    x = np.linspace(0, 1, 9)
    np.testing.assert_allclose(txc.jit(f)(x, x * x - 0.1), f(x, x * x - 0.1), atol=1e-12)
    with pytest.raises(TypeError, match="expected non-empty vector for x"):
        txc.jit(f)(x, -x)


def test_lstsq_of_as_many_rows_as_values_decide():
    def f(a, y):
        return np.linalg.lstsq(a[y > 0], y[y > 0], rcond=None)[:2]

    compiled, a = txc.jit(f), RNG.standard_normal((4, 2))
    for y in ([1.0, 2, -1, 3], [-1.0, 2, -1, -1]):
        for got, expected in zip(compiled(a, np.array(y)), f(a, np.array(y)), strict=True):
            assert got.shape == expected.shape and got.dtype == expected.dtype
            np.testing.assert_allclose(got, expected, atol=1e-12)


def test_svd_of_as_many_rows_as_values_decide():
    def f(a, y):
        u, s, v = np.linalg.svd(a[y > 0], full_matrices=False)
        return u, s, v, (u * s) @ v

    compiled, a = txc.jit(f), RNG.standard_normal((4, 2))
    for y in ([1.0, 2, -1, 3], [-1.0, 2, -1, -1]):
        found, expected = compiled(a, np.array(y)), f(a, np.array(y))
        assert [x.shape for x in found] == [x.shape for x in expected]
        # Vectors may have the other sign.
        for x, z in zip(found, expected, strict=True):
            np.testing.assert_allclose(np.abs(x), np.abs(z), atol=1e-12)
