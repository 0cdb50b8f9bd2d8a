"""Every registered op on a GPU: bit for bit what the CPU computes.

What the CPU computes is tested against NumPy in `tests/ops`; both run the same bodies in the same orders, so nothing is
allowed for.  The simulator runs a seeded sample of the dtypes; ``pytest -m gpu`` runs all on a real GPU.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from txc.compiler.codegen.target.llvm_backend import host_target
from txc.compiler.config.options import Options
from txc.compiler.driver.compile_cache import compiled
from txc.compiler.frontend.tensor.apply import apply
from txc.compiler.tools.bisect import differing
from txc.dialects.registry import Map, Op, Reduction, Scan, View
from txc.dialects.types import DTYPES

from ..ops.generated import MAPS, PACKED, REDUCTIONS, SCANS, VIEWS, Program, chunks, values
from ..ops.test_op_matrix import (
    ANY_STRIDES,
    FACTS,
    LAYOUTS,
    OTHER_VIEWS,
    SHAPE,
    VIEW_PARAMETERS,
    real_dtypes,
    resolved,
    structural_results,
)
from ..ops.test_op_matrix_maps import MAP_PARAMETERS, operands_of
from .devices import on_gpus, sampled

pytestmark = pytest.mark.skipif(not host_target().has_fma, reason="the orders of a CPU without FMA are others")

#: So many dtypes of an op are in one program on the simulator; of a body that is a function of its own, one.
DTYPES_SIMULATED = 2
#: How many maps share a program.
TOGETHER = 8


def dtypes_on(device: str, op: type[Op], names: list[Any]) -> list[Any]:
    """All of them on a real GPU, a sample, another for each op, on the simulator."""
    most = 1 if issubclass(op, Map) and op.cost >= Map.OUTLINED else DTYPES_SIMULATED
    return names if device != "ptx-sim" else sampled(names, most, seed=sum(map(ord, op.name)))


def in_ways(device: str, names: list[str], ways: list[Any]) -> list[tuple[str, Any]]:
    """Each dtype in each way on a real GPU; on the simulator all of both, in turn."""
    if device != "ptx-sim":
        return [*itertools.product(names, ways)]
    turns = range(max(len(names), len(ways)))
    return [(names[i % len(names)], ways[i % len(ways)]) for i in turns]


def same_on(device: str, program: Program, calls: list[list[np.ndarray]]) -> None:
    """The program gives the same bits on the device and on the CPU, for each call."""
    on_gpu = compiled(program.graph, program.facts, Options.of(device=device))
    on_cpu = compiled(program.graph, program.facts, Options.of(device="cpu"))
    for arrays in calls:
        expected, got = on_cpu(arrays), on_gpu(arrays)
        assert [g.dtype for g in got] == [e.dtype for e in expected]
        assert [g.shape for g in got] == [e.shape for e in expected]
        difference = differing(expected, got)
        assert difference is None, f"{program.graph.name} for {[a.shape for a in arrays]}: {difference}"


def map_cases(op: type[Map]) -> list[tuple[str, dict[str, Any]]]:
    """Dtypes and parameters of a map, without complex numbers."""
    given = MAP_PARAMETERS.get(op.name, [{}])
    kept = [attrs for attrs in given if not any(element.is_complex for element in attrs.values())]
    return [(name, attrs) for name in real_dtypes(op) for attrs in kept]


def draw(op: type[Map], name: str, shape: Any, seed: int) -> list[np.ndarray]:
    """Operands for a case: with special values unless NumPy raises for some of them (integers to negative powers)."""
    tame = op.name == "pow" and DTYPES[name].is_integer
    return [values(n, shape, seed + i, op.domain, special=not tame) for i, n in enumerate(operands_of(op, name))]


@pytest.mark.parametrize(("device", "ops"), on_gpus([tuple(some) for some in chunks(MAPS, TOGETHER)]))
def test_map(device: str, ops: tuple[type[Map], ...]) -> None:
    cases = [(op, *case) for op in ops for case in dtypes_on(device, op, map_cases(op))]
    with Program("-".join(op.name for op in ops)) as program:
        for i, (op, name, attrs) in enumerate(cases):
            inputs = [program.input(a, FACTS[i % 2]) for a in draw(op, name, SHAPE, 0)]
            program.outputs.append(apply(op, *inputs, **attrs))
    calls = []
    for turn in range(2):
        arrays: list[np.ndarray] = []
        for i, (op, name, _) in enumerate(cases):
            shape = sampled([SHAPE, (7, 33), (3, 0), (1, 1)], 2, seed=len(op.name))[turn]
            layout = list(LAYOUTS.values())[len(op.name) % 3]
            arrays += [layout(a) if i % 2 else a for a in draw(op, name, shape, 5)]
        calls.append(arrays)
    same_on(device, program, calls)


@pytest.mark.parametrize(("device", "op"), on_gpus(REDUCTIONS))
def test_reduction(device: str, op: type[Reduction]) -> None:
    cases = in_ways(device, dtypes_on(device, op, real_dtypes(op)), [(1,), (0,), (0, 1)])
    with Program(op.name) as program:
        for name, axes in cases:
            made = apply(op, program.input(values(name, SHAPE, 0, (-2, 2), False), PACKED), dims=axes)
            program.outputs.extend(made if isinstance(made, tuple) else (made,))
    shapes = [SHAPE, (70, 67), *([(0, 3)] if op.empty else [])]
    calls = [
        [values(n, shape, i, (0.5, 1.5) if op.name == "prod" else (-40, 40), False) for i, (n, _) in enumerate(cases)]
        for shape in shapes
    ]
    same_on(device, program, calls)


@pytest.mark.parametrize(("device", "op"), on_gpus(SCANS))
def test_scan(device: str, op: type[Scan]) -> None:
    fold = op.reduction()
    cases = in_ways(device, dtypes_on(device, op, real_dtypes(op)), [(1, False), (0, True)])
    with Program(op.name) as program:
        for name, (axis, exclusive) in cases:
            x = program.input(values(name, SHAPE, 0, (-2, 2), False), PACKED)
            program.outputs.append(apply(op, x, axis=axis, exclusive=exclusive))
    domain = (0.5, 1.5) if fold.name == "prod" else (-40, 40)
    calls = [[values(n, s, i, domain, False) for i, (n, _) in enumerate(cases)] for s in (SHAPE, (3, 0), (3, 67))]
    same_on(device, program, calls)


@pytest.mark.parametrize(("device", "op"), on_gpus([v for v in VIEWS if v.name not in OTHER_VIEWS]))
def test_view(device: str, op: type[View]) -> None:
    names = dtypes_on(device, op, list(DTYPES))
    cases = [
        (n, given, (PACKED, ANY_STRIDES)[i % 2]) for i, n in enumerate(names) for given in VIEW_PARAMETERS[op.name]
    ]
    with Program(op.name) as program:
        for name, given, fact in cases:
            x = program.input(values(name, SHAPE, 0, (-9, 9), False), fact)
            program.outputs.append(apply(op, x, **resolved(given, x.shape)))
    layout = list(LAYOUTS.values())[len(op.name) % 3]
    drawn = [(values(n, SHAPE, i, (-9, 9), True), fact) for i, (n, _, fact) in enumerate(cases)]
    same_on(device, program, [[layout(a) if fact == ANY_STRIDES else a for a, fact in drawn]])


@pytest.mark.parametrize(("device", "name"), on_gpus(list(DTYPES), 4))
def test_structural(device: str, name: str) -> None:
    x, y = (values(name, SHAPE, seed, (-9, 9), True) for seed in (1, 2))
    index = np.array([3, -1, 0, 100, -100, 2])
    with Program("structural") as program:
        symbols = [program.input(a, PACKED) for a in (x, y, index)]
        program.outputs.extend(structural_results(*symbols))
    same_on(device, program, [[x, y, index]])


@pytest.mark.parametrize(("device", "name"), on_gpus([n for n, d in DTYPES.items() if d.kind != "bool"], 5))
def test_contract(device: str, name: str) -> None:
    with Program("contract") as program:
        a, b = (program.input(values(name, s, 0, (-3, 3), False), PACKED) for s in ((4, 6), (6, 5)))
        program.outputs.append(apply("contract", a, b, pairs=((1, 0),)))
    sizes = [(4, 6, 5), (0, 3, 2), (2, 0, 3), (33, 70, 17)]
    same_on(device, program, [[values(name, s, 1, (-3, 3), False) for s in ((m, k), (k, n))] for m, k, n in sizes])
