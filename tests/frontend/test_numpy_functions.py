# pyright: reportCallIssue=false, reportArgumentType=false
"""NumPy's functions, with their arguments, mean on traced tensors what they mean on arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError
from txc.compiler.frontend.numpy import creation
from txc.compiler.frontend.numpy.functions.all import FUNCTIONS
from txc.compiler.frontend.numpy.ufunc_table import find_op_for

RNG = np.random.default_rng(17)
X = RNG.standard_normal((4, 5))
V = RNG.standard_normal(5)
S = RNG.standard_normal((4, 4))
T = RNG.standard_normal((2, 3, 4))
I = RNG.integers(-9, 9, (4, 5))
B = X > 0
C = X + 1j * RNG.standard_normal((4, 5))
N = np.where(RNG.random((4, 5)) < 0.3, np.nan, X)
N[2] = np.nan
SPECIAL = np.array([0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan, 5e-324])

CASES: dict[str, tuple[Any, Any]] = {
    # Reductions.
    "sum initial": (lambda x: (np.sum(x, initial=2.0), np.sum(x, axis=1, initial=1, keepdims=True)), X),
    "max initial": (lambda x: (np.max(x, initial=0.5, axis=0), np.min(x, initial=-3)), X),
    "max where": (lambda x: np.max(x, axis=1, where=x < 0, initial=-9.0), X),
    "prod where": (lambda x: np.prod(x, axis=0, where=x > 0), X),
    "all where": (lambda x: (np.all(x > -1, axis=1, where=x > 0), np.any(x, axis=(0, 1), keepdims=True)), X),
    "mean where": (lambda x: np.mean(x, axis=0, where=x < 1), X),
    "reduce of axes": (lambda x: (np.add.reduce(x, axis=(0, 2)), np.maximum.reduce(x, 1, keepdims=True)), T),
    "reduce initial": (lambda x: np.add.reduce(x, axis=0, initial=4.0, where=x > 0), X),
    "count_nonzero": (lambda x: (np.count_nonzero(x), np.count_nonzero(x, axis=1, keepdims=True)), I),
    "ptp": (lambda x: (np.ptp(x), np.ptp(x, axis=0), np.ptp(x, 1, keepdims=True)), X),
    "argmax keepdims": (lambda x: (np.argmax(x, 1, keepdims=True), np.argmin(x)), X),
    # Statistics.
    "var": (lambda x: (np.var(x), np.var(x, (0, 2), ddof=1, keepdims=True), np.std(x, 1, correction=1)), T),
    "var f16": (lambda x: np.var(x, axis=0), X.astype(np.float16)),
    "var f32 in f64": (lambda x: np.var(x, axis=0, dtype=np.float64), X.astype(np.float32)),
    "var of ints": (lambda x: (np.var(x, 1), np.std(x)), I),
    "var complex": (lambda x: (np.var(x, 1), np.std(x)), C),
    "var where": (lambda x: np.var(x, axis=1, where=x > -1), X),
    "var mean": (lambda x: np.var(x, axis=1, mean=x.mean(axis=1, keepdims=True)), X),
    "average": (lambda x: (np.average(x), np.average(x, axis=1, weights=[1, 2, 3, 4, 5])), X),
    "average returned": (lambda x: np.average(x, axis=0, weights=x * x, returned=True), X),
    "nansum": (lambda x: (np.nansum(x), np.nansum(x, axis=1, keepdims=True), np.nanprod(x, 0)), N),
    "nanmean": (lambda x: (np.nanmean(x), np.nanmean(x, axis=0)), N),
    "nanmean empty row": (lambda x: np.nanmean(x, axis=1), N),
    "nanvar": (lambda x: (np.nanvar(x), np.nanstd(x, axis=1, ddof=1), np.nanvar(x, 0, keepdims=True)), N),
    "nanmax": (lambda x: (np.nanmax(x), np.nanmin(x, axis=0)), N),
    "nanargmax": (lambda x: (np.nanargmax(x), np.nanargmin(x, axis=0)), N),
    "nancumsum": (lambda x: (np.nancumsum(x), np.nancumprod(x, axis=1)), N),
    "nan of ints": (lambda x: (np.nansum(x, 0), np.nanmean(x), np.nanvar(x, 1)), I),
    "cov": (lambda x: (np.cov(x), np.cov(x, rowvar=False, bias=True), np.cov(x, x * x, ddof=0)), X),
    "cov of one": (lambda x: np.cov(x), V),
    "corrcoef": (lambda x: np.corrcoef(x), X),
    # Joining and cutting.
    "stack": (lambda x: (np.stack([x, x], -1), np.stack((x, x + 1), axis=1)), X),
    "vstack": (lambda x: (np.vstack([x, x]), np.hstack([x, x]), np.dstack([x, x]), np.column_stack([x, x])), V),
    "dstack": (lambda x: (np.vstack([x, x]), np.hstack([x, x]), np.dstack([x, x]), np.column_stack([x, x])), X),
    "sums of a dtype": (
        lambda x: (np.sum(x, dtype=np.uint8), np.prod(x, 0, np.int16), np.cumsum(x, dtype=np.int8)),
        np.arange(250, 258).reshape(2, 4).astype(np.uint16),
    ),
    "concatenate dtype": (lambda x: np.concatenate([x, x], axis=None, dtype=np.float32), X),
    "append": (lambda x: (np.append(x, x), np.append(x, x, axis=0)), X),
    "block": (lambda x: np.block([[x, x], [x, x + 1]]), X),
    "block ranks": (lambda x: np.block([x, 1.0, x]), V),
    "split": (lambda x: (np.split(x, 2), np.array_split(x, 3, axis=1), np.split(x, [1, 3])), X),
    "hsplit": (lambda x: (np.hsplit(x, [2]), np.vsplit(x, 2)), X),
    "dsplit": (lambda x: (np.dsplit(x, 2), np.array_split(x, 2)), T),
    "atleast": (lambda x: (np.atleast_1d(x), np.atleast_2d(x), np.atleast_3d(x)), V),
    "atleast 3": (lambda x: (np.atleast_3d(x), np.atleast_2d(x, x)), X),
    # Shapes.
    "rot90": (lambda x: [np.rot90(x, k) for k in range(-1, 5)], X),
    "rot90 axes": (lambda x: np.rot90(x, 1, (2, 0)), T),
    "rollaxis": (lambda x: (np.rollaxis(x, 2), np.rollaxis(x, 0, 3), np.rollaxis(x, 1, 1)), T),
    "roll far": (lambda x: (np.roll(x, 13), np.roll(x, (1, -7), axis=(0, 1)), np.roll(x, 2, (0, 1))), X),
    "tile": (lambda x: (np.tile(x, (2, 1, 3)), np.tile(x, 0)), X),
    "repeat": (lambda x: (np.repeat(x, 2), np.repeat(x, [1, 0, 2, 3], axis=0), np.repeat(x, 3, axis=-1)), X),
    "resize": (lambda x: (np.resize(x, (3, 9)), np.resize(x, 2)), X),
    "broadcast_arrays": (lambda x: np.broadcast_arrays(x, x[0], 1.0), X),
    "flips": (lambda x: (np.flip(x, (0, 2)), np.flipud(x), np.fliplr(x)), T),
    "expand_dims": (lambda x: (np.expand_dims(x, (0, -1)), np.moveaxis(x, (0, 1), (-1, 0))), T),
    "size": (lambda x: (x * np.size(x), x * np.size(x, 1), x * np.ndim(x)), X),
    # Diagonals.
    "tril": (lambda x: (np.tril(x), np.triu(x, 1), np.tril(x, -2)), T),
    "tril of a vector": (lambda x: np.tril(x), V),
    "tril of bools": (lambda x: np.triu(x), B),
    "diag": (lambda x: (np.diag(x), np.diag(x, 1), np.diag(x, -2)), X),
    "diag of a vector": (lambda x: (np.diag(x), np.diag(x, 2), np.diag(x, -1), np.diagflat(x)), V),
    "trace": (lambda x: (np.trace(x), np.trace(x, 1, 2, 0), np.trace(x, dtype=np.float32)), T),
    "diagonal": (lambda x: (np.diagonal(x, 0, 1, 2), np.linalg.diagonal(x, offset=1), np.linalg.trace(x)), T),
    "trace of ints": (lambda x: np.trace(x), I.astype(np.int8)),
    "triangle indices": (lambda x: (x[np.tril_indices_from(x)], x[np.triu_indices_from(x, 1)]), S),
    "fill_diagonal": (lambda x: np.fill_diagonal(x, 3.0), X),
    # Products.
    "vdot": (lambda x: (np.vdot(x, x * 2j), np.vecdot(x, x + 1j), np.vecdot(x, x, axis=0)), C),
    "vecdot": (lambda x: (np.linalg.vecdot(x, x), np.linalg.vecdot(x, x[0], axis=-1)), X),
    "matvec": (lambda x: (np.matvec(x, x[:, 0]), np.vecmat(x[:, :, 0], x)), T),
    "kron": (lambda x: (np.kron(x, x[:2, :3]), np.kron(x, x[0])), X),
    "cross": (lambda x: (np.cross(x[:, :3], x[:, 2:]), np.cross(x[:3], x[1:], axis=0)), X),
    "linalg cross": (lambda x: np.linalg.cross(x[:, :3], x[0, :3]), X),
    "outer": (lambda x: (np.outer(x, x), np.linalg.outer(x, x), np.inner(x, x)), V),
    "tensordot": (lambda x: np.linalg.tensordot(x, x, axes=((0,), (0,))), X),
    "dot out": (lambda x: np.dot(x, x, out=x), S),
    # Norms.
    "vector norms": (lambda x: [np.linalg.norm(x, p) for p in (None, 0, 1, 2, 3, 0.5, np.inf, -np.inf)], V),
    "matrix norms": (lambda x: [np.linalg.norm(x, p) for p in (None, "fro", 1, -1, np.inf, -np.inf)], X),
    "norm axes": (lambda x: (np.linalg.norm(x, axis=(0, 2)), np.linalg.norm(x, 1, (0, 1), True)), T),
    "norm keepdims": (lambda x: np.linalg.norm(x, np.inf, axis=(0, 2), keepdims=True), T),
    "norm complex": (lambda x: (np.linalg.norm(x), np.linalg.norm(x, 1, axis=1)), C),
    "vector_norm": (lambda x: (np.linalg.vector_norm(x), np.linalg.vector_norm(x, axis=(0, 1), ord=3)), T),
    "matrix_norm": (lambda x: (np.linalg.matrix_norm(x), np.linalg.matrix_norm(x, ord=1, keepdims=True)), T),
    "matrix_power": (lambda x: (np.linalg.matrix_power(x, 5), np.linalg.matrix_power(x, 0)), S),
    "multi_dot": (
        lambda x: (
            np.linalg.multi_dot([x, x.T, x]), np.linalg.multi_dot([x[0], x.T, x]), np.linalg.multi_dot([x, x[0]]),
            np.linalg.multi_dot([x[0], x.T, x, x[1]]),
        ),
        X,
    ),
    # Differences.
    "diff": (lambda x: (np.diff(x, prepend=0, append=x[:, :2]), np.diff(x, 0), np.diff(x, axis=0, prepend=1)), X),
    "diff of bools": (lambda x: np.diff(x), B),
    "ediff1d": (lambda x: (np.ediff1d(x), np.ediff1d(x, to_end=[1.0, 2], to_begin=9)), X),
    "gradient": (lambda x: (*np.gradient(x), np.gradient(x, 0.5, axis=1, edge_order=2)), X),
    "gradient uneven": (lambda x: np.gradient(x * x, np.array([0.0, 1, 3, 4, 8]), edge_order=2), V),
    "gradient uneven 1": (lambda x: np.gradient(x, np.array([0.0, 1, 3, 4]), axis=0), X),
    "trapezoid": (lambda x: (np.trapezoid(x), np.trapezoid(x, dx=0.5, axis=0), np.trapezoid(x, [0, 1, 3, 4, 6])), X),
    "interp": (lambda x: (np.interp(x, [-1, 0, 2], [3, 1, 5]), np.interp(x, [-1, 1], [0, 1], left=-7, right=7)), X),
    "interp period": (
        lambda x: (np.interp(x, [3.0, 0.5, 1.25], [1, 2, 4.0], period=2), np.interp(x, [0, 0.25], [1, 5], period=-1.5)),
        X,
    ),
    "correlate": (
        lambda x: [np.correlate(a, b, m) for m in ("full", "same", "valid") for a, b in ((x, x[1:4]), (x[:2], x))],
        V,
    ),
    "correlate complex": (lambda x: (np.correlate(x[0], x[1, :3], "full"), np.correlate(x[0, :2], x[1], "same")), C),
    "unwrap": (lambda x: (np.unwrap(x * 4), np.unwrap(x * 4, axis=0, period=3), np.unwrap(x, 4.0)), X),
    # Padding.
    "pad modes": (lambda x: [np.pad(x, ((1, 2), (3, 2)), m) for m in ("edge", "reflect", "symmetric", "wrap")], X),
    "pad far": (lambda x: [np.pad(x, (7, 12), m) for m in ("edge", "reflect", "symmetric", "wrap")], V),
    "pad constants": (lambda x: np.pad(x, ((1, 0), (2, 1)), constant_values=((1, 2), (3, 4))), X),
    "pad by a statistic": (
        lambda x: [np.pad(x, ((1, 2), (3, 0)), m) for m in ("maximum", "minimum", "mean", "median")],
        X,
    ),
    "pad by a statistic of some": (
        lambda x: (
            np.pad(x, ((1, 2), (3, 0)), "mean", stat_length=2),
            np.pad(x, 2, "maximum", stat_length=((1, 2), (9, 3))),
        ),
        X,
    ),
    "pad ints by a mean": (lambda x: (np.pad(x, 2, "mean"), np.pad(x, 1, "median", stat_length=3)), I),
    "pad by ramps": (
        lambda x: (
            np.pad(x, 3, "linear_ramp"),
            np.pad(x, ((1, 4), (2, 0)), "linear_ramp", end_values=((1, 2), (3, 4))),
        ),
        X,
    ),
    "pad ints by ramps": (lambda x: np.pad(x, 3, "linear_ramp", end_values=20), I),
    "pad turned": (lambda x: [np.pad(x, ((1, 2), (3, 4)), m, reflect_type="odd") for m in ("reflect", "symmetric")], X),
    "pad turned far": (lambda x: [np.pad(x, (7, 12), m, reflect_type="odd") for m in ("reflect", "symmetric")], V),
    "pad a dict": (lambda x: np.pad(x, {-1: (1, 2)}), X),
    # Single elements.
    "isclose": (lambda x: (np.isclose(x, x + 1e-9), np.isclose(x, x[::-1], equal_nan=True), np.allclose(x, x)), N),
    "isclose inf": (lambda x: (np.isclose(x, np.inf), np.isclose(x, -x, rtol=1, atol=2)), SPECIAL),
    "array_equal": (lambda x: (np.array_equal(x, x), np.array_equal(x, x, equal_nan=True)), N),
    "array_equiv": (lambda x: (np.array_equiv(x, x[0]), np.array_equiv(x, x), np.array_equal(x, x[0])), X),
    "nan_to_num": (lambda x: (np.nan_to_num(x), np.nan_to_num(x, nan=1, posinf=2, neginf=3)), SPECIAL),
    "nan_to_num f32": (lambda x: np.nan_to_num(x), SPECIAL.astype(np.float32)),
    "special": (lambda x: (np.signbit(x), np.isposinf(x), np.isneginf(x), np.spacing(x)), SPECIAL),
    "nextafter": (lambda x: (np.nextafter(x, 1.0), np.nextafter(x, -np.inf), np.nextafter(1.0, x)), SPECIAL),
    "nextafter f16": (lambda x: np.nextafter(x, np.float16(0)), SPECIAL.astype(np.float16)),
    "heaviside": (lambda x: np.heaviside(x, 0.5), SPECIAL),
    "modf": (lambda x: np.modf(x), SPECIAL),
    "divmod": (lambda x: (*np.divmod(x, 3), *divmod(x, -2)), I),
    "ldexp": (lambda x: (np.ldexp(x, 3), np.ldexp(x, [0, 1, -2, 3, -1080, 1100, 4, 5])), SPECIAL),
    "degrees": (lambda x: (np.deg2rad(x), np.rad2deg(x), np.degrees(x), np.radians(x)), X),
    "logaddexp2": (lambda x: np.logaddexp2(x, 2 * x), X),
    "round": (lambda x: (np.round(x, 2), np.round(x * 100, -1), np.around(x)), X),
    "round ints": (lambda x: (np.round(x, 2), np.round(x, -1)), I),
    "clip": (lambda x: (np.clip(x, min=0), np.clip(x, max=0.5), np.clip(x, x[0], 1), np.clip(x, None, 1)), X),
    "select": (lambda x: np.select([x > 1, x > 0], [x, x * 2], default=7), X),
    "piecewise": (
        lambda x: (
            np.piecewise(x, [x < 0, x > 1], [-1, lambda v: v * 2]),
            np.piecewise(x[0], x[0] > 0, [lambda v, k: v * k, 3], 2.0),
        ),
        X,
    ),
    "piecewise ints": (lambda x: np.piecewise(x, [x > 3, x > 5], [2.9, -1.5, 7]), I),
    "choose": (lambda x: np.choose(abs(x) % 3, [x, x * 2, -x]), I),
    "isin": (lambda x: (np.isin(x, [1, 2, 3]), np.isin(x, x[0], invert=True)), I),
    "real imag": (lambda x: (np.real(x), np.imag(x), np.isreal(x), np.angle(x, deg=True)), C),
    "polyval": (lambda x: np.polyval([2.0, 0, -1], x), X),
    # Made after others.
    "meshgrid": (lambda x: (*np.meshgrid(x, x[:2]), *np.meshgrid(x[:3], x, x[:2], indexing="ij", sparse=True)), V),
    "likes": (lambda x: (np.zeros_like(x, np.int8), np.ones_like(x, shape=(2, 2)), np.full_like(x, 4, dtype="f4")), X),
    "vander": (lambda x: (np.vander(x), np.vander(x, 3, increasing=True)), V),
    "linspace of tensors": (lambda x: (np.linspace(x, x + 1, 4), np.linspace(x, 9, 3, endpoint=False, axis=-1)), X),
    "logspace of tensors": (lambda x: (np.logspace(x, 1, 3), np.geomspace(x * x + 1, 9.0, 4)), V),
    # Picking.
    "take": (lambda x: (np.take(x, [7, -1], mode="wrap"), np.take(x, [[9, 1]], axis=1, mode="clip")), X),
    "take_along_axis": (
        lambda x: (np.take_along_axis(x, x.argmax(1, keepdims=True), 1), np.take_along_axis(x, I[:2] % 4, axis=0)),
        X,
    ),
    "put_along_axis": (lambda x: np.put_along_axis(x, x.argmax(1, keepdims=True), 0, axis=1), X),
    "put": (lambda x: (np.put(x, [3, -1, 7], [1, 2]), np.put(x, [[33, 21]], 5.0, mode="wrap"))[1], X),
    "put clip": (lambda x: np.put(x[1], [99, 0], [1, 2], "clip"), X),
    "putmask": (lambda x: np.putmask(x, x > 0, 3), X),
    # Arguments of ufuncs.
    "ufunc dtype": (lambda x: (np.add(x, 1, dtype=np.float32), np.sqrt(x * x, dtype=np.float32)), X),
    "ufunc casting": (lambda x: np.multiply(x, x, dtype=np.int32, casting="unsafe"), X),
    "ufunc out where": (lambda x: np.divmod(x, 3, out=(x, x.copy())), X),
    # Parts of numbers.
    "frexp": (np.frexp, np.concatenate([SPECIAL, 2.0 ** np.arange(-1074, 1024, 7), np.nextafter(2.0, [0, 3]), -V])),
    "frexp f32": (np.frexp, np.concatenate([SPECIAL, 2.0 ** np.arange(-149, 128)]).astype(np.float32)),
    "frexp of integers": (np.frexp, I),
    "float_power": (lambda x: (np.float_power(x, 2), np.float_power(x.astype(np.float32), 0.5)), np.abs(I)),
    "bitwise_count": (np.bitwise_count, np.array([0, 1, -1, 255, -128, 2**62, -(2**63), 2**63 - 1])),
    "bitwise_count u8": (np.bitwise_count, np.arange(256, dtype=np.uint8)),
    # Equations.
    "cond": (lambda x: (np.linalg.cond(x), np.linalg.cond(x, -2), np.linalg.cond(x, 1), np.linalg.cond(x, "fro")), S),
    "cond of rows": (np.linalg.cond, X),
    "pinv": (np.linalg.pinv, S),
    "pinv of rows": (lambda x: (np.linalg.pinv(x), np.linalg.pinv(x.T)), X),
    "hermitian": (
        lambda x: (
            np.linalg.pinv(x @ x.T, hermitian=True),
            np.linalg.svd(-x @ x.T, compute_uv=False, hermitian=True),
            np.linalg.matrix_rank(x[:, :2] @ x[:, :2].T, hermitian=True),
        ),
        S,
    ),
    "svd of hermitian": (
        lambda x: (lambda r: (r.U * r.S) @ r.Vh)(np.linalg.svd(x + x.T, hermitian=True)), S),
    "tensorinv": (lambda x: np.linalg.tensorinv(x.reshape(2, 2, 4)), S),
    "tensorsolve": (
        lambda x: (
            np.linalg.tensorsolve(x.reshape(2, 2, 4), x[:2, :2]),
            np.linalg.tensorsolve(x.reshape(2, 4, 2), x[0], axes=(0,)),
        ),
        S,
    ),
    # Order of elements, and bins.
    "order F": (
        lambda x: (x.reshape((6, 4), order="F"), np.reshape(x, (2, -1), order="F"), x.ravel("F"), x.flatten("F")), T
    ),
    "histogram density": (lambda x: np.histogram(x, 5, density=True), X),
    "histogram of edges": (
        lambda x: (
            *np.histogram(x, [-1.0, 0.0, 0.5, 2.0]),
            np.histogram(x, np.array([-1.0, 0.25, 4]), density=True)[0],
            np.histogram(x, x[0].copy() * 0 + np.arange(5.0), weights=x)[0],
        ),
        np.concatenate([X, np.arange(5.0)[None] - 1]),
    ),
    "choose wrap": (lambda x: np.choose(x, [x, -x, x * 2], mode="wrap"), I),
    "ufunc order": (lambda x: (np.add(x, 1, order="C"), np.exp(x, order="K", subok=False)), X),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_function(runner, name):
    f, x = CASES[name]
    runner.same(f, x)


def created_filled(n):
    return np.zeros((n, 2), dtype=np.int8), np.ones(n, order="C"), np.full((n,), 2.5, "f4")


def created_matrices(n):
    return np.eye(n, n + 1, k=1), np.identity(n), np.tri(n, k=-1), np.tri(n, 2, dtype=np.int32)


def created_ranges(n):
    return np.arange(n), np.arange(2, n + 3, 2, dtype=np.float32), np.arange(n, 0, -1)


def created_spaces(n):
    between, step = np.linspace(0, 7, n, retstep=True)
    return between, step, np.linspace(1, n, 4, endpoint=False), np.linspace(0, 2, n, dtype=int)


def created_powers(n):
    return np.logspace(0, 2, n), np.logspace(0, 3, n, base=2.0), np.geomspace(1, 256, n)


def created_coordinates(n):
    return np.indices((n, 2)), *np.indices((2, n), sparse=True)


def created_grids(n):
    i, j = np.mgrid[0:n, 1 : n + 1 : 2]
    return i, j, np.mgrid[1:n], np.mgrid[0:n, 0:1:3j], np.mgrid[0:2, 0:3], *np.ogrid[0:n, 0:3]


def created_rows(n):
    x = np.arange(n) * 0.5
    return np.r_[x, 0, 1:n, [1.0, 2.0]], np.c_[x, x * 2, np.ones((n, 2))], np.r_[0:1:3j, x], np.r_[1:3, 7]


def created_arrays(n):
    return np.array([n, 2.0]), np.array([[n, 1]], dtype=np.float32, ndmin=3)


CREATED = [
    created_filled, created_matrices, created_ranges, created_spaces, created_powers, created_coordinates,
    created_arrays, created_grids, created_rows,
]  # fmt: skip


PRODUCTS_OF_SIZES: dict[str, Any] = {
    "vdot": lambda a, b: np.vdot(a, b),
    "contraction of stacks": lambda a, b: np.einsum("ij,ij->i", np.stack([a.ravel()] * 2), np.stack([b.ravel()] * 2)),
    "vector and matrix": lambda a, b: a.ravel() @ np.stack([b.ravel(), b.ravel()], 1),
    "concatenate": lambda a, b: np.concatenate([a.ravel()[None], b.ravel()[None]]),
    "stack": lambda a, b: np.stack([a.ravel(), b.ravel()], 1),
}


@pytest.mark.parametrize("name", PRODUCTS_OF_SIZES)
def test_sizes_that_are_equal_as_products_of_others(name: str) -> None:
    function = PRODUCTS_OF_SIZES[name]
    compiled = txc.jit(function)
    for left, right in (((3, 4), (2, 6)), ((2, 6), (4, 3)), ((0, 3), (2, 0))):
        a, b = (np.arange(m * n, dtype="f8").reshape(m, n) for m, n in (left, right))
        for got in (compiled(a, b), function(txc.asarray(a), txc.asarray(b))):
            np.testing.assert_allclose(np.asarray(got), function(a, b))
    with pytest.raises((TxcError, ValueError), match="not equal"):
        compiled(np.ones((3, 4)), np.ones((3, 5)))


@pytest.mark.parametrize("f", CREATED)
def test_creation_of_a_size_known_at_run_time(f):
    staged = txc.jit(f)
    for n in (5, 9):
        for found, expected in zip(staged(n), f(n), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-14)
            assert found.dtype == expected.dtype
    assert len(staged.signatures()) == 1


REFUSED = [
    (lambda x: np.busday_count(x, x), "np.busday_count is not supported"),
    (lambda x: np.linalg.lstsq(x[None], x), "np.linalg.lstsq takes a matrix, and a vector or matrix"),
    (lambda x: np.bitwise_count(x), "np.bitwise_count takes integers, not f64["),
    (lambda x: np.linalg.tensorinv(x, 3), "np.linalg.tensorinv: ind=3 splits no dims of f64["),
    (lambda x: np.histogram(x, "auto"), "np.histogram does not take bins='auto'"),
    (lambda x: np.histogram(x, x), "np.histogram does not take bins=<"),
    (lambda x: np.choose(x > 0, [x, x], mode="other"), "np.choose does not take mode='other'"),
    (lambda x: x.reshape(-1, order="B"), "there is no order 'B'"),
    (lambda x: np.pad(x, 1, lambda *a: None), "np.pad does not take mode=<function"),
    (lambda x: np.pad(x, 1, "edge", constant_values=3), "np.pad does not take 'constant_values' with mode='edge'"),
    (lambda x: np.pad(x, 1, "reflect", reflect_type="up"), "np.pad: reflect_type is 'even' or 'odd', not 'up'"),
    (lambda x: np.pad(x, 1, "mean", stat_length=0), "a stat_length of 0 leaves nothing to take the mean of"),
    (lambda x: np.nan_to_num(x, foo=1), "unexpected keyword argument 'foo'"),
    (lambda x: np.interp(x, [0, 1], [2, 3], period=0), "np.interp: the period is not 0"),
    (lambda x: np.linalg.multi_dot([x]), "np.linalg.multi_dot needs at least two arrays"),
    (lambda x: np.linalg.multi_dot([x, x[0], x]), "takes matrices, and vectors at its ends, not f64["),
    (lambda x: np.piecewise(x, [x > 0], [1, 2, 3]), "with 1 conditions, 1 or 2 functions are expected"),
    (lambda x: np.put(x, [0], 1.0, mode="other"), "np.put does not take mode='other'"),
    (lambda x: np.cov(x, fweights=[1, 2]), "np.cov does not take weights here"),
    (lambda x: np.linalg.norm(x, 3), "np.linalg.norm does not take ord=3 for matrices"),
    (lambda x: np.concatenate([x, x], dtype=np.int8), "casting f64 to i8 is not 'same_kind'"),
    (lambda x: np.zeros_like(x, order="F"), "np.zeros_like does not take order='F' here"),
    (lambda x: np.split(x, 3), "4 elements along axis 0 of f64[4, x0.1] are no 3 equal parts"),
    (lambda x: np.max(x, where=x > 0), "maximum does not take 'where' here"),
    (lambda x: np.cross(x, x), "np.cross takes vectors of 2 or 3 elements"),
    (lambda x: np.linalg.matrix_power(x, -1), "-1 is negative, which needs an inverse"),
    (lambda x: np.roll(x, (1, 2, 3), (0, 1)), "np.roll: 3 shifts and 2 axes"),
    (lambda x: np.copyto(x, 2j), "casting c128 to f64 is not 'same_kind'"),
    (lambda x: np.take(x, [1], mode="other"), "np.take does not take mode='other'"),
]


@pytest.mark.parametrize("f, text", REFUSED, ids=range(len(REFUSED)))
def test_what_is_not_taken_is_named(runner, f, text):
    with pytest.raises((TxcError, TypeError)) as caught:
        runner.trace(f, X)
    assert text in str(caught.value)


def test_handlers_take_no_argument_that_numpy_has_not():
    """So that every call can be bound by NumPy's own signature."""
    import inspect

    for f, handler in FUNCTIONS.items():
        if isinstance(f, str):  # of SciPy's (test_scipy_special.py)
            continue
        try:
            known = inspect.signature(f).parameters
        except ValueError:
            continue
        if any(p.kind is p.VAR_KEYWORD for p in known.values()):
            continue
        # Other releases of NumPy name and order some parameters otherwise: those given by position only.
        own = [p.name for p in inspect.signature(handler).parameters.values() if p.kind is not p.POSITIONAL_ONLY]
        assert set(own) - {"newshape", "axis", "dtype", "casting", "a", "x", "object", "ndmin", "copy"} <= set(known), f


