# pyright: reportCallIssue=false, reportArgumentType=false
"""Windows, edits, packed bits and functions along axes: as NumPy has them, compiled once for all sizes."""

from __future__ import annotations

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

RNG = np.random.default_rng(23)
X = RNG.standard_normal((4, 5))
T = RNG.standard_normal((2, 3, 4))
WINDOWS = (np.hanning, np.hamming, np.blackman, np.bartlett)


def windows(x):
    n = len(x)
    return np.hanning(n), np.hamming(n), np.blackman(n), np.bartlett(n), np.kaiser(n, 8.6)


def test_windows_of_a_length_known_at_run_time():
    """Within 4 units in the last place of 1, in one version for all lengths."""
    compiled = txc.jit(windows)
    for n in (2, 7, 64, 3, 1, 0):
        x = np.zeros(n)
        for got, expected in zip(compiled(x), windows(x), strict=True):
            assert got.dtype == expected.dtype and got.shape == expected.shape
            np.testing.assert_allclose(got, expected, rtol=0, atol=4 * np.finfo("f8").eps)
        assert n < 2 or len(compiled.signatures()) == 1


def test_windows_of_numbers_are_numpys_own():
    def f(x):
        return [w(9) * x for w in (np.hanning, np.hamming, np.blackman, np.bartlett)] + [np.kaiser(9, 14.0) * x]

    for got, expected in zip(txc.jit(f)(1.0), f(1.0), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_a_window_whose_beta_is_an_element():
    def f(x):
        return np.kaiser(6, x[0])

    np.testing.assert_allclose(txc.jit(f)(np.array([5.0])), np.kaiser(6, 5.0), rtol=0, atol=1e-15)


def test_a_window_whose_length_is_an_element():
    def f(x):
        return np.hanning(x[0])

    np.testing.assert_allclose(txc.jit(f)(np.array([5])), np.hanning(5), rtol=0, atol=1e-15)


EDITS = {
    "delete": lambda x: (np.delete(x, 1), np.delete(x, -2, 0), np.delete(x, [0, -1], axis=1), np.delete(x, [], 1)),
    "delete slices": lambda x: (np.delete(x, slice(1, 3), 1), np.delete(x, np.s_[::2]), np.delete(x, slice(9, 2), 0)),
    "delete bools": lambda x: np.delete(x, [True, False, False, True], axis=0),
    "insert": lambda x: (np.insert(x, 2, 7), np.insert(x, -1, [1, 2, 3]), np.insert(x, 1, x[0], axis=0)),
    "insert along": lambda x: (np.insert(x, 1, [1, 2, 3, 4], axis=1), np.insert(x, [1], [[1], [2], [3], [4]], axis=1)),
    "insert several": lambda x: (np.insert(x, [0, 3, 3], [5, 6, 7]), np.insert(x, [1, 2], 9, axis=1)),
    "insert slice": lambda x: (np.insert(x, slice(1, 4), 8, axis=1), np.insert(x, np.s_[:2], [1, 2])),
    "insert end": lambda x: (np.insert(x, 4, 0, axis=0), np.insert(x, [5, 0], 1, axis=1), np.insert(x, [], 1)),
    "apply_along_axis": lambda x: (
        np.apply_along_axis(lambda v: v.sum(), 0, x),
        np.apply_along_axis(lambda v, k: v * k, 1, x, 3),
        np.apply_along_axis(lambda v: v[:2, None] * v[:3], 0, x),
    ),
    "apply_over_axes": lambda x: (np.apply_over_axes(np.sum, x, [0, 1]), np.apply_over_axes(np.cumsum, x, -1)),
}


@pytest.mark.parametrize("name", EDITS)
@pytest.mark.parametrize("element", ["f8", "i4", "bool"])
def test_edits(runner, name, element):
    x = (X * 4).astype(element)
    if not (name.startswith("apply") and element == "bool"):
        runner.same(EDITS[name], x)


def test_edits_of_rank_3(runner):
    runner.same(lambda x: (np.insert(x, 1, 2.5, axis=2), np.delete(x, 0, axis=1), np.insert(x, 0, x[0], axis=0)), T)
    runner.same(lambda x: (np.apply_over_axes(np.sum, x, (0, 2)), np.apply_along_axis(np.sort, 1, x)), T)


def test_one_element_left_out_or_put_in_compiles_once():
    def f(x):
        return np.delete(x, -1), np.insert(x, 1, 0.5)

    compiled = txc.jit(f)
    for n in (3, 6, 40):
        x = np.arange(n, dtype="f8")
        for got, expected in zip(compiled(x), f(x), strict=True):
            np.testing.assert_array_equal(got, expected)
    assert len(compiled.signatures()) == 1


@pytest.mark.parametrize("f", [lambda x: np.delete(x, 9, axis=0), lambda x: np.insert(x, -7, 1, axis=1)])
def test_places_outside_raise_as_in_numpy(runner, f):
    with pytest.raises(IndexError) as expected:
        f(X)
    with pytest.raises(IndexError) as caught:
        runner.trace(f, X)
    assert str(expected.value).split(" with")[0] in str(caught.value)


BITS = {
    "pack": lambda x: (np.packbits(x), np.packbits(x, axis=0), np.packbits(x, axis=-1, bitorder="little")),
    "round": lambda x: np.unpackbits(np.packbits(x, axis=1), axis=1, count=5),
}
UNPACK = {
    "unpack": lambda x: (np.unpackbits(x), np.unpackbits(x, axis=0), np.unpackbits(x, 1, bitorder="little")),
    "counts": lambda x: (np.unpackbits(x, count=11), np.unpackbits(x, axis=1, count=-3)),
}


@pytest.mark.parametrize("name", BITS)
@pytest.mark.parametrize("element", ["bool", "u1", "i8"])
def test_packed_bits(runner, name, element):
    runner.same(BITS[name], (np.arange(20).reshape(4, 5) % 3 - 1).astype(element), exact=True)


@pytest.mark.parametrize("name", UNPACK)
@pytest.mark.parametrize("shape", [(4, 5), (1, 1), (2, 3)])
def test_unpacked_bits(runner, name, shape):
    x = RNG.integers(0, 256, shape, dtype=np.uint8)
    runner.same(UNPACK[name], x, exact=True) if name == "unpack" else runner.same(UNPACK["counts"], x, exact=True)


def test_packed_bits_compile_once_for_all_sizes():
    compiled = txc.jit(lambda x: np.packbits(x > 0))
    for n in (3, 8, 21):
        x = RNG.standard_normal(n)
        np.testing.assert_array_equal(compiled(x), np.packbits(x > 0))
    assert len(compiled.signatures()) == 1


def generator_of_bits(x):
    return x + np.random.Generator(np.random.PCG64(seed=3)).standard_normal(3)


def test_generators_of_bits_are_refused_and_say_what_to_write():
    with pytest.raises(TxcError, match="compiled code has other streams") as caught:
        txc.jit(generator_of_bits)(np.zeros(3))
    assert "txc.random.normal(shape, seed=seed)" in str(caught.value)


CELLS = {
    "numbers": lambda x: (*np.histogram2d(x[0], x[1]), *np.histogram2d(x[0], x[1], (3, 4))),
    "range": lambda x: np.histogram2d(x[0], x[1], [2, 3], range=[[-1, 1], [0, 2]]),
    "edges": lambda x: np.histogram2d(x[0], x[1], bins=[[-2.0, 0.0, 1.0, 3.0], 3]),
    "edges of both": lambda x: np.histogram2d(x[0], x[1], np.arange(-2.0, 3.0)),
    "density": lambda x: np.histogram2d(x[0], x[1], 3, density=True, weights=x[2] * x[2]),
}


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("element", ["f8", "i4"])
def test_points_in_cells(runner, name, element):
    runner.same(CELLS[name], (X * 2).astype(element))


@pytest.mark.parametrize("shape", [(3, 1), (3, 0)])
def test_few_points_in_cells(runner, shape):
    runner.same(CELLS["numbers"], np.ones(shape))


FOLDED = {
    "add": lambda x: (np.add.reduceat(x, [0, 2, 3]), np.add.reduceat(x, [1, 4], axis=1), np.add.reduceat(x, [2])),
    "backwards": lambda x: (np.add.reduceat(x, [3, 1, 1, 0], axis=0), np.multiply.reduceat(x, [0, 3, 2], axis=-1)),
    "extremes": lambda x: (np.maximum.reduceat(x, [0, 1, 3], 1), np.minimum.reduceat(x, [0, 2])),
    "dtype": lambda x: (np.add.reduceat(x, [0, 2], 0, "f4"), np.add.reduceat(x, [], axis=1)),
}


@pytest.mark.parametrize("name", FOLDED)
@pytest.mark.parametrize("element", ["f8", "i1", "bool"])
def test_folds_of_runs(runner, name, element):
    runner.same(FOLDED[name], (X * 3).astype(element))


def test_folds_of_runs_outside_raise_as_in_numpy(runner):
    with pytest.raises(IndexError, match=r"index 9 out-of-bounds in add.reduceat \[0, 4\)"):
        runner.trace(lambda x: np.add.reduceat(x, [0, 9]), X)


def iterated(x):
    for v in np.nditer(x):
        return v
    return x


def test_nditer_is_refused_and_says_what_to_write():
    with pytest.raises(TxcError, match=r"np\.nditer") as caught:
        txc.jit(iterated)(X)
    assert "for i in range(x.size) with x.reshape(-1)[i]" in str(caught.value)


def test_partitions_take_places_inside():
    """From either end, by number or several; elsewhere they raise as NumPy does."""

    @txc.jit
    def parted(x, k):
        return np.partition(x, k), np.argpartition(x, k, axis=-1)

    for k in (0, 4, -1, -5):
        values, found = parted(X, k)
        for rows in (values, np.take_along_axis(X, found, 1)):
            np.testing.assert_array_equal(rows[:, k], np.sort(X)[:, k])
            np.testing.assert_array_equal(np.sort(rows[:, : k % 5]), np.sort(X)[:, : k % 5])
    for k in (5, -6):
        with pytest.raises(ValueError, match="out of bounds"):
            np.partition(X, k)
        with pytest.raises(ValueError, match="kth is out of bounds"):
            parted(X, k)
    several = txc.jit(lambda x: (np.partition(x, (1, 3)), np.argpartition(x, [1, 3])))
    np.testing.assert_array_equal(several(X)[0], np.sort(X))


def test_different_elements_alone_sort_no_positions():
    x = np.round(X * 2)
    x[1, 2] = x[2, 3] = np.nan
    values = txc.jit(lambda x: (np.unique(x), np.unique(x, return_counts=True), np.unique(x, equal_nan=False)))
    wanted = np.unique(x), np.unique(x, return_counts=True), np.unique(x, equal_nan=False)
    for got, expected in zip(values(x), wanted):
        for a, b in zip(*(v if isinstance(v, tuple) else (v,) for v in (got, expected)), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
    assert "argsort" not in str(txc.jit(lambda x: np.unique(x, return_counts=True)).graph(x))
