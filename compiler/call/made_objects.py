"""Results that are objects of Python's other than lists, tuples and dicts: each call makes them anew of their parts."""

from __future__ import annotations

import copy
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

from .signature import is_named

__all__ = ["MadeOutput", "Making", "NotMade", "deque_of", "making_of", "nested", "range_of"]

#: The flag of CPython's types that says that a class statement made them.
_BY_CLASS_STATEMENT = 1 << 9
_FIXED = (Enum, type, types.FunctionType, types.MethodType, types.ModuleType)


class NotMade(Exception):
    """Nobody knows how to make such an object."""


class MadeOutput(tuple[Any, ...]):
    """An object, as the structures of its parts; `make` gives one of the parts themselves."""

    make: Callable[[Sequence[Any]], Any]

    def __new__(cls, parts: Sequence[Any], make: Callable[[Sequence[Any]], Any]) -> MadeOutput:
        made = super().__new__(cls, parts)
        made.make = make
        return made

    def __repr__(self) -> str:
        return f"MadeOutput({tuple(self)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return MadeOutput, (tuple(self), self.make)


class Making(NamedTuple):
    """The parts of an object, and what makes such an object of others."""

    parts: Sequence[Any]
    make: Callable[[Sequence[Any]], Any]


def making_of(value: Any) -> Making | None:
    """How to make an object anew; None of a list, tuple or dict, and of what cannot change, so is as good as it is.

    NotMade of an object whose class is more than a class statement with attributes.
    """
    kind = type(value)
    if kind is slice:
        return Making([value.start, value.stop, value.step], _slice)
    if kind is set:
        return Making([*value], set)
    if kind is bytearray or (kind.__module__, kind.__name__) == ("array", "array"):  # whose module few need
        return Making([], partial(_copy, copy.copy(value)))
    if kind is types.SimpleNamespace:
        return Making([*vars(value).values()], partial(_namespace, [*vars(value)]))
    if kind in (OrderedDict, Counter, defaultdict):
        first = (value.default_factory,) if kind is defaultdict else ()
        return Making([*value.values()], partial(_mapping, partial(kind, *first), [*value]))
    if kind is deque:
        return Making([[*value]], partial(deque_of, value.maxlen))
    if isinstance(value, _FIXED) or value.__class__ in (dict, list, tuple) or is_named(value):
        return None
    names = [*getattr(value, "__dict__", ()), *(name for name in _slots(kind) if hasattr(value, name))]
    by_statement = [bool(base.__flags__ & _BY_CLASS_STATEMENT) for base in kind.__mro__[:-1]]
    if all(by_statement) and (names or hasattr(value, "__dict__")):
        return Making([getattr(value, name) for name in names], partial(_object, kind, names))
    if any(by_statement) and kind.__module__ != "builtins" and isinstance(value, (dict, list, tuple, set)):
        raise NotMade
    return None


def _slots(kind: type) -> list[str]:
    found: list[str] = []
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        found += [slots] if isinstance(slots, str) else [*slots]
    return [name for name in found if name not in ("__dict__", "__weakref__")]


def deque_of(maxlen: int | None, parts: Sequence[Any]) -> deque[Any]:
    """The deque that has the items of a list, the only part."""
    return deque(parts[0], maxlen)


def nested(depth: int, parts: Sequence[Any]) -> list[Any]:
    """A list of lists, `depth` of them in each other, of a list of arrays, the only part."""
    return [nested(depth - 1, [row]) if depth > 2 else list(row) for row in parts[0]]


def range_of(parts: Sequence[Any]) -> range:
    """The range that has a start, a stop and a step."""
    return range(*parts)


def _slice(parts: Sequence[Any]) -> slice:
    return slice(*parts)


def _copy(value: Any, _: Sequence[Any]) -> Any:
    return copy.copy(value)


def _namespace(names: Sequence[str], parts: Sequence[Any]) -> types.SimpleNamespace:
    return types.SimpleNamespace(**dict(zip(names, parts)))


def _mapping(make: Callable[..., Any], keys: Sequence[Any], parts: Sequence[Any]) -> Any:
    made = make()
    for key, part in zip(keys, parts):
        made[key] = part
    return made


def _object(kind: Any, names: Sequence[str], parts: Sequence[Any]) -> Any:
    """An object of a class, made as its attributes say, whatever the class does where it makes one."""
    made = object.__new__(kind)
    for name, value in zip(names, parts):
        object.__setattr__(made, name, value)
    return made