@pytest.mark.parametrize("k", [-(1 << 63) - 1, -(1 << 63), (1 << 63) - 2, 1 << 63, 1 << 70])
def test_diagonals_further_away_than_any_size(k: int) -> None:
    np.testing.assert_array_equal(np.asarray(creation.eye(2, 3, k)), np.zeros((2, 3)))
    np.testing.assert_array_equal(np.asarray(creation.tri(2, 3, k)), np.full((2, 3), float(k > 0)))


def test_ufuncs_that_are_ops_are_asked_for_in_the_registry_alone():
    """A call of one does not look into the table, so that no family is imported for it."""
    both = [f for f in FUNCTIONS if isinstance(f, np.ufunc) and find_op_for(f) is not None]
    assert both == [np.float_power]  # f64 whatever its operands, which the dispatcher knows


def rolled(x, c):
    return (
        np.roll(x, c[1], axis=1), np.roll(x, (c[0], c[1]), axis=(0, 1)), np.roll(x, c[:2], axis=(0, 1)),
        np.roll(x, c[2]),
        np.roll(x, c[3] > 0, axis=0), np.roll(x[:0], c[1], axis=0), np.roll(x, c[1] * 2**60),
    )  # fmt: skip


def test_roll_by_elements():
    """Shifts around the extent, of bools, of u64 beyond i64; of what is empty."""
    x, c = np.arange(6.0).reshape(2, 3), np.array([-7, 5, 2, 1])
    for got, expected in zip(txc.jit(rolled)(x, c), rolled(x, c)):
        np.testing.assert_array_equal(got, expected, strict=True)

    def f(x, c):
        return np.roll(x, c[0])

    for n in (2**64 - 1, 2**63 + 1):
        np.testing.assert_array_equal(txc.jit(f)(np.arange(5.0), np.array([n], np.uint64)), np.roll(np.arange(5.0), n))
