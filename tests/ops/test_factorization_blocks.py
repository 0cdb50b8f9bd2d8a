"""Factorisations by blocks of columns: elements have the bits of an elimination that knows no blocks.

Blocks begin at other columns of a part of a matrix than of the matrix, and a small one is all in one block.
"""

from __future__ import annotations

import numpy as np
import pytest

import txc

cholesky = txc.jit(lambda a: np.linalg.cholesky(a))
solve = txc.jit(lambda a, b: np.linalg.solve(a, b))


def square(n: int, dtype: str) -> np.ndarray:
    rng = np.random.default_rng(n)
    a = rng.standard_normal((n, n))
    return (a + 1j * rng.standard_normal((n, n)) if dtype[0] == "c" else a).astype(dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_the_factor_of_a_part_is_the_part_of_the_factor(dtype: str) -> None:
    a = square(203, dtype)
    a = a @ a.conj().T + 203 * np.eye(203, dtype=dtype)
    whole = cholesky(a)
    np.testing.assert_allclose(whole, np.linalg.cholesky(a), 1e-3 if dtype in ("f4", "c8") else 1e-10, 1e-3)
    for n in (1, 20, 63, 64, 65, 129):
        np.testing.assert_array_equal(cholesky(a[:n, :n]), whole[:n, :n])


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_what_lies_across_blocks_is_solved_as_what_lies_in_one(dtype: str) -> None:
    """Behind an identity, whose rows take nothing from a matrix, that one begins at any column of a block."""
    n, columns = 50, 3
    a, b = square(n, dtype), square(n, dtype)[:, :columns]
    alone = solve(a, b)
    np.testing.assert_allclose(alone, np.linalg.solve(a, b), 2e-3 if dtype in ("f4", "c8") else 1e-10, 1e-3)
    for before in (1, 40, 63, 90):
        system = np.eye(before + n, dtype=dtype)
        system[before:, before:] = a
        right = np.concatenate([np.ones((before, columns), dtype), b])
        np.testing.assert_array_equal(solve(system, right), np.concatenate([right[:before], alone]))


def test_a_stack_of_matrices_of_several_blocks() -> None:
    a = np.stack([square(150, "f8") + k * np.eye(150) for k in range(3)])
    b = np.ones((3, 150, 70))
    for threads in (1, 2):
        got = txc.jit(lambda a, b: np.linalg.solve(a, b), threads=threads)(a, b)
        np.testing.assert_array_equal(got, np.stack([solve(x, y) for x, y in zip(a, b)]))
