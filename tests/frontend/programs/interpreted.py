"""Running a graph by its interpreter in the place of machine code, so that programs that test the front end cost no
compilation.

Everything around the code is as it is with code: the signature, guards and later calls, results and their structure,
checks, and what is written in place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any
from unittest import mock

import numpy as np

from txc.compiler import pipeline
from txc.compiler.call.plan import mutated_inputs
from txc.compiler.call.signature import Signature
from txc.compiler.driver import compile_cache
from txc.compiler.driver.executable import BufferSpec, CodeSpec, Executable
from txc.compiler.frontend.trace.graph import Graph
from txc.compiler.interpret import graph as graph_interpreter
from txc.compiler.interpret.scalar import evaluate as evaluate_op
from txc.dialects.dims.dims import Dim, dim, packed_strides
from txc.dialects.ops.elementwise.conversion import Cast
from txc.dialects.registry import Op
from txc.dialects.types import TensorType, dtype

__all__ = ["Seen", "interpreted"]


class Seen:
    """What the interpreter met: whether a float became an integer that does not hold it."""

    saturated = False


@contextmanager
def interpreted() -> Iterator[Seen]:
    """Within it, what would be compiled is interpreted."""
    seen = Seen()

    def evaluate(op: type[Op], arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        made = evaluate_op(op, arrays, attrs)
        if op is Cast and dtype(arrays[0].dtype).is_float and attrs["dtype"].is_integer:
            seen.saturated |= not np.array_equal(made[0].astype(np.float64), np.trunc(arrays[0].astype(np.float64)))
        return made

    with (
        mock.patch.object(pipeline, "compile_graph", _compiled),
        mock.patch.object(compile_cache, "_code", {}),  # what was compiled before, or is after
        mock.patch.object(graph_interpreter, "evaluate", evaluate),
    ):
        yield seen


def _compiled(
    graph: Graph, options: Any = None, *, strides: Sequence[tuple[Dim, ...] | None] = (), **_: Any
) -> pipeline.Compiled:
    code = _code_of(graph, strides)
    return pipeline.Compiled(
        Executable(Signature.of(graph), code, _Interpreted(graph, code)), pipeline.Stages(graph, None, None, None, ())
    )


def _code_of(graph: Graph, strides: Sequence[tuple[Dim, ...] | None]) -> CodeSpec:
    """How the graph is called: its arrays, of these strides, then its new outputs, row-major."""
    arrays = [i for i in graph.inputs if i.value is not None]
    buffers = [_buffer(i.value.type, s) for i, s in zip_longest(arrays, strides) if i.value]
    outputs = []
    for number, value in enumerate(graph.outputs):
        if number in graph.aliases:
            outputs.append(arrays.index(graph.inputs[graph.aliases[number]]))
        else:
            outputs.append(len(buffers))
            buffers.append(_buffer(value.type))
    written = tuple(sorted(mutated_inputs(graph, outputs)))
    dims = [i.symbol for i in graph.inputs if i.symbol] + [d for i in arrays if i.value for d in i.value.type.dims]
    symbols = dict.fromkeys(str(symbol) for d in dims for symbol in dim(d).symbols())
    return CodeSpec(graph.name, tuple(symbols), tuple(buffers), tuple(outputs), written, "0", "0")


def _buffer(kind: TensorType, strides: tuple[Dim, ...] | None = None) -> BufferSpec:
    strides = packed_strides(kind.dims) if strides is None else strides
    return BufferSpec(kind.dtype.numpy, tuple(map(str, kind.dims)), tuple(map(str, strides)))


class _Interpreted:
    """`executable.Code` whose run is the interpreter's."""

    entry = 0
    linked = False

    def __init__(self, graph: Graph, code: CodeSpec):
        self._graph, self._code = graph, code

    def run(self, arrays: Sequence[np.ndarray], inputs: int, prepared: Any, threads: int) -> None:
        given = dict(zip((i.name for i in self._graph.inputs if i.value is not None), arrays[:inputs], strict=True))
        symbols = dict(zip(self._code.symbols, prepared.symbols, strict=True))
        given |= {i.name: symbols[str(i.symbol)] for i in self._graph.inputs if i.kind == "int"}
        with np.errstate(all="ignore"):
            results = [np.array(x) for x in graph_interpreter.run_graph(self._graph, given)]
        for number, result in zip(self._code.outputs, results, strict=True):
            arrays[number][...] = result
