"""Stacks of contractions: NumPy's shapes, and the bits that each contraction has alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc

RNG = np.random.default_rng(5)


def f32(*shape: int) -> np.ndarray[Any, Any]:
    return (RNG.random(shape) - 0.5).astype("f4")


product = txc.jit(lambda a, b: a @ b)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((5, 3, 4), (5, 4, 6)), ((1, 3, 4), (5, 4, 6)), ((5, 3, 4), (1, 4, 6)), ((2, 5, 3, 4), (5, 4, 6)),
        ((2, 1, 3, 4), (5, 4, 6)), ((5, 3, 4), (4,)), ((3, 4), (5, 4, 6)), ((4,), (5, 4, 6)), ((1, 3, 4), (1, 4, 6)),
        ((0, 3, 4), (0, 4, 6)), ((3, 0, 4), (3, 4, 6)), ((3, 20, 0), (3, 0, 7)), ((3, 2, 0), (3, 0, 7)),
        ((3, 70, 600), (3, 600, 33)), ((3, 5, 600), (3, 600, 33)), ((2, 17, 3), (2, 3, 16)),
    ],
)  # fmt: skip
def test_matmul_of_stacks(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    a, b = f32(*left), f32(*right)
    got, expected = product(a, b), a @ b
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, 1e-5, 1e-5)


@pytest.mark.parametrize("rows", [1, 7, 16, 17, 40])
def test_a_stack_has_the_bits_of_its_members(rows: int) -> None:
    a, b = f32(3, rows, 600), f32(3, 600, 25)
    whole = product(a, b)
    assert all(np.array_equal(whole[i], product(a[i], b[i])) for i in range(3))


@txc.jit
def into_the_middle(x, a, b):
    x[:, :, 2:-3] = a @ b
    return x


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "i4"])
def test_short_rows_end_where_they_end(dtype: str) -> None:
    """Rows of fewer elements than a vector has, of one, and of a vector and some more: of small integers, exact."""
    for columns in (*range(1, 18), 23):
        shapes = (3, 6, 5), (3, 5, columns)
        a, b = (RNG.integers(-9, 9, shape).astype(dtype) for shape in shapes)
        around = np.full((3, 6, columns + 5), 77, dtype)
        expected = around.copy()
        expected[:, :, 2:-3] = a @ b
        np.testing.assert_array_equal(into_the_middle(around, a, b), expected)


@pytest.mark.parametrize("columns", [3, 7, 13])
def test_known_short_rows_end_where_they_end(columns: int) -> None:
    scaled = txc.jit(lambda x, y, w: np.multiply(x.reshape(-1, columns), w.reshape(columns), out=y[:, 1:-1]))
    for dtype in ("f4", "c8"):
        x, w = RNG.integers(-9, 9, (40, columns)).astype(dtype), np.arange(columns).astype(dtype)
        y = np.full((40, columns + 2), 77, dtype)
        scaled(x, y, w)
        np.testing.assert_array_equal(y, np.pad(x * w, ((0, 0), (1, 1)), constant_values=77))


def test_whole_numbers() -> None:
    a, b = RNG.integers(-99, 99, (3, 20, 600)).astype("i4"), RNG.integers(-99, 99, (3, 600, 50)).astype("i4")
    assert np.array_equal(product(a, b), a @ b)
    assert np.array_equal(product(a[0], b[0]), a[0] @ b[0])


@pytest.mark.parametrize(
    "text",
    ["bij,bjk->bik", "bij,bkj->bik", "bij,jk->bik", "bi,bj->bij", "bij,bij->bi", "ibj,jbk->kib", "bij,cjk->bcik"],
)
def test_einsum_with_dims_that_run_together(text: str) -> None:
    sizes = {"b": 3, "c": 2, "i": 5, "j": 6, "k": 7}
    x, y = (f32(*[sizes[c] for c in part]) for part in text.split("->")[0].split(","))
    got = txc.jit(lambda x, y: np.einsum(text, x, y))(x, y)
    np.testing.assert_allclose(got, np.einsum(text, x, y), 1e-5, 1e-5)


def test_column_major_stacks() -> None:
    a, b = (txc.asarray(v, layout="col") for v in (f32(3, 5, 6), f32(3, 6, 7)))
    got = a @ b
    assert got.layout == "col"
    np.testing.assert_allclose(np.asarray(got), np.asarray(a) @ np.asarray(b), 1e-5, 1e-5)


def test_dims_that_run_together_are_not_summed_too() -> None:
    with pytest.raises(txc.TxcError, match="a dim of the left operand is contracted twice"):
        txc.jit(lambda a, b: a.contract(b, [(1, 0)], batch=[(1, 1)]))(f32(3, 4), f32(4, 4))
