"""A fact about the world outside a compiled function: a global, a closure variable or an attribute is what it was.

What staging takes from outside (`compiler/frontend/trace/captures.py`) and what the cache judges a function by
(`source_key.py`) are such facts.
"""

from __future__ import annotations

import operator
import types
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["CONTAINERS", "MISSING", "PLAIN", "Captured", "Place", "cell_content", "snapshot"]

#: Stands for a variable or attribute without a value.
MISSING: Any = type("Missing", (), {"__repr__": lambda _: "<no value>"})()

PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype)
CONTAINERS = (list, tuple, dict, set, frozenset, deque)
#: A cell, or a dict and a name in it; then names of attributes.
Place = tuple[Any, str | None, tuple[str, ...]]


def cell_content(cell: types.CellType) -> Any:
    """The value of a closure variable, or MISSING."""
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


class Captured:
    """The fact that what `find` gives is `value`: the same array or object, an equal number, text or container of such.

    `place` is where a native entry can look for it; None where it cannot tell (`_is_seen_natively`), or there is no
    such place.
    """

    __slots__ = ("find", "place", "text", "value")

    def __init__(self, text: str, value: Any, find: Callable[[], Any], place: Place | None = None):
        self.text, self.value, self.find = text, value, find
        self.place = place if _is_seen_natively(value) else None

    def __call__(self) -> bool:
        """Whether it holds now."""
        return _same(self.value, self.find())

    def __str__(self) -> str:
        if isinstance(self.value, (*PLAIN, *CONTAINERS)):
            return f"{self.text} = {_shown(self.value)}"
        return f"{self.text} is the same {type(self.value).__name__}"


def _shown(value: Any) -> str:
    if isinstance(value, _Held):
        return f"{value.kind.__name__}({_shown(value.items)})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{k!r}: {_shown(v)}' for k, v in value.items())}}}"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}({', '.join(map(_shown, value))})"
    return repr(value) if isinstance(value, (*PLAIN, set, frozenset)) else f"<{type(value).__name__}>"


class _Held(NamedTuple):
    """What a container of a class of its own held, as a snapshot of a plain one."""

    kind: type
    items: Any


def _is_fixed(value: Any) -> bool:
    """Whether it is no container that may change, nor holds one: a number, an object, a tuple of such."""
    return all(map(_is_fixed, value)) if type(value) is tuple else not isinstance(value, CONTAINERS)


def _is_seen_natively(value: Any) -> bool:
    """Whether identity tells that a snapshot is what it was: its own, or that of each item of a list or dict."""
    if type(value) in (list, dict):
        return all(map(_is_fixed, value.values() if isinstance(value, dict) else value))
    return _is_fixed(value)


def snapshot(value: Any) -> Any:
    """A copy of the containers that may change, not of what is in them."""
    if _is_fixed(value):
        return value
    plain = _plain(value)
    if isinstance(plain, dict):
        made: Any = {k: snapshot(v) for k, v in plain.items()}
    else:
        made = type(plain)(map(snapshot, plain))
    return made if type(plain) is type(value) else _Held(type(value), made)


def _plain(container: Any) -> Any:
    """A container as Python's own class has it; a deque as a list."""
    own = next((c for c in (list, tuple, dict, set, frozenset) if isinstance(container, c)), list)
    return container if type(container) is own else own(container)


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, _Held):
        return type(b) is a.kind and _same(a.items, _plain(b))
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(map(_same, a.values(), b.values()))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and (all(map(operator.is_, a, b)) or all(map(_same, a, b)))
    if isinstance(a, float):
        return a.hex() == b.hex()  # 0.0 and -0.0 differ
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, (*PLAIN, set, frozenset, types.MethodType)):
        return bool(a == b or (a != a and b != b))
    return False
