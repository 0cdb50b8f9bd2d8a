"""The `.tx` language: typed functions in a subset of Python's syntax, parsed with `ast` and never executed by Python.

`evaluator` says what their statements mean.  `docs/reference/language.md` is the specification.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ....dialects.dims.dims import size_name
from ...diagnostics import Loc, TxcError, at
from ..tensor.tensor import Tensor
from ..trace.graph import Graph
from ..trace.trace import Trace
from .errors import fail, location, nearest
from .evaluator import Evaluator
from .types import Annotation, Parameter, read_annotation

__all__ = ["Parameter", "TxFunction", "TxModule", "parse", "read_parameters"]


@dataclass
class TxFunction:
    """One function of a file: parameters, declared results, body."""

    module: TxModule
    node: ast.FunctionDef
    parameters: list[Parameter]
    results: list[Annotation] | None
    doc: str = ""

    @property
    def name(self) -> str:
        return self.node.name

    def graph(self) -> Graph:
        """The function's expression graph.  TxcError with the line of what is wrong."""
        with Trace(self.name, fixed_captures=True) as trace:
            values: dict[str, Any] = {}
            sizes: dict[str, Any] = {}
            for p in self.parameters:
                values[p.name] = p.declare(trace, sizes)
            result = Evaluator(self.module, values, sizes, (self.name,)).function(self)
            if self.results is None:
                result = _row_major(result)
            returns = [node for node in ast.walk(self.node) if isinstance(node, ast.Return)]
            with at(location(self.module.filename, returns[-1] if returns else self.node)):
                return trace.finish(result, declared=True)

    def output_layouts(self, graph: Graph) -> list[str]:
        """The layout of each output of the function's graph; one output may be several results."""
        layouts = ["row"] * len(graph.outputs)
        places = graph.structure if isinstance(graph.structure, tuple) else (graph.structure,)
        for place, declared in zip(places, self.results or ()):
            if isinstance(place, int):
                layouts[place] = declared.layout
        return layouts


@dataclass
class TxModule:
    """A parsed file; `functions` by name, in order."""

    filename: str
    text: str = ""
    functions: dict[str, TxFunction] = field(default_factory=dict)

    def function(self, name: str | None = None) -> TxFunction:
        """The function of that name, or the last one; TxcError with the nearest name where there is none."""
        if name is None:
            return list(self.functions.values())[-1]
        found = self.functions.get(name)
        if found is None:
            raise TxcError(f"{self.filename} has no function {name!r}", None, nearest(name, self.functions), "TX0520")
        return found

    def graph(self, name: str | None = None) -> Graph:
        return self.function(name).graph()


def parse(text: str, filename: str = "<tx>") -> TxModule:
    """Read a file's text.  TxcError for what is not the language; function bodies are checked when they are built."""
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    module = TxModule(filename, text)
    try:
        tree = ast.parse(text, filename)
    except SyntaxError as error:
        loc = Loc(filename, error.lineno or 1, max(0, (error.offset or 1) - 1), error.end_offset or error.offset or 1)
        raise TxcError(f"syntax error: {error.msg}", loc, code="TX0521") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise TxcError(f"{filename} cannot be read: {error}", code="TX0521") from None
    for node in tree.body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            continue
        if not isinstance(node, ast.FunctionDef):
            fail(
                filename,
                node,
                "only functions may stand at the top of a .tx file",
                "start with 'def name(…):'",
                "TX0522",
            )
        if node.name in module.functions:
            fail(filename, node, f"function {node.name!r} is defined twice", code="TX0523")
        module.functions[node.name] = _signature(module, node)
    if not module.functions:
        raise TxcError(f"{filename} has no function", None, "write 'def name(x: f32[n]): return …'", "TX0524")
    return module


def _signature(module: TxModule, node: ast.FunctionDef) -> TxFunction:
    a = node.args
    if a.vararg or a.kwarg or a.kwonlyargs or a.defaults or a.posonlyargs or node.decorator_list:
        fail(module.filename, node, "parameters are plain names with a type", "x: f32[n, m]", "TX0525")
    parameters = read_parameters(module.filename, a.args)
    results = None
    if node.returns is not None:
        parts = node.returns.elts if isinstance(node.returns, ast.Tuple) else [node.returns]
        results = [read_annotation(module.filename, part) for part in parts]
    return TxFunction(module, node, parameters, results, ast.get_docstring(node) or "")


def read_parameters(filename: str, declared: Sequence[ast.arg]) -> list[Parameter]:
    """Parameters with their types; TxcError for one without a type, or declared twice."""
    parameters: list[Parameter] = []
    for arg in declared:
        if arg.annotation is None:
            fail(filename, arg, f"parameter {arg.arg!r} needs a type", f"{arg.arg}: f32[n, m]", "TX0526")
        if any(arg.arg == p.name for p in parameters):
            fail(filename, arg, f"parameter {arg.arg!r} is declared twice", code="TX0525")
        parameters.append(Parameter(arg.arg, read_annotation(filename, arg.annotation)))
    sizes = {size_name(s) for p in parameters for d in p.type.dims for s in d.symbols()}
    for arg, p in zip(declared, parameters):
        if p.name in sizes:
            fail(filename, arg, f"{p.name!r} is a parameter and a size", "give one of them another name", "TX0525")
    return parameters


def _row_major(result: Any) -> Any:
    """Results of no declared layout, as arrays of the dims that they have."""
    if isinstance(result, tuple):
        return tuple(map(_row_major, result))
    if isinstance(result, Tensor) and result.layout == "col" and result.ndim > 1:
        return result.swap_layout().shuffle(tuple(range(result.ndim))[::-1])
    return result
