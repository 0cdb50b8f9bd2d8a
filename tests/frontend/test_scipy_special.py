"""`scipy.special` in compiled functions: every function that is recognised, in SciPy's dtypes, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.frontend.numpy.functions.all import FUNCTIONS
from txc.dialects import ops as _ops  # noqa: F401
from txc.dialects.registry import OPS, Map

special = pytest.importorskip("scipy.special")

PREFIX = "scipy.special."
#: Functions of numbers, by how many they take; those in Python do not say so themselves.
COUNTS: dict[str, int] = {"comb": 2, "lambertw": 1, "polygamma": 2, "zeta": 2}
MAPS = {also[len(PREFIX) :] for op in OPS.values() if issubclass(op, Map) for also in op.also if isinstance(also, str)}
HANDLED = {f[len(PREFIX) :] for f in FUNCTIONS if isinstance(f, str)}
NAMES = sorted(MAPS | HANDLED)
DTYPES = ("bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64")


def called(f: Callable[..., Any], *xs: Any) -> tuple[Any, ...]:
    """Results in compiled functions: of ufuncs as tensors that are not evaluated, as dispatch is the same there."""
    if isinstance(f, np.ufunc):
        made = f(*(txc.asarray(x) if isinstance(x, np.ndarray) else x for x in xs))
    else:
        made = txc.jit(lambda *xs: f(*xs))(*xs)
    return made if isinstance(made, tuple) else (made,)


def expected(f: Callable[..., Any], *xs: Any) -> tuple[Any, ...]:
    made = f(*xs)
    return made if isinstance(made, tuple) else (made,)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_dtypes_are_scipys(name: str) -> None:
    f = getattr(special, name)
    count = COUNTS.get(name) or f.nin
    for element in DTYPES:
        xs = [np.ones(3, element)] * count
        assert [np.dtype(r.dtype) for r in called(f, *xs)] == [r.dtype for r in expected(f, *xs)], element
    x, rest = np.ones(3, np.float32), [2.5] * (count - 1)
    numbers = [[x, *rest], [*rest, x], [x, *[2] * len(rest)], [np.float64(2), *rest[1:], x][-count:]]
    for xs in numbers:
        assert [np.dtype(r.dtype) for r in called(f, *xs)] == [r.dtype for r in expected(f, *xs)], xs


@pytest.mark.parametrize("name", sorted(HANDLED))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_that_are_more_than_an_op(name: str) -> None:
    f = getattr(special, name)
    count = COUNTS.get(name) or f.nin
    compiled = txc.jit(lambda *xs: f(*xs))
    xs = [np.array([3.0, 4.5, 7.0]), np.array([[1.0], [2.0]])][:count]
    for got, wanted in zip(compiled(*xs), f(*xs), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)


@pytest.mark.parametrize("name", ["airy", "fresnel"])
def test_functions_of_several_results_at_their_edges(name: str) -> None:
    f = getattr(special, name)
    x = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-310, -1e-310, 9.0, -30.0, np.nan])
    for got, wanted in zip(txc.jit(lambda x: f(x))(x), f(x), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-300)
    far = np.array([np.inf, 1e300])
    for got, wanted in zip(
        txc.jit(lambda x: f(x))(far), {"airy": (0, -0.0, np.inf, np.inf), "fresnel": (0.5, 0.5)}[name]
    ):
        assert (got == wanted).all()


def test_every_branch_of_lambertw() -> None:
    z = np.array([0, 1, -1, -0.1, -0.3, 0.5, 1e300, 1e-310, np.inf, -np.inf, 2j, -0.2 - 0.1j, 3 - 4j, -0.4 + 0.01j])
    k = np.arange(-3, 4)[:, None]
    for form in (
        lambda z, k: special.lambertw(z, k),
        lambda z, k: special.lambertw(z),
        lambda z, k: special.lambertw(z.real, k=-1, tol=1e-10),
        lambda z, k: special.lambertw(z, k * 1.9),
    ):
        got, wanted = txc.jit(form)(z, k), form(z, k)
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, rtol=1e-12)


def test_comb_counts_as_scipy_does() -> None:
    n, k = np.arange(-2, 12)[:, None], np.arange(-2, 9)
    for form in (
        lambda n, k: special.comb(n, k),
        lambda n, k: special.comb(N=n, k=k, exact=False),
        lambda n, k: special.comb(n, k, repetition=True),
        lambda n, k: special.comb(n * 0.5, k),
    ):
        np.testing.assert_allclose(txc.jit(form)(n, k), form(n, k), rtol=1e-13, atol=1e-15)
    got = txc.jit(lambda n: special.comb(n, n))(np.int64(52))
    assert got == special.comb(52, 52) and got.dtype == np.float64


def test_what_is_refused_says_what_to_write() -> None:
    x = np.array([2, 3])
    with pytest.raises(txc.TxcError, match="comb with exact=True counts with Python's ints") as caught:
        txc.jit(lambda x: special.comb(x, 2, exact=True))(x)
    assert "leave it out" in str(caught.value)
    with pytest.raises(txc.TxcError, match="zeta of one number is not supported") as caught:
        txc.jit(lambda x: special.zeta(x))(x * 1.0)
    assert "zeta(x, 1.0)" in str(caught.value)
    with pytest.raises(
        txc.TxcError, match=r"scipy.special.ellipk is not defined on c128\[x.shape\[0\]\], in SciPy neither"
    ):
        txc.jit(lambda x: special.ellipk(x))(x * 1j)
