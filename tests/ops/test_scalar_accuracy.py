"""Every elementary function within its stated ulp of mpmath, with and without FMA; NumPy's special values exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from txc.compiler.interpret.scalar import NumpyScalarBuilder
from txc.dialects import ops as _ops  # noqa: F401
from txc.dialects.registry import OPS, Map

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 1e-310, -1e-310, 5e-324, 1e-40, 1e30,
           -1e30, 1e300, -1e300, 100.0, -100.0, 745.0, -745.0]  # fmt: skip


@dataclass(frozen=True)
class Case:
    """What to compare an op with, and from where its arguments are drawn (`logarithmic`: exp of that, either sign)."""

    reference: Callable[[Any], Any]
    ranges: tuple[tuple[float, float], ...]
    logarithmic: tuple[tuple[float, float], ...] = ()


CASES: dict[str, Case] = {
    "exp": Case(mp.exp, ((-2, 2), (-87, 88), (-745, 709))),
    "exp2": Case(lambda x: mp.power(2, x), ((-2, 2), (-148, 127), (-1074, 1023))),
    "expm1": Case(mp.expm1, ((-2, 2), (-50, 88)), ((-40, 0),)),
    "log": Case(mp.log, ((0.5, 2),), ((-80, 80),)),
    "log2": Case(lambda x: mp.log(x) / mp.log(2), ((0.5, 2),), ((-80, 80),)),
    "log10": Case(mp.log10, ((0.5, 2),), ((-80, 80),)),
    "log1p": Case(mp.log1p, ((-0.99, 2),), ((-40, 80),)),
    "tanh": Case(mp.tanh, ((-3, 3), (-30, 30)), ((-40, 0),)),
    "sinh": Case(mp.sinh, ((-3, 3), (-88, 88)), ((-40, 0),)),
    "cosh": Case(mp.cosh, ((-3, 3), (-88, 88))),
    "sigmoid": Case(lambda x: 1 / (1 + mp.exp(-x)), ((-5, 5), (-80, 80))),
    "asinh": Case(mp.asinh, ((-3, 3),), ((-40, 80),)),
    "acosh": Case(mp.acosh, ((1, 10),), ((0, 80),)),
    "atanh": Case(mp.atanh, ((-1, 1),), ((-40, 0),)),
    "sin": Case(mp.sin, ((-7, 7), (-8e5, 8e5)), ((13, 88),)),
    "cos": Case(mp.cos, ((-7, 7), (-8e5, 8e5)), ((13, 88),)),
    "tan": Case(mp.tan, ((-7, 7), (-8e5, 8e5)), ((13, 88),)),
    "asin": Case(mp.asin, ((-1, 1),), ((-40, 0),)),
    "acos": Case(mp.acos, ((-1, 1),), ((-40, 0),)),
    "atan": Case(mp.atan, ((-5, 5),), ((-40, 80),)),
    "erf": Case(mp.erf, ((-1.2, 1.2), (-6, 6)), ((-40, 0),)),
    "erfc": Case(mp.erfc, ((-1.2, 1.2), (-6, 9), (3.83, 3.84), (9, 26))),
    "cbrt": Case(lambda x: mp.sign(x) * mp.cbrt(abs(x)), ((-9, 9),), ((-80, 80), (-103, -80))),
    "rsqrt": Case(lambda x: 1 / mp.sqrt(x), ((0.1, 10),), ((-80, 80),)),
}
#: Without FMA a product is rounded on its own: the stated error grows by at most this factor.
WITHOUT_FMA = 1.15


def map_op(name: str) -> type[Map]:
    found = OPS[name]
    assert issubclass(found, Map)
    return found


def run(name: str, *arrays: np.ndarray, has_fma: bool = True) -> np.ndarray:
    b = NumpyScalarBuilder(has_fma)
    return map_op(name).build(b, *(b.value(a) for a in arrays)).ref


def ulps(got: np.ndarray, exact: list[Any]) -> np.ndarray:
    """Errors in units in the last place of the rounded exact values; those out of range must match as they are."""
    wide = got.dtype.type
    found = []
    for g, e in zip(got, exact):
        with np.errstate(over="ignore"):
            near = wide(float(e))
        if np.isfinite(near) and np.isfinite(g):
            found.append(float(abs(mp.mpf(float(g)) - e) / mp.mpf(float(np.spacing(abs(near))))))
        else:
            found.append(0.0 if near == g else np.inf)
    return np.array(found)


def arguments(case: Case, dtype: type, positive: bool, count: int = 150) -> np.ndarray:
    rng = np.random.default_rng(20)
    drawn = [rng.uniform(low, high, count) for low, high in case.ranges]
    for low, high in case.logarithmic:
        drawn.append(np.exp(rng.uniform(low, high, count)) * (1 if positive else rng.choice([-1, 1], count)))
    return np.concatenate(drawn).astype(dtype)


@pytest.mark.parametrize("has_fma", [True, False], ids=["fma", "no-fma"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_error_is_within_the_stated_ulp(name: str, dtype: type, has_fma: bool):
    case = CASES[name]
    stated = map_op(name).ulp
    assert stated is not None
    x = arguments(case, dtype, positive=name in ("log", "log2", "log10", "log1p", "acosh", "rsqrt"))
    with mp.workprec(1200 if name in ("sin", "cos", "tan") else 200):
        errors = ulps(run(name, x, has_fma=has_fma), [mp.mpf(case.reference(mp.mpf(float(v)))) for v in x])
    assert errors.max() <= stated * (1 if has_fma else WITHOUT_FMA), x[errors.argmax()]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", [n for n in CASES])
def test_special_values_are_numpys(name: str, dtype: type):
    with np.errstate(all="ignore"):
        x = np.array(SPECIAL).astype(dtype)
        expected = np.asarray(map_op(name).numpy(x)).astype(dtype)
    got = run(name, x)
    with np.errstate(all="ignore"):
        close = np.abs(got - expected) <= 6 * np.spacing(np.abs(expected))
    same = (got == expected) & (np.signbit(got) == np.signbit(expected)) | np.isnan(got) & np.isnan(expected)
    assert (same | close & (expected != 0)).all(), x[~(same | close)]


@pytest.mark.parametrize("name", CASES)
def test_half_width_floats_are_rounded_once_from_f32(name: str):
    half = np.arange(0, 2**16, 37, dtype=np.uint16).view(np.float16)
    assert np.array_equal(run(name, half), run(name, half.astype(np.float32)).astype(np.float16), equal_nan=True)


@pytest.mark.parametrize("has_fma", [True, False], ids=["fma", "no-fma"])
@pytest.mark.parametrize(("name", "most"), [("sin", 0.625), ("cos", 0.625), ("tan", 2.0)])
def test_waves_of_f32_by_short_polynomials(name: str, most: float, has_fma: bool):
    """Of all exponents, and next to the zeros and poles, where f64's own functions are exact enough to compare with."""
    spread = np.arange(0, 0x7F800000, 7919, dtype=np.uint32).view(np.float32)
    zeros = (np.arange(1, 2**18) * (np.pi / 2)).astype(np.float32)
    x = np.concatenate([spread, zeros, np.nextafter(zeros, np.float32(0)), -spread])
    exact = map_op(name).numpy(x.astype(float))
    got = run(name, x, has_fma=has_fma)
    assert (np.abs(got - exact) / np.spacing(np.abs(exact).astype(np.float32))).max() < most
    assert np.array_equal(np.signbit(got[-len(spread) :]), np.signbit(got[: len(spread)]) ^ (name != "cos"))


