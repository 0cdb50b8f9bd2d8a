"""Factorisations of matrices whose elements' squares are no numbers of their dtype, which LAPACK scales, as we do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc

from .programs.interpreted import interpreted

A = np.array([[4.0, 1, 2], [1, 3, 0.5], [2, 0.5, 5]])


def whole(a: Any) -> Any:
    u, s, vh = np.linalg.svd(a)
    q, r = np.linalg.qr(a)
    values, vectors = np.linalg.eigh(a)
    return (u * s) @ vh, s, q @ r, values, (vectors * values) @ vectors.T, np.linalg.norm(a, 2)


def ratios(a: Any) -> Any:
    return np.linalg.cond(a), np.linalg.matrix_rank(a), np.linalg.pinv(a) * a[0, 0], np.linalg.eigvalsh(a) / a[0, 0]


@pytest.mark.parametrize(("dtype", "size"), [("f8", 1e-200), ("f8", 1e200), ("f4", 1e-30), ("f4", 1e30)])
def test_sizes_that_squares_leave(dtype: str, size: float) -> None:
    a = (A * size).astype(dtype)
    for f in (whole, ratios):
        for got, expected in zip(txc.jit(f)(a), f(a), strict=True):
            np.testing.assert_allclose(got / abs(expected).max(), expected / abs(expected).max(), atol=1e-5)


def test_scales_are_powers_of_two() -> None:
    """Results are those of the matrix between, with other exponents."""
    f = txc.jit(lambda a: (np.linalg.svd(a)[1], np.linalg.qr(a)[1], np.linalg.eigvalsh(a)))
    for one, far in zip(f(A), f(A * 2.0**700), strict=True):
        np.testing.assert_array_equal(one * 2.0**700, far)


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize("p", [None, 1, 2, -2, "fro", np.inf])
def test_conditions_of_singular_matrices(p: Any) -> None:
    def f(a):
        return np.linalg.cond(a, p)

    with interpreted():
        jitted = txc.jit(f)
        for a in (np.zeros((3, 3)), np.diag([1.0, 0, 2]), A):
            np.testing.assert_allclose(jitted(a), f(a), rtol=1e-12)
        if p not in (None, 2, -2):  # whose singular values NumPy does not find
            assert np.isnan(jitted(np.full((2, 2), np.nan)))
