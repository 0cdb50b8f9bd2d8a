# pyright: reportCallIssue=false, reportArgumentType=false
"""Values, dtypes and errors of NumPy's functions where its rules are its own: as NumPy has them, in compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

NAN, INF = np.nan, np.inf
U = np.array([2**53 + 1, 2**63, 0, 2**64 - 1], np.uint64)
S = np.array([2**53, -1, 0, 2**63 - 1], np.int64)
B = np.array([True, False])
X = np.array([-1, 0, 0.5, 1, 1.5, 2, 3, NAN, INF, -INF])
H = np.array([1, 5, 2, 3, 3, 7, 2], np.float32)
Z = np.array([0, 1 + 2j, INF + 1j, complex(1, -INF), complex(NAN, 1), complex(INF, INF)])
SMALL = np.array([0, 1, 5, 127, -128, 7], np.int8)
M = np.array([[1.0, NAN, 2], [-0.0, 2, 2]], np.float32)


def _put(x: Any, places: Any, values: Any) -> Any:
    y = x.copy()
    np.put(y, places, values)
    return y


def _counts_on(x: Any) -> Any:
    total = x.sum().astype(np.float64)
    first = total
    total += 1
    part = x[1].copy()
    kept = part
    part *= 3
    return first, total, kept, part, x[1]


SAME: dict[str, tuple[Any, ...]] = {
    "zeros that are bounds": (
        lambda x, t: tuple(f(y) for f in (np.signbit, np.asarray) for y in (
            np.clip(x, 0, 1), np.clip(x, -0.0, t), x.clip(t - t, 1), np.clip(-x, -1, 0), np.clip(x[0], 0, 1),
            np.clip(x, NAN, 1), np.clip(x, 2, 1), np.clip(x, np.zeros(x.shape), 1), np.clip(x, 0, None),
            np.clip(x.astype(np.float32), 0, 1), np.clip(x[1:].astype(int), 0, 1.5),
        )), np.array([NAN, -0.0, 0.0, -1.0, 0.5, 3.0]), 0.25,
    ),
    "piecewise": (
        lambda x, b: (
            np.piecewise(x[:2], [True, False], [1, 2]), np.piecewise(x, x > 2, [1, 2]), np.piecewise(b, [b], [0, 1]),
            np.piecewise(x, [x < 3, x >= 3], [lambda v: v - v.mean(), lambda v: v / v.size]),
            np.piecewise(x, [x > 100, x < 3], [lambda v: v.sum(), 5]), np.piecewise(x[:2], [[True, False]], [4, 5]),
            np.piecewise(np.stack([x, -x]), [np.array([True, False])], [lambda v: v * 2, -1]),
            np.piecewise(x[0], [x[0] > 0, x[0] < -5], [1, 2, 3]),
        ), H, B,
    ),
    "bools as indices, and nothing to store": (
        lambda x, b: (
            np.take(x, b), x.take([True, False]), np.bincount(b), np.choose(b, [1, 2]),
            _put(x, b, 7), _put(x, [0, 1], []), np.resize(x[:0], (2, 2)), np.resize(np.array([], np.int8), 3),
        ), H, B,
    ),
    "reductions from a first value": (
        lambda x, e, t: (lambda s: (
            s.max(initial=0), s.min(initial=100), np.max(np.stack([s, -s]), axis=1, initial=-1), np.bincount(s),
            np.max(np.stack([s, -s]), initial=-7), np.maximum.reduce(s, initial=-3), np.max(s / 2, initial=-np.inf),
            s.max(initial=2, keepdims=True), e.max(axis=1, initial=-5), np.max(e, initial=3), e.max(axis=0),
        ))(x[x > t]), np.array([3, 1, 2]), np.zeros((2, 0)), 9,
    ),
    "folds of bits": (
        lambda a, b, m: (
            np.bitwise_and.reduce(a), np.bitwise_or.reduce(a, axis=1), np.bitwise_xor.reduce(b, axis=None),
            np.bitwise_xor.reduce(b, axis=(0, 1), keepdims=True), np.bitwise_and.reduce(b, 0, initial=7),
            np.gcd.reduce(b[0]), np.logical_xor.reduce(m), np.logical_xor.reduce(b, axis=1), np.bitwise_and.reduce(m),
            np.bitwise_xor.accumulate(b, axis=1), np.bitwise_or.accumulate(a), np.bitwise_and.reduce(a[:0]),
            np.bitwise_or.reduce(a, 0, None, np.zeros(3, np.uint8)),
        ), np.arange(130, 136, dtype=np.uint8).reshape(2, 3), np.array([[12, -18], [24, 36]]), B,
    ),
    "searchsorted as a method": (
        lambda x: (x.searchsorted(2.0), x.searchsorted([1, 2], side="right"), x.searchsorted(v=x[0], side="right")),
        np.sort(H),
    ),
    "lengths of runs": (
        lambda x: (lambda s, e: (x[s], e - s, np.repeat(x[s], e - s)))(
            np.concatenate(([0], np.flatnonzero(np.diff(x)) + 1)),
            np.concatenate((np.flatnonzero(np.diff(x)) + 1, [len(x)])),
        ), np.array([1, 1, 2, 2, 2, 3]),
    ),
    "u64 and i64": (lambda u, s: (u == s, u != s, u < s, u <= s, u > s, u >= s, s < u, s <= u, s > u, s >= u), U, S),
    "elements": (lambda u, s: (u[0] == s[0], u[0] > s[0], u[0] == np.int64(2**53)), U, S),
    "Python ints beside u64": (lambda u: (u == -1, u > -1, -1 < u, u < 2**63, u < 2**64, u >= 2**70, u > 5), U),
    "Python ints beside floats": (lambda x: (x == -1, x < 2**63, x < 2**64, x >= 2**70), U.astype(np.float32)),
    "Python ints beside i8": (lambda x: (x == 300, x > -300, x < 2**64, x == 5), SMALL),
    "int arguments": (lambda u, n: (u > n, u == n, u < n), U, -1),
    "sizes beside u8": (lambda x: (x < x.shape[0], x == len(x)), np.arange(300).astype(np.uint8)),
    "other functions of both": (lambda u, s: (np.maximum(u, s), np.where(u > 0, u, s), u + s, np.clip(u, s, s)), U, S),
    "choices of Python numbers": (
        lambda b, n, t, u, x: (
            np.where(b, 300, 0).astype(np.uint8), np.where(b[0], n, 0) + u, np.where(b, t, 0.5) * x,
            np.select([b], [n], 1).astype(np.uint8), np.choose(b.astype(int), [n, 2]) + u, np.clip(n, 0, 500) + u,
        ), B, 300, 2.5, np.ones(2, np.uint8), np.ones(2, np.float32),
    ),
    "functions of Python numbers": (
        lambda n, t, u, x: (
            np.round(t) * x, np.dot(n, 2) + u, np.inner(t, t) * x, np.sinc(t) * x, np.angle(t) * x, np.fix(t) * x,
            np.einsum("->", t) * x, np.kron(n, 2) + u, np.nanmax(n) + u, np.take([n, 1], 0) + u,
            np.trapezoid([n, n]) * x, np.real(t) * x, np.imag(t) * x,
        ), 300, 2.5, np.ones(2, np.uint8), np.ones(2, np.float32),
    ),
    "run-time ints as arrays": (
        lambda n: (
            np.cumsum(n), np.squeeze(n), np.around(n), np.outer(n, n), np.ravel(n), np.reshape(n, ()), np.repeat(n, 2),
            np.tile(n, 2), np.stack([n, n]), np.transpose(n), np.broadcast_to(n, (3,)), np.average(n), np.append(n, 1),
            np.cross([1, 2, n], [n, 1, 2]), np.diff([n, 1]), np.sort([n, 1]), np.concatenate([[n], [1]]),
            np.concatenate(([0], [n])), np.size(n), np.ndim(n), np.shape(n),
        ), 300,
    ),
    "arrays, numbers and Python's numbers": (
        lambda n, t, z, s, x: (
            np.squeeze(n), np.transpose(t), np.squeeze(z), np.squeeze(s), np.transpose(s), np.reshape(s, ()),
            np.reshape(t, ()), np.isin(n, [1, 2]), np.isin(s, x), np.i0(t), np.i0(s), np.real(z), np.imag(z), z.real,
            np.allclose(t, 2.5), np.allclose(x, s), np.array_equal(x, x), np.array_equal(x, x[:1]),
            np.array_equiv(x, t), np.array_equal(x, n),
        ), 3, 2.5, 1 + 2j, np.float32(1.5), H,
    ),
    "lists in tuples": (
        lambda x: (np.concatenate(([0], x, [len(x)])), np.hstack(([x[0]], x)), np.vstack([[x], [x]])), H
    ),
    "square of bools": (lambda b: (np.square(b), b**2), B),
    "rounding of bools": (lambda b: (np.floor(b), np.ceil(b), np.trunc(b), np.rint(b), np.round(b)), B),
    "loops of small ints": (lambda x: (np.fabs(x), *np.modf(x), *np.frexp(x), np.ldexp(x, x), np.angle(x)), SMALL),
    "more loops": (lambda x: (np.heaviside(x, x), np.bitwise_count(x), np.reciprocal(x[1:])), SMALL),
    "logaddexp2 of ints": (lambda x: np.logaddexp2(x, 3), np.array([0, 2**62, -(2**63)])),
    "sign": (np.sign, Z),
    "spacing": (np.spacing, np.array([0.0, -0.0, 1, -1, INF, -2], np.float32)),
    "no elements": (lambda x: (np.tensordot(x, x.T, 1), np.tensordot(x.T, x, 1), np.tensordot(x, x, 0)), X[:0, None]),
    "searchsorted": (lambda x: (np.searchsorted(x, 1), np.searchsorted(x, x[3], "right"), np.digitize(2.5, x)), X[:7]),
    "digitize": (lambda x: (np.digitize(x, [2, 1, 0], right=True), np.digitize(x, [2, 1, 0])), X),
    "transforms of one": (
        lambda x: (np.fft.fft(x), np.fft.rfft(x), np.fft.irfft(x, 1), np.fft.ifft(x, 1, norm="ortho")), H[:1]
    ),
    "interp": (
        lambda x: (
            np.interp(x, [0, 1.0, INF], [1 + 1j, 2, 3]), np.interp(x, [0, 1.0, 2], [1, INF, INF], NAN, -INF),
            np.interp(x, [1.0], [5.0]), np.interp(x, [-INF, 1, INF], [5, 6, NAN]), np.interp(0.5, x[1:4], x[1:4]),
            np.interp(x, [0, 1.0], [5j, 6], left=1j, right=2),
        ),
        X,
    ),
    "histogram": (
        lambda x: (*np.histogram(x, 4), *np.histogram(x, 3, (0.1, 5)), *np.histogram(x, 3, weights=x, density=True)), H
    ),
    "histogram of one value": (lambda x: np.histogram(x, 3), H[4:5]),
    "histogram of f16": (lambda x: np.histogram(x, 4), H.astype(np.float16)),
    "nan functions": (lambda x: (np.nanmean(x), np.nanvar(x, 1), np.nanstd(x, 0, ddof=1), np.nanargmax(x, 1)), M),
    "average": (lambda x: (*np.average(x, returned=True), *np.average(x, axis=0, returned=True)), M),
    "cov of f32": (lambda x: (np.cov(x), np.corrcoef(x)), H.reshape(1, 7) * np.array([[1], [-2]], np.float32)),
    "cov without degrees of freedom": (
        lambda x: (np.cov(x[:0]), np.cov(x[:1]), np.cov(x), np.cov(x[:0].reshape(3, 0)), np.cov(x[:2], ddof=4)), X[:4]
    ),
    "setdiff1d of two dtypes": (
        lambda s, x: (np.setdiff1d(s, x), np.setdiff1d(x, s), np.setdiff1d(s, x, assume_unique=True)), SMALL, X[:7]
    ),
    "vander of few columns": (lambda x: (np.vander(x, 0), np.vander(x[:0]), np.vander(x[:0], 2)), X[:4]),
    "Python's numbers beside arrays": (
        lambda x, f, t: (
            np.dot(x, 2), np.dot(2.5, f), x.dot(100), np.inner(x, 2), np.tensordot(f, 2, 0), np.einsum("i,->i", x, 2),
            np.dot(t, f), np.multiply(x, 2), f * t,
        ), SMALL, H, 2.5,
    ),
    "even steps from Python's numbers": (
        lambda x, f, t: (
            np.linspace(0, f[0], 3), np.linspace(0, x[2], 3), np.linspace(f[1], t, 3), np.linspace(0, t, 3),
            np.linspace(x[2], f[1], 3), np.geomspace(1, f[1], 3), np.logspace(0, f[0], 3),
        ), SMALL, H, 2.5,
    ),
    "quantiles of several dtypes": (
        lambda x, f, t: (
            np.percentile(f, [10, 50]), np.percentile(f, 30), np.percentile(f, t), np.percentile(f, np.float64(30)),
            np.percentile(x, np.float32(25)), np.percentile(x, 30), np.quantile(f, [0.25]), np.nanquantile(f, 0.25),
            np.quantile(x, [0.3], method="lower"),
        ), SMALL, H, 2.5,
    ),
    "unwrap of unsigned ints": (np.unwrap, np.array([3, 2, 9], np.uint8)),
    "ranks of vectors": (
        lambda x: (np.linalg.matrix_rank(x), np.linalg.matrix_rank(x[:0]), np.linalg.matrix_rank(x[0])), H
    ),
    "powers of bools": (
        lambda b: (b**0, b**1, b**2, b**3, b**2.0, b**0.5, b**True, b[0] ** 1, b[0] ** 2, b[0] ** 2.0, 2**b), B
    ),
    "powers of ints to floats": (lambda x: (x**2.0, x[1] ** 2.0, x[2] ** 0.5, x**1.0, x**0), SMALL),
    "numbers are no arrays": (
        lambda x, z, h: (
            x[0].astype(np.float32), x.sum().astype(np.float64), x[1].copy(), x[1].view(), z[0].real, z[1].imag,
            z[2].copy(), np.real(z[0]), h.mean(), np.average(h), x[0].reshape(()), x[0].T, x[0].squeeze(),
        ), H, Z, H.astype(np.float16),
    ),
    "a number is not written in place": (_counts_on, H),
    "int powers": (lambda x: (np.power(x, 3), x**2, np.power(x, np.array([1, 2, 3, 0, 5, 1], np.int8))), SMALL),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_as_numpy(name: str) -> None:
    f, *arguments = SAME[name]
    with np.errstate(all="ignore"):
        expected = f(*arguments)
    got = txc.jit(lambda *given: f(*given))(*arguments)
    pairs = zip(got, expected, strict=True) if isinstance(expected, tuple) else [(got, expected)]
    for found, wanted in pairs:
        assert type(found) is type(wanted)
        found, wanted = np.asarray(found), np.asarray(wanted)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        tolerance = {"e": 2e-3, "f": 1e-6}.get(wanted.dtype.char, 1e-14)
        np.testing.assert_allclose(found, wanted, rtol=tolerance if wanted.dtype.kind in "fc" else 0, atol=0)


RAISED: dict[str, tuple[Any, ...]] = {
    "bincount": (lambda x: np.bincount(x, minlength=3), np.array([1, -5])),
    "percentile": (lambda x: np.percentile(x, 150), H),
    "quantile": (lambda x, q: np.quantile(x, q), H, 1.5),
    "quantile nan": (lambda x, q: np.nanquantile(x, q), H, NAN),
    "nanargmax": (lambda x: np.nanargmax(x), np.array([NAN, NAN])),
    "nanargmin": (lambda x: np.nanargmin(x, 0), M * np.array([[1], [NAN]]) * NAN),
    "histogram": (lambda x: np.histogram(x, 3), X),
    "range": (lambda x: np.histogram(x, 3, range=(4, 0)), H),
    "edges": (lambda x: np.histogram(x, [1, 0, 2]), H),
    "digitize": (lambda x: np.digitize(x, [0, 2, 1]), H),
    "average": (lambda x: np.average(x, weights=x * 0), H),
    "edge of nothing": (lambda x: np.pad(x, 2, mode="edge"), H[:0]),
    "wrap of rows of nothing": (lambda x: np.pad(x, ((1, 1), (0, 0)), mode="wrap"), M[:0]),
    "vander of a matrix": (np.vander, M),
    "frequencies of a fraction": (lambda x, n: np.fft.fftfreq(n) + x[0], H, 2.5),
    "round of a bool": (lambda b: round(b[0]), B),
    "round of a complex number": (lambda z: round(z[0]), Z),
    "mean of what a mask leaves": (lambda x: np.pad(x[x > 9], 1, mode="mean"), H),
    "power": (lambda x, y: np.power(x, y), SMALL, SMALL),
}


@pytest.mark.parametrize("name", RAISED)
def test_raised_as_numpy_raises_it(name: str) -> None:
    f, *arguments = RAISED[name]
    with pytest.raises((ValueError, ZeroDivisionError, TypeError)) as expected:
        f(*arguments)
    with pytest.raises(expected.type):
        txc.jit(lambda *given: f(*given))(*arguments)


REFUSED: list[tuple[Any, Any]] = [
    (lambda x: x**-2, SMALL), (np.sign, B), (np.negative, B), (np.modf, Z), (np.isposinf, Z), (np.gradient, X[:1]),
    (np.unwrap, Z), (lambda z: np.interp(z, [0, 1], [2, 3]), Z),
    (np.fft.fft, X[:0]), (lambda x: np.take(x, [5], mode="wrap"), X[:0]), (lambda x: np.interp(0.5, x, x), X[:0]),
]  # fmt: skip


@pytest.mark.parametrize("f, x", REFUSED, ids=range(len(REFUSED)))
def test_refused_where_numpy_raises(f: Any, x: np.ndarray) -> None:
    with pytest.raises((TypeError, ValueError, IndexError)):
        f(x)
    with pytest.raises(TxcError):
        txc.jit(lambda given: f(given))(x)
