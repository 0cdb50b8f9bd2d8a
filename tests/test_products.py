"""Products of matrices in every layout and at the edges of tiles: each element has the bits of one chain along K."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import txc

from .codegen.harness import text_at

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


@pytest.mark.parametrize("k", [1, 7, 8, 9, 31])
@pytest.mark.parametrize("m", [6, 8, 15, 20])
def test_a_left_operand_is_packed_at_the_edges_of_tiles_and_of_places_of_k(m: int, k: int) -> None:
    a, b = matrices(m, k, 70, "f4")
    around = np.full((k, m + 9), np.nan, "f4")
    around[:, :m] = a.T
    np.testing.assert_array_equal(turned["tn"](around[:, :m], b), plain(a, b))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_few_rows_have_the_bits_of_the_rows_of_many(dtype: str) -> None:
    a, b = matrices(17, 600, 40, "f8")
    a, b = ((x * 100).astype(dtype) for x in (a, b))
    whole = plain(a, b)
    for rows in (*range(1, 9), 15, 16):
        np.testing.assert_array_equal(plain(a[:rows], b), whole[:rows])


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@pytest.mark.parametrize("form", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize(("m", "n"), [(1, 23), (23, 1), (1, 1)])
def test_one_row_and_one_column_have_the_bits_of_those_of_many(m: int, n: int, form: str, dtype: str) -> None:
    a, b = matrices(23, 1100, 23, "f8")
    a, b = ((x * 100).astype(dtype) for x in (a, b))
    left = np.ascontiguousarray(a[:m].T) if form[0] == "t" else a[:m]
    right = np.ascontiguousarray(b[:, :n].T) if form[1] == "t" else np.ascontiguousarray(b[:, :n])
    np.testing.assert_array_equal((turned | {"nn": plain})[form](left, right), plain(a, b)[:m, :n])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i2", "i4", "c8"])
@pytest.mark.parametrize("columns_first", [False, True])
def test_one_column_at_the_ends_of_vectors_of_rows(dtype: str, columns_first: bool) -> None:
    """Rows that are left over are folded side by side, some of them twice: small integers, whose sums are exact."""
    rng = np.random.default_rng(3)
    for m in (*range(1, 70, 3), 100, 130, 255, 257, 449, 500):
        for k in (7, 32, 300):
            a, b = (rng.integers(-3, 4, size).astype(dtype) for size in ((m, k), (k, 1)))
            left = np.asfortranarray(a) if columns_first else a
            wide = "c16" if dtype == "c8" else "f8"
            np.testing.assert_array_equal(plain(left, b).astype(wide), a.astype(wide) @ b.astype(wide), f"{m, k}")


def test_one_column_has_code_of_its_own_from_the_first_call() -> None:
    product = txc.jit(lambda a, b: a @ b)
    for m, n in ((7, 9), (7, 1), (8, 1), (1, 9), (20, 30)):
        a, b = matrices(m, 40, n, "f4")
        np.testing.assert_allclose(product(a, b), a @ b, 1e-4, 1e-5)
    text = product.explain_compile()
    assert text.count("compiled because") == 2
    assert "b.1 != 1  (a contraction asks)" in text and "b.1 == 1  (a contraction asks)" in text


def test_columns_of_several_dims_are_one_where_all_dims_are() -> None:
    product = txc.jit(lambda a, b: np.tensordot(a, b, 1))
    rng = np.random.default_rng(3)
    a = rng.random((5, 30), "f4")
    for shape in ((30, 1, 1), (30, 1, 4), (30, 4, 1), (30, 2, 3)):
        b = rng.random(shape, "f4")
        np.testing.assert_allclose(product(a, b), np.tensordot(a, b, 1), 1e-5)
    assert product.explain_compile().count("compiled because") == 2


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "bf16"])
@pytest.mark.parametrize("form", ["nn", "nt"])
def test_few_rows_have_the_bits_of_those_of_many(form: str, dtype: str) -> None:
    """Rows below and above those that are packed for, of one piece of the right operand and of several."""
    product = (turned | {"nn": plain})[form]
    for k, n in ((0, 5), (7, 3), (513, 600), (1030, 4200)):
        a, b = matrices(20, k, n, "f8")
        a, b = ((x * 100).astype(ml_dtypes.bfloat16 if dtype == "bf16" else dtype) for x in (a, b))
        right = np.ascontiguousarray(b.T) if form[1] == "t" else b
        many = product(a, right)
        for m in (1, 2, 3, 4, 5, 8, 9, 16, 17):
            np.testing.assert_array_equal(product(a[:m], right), many[:m], f"{m, k, n}")


def test_few_rows_and_a_vector_more_epilogue() -> None:
    """What follows the sums is computed where they are, for each piece, and after no products too."""
    layer = txc.jit(lambda a, b, c: np.maximum(a @ b + c, 0) * 2)
    for k in (0, 30, 700):
        a, b = matrices(18, k, 5000, "f4")
        c = matrices(1, 1, 5000, "f4")[1][0]
        np.testing.assert_array_equal(layer(a[:2], b, c), layer(a, b, c)[:2])


def test_one_row_goes_by_the_rows_of_what_is_past_the_caches() -> None:
    """Each of its lines is used once: it is never packed, nor read down its columns."""
    text = text_at("loops", txc.jit(lambda a, b: a @ b), *matrices(1, 2100, 2100, "f8"))
    few = text[text.index("} else {") :]
    assert "loop.reduce" not in few and few.count("math.fma") == 5  # four rows beside each other, then one by one


@pytest.mark.parametrize("turn", [False, True])
@pytest.mark.parametrize("k", [3, 512, 530])
def test_a_computed_left_operand_has_the_bits_of_one_in_memory(k: int, turn: bool) -> None:
    a, b = matrices(13, k, 19, "f4")
    scale = a[:, :1] + 2
    got = turned_quotients(np.ascontiguousarray(a.T), scale, b) if turn else quotients(a, scale, b)
    np.testing.assert_array_equal(got, plain(a / scale, b))


@pytest.mark.parametrize("sizes", [(0, 3, 4), (3, 0, 4), (3, 4, 0), (40, 0, 4), (40, 4, 0), (0, 0, 0), (40, 0, 900)])
@pytest.mark.parametrize("form", ["nt", "tn", "tt"])
def test_no_rows_columns_or_products(sizes: tuple[int, int, int], form: str) -> None:
    m, k, n = sizes
    a, b = np.ones((k, m) if form[0] == "t" else (m, k), "f4"), np.ones((n, k) if form[1] == "t" else (k, n), "f4")
    np.testing.assert_array_equal(turned[form](a, b), np.zeros((m, n), "f4"))
    np.testing.assert_array_equal(plain(np.ones((m, k), "f4"), np.ones((k, n), "f4")), np.zeros((m, n), "f4"))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("sizes", [(50, 1100, 450), (7, 600, 1000), (300, 20, 700), (1100, 513, 400)])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_rows_packed_for_many_columns_have_the_bits_of_rows_in_place(
    sizes: tuple[int, int, int], dtype: str, threads: int
) -> None:
    """All rows of some blocks of K are packed by all threads, which then take panels of their own."""
    a, b = matrices(*sizes, dtype)
    turned_left = txc.jit(lambda a, b: a.T @ b, threads=threads)
    np.testing.assert_array_equal(turned_left(np.ascontiguousarray(a.T), b), plain(a, b))


@pytest.mark.parametrize(("form", "packed"), [("nn", 1), ("tn", 4)])
def test_only_a_left_operand_that_is_strided_along_k_is_packed(form: str, packed: int) -> None:
    """Together with the right one; in two ways, for few and for many columns.  Few rows have three buffers else."""
    function = plain if form == "nn" else turned[form]
    loops = text_at("loops", function, np.ones((64, 64), "f4"), np.ones((64, 64), "f4"))
    assert loops.count("loop.alloc") == packed + 3


@pytest.mark.parametrize(("form", "tiles", "branches"), [("nn", 1, 2), ("nt", 2, 2), ("strided", 1, 1)])
def test_few_rows_are_multiplied_in_place_where_the_right_operand_lies_as_vectors_need_it(
    form: str, tiles: int, branches: int
) -> None:
    strided = txc.jit(lambda a, b: a @ b[:, ::2])
    function = (turned | {"nn": plain, "strided": strided})[form]
    loops = text_at("loops", function, np.ones((64, 64), "f4"), np.ones((64, 64), "f4"))
    assert loops.count("loop.reduce ") == tiles and loops.count("} else {") == branches - 1


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_blocks_of_k_that_are_packed_one_by_one_have_the_bits_of_those_packed_together(dtype: str) -> None:
    a, b = matrices(19, 1537, 2100, dtype)
    few = np.ascontiguousarray(b[:, :65])
    np.testing.assert_array_equal(plain(a, few), plain(a, b)[:, :65])


@pytest.mark.parametrize("turn", [False, True])
@pytest.mark.parametrize("columns", [3, 20, 65, 130])
def test_blocks_of_a_long_k_have_the_bits_of_those_added_one_by_one(columns: int, turn: bool) -> None:
    a, b = matrices(31, 512 * 9 + 7, columns, "f8")
    total = np.zeros((31, columns))
    for first in range(0, a.shape[1], 512):
        total = total + plain(a[:, first : first + 512], b[first : first + 512])
    got = turned["nt"](a, np.ascontiguousarray(b.T)) if turn else plain(a, b)
    np.testing.assert_array_equal(got, total)


def turned_memory(a: np.ndarray[Any, Any], order: str) -> np.ndarray[Any, Any]:
    return np.asfortranarray(a) if order == "F" else np.ascontiguousarray(a)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF"])
@pytest.mark.parametrize("k", [0, 7, 513, 2000])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_what_is_done_to_sums_has_the_bits_of_maps_of_a_product(dtype: str, k: int, orders: str, threads: int) -> None:
    """Sums of no block of K, of one and of several; of few rows and of many."""
    finished = txc.jit(lambda a, b, c: np.tanh(a @ b + c), threads=threads)
    left_packed = txc.jit(lambda a, b, c: np.tanh(-a @ b + c), threads=threads)
    mapped = txc.jit(lambda s, c: np.tanh(s + c))
    for m, n in ((5, 70), (41, 70), (41, 300)):
        a, b = matrices(m, k, n, dtype)
        c = np.random.default_rng(n).random(n).astype(dtype)
        left, right = turned_memory(a, orders[0]), turned_memory(b, orders[1])
        got = finished(left, right, c)
        np.testing.assert_array_equal(got, mapped(plain(a, b), c))
        np.testing.assert_allclose(got, np.tanh(a @ b + c), 1e-3, 1e-4)
        np.testing.assert_array_equal(left_packed(left, right, c), mapped(plain(-a, b), c))


@pytest.mark.parametrize("dtype", ["f8", "i4"])
@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF"])
@pytest.mark.parametrize("k", [0, 7, 513, 2000])
def test_results_of_another_type_are_numpys(k: int, orders: str, dtype: str) -> None:
    """Integers, so that every sum is exact; they cannot wait where the results go."""
    more = txc.jit(lambda a, b, c: a @ b + c > 3)
    for m, n in ((5, 70), (41, 300)):
        a, b = (np.rint(x * 9).astype(dtype) for x in matrices(m, k, n, "f8"))
        c = np.arange(n, dtype=dtype) - n // 2
        got = more(turned_memory(a, orders[0]), turned_memory(b, orders[1]), c)
        np.testing.assert_array_equal(got, a @ b + c > 3)


def test_a_product_with_its_own_transpose_has_the_bits_of_two_operands() -> None:
    """Half of it is computed: tiles that touch the diagonal, of every height and width, and their mirror images."""
    forms: list[tuple[str, Any]] = [
        ("f4", lambda a, b: a.T @ b), ("f8", lambda a, b: a @ b.T),
        ("i4", lambda a, b: (a.T @ b).T + a[0]), ("f8", lambda a, b: np.exp(a).T @ np.exp(b) / (1 + len(a)) - 1),
        ("f4", lambda a, b: np.einsum("ki,kj->ij", a - a.mean(axis=0), b - b.mean(axis=0))),
    ]  # fmt: skip
    for dtype, form in forms:
        two, one = txc.jit(form), txc.jit(lambda a, form=form: form(a, a))
        for shape in ((530, 19), (40, 70), (600, 97), (3, 131), (131, 33), (1, 1), (20, 0)):
            a = (matrices(*shape, 1, "f8")[0] * 8).astype(dtype)
            np.testing.assert_array_equal(one(a), two(a, a.copy()), f"{shape} {dtype}")
            np.testing.assert_allclose(one(a), form(a, a), 1e-3, 1e-3)
