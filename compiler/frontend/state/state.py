"""The state of a function that is being staged: what Python would have at this point of the program.

A state is what the parts of a statement can reach: variables (closure cells, or the names of a `.tx` function), and the
lists, dicts, sets and objects that these hold, each with its identity.  Values (numbers, texts, tuples) and references
to objects stand in *locations*: a cell, a slot of a list, a key of a dict, an attribute.  Arrays are objects whose
content is not here: a store gives their storage a new version, which `regions` follows.

Python changes the real objects while a part runs.  A snapshot taken before lets the part run once for each branch, or
for an iteration that stands for all: `restore` puts back what every location held, and the snapshots taken behind the
parts say what they did.  What is outside the function (`captures`) cannot change and is not entered.
"""

from __future__ import annotations

import functools
import types
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..tensor.tensor import Tensor
from ..tensor.views.composite_views import roots as array_roots
from ..tensor.views.view_or_copy import Flat
from ..trace.symint import SymInt
from ..trace.undefined import UNSET
from .alternatives.one_of import OneOf
from .containers.growing_lists import GrowingList
from .containers.staged_dicts import StagedDict
from .iterators import Consumer, GoneThrough, PlacedIterator

__all__ = [
    "UNSET", "Location", "Names", "Roots", "State", "a_kind", "arrays_of", "assign", "held", "is_number", "is_ours",
    "kind_of", "label_of", "put_back", "roots_of",
]  # fmt: skip


#: Where a walk begins: cells by their names, or `Names` by no name.
Roots = Mapping[str, Any]


class Names(dict[str, Any]):
    """The variables of a `.tx` function."""


_ATOMS = (str, bytes, type(None), type, types.ModuleType, Tensor, SymInt, np.ndarray, np.generic, int, float, complex)


def roots_of(*parts: Callable[..., Any]) -> Roots:
    """The variables that functions share with the function around them, by name."""
    found: dict[str, Any] = {}
    for part in parts:
        found.update(zip(part.__code__.co_freevars, part.__closure__ or ()))
    return found


def is_number(value: Any) -> bool:
    """Whether a value is a number or an array, which compiled code can hold."""
    return isinstance(value, (Tensor, SymInt, bool, int, float, complex, np.generic, np.ndarray))


def arrays_of(value: Any) -> Iterator[Tensor]:
    """The arrays that a value is, is a part of, or has for good: stores into these may change it.

    It has those of a tuple's items, of a method's object, of a function's defaults and of the arguments of a `partial`.
    """
    if isinstance(value, Tensor):
        yield from array_roots(value)
    elif isinstance(value, OneOf):
        for option, _ in value.options:
            yield from arrays_of(option)
    elif isinstance(value, tuple):
        for part in value:
            yield from arrays_of(part)
    elif isinstance(value, types.MethodType):
        yield from arrays_of(value.__self__)
    elif isinstance(value, types.FunctionType):
        yield from arrays_of((*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()))
    elif isinstance(value, functools.partial):
        yield from arrays_of((value.func, *value.args, *value.keywords.values()))


class Location(NamedTuple):
    """Where a value stands: a key of a holder; the label is how messages call it."""

    holder: Any
    key: Any
    label: str

    @property
    def is_variable(self) -> bool:
        """Whether it may be without a value: no program can see that but by reading it."""
        return isinstance(self.holder, (types.CellType, Names))

    def __hash__(self) -> int:
        return hash((id(self.holder), self.key))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Location) and self.holder is other.holder and self.key == other.key


def held(holder: Any) -> dict[Any, Any] | None:
    """What a container or object holds, by key; None for what holds nothing that can change."""
    if isinstance(holder, types.CellType):
        try:
            return {"": holder.cell_contents}
        except ValueError:
            return {}
    if isinstance(holder, GrowingList):
        return dict(enumerate(holder.parts()))
    if isinstance(holder, (list, deque, bytearray, array)):
        return dict(enumerate(holder))
    if isinstance(holder, dict):
        return dict(dict.items(holder))
    if isinstance(holder, set):
        return dict.fromkeys(holder, True)
    if isinstance(holder, type):
        return dict(vars(holder)) if _is_local(holder) else None
    if isinstance(holder, (*_ATOMS, tuple, types.MethodType, OneOf, Consumer)):
        return None
    slots = _slots(type(holder))
    if not slots and not hasattr(holder, "__dict__"):
        return None
    return {
        **getattr(holder, "__dict__", {}),
        **{name: getattr(holder, name) for name in slots if hasattr(holder, name)},
    }


