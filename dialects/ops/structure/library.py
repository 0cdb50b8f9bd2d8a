"""The functions of `dialects/library/*.tx`, each an op: what is declared there, as text, is all that there is of one.

The front end expands them (`compiler/frontend/tx/library.py`); here only their declarations are read.
"""

from __future__ import annotations

import ast
import importlib
import os
from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np

from ...registry import REQUIRED, Composite, OpError, Param, axes, float_param, op
from ...types import TensorType

_DIALECTS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(_DIALECTS, "library")


class Library(Composite):
    """A function of the library; `function` is its text, `filename` where that is."""

    function: ClassVar[ast.FunctionDef]
    filename: ClassVar[str]

    @classmethod
    def operand_names(cls) -> list[str]:
        return [a.arg for a in cls.function.args.args if a.arg not in cls.params]


def _flag(default: Any) -> Param:
    def convert(value: Any, _: Sequence[TensorType]) -> Any:
        if not isinstance(value, (bool, np.bool_)):
            raise OpError(f"{value!r} is neither True nor False", code="TX0105")
        return bool(value)

    return Param("flag", convert, default)


_KINDS = {"axes": axes, "number": float_param, "flag": _flag}


def _declare(function: ast.FunctionDef, filename: str) -> None:
    """Make an op of a function; ValueError where its parameters or decorators are no declarations."""
    arguments = function.args.args
    defaults = [REQUIRED] * (len(arguments) - len(function.args.defaults))
    defaults += [ast.literal_eval(d) for d in function.args.defaults]
    params = {}
    for argument, default in zip(arguments, defaults):
        kind = _text(argument.annotation)
        if kind != "tensor":
            if kind not in _KINDS:
                raise ValueError(
                    f"{filename}:{argument.lineno}: a parameter is tensor, {', '.join(_KINDS)}: not {kind!r}"
                )
            params[argument.arg] = _KINDS[kind](default)
    also: list[Any] = []
    for decorator in function.decorator_list:
        if not isinstance(decorator, ast.Call) or _text(decorator.func) != "also":
            raise ValueError(f"{filename}:{decorator.lineno}: a function's only decorator is @also(…)")
        also += [_found(ast.literal_eval(a)) for a in decorator.args]
    op(type(function.name, (Library,), {
        "name": function.name, "__doc__": ast.get_docstring(function), "params": params, "also": tuple(also),
        "arity": len(arguments) - len(params), "function": function, "filename": filename,
    }))  # fmt: skip


def _text(node: ast.expr | None) -> str:
    return "" if node is None else node.id if isinstance(node, ast.Name) else ast.unparse(node)


def _found(name: str) -> Any:
    """NumPy's own function, as dispatch meets it; the name of any other library's, which is not imported."""
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute) if module.startswith("numpy") else name


@cache
def declare() -> None:
    """Declare every function of the folder."""
    for name in sorted(n for n in os.listdir(FOLDER) if n.endswith(".tx")):
        path = os.path.join(FOLDER, name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for node in ast.parse(text, path).body:
            if isinstance(node, ast.FunctionDef):
                _declare(node, path)


declare()
