"""The staged form of a function, made from its source once: a factory that binds it to a runtime and its closure."""

from __future__ import annotations

import ast
import builtins
import copy
import functools
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any

from ....diagnostics import Loc, TxcError
from .ast_rewrite import RUNTIME, rewrite
from .break_lowering import NotStaged
from .nodes import place, walk

__all__ = ["factory_of", "global_names"]

#: What a staged function is called in its factory.
_STAGED = f"{RUNTIME}_staged"


@functools.lru_cache(maxsize=1024)
def factory_of(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """``factory(runtime, *closure) -> staged function``, made once a function."""
    code = function.__code__
    definition = _definition(function)
    if definition is None:
        return None
    # The function's own values of them are put in their place.
    definition.args.defaults, definition.args.kw_defaults = [], [None] * len(definition.args.kwonlyargs)
    _mangle(definition, code)
    # Its own name may mean something else where it stands: a method's is often a function's that it calls.
    definition.name = _STAGED
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
    place(outer, definition)
    module = ast.Module([outer], [])
    scope: dict[str, Any] = {}
    exec(compile(module, code.co_filename, "exec"), scope)
    return types.FunctionType(_named(scope["__txc_factory"].__code__, code.co_name), function.__globals__)


def _definition(function: Callable[..., Any]) -> ast.FunctionDef | None:
    """The definition of a function, a lambda's as a `def` that returns its body; None where the source has none.

    Lines and columns are those of the file.
    """
    code = function.__code__
    try:
        if code.co_name == "<lambda>":
            return _as_definition(_lambda_of(code, _lambdas("".join(inspect.findsource(code)[0]))))
        lines, first = inspect.getsourcelines(function)
        # A suite keeps the columns, and the text of literals over several lines; empty lines keep those of the file.
        inner = lines[0][:1].isspace()
        tree = ast.parse("".join(["\n" * (first - 1 - inner), "if True:\n" * inner, *lines]))
    except (OSError, TypeError, SyntaxError):
        return None
    body = tree.body[0].body if inner and isinstance(tree.body[0], ast.If) else tree.body
    (definition,) = body if len(body) == 1 else (None,)
    return definition if isinstance(definition, ast.FunctionDef) and definition.name == code.co_name else None


@functools.lru_cache(maxsize=8)
def _lambdas(source: str) -> tuple[ast.Lambda, ...]:
    """The lambdas of a file, those in others last."""
    return tuple(n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Lambda))


def _lambda_of(code: types.CodeType, found: Sequence[ast.Lambda]) -> ast.Lambda | None:
    """The lambda that the code was made of, by the places of its instructions.

    They stand in its body, and some of them in no lambda within.  Without columns (``-X no_debug_ranges``) it is the
    only one that begins on the line.
    """
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    like = [n for n in found if n.lineno == code.co_firstlineno and _positional_or_named(n.args) == parameters]
    spans = [p for p in code.co_positions() if p[2] is not None and p[:2] + p[2:] != (p[0], p[0], 0, 0)]
    if not spans:
        return like[0] if len(like) == 1 else None
    inside = [n for n in like if all(_within(span, n.body) for span in spans)]
    return inside[-1] if inside else None


def _positional_or_named(args: ast.arguments) -> tuple[str, ...]:
    return tuple(a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs))


def _within(span: Sequence[int | None], node: ast.expr) -> bool:
    """Whether an instruction's place (first and last line, first and last column) is in an expression."""
    first, last, left, right = span
    begin, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    return begin <= (first, left) and (last, right) <= end  # pyright: ignore[reportOperatorIssue]


def _as_definition(node: ast.Lambda | None) -> ast.FunctionDef | None:
    """``def name(parameters): return body``.  It is a copy: what is found once is kept, and staging rewrites in place.

    The name is one of the front end's own, which `_named` replaces.
    """
    if node is None:
        return None
    node = copy.deepcopy(node)
    result = ast.copy_location(ast.Return(node.body), node.body)
    return ast.copy_location(ast.FunctionDef(f"{RUNTIME}_lambda", node.args, [result], [], None), node)


def _mangle(definition: ast.FunctionDef, code: types.CodeType) -> None:
    """Give private attributes (``self.__x``) of a method the names that its class gave them."""
    private = {n.partition("__")[2]: n for n in global_names(code) if n.startswith("_") and not n.startswith("__")}
    for node in walk(definition):
        if isinstance(node, ast.Attribute) and node.attr.startswith("__") and not node.attr.endswith("__"):
            node.attr = private.get(node.attr[2:], node.attr)


def _refusal(error: NotStaged, code: types.CodeType) -> TxcError:
    node: Any = error.node
    end = node.end_col_offset if node.end_lineno == node.lineno else node.col_offset + 1
    loc = Loc(code.co_filename, node.lineno, node.col_offset, end, code.co_name)
    return TxcError(error.message, loc, error.hint, "TX0322")


def _named(code: types.CodeType, name: str) -> types.CodeType:
    """The code with the parts of statements that rewriting made called by the user's function, as messages say."""
    parts = (_named(c, name) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    ours = code.co_name.startswith(RUNTIME)
    whole = code.co_qualname.replace(_STAGED, name)
    return code.replace(co_consts=tuple(parts), co_name=name if ours else code.co_name, co_qualname=whole)


def global_names(code: types.CodeType) -> set[str]:
    """The names that a function's code, and that of functions in it, reads from its module or from built-ins."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= global_names(constant)
    return found - set(code.co_varnames)
