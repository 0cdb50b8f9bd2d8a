"""Jitted functions on arrays of Dask's: lazy arrays, equal to what NumPy makes of the whole arrays."""

from __future__ import annotations

import numpy as np
import pytest

import txc

da = pytest.importorskip("dask.array", reason="Dask is not installed")


def test_an_elementwise_function_is_one_layer_and_computes_nothing():
    @txc.jit
    def f(x, y):
        return np.sqrt(x * x + 1.0) + y / 2.0

    x, y = np.arange(12.0).reshape(4, 3), np.arange(3.0)
    chunked = da.from_array(x, chunks=((1, 3), (2, 1)))
    made = f(chunked, da.from_array(y, chunks=((2, 1),)))
    assert (made.dtype, made.shape, made.chunks) == (x.dtype, x.shape, chunked.chunks)
    assert len(made.dask.layers) == 3  # two arrays and the function
    assert np.array_equal(made.compute(scheduler="threads"), np.sqrt(x * x + 1.0) + y / 2.0)
