"""Walking over Python's syntax trees, without what says nothing of names: contexts, operators and literals.

They are half of the nodes of a tree, and rewriting looks at each function's many times.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

__all__ = ["children", "place", "walk"]

#: Fields of text, numbers, contexts and operators.
_WITHOUT_NODES = {"attr", "ctx", "id", "kind", "op", "ops", "type_comment"}


@functools.cache
def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    return () if issubclass(kind, ast.Constant) else tuple(f for f in kind._fields if f not in _WITHOUT_NODES)


def children(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes right below one, in the order of its fields."""
    for field in _fields(type(node)):
        value = getattr(node, field, None)
        if isinstance(value, list):
            for item in value:
                if isinstance(item, ast.AST):
                    yield item
        elif isinstance(value, ast.AST):
            yield value


def walk(node: ast.AST) -> list[ast.AST]:
    """A node and all below it, those of each level together."""
    found = [node]
    for each in found:  # which grows
        found.extend(children(each))
    return found


def place(node: ast.AST, around: ast.expr | ast.stmt) -> None:
    """Give all nodes below and the node itself that have no place in the source that of what is `around` them."""
    if "lineno" in node._attributes:
        if not hasattr(node, "lineno"):
            ast.copy_location(node, around)
        around = node  # type: ignore[assignment]
    for child in children(node):
        place(child, around)
