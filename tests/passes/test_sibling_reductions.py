"""Folds that become one nest: the bits of single folds, for all layouts, vectors and threads; those that may not.

Any two of program, dtype, layout and vectors come together (`tests/pairwise.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc

from ..codegen.harness import text_at
from ..pairwise import pairwise

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]

APART = "tx-fuse-siblings{enabled=false}"

#: What is one nest, of elements of any type with an order.
MERGED: dict[str, Function] = {
    "ends": lambda x: (x.min(), x.max()),
    "ends of rows": lambda x: (x.min(1), x.max(1)),
    "ends of columns": lambda x: (x.min(0), x.max(0)),
    "range": lambda x: np.ptp(x),
    "range of rows": lambda x: np.ptp(x, axis=1),
    "moments of rows": lambda x: (x.sum(1), (x * x).sum(1)),
    "moments of columns": lambda x: (x.sum(0), (x * x).sum(0)),
    "any and all": lambda x: ((x > 1).any(), (x > -50).all()),
    "one exact in any order": lambda x: ((x > 1).any(1), x.sum(1)),
    "the other one": lambda x: (x.sum(0), (x > 1).any(0)),
    "four": lambda x: (x.sum(), (x * x).sum(), x.max(), x.min()),
    "a few outer": lambda x: (x[:3].min(0), x[:3].max(0)),
}

#: What stays two nests at least.
KEPT_APART: dict[str, Function] = {
    "orders": lambda x: (x.sum(1), x.astype("f8").sum(1)),
    "products": lambda x: (x @ x.T, x @ (x + 1).T),
    "other dims": lambda x: (x.sum(0), x.sum(1)),
    "needs the first": lambda x: (x.max(1), np.exp(x - x.max(1, keepdims=True)).sum(1)),
    "places": lambda x: (x.argmax(1), x.max(1)),
    "other elements": lambda x: (x[1:].sum(1), x[:-1].sum(1)),
    "scans": lambda x: (np.cumsum(x, 1), x.sum(1)),
    "five": lambda x: (x.sum(), (x * x).sum(), x.max(), x.min(), np.abs(x).max()),
}

LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "rows": lambda x: x,
    "columns": np.asfortranarray,
    "steps": lambda x: np.repeat(np.repeat(x, 2, 0), 3, 1)[::2, ::3],
    "backwards": lambda x: x[::-1, ::-1],
}

DTYPES = ["f4", "f8", "i8", "u1"]
#: Those that users have, and any others.
VECTORS = ["", *(f"tx-schedule-cpu{{lanes={lanes}}}" for lanes in (1, 4, 16))]
#: Code that is made fast.
NARROW = "tx-schedule-cpu{lanes=2 unroll=1}"
#: What bits are compared with: each fold by itself, in the order that no vectors change.
SINGLE = f"{APART},{NARROW}"
#: One element, fewer than a vector, and more than a block of 1024 along either dim and in all.
SHAPES = [(1, 1), (3, 5), (37, 129), (3, 2100), (1100, 3)]


def numbers(shape: tuple[int, ...], dtype: str) -> Array:
    rng = np.random.default_rng(shape)
    values = rng.standard_normal(shape) * 40
    if dtype == "c8":
        return (values + 1j * rng.standard_normal(shape)).astype(dtype)
    made = values.astype(dtype)
    if dtype.startswith("f") and made.size > 9:
        made.flat[made.size // 2 :: 7] = -0.0
        made.flat[-1] = np.nan
    return made


def nests(f: Function, x: Array) -> int:
    return text_at("fused", f, x).count("kernel.generic ")


def bits(results: Any) -> list[bytes]:
    return [np.asarray(r).tobytes() for r in (results if isinstance(results, tuple) else (results,))]


@pytest.mark.parametrize(("name", "dtype", "layout", "vectors"), pairwise([*MERGED], DTYPES, [*LAYOUTS], VECTORS))
def test_merged_folds_have_the_bits_of_single_ones(name: str, dtype: str, layout: str, vectors: str) -> None:
    """By any vectors; the last shape is one that threads share."""
    f, lay = MERGED[name], LAYOUTS[layout]
    assert nests(f, numbers((3, 5), dtype)) == 1
    one, apart = txc.jit(f, threads=2, passes=vectors), txc.jit(f, threads=1, passes=SINGLE)
    for shape in [*SHAPES, (700, 500)]:
        x = lay(numbers(shape, dtype))
        assert bits(one(x)) == bits(apart(x)), shape


@pytest.mark.parametrize("name", ["moments of rows", "moments of columns"])
def test_complex_sums_have_two_states_each(name: str) -> None:
    f = MERGED[name]
    assert nests(f, numbers((3, 5), "c8")) == 1
    for shape in SHAPES:
        x = numbers(shape, "c8")
        assert bits(txc.jit(f)(x)) == bits(txc.jit(f, passes=SINGLE)(x)), shape


@pytest.mark.parametrize("name", MERGED)
def test_a_gpu_folds_them_the_same(name: str) -> None:
    f, x = MERGED[name], numbers((20, 33), "f4")
    assert bits(txc.jit(f, device="ptx-sim")(x)) == bits(txc.jit(f, passes=NARROW)(x))


@pytest.mark.parametrize("name", KEPT_APART)
def test_what_stays_apart(name: str) -> None:
    f, x = KEPT_APART[name], numbers((37, 37), "f4")
    assert nests(f, x) >= 2
    assert bits(txc.jit(f)(x)) == bits(txc.jit(f, passes=SINGLE)(x))


def test_folds_of_dims_apart_go_by_runs() -> None:
    def f(z: Any) -> Any:
        return z.min((0, 2)), (z > 1).any((0, 2)), z.sum((0, 2))

    z = numbers((5, 3, 400), "f4")
    assert nests(f, z) == 1
    assert bits(txc.jit(f)(z)) == bits(txc.jit(f, passes=SINGLE)(z))


def test_rows_go_on_from_merged_folds() -> None:
    def scaled(x: Any) -> Any:
        low, high = x.min(1, keepdims=True), x.max(1, keepdims=True)
        return (x - low) / (high - low)

    x = np.random.default_rng(3).standard_normal((50, 70)).astype("f4")
    text = text_at("fused", scaled, x)
    assert text.count("kernel.row_group") == 1 and text.count("kernel.generic ") == 3
    assert bits(txc.jit(scaled)(x)) == bits(txc.jit(scaled, passes=SINGLE)(x))


def test_indices_are_checked_in_one_pass() -> None:
    x, i = np.arange(9.0), np.array([0, -9, 8])
    f = txc.jit(lambda x, i: x[i])
    assert text_at("fused", f, x, i).count("kernel.generic") == 2
    np.testing.assert_array_equal(f(x, i), x[i])
    for wrong in (9, -10):
        with pytest.raises(IndexError, match=str(wrong)):
            f(x, np.array([0, wrong, 3]))
