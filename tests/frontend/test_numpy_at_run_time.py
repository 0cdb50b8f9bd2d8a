"""Functions of NumPy whose places, slices or sets only the compiled function knows."""

import warnings

import numpy as np
import pytest

import txc

X = np.array([[3.0, 1, 2, 2], [3, 1, 2, 5], [0, 1, 2, 2], [3, 1, 2, 2], [0, -1, 9, 9]])


def like_numpy(function, *calls):
    compiled = txc.jit(function)
    for args in calls:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = function(*args)
        found = compiled(*args)
        np.testing.assert_equal(found, expected)
        assert repr(found) == repr(expected)


def test_different_slices():
    def different(x):
        ints = x.astype(np.int32)
        return (
            np.unique(x, axis=0),
            np.unique(ints, axis=0, return_index=True, return_inverse=True, return_counts=True),
            np.unique(x, axis=1, return_counts=True),
            np.unique(x > 1, axis=-1),
            np.unique(x.reshape(len(x), 2, -1), axis=0, return_index=True),
            np.unique(x[0], axis=0),
        )

    like_numpy(different, (X,), (X[1:4, 1:3].copy(),))
    like_numpy(lambda x: np.unique(x, axis=0, return_inverse=True), (X[:0],), (np.zeros((2, 0)),))
    nan = np.array([[np.nan, 1], [np.nan, 1], [0, 1]])
    np.testing.assert_equal(np.unique(txc.asarray(nan), axis=0), np.unique(nan, axis=0))
    with pytest.raises(txc.TxcError, match=r"np\.unique of slices of 100 elements"):
        txc.jit(lambda x: np.unique(x, axis=0))(np.ones((2, 100)))


def test_what_two_arrays_have_and_where():
    def both(a, b):
        return np.intersect1d(a, b, return_indices=True), np.intersect1d(a, b)

    like_numpy(both, (np.array([5, 3, 5, 7, 1]), np.array([5, 1, 9])), (np.array([1.5, 2]), np.array([7, 8, 2, 2])))


def test_reductions_of_segments():
    def segments(x, places):
        rows = x.reshape(-1, 2)
        return (
            np.add.reduceat(x, places), np.maximum.reduceat(x, places), np.multiply.reduceat(x, places),
            np.add.reduceat(x > 2, places), np.add.reduceat(x, [0, places[1]]), np.minimum.reduceat(rows.T, places, 1),
            np.add.reduceat(rows, places, axis=0, dtype=np.float32),
        )  # fmt: skip

    x = X.ravel()
    like_numpy(segments, (x, np.array([0, 4, 8])), (x, np.array([2, 2, 3, 3])), (x[:8], np.array([1, 3], np.uint8)))
    compiled = txc.jit(lambda x, places: np.add.reduceat(x, places))
    with pytest.raises(IndexError, match=r"an index is out-of-bounds in add\.reduceat"):
        compiled(x, np.array([0, 20]))
    with pytest.raises(ValueError, match=r"np\.add\.reduceat at places that descend is not compiled"):
        compiled(x, np.array([4, 0]))


def test_cross_products_of_vectors_in_a_plane():
    def crossed(a, b, c):
        return np.cross(a, b), np.cross(a, c), np.cross(c, a), np.cross(a[None], np.stack([b, a]))

    like_numpy(crossed, (X[0, :2], X[1, 1:3], X[2, :3]), (X[4, :2], X[1, 2:], X[4, 1:]))
    with pytest.raises(txc.TxcError, match=r"np\.linalg\.cross takes vectors of 3 elements"):
        txc.jit(lambda a, b: np.linalg.cross(a, b))(X[0, :2], X[1, :2])


def test_polynomials_with_the_constant_first():
    def values(x, c):
        polyval = np.polynomial.polynomial.polyval
        return polyval(x, c), polyval(2.0, c), polyval(x, np.stack([c, c * 2]).T), polyval(x, [1, 2]), polyval(x[0], c)

    like_numpy(values, (X[0], np.array([1.0, 2, 3])), (X[1, :3], np.array([2, 5])), (X[:2, :2], np.array([4])))


def test_axes_of_unique_are_checked():
    with pytest.raises(IndexError, match="axis 5"):
        txc.jit(lambda x: np.unique(x, axis=5))(np.ones(3))
