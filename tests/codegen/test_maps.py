"""Elementwise loops in lanes: widths, unrolls, sizes, strides, views, guards, every element type."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import ml_dtypes
import numpy as np
import pytest

from txc.compiler.codegen.emit.module import emit_llvm
from txc.compiler.codegen.target.llvm_backend import make_target
from txc.dialects.types import DTYPES

from .harness import chunks_of, function, load, loop, parallel, parse, run, same_bits, store

RNG = np.random.default_rng(7)


@pytest.mark.parametrize(("vector", "unroll"), list(product((1, 4, 8, 16), (1, 2, 3))))
def test_a_map_of_any_size(vector: int, unroll: int) -> None:
    f32 = "f32[n] by [1]"
    body = (
        load("x", 0, f32, "i")
        + "\n%y = arith.mulf %x, %x : f32\n%z = arith.addf %y, %x : f32\n"
        + store("z", 1, f32, "i")
    )
    text = function([f32, f32], loop("i", "0", "n", body, vector, unroll))
    for n in range(71):
        x, y = RNG.standard_normal(n + 1).astype(np.float32), np.full(n + 1, 7, np.float32)
        run(text, [x, y], [n])
        assert same_bits(y[:n], x[:n] * x[:n] + x[:n])
        assert y[n] == 7


@pytest.mark.parametrize("n", [0, 1, 3, 8, 15, 16, 17, 40])
def test_a_map_of_a_known_size(n: int) -> None:
    f64 = f"f64[{n}] by [1]"
    body = load("x", 0, f64, "i") + "\n%y = arith.negf %x : f64\n" + store("y", 1, f64, "i")
    text = function([f64, f64], loop("i", "0", str(n), body, 4, 2))
    x, y = RNG.standard_normal(n + 1), np.full(n + 1, 7.0)
    run(text, [x, y], [0])
    assert same_bits(y[:n], -x[:n]) and y[n] == 7


@pytest.mark.parametrize("stride", [0, 1, -1, 2, -3])
@pytest.mark.parametrize("known", [True, False])
def test_strides(stride: int, known: bool) -> None:
    source = f"i32[n] by [{stride}]" if known else "i32[n] by [$s]"
    out = f"i32[n] by [{stride or 1}]" if known else "i32[n] by [$t]"
    body = load("x", 0, source, "i") + "\n%y = arith.addi %x, %x : i32\n" + store("y", 1, out, "i")
    text = function([source, out], loop("i", "0", "n", body, 8, 2), "n, $s, $t")
    for n in (0, 1, 7, 8, 21, 33):
        x, y = np.arange(400, dtype=np.int32), np.zeros(400, np.int32)
        run(text, [x[200:], y[200:]], [n, stride, stride or 1])
        expected = np.zeros(400, np.int32)
        for i in range(n):
            expected[200 + i * (stride or 1)] = 2 * x[200 + i * stride]
        assert np.array_equal(y, expected)


def test_a_long_body_is_emitted_once_for_whole_and_partial_vectors() -> None:
    f32, one = "f32[n] by [1]", "f32[] by []"
    body = load("x", 0, f32, "i") + load("c", 1, one, "") + load("p", 3, f32, "i - 2", "i - 2, n - 4 - i")
    body += "%a = arith.mulf %x, %x : f32\n%b = math.sqrt %a : f32\n%d = math.sqrt %b : f32\n"
    body += "%e = arith.addf %d, %c : f32\n%g = arith.addf %e, %p : f32\n"
    body += store("g", 2, f32, "i") + store("d", 0, f32, "i", "i - 1")
    text = function([f32, one, f32, f32], loop("i", "0", "n", body, 8))
    target = make_target("x86_64-unknown-linux-gnu", "x86-64-v3")
    assert target.has_masks
    assert emit_llvm(parse(text), target).count("= call <8 x float> @llvm.sqrt.v8f32(") == 2
    for n in range(36):
        x, y = RNG.standard_normal(n + 1).astype(np.float32), np.full(n + 1, 7, np.float32)
        c, old, p = np.float32(3), x.copy(), RNG.standard_normal(n + 1).astype(np.float32)
        roots, moved = np.sqrt(np.sqrt(old * old)), np.zeros(n, np.float32)
        moved[2 : max(2, n - 3)] = p[: max(0, n - 5)]
        run(text, [x, np.full(1, c), y, p], [n])
        assert same_bits(y[:n], roots[:n] + c + moved) and y[n] == 7
        assert same_bits(x[1:n], roots[1:n]) and same_bits(x[[0, n]], old[[0, n]])


def test_rows_that_are_left_over_repeat_the_last_one() -> None:
    table = "f32[n, m] by [m, 1]"
    body = load("x", 0, table, "4 * t + r, j") + load("y", 1, table, "4 * t + r, j")
    body += "%z = arith.addf %x, %y : f32\n" + store("z", 1, table, "4 * t + r, j")
    tile = loop("r", "0", "min(4, n - 4 * t)", loop("j", "0", "m", body, 8), unroll=4)
    text = function([table, table], loop("t", "0", "(n + 3) // 4", tile), "n, m")
    target = make_target("x86_64-unknown-linux-gnu", "x86-64-v3")
    assert emit_llvm(parse(text), target).count("fadd <8 x float>") == 8  # four rows, whole vectors and the rest
    for n, m in product(range(10), (1, 8, 13)):
        x, y = RNG.standard_normal((2, n + 1, m)).astype(np.float32)
        expected = np.concatenate([x[:n] + y[:n], y[n:]])
        run(text, [x, y], [n, m])
        assert same_bits(y, expected)


@pytest.mark.parametrize("name", [n for n, d in DTYPES.items() if not d.is_complex])
def test_every_element_type_is_copied_and_compared(name: str) -> None:
    element = DTYPES[name]
    info, flags = f"{name}[n] by [1]", "bool[n] by [1]"
    if element.is_float:
        compare = f"%c = arith.cmpf olt, %x, %y : {name}"
    else:
        predicate = "slt" if element.kind == "int" else "ult"
        compare = f"%c = arith.cmpi {predicate}, %x, %y : i{element.bits}"
    body = "\n".join(
        [load("x", 0, info, "i"), load("y", 1, info, "i"), compare, store("x", 2, info, "i"), store("c", 3, flags, "i")]
    )
    text = function([info, info, info, flags], loop("i", "0", "n", body, 8, 2))
    for n in (5, 16, 37):
        x = (RNG.standard_normal(n) * 100).astype(element.numpy)
        y = (RNG.standard_normal(n) * 100).astype(element.numpy)
        copy, less = np.zeros(n, element.numpy), np.zeros(n, bool)
        run(text, [x, y, copy, less], [n])
        assert same_bits(copy, x) and np.array_equal(less, x < y)


def test_reshaped_and_broadcast_operands() -> None:
    flat, table, row = "f32[n * m] by [1]", "f32[n, m] by [m, 1]", "f32[m] by [1]"
    body = "\n".join(
        [
            load("x", 0, table, "i // m, i % m"),
            load("y", 1, row, "i % m"),
            "%z = arith.addf %x, %y : f32",
            store("z", 2, flat, "i"),
        ]
    )
    text = function([table, row, flat], loop("i", "0", "n * m", body, 8, 2), "n, m")
    for n, m in ((1, 1), (3, 5), (7, 19), (4, 0)):
        x, y = RNG.standard_normal((n, m)).astype(np.float32), RNG.standard_normal(m).astype(np.float32)
        out = np.zeros(n * m, np.float32)
        run(text, [x, y, out], [n, m])
        assert same_bits(out, (x + y).ravel())


def test_rows_of_a_tile_may_divide_their_iterator() -> None:
    """Only the vector dim has to be linear: the row's ``// 2`` and ``% 3`` are computed once a row."""
    table, out = "f32[n, m] by [m, 1]", "f32[2 * n, m] by [m, 1]"
    body = load("x", 0, table, "i // 2, j") + load("y", 0, table, "i % 3, m - 1 - j", "n - 1 - i % 3")
    body += "%z = arith.addf %x, %y : f32\n" + store("z", 1, out, "i, j")
    text = function([table, out], loop("i", "0", "2 * n", loop("j", "0", "m", body, 8, 2), 1, 4), "n, m")
    for n, m in ((1, 4), (3, 17), (5, 40)):
        x, z = RNG.standard_normal((n, m)).astype(np.float32), np.zeros((2 * n, m), np.float32)
        run(text, [x, z], [n, m])
        padded = np.concatenate([x, np.zeros((3, m), np.float32)])
        assert same_bits(z, x[np.arange(2 * n) // 2] + padded[np.arange(2 * n) % 3][:, ::-1])


@pytest.mark.parametrize("vector", [1, 4, 8])
def test_guards_pad_with_zero(vector: int) -> None:
    f32 = "f32[n] by [1]"
    padded = "f32[n + 7] by [1]"
    body = load("x", 0, f32, "i - 3", "i - 3, n + 2 - i") + "\n" + store("x", 1, padded, "i")
    text = function([f32, padded], loop("i", "0", "n + 7", body, vector, 2))
    reverse = load("x", 0, f32, "n + 2 - i", "i - 3, n + 2 - i") + "\n" + store("x", 1, padded, "i")
    reversed_text = function([f32, padded], loop("i", "0", "n + 7", reverse, vector, 1))
    thinned = load("x", 0, padded, "i") + "\n" + store("x", 1, f32, "i - 2", "i - 2, n + 1 - i")
    thinned_text = function([padded, f32], loop("i", "0", "n + 7", thinned, vector, 2))
    for n in (0, 1, 5, 12, 31):
        x, out = RNG.standard_normal(n).astype(np.float32), np.full(n + 7, 9, np.float32)
        run(text, [x, out], [n])
        assert same_bits(out, np.pad(x, (3, 4)))
        run(reversed_text, [x, out], [n])
        assert same_bits(out, np.pad(x[::-1], (3, 4)))
        y, cut = RNG.standard_normal(n + 7).astype(np.float32), np.full(n + 1, 5, np.float32)
        run(thinned_text, [y, cut], [n])
        assert same_bits(cut[:n], y[2 : n + 2]) and cut[n] == 5


def test_a_guard_of_an_outer_loop_and_strided_guarded_lanes() -> None:
    table, out = "f32[n, m] by [m, 1]", "f32[n + 2, m] by [m, 1]"
    column = "f32[m, n] by [1, m]"
    body = load("x", 0, table, "i - 1, j", "i - 1, n - i") + "\n" + store("x", 2, out, "i, j")
    body2 = load("y", 1, column, "j, i - 1", "i - 1, n - i, j - 1") + "\n" + store("y", 3, out, "i, j")
    nest = loop("i", "0", "n + 2", loop("j", "0", "m", body, 8) + loop("j", "0", "m", body2, 4), 1, 2)
    transposed = loop("j", "0", "m", loop("i", "0", "n + 2", body2, 8))
    text = function([table, column, out, out], nest, "n, m")
    text2 = function([table, column, out, out], transposed, "n, m")
    for n, m in ((0, 3), (3, 1), (5, 11), (9, 16)):
        x = RNG.standard_normal((n, m)).astype(np.float32)
        a, b, c = (np.full((n + 2, m), 9, np.float32) for _ in range(3))
        run(text, [x, x, a, b], [n, m])
        run(text2, [x, x, a, c], [n, m])
        expected = np.pad(x, ((1, 1), (0, 0)))
        assert same_bits(a, expected)
        expected[:, 0] = 0
        assert same_bits(b, expected) and same_bits(c, expected)


@pytest.mark.parametrize(
    ("more", "element", "at_once"),
    [(",+avx512fp16", "f32", 3), (",+avx512fp16", "i64", 3), (",+avx512fp16", "i16", 0), ("", "f32", 0)],
)
def test_whole_gathers_are_instructions_where_these_are_fast(more: str, element: str, at_once: int) -> None:
    """Those of both copies and of one vector more; that of the rest is under a mask on all machines."""
    kind = f"{element}[n] by [1]"
    body = "\n".join(
        [load("k", 1, "i64[n] by [1]", "i"), 'loop.bind %k as k', load("x", 0, kind, "k"),
         store("x", 2, kind, "i")]
    )  # fmt: skip
    text = function([kind, "i64[n] by [1]", kind], loop("i", "0", "n", body, 8, 2))
    target = make_target("x86_64-unknown-linux-gnu", "x86-64-v4")
    written = emit_llvm(parse(text), replace(target, features=target.features + more))
    gathers = [line for line in written.splitlines() if "call" in line and "llvm.masked.gather" in line]
    assert sum("splat (i1 true)" in line for line in gathers) == at_once
    x, k = RNG.integers(0, 100, 37).astype(DTYPES[element].numpy), RNG.permutation(37)
    out = np.zeros_like(x)
    run(text, [x, k, out], [37])
    assert same_bits(out, x[k])


def test_lanes_that_stay_as_they_are_are_stored_with_the_others_where_masks_are_slow() -> None:
    """LLVM makes a store under a mask of a choice between a new value and what was loaded from there."""
    kind = "f64[n] by [1]"
    body = [
        load("x", 0, kind, "i"), load("y", 1, kind, "i"), "%less = arith.cmpf olt, %x, %y : f64",
        "%least = arith.select %less, %x, %y : f64",
    ]  # fmt: skip
    there, elsewhere = (
        function([kind] * 3, loop("i", "0", "n", "\n".join([*body, store("least", to, kind, "i")]), 4, 2))
        for to in (0, 2)
    )
    for text, cpu, frozen in ((there, "x86-64-v3", 4), (there, "x86-64-v4", 0), (elsewhere, "x86-64-v3", 0)):
        assert emit_llvm(parse(text), make_target("x86_64-unknown-linux-gnu", cpu)).count("= freeze <4 x") == frozen
    for n in (3, 8, 13):
        x, y = RNG.standard_normal((2, n))
        expected = np.minimum(x, y)
        run(there, [x, y, np.zeros(n)], [n])
        assert same_bits(x, expected)


def test_gathers_by_bound_indices() -> None:
    f32, i64 = "f32[n] by [1]", "i64[n] by [1]"
    body = "\n".join(
        [
            load("k", 1, i64, "i"),
            '"loop.bind"(%k) {symbol = "k"} : (i64) -> ()',
            load("x", 0, f32, "k"),
            store("x", 2, f32, "i"),
        ]
    ).replace('"loop.bind"(%k) {symbol = "k"} : (i64) -> ()', "loop.bind %k as k")
    text = function([f32, i64, f32], loop("i", "0", "n", body, 8, 2))
    scatter = "\n".join([load("k", 1, i64, "i"), "loop.bind %k as k", load("x", 0, f32, "i"), store("x", 2, f32, "k")])
    scatter_text = function([f32, i64, f32], loop("i", "0", "n", scatter, 8, 1))
    for n in (1, 8, 13, 40):
        x, where, out = RNG.standard_normal(n).astype(np.float32), RNG.permutation(n), np.zeros(n, np.float32)
        run(text, [x, where, out], [n])
        assert same_bits(out, x[where])
        run(scatter_text, [x, where, out], [n])
        assert same_bits(out[where], x)


def test_index_values_in_lanes() -> None:
    i64 = "i64[n] by [1]"
    body = "%x = loop.index ((i*i + 3) // $d + (i - $d) % 5 + min(i, 4))\n" + store("x", 0, i64, "i")
    text = function([i64], loop("i", "0", "n", body, 4, 2), "n, $d")
    for d in (3, -7):
        out = np.zeros(23, np.int64)
        run(text, [out], [23, d])
        assert out.tolist() == [(i * i + 3) // d + (i - d) % 5 + min(i, 4) for i in range(23)]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_parallel_chunks_cover_the_range(threads: int) -> None:
    f32 = "f32[n] by [1]"
    body = load("x", 0, f32, "i") + "\n%y = arith.addf %x, %x : f32\n" + store("y", 1, f32, "i")
    tiles = parallel("t", "0", "n", loop("i", "t", "min(t + 16, n)", body, 8, 2), "16", "2")
    text = function([f32, f32], tiles)
    for n in (0, 1, 15, 16, 17, 100, 5000):
        x, y = RNG.standard_normal(n + 1).astype(np.float32), np.full(n + 1, 7, np.float32)
        run(text, [x, y], [n], threads)
        assert same_bits(y[:n], x[:n] + x[:n]) and y[n] == 7


def test_threads_have_equally_many_chunks() -> None:
    """Of a grain at least, eight for each thread at most; what is one grain stays with the caller."""
    i64 = "i64[n] by [1]"
    body = "%x = loop.index (i)\n" + store("x", 0, i64, "i")
    text = function([i64], parallel("i", "0", "n", body, grain="g"), "n, g")
    cases = [
        (8, 5, 2, [2]), (8, 8, 2, []), (15, 5, 2, [2]), (500, 1, 2, [16]), (500, 1, 3, [24]), (100, 9, 3, [12]),
        (3, 1, 4, [3]), (100, 1, 1, []), (0, 1, 2, []),
    ]  # fmt: skip
    for n, grain, threads, expected in cases:
        out = np.zeros(n + 1, np.int64)
        assert chunks_of(text, [out], [n, grain], threads) == expected, (n, grain, threads)
        assert out.tolist() == [*range(n), 0]


def test_temporaries_and_captured_scalars() -> None:
    f32 = "f32[n, m] by [m, 1]"
    tmp, scalar_info = "f32[m] by [1]", "f32[] by []"
    first = load("x", 0, f32, "i, j") + "%y = arith.mulf %x, %s : f32\n" + store("y", "t", tmp, "j")
    second = load("z", "t", tmp, "m - 1 - j") + store("z", 1, f32, "i, j")
    body = f"""%t = loop.alloc {tmp} in thread at 64
    {loop("j", "0", "m", first, 8)}
    {loop("j", "0", "m", second, 8)}"""
    text = function([f32, f32, scalar_info], load("s", 2, scalar_info, "") + parallel("i", "0", "n", body), "n, m")
    x, y = RNG.standard_normal((9, 13)).astype(np.float32), np.zeros((9, 13), np.float32)
    run(text, [x, y, np.array(2.5, np.float32)], [9, 13])
    assert same_bits(y, (x * np.float32(2.5))[:, ::-1].copy())


def test_if_while_and_carried_values() -> None:
    i64, out = "i64[] by []", "i64[n] by [1]"
    collatz = f"""
    "loop.while"() ({{
      {load("v", 0, i64, "")}
      %one = arith.constant 1 : i64
      %more = arith.cmpi sgt, %v, %one : i64
      loop.yield %more : i1
    }}, {{
      {load("w", 0, i64, "")}
      %b = arith.constant 1 : i64
      %two = arith.constant 2 : i64
      %three = arith.constant 3 : i64
      %bit = arith.andi %w, %b : i64
      %odd = arith.cmpi eq, %bit, %b : i64
      "loop.if"(%odd) ({{
        %t = arith.muli %w, %three : i64
        %u = arith.addi %t, %b : i64
        {store("u", 0, i64, "")}
        loop.yield
      }}, {{
        %h = arith.divsi %w, %two : i64
        {store("h", 0, i64, "")}
        loop.yield
      }}) : (i1) -> ()
      loop.yield
    }}) : () -> ()
    %zero = arith.constant 0 : i64
    %sum = "loop.for"(%zero) ({{
    ^bb0(%acc: i64):
      %i = loop.index (i*i)
      %next = arith.addi %acc, %i : i64
      {store("next", 1, out, "i")}
      loop.yield %next : i64
    }}) {{iv = "i", lower = #tx.dim<"0">, upper = #tx.dim<"n">, step = #tx.dim<"1">,
      vector = 1 : i64, unroll = 1 : i64}} : (i64) -> i64
    {store("sum", 0, i64, "")}"""
    value, squares = np.array(27), np.zeros(6, np.int64)
    run(function([i64, out], collatz), [value, squares], [6])
    assert value == 55 and squares.tolist() == [0, 1, 5, 14, 30, 55]


def test_bfloat16_is_stored_as_its_bits() -> None:
    bf16, f32 = "bf16[n] by [1]", "f32[n] by [1]"
    body = load("x", 0, f32, "i") + "\n%y = arith.truncf %x : f32 to bf16\n" + store("y", 1, bf16, "i")
    x = np.concatenate([RNG.standard_normal(50), [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-40, 3.39e38]]).astype(
        np.float32
    )
    out = np.zeros(len(x), ml_dtypes.bfloat16)
    run(function([f32, bf16], loop("i", "0", "n", body, 8, 2)), [x, out], [len(x)])
    assert same_bits(out, x.astype(ml_dtypes.bfloat16))


def test_loops_that_carry_values_inside_lanes_and_a_triangle() -> None:
    table, out = "f32[n, m] by [m, 1]", "f32[m] by [1]"
    body = f"""%zero = arith.constant 0.0 : f32
    %s = "loop.for"(%zero) ({{
    ^bb0(%acc: f32):
      {load("x", 0, table, "i, j")}
      %half = arith.constant 0.5 : f32
      %t = arith.mulf %acc, %half : f32
      %next = arith.addf %t, %x : f32
      loop.yield %next : f32
    }}) {{iv = "i", lower = #tx.dim<"0">, upper = #tx.dim<"n">, step = #tx.dim<"1">,
      vector = 1 : i64, unroll = 1 : i64}} : (f32) -> f32
    """
    text = function([table, out], loop("j", "0", "m", body + store("s", 1, out, "j"), 8, 2), "n, m")
    double = load("x", 0, table, "i, j") + "%y = arith.addf %x, %x : f32\n" + store("y", 1, table, "i, j")
    triangle = function([table, table], loop("i", "0", "n", loop("j", "0", "i + 1", double, 8), 1, 2), "n, m")
    for n, m in ((0, 3), (4, 21), (9, 32)):
        x, y = RNG.standard_normal((n, m)).astype(np.float32), np.full(m, 9, np.float32)
        run(text, [x, y], [n, m])
        expected = np.zeros(m, np.float32)
        for row in x:
            expected = expected * np.float32(0.5) + row
        assert same_bits(y, expected)
    x, z = RNG.standard_normal((17, 17)).astype(np.float32), np.zeros((17, 17), np.float32)
    run(triangle, [x, z], [17, 17])
    assert same_bits(z, np.tril(x + x) + np.float32(0))


@pytest.mark.parametrize("start", ["0", "s"])
def test_copies_that_take_the_same_numbers_share_what_is_computed_of_them(start: str) -> None:
    """Of four vectors the third has what the first has, where the loop is known to begin at a multiple of 32."""
    i64, expr = "i64[n] by [1]", "16*(i // 32) + (i % 16)"
    body = f"%d = loop.index ({expr})\n%q = arith.muli %d, %d : i64\n" + store("q", 0, i64, "i")
    text = function([i64], loop("i", start, "n", body, 8, 4), "n, s")
    written = emit_llvm(parse(text), make_target("x86_64-unknown-linux-gnu", "x86-64-v3"))
    main = written.split("\nloop")[1]
    assert main.count(" = mul <8 x i64>") == (2 if start == "0" else 8)  # squares; and multiples of 16
    for first in (0,) if start == "0" else (0, 1, 32, 35):
        for n in (0, 31, 64, 100, 171):
            y, i = np.full(n + 1, 7), np.arange(n)
            run(text, [y], [n, first])
            expected = np.where(i >= first, (16 * (i // 32) + i % 16) ** 2, 7)
            assert np.array_equal(y[:n], expected) and y[n] == 7
