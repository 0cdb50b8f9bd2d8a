"""Exponentials whose last step is one instruction (`compiler/codegen/cpu/scalef.py`) have the bits of the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.codegen.target.llvm_backend import host_target, make_target
from txc.compiler.interpret.scalar import NumpyScalarBuilder
from txc.compiler.pipeline import run_stages
from txc.dialects.registry import Map, find_op


def exponential(x: Any) -> Any:
    return np.exp(x)


def power_of_two(x: Any) -> Any:
    return np.exp2(x)


def power(x: Any) -> Any:
    return np.power(1.5, x)


EDGES = [
    0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30, 3e38, -3e38, 87.0, 88.72283, 88.72284, 89.0, 89.1, -87.0, -87.3366,
    -87.4, -103.2789, -103.97, -103.98, -104.0, -104.1, 127.9, 128.0, 129.0, 129.1, -126.0, -149.0, -149.5, -150.0,
    -150.5, -151.0, -151.1, 1023.9, 1024.0, -1022.0, -1074.0, -1075.0, -1076.1, 1750.0, 1751.0, -1837.0, -1840.0,
    2000.0,
]  # fmt: skip


def arguments(dtype: str) -> np.ndarray[Any, Any]:
    """Every kind of number, more of them where results are subnormal, and the edges with their neighbours."""
    bits = np.random.default_rng(0).integers(0, 2 ** (8 * np.dtype(dtype).itemsize), 20000, f"u{dtype[1]}")
    with np.errstate(over="ignore"):
        edges = np.array(EDGES).astype(dtype)
    near = [np.nextafter(edges, edges.dtype.type(to)) for to in (-np.inf, np.inf)]
    ranges = [
        np.linspace(a, b, 5000).astype(dtype) for a, b in ((-152, -86), (-1080, -1020), (-1845, -1745), (86, 130))
    ]
    return np.concatenate([bits.view(dtype), edges, *near, *ranges])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    ("function", "name"), [(exponential, "exp"), (power_of_two, "exp2"), (power, "pow")], ids=["exp", "exp2", "pow"]
)
def test_bits_are_those_of_the_interpreter(function: Any, name: str, dtype: str):
    """Which has a path of its own for what is beyond the ordinary, as scalars and other targets have."""
    x = arguments(dtype)
    b = NumpyScalarBuilder(host_target().has_fma)
    operands = [b.value(x)] if name != "pow" else [b.value(np.full_like(x, 1.5)), b.value(x)]
    decl = find_op(name)
    assert issubclass(decl, Map)
    with np.errstate(all="ignore"):
        expected = np.asarray(decl.build(b, *operands).ref)
    got = np.asarray(txc.jit(function)(x))
    assert np.array_equal(np.isnan(got), np.isnan(expected))
    number = ~np.isnan(expected)
    assert np.array_equal(got[number].view(f"u{dtype[1]}"), expected[number].view(f"u{dtype[1]}"))


@pytest.mark.skipif(not host_target().has("avx512f"), reason="the instruction is AVX-512's")
@pytest.mark.parametrize(("dtype", "function", "scaled"), [
    ("f4", exponential, True), ("f8", power, True), ("f8", exponential, False),
])  # fmt: skip
def test_who_has_the_instruction(dtype: str, function: Any, scaled: bool):
    """An exponential in f64 is faster with the branch."""
    graph = txc.jit(function).graph(np.ones(1000, dtype))
    text = str(run_stages(graph, stop_after="llvm").llvm)
    assert ("llvm.x86.avx512.mask.scalef" in text) == scaled


def test_a_target_without_it_branches():
    graph = txc.jit(exponential).graph(np.ones(1000, "f4"))
    text = str(run_stages(graph, stop_after="llvm", target=make_target("x86_64-unknown-linux-gnu", "x86-64-v3")).llvm)
    assert "scalef" not in text and "rare" in text
