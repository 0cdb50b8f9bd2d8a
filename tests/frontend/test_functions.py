"""Operators, methods and NumPy functions on traced tensors mean what they mean on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc

RNG = np.random.default_rng(7)
X = RNG.standard_normal((4, 5))
Y = RNG.standard_normal((4, 5))
V = RNG.standard_normal(5)
F = X.astype(np.float32)
I = RNG.integers(-9, 9, (4, 5))
B = X > 0
T = RNG.standard_normal((2, 3, 4))

ONE: dict[str, tuple[Any, ...]] = {
    "sum": (lambda x: np.sum(x), X),
    "sum of rows": (lambda x: np.sum(x, axis=1), X),
    "sum of axes": (lambda x: x.sum(axis=(0, 2), keepdims=True), T),
    "sum negative axis": (lambda x: x.sum(-1), T),
    "sum dtype": (lambda x: np.sum(x, dtype=np.float64), F),
    "sum of ints": (lambda x: x.sum(0), I.astype(np.int8)),
    "sum of bools": (lambda x: x.sum(), B),
    "mean": (lambda x: np.mean(x, axis=0), X),
    "mean of ints": (lambda x: x.mean(1, keepdims=True), I),
    "mean f32": (lambda x: x.mean(), F),
    "max": (lambda x: x.max(axis=1, keepdims=True), X),
    "min": (lambda x: np.min(x), X),
    "amax": (lambda x: np.amax(x, 0), X),
    "prod": (lambda x: np.prod(x, axis=1), X),
    "all any": (lambda x: (np.all(x, axis=0), np.any(x)), B),
    "any of floats": (lambda x: x.any(axis=1), X),
    "argmax": (lambda x: (np.argmax(x), x.argmax(axis=1), np.argmin(x, axis=0, keepdims=True)), X),
    "var std": (lambda x: (x.var(axis=0), np.std(x, axis=1, ddof=1)), X),
    "where sum": (lambda x: np.sum(x, where=x > 0), X),
    "reduce": (lambda x: np.add.reduce(x, axis=1), X),
    "maximum reduce": (lambda x: np.maximum.reduce(x), X),
    "power": (lambda x: (x**2, x**3, 2.0**x), X),
    "negative": (lambda x: -x + (+x) - abs(x), X),
    "invert": (lambda x: (~x, np.logical_not(x)), B),
    "scalars f32": (lambda x: (x * 2.0 + 1, 1 / x, x - True), F),
    "scalars int": (lambda x: (x * 2, x / 2, x // 2, x % 3, x * 1.5), I),
    "small ints": (lambda x: (x + 1, x / 2, np.sqrt(x)), I.astype(np.int8)),
    "np scalar": (lambda x: x * np.float64(2), F),
    "sqrt int": (lambda x: np.sqrt(abs(x)), I),
    "comparison": (lambda x: (x < 0.5, x >= 0, x == x, x != 1), X),
    "compare wide": (lambda x: x < 300, I.astype(np.int8)),
    "clip": (lambda x: (np.clip(x, -0.5, 0.5), x.clip(0, None), np.clip(x, None, 1)), X),
    "where": (lambda x: np.where(x > 0, x, 0), X),
    "maximum": (lambda x: np.maximum(x, 0), X),
    "isnan": (lambda x: np.isnan(x / x), X),
    "transpose": (lambda x: (x.T, np.transpose(x), x.transpose(1, 0)), X),
    "axes": (lambda x: (np.swapaxes(x, 0, 2), np.moveaxis(x, 0, -1), x.transpose((2, 0, 1))), T),
    "reshape": (lambda x: (x.reshape(5, 4), np.reshape(x, (2, -1)), x.ravel(), x.T.reshape(-1)), X),
    "reshape merge": (lambda x: x.reshape(x.shape[0] * x.shape[1], x.shape[2]), T),
    "squeeze": (lambda x: (np.squeeze(x[:, :1]), np.expand_dims(x, (0, 2)), x[None, :, None]), X),
    "broadcast_to": (lambda x: np.broadcast_to(x, (3, 5)), V),
    "flip": (lambda x: (np.flip(x), np.flip(x, 0), np.flipud(x), x[::-1, ::-2]), X),
    "roll": (lambda x: (np.roll(x, 1), np.roll(x, -2, axis=1)), X),
    "tile repeat": (lambda x: (np.tile(x, 2), np.tile(x, (2, 1)), np.repeat(x, 3, axis=0)), X),
    "pad": (lambda x: (np.pad(x, 1), np.pad(x, ((0, 1), (2, 0)), constant_values=3.0)), X),
    "like": (lambda x: (np.zeros_like(x), np.ones_like(x, dtype=np.int32), np.full_like(x, 2)), X),
    "astype": (lambda x: (x.astype(np.float32), x.astype(int), x.astype(bool)), X),
    "diff": (lambda x: (np.diff(x), np.diff(x, axis=0, n=2)), X),
    "norm": (lambda x: (np.linalg.norm(x), np.linalg.norm(x, axis=1), np.linalg.norm(x, 1, axis=0)), X),
    "trace": (lambda x: (np.trace(x), np.diagonal(x, 1), x.trace(offset=-1)), X),
    "take": (lambda x: (x[[0, 2]], x[:, np.array([1, -1])], np.take(x, [3, 0], axis=1)), X),
    "pick": (lambda x: x[np.arange(4), np.array([0, 4, 2, -1])], X),
    "stack": (lambda x: (np.stack([x, x + 1]), np.stack((x, x), axis=-1), np.vstack([x, x])), X),
    "concatenate": (lambda x: (np.concatenate([x, x * 2], axis=1), np.hstack((x, x))), X),
    "vector hstack": (lambda x: (np.hstack((x, x)), np.column_stack([x, x])), V),
    "out": (lambda x: np.add(x, 1, out=x), X),
    "out where": (lambda x: np.sqrt(x, out=x, where=x > 0), X),
    "copyto": (lambda x: np.copyto(x, 2, where=x > 0), X),
    "fill": (lambda x: x.fill(3), X),
    "softmax": (lambda x: np.square(x - x.max(axis=1, keepdims=True)) / x.sum(axis=1, keepdims=True), F),
    "masked": (lambda x: (x[x > 0].sum(), x[x < 0].mean()), X),
    "einsum one": (lambda x: (np.einsum("ij->ji", x), np.einsum("ij->j", x)), X),
    "list": (lambda x: [x, [x + 1, None]], X),
    "captured": (lambda x: x + V, X),
    "size": (lambda x: x / x.size + x.shape[0] * x.ndim, X),
}


@pytest.mark.parametrize("name", ONE)
def test_one_argument(runner, name):
    f, x = ONE[name]
    runner.same(f, x)


TWO: dict[str, tuple[Any, ...]] = {
    "arithmetic": (lambda x, y: (x + y, x - y, x * y, x / y), X, Y),
    "broadcast": (lambda x, y: x + y, X, V),
    "broadcast ones": (lambda x, y: x * y, X[:, :1], V),
    "mixed": (lambda x, y: x + y, F, X),
    "int float": (lambda x, y: x * y, I, F),
    "ints": (lambda x, y: (x // y, x % y, x & y, x ^ y), I, np.abs(I) + 1),
    "matmul": (lambda x, y: (x @ y.T, np.matmul(x.T, y)), X, Y),
    "vector": (lambda x, y: (x @ y, np.dot(x, y), y @ x.T), X, V),
    "dot": (lambda x, y: (np.dot(x, y), np.vdot(x, y), np.inner(x, y), np.outer(x, y)), V, V),
    "subtract outer": (lambda x, y: np.subtract.outer(x, y), V, V),
    "tensordot": (lambda x, y: (np.tensordot(x, y), np.tensordot(x, y, axes=([0], [0]))), X, Y),
    "batched": (lambda x, y: np.matmul(x, y), T, T.transpose(0, 2, 1).copy()),
    "stack by matrix": (lambda x, y: x @ y, T, X),
    "einsum": (
        lambda x, y: (np.einsum("ij,kj->ik", x, y), np.einsum("ij,ij->i", x, y), np.einsum("ij,ij", x, y)),
        X,
        Y,
    ),
    "weak argument": (lambda x, s: x * s, F, 0.1),
    "weak only": (lambda x, s: x + (s * 2 + 1), F, 0.1),
    "ufunc of weak": (lambda x, s: x + np.sqrt(s), F, 0.25),
    "int argument": (lambda x, n: (x * n, x / n, x[:n] + n // 2), X, 3),
    "distance": (lambda x, y: np.sqrt(((x[:, None, :] - y[None, :, :]) ** 2).sum(-1)), X, Y),
    "logical": (lambda x, y: (np.logical_and(x > 0, y > 0), (x > 0) | (y > 0)), X, Y),
    "choose": (lambda x, y: np.where(x > y, x, y), F, X),
}


@pytest.mark.parametrize("name", TWO)
def test_two_arguments(runner, name):
    f, x, y = TWO[name]
    runner.same(f, x, y)


def test_a_graph_serves_other_sizes(runner):
    f = lambda x, y: (x - x.mean(axis=1, keepdims=True)) @ y  # noqa: E731
    runner.trace(f, X, V)
    other = RNG.standard_normal((9, 3))
    np.testing.assert_allclose(runner.run(other, other[0]), f(other, other[0]), atol=1e-12)


def test_keys_are_structural(runner):
    keys = {runner.trace(lambda x, y: x + y * 2, a, b).key() for a, b in ((X, Y), (X[:2], Y[:2]))}
    assert len(keys) == 1
    assert runner.trace(lambda x, y: x + y * 3, X, Y).key() not in keys
    assert runner.trace(lambda x, y: x + y * 2, F, F).key() not in keys


def test_asarray_and_its_kin_of_arrays_and_lists():
    def f(x):
        return np.asarray(x), np.asarray([1, 2], np.float32), np.ascontiguousarray(x.T), np.asanyarray(x, dtype="i4")

    for got, expected in zip(txc.jit(f)(X), f(X), strict=True):
        np.testing.assert_array_equal(got, expected)
        assert got.dtype == expected.dtype


@pytest.mark.parametrize(
    "make", [lambda x: x.astype("u8"), lambda x: np.sum(x, dtype="u8"), lambda x: np.zeros_like(x, "u8")]
)
def test_a_name_that_means_two_types_is_an_error(make):
    with pytest.raises(txc.TxcError, match="'u8' is of 8 bits in txc's names and of 8 bytes in NumPy's"):
        txc.jit(make)(X)


@pytest.mark.parametrize("rows", [2, 3])
def test_sizes_that_are_equal_by_a_guard_broadcast_whatever_the_ranks(rows):
    """No symbol can be solved for ``n // 2``: the operands' dims keep their names."""
    f = txc.jit(lambda x, w: x[:, : x.shape[1] // 2 - 1] * w)
    x, w = np.arange(rows * 10.0).reshape(rows, 10), np.arange(1.0, 5.0)
    np.testing.assert_array_equal(f(x, w), x[:, :4] * w)
    np.testing.assert_array_equal(f(x, x[:, :4]), x[:, :4] * x[:, :4])
    with pytest.raises(txc.TxcError, match="sizes"):
        f(x, w[:3])
