"""``engine=txc.jit`` of pandas: results beside those of pandas itself, and what it refuses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import txc

pd = pytest.importorskip("pandas", "3", reason="pandas 3 has engines for apply and map")

FRAME = pd.DataFrame(
    np.random.default_rng(0).standard_normal((9, 4)).round(3), columns=list("abcd"), index=[f"r{n}" for n in range(9)]
)


def spread(row):
    return row.max() - row.min()


def scaled(row, factor=2.0, *, offset=0.0):
    return row * factor + offset


def count(row, least):
    return (row > least).sum()


def chosen(row):
    if row[0] > 0:
        return row[1]
    return -row[0]


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (spread, {}),
        (scaled, {}),
        (scaled, {"args": (3.0,), "offset": 0.5}),
        (count, {"args": (0.25,)}),
        (chosen, {}),
    ],
)
def test_apply_gives_what_pandas_gives(function: Any, given: dict[str, Any]):
    for axis in (0, 1):
        found = FRAME.apply(function, axis=axis, raw=True, engine=txc.jit, **given)
        expected = FRAME.apply(function, axis=axis, raw=True, **given)
        assert type(found) is type(expected)
        pd.testing.assert_index_equal(found.index, expected.index)
        pd.testing.assert_frame_equal(pd.DataFrame(found), pd.DataFrame(expected), check_exact=True)
    by_name = FRAME.apply(spread, axis="columns", raw=True, engine=txc.jit(threads=1))
    pd.testing.assert_series_equal(by_name, FRAME.apply(spread, axis="columns", raw=True))


def test_apply_of_a_jitted_function_and_of_integers():
    integers = pd.DataFrame({"a": [1, 2], "b": [5, -7]})
    found = integers.apply(txc.jit(spread), axis=1, raw=True, engine=txc.jit)
    pd.testing.assert_series_equal(found, pd.Series([4, 9]))


def halved_or_root(x, add=0):
    if x > 0:
        return math.sqrt(x) + add
    return x // 2 + add


@pytest.mark.parametrize(
    "values",
    [[4, -3, 0, 9], np.array([2.25, -3, 0], np.float32), [True, False], np.array([3, 200], np.uint8), [], [2.0]],
    ids=["ints", "floats", "bools", "bytes", "empty", "one"],
)
def test_map_gives_what_pandas_gives(values: Any):
    series = pd.Series(values, name="x", dtype=None if len(values) else float)
    series.index = series.index + 5
    for given in ({}, {"add": 3}):
        found = series.map(halved_or_root, engine=txc.jit, **given)
        pd.testing.assert_series_equal(found, series.map(halved_or_root, **given), check_exact=True)


def as_bool(x):
    return x > 0


def as_int(x):
    return int(x)


def as_complex(x):
    return x * 1j


def narrow(x):
    return np.float32(x)


@pytest.mark.parametrize("function", [as_bool, as_int, as_complex, narrow])
def test_map_without_what_is_missing(function: Any):
    for values in ([1.5, np.nan, -2.0], [1.5, -2.0], [np.nan, np.nan]):
        series = pd.Series(values, name="x")
        found = series.map(function, na_action="ignore", engine=txc.jit)
        pd.testing.assert_series_equal(found, series.map(function, na_action="ignore"), check_exact=True)


def test_what_python_raises_is_raised():
    inverse = lambda x: 1 / x  # noqa: E731
    for series in (pd.Series([1, 0]), pd.Series([2.0, 0.0])):
        with pytest.raises(ZeroDivisionError):
            series.map(inverse)
        with pytest.raises(ZeroDivisionError):
            series.map(inverse, engine=txc.jit)
    with pytest.raises(OverflowError, match="more than 64 bits"):
        pd.Series([2**40]).map(lambda x: x * x, engine=txc.jit)
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        FRAME.apply(lambda row: row[7], axis=1, raw=True, engine=txc.jit)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: FRAME.apply(spread, engine=txc.jit), "not with Series: write raw=True"),
        (lambda: FRAME.apply("sum", raw=True, engine=txc.jit), "compiles a function, not 'sum': leave engine= out"),
        (
            lambda: pd.DataFrame({"a": [1], "b": ["x"]}).apply(spread, raw=True, engine=txc.jit),
            "the columns together are of dtype object: select those of numbers",
        ),
        (lambda: pd.Series(["a"]).map(len, engine=txc.jit), "not with Series of dtype str: convert it with astype"),
        (lambda: pd.Series([1], dtype="Int64").map(abs, engine=txc.jit), "not with Series of dtype Int64"),
    ],
)
def test_what_is_not_computed(call: Any, text: str):
    with pytest.raises(TypeError, match=text):
        call()
