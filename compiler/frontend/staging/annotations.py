"""A Python function traced for declared types instead of for a call: ``x: f32[n, m], beta: f32``.

Sizes are symbols without a value, as in a `.tx` file: what the function asks of them becomes a condition.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ...call.signature import like
from ...diagnostics import TxcError, user_loc
from ..state.alternatives.mixed_numbers import as_one_number
from ..state.alternatives.one_of import OneOf
from ..state.containers.staged_dicts import StagedDict
from ..trace.graph import Graph
from ..trace.trace import Trace
from ..tx.parser import Parameter, read_parameters
from .runtime import StagedRuntime, run_staged

__all__ = ["declared_graph", "graph_of_parameters"]


def declared_graph(function: Callable[..., Any], declaration: str) -> Graph:
    """The graph of `function` for parameters declared as in `.tx`; those left out have their defaults.

    Arrays of the surrounding program are hidden inputs whose sizes are numbers.

    Raises TxcError for a declaration that is not one, or that the function does not take, and for what the function
    does not allow with sizes that are not known.
    """
    parameters = {p.name: p for p in _read(declaration)}
    known = inspect.signature(function).parameters
    for name in parameters:
        if name not in known:
            raise TxcError(f"{function.__name__} has no parameter {name!r}: it takes {', '.join(known)}", code="TX0602")
    for name, p in known.items():
        if name not in parameters and p.default is inspect.Parameter.empty:
            raise TxcError(
                f"the signature says nothing of {name!r}",
                None,
                f"add {name} with its type, as {name}: f32[n]",
                "TX0602",
            )
    return graph_of_parameters(function, [*parameters.values()])


def graph_of_parameters(
    function: Callable[..., Any], parameters: Sequence[Parameter], convert: Callable[[Any], Any] = lambda result: result
) -> Graph:
    """The graph of `function` for parameters of these types; what it returns is what `convert` makes of its result."""
    with Trace(function.__name__, fixed_captures=True) as trace:
        sizes: dict[str, Any] = {}
        values = {p.name: p.declare(trace, sizes) for p in parameters}
        bound = inspect.BoundArguments(inspect.signature(function), values)  # pyright: ignore[reportArgumentType]
        return trace.finish(convert(_of_one_type(run_staged(function, StagedRuntime(), bound))))


def _of_one_type(result: Any) -> Any:
    """A result whose numbers have one dtype each, as C declares them; TxcError where a part is one of several."""
    if isinstance(result, StagedDict) and result.missing:
        result = result.variants()
    if isinstance(result, dict):
        return {key: _of_one_type(part) for key, part in result.items()}
    if isinstance(result, (tuple, list)) and not getattr(result, "stacked", False):
        return like(result, [_of_one_type(part) for part in result])
    result = as_one_number(result)
    if isinstance(result, OneOf):
        raise result.error(user_loc())
    return result


def _read(declaration: str) -> list[Parameter]:
    try:
        (definition,) = ast.parse(f"def f({declaration}): pass").body
    except (SyntaxError, ValueError):
        definition = None
    if not isinstance(definition, ast.FunctionDef) or len(definition.args.args) != len(_all_parameters(definition)):
        raise TxcError(f"{declaration!r} is no signature", None, "write it as x: f32[n, m], beta: f32", "TX0602")
    return read_parameters("<signature>", definition.args.args)


def _all_parameters(definition: ast.FunctionDef) -> list[ast.AST]:
    a = definition.args
    return [*a.posonlyargs, *a.args, *a.kwonlyargs, *a.defaults, *filter(None, (a.vararg, a.kwarg))]
