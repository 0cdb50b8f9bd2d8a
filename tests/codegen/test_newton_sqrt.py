"""Square roots by an estimate and steps (`compiler/codegen/cpu/newton_sqrt.py`) are the processor's, to the bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.codegen.cpu.newton_sqrt import stepped_root
from txc.compiler.codegen.target.llvm_backend import host_target
from txc.compiler.config.options import Options
from txc.compiler.interpret.scalar import NumpyScalarBuilder
from txc.compiler.pipeline import run_stages
from txc.passes.cost.model import Machine


def root(x: Any) -> Any:
    return np.sqrt(x)


def assert_same_bits(x: np.ndarray) -> None:
    with np.errstate(invalid="ignore"):
        expected = np.sqrt(x)
    got = txc.jit(root)(x)
    assert np.array_equal(np.isnan(got), np.isnan(expected))
    exact = ~np.isnan(expected)
    bits = f"u{x.dtype.itemsize}"
    assert np.array_equal(got[exact].view(bits), expected[exact].view(bits))


@pytest.mark.skipif(not host_target().has("avx512f"), reason="the estimate is AVX-512's")
@pytest.mark.parametrize(("dtype", "estimate"), [("f4", "rsqrt14.ps.512"), ("f8", "rsqrt14.pd.512")])
def test_this_machine_goes_by_steps(dtype: str, estimate: str):
    graph = txc.jit(root).graph(np.ones(1000, dtype))
    assert f"llvm.x86.avx512.{estimate}" in str(run_stages(graph, Options.of(), stop_after="llvm").llvm)


@pytest.mark.parametrize("division", [5.0, 8.6, 100.0])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_shares_of_the_divider_are_the_same_roots(dtype: str, division: float, monkeypatch: pytest.MonkeyPatch):
    """By steps all of them, every other register's, or none: by what the processor is taken to be."""
    usual = Machine.of_cpu(512, 32)
    monkeypatch.setattr(Machine, "of_cpu", staticmethod(lambda *_: replace(usual, divs_per_ns=division)))

    def program(x: Any, y: Any) -> Any:
        return np.sqrt(np.abs(((x * y + 1.5) * x - y) * 0.5 + x)) / (y + 2.0)

    for n in (1, 15, 31, 33, 64, 100, 1000):
        x, y = np.random.default_rng(n).integers(0, 64, (2, n)).astype(dtype)
        assert np.array_equal(txc.jit(program)(x, y), program(x, y))
    share = {5.0: "{newton = 1", 8.6: "{newton = 2" if dtype == "f4" else "{newton = 1", 100.0: ""}[division]
    asked = str(txc.jit(program).lower(x, y).as_text("loops"))
    if host_target().vector_bits == 512:
        assert (share in asked) if share else "newton" not in asked


def test_every_f32_significand_has_its_root():
    """Of two neighbouring exponents; others are these scaled by powers of four."""
    assert_same_bits(np.arange(0x3F800000, 0x40800000, dtype=np.uint32).view(np.float32))


def nearly_between(most: int) -> np.ndarray:
    """The f64 significands of two neighbouring exponents whose roots are nearest to the middle of two floats.

    Of ``x = X / 2**52`` with the root M in units of its last place, ``sqrt(X)`` is ``(d - 1/4) / (2*M)`` of them from
    the middle above M, where ``d = X - M*M - M``.  `X` is a multiple of 2**52, in the second binade of 2**53.  As
    ``2*M + 1`` is odd, that gives each even d just two M modulo these powers, bit by bit.
    """
    found: set[int] = set()
    for d in range(-most, most + 1, 2):
        for zeros in (52, 53):
            for m in (0, 1):
                for k in range(1, zeros):
                    m |= (m * m + m + d) & 1 << k
                m |= 1 << 52
                square = m * m + m + d
                if square % 2**zeros == 0 and square >> 52 + zeros == 1:
                    found.add(square >> 52)
    return np.array(sorted(found), np.float64)


def test_the_roots_nearest_to_the_middle_of_two_floats():
    x = nearly_between(1024)
    assert len(x) > 1400
    for scale in (1.0, 2.0**-1012, 2.0**-1020, 2.0**900):
        assert_same_bits(x * scale)


@pytest.mark.parametrize("bits", [32, 64])
def test_roots_of_all_exponents_and_of_what_has_none(bits: int):
    """Both signs, subnormal numbers, zeros, infinities and NaNs among them."""
    unsigned, step = f"u{bits // 8}", 2**bits // 2**20 - 3
    spread = np.arange(2**20, dtype=unsigned) * np.array(step, unsigned)
    least, infinity = {32: (0x0F800000, 0x7F800000), 64: (0x03F0000000000000, 0x7FF0000000000000)}[bits]
    quiet = infinity | infinity >> 1
    edges = np.array([least - 1, least, least + 1, infinity - 1, infinity, quiet, 0, 1], unsigned)
    negative = edges | np.array(1 << (bits - 1), unsigned)
    assert_same_bits(np.concatenate([spread, edges.repeat(3), negative]).view(f"f{bits // 8}"))


@pytest.mark.parametrize("error", [-1.0, -0.5, 0.0, 0.5, 1.0])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_no_estimate_within_fourteen_bits_is_too_bad(dtype: str, error: float):
    """Processors differ in the bits of the estimate: the same steps from other ones."""
    if dtype == "f4":
        x = np.arange(0x3F800000, 0x40800000, 7, dtype=np.uint32).view(np.float32)
    else:
        drawn = np.random.default_rng(1).integers(2**52, 2**54, 10**6).astype(np.float64)
        x = np.concatenate([nearly_between(1024), drawn])
    b = NumpyScalarBuilder()
    estimate = ((1 + error * 2.0**-14) / np.sqrt(x.astype(np.float64))).astype(dtype)
    assert np.array_equal(b.array(stepped_root(b, b.value(x), b.value(estimate))), np.sqrt(x))
