"""NumPy's convolutions multiply what overlaps, and no padding: what is not finite stays where it belongs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc

from ..pairwise import pairwise

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(61)
SPECIAL = (np.inf, -np.inf, np.nan)


def vector(size: int, dtype: str, special: bool) -> Array:
    """Numbers, with `special` the first, the last and some others of them not finite."""
    x = RNG.standard_normal(size).astype(dtype)
    if special:
        x[[0, -1, *RNG.integers(0, size, size // 9)]] = RNG.choice(SPECIAL, 2 + size // 9)
    return x


NAMES, MODES, DTYPES = ("convolve", "correlate"), ("full", "same", "valid"), ("f4", "f8", "c16")
SIZES = ((30, 4), (4, 30), (1, 1), (3, 1), (17, 17), (300, 70), (1300, 1100))


@pytest.mark.parametrize(
    ("sizes", "mode", "dtype", "name", "lazy"), pairwise(SIZES, MODES, DTYPES, NAMES, (False, True))
)
def test_what_is_not_finite(sizes: tuple[int, int], mode: Any, dtype: str, name: str, lazy: bool) -> None:
    """Any two of these together (`tests/pairwise.py`): each pair of sizes has code of its own."""
    numpy = getattr(np, name)
    f = txc.jit(lambda a, v: numpy(a, v, mode))
    for special in ((False, True), (True, False), (True, True)):
        a, v = (vector(n, dtype, s) for n, s in zip(sizes, special))
        with np.errstate(all="ignore"):
            wanted = numpy(a, v, mode)
        got = np.asarray(numpy(txc.asarray(a), txc.asarray(v), mode)) if lazy else f(a, v)
        np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-3)