@pytest.mark.parametrize("has_fma", [True, False], ids=["fma", "no-fma"])
def test_powers_of_f32_are_nearly_rounded(has_fma: bool):
    rng = np.random.default_rng(2)
    x = np.concatenate([np.exp(rng.uniform(-103, 88, 20000)), 1 + rng.normal(size=20000) * 1e-5]).astype(np.float32)
    x = x[(x != 1) & (x > 0)]
    y = (rng.uniform(-125, 127, x.size) / np.log2(x.astype(float))).astype(np.float32)
    exact = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
    errors = np.abs(run("pow", x, y, has_fma=has_fma) - exact) / np.spacing(exact.astype(np.float32))
    assert errors.max() < 0.54


@pytest.mark.parametrize("has_fma", [True, False], ids=["fma", "no-fma"])
def test_cube_roots_are_nearly_rounded_over_three_binades(has_fma: bool):
    for first in (0, 63 << 23, 127 << 23, 252 << 23):
        x = np.arange(first, first + (3 << 23), 97, dtype=np.uint32).view(np.float32)
        exact = np.cbrt(x.astype(float))
        assert (np.abs(run("cbrt", x, has_fma=has_fma) - exact) / np.spacing(exact.astype(np.float32))).max() < 0.501


@pytest.mark.parametrize("has_fma", [True, False], ids=["fma", "no-fma"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pow_is_accurate_where_the_exponent_magnifies_the_logarithm(dtype: type, has_fma: bool):
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.uniform(0.5, 2, 200), np.exp(rng.uniform(-80, 80, 200))]).astype(dtype)
    largest = 700 if dtype is np.float64 else 86
    y = (rng.uniform(-largest, largest, x.size) / np.log(x.astype(float))).astype(dtype)
    with mp.workprec(200):
        exact = [mp.power(mp.mpf(float(a)), mp.mpf(float(b))) for a, b in zip(x, y)]
        assert ulps(run("pow", x, y, has_fma=has_fma), exact).max() <= (1.0 if has_fma else WITHOUT_FMA)


@pytest.mark.parametrize("has_fma", [True, False], ids=["fma", "no-fma"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["pow", "atan2", "hypot", "copysign", "logaddexp"])
def test_two_operands_at_every_pair_of_special_values(name: str, dtype: type, has_fma: bool):
    values = [*SPECIAL, 3.0, -3.0, 1.5, -1.5, 9007199254740991.0, 1e16, 0.99999, 1.00001]
    with np.errstate(all="ignore"):
        x, y = (np.ravel(v) for v in np.meshgrid(np.array(values).astype(dtype), np.array(values).astype(dtype)))
        expected = map_op(name).numpy(x, y)
        got = run(name, x, y, has_fma=has_fma)
        close = (np.abs(got - expected) <= 3 * np.spacing(np.abs(expected))) | (got == expected)
    same = close & (np.signbit(got) == np.signbit(expected)) | np.isnan(got) & np.isnan(expected)
    assert same.all(), (x[~same], y[~same], got[~same], expected[~same])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "reference"), [("atan2", mp.atan2), ("hypot", mp.hypot)])
def test_two_operands_within_the_stated_ulp(name: str, reference: Callable[..., Any], dtype: type):
    rng = np.random.default_rng(6)
    size = np.exp(rng.uniform(-60, 60, 300))
    x, y = (size * rng.normal(size=300)).astype(dtype), (size * rng.normal(size=300)).astype(dtype)
    with mp.workprec(200):
        exact = [reference(mp.mpf(float(a)), mp.mpf(float(b))) for a, b in zip(x, y)]
        assert ulps(run(name, x, y), exact).max() <= (map_op(name).ulp or 0)
