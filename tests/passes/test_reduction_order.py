"""Folds take elements in the order in which memory has them: a program of the transpose has the bits of the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc

from ..pairwise import pairwise
from .layouts import AS_COUNTED, as_tuple

SHAPES = [(37, 41), (500, 400)]


def _elements(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    return (np.random.default_rng(7).standard_normal(shape) * 1e3).astype(dtype)


def sums(x: Any) -> Any:
    return x.sum(), x.sum(axis=0), x.sum(axis=1)


def sums_of_transpose(x: Any) -> Any:
    return x.T.sum(), x.T.sum(axis=1), x.T.sum(axis=0)


def moments(x: Any) -> Any:
    return (x * x - x).mean(), x.var(axis=0), x.std(axis=1)


def moments_of_transpose(x: Any) -> Any:
    return (x.T * x.T - x.T).mean(), x.T.var(axis=1), x.T.std(axis=0)


def running(x: Any) -> Any:
    return np.cumsum(x, axis=0).T, np.cumsum(x, axis=1).T


def running_of_transpose(x: Any) -> Any:
    return np.cumsum(x.T, axis=1), np.cumsum(x.T, axis=0)


def vectors(x: Any) -> Any:
    return x @ x[0], x[:, 0] @ x, np.tensordot(x, x), np.tensordot(x[:, :30], x[0, :30], 1)


def vectors_of_transpose(x: Any) -> Any:
    return x[0] @ x.T, x.T @ x[:, 0], np.tensordot(x.T, x.T), np.tensordot(x[0, :30], x.T[:30], 1)


PAIRS = [(sums, sums_of_transpose), (moments, moments_of_transpose), (running, running_of_transpose),
         (vectors, vectors_of_transpose)]  # fmt: skip


@pytest.mark.parametrize(("programs", "dtype", "order"), pairwise(PAIRS, ("f4", "f8"), ("C", "F")))
def test_the_transpose_has_the_same_bits(programs: tuple[Callable[..., Any], ...], dtype: str, order: Any) -> None:
    """The same memory, counted both ways.  Any two of these together: see `tests/pairwise.py`."""
    one, other = (txc.jit(program) for program in programs)
    for shape in SHAPES:
        given = np.asarray(_elements(shape, dtype), order=order)
        for found, expected in zip(as_tuple(one(given)), as_tuple(other(given)), strict=True):
            assert np.asarray(found).tobytes() == np.asarray(expected).tobytes()


def test_three_dims_go_as_they_lie() -> None:
    x = np.asfortranarray(_elements((3, 70, 50), "f4"))
    some = txc.jit(lambda x: (x.sum(axis=(0, 1)), x.sum(axis=(1, 2)), x.sum()))
    turned = txc.jit(lambda x: (x.sum(axis=(1, 2)), x.sum(axis=(0, 1)), x.sum()))
    for found, expected in zip(some(x), turned(np.ascontiguousarray(x.T)), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_lazy_tensors_do_too() -> None:
    x = np.asfortranarray(_elements((60, 50), "f4"))
    assert np.asarray(txc.asarray(x).sum()) == txc.jit(lambda x: x.sum())(x)


def test_other_memory_has_another_order() -> None:
    """And with an option it has the same."""
    x = _elements((500, 400), "f4")
    total, counted = txc.jit(lambda x: x.sum()), txc.jit(lambda x: x.sum(), passes=AS_COUNTED)
    assert total(x) != total(np.asfortranarray(x))
    assert total(x) == counted(x) == counted(np.asfortranarray(x))


def test_folds_in_loops() -> None:
    """Values inside of regions have the order of what they are made of."""

    def f(x, n):
        s = x[0, 0] * 0
        for _ in range(n):
            s = s + (x + s).sum()
        return s

    x = np.asfortranarray(_elements((60, 50), "f4"))
    assert txc.jit(f)(x, 3) == txc.jit(lambda x, n: f(x.T, n))(x, 3)


def test_rows_with_gaps_are_as_counted() -> None:
    """What strides do not pack keeps the program's order: the bits of a copy."""
    total = txc.jit(lambda x: x.sum())
    x = np.asfortranarray(_elements((90, 80), "f4"))[::2]
    assert total(x) == total(np.ascontiguousarray(x))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "c8"])
def test_products_of_columns_are_those_of_transposes(dtype: str) -> None:
    """In memory, too, as results of maps of such arrays are; with the maps that follow."""
    programs = [txc.jit(lambda a, b, c: a @ b), txc.jit(lambda a, b, c: (a @ b + c) * 2)]
    for m, k, n in ((64, 70, 30), (5, 300, 200), (33, 700, 1)):
        a, b = (np.asfortranarray(_elements(shape, dtype)) for shape in ((m, k), (k, n)))
        c = _elements((n,), dtype)
        for program in programs:
            found, expected = program(a, b, c), program(a.copy("C"), b.copy("C"), c)
            np.testing.assert_array_equal(found, expected)
            assert found.flags.f_contiguous and expected.flags.c_contiguous


def test_stacks_of_products_of_columns() -> None:
    a, b = _elements((9, 40, 30), "f4"), _elements((9, 20, 40), "f4")
    found = txc.jit(lambda a, b: a.transpose(0, 2, 1) @ b.transpose(0, 2, 1))(a, b)
    expected = txc.jit(lambda a, b: b @ a)(a, b)
    np.testing.assert_array_equal(found, expected.transpose(0, 2, 1))
    assert found.transpose(0, 2, 1).flags.c_contiguous


def test_rows_across_memory_are_those_of_columns() -> None:
    """The softmax of rows of columns is the softmax of columns: its bits, its order in memory, its kernels."""

    def by_rows(x: Any) -> Any:
        e = np.exp(x - np.max(x, axis=1, keepdims=True))
        return e / np.sum(e, axis=1, keepdims=True)

    def by_columns(x: Any) -> Any:
        e = np.exp(x - np.max(x, axis=0, keepdims=True))
        return e / np.sum(e, axis=0, keepdims=True)

    x = _elements((130, 61), "f4") / 1e3
    turned, plain = txc.jit(by_rows)(x.T), txc.jit(by_columns)(x)
    np.testing.assert_array_equal(turned.T, plain)
    assert turned.flags.f_contiguous
    fused = [str(txc.jit(f).lower(given).as_text("fused")) for f, given in ((by_rows, x.T), (by_columns, x))]
    assert fused[0].count("kernel.generic") == fused[1].count("kernel.generic")
    assert all("kernel.row_group" in text for text in fused)
