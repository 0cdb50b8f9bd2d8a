"""Folds, scans, stores and contractions of complex numbers, in every layout, against NumPy's longdouble.

Maps of complex numbers are in `test_op_matrix_maps.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.frontend.tensor.apply import apply
from txc.compiler.tools.bisect import differing
from txc.dialects.registry import OPS, Scan
from txc.dialects.types import DTYPES

from .generated import PACKED, Program
from .test_op_matrix import ANY_STRIDES, LAYOUTS

SHAPES = [(5, 19), (7, 33), (0, 4), (1, 1)]
COMPLEX = ("c64", "c128")


def numbers(name: str, shape: Any, seed: int, special: bool = True) -> np.ndarray:
    """Parts of all sizes around 1, with zeros of both signs, ones, and numbers on the axes among them."""
    rng = np.random.default_rng(seed)
    part = DTYPES[name].part.numpy
    made = np.empty(shape, DTYPES[name].numpy)
    for which in ("real", "imag"):
        values = rng.uniform(-3, 3, shape) * 2.0 ** rng.integers(-6, 2, shape)
        if special:
            values = np.where(rng.random(shape) < 0.15, rng.choice([0.0, -0.0, 1.0, -1.0, 0.5], shape), values)
        setattr(made, which, values.astype(part))
    return made


#: Sums and products: of 2 n roundings in any order.
FOLDS = ("sum", "prod", "mean")


@pytest.mark.parametrize("which", FOLDS)
def test_fold(which: str) -> None:
    cases = [(name, axis, fact) for name in COMPLEX for axis in (0, 1, (0, 1)) for fact in (PACKED, ANY_STRIDES)]
    with Program(which) as program:
        for name, axis, fact in cases:
            program.outputs.append(apply(which, program.input(numbers(name, (5, 19), 0), fact), dims=axis))
    executable = program.compile()
    for seed, shape in enumerate([(5, 19), (67, 70), (1, 1), (0, 3)]):
        layout = list(LAYOUTS.values())[seed % len(LAYOUTS)]
        given = [numbers(name, shape, seed + i) for i, (name, _, _) in enumerate(cases)]
        if which == "prod":
            given = [np.exp(1j * np.angle(x)).astype(x.dtype) for x in given]
        arrays = [x if c[2] == PACKED else layout(x) for x, c in zip(given, cases)]
        results = [executable(arrays, (), threads) for threads in (1, 2)]
        assert differing(results[0], results[1]) is None
        for x, (name, axis, _), got in zip(given, cases, results[0], strict=True):
            with np.errstate(all="ignore"):
                exact = np.asarray(getattr(np, which)(x.astype(np.clongdouble), axis=axis))
                size = np.asarray(getattr(np, which)(np.abs(x).astype(np.longdouble), axis=axis))
            count = int(np.prod([shape[i] for i in (axis if isinstance(axis, tuple) else (axis,))]))
            eps = float(np.finfo(np.real(x).dtype).eps)
            off = np.abs(got.astype(np.clongdouble) - exact)
            assert got.dtype == x.dtype
            assert (np.isnan(exact) | (off <= 3 * (count + 1) * eps * size)).all(), f"{which} of {name} along {axis}"


@pytest.mark.parametrize("which", ["cumsum", "cumprod"])
def test_scan(which: str) -> None:
    cases = [(name, axis, exclusive) for name in COMPLEX for axis in (0, 1) for exclusive in (False, True)]
    op = OPS[which]
    assert issubclass(op, Scan)
    with Program(which) as program:
        for name, axis, exclusive in cases:
            x = program.input(numbers(name, (5, 19), 0), ANY_STRIDES)
            program.outputs.append(apply(op, x, axis=axis, exclusive=exclusive))
    executable = program.compile()
    for seed, shape in enumerate([(5, 19), (3, 2100), (1, 1), (0, 3)]):
        given = [np.exp(1j * np.angle(numbers(name, shape, seed))).astype(DTYPES[name].numpy) for name, *_ in cases]
        results = [executable(given, (), threads) for threads in (1, 2)]
        assert differing(results[0], results[1]) is None
        for x, (name, axis, exclusive), got in zip(given, cases, results[0], strict=True):
            exact = op.numpy(x, axis=axis, dtype=np.clongdouble)
            if exclusive:
                start = np.full([1 if d == axis else n for d, n in enumerate(shape)], which == "cumprod", x.dtype)
                exact = np.concatenate([start, exact], axis)[: shape[0] if axis == 0 else None, : shape[1]]
            eps = float(np.finfo(np.real(x).dtype).eps)
            count = np.arange(1, shape[axis] + 1).reshape((-1, 1) if axis == 0 else (1, -1))
            assert got.dtype == x.dtype
            assert (np.abs(got - exact) <= 3 * (count + 1) * eps * count).all(), f"{which} of {name} along {axis}"


def test_stores_at_indices() -> None:
    i = np.array([0, 2, 2])
    z, v = numbers("c128", (4, 3), 1, False), numbers("c128", (3, 3), 2, False)

    def f(z: Any, v: Any, i: Any) -> Any:
        stored, added = z.copy(), z.copy()
        stored[i] = v
        np.add.at(added, (slice(None), i), v[0])  # pyright: ignore[reportArgumentType]
        return stored, added

    for got, expected in zip(txc.jit(f)(z, v, i), f(z, v, i), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_contractions() -> None:
    executables = {}
    for columns in (1, 5):
        with Program("contract") as program:
            for name in COMPLEX:
                a, c = (program.input(numbers(name, s, 0), ANY_STRIDES) for s in ((4, 6), (6, columns)))
                program.outputs += [
                    apply("contract", a, c, pairs=((1, 0),)),
                    apply("contract", a, c[:, 0], pairs=((1, 0),)),
                ]
        executables[columns == 1] = program.compile()
    for seed, (m, k, n) in enumerate([(4, 6, 5), (1, 1, 1), (0, 3, 2), (33, 70, 17), (7, 600, 40), (33, 70, 1)]):
        layout = list(LAYOUTS.values())[seed % 3]
        arrays = [layout(numbers(name, s, seed)) for name in COMPLEX for s in ((m, k), (k, n))]
        got = executables[n == 1](arrays, (), 2)
        for x, y, products in zip(arrays[::2], arrays[1::2], zip(got[::2], got[1::2])):
            eps = float(np.finfo(np.real(x).dtype).eps)
            wide, other = x.astype(np.clongdouble), y.astype(np.clongdouble)
            bound = 2 * (k + 2) * eps * (np.abs(wide) @ np.abs(other))
            assert (np.abs(products[0] - wide @ other) <= bound).all()
            assert (np.abs(products[1] - wide @ other[:, 0]) <= bound[:, 0]).all()
