"""Objects for other processors, run by emulators and node: bits of x86-64-v3, or, without FMA, of x86-64-v2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from txc.compiler.aot.export import Exported, export_graph
from txc.compiler.codegen.target.llvm_backend import (
    compile_llvm,
    host_target,
    libcalls,
    undefined_symbols,
)
from txc.compiler.codegen.target.names import named_target
from txc.compiler.codegen.target.target import TargetError
from txc.compiler.config.options import Options
from txc.compiler.driver.compile_cache import compiled
from txc.compiler.frontend.tensor.apply import apply
from txc.compiler.frontend.trace.graph import Graph
from txc.compiler.frontend.trace.trace import Trace
from txc.compiler.interpret import kernel as kernel_level
from txc.compiler.pipeline import run_stages
from txc.dialects.registry import OPS, REQUIRED, Map, Reduction
from txc.dialects.types import DTYPES

from .examples import CASES, case
from .harness import Machine, call_from_c, exported, reference, same_bits
from .node import call_from_node

EMULATED = {
    "aarch64": Machine("aarch64-linux-gnu-gcc", ("qemu-aarch64",), ("-static",)),
    "riscv64": Machine("riscv64-linux-gnu-gcc", ("qemu-riscv64",), ("-static",)),
}


@pytest.mark.parametrize("target", EMULATED)
@pytest.mark.parametrize("name", CASES)
def test_examples(name: str, target: str, tmp_path: Path):
    machine = EMULATED[target].require()
    function, arguments = case(name)
    made = exported(function, target)
    assert libcalls(made.object) == set()
    got = call_from_c(made, arguments, tmp_path, machine)
    assert all(map(same_bits, got, reference(function, arguments)))


@pytest.mark.parametrize("name", CASES)
def test_examples_without_fma(name: str, tmp_path: Path):
    """x86-64 of 2003 and WebAssembly have no FMA: their orders round products, and they agree."""
    function, arguments = case(name)
    expected = without_fma(exported(function, "x86-64"), arguments, tmp_path)
    made = exported(function, "wasm32")
    assert libcalls(made.object) == set()
    assert all(map(same_bits, call_from_node(made, arguments, tmp_path), expected))


def without_fma(made: Exported, arguments: Sequence[Any], folder: Path) -> list[np.ndarray]:
    """What an object for an old x86 gives here; it needs nothing from outside."""
    if not host_target().is_x86:
        pytest.skip("the reference without FMA is x86-64's")
    assert libcalls(made.object) == set()
    return call_from_c(made, arguments, folder, Machine().require())


#: From which cost on maps are functions of their own.
ELEMENTARY = 20.0


def every_op(name: str, elementary: bool = True) -> Graph:
    """All maps and reductions of a dtype that need no parameters, each an output; or those that are no functions."""
    with Trace(f"every_op_of_{name}") as trace:
        n = trace.table.declare("n")
        given = [trace.tensor_input(f"x{i}", name, (n, 4)) for i in range(3)]
        flags = trace.tensor_input("flags", "bool", (n, 4))
        made: list[Any] = []
        kind = DTYPES[name].kind
        for op in OPS.values():
            if any(param.default is REQUIRED for param in op.params.values()):
                continue
            if issubclass(op, Map) and kind in (op.dtypes or {kind}) and (elementary or op.cost < ELEMENTARY):
                made.append(apply(op.name, *([flags, *given[1:]] if op.name == "select" else given[: op.arity])))
            elif issubclass(op, Reduction) and kind in (op.dtypes or {kind}):
                results = apply(op.name, given[0], dims=(1,))
                made += results if isinstance(results, tuple) else [results]
        made += [apply("cast", given[0], dtype=d) for d in DTYPES.values()]
        return trace.finish(tuple(made))


def special_values(name: str) -> list[np.ndarray]:
    element = DTYPES[name].numpy
    rng = np.random.default_rng(11)
    flags = rng.integers(0, 2, (9, 4)).astype(bool)
    if DTYPES[name].kind != "float":
        return [*(rng.integers(0, 256, (9, 4)).astype(element) for _ in range(3)), flags]
    picked = np.array([0.0, -0.0, 1.0, 0.5, -2.5, 1e-40, np.inf, -np.inf, np.nan, 3e38, -7e4, 2.0], np.float64)
    with np.errstate(all="ignore"):
        shape = (9, 4)
        plain = [np.where(rng.random(shape) < 0.6, rng.uniform(-3, 3, shape), rng.choice(picked, shape)) for _ in "xyz"]
        return [*(a.astype(element) for a in plain), flags]


def runs(name: str) -> list[str]:
    """Where a dtype is tried: f32 and f64 everywhere, the others on one processor each."""
    names = list(EMULATED)
    return names if name in ("f32", "f64") else [names[list(DTYPES).index(name) % 2]]


def with_elementary(name: str, target: str) -> bool:
    """Functions of f32 are tried on one processor and those of f64 on the other; those of f16 and bf16 are f32's
    between casts, which other maps have too."""
    return DTYPES[name].kind != "float" or (name, target) in (("f32", "aarch64"), ("f64", "riscv64"))


@pytest.mark.parametrize(("name", "target"), [(name, target) for name in DTYPES for target in runs(name)])
def test_every_op(name: str, target: str, tmp_path: Path):
    machine, elementary = EMULATED[target].require(), with_elementary(name, target)
    arguments = special_values(name)
    expected = compiled(every_op(name, elementary), [("packed",)] * 4, Options.of())(arguments)
    made = export_graph(every_op(name, elementary), named_target(target))
    assert libcalls(made.object) == set()
    got = call_from_c(made, arguments, tmp_path, machine)
    assert differing(got, expected) == []


@pytest.mark.parametrize("name", ["bf16", "f32", "f64"])
def test_every_op_without_fma(name: str, tmp_path: Path):
    arguments, elementary = special_values(name), name != "bf16"
    expected = without_fma(export_graph(every_op(name, elementary), named_target("x86-64")), arguments, tmp_path)
    made = export_graph(every_op(name, elementary), named_target("wasm32"))
    assert libcalls(made.object) == set()
    assert differing(call_from_node(made, arguments, tmp_path), expected) == []


def differing(got: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> list[int]:
    """Which outputs are not the same bits."""
    return [i for i, (g, e) in enumerate(zip(got, expected, strict=True)) if not same_bits(g, e)]


def test_rounded_products_are_those_of_the_interpreter(tmp_path: Path):
    function, arguments = case("mlp.layer")
    (got,) = without_fma(exported(function, "x86-64-v2"), arguments, tmp_path)
    (first,) = without_fma(exported(function, "x86-64"), arguments, tmp_path)
    assert same_bits(got, first)
    target = named_target("x86-64-v2").versions[0]
    module = run_stages(function.graph, target=target, stop_after="fused").module
    assert module is not None and "mul_add" in str(module)
    sizes = {"n": 33, "a": 64, "b": 20}
    (expected,) = kernel_level.run(module, list(arguments), sizes, has_fma=False)
    assert same_bits(got, expected)
    assert not same_bits(got, function(*arguments)) or not host_target().has_fma


WASM_TRIPLE = 'target triple = "wasm32-unknown-unknown"'


def test_what_a_wasm_object_needs():
    target = named_target("wasm32").versions[0]
    text = f"{WASM_TRIPLE}\ndeclare void @g(ptr)\ndefine void @f(ptr %p) {{ call void @g(ptr %p) ret void }}"
    assert undefined_symbols(compile_llvm(text, target)) == {"g"}


def test_code_that_llvm_cannot_select_is_an_error():
    """LLVM ends its process on this; here that is an error, and this process goes on."""
    target = named_target("wasm32").versions[0]
    text = f"{WASM_TRIPLE}\ndefine bfloat @f(float %x) {{ %y = fptrunc float %x to bfloat ret bfloat %y }}"
    with pytest.raises(TargetError, match=r"LLVM cannot generate code for wasm32-unknown-unknown: .*(SIGABRT|status)"):
        compile_llvm(text, target)
    with pytest.raises(TargetError, match="LLVM rejects the generated IR"):
        compile_llvm("define nonsense", target)
    with pytest.raises(TargetError, match=r"LLVM does not know a part of aarch64-.* \(m0\)"):
        compile_llvm("", replace(named_target("aarch64").versions[0], cpu="m0"))
