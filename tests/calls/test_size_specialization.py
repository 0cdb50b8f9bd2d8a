"""The second tier: calls that keep having the same small sizes get a version in which those are numbers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.driver import size_specialization, specializations
from txc.runtime.stub.cpython_layout import problem

pytestmark = pytest.mark.skipif(bool(problem()), reason="no native entries, which gather the evidence")
EVIDENCE = 1 << 12


@pytest.fixture(autouse=True)
def little_evidence(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A version's calls are looked at after 4096 iterations, a millisecond instead of a quarter of a second."""
    monkeypatch.setenv("TXC_NATIVE_ENTRY", "1")
    monkeypatch.setattr(specializations, "EVIDENCE", EVIDENCE)
    monkeypatch.setattr("txc.compiler.driver.jit.EVIDENCE", EVIDENCE)
    yield


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def rows(n: int, m: int) -> np.ndarray:
    return np.random.default_rng(n * m).normal(size=(n, m)).astype(np.float32)


def reasons(f: Any) -> list[str]:
    return [line.partition("because ")[2] for line in f.explain_compile().splitlines() if "compiled because" in line]


def repeat(f: Any, *arguments: Any, calls: int = 60) -> list[bytes]:
    return [f(*arguments).tobytes() for _ in range(calls)]


def test_short_rows_get_a_version_of_their_own_with_the_same_bits():
    f = txc.jit(softmax)
    bits = repeat(f, rows(100, 8))
    assert reasons(f) == ["it was the first call", "calls kept having x.1 = 8"]
    assert set(bits) == {bits[0]}
    assert "  guard  x.1 == 8  (calls kept having it)" in f.explain_compile()
    # The longer dim is a symbol still; other rows go to the first version.
    np.testing.assert_allclose(f(rows(300, 8)), softmax(rows(300, 8)), rtol=1e-6)
    np.testing.assert_allclose(f(rows(10, 9)), softmax(rows(10, 9)), rtol=1e-6)
    assert len(reasons(f)) == 2


def test_sizes_that_change_compile_once():
    f = txc.jit(softmax)
    for n in range(2, 65):
        for m in (n, 66 - n):
            np.testing.assert_allclose(f(rows(n, m)), softmax(rows(n, m)), rtol=1e-6)
    assert reasons(f) == ["it was the first call"]


def test_large_sizes_stay_symbols():
    f = txc.jit(softmax)
    repeat(f, rows(100, 65))
    assert reasons(f) == ["it was the first call"]


def test_evidence_has_to_be_the_same_twice():
    f = txc.jit(softmax)
    for m in range(8, 40):  # a call spends the budget, the next one is looked at
        f(rows(1000, m))
    assert reasons(f) == ["it was the first call"]


def test_no_more_than_four():
    f = txc.jit(softmax)
    for m in range(2, 9):
        repeat(f, rows(200, m), calls=120)
    assert len(reasons(f)) == 1 + size_specialization.MOST
    np.testing.assert_allclose(f(rows(200, 8)), softmax(rows(200, 8)), rtol=1e-6)


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TXC_SPECIALIZE", "0")
    f = txc.jit(softmax)
    repeat(f, rows(100, 8))
    assert reasons(f) == ["it was the first call"]


def test_small_contractions_in_place_and_with_scalars():
    @txc.jit
    def step(y, a, scale):
        y[...] = (y @ a) * scale

    a, y = rows(4, 4), rows(500, 4)
    expected = y.copy()
    for _ in range(40):
        step(y, a, 0.5)
        expected = (expected @ a) * np.float32(0.5)
    np.testing.assert_allclose(y, expected, rtol=1e-3)
    assert len(reasons(step)) == 2 and "= 4" in reasons(step)[1]


def test_a_product_with_one_row_becomes_a_sum_of_rows():
    f = txc.jit(lambda a, b: a @ b)
    bits = repeat(f, rows(1, 300), rows(300, 200))
    assert reasons(f) == ["it was the first call", "calls kept having a.0 = 1"]
    assert set(bits) == {bits[0]}
    np.testing.assert_allclose(f(rows(2, 300), rows(300, 200)), rows(2, 300) @ rows(300, 200), rtol=1e-3, atol=1e-4)


def test_several_threads_make_one_version():
    f = txc.jit(softmax)
    x = rows(100, 8)
    expected = f(x)
    wrong: list[int] = []

    def work() -> None:
        for i in range(200):
            if not np.array_equal(f(x), expected):
                wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []
    assert 2 <= len(reasons(f)) <= 1 + size_specialization.MOST
