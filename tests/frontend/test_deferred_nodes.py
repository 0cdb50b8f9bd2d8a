"""Values that wait for their nodes: made when they are asked for, in their place, and the same to whoever asks."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import txc
from txc import tensure
from txc.compiler.diagnostics import TxcError
from txc.compiler.frontend.lazy import eval_cache, evaluate, op_templates, structural_key
from txc.compiler.frontend.lazy.deferred import DeferredValue
from txc.compiler.frontend.lazy.evaluate import lazy_graph
from txc.compiler.frontend.tensor.conversion import asarray
from txc.compiler.frontend.trace.graph import Node

X, Y = np.arange(12, dtype=np.float32).reshape(3, 4), np.arange(12, dtype=np.float32).reshape(3, 4) + 2


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eval_cache, "_calls", {})
    monkeypatch.setattr(eval_cache, "OFTEN", 0)
    monkeypatch.setattr(op_templates, "_templates", {})
    structural_key.forget()


def test_what_was_evaluated_before_has_no_nodes(monkeypatch: pytest.MonkeyPatch):
    def f() -> Any:
        x, y = asarray(X), asarray(Y)
        return ((x - y) * x + np.exp(y)).sum(0)

    wanted = np.asarray(f())
    made: list[Any] = []
    original = Node.__init__

    def noted(self: Any, op: Any, *rest: Any, **named: Any) -> None:
        made.append(op)
        original(self, op, *rest, **named)

    monkeypatch.setattr(Node, "__init__", noted)
    np.testing.assert_array_equal(np.asarray(f()), wanted)
    assert not made
    assert f().value.node.op is not None and len(made) >= 4  # for who asks


def test_nodes_are_made_once_and_in_their_place():
    def graph() -> tuple[Any, str]:
        x, y = asarray(X), asarray(Y)
        product = x * y
        rows = y[1:] - 1  # a view: its node is made at once, after those of the product
        total = product[1:] + rows
        return (product, total), str(lazy_graph([total.deferred_value, product.deferred_value]))

    _, first = graph()
    (_, total), second = graph()
    waits = total.deferred_value
    assert type(waits) is DeferredValue and total.value is total.value is waits.made()
    assert second == first
    np.testing.assert_array_equal(total, X[1:] * Y[1:] + Y[1:] - 1)


def test_a_long_expression_is_made_without_recursion():
    x: Any = asarray(X[0])
    for _ in range(3000):
        x = x + 1
    assert str(lazy_graph([x.value])).count("= add") == 3000


def test_an_expression_through_a_view_is_known_at_once(monkeypatch: pytest.MonkeyPatch):
    def f() -> Any:
        x = asarray(X) * 2
        return np.asarray(x[1] + x.sum(0) * x[2])

    wanted = f()
    monkeypatch.setattr(evaluate, "lazy_graph", None)
    np.testing.assert_array_equal(f(), wanted)


def test_reductions_are_told_apart():
    programs = [
        lambda x: x.sum(0), lambda x: x.sum(1), lambda x: x.sum(), lambda x: x.sum((0, 1)), lambda x: x.max(1),
        lambda x: x.sum(axis=0, keepdims=True), lambda x: x.mean(0), lambda x: x.astype("i4").sum(0),
        lambda x: x.argmax(1), lambda x: np.sum(x, 0, "f8"), lambda x: x.sum(0, initial=3.0),
    ]  # fmt: skip
    for _ in range(3):
        for f in programs:
            found, wanted = np.asarray(f(asarray(X))), f(X)
            assert found.dtype == wanted.dtype and found.shape == wanted.shape
            np.testing.assert_array_equal(found, wanted)


def test_products_scans_and_joins_are_told_apart(monkeypatch: pytest.MonkeyPatch):
    programs = [
        lambda x, y: x @ y.T, lambda x, y: x.T @ y, lambda x, y: x @ y[0], lambda x, y: x[1] @ y.T,
        lambda x, y: x @ x.T, lambda x, y: np.tensordot(x, y, 2),
        lambda x, y: np.tensordot(x, y, 0), lambda x, y: np.inner(x, y),
        lambda x, y: np.cumsum(x, 0), lambda x, y: np.cumsum(x, 1), lambda x, y: np.cumprod(x, 1),
        lambda x, y: np.concatenate([x, y]), lambda x, y: np.concatenate([x, y], 1),
        lambda x, y: np.concatenate([y, x]), lambda x, y: np.concatenate([x, x, y]),
        lambda x, y: np.concatenate([x, y.astype(np.float64)]),
        lambda x, y: x.astype(np.int32) @ y.T.astype(np.int64), lambda x, y: np.cumsum(x.astype(np.int16), 0),
    ]  # fmt: skip
    for turn in range(3):
        for f in programs:
            found, wanted = np.asarray(f(asarray(X), asarray(Y))), f(X, Y)
            assert found.dtype == wanted.dtype and found.shape == wanted.shape
            np.testing.assert_array_equal(found, wanted)
        if turn == 1:
            monkeypatch.setattr(evaluate, "lazy_graph", None)
    for _ in range(2):
        with pytest.raises(TxcError, match="cannot contract"):
            _ = asarray(X) @ asarray(Y)
        with pytest.raises(TxcError, match="sizes 4 and 3 are not equal"):
            np.concatenate([asarray(X), asarray(Y[:, 1:])])


def test_an_empty_reduction_is_refused_each_time():
    for _ in range(2):
        assert np.asarray(asarray(X).max(0)).tolist() == X.max(0).tolist()
        with pytest.raises(TxcError, match="it has no elements"):
            asarray(X[:0]).max(0)


def test_ufuncs_with_and_without_other_arguments():
    x: Any = asarray(X)
    for _ in range(2):
        out: Any = asarray(Y.copy())
        assert np.exp(x).element.name == "f32" and np.exp(x, dtype="f8").element.name == "f64"
        np.testing.assert_array_equal(np.add(x, Y, where=X > 4, out=out), np.where(X > 4, X + Y, Y))
        whole, part = np.modf(x / 2)
        np.testing.assert_array_equal(np.add(whole, part), X / 2)
        np.testing.assert_array_equal(np.power(x, 2), X * X)
        np.testing.assert_array_equal(np.matmul(x, Y.T), X @ Y.T)


@pytest.mark.parametrize("function", [np.asarray, np.array, lambda t: np.asarray(t, np.float64)])
def test_arrays_of_a_tensure_stay_as_they_are(function: Any):
    t = tensure.array(X, "f4")
    tensure.add_(t, t)
    found = function(t)
    tensure.mul_(t, t)
    after = function(t)
    del t
    gc.collect()
    np.empty(X.shape, np.float32).fill(77)  # what memory is free
    np.testing.assert_array_equal(found, X + X)
    np.testing.assert_array_equal(after, (X + X) ** 2)
    assert function is not np.asarray or not found.flags.writeable


def test_an_array_of_a_view_that_has_no_memory():
    for f in (lambda x: x[1:] * 1, lambda x: (x * 2)[1:], lambda x: (x * 2).T, lambda x: (x + 0)[::-1, 1]):
        found = np.asarray(f(asarray(X)))
        gc.collect()
        np.testing.assert_array_equal(found, f(X))


def test_bfloat16_has_no_struct():
    t = asarray(X).astype("bf16")
    assert not hasattr(t, "__array_struct__")
    np.testing.assert_array_equal(np.asarray(t).astype("f4"), X)


def test_a_traced_tensor_is_no_array():
    @txc.jit
    def f(x: Any) -> Any:
        return np.asarray(x) + 1 if hasattr(x, "__array_struct__") else x + 1

    np.testing.assert_array_equal(f(X), X + 1)