@functools.lru_cache(maxsize=256)
def _slots(kind: type) -> tuple[str, ...]:
    """The attributes that a class's objects have outside their dicts (`__slots__`)."""
    found: list[str] = []
    for owner in kind.__mro__:
        given = owner.__dict__.get("__slots__", ())
        for name in (given,) if isinstance(given, str) else tuple(given):
            private = name.startswith("__") and not name.endswith("__")
            found.append(f"_{owner.__name__.lstrip('_')}{name}" if private else name)
    return tuple(name for name in found if name not in ("__dict__", "__weakref__"))


def put_back(holder: Any, contents: Mapping[Any, Any]) -> None:
    """Make a container or object hold just that."""
    if isinstance(holder, types.CellType):
        if contents:
            holder.cell_contents = contents[""]
        elif held(holder):
            del holder.cell_contents
    elif isinstance(holder, GrowingList):
        holder.set_parts(contents.values())
    elif isinstance(holder, (list, bytearray)):
        holder[:] = contents.values()  # pyright: ignore[reportArgumentType]
    elif isinstance(holder, deque):
        holder.clear()
        holder.extend(contents.values())
    elif isinstance(holder, array):
        holder[:] = array(holder.typecode, contents.values())
    elif isinstance(holder, set):
        holder.clear()
        holder.update(contents)
    elif isinstance(holder, dict):
        dict.clear(holder)
        dict.update(holder, contents)
    elif isinstance(holder, type):
        for name in [*vars(holder)]:
            if name not in contents:
                delattr(holder, name)
        for name, value in contents.items():
            if vars(holder).get(name, UNSET) is not value:
                setattr(holder, name, value)
    else:
        _put_attributes(holder, contents)


def _put_attributes(holder: Any, contents: Mapping[str, Any]) -> None:
    """Make an object have just these attributes; those in slots as the class itself sets them, frozen or not."""
    slots = _slots(type(holder))
    for name in slots:
        if name in contents:
            object.__setattr__(holder, name, contents[name])
        elif hasattr(holder, name):
            object.__delattr__(holder, name)
    if hasattr(holder, "__dict__"):
        vars(holder).clear()
        vars(holder).update((name, value) for name, value in contents.items() if name not in slots)


def kind_of(holder: Any) -> str:
    """How messages call a container or object, without an article."""
    if isinstance(holder, PlacedIterator):
        return "iterator"
    return next((kind.__name__ for kind in (list, dict) if isinstance(holder, kind)), type(holder).__name__)


def a_kind(holder: Any) -> str:
    """How messages call one container or object of its kind."""
    kind = kind_of(holder)
    return f"an {kind}" if kind[0] in "aeiouAEIOU" else f"a {kind}"


def label_of(holder: Any, label: str, key: Any) -> str:
    if isinstance(holder, (types.CellType, Names)):
        return label or str(key)
    return f"{label}[{key!r}]" if isinstance(holder, (list, deque, dict, tuple)) else f"{label}.{key}"


def _is_local(kind: type) -> bool:
    """Whether a class may be made by the function that is staged: others are outside, or a library's."""
    return "<locals>" in kind.__qualname__


def _is_atom(value: Any) -> bool:
    """Whether nothing that can change hangs on a value."""
    return isinstance(value, _ATOMS) and not (isinstance(value, type) and _is_local(value))


