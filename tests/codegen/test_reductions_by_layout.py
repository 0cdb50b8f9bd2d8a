"""Reductions of arrays in Fortran order: other loops than those of C order, and the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import txc

RNG = np.random.default_rng(7)
#: Around whole tiles, registers, virtual lanes and blocks of the order.
SHAPES = ((1, 1), (3, 70), (8, 8), (67, 129), (130, 64), (37, 1100), (1100, 37), (2, 2100))


def _columns(x):
    return np.sum(x, axis=0), np.prod(x, axis=0), np.max(x, axis=0), np.argmax(x, axis=0)


def _rows(x):
    return np.sum(x, axis=1), np.prod(x, axis=1), np.min(x, axis=1), np.argmin(x, axis=1)


def _with_prologue(x):
    return np.sum(x * x + 1, axis=0), np.sum(np.abs(x) * x, axis=1), np.mean(x, axis=1)


def _products(x):
    return x @ np.arange(1, x.shape[1] + 1, dtype=x.dtype), np.arange(1, x.shape[0] + 1, dtype=x.dtype) @ x


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@pytest.mark.parametrize("program", [_columns, _rows, _with_prologue, _products])
def test_layouts_have_the_same_bits(program, dtype):
    compiled = txc.jit(program)
    for shape in SHAPES:
        x = (RNG.random(shape) * 3 - 1).astype(dtype)
        for right, got in zip(compiled(x), compiled(np.asfortranarray(x))):
            np.testing.assert_array_equal(got, right, strict=True)


def test_stacks_of_matrices_in_fortran_order():
    x = RNG.random((9, 35, 21)).astype("f4")
    compiled = txc.jit(lambda x: (np.sum(x, axis=2), np.sum(x, axis=1), np.sum(x, axis=0), np.sum(x)))
    for right, got in zip(compiled(x), compiled(np.asfortranarray(x))):
        np.testing.assert_array_equal(got, right, strict=True)
