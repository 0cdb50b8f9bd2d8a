"""Elements in two groups, as the interpreter has them, on any vectors."""

from __future__ import annotations

import numpy as np
import pytest

from txc.compiler.codegen.emit.module import emit_llvm
from txc.compiler.codegen.target.llvm_backend import host_target, make_target
from txc.compiler.interpret.loops import run as interpret

from .harness import function, load, parse, run_module


def partition(dtype: str, vector: int) -> str:
    """Elements from the third on that are less than 3, from the second place of the result on, the others from its end
    backwards; how many there are."""
    info, counts = f"{dtype}[n] by [1]", "i64[1] by [1]"
    compare = "arith.cmpi slt" if dtype[0] == "i" else "arith.cmpf olt"
    three = "3" if dtype[0] == "i" else "3.0"
    body = f"""
%count = "loop.partition"(%1) ({{
{load("v", 0, info, "i")}
%three = arith.constant {three} : {dtype}
%less = {compare}, %v, %three : {dtype}
loop.yield %v, %less : {dtype}, i1
}}) {{iv = "i", lower = #tx.dim<"2">, upper = #tx.dim<"n">, step = #tx.dim<"1">, low = #tx.dim<"1">,
high = #tx.dim<"n - 1">, vector = {vector} : i64}} : (!loop.buffer<"{info}">) -> i64
loop.store %count, %2[0]
"""
    return function([info, info, counts], body)


@pytest.mark.parametrize("cpu", ["", "x86-64-v3", "x86-64"])
@pytest.mark.parametrize("vector", [1, 4, 16])
@pytest.mark.parametrize("dtype", ["i32", "f32", "f64", "i16"])
def test_both_groups(dtype: str, vector: int, cpu: str) -> None:
    module, target = parse(partition(dtype, vector)), make_target(cpu=cpu) if cpu else host_target()
    kind = {"i32": np.int32, "f32": np.float32, "f64": np.float64, "i16": np.int16}[dtype]
    for n in (2, 3, 5, 18, 19, 67):
        x = np.random.default_rng(n).integers(0, 6, n).astype(kind)
        expected, found = ([x.copy(), np.full(n, 9, kind), np.zeros(1, np.int64)] for _ in "ab")
        interpret(module, expected, {"n": n})
        run_module(module, found, [n], target=target)
        for a, b in zip(found, expected):
            np.testing.assert_array_equal(a, b)
        count = int(np.sum(x[2:] < 3))
        assert found[2][0] == count and sorted(found[1][1 : n - 1]) == sorted(x[2:])
        np.testing.assert_array_equal(found[1][1 : 1 + count], x[2:][x[2:] < 3])


def test_vectors_are_compressed() -> None:
    text = emit_llvm(parse(partition("i32", 16)), host_target())
    assert text.count("call void @llvm.masked.compressstore.v16i32") == 4
