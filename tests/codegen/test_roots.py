"""Square roots by an estimate and steps (`compiler/codegen/llvm_roots.py`) are those of the processor, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.codegen.machine import host_target
from txc.compiler.options import Options
from txc.compiler.pipeline import run_stages


def root(x: Any) -> Any:
    return np.sqrt(x)


def assert_same_bits(x: np.ndarray) -> None:
    with np.errstate(invalid="ignore"):
        expected = np.sqrt(x)
    got = txc.jit(root)(x)
    assert np.array_equal(np.isnan(got), np.isnan(expected))
    exact = ~np.isnan(expected)
    assert np.array_equal(got[exact].view("u4"), expected[exact].view("u4"))


@pytest.mark.skipif(not host_target().has("avx512f"), reason="the estimate is AVX-512's")
def test_this_machine_goes_by_steps():
    graph = txc.jit(root).graph(np.ones(1000, "f4"))
    assert "llvm.x86.avx512.rsqrt14" in str(run_stages(graph, Options.of(), stop_after="llvm").llvm)


def test_every_significand_has_its_root():
    """Of two neighbouring exponents; others are these scaled by powers of four."""
    assert_same_bits(np.arange(0x3F800000, 0x40800000, dtype=np.uint32).view(np.float32))


def test_roots_of_all_exponents_and_of_what_has_none():
    """Both signs, subnormal numbers, zeros, infinities and NaNs among them."""
    assert_same_bits(np.arange(0, 2**32, 4093, dtype=np.uint64).astype(np.uint32).view(np.float32))
    edges = np.array([0x0FFFFFFF, 0x10000000, 0x10000001, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0, 1], np.uint32)
    assert_same_bits(np.concatenate([edges, edges | np.uint32(1 << 31)]).repeat(3).view(np.float32))


@pytest.mark.parametrize("error", [-1.0, -0.5, 0.0, 0.5, 1.0])
def test_no_estimate_within_fourteen_bits_is_too_bad(error: float):
    """Processors differ in the bits of the estimate: the same steps from other ones, in f32 as f64 rounds it.

    Each product of two f32 is exact in f64, so a sum with one is rounded twice where the machine rounds once.  Only the
    last step depends on that, and there its residual is exact.
    """
    x = np.arange(0x3F800000, 0x40800000, 7, dtype=np.uint32).view(np.float32).astype(np.float64)

    def single(value: np.ndarray) -> np.ndarray:
        return value.astype(np.float32).astype(np.float64)

    estimate = single((1 + error * 2.0**-14) / np.sqrt(x))
    near, half = single(x * estimate), estimate * 0.5
    wrong = single(0.5 - half * near)
    near, half = single(near + near * wrong), single(half + half * wrong)
    found = single(near + single(x - near * near) * half)
    assert np.array_equal(found, np.sqrt(x.astype(np.float32)).astype(np.float64))
