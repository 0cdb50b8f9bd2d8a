"""``x: int = 0`` in a function as ``x = 0``: Python evaluates no annotation of a variable there.

The parts of statements become functions that declare their variables `nonlocal`, which no annotated name may be.
"""

from __future__ import annotations

import ast
from typing import Any

__all__ = ["drop_annotations"]


def drop_annotations(function: ast.FunctionDef) -> None:
    """Leave out the annotations of variables of a function and those in it; those of classes say what they have."""
    _Dropping().visit(function)


class _Dropping(ast.NodeTransformer):
    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        node.body = [s if isinstance(s, ast.AnnAssign) else self.visit(s) for s in node.body]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        made = ast.Pass() if node.value is None else ast.Assign([node.target], node.value)
        return ast.copy_location(made, node)
