"""Jitted functions where xarray calls them: dims, coordinates and chunks are kept where `apply_ufunc` keeps them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc

xr = pytest.importorskip("xarray", reason="xarray is not installed")

X = np.arange(24.0).reshape(4, 6)
FIELD = xr.DataArray(X, dims=("t", "x"), coords={"t": [10, 20, 30, 40], "x": np.arange(6) * 2.0}, attrs={"unit": "m"})


@txc.jit
def scaled(a):
    return a * 2 + 1


@txc.jit
def centred(a):
    return a - a.mean(axis=-1, keepdims=True)


@txc.jit
def mean(a):
    return a.mean(axis=-1)


def assert_is(made, expected):
    """Dims, coordinates and values; lazily where it is in chunks."""
    xr.testing.assert_identical(made.compute().drop_attrs(), expected.drop_attrs())


def test_arrays_in_memory():
    assert_is(xr.apply_ufunc(scaled, FIELD), FIELD * 2 + 1)
    assert xr.apply_ufunc(scaled, FIELD, keep_attrs=True).attrs == {"unit": "m"}
    along = {"input_core_dims": [["x"]]}
    assert_is(xr.apply_ufunc(mean, FIELD, **along), FIELD.mean("x"))
    assert_is(xr.apply_ufunc(centred, FIELD, output_core_dims=[["x"]], **along), FIELD - FIELD.mean("x"))
    both = xr.Dataset({"a": FIELD, "b": FIELD[0]})
    xr.testing.assert_equal(both.map(lambda v: xr.apply_ufunc(scaled, v)), both * 2 + 1)


def test_a_call_with_a_labelled_array_is_pythons():
    with pytest.warns(UserWarning, match="a, of class DataArray, follows rules of its own .*TX0326"):
        made = txc.jit(lambda a: a * 2 + 1)(FIELD)
    assert_is(made, FIELD * 2 + 1)


def test_a_typed_function_refuses_what_it_would_take_the_coordinates_of():
    f = txc.compile_source("def f(x: f64[n, m]):\n    return x * 2\n").f
    with pytest.raises(txc.TxcError, match=r"x: f64\[n, m\], got a DataArray(.|\n)*xr.apply_ufunc\(f, …\)"):
        f(FIELD)
    assert_is(xr.apply_ufunc(f, FIELD), FIELD * 2)


def test_tensors_beside_labelled_arrays_and_in_them():
    x = txc.asarray(X)
    multiply: Any = np.multiply
    for made in (x * FIELD, FIELD * x, multiply(x, FIELD)):
        assert_is(made.as_numpy(), FIELD * X)
    assert_is((x < FIELD + 1).as_numpy(), FIELD + 1 > X)
    held = FIELD.copy(data=x)
    for made, expected in ((held.mean("x"), FIELD.mean("x")), (held.sel(t=20) + 1, FIELD.sel(t=20) + 1)):
        assert isinstance(made.data, txc.Tensor)
        assert_is(made.as_numpy(), expected)


@pytest.mark.parametrize("dask", ["parallelized", "allowed"])
def test_arrays_in_chunks(dask):
    pytest.importorskip("dask.array", reason="Dask is not installed")
    chunked = FIELD.chunk({"t": 3, "x": 4})
    how = {"dask": dask, "output_dtypes": [np.float64]}
    made = xr.apply_ufunc(scaled, chunked, **how)
    assert made.chunks == ((3, 1), (4, 2))
    assert_is(made, FIELD * 2 + 1)
    rows = FIELD.chunk({"t": 3, "x": -1})
    along = {"input_core_dims": [["x"]], **how}
    assert_is(xr.apply_ufunc(mean, rows, **along), FIELD.mean("x"))
    assert_is(xr.apply_ufunc(centred, rows, output_core_dims=[["x"]], **along), FIELD - FIELD.mean("x"))
    if dask == "allowed":  # whose arrays txc sees whole: so it can put partial results together
        assert_is(xr.apply_ufunc(mean, chunked, **along), FIELD.mean("x"))
        with pytest.raises(txc.TxcError, match=r"axis 1 of a \(2 chunks\)"):
            xr.apply_ufunc(centred, chunked, output_core_dims=[["x"]], **along)


def test_map_blocks():
    pytest.importorskip("dask.array", reason="Dask is not installed")
    chunked = FIELD.chunk({"t": 3})
    made = xr.map_blocks(lambda block: xr.apply_ufunc(scaled, block), chunked, template=chunked)
    assert made.chunks == ((3, 1), (6,))
    assert_is(made, FIELD * 2 + 1)
