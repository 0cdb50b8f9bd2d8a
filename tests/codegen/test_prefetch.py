"""Elements that are wanted soon: their lines are asked for, whether the elements are there or not."""

from __future__ import annotations

import numpy as np
import pytest

from txc.compiler.codegen.emit.module import emit_llvm
from txc.compiler.codegen.target.llvm_backend import host_target

from .harness import function, load, loop, parse, run, store

F32 = "f32[n] by [1]"


def copy_with_prefetch(cache: int) -> str:
    """``y[i] = x[i]``, asking for the elements 100 further on."""
    ahead = f"loop.prefetch %0[i + 100] cache {cache}\n"
    return function([F32, F32], loop("i", "0", "n", ahead + load("x", 0, F32, "i") + store("x", 1, F32, "i"), vector=8))


@pytest.mark.parametrize("count", [0, 5, 64, 203])
def test_values_are_as_without(count: int) -> None:
    x, y = np.arange(count, dtype=np.float32), np.zeros(count, np.float32)
    run(copy_with_prefetch(1), [x, y], [count])
    assert np.array_equal(x, y)


@pytest.mark.parametrize(("cache", "locality"), [(1, 3), (2, 2)])
def test_the_cache_is_the_one_asked_for(cache: int, locality: int) -> None:
    text = emit_llvm(parse(copy_with_prefetch(cache)), host_target())
    calls = [line for line in text.splitlines() if "call void @llvm.prefetch" in line]
    assert calls
    assert all(f"i32 0, i32 {locality}, i32 1)" in line for line in calls)


def test_vectors_in_a_row_ask_once_for_a_line() -> None:
    text = emit_llvm(parse(copy_with_prefetch(1).replace("unroll = 1", "unroll = 4")), host_target())
    calls = [line for line in text.splitlines() if "call void @llvm.prefetch" in line]
    assert len(calls) == len(set(calls)) == 2 + 1  # two lines of four vectors, one of a vector that is left over


def test_a_condition_is_asked_before_a_store_is_foreseen() -> None:
    ahead = copy_with_prefetch(1).replace("cache 1", "writes where (n - 50 > 0)")
    text = emit_llvm(parse(ahead), host_target())
    assert "i32 1, i32 3, i32 1)" in text
    assert "icmp sgt i64" in text
    for count in (49, 203):
        x, y = np.arange(count, dtype=np.float32), np.zeros(count, np.float32)
        run(ahead, [x, y], [count])
        assert np.array_equal(x, y)
