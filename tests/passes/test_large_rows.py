"""Rows of large results that are no whole lines: what goes past the caches is what NumPy gives, wherever rows begin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.passes.cost.model import CostModel

Array = np.ndarray[Any, Any]

MOVES: dict[str, Callable[[Array], Array]] = {
    "broadcast": lambda x: x + x[0],
    "reversed": lambda x: x[:, ::-1] * 2,
    "repeated": lambda x: np.repeat(x, 2, axis=0),
    "padded": lambda x: np.pad(x, ((0, 0), (3, 2))),
    "tiled": lambda x: np.tile(x, (1, 2)),
    "inner": lambda x: x[1:, 1:] - x[:-1, :-1],
}


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "c8"])
@pytest.mark.parametrize("columns", [31, 133, 1500])
@pytest.mark.parametrize("move", MOVES)
def test_rows_are_right_to_their_ends(move: str, columns: int, dtype: str) -> None:
    rows = CostModel().nontemporal_threshold // (columns * np.dtype(dtype).itemsize) + 3
    x = np.arange(rows * columns).reshape(rows, columns).astype(dtype)
    assert np.array_equal(txc.jit(MOVES[move])(x), MOVES[move](x))


def test_a_result_of_the_callers_may_begin_anywhere() -> None:
    x = np.arange(1500 * 1500, dtype=np.float32).reshape(1500, 1500)
    compiled = txc.jit(lambda x: x + x[0])
    for offset in range(16):
        memory = np.full(x.size + 32, -7, np.float32)
        out = memory[offset : offset + x.size].reshape(x.shape)
        compiled(x, out=out)
        assert np.array_equal(out, x + x[0])
        assert (memory[:offset] == -7).all() and (memory[offset + x.size :] == -7).all()
