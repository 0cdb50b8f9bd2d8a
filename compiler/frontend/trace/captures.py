"""What a staged function takes from outside it: facts, each checked before its compiled code runs again.

Outside are globals and closure variables, arguments that are Python objects, and what is reached from these by
attributes and in containers.  A staged function may not change any of it: that would happen once, while it is
compiled, and never again.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import random
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np

from ...cache.captured_value import CONTAINERS, MISSING, PLAIN, Captured, Place, cell_content, snapshot
from ...call.foreign_arrays import foreign, refuse_foreign
from ...call.signature import like
from ..staging.calls.builtins import staging_error
from ..staging.rewriting.source_cache import global_names
from ..state.state import Roots, State, roots_of
from ..tensor.tensor import Tensor
from .symint import SymInt
from .undefined import Undefined

__all__ = ["Captures", "Frame", "Root", "is_library", "variable"]

#: What is no fact: a module, and what libraries define, stays what it is.
_FIXED = (types.ModuleType, types.BuiltinFunctionType, np.ufunc)
_LIBRARIES = ("numpy", "txc", "scipy", "math")
#: Modules whose functions are about the moment of the call, with what to do instead.
_ONCE = {
    "time": "read the clock", "datetime": "read the clock", "_datetime": "read the clock", "warnings": "warn",
    "_warnings": "warn", "logging": "write to the log",
}  # fmt: skip
#: Special methods that run when an object is made, or that staged code sees being called.
_CALLED_BY_NAME = frozenset(
    "__init__ __new__ __post_init__ __init_subclass__ __class_getitem__ __set_name__ __del__ __call__ __getattr__ "
    "__getattribute__ __setattr__ __delattr__ __reduce__ __reduce_ex__ __getstate__ __setstate__ __copy__ "
    "__deepcopy__ __sizeof__ __dir__ __replace__".split()
)
#: Methods that a dataclass gets for all of its fields, whoever asks for them.
_OF_DATACLASSES = frozenset("__eq__ __repr__ __hash__ __lt__ __le__ __gt__ __ge__".split())
_CHANGES = frozenset("append extend insert pop popitem remove clear update setdefault add discard sort reverse".split())


def _generators() -> tuple[type, ...]:
    """The classes of generators of random numbers; where nobody imported `numpy.random`, there are none of its."""
    module = sys.modules.get("numpy.random")
    return (random.Random,) if module is None else (random.Random, module.Generator, module.RandomState)


def is_library(thing: Any) -> bool:
    """Whether a function or module is one of those that are called, and read, as they are."""
    if thing is MISSING:
        return False
    name = getattr(thing, "__name__" if isinstance(thing, types.ModuleType) else "__module__", None) or ""
    return name.partition(".")[0] in _LIBRARIES


class Root(NamedTuple):
    """Something outside: its name, how to find it again, and where."""

    value: Any
    text: str
    find: Callable[[], Any]
    place: Place | None = None


def variable(function: types.FunctionType, name: str) -> Root:
    """A global or closure variable that a function reads; MISSING where it has no value."""
    free, cells = function.__code__.co_freevars, function.__closure__ or ()
    if name in free:
        cell = cells[free.index(name)]
        return Root(cell_content(cell), name, lambda: cell_content(cell), (cell, None, ()))
    scope = function.__globals__
    return Root(scope.get(name, MISSING), name, lambda: scope.get(name, MISSING), (scope, name, ()))


def _parts(value: Any) -> Iterable[Any]:
    """What an object holds that is reached without an attribute of it being read."""
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, types.MethodType):
        return value.__self__, value.__func__
    if isinstance(value, functools.partial):
        return value.func, *value.args, *value.keywords.values()
    return value if isinstance(value, CONTAINERS) else ()


@functools.lru_cache(maxsize=256)
def _called_by_operators(kind: type) -> tuple[types.FunctionType, ...]:
    """The methods of a class that expressions such as ``o[i]``, ``len(o)`` or ``o + 1`` call; they are not staged."""
    if is_library(kind) or kind.__module__ == "builtins":
        return ()
    names = {n for c in kind.__mro__ for n in vars(c) if n.startswith("__") and n.endswith("__")} - _CALLED_BY_NAME
    if dataclasses.is_dataclass(kind):
        names -= _OF_DATACLASSES
    found = (inspect.getattr_static(kind, n) for n in sorted(names))
    return tuple(f for f in found if isinstance(f, types.FunctionType) and not is_library(f))


def _replaced(value: Any, capture: Callable[[np.ndarray], Tensor]) -> Any:
    """A container with its arrays replaced, deeply; itself where there are none.  LeftToPython for a foreign array."""
    if foreign(value):
        refuse_foreign("an array in a container", value)
    if isinstance(value, np.ndarray):
        return capture(value)
    if isinstance(value, dict):
        parts = {key: _replaced(part, capture) for key, part in value.items()}
        changed = any(parts[key] is not part for key, part in value.items())
        if not changed or type(value) is dict:
            return parts if changed else value
        made = copy.copy(value)
        made.update(parts)
        return made
    if isinstance(value, (list, tuple)):
        items = [_replaced(part, capture) for part in value]
        return like(value, items) if any(a is not b for a, b in zip(items, value)) else value
    return value


def _is_of_class(owner: Any, name: str) -> bool:
    """Whether an attribute of an object is a value that its class has, not the object itself, nor a method."""
    if isinstance(owner, (type, types.ModuleType)) or name in getattr(owner, "__dict__", ()):
        return False
    found = inspect.getattr_static(type(owner), name, MISSING)
    return found is not MISSING and not hasattr(type(found), "__get__")


class Frame:
    """The variables of a function that runs, or what a loop goes through; what runs holds it."""

    def __init__(self, roots: Roots):
        self.roots = roots
        #: What a statement has read of variables that functions in this one may give other values meanwhile.
        self.read: list[types.CellType] = []


class Captures:
    """The facts of one trace, in the order met, each once."""

    def __init__(self) -> None:
        self.facts: dict[Any, Captured] = {}
        self._outside: dict[int, Root] = {}
        self._with_arrays: dict[int, Any] = {}
        #: Variables that hold nothing, where compiled code decides whether they do: what reading them says.
        self.unset: dict[str, Undefined] = {}
        #: The variables of the functions and loops that run, for as long as they do.
        self.frames: WeakSet[Frame] = WeakSet()
        #: The loops whose iterations are staged now, the innermost last (`loop_state.LoopState`).
        self.loops: list[Any] = []
        #: What is known of loops that were staged before, by where they stand and what they carry (`learnt_of`).
        self.learnt: dict[Any, Any] = {}
        #: Whether what loops let refer to arrays from before them is kept apart from a copy of these (`references`).
        self.refers = False

    @contextmanager
    def running(self, frame: Frame) -> Iterator[None]:
        """What holds references while a part of the program is staged, and not longer."""
        self.frames.add(frame)
        try:
            yield
        finally:
            self.frames.discard(frame)

    def is_variable(self, cell: Any) -> bool:
        """Whether a cell is a variable of a function that runs."""
        return cell is not None and any(cell is other for frame in self.frames for other in frame.roots.values())

    def is_outside(self, value: Any) -> bool:
        """Whether an object is not the function's own, so that it cannot change."""
        return id(value) in self._outside

    def is_own(self, array: np.ndarray) -> bool:
        """Whether unstaged code made an array while the function is staged, as methods that operators call do."""
        part: Any = array
        while isinstance(part, np.ndarray) and not self.is_outside(part):
            part = part.base
        return part is None

    def everything(self) -> State:
        """What all variables of the functions and loops that run hold now, and what hangs on them."""
        roots: dict[str, Any] = {}
        for i, frame in enumerate(self.frames):
            roots |= {f"{i}.{name}": cell for name, cell in frame.roots.items()}
            roots |= {f"{i}.read {n}": cell for n, cell in enumerate(frame.read)}
        return State(roots, self.is_outside)

    def of_caller(self, value: Any, name: str) -> Any:
        """A container that stands for an argument: a change of it would be lost to the caller."""
        if isinstance(value, (list, dict, set)):
            self._outside[id(value)] = Root(value, name, lambda: value)
        return value

    def take(self, root: Root, key: Any) -> None:
        """A value from outside is used: it is a fact, and what hangs on it is outside too."""
        value = root.value
        if foreign(value):
            self.facts.setdefault(key, Captured(root.text, value, root.find, root.place))
            refuse_foreign(root.text, value)
        built_in = isinstance(value, type) and value.__module__ == "builtins"
        if built_in or isinstance(value, _FIXED) or is_library(value) or isinstance(value, (Tensor, SymInt)):
            self._know(root)
            return
        if key not in self.facts:
            self.facts[key] = Captured(root.text, snapshot(value), root.find, root.place)
        self._know(root)

    def _know(self, root: Root) -> None:
        value = root.value
        if isinstance(value, (*PLAIN, Tensor, SymInt)) or id(value) in self._outside:
            return
        self._outside[id(value)] = root
        for part in _parts(value):
            self._know(Root(part, f"a part of {root.text}", lambda part=part: part))
        for method in _called_by_operators(type(value)):
            self.take_plainly(method, value)

    def know_closure(self, function: types.FunctionType, staged: types.FunctionType) -> None:
        """The closure variables of a function, in its staged form: nothing that runs gives them values."""
        theirs, ours = roots_of(function), roots_of(staged)
        for name, cell in theirs.items():
            if name in ours and not self.is_variable(cell):
                self._outside[id(ours[name])] = Root(ours[name], name, lambda: None)

    def with_arrays(self, value: Any, capture: Callable[[np.ndarray], Tensor]) -> Any:
        """A container from outside, in which `capture` has replaced the arrays; the same one each time.

        Nobody can tell, as what is outside cannot change while the function is staged.
        """
        made = self._with_arrays.get(id(value))
        if made is None:
            made = self._with_arrays[id(value)] = _replaced(value, capture)
            self._know_replaced(value, made)
        return made

    def _know_replaced(self, value: Any, made: Any) -> None:
        """What stands for a container, and for containers in it, is as much outside as these are."""
        if made is value or not isinstance(value, CONTAINERS):
            return
        self._outside[id(made)] = self._outside[id(value)]
        for part, instead in zip(_parts(value), _parts(made)):
            self._know_replaced(part, instead)

    def attribute(self, owner: Any, name: str) -> Any:
        """``owner.name``; of what is outside, another fact."""
        value = self._attribute(owner, name, getattr(owner, name, MISSING))
        return getattr(owner, name) if value is MISSING else value  # Python's error, which is a fact as well

    def has_attribute(self, owner: Any, name: str) -> bool:
        """``hasattr(owner, name)``; of what is outside, another fact."""
        value = self._attribute(owner, name, getattr(owner, name, MISSING))
        return value is not MISSING

    def _attribute(self, owner: Any, name: str, value: Any) -> Any:
        parent = self._outside.get(id(owner))
        if parent is None and _is_of_class(owner, name):
            owner = type(owner)
            parent = self._outside.get(id(owner))
        if parent is None or isinstance(owner, (Tensor, np.ndarray)) or is_library(owner):
            return value
        # A bound method is another object each time; what it binds is not.
        path = (name, "__func__") if isinstance(value, types.MethodType) and value.__self__ is owner else (name,)

        def find() -> Any:
            return functools.reduce(lambda found, part: getattr(found, part, MISSING), path, parent.find())

        place = None if parent.place is None or value is MISSING else (*parent.place[:2], (*parent.place[2], *path))
        fact = value.__func__ if len(path) > 1 else value
        self.take(Root(fact, f"{parent.text}.{name}", find, place), (id(owner), name))
        return value

    def take_plainly(self, function: types.FunctionType, *reached: Any) -> None:
        """The facts of a function that runs as it is, so that nothing says what it reads.

        They are every attribute that its code, and that of functions it reaches, names of whatever it reaches: its
        globals, its closure, and the objects `reached`.
        """
        known = -1
        names: set[str] = set()
        while known != len(names):  # until the code met names nothing new
            known, met = len(names), set[int]()
            self._walk(function, names, met)
            for value in reached:
                self._walk(value, names, met)

    def take_defaults(self, function: types.FunctionType) -> None:
        """The facts of what a function that staged code calls has as defaults, where that may change."""
        for number, default in enumerate((*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())):
            if not isinstance(default, PLAIN):
                text = f"a default of {function.__qualname__}"
                self.take(Root(default, text, lambda default=default: default), (function, number))

    def take_comparison(self, value: Any) -> None:
        """The facts of comparing an object of a class that says what is equal."""
        method = inspect.getattr_static(type(value), "__eq__", None)
        if isinstance(method, types.FunctionType) and not is_library(method):
            self.take_plainly(method, value)

    def _walk(self, value: Any, names: set[str], met: set[int]) -> None:
        if isinstance(value, (*PLAIN, Tensor, SymInt, np.ndarray)) or id(value) in met or is_library(value):
            return
        met.add(id(value))
        if isinstance(value, types.FunctionType):
            self._walk_function(value, names, met)
        elif isinstance(value, (types.MethodType, functools.partial, *CONTAINERS)):
            for part in _parts(value):
                self._walk(part, names, met)
        elif not isinstance(value, types.BuiltinFunctionType) and id(value) in self._outside:
            self._walk_object(value, names, met)

    def _walk_function(self, function: types.FunctionType, names: set[str], met: set[int]) -> None:
        names |= global_names(function.__code__)
        for name in sorted({*function.__code__.co_freevars, *global_names(function.__code__)}):
            root = variable(function, name)
            if root.value is not MISSING:
                self.take(root, (function, name))
                self._walk(root.value, names, met)

    def _walk_object(self, value: Any, names: set[str], met: set[int]) -> None:
        for name in sorted(names):
            found = inspect.getattr_static(value, name, MISSING)
            if isinstance(found, property):  # its code is no different from the code around
                found = found.fget
            elif isinstance(found, (staticmethod, classmethod)):
                found = found.__func__
            elif found is not MISSING and not isinstance(found, functools.cached_property):
                found = self._attribute(value, name, getattr(value, name, MISSING))
            self._walk(found, names, met)

    def refuse_change(self, owner: Any, what: str) -> Any:
        """`owner`, whose `what` is about to change; an error where it is outside."""
        root = self._outside.get(id(owner))
        if root is not None and not isinstance(owner, np.ndarray):
            raise staging_error(
                f"{what} of {root.text} changes, which is not the function's own: this would happen only while the "
                "function is compiled",
                "return the new value and set it outside, store into an array that is there, or make the object in the "
                "function",
                "TX0320",
            )
        return owner

    def refuse_call(self, called: Any) -> None:
        """Refuse a call that changes what is outside, or draws random numbers once and for all."""
        owner = getattr(called, "__self__", None)
        if isinstance(owner, (list, dict, set)) and called.__name__ in _CHANGES:
            self.refuse_change(owner, f"{called.__name__}()")
        if issubclass(type(owner), _generators()):
            raise staging_error(
                f"{called.__name__}() draws random numbers while the function is compiled, the same for every call",
                "draw them outside and pass them as an argument",
                "TX0321",
            )
        if (module := getattr(owner if isinstance(owner, type) else called, "__module__", None)) in _ONCE:
            raise staging_error(
                f"{module}.{called.__name__}() would be called once, while the function is compiled",
                f"{_ONCE[module]} outside the compiled function",
                "TX0321",
            )
