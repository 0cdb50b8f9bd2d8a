"""Every spelling that the first documents have for elementwise operations: as methods, operators, in `.tx`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc

special = pytest.importorskip("scipy.special")

A = np.array([[0.5, 1.5, -2.5, 0.25], [2.5, -0.5, 3.0, -0.0]])
B = np.array([[1.0, np.nan, 2.0, np.inf], [-1.0, 0.25, 3.0, 0.0]])
POSITIVE = np.abs(A) + 0.1
INSIDE = np.array([[0.1, 0.5, 0.9], [0.25, 0.75, 0.01]])


def away(x: np.ndarray) -> np.ndarray:
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


#: The call in the language, the operand, and what it means.
UNARY: dict[str, tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]] = {
    "x.sqrt()": (POSITIVE, np.sqrt),
    "x.rsqrt()": (POSITIVE, lambda x: 1 / np.sqrt(x)),
    "x.square()": (A, np.square),
    "x.cube()": (A, lambda x: x**3),
    "x.inverse()": (POSITIVE, lambda x: 1 / x),
    "x.exp()": (A, np.exp),
    "x.expm1()": (A, np.expm1),
    "x.log()": (POSITIVE, np.log),
    "x.log1p()": (POSITIVE, np.log1p),
    "x.log2()": (POSITIVE, np.log2),
    "x.log10()": (POSITIVE, np.log10),
    "x.abs()": (A, np.abs),
    "x.sign()": (A, np.sign),
    "x.arg()": (A + 1j, np.angle),
    "x.conjugate()": (A + 1j, np.conj),
    "x.pow(3.0)": (A, lambda x: x**3),
    "x.clip(-1.0, 2.0)": (A, lambda x: np.clip(x, -1, 2)),
    "x.round()": (A, np.round),
    'x.round(half="even")': (A, np.round),
    'x.round(half="away")': (A, away),
    "x.rint()": (A, np.rint),
    "x.ceil()": (A, np.ceil),
    "x.floor()": (A, np.floor),
    "x.isnan()": (B, np.isnan),
    "x.isinf()": (B, np.isinf),
    "x.isfinite()": (B, np.isfinite),
    "x.tanh()": (A, np.tanh),
    "x.sigmoid()": (A, special.expit),
    "x.erf()": (A, special.erf),
    "x.erfc()": (A, special.erfc),
    "x.ndtri()": (INSIDE, special.ndtri),
    "x.lgamma()": (A, special.gammaln),
    "x.digamma()": (POSITIVE, special.psi),
    "x.logical_not()": (A > 0, np.logical_not),
    "~x": (A > 0, np.invert),
    "-x": (A, np.negative),
    "x + 2.0": (A, lambda x: x + 2),
    "2.0 - x": (A, lambda x: 2 - x),
    "x * 2.0": (A, lambda x: x * 2),
    "2.0 / x": (POSITIVE, lambda x: 2 / x),
    "x % 2.0": (A, lambda x: x % 2),
    "2.0 % x": (POSITIVE, lambda x: 2 % x),
    "x ** 2.0": (A, lambda x: x**2),
    "2.0 ** x": (A, lambda x: 2**x),
    "x.igamma(2.0)": (POSITIVE, lambda x: special.gammainc(x, 2.0)),
    "x.igammac(2.0)": (POSITIVE, lambda x: special.gammaincc(x, 2.0)),
    "(x + 1.0).zeta(2.0)": (POSITIVE, lambda x: special.zeta(x + 1, 2.0)),
    "polygamma(2.0, x)": (POSITIVE, lambda x: special.polygamma(2, x)),
    "x.betainc(2.0, 0.5)": (POSITIVE, lambda x: special.betainc(x, 2.0, 0.5)),
    "x.maximum([1])": (B, lambda x: x.max(1)),
    'x.maximum([1], nan="propagate")': (B, lambda x: x.max(1)),
    'x.maximum([1], nan="numbers")': (B, lambda x: np.fmax.reduce(x, 1, initial=-np.inf)),
    'x.minimum([1], nan="numbers")': (B, lambda x: np.fmin.reduce(x, 1, initial=np.inf)),
    'x.maximum([1], nan="fast")': (A, lambda x: x.max(1)),
    'x.minimum([1], nan="fast")': (A, lambda x: x.min(1)),
    **{
        f"x.bessel_{n}()": (POSITIVE, getattr(special, n))
        for n in ("i0", "i0e", "i1", "i1e", "j0", "j1", "y0", "y1", "k0", "k0e", "k1", "k1e")
    },
}
BINARY: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "x + y": operator.add,
    "x - y": operator.sub,
    "x * y": operator.mul,
    "x / y": operator.truediv,
    "x % y": operator.mod,
    "x ** y": operator.pow,
    "x.cwise_max(y)": lambda x, y: np.where(x > y, x, y),
    "x.cwise_min(y)": lambda x, y: np.where(x < y, x, y),
    'x.cwise_max(y, nan="fast")': lambda x, y: np.where(x > y, x, y),
    'x.cwise_max(y, nan="propagate")': np.maximum,
    'x.cwise_max(y, nan="numbers")': np.fmax,
    'x.cwise_min(y, nan="fast")': lambda x, y: np.where(x < y, x, y),
    'x.cwise_min(y, nan="propagate")': np.minimum,
    'x.cwise_min(y, nan="numbers")': np.fmin,
    "x.cwise_max(1.0)": lambda x, y: np.where(x > 1, x, 1),
    "x < y": operator.lt,
    "x <= y": operator.le,
    "x > y": operator.gt,
    "x >= y": operator.ge,
    "x == y": operator.eq,
    "x != y": operator.ne,
    "x < 1.0": lambda x, y: x < 1,
    "(x > 0.0).logical_and(y > 0.0)": lambda x, y: (x > 0) & (y > 0),
    "(x > 0.0).logical_or(y > 0.0)": lambda x, y: (x > 0) | (y > 0),
    "(x > 0.0) & (y > 0.0)": lambda x, y: (x > 0) & (y > 0),
    "(x > 0.0) | (y > 0.0)": lambda x, y: (x > 0) | (y > 0),
    "(x > 0.0) ^ (y > 0.0)": lambda x, y: (x > 0) ^ (y > 0),
    "(x > y).select(x, y)": lambda x, y: np.where(x > y, x, y),
}
TYPES = {"f": "f64", "b": "bool", "c": "c128"}


def as_method(call: str, **operands: np.ndarray) -> np.ndarray:
    """The expression on lazy tensors, whose operators and methods are the same."""
    tensors = {name: txc.asarray(value) for name, value in operands.items()}
    return np.asarray(eval(call, {"polygamma": lambda n, x: txc.asarray(np.full(x.shape, n)).polygamma(x)}, tensors))


def in_language(call: str, **operands: np.ndarray) -> np.ndarray:
    declared = ", ".join(f"{name}: {TYPES[v.dtype.kind]}[n, m]" for name, v in operands.items())
    return txc.compile_source(f"def f({declared}):\n    return {call}").f(**operands)


@pytest.mark.parametrize("evaluated", [as_method, in_language])
@pytest.mark.parametrize("call", UNARY)
def test_of_one_tensor(call: str, evaluated: Callable[..., Any]) -> None:
    x, meaning = UNARY[call]
    got, expected = evaluated(call, x=x), meaning(x)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("evaluated", [as_method, in_language])
@pytest.mark.parametrize("call", BINARY)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_of_two_tensors(call: str, evaluated: Callable[..., Any]) -> None:
    got, expected = evaluated(call, x=A, y=B), BINARY[call](A, B)
    np.testing.assert_allclose(got, expected, rtol=1e-14)


def test_parts_of_complex_numbers_are_attributes() -> None:
    z = A + 2j
    x = txc.asarray(z)
    assert np.array_equal(np.asarray(x.real), A) and np.array_equal(np.asarray(x.imag), z.imag)


def test_a_policy_that_there_is_not_is_named() -> None:
    x = txc.asarray(A)
    with pytest.raises(txc.TxcError, match="'ignore' is not one of 'fast', 'propagate', 'numbers': nan of cwise_max"):
        x.cwise_max(x, nan="ignore")
    with pytest.raises(txc.TxcError, match="'up' is not one of 'even', 'away': half of round"):
        x.round(half="up")
    with pytest.raises(txc.TxcError, match="sum has no parameter 'nan'"):
        x.sum(nan="numbers")


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.float32])
def test_policies_mean_nothing_to_integers(dtype: type) -> None:
    x = txc.asarray(np.abs(A * 4).astype(dtype))
    for nan in ("fast", "propagate", "numbers"):
        assert np.array_equal(np.asarray(x.maximum([1], nan=nan)), np.abs(A * 4).astype(dtype).max(1))
