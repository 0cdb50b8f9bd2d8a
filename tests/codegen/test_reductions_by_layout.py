"""Reductions of arrays in Fortran order: other loops than those of C order, and the same bits."""

from __future__ import annotations

import re

import numpy as np
import pytest

import txc

from ..passes.layouts import AS_COUNTED

RNG = np.random.default_rng(7)
#: Around whole tiles, registers, virtual lanes and blocks of the order.
SHAPES = ((1, 1), (3, 70), (8, 8), (67, 129), (130, 64), (37, 1100), (1100, 37), (2, 2100))


def _columns(x):
    return np.sum(x, axis=0), np.prod(x, axis=0), np.max(x, axis=0), np.argmax(x, axis=0)


def _rows(x):
    return np.sum(x, axis=1), np.prod(x, axis=1), np.min(x, axis=1), np.argmin(x, axis=1)


def _with_prologue(x):
    return np.sum(x * x + 1, axis=0), np.sum(np.abs(x) * x, axis=1), np.mean(x, axis=1)


def _everything(x):
    return np.sum(x), np.prod(x), np.max(x), np.sum(x * x - 1), np.mean(x), np.sum(x + x.T[0, 0])


def _products(x):
    return x @ np.arange(1, x.shape[1] + 1, dtype=x.dtype), np.arange(1, x.shape[0] + 1, dtype=x.dtype) @ x


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@pytest.mark.parametrize("program", [_columns, _rows, _with_prologue, _everything, _products])
def test_layouts_have_the_same_bits(program, dtype):
    compiled = txc.jit(program, passes=AS_COUNTED)
    for shape in SHAPES:
        x = (RNG.random(shape) * 3 - 1).astype(dtype)
        for right, got in zip(compiled(x), compiled(np.asfortranarray(x))):
            np.testing.assert_array_equal(got, right, strict=True)


def test_stacks_of_matrices_in_fortran_order():
    x = RNG.random((9, 35, 21)).astype("f4")
    compiled = txc.jit(
        lambda x: (np.sum(x, axis=2), np.sum(x, axis=1), np.sum(x, axis=0), np.sum(x)), passes=AS_COUNTED
    )
    for right, got in zip(compiled(x), compiled(np.asfortranarray(x))):
        np.testing.assert_array_equal(got, right, strict=True)


def _where(x):
    return np.argmax(x, axis=0), np.argmin(x, axis=1), np.argmax(x), np.argmin(x * 0.5, axis=0)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1"])
@pytest.mark.parametrize("values", ["many", "ties", "nan", "infinite"])
def test_positions_are_numpys(values, dtype):
    if dtype[0] != "f" and values in ("nan", "infinite"):
        values = "ties"
    compiled = txc.jit(_where)
    for shape in (*SHAPES, (5, 3), (33, 31)):
        x = (RNG.random(shape) * 100).astype(dtype)
        if values == "ties":
            x = (x // 40).astype(dtype)
        elif values == "nan":
            x[RNG.random(shape) < 0.1] = np.nan
            x[RNG.random(shape) < 0.1] = np.inf
        elif values == "infinite":
            x[:] = np.inf if shape[0] % 2 else -np.inf
        for order in (np.ascontiguousarray, np.asfortranarray):
            for right, got in zip(_where(x), compiled(order(x))):
                np.testing.assert_array_equal(got, right)


def test_positions_are_as_wide_as_values():
    x = np.ones((40, 50), "f4")
    text = txc.jit(lambda x: np.argmax(x.reshape(-1, 500), axis=1)).lower(x).as_text("llvm")
    assert re.search(r"phi <(8|16) x i32>", text) and not re.search(r"phi <\d+ x i64>", text)
