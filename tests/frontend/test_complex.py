"""Complex numbers in programs: promotion, literals, parts that can be stored into, results of calls, `.tx`, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

X = np.array([[1 + 2j, -3j, 4], [0.5, -1 - 1j, 2j]], np.complex64)


@pytest.mark.parametrize("given", ["f2", "f4", "f8", "F", "D", "i2", "i8", "?"])
@pytest.mark.parametrize("other", [2j, 1.5, 3, np.complex64(1j), np.complex128(1j), np.float32(2)])
def test_promotion_is_numpys(given: str, other: Any):
    def f(x: Any, y: Any) -> Any:
        return x * y, x + 1j, abs(x + 1j)

    x = np.array([0, 1, 1], given)
    for got, expected in zip(txc.jit(f)(x, other), f(x, other)):
        assert got.dtype == expected.dtype
        assert np.allclose(got, expected, rtol=1e-3)


def test_python_and_numpy_scalars_are_arguments_and_results():
    f = txc.jit(lambda x, s: (x * s, (x * s).sum()))
    for s in (2j, np.complex64(1 - 1j), 2j, np.complex128(3j)):
        product, total = f(X, s)
        assert product.dtype == (X * s).dtype and np.allclose(product, X * s)
        assert type(total) is type((X * s).sum()) and np.allclose(total, (X * s).sum())


def test_parts_are_views_that_can_be_stored_into():
    @txc.jit
    def f(x: Any) -> Any:
        y = x.copy()
        y.real = y.imag * 2
        y.imag[0] += 3
        y[1].real[...] = 7
        return y, x.real, x.imag.sum(), np.real(x.imag), np.angle(x), np.conj(x), x.conjugate()

    expected = X.copy()
    expected.real = expected.imag * 2
    expected.imag[0] += 3
    expected[1].real[...] = 7
    y, real, total, again, angle, *conjugates = f(X)
    assert np.array_equal(y, expected) and np.array_equal(real, X.real) and np.array_equal(again, X.imag)
    assert np.isclose(total, X.imag.sum()) and np.allclose(angle, np.angle(X)) and angle.dtype == np.float32
    assert all(np.array_equal(c, X.conj()) for c in conjugates)


def test_layouts_casts_and_selection():
    @txc.jit
    def f(x: Any) -> Any:
        y = np.where(x.real > 0, x.T.T, 1j)
        return y[::-1, ::2], x.T + 1j, x.astype(np.complex128), np.broadcast_to(x[0], (3, 3)) * 2, x.astype(bool)

    expected = np.where(X.real > 0, X, np.complex64(1j))
    for given in (X, np.asfortranarray(X), X[::-1]):
        chosen = expected[::-1] if given[0, 0] == X[1, 0] else expected
        got = f(given)
        assert np.array_equal(got[0], chosen[::-1, ::2]) and np.array_equal(got[1], given.T + 1j)
        assert got[2].dtype == np.complex128 and np.array_equal(got[2], given)
        assert np.array_equal(got[3], np.broadcast_to(given[0], (3, 3)) * 2) and np.array_equal(got[4], given != 0)


def test_the_language_has_complex_types_and_literals():
    module = txc.compile_source(
        "def f(x: c64[n, m], y: c64[m, k], s: c128) -> (c64[n, k], c128, f32[n, m]):\n"
        "    return x @ y + 2j, s * 1j, abs(x) + x.real + x.imag + x.arg()\n"
    )
    product, scalar, parts = module.f(X, X.T.copy(), 3 + 1j)
    assert np.allclose(product, X @ X.T + 2j) and scalar == (3 + 1j) * 1j
    assert np.allclose(parts, np.abs(X) + X.real + X.imag + np.angle(X))


def test_products_of_matrices_and_einsum():
    f = txc.jit(lambda x: (x @ x.conj().T, np.einsum("ij,kj->ik", x, x), x[0] @ x[1], np.dot(x[0], x[1])))
    expected = (X @ X.conj().T, np.einsum("ij,kj->ik", X, X), X[0] @ X[1], np.dot(X[0], X[1]))
    assert all(np.allclose(a, b) for a, b in zip(f(X), expected))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: np.fmax(x, x), "cwise_max_numbers is not defined on c64"),
        (lambda x: np.nanmax(x), "nanmax is not defined on c64"),
        (lambda x: np.floor(x), "floor is not defined on c64"),
        (lambda x: x // 2, "floor_divide is not defined on c64"),
        (lambda x: x & x, "bitwise_and is not defined on c64"),
        (lambda x: np.arctan2(x, x), "atan2 is not defined on c64"),
    ],
)
def test_what_needs_an_order_or_bits_is_an_error(function: Any, message: str):
    with pytest.raises(TxcError, match=message):
        txc.jit(function)(X)


def test_a_real_tensor_has_no_imaginary_part_to_store_into():
    def f(x: Any) -> Any:
        x.imag = 1
        return x

    with pytest.raises(TypeError, match="no imaginary part"):  # as NumPy's
        txc.jit(f)(np.ones(3))


def test_variance_norm_and_vdot_are_of_magnitudes():
    f = txc.jit(lambda x: (x.var(axis=0), x.std(), np.linalg.norm(x), np.vdot(x, x)))
    for got, expected in zip(f(X), (X.var(axis=0), X.std(), np.linalg.norm(X), np.vdot(X, X))):
        assert got.dtype == expected.dtype and np.allclose(got, expected)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("name", ["less", "less_equal", "greater", "greater_equal"])
def test_order_is_by_the_real_part_then_the_imaginary_one(name, dtype):
    ufunc = getattr(np, name)
    parts = (0.0, -0.0, 1.0, 2.0, np.nan, np.inf)
    row = np.array([complex(a, b) for a in parts for b in parts], dtype)
    x, y = np.meshgrid(row, row)
    with np.errstate(invalid="ignore"):
        expected, against_number = ufunc(x, y), ufunc(x, 1)
    np.testing.assert_array_equal(txc.jit(lambda x, y: ufunc(x, y))(x, y), expected)
    np.testing.assert_array_equal(txc.jit(lambda x: ufunc(x, 1))(x), against_number)
    np.testing.assert_array_equal(ufunc(txc.asarray(x), txc.asarray(y)), expected)


def test_pythons_complex_numbers_have_no_order():
    for function in (lambda c: c > 1, lambda c: min(c, 1), lambda c: 2 <= c):
        with pytest.raises(TypeError):
            function(1 + 2j)
        with pytest.raises(TypeError, match="not supported between instances of 'complex' and 'int'"):
            txc.jit(function)(1 + 2j)


PARTS = np.array([0, 1, -1, 2, np.nan, np.inf, -np.inf, -0.0])
EXTREMES: list[Any] = [
    lambda x: (x.argmin(), x.argmax(), x.max(), x.min(), x.ravel().max()),
    lambda x: (x.argmin(0), x.argmax(1), x.max(0), x.min(1), np.min(x.T, axis=0)),
    lambda x: (np.max(x, axis=(0, 1)), x.max(axis=1, keepdims=True), np.argmin(x, axis=-1)),
    lambda x: (np.maximum(x, x[::-1]), np.minimum(x, x[:, ::-1]), np.maximum(x, 1.0), np.minimum(1.0, x)),
]


@pytest.mark.parametrize("f", EXTREMES)
@pytest.mark.parametrize("dtype", ("c8", "c16"))
@pytest.mark.parametrize("kinds", (4, 8))
def test_extremes_are_in_numpys_order(f: Any, dtype: str, kinds: int):
    """By real parts, of equals by imaginary ones; the first NaN, the first of equals."""
    rng, jitted = np.random.default_rng(kinds), txc.jit(f)
    for _ in range(20):
        x = np.empty((2, 3), dtype)
        x.real, x.imag = (rng.choice(PARTS[:kinds], x.shape) for _ in range(2))
        assert repr(jitted(x)) == repr(f(x))
