"""Eigen's custom expressions: functions of scalars traced once, and custom operations."""

from typing import Any

import numpy as np
import pytest

import txc

A = np.array([[0, -0.5, -1], [0.5, 1.5, 2.0]], np.float32)


class NormalizedClamp:
    """The functor of the Eigen document."""

    def __init__(self, lo: float, hi: float):
        self.lo, self.hi = lo, hi

    def __call__(self, x: Any) -> Any:
        if x < self.lo:
            return 0.0
        if x > self.hi:
            return 1.0
        return (x - self.lo) / (self.hi - self.lo)


def in_every_way(f: Any, *arrays: np.ndarray) -> list[np.ndarray]:
    """Lazily in both layouts and under jit, on 1 and 4 threads."""
    lazy = [f(*(txc.asarray(a, layout=layout) for a in arrays)) for layout in ("row", "col")]
    return [np.asarray(r) for r in (*lazy, txc.jit(f, threads=1)(*arrays), txc.jit(f, threads=4)(*arrays))]


def test_unary_expr() -> None:
    for got in in_every_way(lambda a: a.unary_expr(lambda el: abs(el + 0.5)), A):
        np.testing.assert_array_equal(got, [[0.5, 0, 0.5], [1, 2, 2.5]])
    for got in in_every_way(lambda a: a.unary_expr(NormalizedClamp(-1.0, 1.0)), A):
        np.testing.assert_array_equal(got, [[0.5, 0.25, 0], [0.75, 1, 1]])
    for got in in_every_way(lambda a: a.unary_expr(np.exp), A):
        np.testing.assert_allclose(got, np.exp(A), rtol=1e-6)


def test_branches_are_selections() -> None:
    def f(x: Any) -> Any:
        return x * x if x > 0 else -x

    for n in (3, 300):
        x = np.arange(-n, n, dtype=np.float32)
        np.testing.assert_array_equal(np.asarray(txc.asarray(x).unary_expr(f)), np.where(x > 0, x * x, -x))


def test_binary_expr() -> None:
    for got in in_every_way(lambda a, b: a.binary_expr(b, lambda x, y: x * x + y * y), A, A + 1):
        np.testing.assert_array_equal(got, A * A + (A + 1) * (A + 1))


def test_nullary_expr_and_generate() -> None:
    t = np.zeros((3, 4), np.float32)
    row, col, *jitted = in_every_way(lambda t: t.nullary_expr(lambda number: number * 2), t)
    for got in (row, *jitted):
        np.testing.assert_array_equal(got, np.arange(12).reshape(3, 4) * 2)
    np.testing.assert_array_equal(col, np.arange(12).reshape(4, 3).T * 2)
    # The linear index of Eigen's document, first dim fastest.
    for got in in_every_way(lambda t: t.generate(lambda coords: coords[0] + coords[1] * 3), t):
        np.testing.assert_array_equal(got, np.arange(12).reshape(4, 3).T)


class RowSums:
    """The custom operation of the Eigen document."""

    def dimensions(self, x: Any) -> Any:
        return (x.dimension(0),)

    def eval(self, x: Any, out: Any) -> None:
        out[...] = x.sum([1])


class Products:
    def dimensions(self, x: Any, y: Any) -> Any:
        return x.dimension(0), y.dimension(1)

    def eval(self, x: Any, y: Any, out: Any) -> None:
        out[...] = x.contract(y, [(1, 0)])


def test_custom_op() -> None:
    for got in (txc.jit(lambda a: a.custom_op(RowSums()))(A), np.asarray(txc.asarray(A).custom_op(RowSums()))):
        np.testing.assert_allclose(got, A.sum(1))
    np.testing.assert_allclose(txc.jit(lambda a, b: a.custom_op(b, Products()))(A, A.T.copy()), A @ A.T, rtol=1e-6)


def test_errors() -> None:
    t = txc.asarray(A)
    for message, call in {
        "an expression takes a function of scalars, not 3": lambda: t.unary_expr(3),
        "gives a scalar, not f32[2, 3]": lambda: t.unary_expr(lambda x: x + txc.asarray(A)),
        "has no eval": lambda: t.custom_op(type("Half", (), {"dimensions": lambda self, x: (1,)})()),
    }.items():
        with pytest.raises(txc.TxcError) as raised:
            call()
        assert message in str(raised.value)
