"""Objects for other processors, run under an emulator where there is one: the bits of x86-64-v3, or of mul_add orders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from txc.compiler.codegen.machine import unexpected_symbols
from txc.compiler.codegen.named_targets import named_target
from txc.compiler.export import export_graph
from txc.compiler.frontend.apply import apply
from txc.compiler.frontend.graph import Graph
from txc.compiler.frontend.trace import Trace
from txc.compiler.jit import compiled
from txc.compiler.options import Options
from txc.dialects.registry import OPS, Map, Reduction
from txc.dialects.types import DTYPES

from .examples import CASES, case
from .harness import Machine, call_from_c, exported, reference, same_bits

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
    assert unexpected_symbols(made.object) == set()
    got = call_from_c(made, arguments, tmp_path, machine)
    assert all(map(same_bits, got, reference(function, arguments)))


def every_op(name: str) -> Graph:
    """All maps and reductions of a dtype without parameters, each an output."""
    with Trace(f"every_op_of_{name}") as trace:
        n = trace.table.declare("n")
        given = [trace.tensor_input(f"x{i}", name, (n, 4)) for i in range(3)]
        flags = trace.tensor_input("flags", "bool", (n, 4))
        made: list[Any] = []
        kind = DTYPES[name].kind
        for op in OPS.values():
            if issubclass(op, Map) and op.name != "cast" and kind in (op.dtypes or {kind}):
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
        return [*(np.where(rng.random((9, 4)) < 0.6, rng.uniform(-3, 3, (9, 4)), rng.choice(picked, (9, 4))).astype(element) for _ in range(3)), flags]


@pytest.mark.parametrize("target", EMULATED)
@pytest.mark.parametrize("name", DTYPES)
def test_every_op(name: str, target: str, tmp_path: Path):
    machine = EMULATED[target].require()
    graph = every_op(name)
    arguments = special_values(name)
    expected = compiled(graph, [("packed",)] * 4, Options.of()).executable(arguments)
    made = export_graph(every_op(name), named_target(target))
    assert unexpected_symbols(made.object) == set()
    got = call_from_c(made, arguments, tmp_path, machine)
    wrong = [i for i, (g, e) in enumerate(zip(got, expected, strict=True)) if not same_bits(g, e)]
    assert wrong == []
