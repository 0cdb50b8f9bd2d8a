"""Stacks of many small matrices go in lanes: the bits of one matrix at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.frontend.trace.short_loops import MANY

RNG = np.random.default_rng(27)


def results(a, b, one, p):
    sign, logarithm = np.linalg.slogdet(a)
    return (
        np.linalg.solve(a, b),
        np.linalg.solve(a, one),
        np.linalg.inv(a),
        np.linalg.det(a),
        sign,
        logarithm,
        np.linalg.cholesky(p),
    )


def stack(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    """Half of the matrices of small integers, whose columns have several largest elements."""
    found = RNG.standard_normal(shape)
    found[::2] = RNG.integers(-3, 4, shape)[::2]
    return (found + 1j * RNG.standard_normal(shape) if dtype[0] == "c" else found).astype(dtype)


@pytest.mark.parametrize(("dtype", "n", "m"), [("f4", 4, 3), ("f8", 2, 1), ("f8", 7, 8), ("c8", 3, 2)])
def test_many_have_the_bits_of_few(dtype: str, n: int, m: int) -> None:
    count = MANY + 11
    a = stack((count, n, n), dtype)
    a[np.abs(np.linalg.det(a)) < 1e-3] = np.eye(n)[::-1]
    b, one = stack((count, n, m), dtype), stack((n, m), dtype)
    p = a @ a.conj().swapaxes(1, 2) + np.eye(n, dtype=dtype)
    made = txc.jit(results)
    whole = made(a, b, one, p)
    for got, expected in zip(whole, results(a, b, one, p)):
        assert np.median(np.abs(got - expected)) < (1e-4 if dtype in ("f4", "c8") else 1e-12)
    for part in (slice(0, 40), slice(-21, None)):
        for got, expected in zip(made(a[part], b[part], one, p[part]), whole):
            assert got.tobytes() == expected[part].tobytes()


def test_what_has_no_solution_and_what_is_no_number() -> None:
    """Pivots that are zero, infinite and not a number take the rows that they take one matrix at a time."""
    values = np.array([0.0, -0.0, 1.0, 2.0, np.inf, -np.inf, np.nan, 1e-310, 1e300])
    a = values[RNG.integers(0, len(values), (MANY + 3, 3, 3))]
    determinants = txc.jit(lambda a: (np.linalg.det(a), *np.linalg.slogdet(a)))
    for got, expected in zip(determinants(a[:60]), determinants(a)):
        np.testing.assert_array_equal(got, expected[:60])
    singular = np.ones((MANY, 2, 2))
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        txc.jit(lambda a: np.linalg.inv(a))(singular)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        txc.jit(lambda a: np.linalg.cholesky(a))(-singular)


def test_layouts() -> None:
    """Stacks of stacks, matrices that are no rows of memory, and reversed ones."""
    solve = txc.jit(lambda a, b: np.linalg.solve(a, b))
    a, b = (RNG.standard_normal((130, 127, 3, 3)) for _ in range(2))
    a += 9 * np.eye(3)
    for x, y in ((a, b), (a.swapaxes(-1, -2), b), (a[::-1, :, ::-1], b[:, ::-1]), (a.swapaxes(0, 1), b.swapaxes(0, 1))):
        whole = solve(x, y)
        np.testing.assert_allclose(whole, np.linalg.solve(x, y), 1e-9, 1e-12)
        assert whole[3, :50].tobytes() == solve(x[3, :50], y[3, :50]).tobytes()
