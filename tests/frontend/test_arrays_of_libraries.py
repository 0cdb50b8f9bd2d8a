"""Arrays that code which is not staged makes while a function is compiled: they are the function's own in each call."""

import numpy as np
import pytest

import txc


def of_grids(n):
    y, x = np.ogrid[-1.2:1.2:6j, -2:0.6:8j]
    c = x + 1j * y
    z, k = np.zeros_like(c), np.zeros(c.shape, int)
    for _ in range(n):
        m = np.abs(z) <= 2
        z[m] = z[m] ** 2 + c[m]
        k[m] += 1
    whole = np.mgrid[0:2, 0:3][0].astype(float)
    for _ in range(n):
        whole[whole < 2] += 1
    return k, whole


def of_joined(n):
    row, column = np.r_[0.0, 1.0, 2.0], np.c_[[0.0, 1.0], [2.0, 3.0]]
    for i in range(n):
        row[0] += i
        row[row < 2] *= 1.5
        column[column < 5] += 1
    return row, column


def of_functions(n):
    nodes, weights = np.polynomial.legendre.leggauss(3)
    counted = np.fromiter((i for i in range(4)), float)
    rows, columns = np.ix_([0, 1], [1, 2])
    for i in range(n):
        nodes[nodes < 1] += i
        counted += 1
        np.add(weights, 1, out=weights)
        weights.sort()
    if n > 4:
        rows[0] = 7
    return nodes, weights, counted, rows, columns, len(nodes), nodes.shape


@pytest.mark.parametrize("function", [of_grids, of_joined, of_functions])
def test_loops_and_branches_store_into_them_in_each_call(function):
    compiled = txc.jit(function)
    for n in (3, 12, 3):
        np.testing.assert_equal(compiled(n), function(n))
