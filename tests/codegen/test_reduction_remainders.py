"""What is left over of many vectors of folds: one step that goes back from the end, fewer copies, or one by one."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.codegen.emit.module import emit_llvm
from txc.compiler.codegen.target.llvm_backend import make_target

from .harness import function, load, loop, parse, reduce, run, store

Array = np.ndarray[Any, Any]


def columns(extent: str, vector: int, unroll: int, folds: bool = True) -> str:
    """``out = v @ x``, or ``out = x[0]``, with vectors across columns."""
    table, row, out = f"f32[n, {extent}] by [{extent}, 1]", "f32[n] by [1]", f"f32[{extent}] by [1]"
    body = load("r", 0, table, "0, j")
    if folds:
        read = load("x", 0, table, "k, j") + load("y", 1, row, "k") + "%p = arith.mulf %x, %y : f32\n"
        body = reduce("r", "k", "n", read, "%p", "%s = arith.addf %a0, %b0 : f32", "%s", types=["f32"],
                      order="tree<1024, 1>", identity=["0.0 : f32"])  # fmt: skip
    text = loop("j", "0", extent, body + store("r", 2, out, "j"), vector, unroll)
    return function([table, row, out], text, "n, m" if extent == "m" else "n")


def some_integers(*shape: int) -> Array:
    return (np.arange(np.prod(shape)) % 7).reshape(shape)


def clamped_starts(text: str, vector: int) -> int:
    """How many copies begin no later than a vector before some end."""
    ends = re.findall(rf"(%v\d+) = sub nsw i64 %v\d+, {vector}\n", text)
    return sum(len(re.findall(rf"call i64 @llvm\.smin\.i64\(i64 %v\d+, i64 {end}\)", text)) for end in ends)


@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3"])
def test_vectors_of_folds_that_are_left_over_go_back_from_the_end_in_one_step(cpu: str) -> None:
    """With masks or without; maps, whose copies wait for nothing, go on."""
    target = make_target("x86_64-unknown-linux-gnu", cpu)
    fold, copy = (emit_llvm(parse(columns("m", 4, 6, folds)), target) for folds in (True, False))
    assert clamped_starts(fold, 4) == 6 - 1
    assert clamped_starts(copy, 4) == 0


def test_of_many_vectors_a_quarter_is_left_for_the_step() -> None:
    target = make_target("x86_64-unknown-linux-gnu", "x86-64-v3")
    assert clamped_starts(emit_llvm(parse(columns("m", 8, 14)), target), 8) == 14 // 4 - 1


@pytest.mark.parametrize(("extent", "copies"), [(24 + 17, 3), (24 + 16, 0), (24 + 3, 0)])
def test_a_known_extent_has_the_copies_that_it_needs(extent: int, copies: int) -> None:
    """Under masks two vectors go one by one."""
    target = make_target("x86_64-unknown-linux-gnu", "x86-64-v3")
    text = emit_llvm(parse(columns(str(extent), 8, 3)), target)
    assert len(re.findall(rf"smin\.i64\(i64 \d+, i64 {extent - 8}\)", text)) == max(0, copies - 1)


@pytest.mark.parametrize("folds", [True, False])
@pytest.mark.parametrize(("vector", "unroll"), [(4, 1), (4, 3), (8, 9), (8, 14), (16, 7), (4, 28)])
def test_every_extent_is_whole(vector: int, unroll: int, folds: bool) -> None:
    """A quarter of the copies may not divide them; an extent may be known or not."""
    full, some = vector * unroll, max(1, unroll // 4) * vector
    near = {part + more for part in (0, some, 2 * some, full, full + some, 2 * full - vector) for more in (0, 1, 2)}
    for extent in sorted(n + more for n in near for more in (0, vector - 1)):
        x, v = some_integers(5, extent).astype(np.float32), np.arange(1, 6, dtype=np.float32)
        for text, sizes in ((columns("m", vector, unroll, folds), [5, extent]),
                            (columns(str(extent), vector, unroll, folds), [5])):  # fmt: skip
            out = np.full(extent + 1, -1, np.float32)
            run(text, [x, v, out], sizes)
            assert np.array_equal(out[:extent], v @ x if folds else x[0]) and out[extent] == -1, extent


@pytest.mark.parametrize("name", ["i16", "f32"])
@pytest.mark.parametrize(("vector", "unroll"), [(8, 2), (4, 5)])
def test_tiles_that_are_transposed_in_registers_are_read_from_where_copies_begin(
    vector: int, unroll: int, name: str
) -> None:
    """What lies along the fold; elements of 16 bits have no masks, so that as many copies are left over."""
    table, out, kind = f"{name}[m, n] by [n, 1]", f"{name}[m] by [1]", "f" if name == "f32" else "i"
    zero = "0.0 : f32" if name == "f32" else "0 : i16"
    body = reduce("r", "k", "n", load("x", 0, table, "j, k"), "%x", f"%s = arith.add{kind} %a0, %b0 : {name}", "%s",
                  types=[name], order="tree<1024, 1>", identity=[zero])  # fmt: skip
    text = function([table, out], loop("j", "0", "m", body + store("r", 1, out, "j"), vector, unroll), "m, n")
    assert "shufflevector" in emit_llvm(parse(text), make_target("x86_64-unknown-linux-gnu", "x86-64-v3"))
    for m in range(1, 2 * vector * unroll + 2):
        x = some_integers(m, 33).astype("f4" if name == "f32" else "i2")
        found = np.full(m + 1, -1, x.dtype)
        run(text, [x, found], [m, 33])
        assert np.array_equal(found[:m], x.sum(axis=1)) and found[m] == -1, m


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("length", [9, 700])
def test_a_matrix_of_columns_times_a_vector(length: int, dtype: str, threads: int) -> None:
    """Around all vectors that registers hold, whole ones and not; in registers and in sweeps."""
    product = txc.jit(lambda a, v: a @ v, threads=threads)
    v = some_integers(length).astype(dtype) - 3
    for rows in range(28 * 16, 28 * 16 + 61):
        a = np.asfortranarray(some_integers(rows, length).astype(dtype))
        assert np.array_equal(product(a, v), a @ v), rows


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sums_of_any_number_of_columns(dtype: str, threads: int) -> None:
    total = txc.jit(lambda x: np.sum(x, axis=0), threads=threads)
    x = some_integers(9, 1100).astype(dtype)
    for columns in range(1, 1101):
        some = x[:, :columns].copy()
        assert np.array_equal(total(some), some.sum(axis=0)), columns


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("rows", [600, 2100])
def test_sums_in_sweeps_of_any_number_of_columns(rows: int, threads: int) -> None:
    """Of one block of the order, which are finished where they are, and of several."""
    total = txc.jit(lambda x: np.sum(x, axis=0) * 2 + 1, threads=threads)
    for columns in (255, 257, 511, 512, 1023, 1024, 1025, 1100, 4095, 4100):
        x = some_integers(rows, columns).astype("f4")
        assert np.array_equal(total(x), x.sum(axis=0) * 2 + 1), columns


def sums_of_places(x: Any) -> Any:
    return np.sum(np.where(np.arange(x.shape[1]) % 7 > 3, x, x * 2), axis=0)


READ = {
    "places": sums_of_places,
    "backwards": lambda x: np.sum(x[:, ::-1], axis=0),
    "every_other": lambda x: np.sum(x[:, ::2], axis=0),
    "repeated": lambda x: np.sum(np.repeat(x, 2, axis=1), axis=0),
    "tiled": lambda x: np.sum(np.tile(x, (1, 3)), axis=0),
    "padded": lambda x: np.sum(np.pad(x, ((0, 0), (3, 2))), axis=0),
    "across": lambda x: np.sum(x.T, axis=1),
    "diagonals": lambda x: np.sum(x[:, 1:] * x[:, :-1], axis=0),
    "largest": lambda x: np.max(x, axis=0),
    "where": lambda x: np.argmax(x, axis=0),
    "any": lambda x: np.any(x > 5, axis=0),
}


#: Complex numbers have no order.
ORDERED = ("largest", "where", "any")


@pytest.mark.parametrize(
    ("read", "dtype"), [(r, d) for r in READ for d in ("f4", "f8", "i2", "c8") if d != "c8" or r not in ORDERED]
)
def test_what_copies_read_follows_them(read: str, dtype: str) -> None:
    compiled = txc.jit(READ[read])
    for columns in (*range(2, 140, 3), *range(400, 540, 7)):
        x = some_integers(5, columns).astype(dtype)
        assert np.array_equal(compiled(x), READ[read](x)), columns
