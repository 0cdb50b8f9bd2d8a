"""The staged form of a function, made from its source once: a factory that binds it to a runtime and its closure."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import linecache
import textwrap
import types
from collections.abc import Callable
from typing import Any

from ..diagnostics import TxcError
from .graph import Loc
from .jumps import NotStaged
from .staging_ast import RUNTIME, rewrite

__all__ = ["factory_of", "global_names"]


@functools.lru_cache(maxsize=1024)
def factory_of(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """``factory(runtime, *closure) -> staged function``, made once a function."""
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return None
    (definition,) = tree.body if len(tree.body) == 1 else (None,)
    # The source found for a lambda may be a definition around it.
    if not isinstance(definition, ast.FunctionDef) or definition.name != function.__code__.co_name:
        return None
    ast.increment_lineno(tree, first - 1)
    code = function.__code__
    free = set(code.co_freevars) | {n for n in global_names(code) if n not in vars(builtins)}
    try:
        staged = rewrite(definition, free)
    except NotStaged as error:
        raise _refusal(error, code) from None
    parameters = [ast.arg(n) for n in ("__txc", *code.co_freevars)]
    outer = ast.FunctionDef(
        "__txc_factory",
        ast.arguments([], parameters, None, [], [], None, []),
        [staged, ast.Return(ast.Name(definition.name, ast.Load()))],
        [],
    )
    module = ast.fix_missing_locations(ast.Module([ast.copy_location(outer, definition)], []))
    scope: dict[str, Any] = {}
    exec(compile(module, code.co_filename, "exec"), scope)
    return types.FunctionType(_named(scope["__txc_factory"].__code__, definition.name), function.__globals__)


def _refusal(error: NotStaged, code: types.CodeType) -> TxcError:
    node: Any = error.node
    end = node.end_col_offset if node.end_lineno == node.lineno else node.col_offset + 1
    # Columns are those of the dedented source.
    moved = len(line := linecache.getline(code.co_filename, node.lineno)) - len(line.lstrip())
    moved = max(0, moved - node.col_offset)
    loc = Loc(code.co_filename, node.lineno, node.col_offset + moved, end + moved, code.co_name)
    return TxcError(error.message, loc, error.hint, "TX0322")


def _named(code: types.CodeType, name: str) -> types.CodeType:
    """The code with the parts of statements that rewriting made called by the user's function, as messages say."""
    parts = (_named(c, name) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    ours = code.co_name.startswith(RUNTIME)
    return code.replace(co_consts=tuple(parts), co_name=name if ours else code.co_name)


def global_names(code: types.CodeType) -> set[str]:
    """The names that a function's code, and that of functions in it, reads from its module or from built-ins."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= global_names(constant)
    return found - set(code.co_varnames)
