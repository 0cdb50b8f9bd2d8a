"""An argument of a call, taken apart: what staging makes symbolic."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["Argument", "item_name"]

#: Keys that are part of names as they are; another one is spelled by letters and digits for its bytes.
_PLAIN = re.compile(r"(?!__key_)[A-Za-z_]\w*", re.ASCII)


def item_name(name: str, key: Any, place: int) -> str:
    """What the item at a place of the dict called `name` is called: no other item is, and symbols may have the name.

    Messages have the key again (`diagnostics.spelled`); keys that are spelled alike may be others.
    """
    if (type(key) is int and key >= 0) or (type(key) is str and _PLAIN.fullmatch(key)):
        return f"{name}.{key}"
    return f"{name}.__key_{place}_{repr(key).encode().hex()}"


class Argument:
    """An argument of the call that is traced.

    `kind`: ``array``, ``scalar`` (rank 0 by value; `weak` as in `graph.Input`), ``int``, ``tuple``, ``list``, ``dict``
    (of arguments), or ``value`` (any other Python object, taken as it is).  `original` is the array, tuple or list
    that the user passed.  The array of a column-major tensor (`layout` ``col``) has its dims reversed.
    """

    __slots__ = ("kind", "layout", "name", "original", "value", "weak")

    def __init__(self, name: str, kind: str, value: Any, weak: str = "", original: Any = None, layout: str = "row"):
        self.name, self.kind, self.value = name, kind, value
        self.weak, self.original, self.layout = weak, original, layout
