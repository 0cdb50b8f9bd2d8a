"""Reductions folded by their own `element`, `combine` and `finish`, in several groupings, against NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.interpret.scalar import NumpyScalarBuilder
from txc.dialects import ops as _ops  # noqa: F401
from txc.dialects.registry import OPS, OpError, Reduction
from txc.dialects.scalar.language import Value
from txc.dialects.types import DTYPES, dtype, tensor_type

Accumulators = tuple[Value, ...]
#: But for the one whose body is a parameter (`test_custom_folds.py`).
SINGLE = [n for n, o in OPS.items() if issubclass(o, Reduction) and o.results == 1 and n != "fold"]


def reduction(name: str) -> type[Reduction]:
    found = OPS[name]
    assert issubclass(found, Reduction)
    return found


def fold(op: type[Reduction], x: np.ndarray, groups: int) -> list[np.ndarray]:
    """Fold a vector in interleaved groups, each from the identity, and merge these in order."""
    b = NumpyScalarBuilder()
    element = dtype(x.dtype)

    def start() -> Accumulators:
        return tuple(b.constant(v, d) for v, d in zip(op.identity(element), op.accumulators(element)))

    def run(numbers: Sequence[int], accumulators: Accumulators) -> Accumulators:
        for k in numbers:
            value = op.map_element(b, b.value(x[k]), b.constant(k, DTYPES["i64"]))
            accumulators = op.combine(b, accumulators, value)
        return accumulators

    parts = [run(range(g, len(x), groups), start()) for g in range(groups)]
    total = parts[0]
    for part in parts[1:]:
        total = op.combine(b, total, part)
    return [v.ref for v in op.finalize(b, total, element)]


def samples(name: str, element: str, nan: bool) -> np.ndarray:
    rng = np.random.default_rng(11)
    kind = DTYPES[element].kind
    if kind == "bool":
        return rng.random(23) < 0.7
    if kind in ("int", "uint"):
        return rng.integers(1, 9, 23).astype(DTYPES[element].numpy)
    x = rng.integers(-8, 9, 23).astype(DTYPES[element].numpy) / 4
    if nan:
        x[[7, 15]] = np.nan
    return x


@pytest.mark.parametrize("groups", [1, 2, 5])
@pytest.mark.parametrize("element", ["bool", "i8", "u8", "i64", "u64", "f16", "f32", "f64"])
@pytest.mark.parametrize("name", SINGLE)
def test_folds_to_numpys_result(name: str, element: str, groups: int):
    op = reduction(name)
    if DTYPES[element].kind not in op.dtypes:
        with pytest.raises(OpError, match="is not defined on"):
            op.infer([tensor_type(element, [3])], {"dims": (0,)})
        return
    for nan in (False, True) if DTYPES[element].is_float and "fast" not in name else (False,):
        x = samples(name, element, nan)
        (got,) = fold(op, x, groups)
        (expected,) = op.evaluate([x], {"dims": (0,)})
        assert got.dtype == expected.dtype
        if op.exact(DTYPES[element]) or name not in ("sum", "prod", "logsumexp"):
            assert np.array_equal(got, expected, equal_nan=got.dtype.kind == "f")
        else:
            tolerance = 40 * float(np.finfo(x.dtype).eps)
            assert np.allclose(got, expected, rtol=tolerance, equal_nan=True)


@pytest.mark.parametrize("name", [*SINGLE, "minmax"])
@pytest.mark.parametrize("element", ["f32", "f64", "i32", "bool"])
def test_the_identity_changes_nothing(name: str, element: str):
    op = reduction(name)
    if DTYPES[element].kind not in op.dtypes:
        return
    b = NumpyScalarBuilder()
    values = [0.0, -0.0, 1.5, -1.5, np.inf, -np.inf] if DTYPES[element].is_float else [0, 1]
    # The one-instruction extremes promise nothing for NaN.
    values += [np.nan] if DTYPES[element].is_float and not name.endswith("_fast") else []
    x = b.value(np.array(values).astype(DTYPES[element].numpy))
    accumulators = op.map_element(b, x, b.constant(3, DTYPES["i64"]))
    identity = tuple(b.constant(v, d) for v, d in zip(op.identity(DTYPES[element]), op.accumulators(DTYPES[element])))
    for merged in (op.combine(b, accumulators, identity), op.combine(b, identity, accumulators)):
        for before, after in zip(accumulators, merged):
            same = (before.ref == after.ref) & (np.signbit(before.ref + 0.0) == np.signbit(after.ref + 0.0))
            assert (same | (before.ref != before.ref) & (after.ref != after.ref)).all(), name


def test_minmax_gives_both_in_one_pass():
    x = np.array([3.0, -2.0, 7.0, 0.0])
    assert [float(v) for v in fold(reduction("minmax"), x, 2)] == [-2.0, 7.0]
    assert all(np.isnan(v) for v in fold(reduction("minmax"), np.array([1.0, np.nan, 2.0]), 2))
    results = reduction("minmax").infer([tensor_type("f32", [4, 5])], {"dims": (1,)})
    assert [str(t) for t in results] == ["f32[4]", "f32[4]"]


def test_argmax_takes_the_lowest_number_and_the_first_nan():
    argmax, argmin = reduction("argmax"), reduction("argmin")
    assert fold(argmax, np.array([1.0, 5.0, 5.0, 2.0]), 2)[0] == 1
    assert fold(argmax, np.array([1.0, np.inf, np.nan, np.nan]), 3)[0] == 2
    assert fold(argmin, np.array([np.nan, -np.inf]), 2)[0] == 0
    assert fold(argmin, np.array([0.0, -0.0]), 1)[0] == 0
    assert argmax.evaluate([np.arange(24.0).reshape(2, 3, 4)], {"dims": (0, 2)})[0].tolist() == [7, 7, 7]


def test_extremes_of_nothing_are_refused():
    with pytest.raises(OpError, match="maximum of zero elements has no value"):
        reduction("maximum").infer([tensor_type("f32", [0, 3])], {"dims": (0,)})


def numbers(x: Any):
    return x.maximum([1], nan="numbers"), x.minimum([1], nan="numbers"), x.maximum(nan="numbers")


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_extremes_of_nan_alone_are_eigens_identities(dtype: str):
    x = np.array([[np.nan, np.nan], [1, np.nan]], dtype)
    module = txc.compile_source(
        f"def f(x: f{8 * x.itemsize}[n, m]):\n"
        '    return x.maximum([1], nan="numbers"), x.minimum([1], nan="numbers"), x.maximum(nan="numbers")\n'
    )
    for found in (numbers(txc.asarray(x)), txc.jit(numbers)(x), module.f(x)):
        assert [np.asarray(r).tolist() for r in found] == [[-np.inf, 1], [np.inf, 1], 1]
        assert all(r.dtype == x.dtype for r in found)
    # NumPy's functions of the same elements say NaN.
    for largest in (np.nanmax, np.fmax.reduce):
        np.testing.assert_array_equal(np.asarray(txc.jit(lambda x, f=largest: f(x[0]))(x)), np.nan)


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", "u2", "f4"])
def test_extremes_of_no_elements_are_eigens_identities(dtype: str):
    x = np.zeros((2, 0), dtype)
    low, high = (-np.inf, np.inf) if x.dtype.kind == "f" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for found in (numbers(txc.asarray(x)), txc.jit(numbers)(x)):
        assert [np.asarray(r).tolist() for r in found] == [[low] * 2, [high] * 2, low]


def of_no_rows(x: Any) -> Any:
    return x[:0].sum(0), x[:0].astype(np.int64).sum(0)


def test_sums_across_rows_of_which_a_program_says_that_there_are_none():
    x = np.ones((5, 5))
    for found, expected in zip(txc.jit(of_no_rows)(x), of_no_rows(x), strict=True):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
