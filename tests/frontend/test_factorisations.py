"""Factorisations that NumPy's bits do not decide: by what they promise, at every scale of numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import txc

RNG = np.random.default_rng(11)
EPS = {"f": 2.0**-23, "F": 2.0**-23, "d": 2.0**-52, "D": 2.0**-52}


def drawn(dtype: str, *shape: int) -> np.ndarray:
    made = RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)
    return (made if dtype in "FD" else made.real).astype(dtype)


def reflects(a: Any) -> Any:
    return np.linalg.qr(a)


def diagonalises(a: Any) -> Any:
    return np.linalg.eig(a)


def values(a: Any) -> Any:
    return np.linalg.eigvals(a)


@pytest.mark.parametrize("dtype", "fdFD")
@pytest.mark.parametrize("share", [1.0, 0.6, -0.6, -0.9])
def test_squares_of_a_column_may_overflow_or_vanish(dtype: str, share: float) -> None:
    """`share` is that of the exponents of the type."""
    wide = drawn(dtype, 5, 4).astype("G" if dtype in "FD" else "g")
    wide[:, 2] = 0
    wide /= abs(wide).max() * 4
    scale = 2.0 ** int(share * (np.finfo(dtype).maxexp - 1))
    a = (wide * scale).astype(dtype)
    assert np.isfinite(a).all()
    q, r = txc.jit(reflects)(a)
    wide_q = q.astype(wide.dtype)
    np.testing.assert_allclose(wide_q.conj().T @ wide_q, np.eye(4), atol=20 * EPS[dtype])
    np.testing.assert_allclose(wide_q @ r / scale, a / wide.dtype.type(scale), atol=20 * EPS[dtype])
    np.testing.assert_array_equal(r, np.triu(r))


def test_denormal_columns_keep_what_digits_they_have() -> None:
    a = np.array([[3, 1], [-4, 7], [12, 2]], np.float32) * np.float32(1e-42)
    q, r = txc.jit(reflects)(a)
    np.testing.assert_allclose(abs(r[0, 0]), np.float32(13e-42), atol=1e-44)
    np.testing.assert_allclose(q.T @ q, np.eye(2), atol=1e-6)


SPECIAL = {
    "zero": np.zeros((3, 3)),
    "one": np.eye(4),
    "one number": np.array([[-7.0]]),
    "turns": np.array([[0.0, 1], [-1, 0]]),
    "too few vectors": np.eye(6, k=1) + 2 * np.eye(6),
    "nilpotent": np.eye(5, k=1),
    "roots of unity": np.roll(np.eye(9), 1, 0),
    "singular": np.ones((5, 5)),
    "companion": np.vstack([-np.arange(1.0, 9), np.eye(7, 8)]),
    "triangle": np.triu(drawn("d", 6, 6)),
    "large": drawn("d", 4, 4) * 1e200,
    "small": drawn("D", 4, 4) * 1e-250,
    "graded": drawn("d", 5, 5) * 10.0 ** np.arange(-10, 15, 5),
}
MATRICES = SPECIAL | {f"{dtype} {n}": drawn(dtype, n, n) for dtype in "fdFD" for n in (2, 3, 7, 30)}


def distance(found: Iterable[complex], expected: Iterable[complex]) -> float:
    """The largest of eigenvalues from those next to them, each taken once."""
    left, most = list(found), 0.0
    for value in expected:
        nearest = min(range(len(left)), key=lambda i: abs(left[i] - value))
        most = max(most, abs(left.pop(nearest) - value))
    assert not left
    return most


@pytest.mark.parametrize("name", MATRICES)
def test_eigenvalues_and_vectors(name: str) -> None:
    a = MATRICES[name]
    w, v = txc.jit(diagonalises)(a)
    alone = txc.jit(values)(a)
    assert w.dtype == v.dtype == alone.dtype == np.result_type(a, np.complex64)
    scale = max(abs(a).max(), np.finfo(a.dtype).tiny)
    bound = 10 * len(a) * EPS[a.dtype.char]
    scaled = (a / scale).astype("D")
    assert abs(scaled @ v - v * (w / scale)).max() < bound
    np.testing.assert_allclose(np.linalg.norm(v, axis=0), 1, rtol=bound)
    largest = abs(v) >= abs(v).max(axis=0) * (1 - bound)
    assert np.where(largest, abs(v.imag), np.inf).min(axis=0).max() < bound
    # Those of matrices with too few vectors move with a root of what is rounded.
    expected = np.linalg.eigvals(scaled)
    for found in (w, alone):
        assert distance(found / scale, expected) < 100 * bound


def test_stacks_of_matrices() -> None:
    a = drawn("D", 2, 3, 4, 4)
    w, v = txc.jit(diagonalises)(a)
    np.testing.assert_allclose(a @ v, v * w[..., None, :], atol=1e-13)
    for shape in ((0, 3, 3), (2, 0, 0)):
        assert txc.jit(values)(np.zeros(shape)).shape == shape[:-1]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_has_no_eigenvalues(bad: float) -> None:
    a = np.stack([np.eye(3), np.array([[1, 0, 0], [0, 1, bad], [0, 0, 1]])])
    for f in (diagonalises, values):
        jitted = txc.jit(f)
        for _ in range(3):
            with pytest.raises(np.linalg.LinAlgError, match="Eigenvalues did not converge: the array may contain infs"):
                jitted(a)


def test_lazy_in_tx_and_by_the_array_api() -> None:
    a = np.array([[2.0, 1], [0, 3]])
    lazy = txc.asarray(a)
    made = txc.compile_source("def f(a: c128[n, n]) -> c128[n]:\n    return eigenvalues(a)\n")
    for found in (np.linalg.eigvals(lazy), txc.linalg.eigvals(lazy), txc.linalg.eig(lazy).eigenvalues, made.f(a + 0j)):
        assert distance(np.asarray(found), [2, 3]) < 1e-14


def test_errors() -> None:
    with pytest.raises(IndexError, match=r"np.linalg.eig takes square matrices, not f64\[a.shape\[0\], a.shape\[1\]\]"):
        txc.jit(diagonalises)(np.ones((2, 3)))
    made = txc.compile_source("def f(a: f64[n, n]) -> c128[n]:\n    return eigenvalues(a)\n")
    with pytest.raises(txc.TxcError, match=r"eigenvalues takes complex matrices, not f64\[n, n\]"):
        made.f(np.ones((2, 2)))
