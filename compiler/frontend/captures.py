"""What a staged function takes from outside it: facts, each checked before its compiled code runs again.

Outside are globals and closure variables, arguments that are Python objects, and what is reached from these by
attributes and in containers.  A staged function may not change any of it: that would happen once, while it is
compiled, and never again.
"""

from __future__ import annotations

import random
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

import numpy as np

from ..captured import CONTAINERS, MISSING, PLAIN, Captured, Place, snapshot
from ..diagnostics import user_loc
from .staging_builtins import staging_error
from .state import Roots, State
from .symint import SymInt
from .tensor import Tensor
from .undefined import Undefined

if TYPE_CHECKING:
    from .loop_state import Learnt

__all__ = ["Captures", "Frame", "Root", "is_library"]

#: What is no fact: what modules, classes and libraries hold is taken as it is.
_FIXED = (types.ModuleType, type, types.BuiltinFunctionType, np.ufunc)
_LIBRARIES = ("numpy", "txc", "scipy", "math")
#: Modules whose functions are about the moment of the call, with what to do instead.
_ONCE = {
    "time": "read the clock", "datetime": "read the clock", "_datetime": "read the clock", "warnings": "warn",
    "_warnings": "warn", "logging": "write to the log",
}  # fmt: skip
_CHANGES = frozenset("append extend insert pop popitem remove clear update setdefault add discard sort reverse".split())


def is_library(thing: Any) -> bool:
    """Whether a function or module is one of those that are called, and read, as they are."""
    name = getattr(thing, "__name__" if isinstance(thing, types.ModuleType) else "__module__", None) or ""
    return name.partition(".")[0] in _LIBRARIES


class Root(NamedTuple):
    """Something outside: its name, how to find it again, and where."""

    value: Any
    text: str
    find: Callable[[], Any]
    place: Place | None = None


class Frame:
    """The variables of a function that runs, which holds it."""

    def __init__(self, roots: Roots):
        self.roots = roots


class Captures:
    """The facts of one trace, in the order met, each once."""

    def __init__(self) -> None:
        self.facts: dict[Any, Captured] = {}
        self._outside: dict[int, Root] = {}
        #: Variables that hold nothing, where compiled code decides whether they do: what reading them says.
        self.unset: dict[str, Undefined] = {}
        #: The variables of the functions that run, for as long as they do.
        self.frames: WeakSet[Frame] = WeakSet()
        #: What is known of loops that were staged before, by where they stand and what they carry.
        self._learnt: dict[Any, Any] = {}

    def learnt_of(self, carries: Sequence[Sequence[str]]) -> Learnt:
        """What is known of the loop that is staged now."""
        from .loop_state import Learnt

        return self._learnt.setdefault((user_loc(), *map(tuple, carries)), Learnt())

    def is_outside(self, value: Any) -> bool:
        """Whether an object is not the function's own, so that it cannot change."""
        return id(value) in self._outside

    def everything(self) -> State:
        """What all variables of the functions that run hold now, and what hangs on them."""
        roots = {f"{i}.{name}": cell for i, frame in enumerate(self.frames) for name, cell in frame.roots.items()}
        return State(roots, self.is_outside)

    def of_caller(self, value: Any, name: str) -> Any:
        """A container that stands for an argument: a change of it would be lost to the caller."""
        if isinstance(value, (list, dict, set)):
            self._outside[id(value)] = Root(value, name, lambda: value)
        return value

    def take(self, root: Root, key: Any) -> None:
        """A value from outside is used: it is a fact, and what hangs on it is outside too."""
        value = root.value
        if isinstance(value, _FIXED) or is_library(value) or isinstance(value, (Tensor, SymInt)):
            self._know(root)
            return
        if key not in self.facts:
            place = None if isinstance(value, CONTAINERS) else root.place
            self.facts[key] = Captured(root.text, snapshot(value), root.find, place)
        self._know(root)

    def _know(self, root: Root) -> None:
        value = root.value
        if isinstance(value, (*PLAIN, Tensor, SymInt)) or id(value) in self._outside:
            return
        self._outside[id(value)] = root
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, CONTAINERS) else ()
        for part in parts:
            self._know(Root(part, f"a part of {root.text}", lambda part=part: part))

    def attribute(self, owner: Any, name: str) -> Any:
        """``owner.name``; of what is outside, another fact."""
        value = getattr(owner, name)
        parent = self._outside.get(id(owner))
        if parent is None or isinstance(owner, (Tensor, np.ndarray)) or is_library(owner):
            return value

        def find() -> Any:
            return getattr(parent.find(), name, MISSING)

        place = None if parent.place is None else (*parent.place[:2], (*parent.place[2], name))
        self.take(Root(value, f"{parent.text}.{name}", find, place), (id(owner), name))
        return value

    def refuse_change(self, owner: Any, what: str) -> Any:
        """`owner`, whose `what` is about to change; an error where it is outside."""
        root = self._outside.get(id(owner))
        if root is not None and not isinstance(owner, np.ndarray):
            raise staging_error(
                f"{what} of {root.text} changes, which is not the function's own: this would happen only while the "
                "function is compiled",
                "return the new value, or store into an array",
                "TX0320",
            )
        return owner

    def refuse_call(self, called: Any) -> None:
        """Refuse a call that changes what is outside, or draws random numbers once and for all."""
        owner = getattr(called, "__self__", None)
        if isinstance(owner, (list, dict, set)) and called.__name__ in _CHANGES:
            self.refuse_change(owner, f"{called.__name__}()")
        if isinstance(owner, (np.random.Generator, np.random.RandomState, random.Random)):
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
