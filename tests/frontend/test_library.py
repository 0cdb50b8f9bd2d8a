"""The library in the tensor language: every function against its meaning, from `jit`, as a method, in `.tx`, lazily."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.dialects.ops.structure.library import Library
from txc.dialects.registry import OPS

special = pytest.importorskip("scipy.special")
X = np.random.default_rng(3).normal(size=(5, 7)) * 3
P = np.abs(X) / np.abs(X).sum(1, keepdims=True)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def centred(x: np.ndarray) -> np.ndarray:
    return x - x.mean(1, keepdims=True)


#: (operands, parameters, result)
MEANINGS: dict[str, tuple[tuple[np.ndarray, ...], dict[str, Any], np.ndarray]] = {
    "softmax": ((X,), {"axis": 1}, special.softmax(X, 1)),
    "log_softmax": ((X,), {"axis": 0}, special.log_softmax(X, 0)),
    "var": ((X,), {"axis": 0, "ddof": 1}, X.var(0, ddof=1)),
    "std": ((X,), {"axis": (0, 1), "keepdims": True}, X.std((0, 1), keepdims=True)),
    "standardize": ((X,), {"axis": 1}, centred(X) / X.std(1, keepdims=True)),
    "layer_norm": ((X,), {"axis": 1, "eps": 0.5}, centred(X) / np.sqrt(X.var(1, keepdims=True) + 0.5)),
    "rms_norm": ((X,), {"axis": 1}, X / np.sqrt((X * X).mean(1, keepdims=True) + 1e-5)),
    "l2_normalize": ((X,), {"axis": 0}, X / np.linalg.norm(X, axis=0)),
    "ptp": ((X,), {"axis": 1}, np.ptp(X, 1)),
    "relu": ((X,), {}, np.maximum(X, 0)),
    "leaky_relu": ((X,), {"slope": 0.2}, np.where(X < 0, 0.2 * X, X)),
    "elu": ((X,), {"alpha": 2.0}, np.where(X < 0, 2 * np.expm1(X), X)),
    "softplus": ((X * 300,), {}, np.logaddexp(X * 300, 0)),
    "silu": ((X,), {}, X * sigmoid(X)),
    "mish": ((X,), {}, X * np.tanh(np.logaddexp(X, 0))),
    "gelu": ((X,), {}, X * special.ndtr(X)),
    "cross_entropy": ((X, P), {"axis": 1}, -(P * special.log_softmax(X, 1)).sum(1)),
    "heaviside": ((np.round(X), P), {}, np.heaviside(np.round(X), P)),
    "radians": ((X,), {}, np.radians(X)),
    "degrees": ((X,), {}, np.degrees(X)),
    "logaddexp2": ((X, P), {}, np.logaddexp2(X, P)),
}


def test_every_function_is_here() -> None:
    assert {name for name, op in OPS.items() if issubclass(op, Library)} == set(MEANINGS) == set(dir(txc.library))


@pytest.mark.parametrize("name", sorted(MEANINGS))
def test_under_jit_as_a_function_and_as_a_method(name: str) -> None:
    operands, params, expected = MEANINGS[name]

    @txc.jit
    def both(*xs: Any) -> Any:
        first, *rest = xs
        return getattr(txc.library, name)(*xs, **params), getattr(first, name)(*rest, **params)

    for got in both(*operands):
        np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(getattr(txc.library, name)(*operands, **params), expected, rtol=1e-13, atol=1e-14)


def test_in_a_tx_file_parameters_follow_the_operands() -> None:
    module = txc.compile_source(
        "def f(x: f64[n, m]) -> f64[n, m]:\n    return softmax(x, 1) + x.layer_norm(1, eps=0.5)"
    )
    layer = MEANINGS["layer_norm"][2]
    np.testing.assert_allclose(module.f(X), special.softmax(X, 1) + layer, rtol=1e-12)


@pytest.mark.parametrize("f", [special.softmax, special.log_softmax, special.logsumexp])
def test_scipys_functions_mean_the_librarys(f: Callable[..., Any]) -> None:
    @txc.jit
    def compiled(x: Any) -> Any:
        return f(x, axis=1)

    np.testing.assert_allclose(compiled(X), f(X, axis=1), rtol=1e-13)


@pytest.mark.parametrize("f", [np.ptp, np.var, np.std])
def test_numpys_functions_mean_the_librarys(f: Callable[..., Any]) -> None:
    compiled = txc.jit(lambda x: f(x, axis=0))
    np.testing.assert_allclose(compiled(X), f(X, axis=0), rtol=1e-13)


def test_ufuncs_that_are_composites() -> None:
    compiled = txc.jit(lambda x, y: (np.heaviside(x, y), np.deg2rad(x), np.degrees(x), np.logaddexp2(x, y)))
    expected = np.heaviside(X, P), np.deg2rad(X), np.degrees(X), np.logaddexp2(X, P)
    for got, wanted in zip(compiled(X, P), expected):
        np.testing.assert_allclose(got, wanted, rtol=1e-13)


def test_half_width_floats_keep_their_type_and_have_variance_in_f32() -> None:
    x = (X * 20).astype(np.float16)
    for name in ("softmax", "gelu", "var", "std", "layer_norm"):
        got = np.asarray(getattr(txc.library, name)(x))
        assert got.dtype == np.float16, name
    np.testing.assert_allclose(np.asarray(txc.library.var(x)), x.astype(np.float64).var(), rtol=1e-3)
    far = (X * 500).astype(np.float16)
    np.testing.assert_allclose(np.asarray(txc.library.std(far)), far.astype(np.float64).std(), rtol=1e-3)


def test_approximate_gelu() -> None:
    got = txc.library.gelu(X, approximate=True)
    np.testing.assert_allclose(got, 0.5 * X * (1 + np.tanh(np.sqrt(2 / np.pi) * (X + 0.044715 * X**3))), rtol=1e-12)


def refused(make: Callable[[], Any], text: str) -> None:
    with pytest.raises(txc.TxcError, match=text) as caught:
        make()
    assert "test_library.py" in str(caught.value), "it is put down to the caller's line"


def test_errors_name_the_function_and_the_callers_line() -> None:
    refused(lambda: txc.library.softmax(X, axis=2), "axis 2 is out of range for rank 2")
    refused(lambda: txc.library.softmax(X, dim=1), "softmax has no parameter 'dim'")
    refused(lambda: txc.library.softmax(X, 1, axis=1), "softmax gets axis twice")
    refused(lambda: txc.library.gelu(X, approximate=3), "3 is neither True nor False")
    refused(lambda: txc.library.heaviside(X), "heaviside takes 2 tensors, not 1")
    with pytest.raises(AttributeError, match=r"the library has no 'softmin': it has .*softmax"):
        txc.library.softmin  # noqa: B018
