"""What has no solution is the LinAlgError of NumPy: compiled, in loops, from the cache, lazy, in `.tx`, on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.runtime.check_errors import Check, index_check

from .control import every_stage, same

FINE = np.array([[4.0, 1.0], [1.0, 3.0]])
SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])
INDEFINITE = np.array([[1.0, 2.0], [2.0, 1.0]])
STACK = np.stack([FINE, FINE + 1, SINGULAR])


def solves(a):
    return np.linalg.solve(a, a[..., :1] + 1)


def inverts(a):
    return np.linalg.inv(a)


def powers(a):
    return np.linalg.matrix_power(a, -2)


def factors(a):
    return np.linalg.cholesky(a)


def factors_above(a):
    return np.linalg.cholesky(a, upper=True)


def in_a_loop(a):
    for i in range(a.shape[0]):
        if a[i, 0] > 0.5:
            a = a + np.linalg.inv(a)
    return a


RAISING: list[tuple[Callable[..., Any], np.ndarray]] = [
    *((f, a) for f in (solves, inverts, powers) for a in (SINGULAR, SINGULAR.astype("F"), STACK)),
    *((f, a) for f in (factors, factors_above) for a in (INDEFINITE, -FINE, 0 * FINE, INDEFINITE.astype("F"))),
    (in_a_loop, SINGULAR),
]


@pytest.mark.parametrize(("f", "a"), RAISING)
def test_as_numpy(f: Callable[..., Any], a: np.ndarray) -> None:
    """Of the version's first call, which Python makes, and of the next, which machine code answers."""
    with pytest.raises(np.linalg.LinAlgError) as expected:
        f(a)
    jitted = txc.jit(f)
    for _ in range(3):
        with pytest.raises(np.linalg.LinAlgError) as raised:
            jitted(a)
        assert str(raised.value) == str(expected.value)


@pytest.mark.parametrize("f", [solves, inverts, powers, factors, factors_above, in_a_loop])
def test_no_error(f: Callable[..., Any]) -> None:
    every_stage(same(f, (FINE,), (FINE + 1,)), FINE)


@pytest.mark.parametrize("a", [np.zeros((0, 2, 2)), np.zeros((3, 0, 0)), STACK[:2]])
def test_stacks(a: np.ndarray) -> None:
    same(inverts, (a,))
    same(factors, (a,))


def test_what_is_defined_of_singular_matrices() -> None:
    def f(a):
        return np.linalg.det(a), *np.linalg.slogdet(a), np.linalg.cond(a, 1), np.linalg.matrix_rank(a)

    with np.errstate(divide="ignore"):
        same(f, (SINGULAR,), (FINE,))


@pytest.mark.parametrize(
    "a",
    [
        np.zeros((3, 3)), np.array([[0, 1.0, 2], [0, 3, 4], [0, 5, 6]]), np.diag([1.0, 0, 2]), np.zeros((1, 1)),
        np.array([[0, 0, 0, 1], [1, 0, 0, 1], [1, 0, 1, 1], [1, 0, 1, 2]], "u4"), np.eye(3)[[1, 2, 0]],
        np.stack([np.zeros((2, 2)), np.eye(2), np.ones((2, 2))]), np.array([[0, 0], [1j, 2]]),
    ],
    ids=str,
)  # fmt: skip
def test_columns_without_a_pivot(a: np.ndarray) -> None:
    """The determinant is zero, and no element is divided by it."""

    def f(a):
        sign, logarithm = np.linalg.slogdet(a)
        return np.linalg.det(a), sign, logarithm

    with np.errstate(divide="ignore"):
        every_stage(same(f, (a,)), a)


def test_the_first_failure_of_the_program_is_named() -> None:
    def f(a, i):
        return np.linalg.inv(a) + np.linalg.cholesky(a)[i]

    jitted = txc.jit(f)
    for a, i, error, text in (
        (SINGULAR, 9, np.linalg.LinAlgError, "Singular matrix"),
        (INDEFINITE, 9, np.linalg.LinAlgError, "Matrix is not positive definite"),
        (FINE, 9, IndexError, "index 9 is out of bounds for a dim of size 2"),
    ):
        for _ in range(3):
            with pytest.raises(error, match=text):
                jitted(a, np.array([i, 0]))


def test_from_the_cache(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TXC_CACHE_DIR", str(tmp_path))
    for _ in range(2):
        jitted = txc.jit(inverts)
        np.testing.assert_allclose(jitted(FINE), inverts(FINE))
        for _ in range(3):
            with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
                jitted(SINGULAR)


def test_lazy_tensors_and_the_array_api() -> None:
    for inverse in (np.linalg.inv(txc.asarray(SINGULAR)), txc.linalg.inv(txc.asarray(SINGULAR))):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            np.asarray(inverse)


def test_tx() -> None:
    """There an op says itself whether it raises."""
    text = "def f(a: f64[n, n]) -> f64[n, n]:\n    return cholesky(a{mode})\n"
    silent = txc.compile_source(text.replace("{mode}", ""))
    assert np.isnan(silent.f(INDEFINITE)[1, 1])
    loud = txc.compile_source(text.replace("{mode}", ', mode="raise"'))
    with pytest.raises(np.linalg.LinAlgError, match="Matrix is not positive definite"):
        loud.f(INDEFINITE)


def test_on_a_simulated_gpu() -> None:
    jitted = txc.jit(inverts, device="ptx-sim")
    np.testing.assert_allclose(jitted(FINE), inverts(FINE))
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        jitted(SINGULAR)


def test_texts_of_checks() -> None:
    assert str(index_check(5).raised(7)) == "index 7 is out of bounds for a dim of size 5"
    assert str(index_check(None).raised(-7)) == "index -7 is out of bounds for its dim"
    assert type(Check("LinAlgError", "Singular matrix").raised(0)) is np.linalg.LinAlgError
