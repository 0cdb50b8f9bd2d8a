"""From a call's arguments to a graph: the staged function runs once, on symbolic tensors and run-time ints.

Where loops may hand on one array or another and nobody can tell, it runs again, with loops that hand on which it is.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ....dialects.dims.dims import sym
from ....dialects.registry import OpError
from ...cache.captured_value import Captured
from ...call.argument import Argument
from ...call.foreign_arrays import LeftToPython
from ...call.shared_memory import Storage
from ...call.signature import like
from ...diagnostics import TxcError, at, error_loc, head_of, is_pythons, located
from ..state.containers.growing_lists import AsTable
from ..trace.captures import Captures, Root, is_library
from ..trace.demands import Ended
from ..trace.graph import Graph
from ..trace.shared_inputs import share
from ..trace.trace import Trace
from .rewriting.source_cache import factory_of
from .runtime import StagedRuntime, run_staged

__all__ = ["Traced", "is_staged", "trace_function"]


class Traced(NamedTuple):
    """A graph, and what it took from outside the function.

    Where the function `raised` an error of Python's, the graph has what it wrote before that.
    """

    graph: Graph
    captured: list[Captured]
    raised: BaseException | None = None


def trace_function(
    function: Callable[..., Any], arguments: Sequence[Argument], fixed: Mapping[str, int] = types.MappingProxyType({}),
    storages: Sequence[Storage] = (), views: bool = False, specializes: bool = False,
) -> Traced:  # fmt: skip
    """Run the staged function on symbolic arguments; its graph.  Errors carry the user's line.

    The sizes whose symbols are in `fixed` are numbers, which makes them facts.  The arrays that share one of the
    `storages` are views on it.  With `views`, results share memory as NumPy's do.  With `specializes`, sizes are facts
    that make an op's loops much shorter.

    Loops hand on copies of arrays where nobody can tell.  Where one can, all is run again with loops that hand on
    which array it is.  So it is where a list of lists turns out to be one into whose items the program stores.
    """
    tables: dict[Any, Any] = {}

    def traced(refers: bool) -> Traced:
        while True:
            try:
                return _traced(function, arguments, fixed, storages, views, specializes, tables, refers)
            except AsTable as found:
                tables[found.made_at] = found.common

    try:
        return traced(refers=False)
    except TxcError as error:
        if error.code not in _OF_REFERENCES:
            raise
        try:
            return traced(refers=True)
        except Exception:
            raise error from error.__cause__


#: The errors of loops whose variables refer to one array or another.
_OF_REFERENCES = frozenset({"TX0291", "TX0292", "TX0315", "TX0319"})


def _traced(
    function: Callable[..., Any], arguments: Sequence[Argument], fixed: Mapping[str, int],
    storages: Sequence[Storage], views: bool, specializes: bool, tables: dict[Any, Any], refers: bool,
) -> Traced:  # fmt: skip
    """`trace_function`; with `refers`, loops hand on which array a variable refers to.  `tables` is as the trace's."""
    with Trace(function.__name__) as trace:
        runtime = StagedRuntime()
        runtime.captures.refers = refers
        trace.tables = tables
        trace.captures, trace.has_rooms, trace.specializes = runtime.captures, True, specializes
        for storage in storages:
            share(trace, storage)
        values = {a.name: _symbolic(trace, a, runtime.captures) for a in arguments}
        for symbol, size in fixed.items():
            trace.table.equate(sym(symbol), size, "calls kept having it")
        bound = inspect.BoundArguments(inspect.signature(function), values)  # pyright: ignore[reportArgumentType]
        raised = result = None
        try:
            result = run_staged(function, runtime, bound)
        except LeftToPython as why:
            why.captured = list(runtime.captures.facts.values())
            raise
        except Ended as end:
            raised = end.error
        except Exception as error:
            if not is_pythons(error):
                raise
            if not trace.is_outermost(error):
                raise _only_perhaps(error) from error
            raised = error
        with at(head_of(function)), located():  # what the result as a whole asks for
            graph = trace.finish(result, views=views)
        return Traced(graph, list(runtime.captures.facts.values()), raised)


def _only_perhaps(error: Exception) -> Exception:
    """What is raised instead of an error of Python's that left a loop or branch, which may not run."""
    if isinstance(error, OpError):
        return error
    text = f"whether {type(error).__name__}({str(error)!r}) is raised is known only when the compiled function runs"
    first: BaseException = error.__cause__ or error
    return TxcError(text, error_loc(first), "check it before the loop or branch", "TX0311")


def _symbolic(trace: Trace, argument: Argument, captures: Captures) -> Any:
    name, value = argument.name, argument.value
    if argument.kind == "array":
        shared = trace.shared.get(id(argument.original))
        if shared is not None:
            return shared
        made = trace.array_input(name, value)
        return made.swap_layout() if argument.layout == "col" else made
    if argument.kind == "scalar":
        return trace.scalar_input(name, value.dtype, argument.weak)
    if argument.kind == "int":
        return trace.int_input(name, value)
    if argument.kind == "dict":
        return captures.of_caller({k: _symbolic(trace, v, captures) for k, v in value.items()}, name)
    if argument.kind in ("tuple", "list"):
        made = like(argument.original, [_symbolic(trace, v, captures) for v in value])
        return captures.of_caller(made, name)
    captures.take(Root(value, name, lambda: value, (types.CellType(value), None, ())), ("argument", name))
    return value


def is_staged(function: types.FunctionType) -> bool:
    """Whether a call of it is staged, so that `StagedRuntime` sees all that it reads from outside."""
    return factory_of(function) is not None and not is_library(function)
