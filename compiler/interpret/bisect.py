"""Bisects the compilation of a graph: every stage runs on the same inputs, from the graph to machine code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..codegen.target.llvm_backend import host_target
from ..config.options import Options
from ..frontend.trace.graph import Graph
from ..pipeline import compile_graph, run_stages
from ..stages import IR_STAGES
from ..tools.bisect import Report, Step
from ..tools.bisect import bisect as bisect_steps
from .graph import bind_inputs, run_graph
from .stages import run_stage

__all__ = ["bisect", "steps_of"]

Array = np.ndarray[Any, Any]

#: Units in the last place of the largest element by which a stage may differ from the one before: the first stages are
#: NumPy's arithmetic, `fused` is the first in our own order and with our own elementary functions.
_ULP = {"fused": 4096.0, "tensor": 64.0, "canonical": 64.0, "layout": 64.0, "evals": 64.0}


def bisect(graph: Graph, inputs: Mapping[str, Any], options: Options | None = None) -> Report:
    """Which stage changes the result of a graph.  Raises OpError where the inputs do not fit the graph."""
    return bisect_steps(steps_of(graph, inputs, options or Options.of()))


def steps_of(graph: Graph, inputs: Mapping[str, Any], options: Options) -> list[Step]:
    """All stages of the graph's compilation, each with how to run it."""
    values, env = bind_inputs(graph, inputs)
    arrays = [np.array(values[i.value], order="C") for i in graph.inputs if i.value is not None]
    symbols = {s.name: int(value) for s, value in env.items()}
    has_fma = host_target().has_fma

    def at(stage: str) -> Step:
        def run() -> Sequence[Array]:
            module = run_stages(graph, options, stop_after=stage).module
            assert module is not None
            return run_stage(stage, module, arrays, symbols, has_fma=has_fma)

        return Step(stage, run, _ULP.get(stage, 0.0))

    def compiled() -> Sequence[Array]:
        integers = [symbols[str(i.symbol)] for i in graph.inputs if i.kind == "int"]
        return compile_graph(graph, options).executable([a.copy() for a in arrays], integers, options.threads)

    return [Step("graph", lambda: run_graph(graph, inputs)), *map(at, IR_STAGES), Step("obj", compiled)]
