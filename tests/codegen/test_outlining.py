"""Loops that are apart: functions of their own, called from where they stand, by whatever thread is there."""

from __future__ import annotations

import re

import numpy as np
import pytest

from txc.compiler.codegen.emit.module import emit_llvm
from txc.compiler.codegen.target.llvm_backend import make_target

from .harness import function, load, loop, parallel, parse, run, store

TABLE, ROW = "f32[n, m] by [m, 1]", "f32[m] by [1]"


def scaled(apart: bool, kept: bool = False) -> str:
    """``out[i, j] = x[i, j] * s[j]``, rows by threads; the factors may be `kept` in a worker's own memory before."""
    here = "f32[m] by [1]"
    before = f"%t = loop.alloc {here} in thread at 64\n"
    before += loop("c", "0", "m", load("v", 1, ROW, "c") + store("v", "t", here, "c"), 4, 2)
    factor = load("y", "t", here, "j") if kept else load("y", 1, ROW, "j")
    body = load("x", 0, TABLE, "i, j") + factor + "%p = arith.mulf %x, %y : f32\n" + store("p", 2, TABLE, "i, j")
    inner = loop("j", "0", "m", body, 4, 2)
    if apart:
        assert inner.count("unroll = 2 : i64") == 1
        inner = inner.replace("unroll = 2 : i64", "unroll = 2 : i64, outline")
    return function([TABLE, ROW, TABLE], parallel("i", "0", "n", (before if kept else "") + inner), "n, m")


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("m", [0, 1, 8, 13])
def test_a_loop_apart_does_what_it_does_where_it_stands(m: int, kept: bool) -> None:
    x, s = np.arange(5 * m, dtype=np.float32).reshape(5, m), np.arange(m, dtype=np.float32) - 3
    out = np.full_like(x, -1)
    run(scaled(True, kept), [x, s, out], [5, m])
    np.testing.assert_array_equal(out, x * s)


def test_it_is_a_function_that_gets_its_worker() -> None:
    target = make_target("x86_64-unknown-linux-gnu", "x86-64-v3")
    apart, inside = (emit_llvm(parse(scaled(way, kept=True)), target) for way in (True, False))
    assert (apart.count("define internal void"), inside.count("define internal void")) == (2, 1)
    assert re.search(r"call void @f\.i\.j\(ptr %v\d+, i64 0, i64 %worker\)", apart)
