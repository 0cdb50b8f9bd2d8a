"""The table of NumPy's functions that are no ufuncs, and how a call of one finds its handler's arguments.

A handler has NumPy's names for the parameters that it takes, and no others.  What else NumPy's signature has may be
given as NumPy's default, or as a value that changes no element; anything more is an error that names the argument.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .....dialects.registry import OpError
from ...tensor.apply import apply
from ...tensor.views.view_or_copy import as_numpy_gives

__all__ = ["FUNCTIONS", "call", "handles", "required"]

FUNCTIONS: dict[Any, Callable[..., Any]] = {}

#: Tensors have no subclasses and no order in memory that a program could see.
_WITHOUT_EFFECT: dict[str, tuple[Any, ...]] = {
    "subok": (True, False), "order": ("C", "K", "A", None), "device": ("cpu", None), "like": (None,),
}  # fmt: skip


def handles(*functions: Any) -> Callable[[Any], Any]:
    """Register what a call of these functions of NumPy does."""

    def register(f: Any) -> Any:
        FUNCTIONS.update(dict.fromkeys(functions, f))
        return f

    return register


@cache
def _signature(f: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(f)
    except ValueError:
        return None


def call(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the handler of `f` makes of NumPy's arguments; OpError, naming it, for an argument that it does not take."""
    handler = FUNCTIONS[f]
    known = _signature(f) or _signature(handler)
    taken = _signature(handler)
    assert known is not None and taken is not None
    try:
        bound = known.bind(*args, **kwargs)
    except TypeError as error:
        raise OpError(f"np.{f.__name__}: {error}", code="TX0240") from error
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        parameter = known.parameters[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += value
        elif parameter.kind is parameter.VAR_KEYWORD:
            named |= _taken(f, parameter, value, taken)
        elif value is np._NoValue:
            continue
        elif parameter.kind is parameter.POSITIONAL_ONLY or _by_position(taken, name):
            positional.append(value)
        elif name in taken.parameters:
            named[name] = value
        elif not _is_default(name, value, parameter.default):
            raise OpError(f"np.{f.__name__} does not take {name}={value!r} here", "leave it out", "TX0240")
    if positional and any(p.kind is p.VAR_POSITIONAL for p in taken.parameters.values()):
        # What comes before ``*arrays`` is given by position too.
        stated = {n: known.parameters[n] for n in named if n in known.parameters}
        before = [n for n, parameter in stated.items() if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]
        positional = [named.pop(n) for n in before] + positional
    result = handler(*positional, **named)
    return result if bound.arguments.get("out") is not None else as_numpy_gives(f, result, args)


def _by_position(taken: inspect.Signature, name: str) -> bool:
    return name in taken.parameters and taken.parameters[name].kind is inspect.Parameter.POSITIONAL_ONLY


def _taken(f: Any, rest: inspect.Parameter, given: dict[str, Any], taken: inspect.Signature) -> dict[str, Any]:
    for name in given:
        if name not in taken.parameters:
            raise OpError(f"np.{f.__name__} does not take {name!r} here", "leave it out", "TX0240")
    return given


def _is_default(name: str, value: Any, default: Any) -> bool:
    if name in _WITHOUT_EFFECT:
        return any(value is known or (isinstance(value, str) and value == known) for known in _WITHOUT_EFFECT[name])
    return value is default or (type(value) is type(default) and bool(value == default))


def required(x: Any, holds: Any, text: str) -> Any:
    """`x`, of a call that raises NumPy's ValueError where a bool is false anywhere."""
    return apply("require", x, holds, text=text)
