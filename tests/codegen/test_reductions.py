"""Reductions give the bits of their order for every vector width and register tile."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from txc.dialects.order import parse_order

from .harness import function, load, loop, ordered_sum, parallel, reduce, run, same_bits, store

RNG = np.random.default_rng(11)
SUM: Any = {"merge": "%s = arith.addf %a0, %b0 : f32", "merged": "%s"}
ZERO = ["-0.0 : f32"]


def row_sum(order: str, vector: int, heavy: bool = False) -> str:
    table, out = "f32[n, m] by [m, 1]", "f32[n] by [1]"
    body = load("x0", 0, table, "i, k") + "".join(
        f"%x{i + 1} = arith.mulf %x{i}, %x{i} : f32\n" for i in range(40 * heavy)
    )
    last = "%x0"
    if heavy:
        body += "%c = arith.constant 0.0 : f32\n%d = arith.mulf %x40, %c : f32\n%e = arith.addf %x0, %d : f32\n"
        last = "%e"
    text = reduce("r", "k", "m", body, last, **SUM, types=["f32"], order=order, identity=ZERO, vector=vector)
    return function([table, out], parallel("i", "0", "n", text + store("r", 1, out, "i")), "n, m")


SIZES = [0, 1, 3, 7, 8, 9, 31, 63, 64, 65, 70, 127, 128, 129, 200]


@pytest.mark.parametrize(
    ("order", "vector", "heavy"),
    list(product(("tree<128, 64>", "tree<64, 16>", "tree<32, 1>", "chain<16>"), (1, 4, 8, 16), (False, True))),
)
def test_row_sums(order: str, vector: int, heavy: bool) -> None:
    text = row_sum(order, vector, heavy)
    for m in [*SIZES, 700]:
        x = RNG.uniform(-1, 1, (3, m)).astype(np.float32)
        out = np.full(3, 9, np.float32)
        run(text, [x, out], [3, m])
        assert same_bits(out, np.array([ordered_sum(r, parse_order(order)) for r in x], np.float32)), m


@pytest.mark.parametrize("m", [0, 5, 64, 100, 128, 300, 512])
@pytest.mark.parametrize("order", ["tree<128, 64>", "chain<64>"])
def test_known_extents(order: str, m: int) -> None:
    info, out = f"f32[{m}] by [1]", "f32[] by []"
    text = reduce(
        "r", "k", str(m), load("x", 0, info, "k"), "%x", **SUM, types=["f32"], order=order, identity=ZERO, vector=8
    )
    x, total = RNG.uniform(-1, 1, m).astype(np.float32), np.array(9, np.float32)
    run(function([info, out], text + store("r", 1, out, "")), [x, total], [0])
    assert same_bits(total, np.asarray(ordered_sum(x, parse_order(order))))


@pytest.mark.parametrize(("order", "vector", "unroll"), list(product(("tree<16, 1>", "chain<16>"), (1, 4, 8), (1, 3))))
def test_column_sums_run_across_results(order: str, vector: int, unroll: int) -> None:
    table, out = "f32[n, m] by [m, 1]", "f32[m] by [1]"
    body = reduce("r", "k", "n", load("x", 0, table, "k, j"), "%x", **SUM, types=["f32"], order=order, identity=ZERO)
    text = function([table, out], loop("j", "0", "m", body + store("r", 1, out, "j"), vector, unroll), "n, m")
    for n, m in ((0, 5), (1, 8), (15, 24), (16, 25), (33, 41), (100, 3)):
        x, total = RNG.uniform(-1, 1, (n, m)).astype(np.float32), np.full(m + 1, 9, np.float32)
        run(text, [x, total], [n, m])
        assert same_bits(total[:m], ordered_sum(x, parse_order(order))) and total[m] == 9


def test_rows_of_a_tile_share_registers_of_lanes() -> None:
    """Lanes of its own inside a loop that is asked for lanes: that loop runs one iteration at a time."""
    table, out = "f32[n, m] by [m, 1]", "f32[n] by [1]"
    order = "tree<128, 64>"
    body = reduce(
        "r", "k", "m", load("x", 0, table, "i, k"), "%x", **SUM, types=["f32"], order=order, identity=ZERO, vector=8
    )
    text = function([table, out], loop("i", "0", "n", body + store("r", 1, out, "i"), 4, 2), "n, m")
    x, total = RNG.uniform(-1, 1, (9, 150)).astype(np.float32), np.zeros(9, np.float32)
    run(text, [x, total], [9, 150])
    assert same_bits(total, np.array([ordered_sum(r, parse_order(order)) for r in x], np.float32))


def argmax(vector: int, order: str = "free", rows: bool = True) -> str:
    table, out, where = "f32[n, m] by [m, 1]", "f32[n] by [1]", "i64[n] by [1]"
    merge = """%more = arith.cmpf ogt, %a0, %b0 : f32
    %same = arith.cmpf oeq, %a0, %b0 : f32
    %first = arith.cmpi slt, %a1, %b1 : i64
    %tie = arith.andi %same, %first : i1
    %keep = arith.ori %more, %tie : i1
    %v = arith.select %keep, %a0, %b0 : f32
    %w = arith.select %keep, %a1, %b1 : i64"""
    body = load("x", 0, table, "i, k") + "%k = loop.index (k)\n"
    text = reduce("r", "k", "m", body, "%x, %k", merge, "%v, %w", types=["f32", "i64"], order=order,
                  identity=["0xFF800000 : f32", "9223372036854775807 : i64"], vector=vector)  # fmt: skip
    text += store("r#0", 1, out, "i") + store("r#1", 2, where, "i")
    return function([table, out, where], parallel("i", "0", "n", text), "n, m")


@pytest.mark.parametrize(("order", "vector"), list(product(("free", "tree<64, 16>"), (1, 4, 8))))
def test_two_states(order: str, vector: int) -> None:
    text = argmax(vector, order)
    for m in (1, 3, 8, 31, 32, 33, 70, 300):
        x = RNG.integers(-9, 9, (5, m)).astype(np.float32)
        value, where = np.zeros(5, np.float32), np.zeros(5, np.int64)
        run(text, [x, value, where], [5, m])
        assert same_bits(value, x.max(axis=1)) and np.array_equal(where, x.argmax(axis=1))


@pytest.mark.parametrize(("vector", "m"), [(8, 9), (8, 15), (16, 17), (16, 24), (16, 31)])
def test_known_extents_of_one_vector_and_some(vector: int, m: int) -> None:
    """Lanes of long bodies are in memory, of which there is a vector: the second one goes there too."""
    long = "".join(f"%x{i + 1} = arith.addf %x{i}, %x{i} : f32\n" for i in range(70))
    out = "f32[] by []"
    merge = "%more = arith.cmpf ogt, %a0, %b0 : f32\n%v = arith.select %more, %a0, %b0 : f32"
    text = reduce("r", "k", str(m), load("x0", 0, f"f32[{m}] by [1]", "k") + long, "%x70", merge, "%v",
                  types=["f32"], order="free", identity=["0xFF800000 : f32"], vector=vector)  # fmt: skip
    text = function([f"f32[{m}] by [1]", out], text + store("r", 1, out, ""))
    for place in (0, vector - 1, vector, m - 1):
        x, total = np.zeros(m, np.float32), np.array(9, np.float32)
        x[place] = 2.0**-70
        run(text, [x, total], [0])
        assert total == 1, place


@pytest.mark.parametrize("vector", [1, 8, 16])
@pytest.mark.parametrize("name", ["i8", "u16", "i32", "u64"])
def test_free_integer_sums(name: str, vector: int) -> None:
    info, out = f"{name}[n] by [1]", "i64[] by []"
    kind = f"i{name[1:]}"
    wide = "%y = arith.constant 0 : i64\n%z = arith.addi %x, %y : i64" if kind == "i64" else (
        f"%z = arith.ext{'s' if name[0] == 'i' else 'u'}i %x : {kind} to i64"
    )  # fmt: skip
    text = reduce("r", "k", "n", load("x", 0, info, "k") + wide, "%z", "%s = arith.addi %a0, %b0 : i64", "%s",
                  types=["i64"], order="free", identity=["0 : i64"], vector=vector)  # fmt: skip
    text = function([info, out], text + store("r", 1, out, ""))
    for n in (0, 1, 15, 64, 100, 259):
        x = RNG.integers(0, 120, n).astype({"i8": "i1", "u16": "u2", "i32": "i4", "u64": "u8"}[name])
        total = np.array(9)
        run(text, [x, total], [n])
        assert total == x.astype(np.int64).sum()


def test_any_of_bools() -> None:
    info, out = "bool[n] by [1]", "bool[] by []"
    text = reduce("r", "k", "n", load("x", 0, info, "k"), "%x", "%s = arith.ori %a0, %b0 : i1", "%s", types=["i1"],
                  order="free", identity=["false"], vector=16)  # fmt: skip
    text = function([info, out], text + store("r", 1, out, ""))
    for n in (0, 1, 40, 200):
        x, found = np.zeros(n, bool), np.array(True)
        run(text, [x, found], [n])
        assert not found
        if n:
            x[n - 1] = True
            run(text, [x, found], [n])
            assert found


def gemm(order: str, rows: int, vector: int, unroll: int) -> str:
    a, b, c = "f64[n, p] by [p, 1]", "f64[p, m] by [m, 1]", "f64[n, m] by [m, 1]"
    body = load("x", 0, a, "i, k") + load("y", 1, b, "k, j")
    product_ = reduce("r", "k", "p", body, "%x, %y", "%s = arith.addf %a0, %b0 : f64", "%s", types=["f64"], order=order,
                      identity=["-0.0 : f64"], yield_types=["f64", "f64"])  # fmt: skip
    nest = loop("i", "0", "n", loop("j", "0", "m", product_ + store("r", 2, c, "i, j"), vector, unroll), 1, rows)
    return function([a, b, c], nest, "n, m, p")


@pytest.mark.parametrize("product", ["fma", "mul_add"])
@pytest.mark.parametrize(("rows", "vector", "unroll"), [(1, 4, 1), (6, 4, 2), (4, 4, 3), (3, 1, 2)])
def test_a_register_tile_of_products(rows: int, vector: int, unroll: int, product: str) -> None:
    """Integers, so that every product and sum is exact: any mistake of indexing shows, no rounding hides it."""
    text = gemm(f"chain<16, {product}>", rows, vector, unroll)
    for n, m, p in ((1, 1, 1), (6, 8, 5), (13, 19, 40), (7, 3, 0), (12, 24, 16)):
        a, b = (RNG.integers(-9, 9, s).astype(np.float64) for s in ((n, p), (p, m)))
        c = np.full((n, m), 9.0)
        run(text, [a, b, c], [n, m, p])
        assert np.array_equal(c, a @ b)


@pytest.mark.parametrize(("product", "expected"), [("fma", -(2.0**-60)), ("mul_add", 0.0)])
def test_fma_rounds_once_and_mul_add_twice(product: str, expected: float) -> None:
    text = gemm(f"chain<16, {product}>", 2, 4, 1)
    a, b, c = np.array([[-1.0, 1 + 2.0**-30]]), np.array([[1.0], [1 - 2.0**-30]]), np.zeros((1, 1))
    run(text, [a, b, c], [1, 1, 2])
    assert c[0, 0] == expected


def test_a_reduction_in_a_reduction() -> None:
    info, out = "f32[n, m] by [m, 1]", "f32[] by []"
    inner = reduce("q", "l", "m", load("x", 0, info, "k, l"), "%x", **SUM, types=["f32"], order="tree<32, 16>",
                   identity=ZERO, vector=8)  # fmt: skip
    outer = reduce("r", "k", "n", inner, "%q", **SUM, types=["f32"], order="tree<32, 8>", identity=ZERO, vector=8)
    text = function([info, out], outer + store("r", 1, out, ""), "n, m")
    for n, m in ((1, 1), (8, 40), (50, 33)):
        x, total = RNG.uniform(-1, 1, (n, m)).astype(np.float32), np.zeros((), np.float32)
        run(text, [x, total], [n, m])
        rows = np.array([ordered_sum(r, parse_order("tree<32, 16>")) for r in x], np.float32)
        assert same_bits(total, np.asarray(ordered_sum(rows, parse_order("tree<32, 8>"))))


@pytest.mark.parametrize("length", [1, 4, 7, 10, 14, 20, 40])
def test_a_free_fold_of_a_body_of_any_length(length: int) -> None:
    """How many vectors a step folds depends on the body's length; the lanes left over are found all the same."""
    text = load("v0", 0, "i32[n] by [1]", "k") + "".join(
        f"%v{i + 1} = arith.addi %v{i}, %v0 : i32\n" for i in range(length)
    )
    fold = reduce("r", "k", "n", text, f"%v{length}", "%c = arith.cmpi sgt, %a0, %b0 : i32\n"
                  "%s = arith.select %c, %a0, %b0 : i32", "%s", types=["i32"], order="free",
                  identity=["-2147483648 : i32"], vector=4)  # fmt: skip
    module = function(["i32[n] by [1]", "i32[] by []"], fold + store("r", 1, "i32[] by []", ""))
    for n in (1, 7, 9, 18, 31, 33):
        for at in range(n):
            x, out = np.zeros(n, np.int32), np.zeros((), np.int32)
            x[at] = 5
            run(module, [x, out], [n])
            assert out == 5 * (length + 1), f"{at} of {n}"
