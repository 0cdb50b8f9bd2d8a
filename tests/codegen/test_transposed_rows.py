"""Short rows that fold in any order, by vectors across them: `filecheck/loops/transposed_rows.tx` has the loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import txc

FOLDS: dict[str, Callable[[np.ndarray], object]] = {
    "argmax": lambda x: x.argmax(axis=1),
    "argmin": lambda x: x.argmin(axis=1),
    "max": lambda x: x.max(axis=1),
    "sum": lambda x: x.sum(axis=1),
    "any": lambda x: x.any(axis=1),
    "both": lambda x: (x.min(axis=1), x.max(axis=1)),
    "differing": lambda x: (x != x[0]).argmax(axis=1),
}


@pytest.mark.parametrize("dtype", ["bool", "i1", "u2", "i4", "i8", "f4", "f8"])
@pytest.mark.parametrize("name", FOLDS)
def test_rows_around_those_of_a_tile(name: str, dtype: str) -> None:
    """Rows and their elements about as many as vectors have, of arrays that begin and end anywhere."""
    fold = FOLDS[name]
    compiled, rng = txc.jit(fold), np.random.default_rng(7)
    for rows in (7, 8, 15, 16, 17, 33, 100):
        for length in (1, 2, 7, 8, 9, 16, 17, 40):
            x = rng.integers(0, 2 if dtype == "bool" else 5, (rows, length + 3)).astype(dtype)[:, 1:-2]
            if dtype[0] == "f":
                x[rows // 2, length // 2] = np.nan
            for given in (x, x.copy()):
                np.testing.assert_array_equal(compiled(given), fold(given))


@pytest.mark.parametrize("rows", [(5, 9), (9, 5), (3, 40)])
def test_rows_of_a_middle_dim(rows: tuple[int, int]) -> None:
    x = np.random.default_rng(3).integers(0, 9, (*rows, 11)).astype(np.int32)
    for axis in range(3):
        compiled = txc.jit(lambda x, axis=axis: (x.argmax(axis=axis), x.sum(axis=axis)))
        for given in (x, np.asfortranarray(x), x[::2, ::-1]):
            places, sums = compiled(given)
            np.testing.assert_array_equal(places, given.argmax(axis=axis))
            np.testing.assert_array_equal(sums, given.sum(axis=axis))
