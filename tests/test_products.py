"""Products of matrices in every layout and at the edges of tiles: each element has the bits of one chain along K."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc

plain = txc.jit(lambda a, b: a @ b)
turned = {
    "nt": txc.jit(lambda a, b: a @ b.T),
    "tn": txc.jit(lambda a, b: a.T @ b),
    "tt": txc.jit(lambda a, b: a.T @ b.T),
}
quotients = txc.jit(lambda a, s, b: (a / s) @ b)
turned_quotients = txc.jit(lambda a, s, b: (a.T / s) @ b)


def matrices(m: int, k: int, n: int, dtype: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng([m, k, n])
    return (rng.random((m, k)) - 0.5).astype(dtype), (rng.random((k, n)) - 0.5).astype(dtype)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("form", ["nt", "tn", "tt"])
@pytest.mark.parametrize("m", [1, 5, 6, 7, 8, 9, 13, 97])
def test_operands_that_lie_the_other_way_give_the_same_bits(m: int, form: str, dtype: str) -> None:
    a, b = matrices(m, 530, 19, dtype)
    left = np.ascontiguousarray(a.T) if form[0] == "t" else a
    right = np.ascontiguousarray(b.T) if form[1] == "t" else b
    got = turned[form](left, right)
    np.testing.assert_array_equal(got, plain(a, b))
    np.testing.assert_allclose(got, a @ b, 1e-3, 1e-4)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_few_rows_have_the_bits_of_the_rows_of_many(dtype: str) -> None:
    a, b = matrices(9, 600, 40, "f8")
    a, b = ((x * 100).astype(dtype) for x in (a, b))
    whole = plain(a, b)
    for rows in range(1, 9):
        np.testing.assert_array_equal(plain(a[:rows], b), whole[:rows])


@pytest.mark.parametrize("turn", [False, True])
@pytest.mark.parametrize("k", [3, 512, 530])
def test_a_computed_left_operand_has_the_bits_of_one_in_memory(k: int, turn: bool) -> None:
    a, b = matrices(13, k, 19, "f4")
    scale = a[:, :1] + 2
    got = turned_quotients(np.ascontiguousarray(a.T), scale, b) if turn else quotients(a, scale, b)
    np.testing.assert_array_equal(got, plain(a / scale, b))


@pytest.mark.parametrize("sizes", [(0, 3, 4), (3, 0, 4), (3, 4, 0), (40, 0, 4), (40, 4, 0), (0, 0, 0)])
@pytest.mark.parametrize("form", ["nt", "tn", "tt"])
def test_no_rows_columns_or_products(sizes: tuple[int, int, int], form: str) -> None:
    m, k, n = sizes
    a, b = np.ones((k, m) if form[0] == "t" else (m, k), "f4"), np.ones((n, k) if form[1] == "t" else (k, n), "f4")
    np.testing.assert_array_equal(turned[form](a, b), np.zeros((m, n), "f4"))
    np.testing.assert_array_equal(plain(np.ones((m, k), "f4"), np.ones((k, n), "f4")), np.zeros((m, n), "f4"))


@pytest.mark.parametrize(("form", "row"), [("nn", 1), ("tn", 2)])
def test_only_a_left_operand_that_is_strided_along_k_is_packed(form: str, row: int) -> None:
    function = plain if form == "nn" else turned[form]
    loops = function.lower(np.ones((64, 64), "f4"), np.ones((64, 64), "f4")).as_text("loops")
    assert loops.count("loop.alloc") == row


@pytest.mark.parametrize(("form", "ways"), [("nn", 2), ("nt", 1)])
def test_few_rows_are_multiplied_in_place_where_the_right_operand_lies_as_vectors_need_it(form: str, ways: int) -> None:
    function = plain if form == "nn" else turned[form]
    loops = function.lower(np.ones((64, 64), "f4"), np.ones((64, 64), "f4")).as_text("loops")
    assert loops.count('"loop.reduce"') == ways


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_blocks_of_k_that_are_packed_one_by_one_have_the_bits_of_those_packed_together(dtype: str) -> None:
    a, b = matrices(19, 1537, 2100, dtype)
    few = np.ascontiguousarray(b[:, :65])
    np.testing.assert_array_equal(plain(a, few), plain(a, b)[:, :65])
