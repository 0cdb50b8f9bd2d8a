"""How a Python function's parameters become the inputs of its graph: what a native entry, new or cached, is told."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from .argument import Argument
from .facts import StrideClass
from .signature import Literal, Signature, ViewOutput, is_named

__all__ = [
    "OUT", "CallSignature", "Form", "NotNative", "Parameter", "input_parts", "object_count", "parameters_of",
    "result_objects",
]  # fmt: skip

#: What an argument has to be.  ``("input", i)``: what input `i` is made from; ``("object", n)``: that very object;
#: ``("tuple" or "list", forms)``; ``("dict", n, forms)``, its keys being objects from number `n` on, in this order;
#: ``("out",)``: the arrays for results, or None.
Form: TypeAlias = tuple[Any, ...]
#: The keyword that names arrays for results, where the function has no such parameter.
OUT = "out"


class NotNative(Exception):
    """Why calls of a version are left to Python."""


class Parameter(NamedTuple):
    """A parameter of the user's function, or one of the arguments that ``*name`` collects."""

    name: str
    form: Form


class CallSignature(NamedTuple):
    """How Python calls a graph: the parameters, and how each argument that is an array or scalar lies in memory."""

    parameters: tuple[Parameter, ...]
    facts: tuple[StrideClass, ...]


def parameters_of(
    function: inspect.Signature, arguments: Sequence[Argument], signature: Signature, takes_out: bool
) -> tuple[Parameter, ...]:
    """The parameters of a traced call.  NotNative where an argument is of a kind that entries do not take apart.

    Objects are numbered as `Call.objects` lists them, behind what is hidden (`Version.hidden`).  The last parameter of
    a function that `takes_out` is `OUT`.
    """
    hidden = {given.name for given in signature.inputs if given.hidden} | {*signature.rooms}
    numbers = {given.name: i for i, given in enumerate(signature.inputs) if given.name not in hidden}
    forms = _Forms(numbers, len(signature.inputs) - len(numbers))
    made = []
    for argument in arguments:
        kind = function.parameters[argument.name].kind
        if kind is inspect.Parameter.VAR_KEYWORD and argument.value:
            raise NotNative(f"{argument.name} collects keywords, whose order counts")
        if kind is inspect.Parameter.VAR_POSITIONAL:
            made += [Parameter(part.name, forms.of(part)) for part in argument.value]
        elif kind is not inspect.Parameter.VAR_KEYWORD:
            made.append(Parameter(argument.name, forms.of(argument)))
    if takes_out:
        made.append(Parameter(OUT, ("out",)))
    return tuple(made)


class _Forms:
    """Gives arguments their forms and numbers the objects that they have to be."""

    def __init__(self, numbers: Mapping[str, int], first: int):
        self.numbers, self.next = numbers, first

    def of(self, argument: Argument) -> Form:
        if argument.layout == "col":
            raise NotNative(f"{argument.name} is a column-major tensor")
        if argument.kind == "value":
            return ("object", self._objects(1))
        if argument.kind == "dict":
            first = self._objects(len(argument.value))
            return ("dict", first, tuple(map(self.of, argument.value.values())))
        if argument.kind in ("tuple", "list"):
            if type(argument.original) not in (tuple, list):
                raise NotNative(f"{argument.name} is a {type(argument.original).__name__}")
            return (argument.kind, tuple(map(self.of, argument.value)))
        if argument.name not in self.numbers:
            raise NotNative(f"{argument.name} is a {argument.kind}")
        return ("input", self.numbers[argument.name])

    def _objects(self, count: int) -> int:
        self.next += count
        return self.next - count


def object_count(form: Form) -> int:
    """How many objects a form has."""
    kind, *rest = form
    own = {"object": 1, "dict": len(rest[-1]) if kind == "dict" else 0}.get(kind, 0)
    return own + (sum(map(object_count, rest[-1])) if kind in ("tuple", "list", "dict") else 0)


def input_parts(form: Form, loose: bool = False) -> Iterator[tuple[int, bool]]:
    """The inputs in a form, each with whether it is part of a list or dict, which may let it go at any time."""
    kind, *rest = form
    if kind == "input":
        yield rest[0], loose
    elif kind in ("tuple", "list", "dict"):
        for part in rest[-1]:
            yield from input_parts(part, loose or kind != "tuple")


def result_objects(structure: Any) -> list[Any]:
    """The parts of a result that are given back as they are, keys of dicts and classes of named tuples, in order."""
    if (isinstance(structure, int) and not isinstance(structure, bool)) or isinstance(structure, ViewOutput):
        return []
    if isinstance(structure, dict):
        return [*structure, *(o for part in structure.values() for o in result_objects(part))]
    if isinstance(structure, (tuple, list)):
        made_by = [type(structure)] if is_named(structure) else []
        return [*made_by, *(o for part in structure for o in result_objects(part))]
    return [structure.value if isinstance(structure, Literal) else structure]
