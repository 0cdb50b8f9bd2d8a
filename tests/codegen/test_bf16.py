"""Rounding to bfloat16 by the processor's instruction (`codegen/cpu/bf16_round.py`): the bits that integers give."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from txc.compiler.codegen.emit.module import emit_llvm
from txc.compiler.codegen.target.llvm_backend import host_target, make_target
from txc.compiler.codegen.target.target import Target

from .harness import function, load, loop, parse, run, store

F32, BF16 = "f32[n] by [1]", "bf16[n] by [1]"
WITH, WITHOUT = (make_target("x86_64-unknown-linux-gnu", "x86-64-v4", f"{sign}avx512bf16") for sign in "+-")


def rounding(vector: int, unroll: int) -> str:
    """``y[i] = x[i]``, rounded."""
    body = load("x", 0, F32, "i") + "%r = arith.truncf %x : f32 to bf16\n" + store("r", 1, BF16, "i")
    return function([F32, BF16], loop("i", "0", "n", body, vector, unroll))


def rounded(x: np.ndarray, vector: int, unroll: int = 1) -> np.ndarray:
    made = np.zeros(len(x), ml_dtypes.bfloat16)
    run(rounding(vector, unroll), [x, made], [len(x)])
    return made.view(np.uint16)


#: Every sign, exponent and leading bit of a significand; ties, their neighbours, and what makes NaNs.
TAILS = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
NUMBERS = ((np.arange(1 << 16, dtype=np.uint32) << 16)[:, None] | TAILS).ravel().view(np.float32)


@pytest.mark.parametrize("vector", [1, 4, 8, 16, 32])
def test_every_kind_of_number(vector: int) -> None:
    """Numbers below the normal ones stand beside their like, beside others, and where the loop's end cuts a vector."""
    for numbers in (NUMBERS, np.random.default_rng(2).permutation(NUMBERS)[:-5]):
        with np.errstate(invalid="ignore"):
            expected = numbers.astype(ml_dtypes.bfloat16).view(np.uint16)
        found, nan = rounded(numbers, vector), np.isnan(numbers)
        np.testing.assert_array_equal(found[~nan], expected[~nan])
        # NaNs keep their sign and the bits that there is room for, and are quiet.
        np.testing.assert_array_equal(found[nan], numbers.view(np.uint32)[nan] >> 16 | 0x40)


def test_several_vectors_at_once_are_one_question() -> None:
    text = emit_llvm(parse(rounding(16, 4)), WITH)
    assert text.count("call <16 x bfloat> @llvm.x86.avx512bf16.cvtneps2bf16.512") == 4
    assert text.count("call i1 @llvm.vector.reduce.or.v16i1") == 1
    np.testing.assert_array_equal(rounded(NUMBERS, 16, 4), rounded(NUMBERS, 1))


@pytest.mark.parametrize(("vector", "calls"), [(8, ["256"]), (16, ["512"]), (32, ["512", "512"]), (4, []), (1, [])])
def test_vectors_that_the_instruction_takes(vector: int, calls: list[str]) -> None:
    """Halves of those that are twice as long; shorter ones, whose results would be no whole register, by integers."""

    def found(target: Target) -> list[str]:
        text = emit_llvm(parse(rounding(vector, 1)), target)
        return [
            line.split("cvtneps2bf16.")[1][:3] for line in text.splitlines() if "= call" in line and "cvtne" in line
        ]

    assert found(WITH) == calls
    assert found(WITHOUT) == []


@pytest.mark.skipif(not host_target().has("avx512bf16"), reason="this processor has no AVX512-BF16")
def test_this_machine_has_the_instruction() -> None:
    assert "cvtneps2bf16" in emit_llvm(parse(rounding(16, 1)), host_target())
