"""Ops with much shorter loops for one size, as Fourier transforms have: the first few sizes have code of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.driver.size_specialization import FEW
from txc.compiler.frontend.lazy import symbolic_shapes

RNG = np.random.default_rng(3)


def numbers(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)


def spectrum(x):
    return np.abs(np.fft.fft(x))


def guards(f: Any) -> list[str]:
    return [line.strip() for line in f.explain_compile().splitlines() if "much shorter" in line]


def test_the_first_lengths_are_numbers_and_the_next_code_is_for_all():
    f = txc.jit(spectrum)
    lengths = [8, 15, 16, 22, 31, 8]
    for n in lengths:
        x = numbers(3, n)
        np.testing.assert_allclose(f(x), spectrum(x), rtol=1e-12, atol=1e-12)
    why = "(the loops of dft are much shorter for one size)"
    assert guards(f) == [f"guard  x.1 == {n}  {why}" for n in lengths[:FEW]]
    assert f.explain_compile().count("compiled because") == FEW + 1


def test_rows_compile_once():
    f = txc.jit(spectrum)
    for rows in (2, 5, 64):
        x = numbers(rows, 12)
        np.testing.assert_allclose(f(x), spectrum(x), rtol=1e-12, atol=1e-12)
    assert f.explain_compile().count("compiled because") == 1


def test_a_length_that_is_computed_of_sizes():
    f = txc.jit(lambda x: np.fft.irfft(np.fft.rfft(x[1:]) * 2))
    for n in (9, 13, 9):
        x = RNG.standard_normal((2, n, 3))
        np.testing.assert_allclose(f(x), np.fft.irfft(np.fft.rfft(x[1:]) * 2, axis=-1), rtol=1e-12, atol=1e-12)


def test_lengths_that_a_loop_varies_stay_symbols():
    def f(x):
        out = np.zeros(len(x))
        for i in range(1, len(x)):
            out[i] = np.abs(np.fft.fft(x[:i])).max()
        return out

    jitted, x = txc.jit(f), RNG.standard_normal(20)
    np.testing.assert_allclose(jitted(x), f(x), rtol=1e-12)
    assert guards(jitted) == []


def lengths_of_vectors(x, w):
    return np.sqrt((x * x).sum(-1)) + x @ w


def test_the_first_lengths_of_many_short_rows_are_numbers():
    """Pixels and points; a few rows have code for any length."""
    for rows, n in ((10, 3), (20000, 3)):
        f = txc.jit(lengths_of_vectors)
        x, w = RNG.integers(-4, 5, (rows, n)).astype("f4"), np.arange(n, dtype="f4")
        np.testing.assert_array_equal(f(x, w), lengths_of_vectors(x, w))
        guard = "guard  x.1 == 3  (the loops of sum are much shorter for one size)"
        assert guards(f) == [guard] * (rows > 10)


def test_matrices_and_columns_stay_symbols():
    f = txc.jit(lambda x, w: x.sum(0) @ w + x @ w)
    x, w = RNG.integers(-4, 5, (20000, 3)).astype("f4"), np.ones((3, 17), "f4")
    np.testing.assert_array_equal(f(x, w), x.sum(0) @ w + x @ w)
    assert guards(f) == []


def test_sizes_of_small_matrices_are_numbers_where_many_rows_or_many_of_them_are_multiplied():
    rows, w = RNG.integers(-4, 5, (20000, 3)).astype("f4"), np.ones((3, 2), "f4")
    for left, right, known in (
        (rows, w, ["x.1 == 3", "w.1 == 2"]), (rows[:100], w, []), (w.T, rows.T, ["x.1 == 3", "x.0 == 2"]),
        (rows[:18000].reshape(-1, 2, 3), np.repeat(w[None], 9000, 0), []),
        (rows[:18000].reshape(2, -1, 3), np.repeat(w[None], 2, 0), ["x.2 == 3", "w.2 == 2"]),
    ):  # fmt: skip
        f = txc.jit(lambda x, w: x @ w)
        np.testing.assert_array_equal(f(left, right), left @ right)
        assert guards(f) == [f"guard  {fact}  (the loops of contract are much shorter for one size)" for fact in known]


def test_what_few_rows_compiled_is_not_for_many():
    """Of a function that is called with a few rows first, as to try it out."""
    f, w = txc.jit(lengths_of_vectors), np.arange(3, dtype="f4")
    for rows in (2, 64, 20000, 10, 30000):
        x = RNG.integers(-4, 5, (rows, 3)).astype("f4")
        np.testing.assert_array_equal(f(x, w), lengths_of_vectors(x, w))
    assert guards(f) == ["guard  x.1 == 3  (the loops of sum are much shorter for one size)"]
    assert "guard  x.0 < 16384  (more have code for one size of sum)" in f.explain_compile()
    assert f.explain_compile().count("compiled because") == 2


def test_sizes_of_many_small_matrices_are_numbers():
    for count, n, known in ((20000, 2, ["x.1 == 2", "w.1 == 1"]), (100, 2, []), (20000, 9, [])):
        x, w = np.broadcast_to(np.eye(n), (count, n, n)).copy(), np.ones((n, 1))
        f = txc.jit(lambda x, w: np.linalg.solve(x, w))
        np.testing.assert_array_equal(f(x, w), np.ones((count, n, 1)))
        assert guards(f) == [f"guard  {fact}  (the loops of eliminate are much shorter for one size)" for fact in known]


def test_the_knob(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TXC_SPECIALIZE", "0")
    given = txc.jit(spectrum).graph(numbers(3, 8)).inputs[0].value
    assert given is not None and given.type.dims[1].const is None


def test_lazy_expressions(monkeypatch: pytest.MonkeyPatch):
    """The first sizes of a process are numbers, and others are right, too."""
    monkeypatch.setattr(symbolic_shapes, "_fixed_sizes", set())
    monkeypatch.setattr(symbolic_shapes, "FEW", 2)
    for n in (6, 9, 10, 6):
        x = RNG.standard_normal((2, n))
        np.testing.assert_allclose(np.asarray(np.fft.fft(txc.asarray(x))), np.fft.fft(x), rtol=1e-12, atol=1e-12)
    assert len(symbolic_shapes._fixed_sizes) == 2
