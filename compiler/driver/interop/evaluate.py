"""`evaluate`: an expression given as text, of the caller's variables, as numexpr has it.

The text is the body of a function that is compiled as any other; the numbers are Python's and NumPy's.
"""

from __future__ import annotations

import ast
import functools
import linecache
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..jit import Jitted, jit

__all__ = ["evaluate"]

#: The functions that an expression may call: numexpr's, which are NumPy's.
_FUNCTIONS: dict[str, Any] = {
    name: getattr(np, name)
    for name in (
        "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "ceil", "conj", "cos", "cosh",
        "exp", "expm1", "floor", "fmod", "imag", "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "max",
        "maximum", "min", "minimum", "ones_like", "prod", "real", "round", "sign", "sin", "sinh", "sqrt", "sum", "tan",
        "tanh", "trunc", "where",
    )
}  # fmt: skip
#: What an expression is made of.
_PARTS = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.keyword, ast.Name, ast.Constant, ast.Tuple,
    ast.expr_context, ast.operator, ast.unaryop, ast.cmpop,
)  # fmt: skip
_REFUSED = (ast.MatMult, ast.Not, ast.In, ast.NotIn, ast.Is, ast.IsNot)


def evaluate(
    expression: str, local_dict: Mapping[str, Any] | None = None, global_dict: Mapping[str, Any] | None = None,
    *, out: Any = None,
) -> Any:  # fmt: skip
    """The value of ``"2*a + 3*b"``: operators, comparisons with ``&``, ``|`` and ``~`` between them, and functions by
    numexpr's names, reductions included.

    Its variables are those of `local_dict` and `global_dict`, by default the caller's.  A text is compiled once for
    all arrays of the same dtypes and ranks.  With `out` the result is written there.  NameError for a variable that
    there is not, SyntaxError for what is no such expression.
    """
    names, compiled = _compiled(expression)
    frame = sys._getframe(1)
    local = frame.f_locals if local_dict is None else local_dict
    others = frame.f_globals if global_dict is None else global_dict
    try:
        given = [local[name] if name in local else others[name] for name in names]
    except KeyError as error:
        raise NameError(f"name {error.args[0]!r} of {expression!r} is not defined") from None
    return compiled(*given) if out is None else compiled(*given, out=out)


@functools.lru_cache(maxsize=256)
def _compiled(expression: str) -> tuple[tuple[str, ...], Jitted]:
    """The variables of an expression, in the alphabet's order, and the function of them that it is."""
    text = " ".join(expression.split())
    tree = ast.parse(text, "<expression>", "eval")
    called = {id(node.func): node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    found: set[str] = set()
    for node in ast.walk(tree):
        if not isinstance(node, _PARTS) or isinstance(node, _REFUSED):
            what = type(node).__name__
            raise SyntaxError(f"{expression!r} has a part that is no expression's, {what}: jit a function instead")
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            raise SyntaxError(f"{expression!r} has a chain of comparisons: write (0 < a) & (a < 1)")
        if id(node) in called:
            if not isinstance(node, ast.Name) or node.id not in _FUNCTIONS:
                raise SyntaxError(f"{expression!r} calls {ast.unparse(node)}; there are {', '.join(_FUNCTIONS)}")
        elif isinstance(node, ast.Name):
            found.add(node.id)
    if both := found & {node.id for node in called.values() if isinstance(node, ast.Name)}:
        raise SyntaxError(f"{expression!r} has a variable and a function {both.pop()!r}: name the variable otherwise")
    names = tuple(sorted(found))
    filename = f"<txc.evaluate {text!r}>"
    source = f"def expression({', '.join(names)}):\n    return {text}\n"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    scope = {**_FUNCTIONS, "__name__": __name__}
    exec(compile(source, filename, "exec"), scope)  # of a text that has such parts only
    return names, jit(scope["expression"])