def _parts_for_good(value: Any, label: str) -> list[tuple[str, Any]]:
    """What hangs on a value that always has it: the variables and defaults of a function, a method's object."""
    if isinstance(value, types.FunctionType):
        defaults = (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
        named = [(f"a default of {value.__name__}", part) for part in defaults if not _is_atom(part)]
        return [*roots_of(value).items(), *named]
    if isinstance(value, types.MethodType):
        return [(label, value.__self__), (label, value.__func__)]
    if isinstance(value, (staticmethod, classmethod)):
        return [(label, value.__func__)]
    if isinstance(value, property):
        return [(label, part) for part in (value.fget, value.fset, value.fdel) if part is not None]
    if isinstance(value, types.BuiltinMethodType):
        return [(label, value.__self__)]
    if isinstance(value, functools.partial):
        return [(f"{label}.func", value.func), (f"{label}.args", value.args), (f"{label}.keywords", value.keywords)]
    if isinstance(value, memoryview):
        return [(label, value.obj)]
    if isinstance(value, OneOf):
        return [(label, option) for option, _ in value.options]
    if isinstance(value, Consumer):
        return [*value.roots.items()]
    return []


class State:
    """A snapshot of all that is reached from some variables, and from what an earlier snapshot has."""

    def __init__(self, roots: Roots, is_outside: Callable[[Any], bool], earlier: State | None = None):
        self.is_outside = is_outside
        #: By identity: a holder, its label, and what it held.
        self.holders: dict[int, tuple[Any, str, dict[Any, Any]]] = {}
        waiting = [] if earlier is None else [(label, holder) for holder, label, _ in earlier.holders.values()][::-1]
        waiting += [(label, holder) for label, holder in roots.items()][::-1]
        while waiting:
            label, value = waiting.pop()
            if _is_atom(value) or id(value) in self.holders or is_ours(value):
                continue
            waiting.extend(self._enter(label, value, is_outside))

    def _enter(self, label: str, value: Any, is_outside: Callable[[Any], bool]) -> list[tuple[str, Any]]:
        """What hangs on a value, and may itself hold something: most parts are atoms, whose labels nobody needs."""
        if isinstance(value, tuple):
            return [(f"{label}[{i}]", part) for i, part in enumerate(value) if not _is_atom(part)]
        parts = _parts_for_good(value, label)
        if is_outside(value):
            return parts
        contents = held(value)
        if contents is None:
            return parts
        self.holders[id(value)] = value, label, contents
        if _is_local(type(value)):
            parts.append((f"{label}.__class__", type(value)))
        return parts + [(label_of(value, label, key), part) for key, part in contents.items() if not _is_atom(part)]

    def __contains__(self, holder: Any) -> bool:
        return id(holder) in self.holders

    def of(self, holder: Any) -> dict[Any, Any]:
        """What a holder held; nothing where the state did not reach it."""
        found = self.holders.get(id(holder))
        return {} if found is None else found[2]

    def at(self, location: Location) -> Any:
        return self.of(location.holder).get(location.key, UNSET)

    def locations(self) -> Iterator[tuple[Location, Any]]:
        """Every location with what it held."""
        for holder, label, contents in self.holders.values():
            for key, value in contents.items():
                yield Location(holder, key, label_of(holder, label, key)), value

    def is_as(self, earlier: State) -> bool:
        """Whether all that an earlier snapshot has holds what it held then."""
        return all(
            list(self.of(holder)) == list(was) and all(self.of(holder)[key] is value for key, value in was.items())
            for holder, _, was in earlier.holders.values()
        )

    def restore(self) -> None:
        """Let every location hold what it held."""
        for holder, _, contents in self.holders.values():
            put_back(holder, contents)


class OfProgram:
    """What stands for an object of the program's: its attributes are state."""


def is_ours(value: Any) -> bool:
    """Whether an object is a part of txc, which no program sees change."""
    module = type(value).__module__
    return module.startswith("txc.") and not isinstance(
        value, (Consumer, Flat, GoneThrough, GrowingList, Names, OfProgram, OneOf, PlacedIterator, StagedDict)
    )


def assign(location: Location, value: Any) -> None:
    """Put a value into a location, or leave a variable without one."""
    contents = held(location.holder)
    assert contents is not None
    if value is UNSET:
        contents.pop(location.key, None)
    else:
        contents[location.key] = value
    put_back(location.holder, contents)
