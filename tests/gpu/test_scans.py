"""Scans on a GPU have the bits of the CPU, whatever the length of rows: a thread's, a block's, many blocks'."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc

from .devices import GPUS
from .test_counts import counts_of

RNG = np.random.default_rng(6)
#: Up to and behind the ends of runs of lanes, of the order's blocks, and of what a chain takes at once.
SHAPES = [(0,), (1,), (9,), (1023,), (1025,), (5000,), (0, 70), (3, 64), (3, 65), (2, 1024), (2, 2, 1030)]


def inclusive(x: Any) -> Any:
    return np.cumsum(x, axis=-1) * 2


def exclusive(x: Any) -> Any:
    return x.cumprod(-1, exclusive=True)


def running_sum(x: Any) -> Any:
    return np.cumsum(x)


@GPUS
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rows_of_any_length(device: str, shape: tuple[int, ...]) -> None:
    for f, dtype in ((inclusive, "f4"), (exclusive, "f8"), (inclusive, "c8"), (exclusive, "i4")):
        x = RNG.uniform(0.5, 1.5, shape).astype(dtype)
        if dtype == "c8" and x.size > 5:
            x[..., 3:5] = [-0.0, complex(np.inf, 1)]
        np.testing.assert_array_equal(txc.jit(f, device=device)(x), txc.jit(f)(x))


@GPUS
def test_rows_with_gaps_and_what_comes_before_and_after(device: str) -> None:
    def f(x: Any, y: Any) -> Any:
        return np.cumsum(x[:, ::2] * y, axis=1) - y

    x, y = RNG.standard_normal((3, 2600)).astype("f4"), RNG.standard_normal(1300).astype("f4")
    np.testing.assert_array_equal(txc.jit(f, device=device)(x, y), txc.jit(f)(x, y))


@GPUS
@pytest.mark.parametrize("shape", [(0, 80), (5, 30), (4, 100), (2, 3, 1100)], ids=str)
def test_rows_that_a_scan_shares_with_others(device: str, shape: tuple[int, ...]) -> None:
    def f(x: Any) -> Any:
        sums = np.cumsum(x - x.mean(axis=-1, keepdims=True), axis=-1)
        return sums / abs(sums).max(axis=-1, keepdims=True)

    x = RNG.standard_normal(shape).astype("f4")
    function = txc.jit(f, device=device)
    np.testing.assert_array_equal(function(x), txc.jit(f)(x))
    assert ": fissioned: each nest of a row group with scans has its own grid" in function.explain(x)


def test_a_long_row_is_read_twice_and_written_once() -> None:
    counts, _ = counts_of(running_sum, x := RNG.standard_normal(1 << 14).astype("f4"))
    totals, chain, scan = counts.values()
    sectors, blocks = x.nbytes // 32, x.size // 1024
    assert totals.global_load_sectors == scan.global_store_sectors == sectors
    assert totals.global_store_sectors == blocks and scan.global_load_sectors <= sectors + 4 * blocks
    assert chain.global_load_sectors == chain.global_store_sectors == blocks * 4 // 32
    conflicts = sum(c.shared_bank_conflicts for c in counts.values())
    assert conflicts <= 3 * x.size // 32, "about one for each access of a warp"


def test_a_row_of_more_blocks_than_a_chain_takes_at_once() -> None:
    x = RNG.standard_normal((1 << 20) + 1500).astype("f4")
    np.testing.assert_array_equal(txc.jit(running_sum, device="ptx-sim")(x), txc.jit(running_sum)(x))
