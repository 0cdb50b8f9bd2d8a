"""Quotients by an inverse and a correction (`compiler/codegen/cpu/reciprocal_divide.py`) are those of the processor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.codegen.cpu.reciprocal_divide import inverse_of
from txc.compiler.codegen.target.llvm_backend import host_target
from txc.compiler.interpret.scalar import NumpyScalarBuilder


def by_rows(x: Any, d: Any) -> Any:
    """Each row by the largest of some numbers, which keeps the divider busy while the row is in a cache."""
    return x / np.max(d, axis=1, keepdims=True)


def assert_same_bits(x: np.ndarray, d: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        expected = x / d[:, None]
    got = txc.jit(by_rows)(x, np.stack([d, d], axis=1))
    assert np.array_equal(np.isnan(got), np.isnan(expected))
    exact = ~np.isnan(expected)
    assert np.array_equal(got[exact].view("u8"), expected[exact].view("u8"))


def nearly_between(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Divisors, and for each dividends of which the quotients are nearest to the middle of two floats.

    With an odd divisor d and a small odd r, ``N = r/d`` modulo 2**54 is odd, so ``x = (N*d - r) / 2**54`` is an integer
    and ``x/d`` is, but for ``r/d``, the N-th part of 2**54, which is the middle of two floats where N has 54 bits.
    """
    random, x, divisors = np.random.default_rng(5), np.zeros((rows, columns)), np.zeros(rows)
    for i in range(rows):
        d = int(random.integers(2**52, 2**53)) | 1
        inverse, found, r = pow(d, -1, 2**54), list[int](), 1
        while len(found) < columns:
            for signed in (r, -r):
                n = signed * inverse % 2**54
                if n >= 2**53:
                    found.append((n * d - signed) >> 54)
            r += 2
        x[i], divisors[i] = found[:columns], d
    return x, divisors


@pytest.mark.skipif(not host_target().has("avx512f"), reason="only vectors as long as a line go this way")
def test_this_machine_goes_by_inverses():
    x, d = np.ones((3, 4)), np.ones((3, 2))
    assert "reciprocal" in str(txc.jit(by_rows).lower(x, d).as_text("loops"))
    assert "reciprocal" not in str(txc.jit(by_rows).lower(x.astype("f4"), d.astype("f4")).as_text("loops"))


@pytest.mark.parametrize("scale", [1.0, -1.0, 2.0**-830, 2.0**-860, 2.0**740, 2.0**-1070])
def test_quotients_nearest_to_the_middle_of_two_floats(scale: float):
    x, d = nearly_between(200, 61)
    assert_same_bits(x * scale, d)
    assert_same_bits(x * scale, -d * 2.0**-60)


def test_quotients_before_they_reach_a_processor():
    x, d = nearly_between(200, 61)
    x = np.concatenate([x, np.random.default_rng(6).integers(2**52, 2**53, x.shape).astype("f8")], axis=1)
    b, divisors = NumpyScalarBuilder(), np.broadcast_to(d[:, None], x.shape)
    assert np.array_equal(b.array(inverse_of(b, b.value(divisors)).quotient(b, b.value(x))), x / divisors)


def test_quotients_of_all_exponents_and_of_what_is_not_finite():
    """Both signs, subnormal numbers, zeros, infinities and NaNs among them, as dividends and as divisors."""
    spread = (np.arange(2**11, dtype="u8") * np.array(2**53 - 12345678901, "u8")).view("f8")
    edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 2.0**100, 2.0**-100, 2.0**800, 2.0**-800, 5e-324])
    edges = np.concatenate([edges, np.nextafter(edges, 0), np.nextafter(edges, np.inf)])
    d = np.concatenate([spread[::7], edges])
    assert_same_bits(np.tile(np.concatenate([spread, edges]), (len(d), 1)), d)


@pytest.mark.parametrize("columns", [1, 7, 8, 9, 31, 50, 209])
def test_rows_with_zeros_and_of_any_length(columns: int):
    x = np.random.default_rng(7).standard_normal((40, columns))
    x[::3, ::2] = 0.0
    assert_same_bits(x, x[:, 0] + 3.0)
