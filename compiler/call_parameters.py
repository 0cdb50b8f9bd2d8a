"""How a Python function's parameters become the inputs of its graph: what a native entry, new or cached, is told."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, NamedTuple

from .argument import Argument
from .facts import StrideFact
from .signature import Literal, Signature

__all__ = ["CallSignature", "NotNative", "Parameter", "parameters_of", "result_objects"]


class NotNative(Exception):
    """Why calls of a version are left to Python."""


class Parameter(NamedTuple):
    """A parameter of the user's function: which input it becomes, or None for an object that is only compared."""

    name: str
    input: int | None


class CallSignature(NamedTuple):
    """How Python calls a graph: the parameters, and how each argument that is an array or scalar lies in memory."""

    parameters: tuple[Parameter, ...]
    facts: tuple[StrideFact, ...]


def parameters_of(
    function: inspect.Signature, arguments: Sequence[Argument], signature: Signature
) -> tuple[Parameter, ...]:
    """The parameters of a traced call.  NotNative where an argument is of a kind that entries do not take apart."""
    numbers = {given.name: i for i, given in enumerate(signature.inputs) if not given.hidden}
    made = []
    for argument in arguments:
        kind = function.parameters[argument.name].kind
        if kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            raise NotNative(f"{argument.name} collects any number of arguments")
        if argument.layout == "col":
            raise NotNative(f"{argument.name} is a column-major tensor")
        if argument.kind in ("tuple", "list", "dict"):
            raise NotNative(f"{argument.name} is a {argument.kind}")
        made.append(Parameter(argument.name, None if argument.kind == "value" else numbers[argument.name]))
    return tuple(made)


def result_objects(structure: Any) -> list[Any]:
    """The parts of a result that are given back as they are, and keys of dicts, in the order of the plan's numbers."""
    if isinstance(structure, int) and not isinstance(structure, bool):
        return []
    if isinstance(structure, dict):
        return [*structure, *(o for part in structure.values() for o in result_objects(part))]
    if isinstance(structure, (tuple, list)):
        return [o for part in structure for o in result_objects(part)]
    return [structure.value if isinstance(structure, Literal) else structure]
