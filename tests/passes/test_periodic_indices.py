"""Repeated elements, windows of padded vectors, what is put together flat: NumPy's results at the edges of vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc

Array = np.ndarray[Any, Any]

#: Rows shorter than a round of vectors, with some left over, and longer than a piece of parallel work.
SHAPES = [(0, 4), (5, 1), (7, 40), (3, 401), (1, 17000)]
REPEATED: dict[str, Callable[[Array, int], Any]] = {
    "columns": lambda x, k: np.repeat(x, k, axis=1),
    "elements": lambda x, k: np.repeat(x, k),
    "rows": lambda x, k: np.repeat(x, k, axis=0),
    "elements in turns": lambda x, k: np.repeat(np.tile(x, (1, 2)), k, axis=1) * 2,
    "turned": lambda x, k: np.repeat(x.T, k, axis=1),
}


def numbers(shape: tuple[int, ...], dtype: str) -> Array:
    return (np.random.default_rng(shape).standard_normal(shape) * 9).astype(dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "c8", "?"])
@pytest.mark.parametrize("times", [2, 3, 5, 17])
@pytest.mark.parametrize("name", REPEATED)
def test_repeated(name: str, times: int, dtype: str) -> None:
    f = REPEATED[name]
    jitted = txc.jit(lambda x: f(x, times))
    for shape in SHAPES:
        x = numbers(shape, dtype)
        np.testing.assert_array_equal(jitted(x), f(x, times))


@pytest.mark.parametrize("by", [0, 3, -3, 1000])
def test_rolled_flat(by: int) -> None:
    jitted = txc.jit(lambda x: np.roll(x, by))
    for shape in [(5, 1), (7, 40), (3, 5, 67)]:
        x = numbers(shape, "f4")
        np.testing.assert_array_equal(jitted(x), np.roll(x, by))


def test_joined_flat() -> None:
    def f(x: Array, y: Array) -> tuple[Array, Array]:
        return np.concatenate([x, y], axis=1).reshape(-1), np.concatenate([x, x]).reshape(4, -1)

    x, y = numbers((6, 7), "f4"), numbers((6, 30), "f4")
    for got, wanted in zip(txc.jit(f)(x, y), f(x, y), strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("mode", ["full", "same"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("long", "short"), [(1, 1), (40, 3), (40, 40), (700, 33), (900, 900), (3000, 1100)])
def test_convolved(long: int, short: int, dtype: str, mode: Any) -> None:
    """In the order of a fold in blocks: of the padded vector, one row of windows after another."""
    x, kernel = numbers((long,), dtype), numbers((short,), dtype)
    got = txc.jit(lambda x, k: np.convolve(x, k, mode))(x, kernel)
    before = short - 1 if mode == "full" else short // 2
    padded = np.pad(x, (before, short - 1 if mode == "full" else (short - 1) // 2))
    wanted = txc.jit(lambda w, k: (w * k[:, None]).sum(0))(
        np.lib.stride_tricks.sliding_window_view(padded, short).T.copy(), kernel[::-1].copy()
    )
    np.testing.assert_array_equal(got, wanted)
