# pyright: reportCallIssue=false, reportArgumentType=false
"""sinc, i0, unwrap, lexsort and correlate beside NumPy's: dtypes, empty and single elements, all modes."""

from __future__ import annotations

import numpy as np
import pytest

import txc

RNG = np.random.default_rng(31)
FUNCTIONS = {
    "sinc": lambda x: np.sinc(x),
    "i0": lambda x: np.i0(x),
    "unwrap": lambda x: (np.unwrap(x), np.unwrap(x, 2.0), np.unwrap(x, period=5)),
    "lexsort": lambda x: (np.lexsort((x, -x)), np.lexsort(np.stack([x, -x])), np.lexsort((x,))),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("element", ["f8", "f4", "f2", "i8", "i1"])
def test_vectors_of_any_length_compile_once(name, element):
    if element == "f2" and name in ("i0", "unwrap"):
        pytest.skip("NumPy rounds each step to half precision, which overflows or drifts")
    f = FUNCTIONS[name]
    compiled = txc.jit(lambda x: f(x))
    for n in (5, 9, 40):
        x = (RNG.standard_normal(n) * 6).astype(element)
        found, expected = ((r if isinstance(r, tuple) else (r,)) for r in (compiled(x), f(x)))
        for got, e in zip(found, expected, strict=True):
            assert got.dtype == e.dtype
            rtol = {"f2": 4e-3, "f4": 2e-5}.get(element, 1e-12)
            np.testing.assert_allclose(got, e, rtol=rtol, atol=rtol)
    assert len(compiled.signatures()) == 1


@pytest.mark.parametrize("kinds", ["ff", "cf", "fc", "cc", "if"])
def test_correlations_of_all_modes_and_lengths(kinds):
    def f(a, v):
        return [np.correlate(a, v, mode) for mode in ("full", "same", "valid")]

    compiled = txc.jit(f)
    for m, n in ((7, 3), (3, 7), (4, 4), (5, 1), (1, 5), (1, 1), (8, 4), (4, 8)):
        a, v = (_vector(kind, size) for kind, size in zip(kinds, (m, n)))
        for got, expected in zip(compiled(a, v), f(a, v), strict=True):
            assert got.dtype == expected.dtype and got.shape == expected.shape
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def _vector(kind, size):
    x = RNG.standard_normal(size) * 5
    return x.astype("i8") if kind == "i" else x + 1j * x[::-1] if kind == "c" else x


def test_lists_of_sizes_are_arrays():
    compiled = txc.jit(lambda x: txc.asarray([[len(x), 1], [2, x.size * 3]]))
    for n in (3, 5):
        got = compiled(np.ones(n))
        np.testing.assert_array_equal(got, [[n, 1], [2, 3 * n]])
        assert got.dtype == np.int64
