"""What a function takes from its surroundings: globals and closure cells, compared at each call.

Numbers, strings and tuples of these count by value, everything else (arrays, functions, modules) by identity; an
array's elements are read at each call, so writing into it is no change.  Python functions that the function calls are
looked into as well, unless they are a library's.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["Capture", "captures_of", "unchanged"]

_BY_VALUE = (bool, int, float, str, bytes, type(None), tuple)
_MISSING = object()


@dataclass(frozen=True, slots=True)
class Capture:
    """A name with its value when the function was traced; `read` gives the value now."""

    name: str
    value: Any
    read: Callable[[], Any]


def captures_of(function: Callable[..., Any]) -> list[Capture]:
    """The names from outside that `function`, and Python functions of the same package that it calls, may read."""
    found: dict[tuple[int, str], Capture] = {}
    seen: set[int] = set()
    package = (getattr(function, "__module__", None) or "").partition(".")[0]
    waiting: list[Any] = [function]
    while waiting:
        current = waiting.pop()
        current = getattr(current, "__wrapped__", current)
        if isinstance(current, types.MethodType):
            current = current.__func__
        if not isinstance(current, types.FunctionType) or id(current) in seen:
            continue
        seen.add(id(current))
        if (current.__module__ or "").partition(".")[0] != package:
            continue
        for key, capture in _of_one(current):
            found.setdefault(key, capture)
            if callable(capture.value):
                waiting.append(capture.value)
    return list(found.values())


def _of_one(function: types.FunctionType) -> Iterator[tuple[tuple[int, str], Capture]]:
    space = function.__globals__
    for name in sorted(_names(function.__code__)):
        if name in space:
            yield (id(space), name), Capture(name, space[name], lambda n=name: space.get(n, _MISSING))
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            yield (id(cell), name), Capture(name, cell.cell_contents, lambda c=cell: c.cell_contents)
        except ValueError:  # not assigned yet: the function refers to itself, or to what follows it
            continue


def _names(code: types.CodeType) -> set[str]:
    """The global names and attributes that the code, and functions inside it, mention."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names(constant)
    return names


def unchanged(captures: list[Capture]) -> str | None:
    """None where all values are as they were, else the name of one that is not."""
    for capture in captures:
        now, before = capture.read(), capture.value
        if now is before:
            continue
        if type(now) is not type(before) or not isinstance(now, _BY_VALUE) or not _equal(now, before):
            return capture.name
    return None


def _equal(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except ValueError:  # a tuple of arrays
        return False
