"""An argument of a call, taken apart: what staging makes symbolic."""

from __future__ import annotations

from typing import Any

__all__ = ["Argument"]


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
