"""`fma` of arrays and the casts that must round once, against exact rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from txc.compiler.interpret.scalar import cast_array
from txc.dialects.types import DTYPES
from txc.runtime.fma import fma


def nearest(exact: Fraction, digits: int, lowest: int, highest: int) -> float:
    """`exact` rounded to nearest even, with `digits` significant bits and the exponents of a binary format."""
    if exact == 0:
        return 0.0
    exponent = math.frexp(abs(exact.numerator) / exact.denominator)[1] if _in_range(exact) else _exponent(exact)
    step = Fraction(2) ** max(exponent - digits, lowest)
    rounded = round(exact / step) * step
    return float(rounded) if abs(rounded) < Fraction(2) ** highest else math.copysign(math.inf, 1 if exact > 0 else -1)


def _in_range(exact: Fraction) -> bool:
    return Fraction(2) ** -1000 < abs(exact) < Fraction(2) ** 1000


def _exponent(exact: Fraction) -> int:
    e = abs(exact.numerator).bit_length() - exact.denominator.bit_length()
    return e + 1 if abs(exact) >= Fraction(2) ** e else e


def draw(dtype: type, spread: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    mantissa = rng.uniform(1, 2, 1500) * rng.choice([-1, 1], 1500)
    # Sparse significands make ties and exact results likely.
    mantissa = np.where(rng.random(1500) < 0.4, np.round(mantissa * 64) / 64, mantissa)
    return np.ldexp(mantissa, rng.integers(-spread, spread + 1, 1500)).astype(dtype)


@pytest.mark.parametrize(
    ("dtype", "spread"), [(np.float32, 3), (np.float32, 60), (np.float64, 3), (np.float64, 60), (np.float64, 500)]
)
def test_fma_is_rounded_once(dtype: type, spread: int):
    x, y = draw(dtype, spread, 1), draw(dtype, spread, 2)
    z = draw(dtype, 2 * spread if spread < 60 else spread, 3)
    # Addends that cancel most of the product, where a doubly rounded one is visibly wrong.
    with np.errstate(all="ignore"):
        z = np.where(np.arange(z.size) % 3 == 0, -(x * y), z).astype(dtype)
    limits = (24, -149, 128) if dtype is np.float32 else (53, -1074, 1024)
    got = fma(x, y, z)
    finite = np.isfinite(z)
    expected = [nearest(Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c)), *limits)
                for a, b, c in zip(x[finite], y[finite], z[finite])]  # fmt: skip
    assert np.array_equal(got[finite], np.array(expected, dtype))


def test_fma_differs_from_two_roundings_somewhere():
    x = np.array([1 + 2.0**-30])
    assert fma(x, x, np.array([-1.0]))[0] != (x * x - 1.0)[0]


def test_fma_of_infinities_zeros_and_extreme_exponents():
    big, tiny, inf = np.float64(1.7e308), np.float64(5e-324), np.inf
    cases = [(big, 2.0, -inf, -inf), (big, 2.0, -big, big), (inf, 0.0, 1.0, np.nan), (0.0, -1.0, 0.0, 0.0),
             (0.0, -1.0, -0.0, -0.0), (tiny, 0.5, 0.0, 0.0), (tiny, 0.75, 0.0, tiny), (tiny, -0.5, 0.0, -0.0),
             (1.0, 1.0, -1.0, 0.0), (big, big, big, inf), (-big, big, 1.0, -inf)]  # fmt: skip
    for x, y, z, expected in cases:
        got = fma(np.array(x), np.array(y), np.array(z))
        assert np.array_equal(got, expected, equal_nan=True), (x, y, z)
        assert np.isnan(expected) or np.signbit(got) == np.signbit(expected), (x, y, z)


def test_bf16_and_f16_are_rounded_once_from_f64():
    one, step = 1.0, 2.0**-7
    just_above = np.array([one + step / 2 + 2.0**-40, one + step / 2 - 2.0**-40, one + step / 2])
    assert cast_array(just_above, DTYPES["bf16"]).astype(float).tolist() == [one + step, one, one]
    assert cast_array(-just_above, DTYPES["bf16"]).astype(float).tolist() == [-one - step, -one, -one]
    half = np.array([one + 2.0**-11 + 2.0**-40, one + 2.0**-11])
    assert cast_array(half, DTYPES["f16"]).tolist() == [one + 2.0**-10, one]


def test_bf16_is_rounded_once_from_integers():
    whole = 1 << 40
    between = np.array([whole + (whole >> 8) + 1, whole + (whole >> 8), whole + (whole >> 8) - 1], np.int64)
    got = cast_array(between, DTYPES["bf16"])
    assert got.dtype == ml_dtypes.bfloat16
    assert got.astype(float).tolist() == [whole + (whole >> 7), whole, whole]
    assert cast_array(np.array([-1, 2**63 - 1], np.int64), DTYPES["bf16"]).astype(float).tolist() == [-1.0, 2.0**63]


@pytest.mark.parametrize("narrow", ["f16", "bf16"])
def test_every_half_width_value_survives(narrow: str):
    bits = np.arange(2**16, dtype=np.uint16)
    values = bits.view(DTYPES[narrow].numpy)
    numbers = ~np.isnan(values.astype(np.float32))
    for wide in ("f32", "f64"):
        back = cast_array(cast_array(values, DTYPES[wide]), DTYPES[narrow])
        assert np.array_equal(back.view(np.uint16)[numbers], bits[numbers])
